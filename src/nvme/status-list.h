/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of statuses: identifier, (SCT << 8) | SC, name as the standard writes it, and the errno
 * that says the same to a caller of ours.
 *
 * One list makes the constants, the names and the errno mapping, so none of the three can lack an
 * entry. Two lists, because 180h to 1BFh depend on the command set. Sources: NVMe Base 2.0, figures
 * "Generic Command Status Values", "Command Specific Status Values", "Path Related Status Values";
 * NVM Command Set 1.0, the figures of the same titles; Base 2.0, 6 "Fabrics Command Set" for the
 * second list.
 *
 * Rule for the errno: the one Linux gives for the same failure of a local disk where there is one,
 * so that a program moved from a file to a volume need not learn new errors.
 */
#ifndef PENSTOCK_NVME_STATUS_LIST_H
#define PENSTOCK_NVME_STATUS_LIST_H

#include <errno.h>

/* clang-format off */
#define NVME_STATUS_GENERIC_LIST(X) \
	X(SUCCESS, 0x000, "Successful Completion", 0) \
	X(INVALID_OPCODE, 0x001, "Invalid Command Opcode", EOPNOTSUPP) \
	X(INVALID_FIELD, 0x002, "Invalid Field in Command", EINVAL) \
	X(CID_CONFLICT, 0x003, "Command ID Conflict", EIO) \
	X(DATA_TRANSFER_ERROR, 0x004, "Data Transfer Error", EIO) \
	X(ABORTED_POWER_LOSS, 0x005, "Commands Aborted due to Power Loss Notification", EIO) \
	X(INTERNAL_ERROR, 0x006, "Internal Error", EIO) \
	X(ABORT_REQUESTED, 0x007, "Command Abort Requested", ECANCELED) \
	X(ABORTED_SQ_DELETION, 0x008, "Command Aborted due to SQ Deletion", ECANCELED) \
	X(ABORTED_FAILED_FUSED, 0x009, "Command Aborted due to Failed Fused Command", ECANCELED) \
	X(ABORTED_MISSING_FUSED, 0x00a, "Command Aborted due to Missing Fused Command", EINVAL) \
	X(INVALID_NAMESPACE, 0x00b, "Invalid Namespace or Format", ENXIO) \
	X(SEQUENCE_ERROR, 0x00c, "Command Sequence Error", EPROTO) \
	X(SGL_INVALID_SEGMENT, 0x00d, "Invalid SGL Segment Descriptor", EINVAL) \
	X(SGL_INVALID_COUNT, 0x00e, "Invalid Number of SGL Descriptors", EINVAL) \
	X(SGL_INVALID_LENGTH, 0x00f, "Data SGL Length Invalid", EINVAL) \
	X(SGL_INVALID_METADATA_LENGTH, 0x010, "Metadata SGL Length Invalid", EINVAL) \
	X(SGL_INVALID_TYPE, 0x011, "SGL Descriptor Type Invalid", EINVAL) \
	X(CMB_INVALID_USE, 0x012, "Invalid Use of Controller Memory Buffer", EINVAL) \
	X(PRP_INVALID_OFFSET, 0x013, "PRP Offset Invalid", EINVAL) \
	X(ATOMIC_UNIT_EXCEEDED, 0x014, "Atomic Write Unit Exceeded", EINVAL) \
	X(OPERATION_DENIED, 0x015, "Operation Denied", EPERM) \
	X(SGL_INVALID_OFFSET, 0x016, "SGL Offset Invalid", EINVAL) \
	X(HOSTID_FORMAT, 0x018, "Host Identifier Inconsistent Format", EINVAL) \
	X(KEEP_ALIVE_EXPIRED, 0x019, "Keep Alive Timer Expired", ETIMEDOUT) \
	X(KEEP_ALIVE_INVALID, 0x01a, "Keep Alive Timeout Invalid", EINVAL) \
	X(ABORTED_PREEMPT, 0x01b, "Command Aborted due to Preempt and Abort", ECANCELED) \
	X(SANITIZE_FAILED, 0x01c, "Sanitize Failed", EIO) \
	X(SANITIZE_IN_PROGRESS, 0x01d, "Sanitize In Progress", EBUSY) \
	X(SGL_INVALID_GRANULARITY, 0x01e, "SGL Data Block Granularity Invalid", EINVAL) \
	X(CMB_QUEUE_UNSUPPORTED, 0x01f, "Command Not Supported for Queue in CMB", EOPNOTSUPP) \
	X(WRITE_PROTECTED, 0x020, "Namespace is Write Protected", EROFS) \
	X(INTERRUPTED, 0x021, "Command Interrupted", EAGAIN) \
	X(TRANSIENT_TRANSPORT, 0x022, "Transient Transport Error", EIO) \
	X(LOCKDOWN, 0x023, "Command Prohibited by Command and Feature Lockdown", EPERM) \
	X(ADMIN_MEDIA_NOT_READY, 0x024, "Admin Command Media Not Ready", ENXIO) \
	X(LBA_OUT_OF_RANGE, 0x080, "LBA Out of Range", ERANGE) \
	X(CAPACITY_EXCEEDED, 0x081, "Capacity Exceeded", ENOSPC) \
	X(NS_NOT_READY, 0x082, "Namespace Not Ready", ENXIO) \
	X(RESERVATION_CONFLICT, 0x083, "Reservation Conflict", EBADE) \
	X(FORMAT_IN_PROGRESS, 0x084, "Format In Progress", EBUSY)

#define NVME_STATUS_COMMAND_LIST(X) \
	X(CQ_INVALID, 0x100, "Completion Queue Invalid", EINVAL) \
	X(QID_INVALID, 0x101, "Invalid Queue Identifier", EINVAL) \
	X(QSIZE_INVALID, 0x102, "Invalid Queue Size", EINVAL) \
	X(ABORT_LIMIT, 0x103, "Abort Command Limit Exceeded", EBUSY) \
	X(ASYNC_EVENT_LIMIT, 0x105, "Asynchronous Event Request Limit Exceeded", EBUSY) \
	X(FW_INVALID_SLOT, 0x106, "Invalid Firmware Slot", EINVAL) \
	X(FW_INVALID_IMAGE, 0x107, "Invalid Firmware Image", EINVAL) \
	X(INTERRUPT_VECTOR, 0x108, "Invalid Interrupt Vector", EINVAL) \
	X(LOG_PAGE_INVALID, 0x109, "Invalid Log Page", EINVAL) \
	X(FORMAT_INVALID, 0x10a, "Invalid Format", EINVAL) \
	X(FW_NEEDS_CONVENTIONAL_RESET, 0x10b, \
	  "Firmware Activation Requires Conventional Reset", EIO) \
	X(QUEUE_DELETION_INVALID, 0x10c, "Invalid Queue Deletion", EINVAL) \
	X(FEATURE_NOT_SAVEABLE, 0x10d, "Feature Identifier Not Saveable", EINVAL) \
	X(FEATURE_NOT_CHANGEABLE, 0x10e, "Feature Not Changeable", EPERM) \
	X(FEATURE_NOT_PER_NS, 0x10f, "Feature Not Namespace Specific", EINVAL) \
	X(FW_NEEDS_SUBSYSTEM_RESET, 0x110, \
	  "Firmware Activation Requires NVM Subsystem Reset", EIO) \
	X(FW_NEEDS_CONTROLLER_RESET, 0x111, \
	  "Firmware Activation Requires Controller Level Reset", EIO) \
	X(FW_NEEDS_MAX_TIME, 0x112, "Firmware Activation Requires Maximum Time Violation", EIO) \
	X(FW_PROHIBITED, 0x113, "Firmware Activation Prohibited", EPERM) \
	X(OVERLAPPING_RANGE, 0x114, "Overlapping Range", EINVAL) \
	X(NS_INSUFFICIENT_CAPACITY, 0x115, "Namespace Insufficient Capacity", ENOSPC) \
	X(NSID_UNAVAILABLE, 0x116, "Namespace Identifier Unavailable", EBUSY) \
	X(NS_ALREADY_ATTACHED, 0x118, "Namespace Already Attached", EEXIST) \
	X(NS_IS_PRIVATE, 0x119, "Namespace Is Private", EPERM) \
	X(NS_NOT_ATTACHED, 0x11a, "Namespace Not Attached", ENXIO) \
	X(THIN_PROVISIONING, 0x11b, "Thin Provisioning Not Supported", EOPNOTSUPP) \
	X(CONTROLLER_LIST_INVALID, 0x11c, "Controller List Invalid", EINVAL) \
	X(SELF_TEST_IN_PROGRESS, 0x11d, "Device Self-test In Progress", EBUSY) \
	X(BOOT_PARTITION_LOCKED, 0x11e, "Boot Partition Write Prohibited", EPERM) \
	X(CONTROLLER_ID_INVALID, 0x11f, "Invalid Controller Identifier", EINVAL) \
	X(SECONDARY_STATE_INVALID, 0x120, "Invalid Secondary Controller State", EINVAL) \
	X(RESOURCE_COUNT_INVALID, 0x121, "Invalid Number of Controller Resources", EINVAL) \
	X(RESOURCE_ID_INVALID, 0x122, "Invalid Resource Identifier", EINVAL) \
	X(SANITIZE_PMR_ENABLED, 0x123, \
	  "Sanitize Prohibited While Persistent Memory Region is Enabled", EPERM) \
	X(ANA_GROUP_INVALID, 0x124, "ANA Group Identifier Invalid", EINVAL) \
	X(ANA_ATTACH_FAILED, 0x125, "ANA Attach Failed", EIO) \
	X(INSUFFICIENT_CAPACITY, 0x126, "Insufficient Capacity", ENOSPC) \
	X(NS_ATTACH_LIMIT, 0x127, "Namespace Attachment Limit Exceeded", EBUSY) \
	X(PROHIBITION_UNSUPPORTED, 0x128, \
	  "Prohibition of Command Execution Not Supported", EOPNOTSUPP) \
	X(IOCS_UNSUPPORTED, 0x129, "I/O Command Set Not Supported", EOPNOTSUPP) \
	X(IOCS_NOT_ENABLED, 0x12a, "I/O Command Set Not Enabled", EOPNOTSUPP) \
	X(IOCS_COMBINATION, 0x12b, "I/O Command Set Combination Rejected", EINVAL) \
	X(IOCS_INVALID, 0x12c, "Invalid I/O Command Set", EINVAL) \
	X(ID_UNAVAILABLE, 0x12d, "Identifier Unavailable", EBUSY) \
	X(STREAM_ALLOCATION, 0x17f, "Stream Resource Allocation Failed", EBUSY) \
	X(CONFLICTING_ATTRIBUTES, 0x180, "Conflicting Attributes", EINVAL) \
	X(INVALID_PROTECTION, 0x181, "Invalid Protection Information", EINVAL) \
	X(READ_ONLY_RANGE, 0x182, "Attempted Write to Read Only Range", EROFS) \
	X(SIZE_LIMIT_EXCEEDED, 0x183, "Command Size Limit Exceeded", EINVAL)

#define NVME_STATUS_MEDIA_LIST(X) \
	X(WRITE_FAULT, 0x280, "Write Fault", EIO) \
	X(UNRECOVERED_READ, 0x281, "Unrecovered Read Error", EIO) \
	X(GUARD_CHECK, 0x282, "End-to-end Guard Check Error", EILSEQ) \
	X(APP_TAG_CHECK, 0x283, "End-to-end Application Tag Check Error", EILSEQ) \
	X(REF_TAG_CHECK, 0x284, "End-to-end Reference Tag Check Error", EILSEQ) \
	X(COMPARE_FAILURE, 0x285, "Compare Failure", EILSEQ) \
	X(ACCESS_DENIED, 0x286, "Access Denied", EACCES) \
	X(UNWRITTEN_BLOCK, 0x287, "Deallocated or Unwritten Logical Block", ENODATA) \
	X(STORAGE_TAG_CHECK, 0x288, "End-to-End Storage Tag Check Error", EILSEQ)

#define NVME_STATUS_PATH_LIST(X) \
	X(PATH_INTERNAL, 0x300, "Internal Path Error", ENOLINK) \
	X(ANA_PERSISTENT_LOSS, 0x301, "Asymmetric Access Persistent Loss", ENOLINK) \
	X(ANA_INACCESSIBLE, 0x302, "Asymmetric Access Inaccessible", ENOLINK) \
	X(ANA_TRANSITION, 0x303, "Asymmetric Access Transition", ENOLINK) \
	X(PATH_CONTROLLER, 0x360, "Controller Pathing Error", ENOLINK) \
	X(PATH_HOST, 0x370, "Host Pathing Error", ENOLINK) \
	X(ABORTED_BY_HOST, 0x371, "Command Aborted By Host", ECANCELED)

#define NVME_STATUS_LIST(X) \
	NVME_STATUS_GENERIC_LIST(X) \
	NVME_STATUS_COMMAND_LIST(X) \
	NVME_STATUS_MEDIA_LIST(X) \
	NVME_STATUS_PATH_LIST(X)

#define NVME_STATUS_FABRICS_LIST(X) \
	X(CONNECT_FORMAT, 0x180, "Connect Incompatible Format", EPROTONOSUPPORT) \
	X(CONNECT_BUSY, 0x181, "Connect Controller Busy", EBUSY) \
	X(CONNECT_INVALID_PARAM, 0x182, "Connect Invalid Parameters", EINVAL) \
	X(CONNECT_RESTART_DISCOVERY, 0x183, "Connect Restart Discovery", ESTALE) \
	X(CONNECT_INVALID_HOST, 0x184, "Connect Invalid Host", EACCES) \
	X(INVALID_QUEUE_TYPE, 0x185, "Invalid Queue Type", EINVAL) \
	X(DISCOVER_RESTART, 0x190, "Discover Restart", ESTALE) \
	X(AUTH_REQUIRED, 0x191, "Authentication Required", ENOKEY)
/* clang-format on */

#endif
