/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables behind names.h: one array per enum, indexed by its value. test-names.c lists the enums
 * once more in switches that the compiler checks for completeness, so a constant without a name
 * fails a test.
 */
#include "nvme/names.h"

#include <stddef.h>

#include "base/util.h"
#include "nvme/cmd.h"
#include "nvme/log.h"
#include "nvme/reg.h"

static const char *name_at(const char *const *names, size_t n, size_t i, const char *otherwise)
{
	return i < n && names[i] ? names[i] : otherwise;
}

#define NAME_AT(names, i, otherwise) name_at((names), ARRAY_SIZE(names), (i), (otherwise))

static const char *const admin_names[] = {
	[NVME_ADMIN_DELETE_IO_SQ] = "Delete I/O Submission Queue",
	[NVME_ADMIN_CREATE_IO_SQ] = "Create I/O Submission Queue",
	[NVME_ADMIN_GET_LOG_PAGE] = "Get Log Page",
	[NVME_ADMIN_DELETE_IO_CQ] = "Delete I/O Completion Queue",
	[NVME_ADMIN_CREATE_IO_CQ] = "Create I/O Completion Queue",
	[NVME_ADMIN_IDENTIFY] = "Identify",
	[NVME_ADMIN_ABORT] = "Abort",
	[NVME_ADMIN_SET_FEATURES] = "Set Features",
	[NVME_ADMIN_GET_FEATURES] = "Get Features",
	[NVME_ADMIN_ASYNC_EVENT_REQUEST] = "Asynchronous Event Request",
	[NVME_ADMIN_NS_MANAGEMENT] = "Namespace Management",
	[NVME_ADMIN_FW_COMMIT] = "Firmware Commit",
	[NVME_ADMIN_FW_DOWNLOAD] = "Firmware Image Download",
	[NVME_ADMIN_DEVICE_SELF_TEST] = "Device Self-test",
	[NVME_ADMIN_NS_ATTACHMENT] = "Namespace Attachment",
	[NVME_ADMIN_KEEP_ALIVE] = "Keep Alive",
	[NVME_ADMIN_DIRECTIVE_SEND] = "Directive Send",
	[NVME_ADMIN_DIRECTIVE_RECEIVE] = "Directive Receive",
	[NVME_ADMIN_VIRTUALIZATION_MGMT] = "Virtualization Management",
	[NVME_ADMIN_NVME_MI_SEND] = "NVMe-MI Send",
	[NVME_ADMIN_NVME_MI_RECEIVE] = "NVMe-MI Receive",
	[NVME_ADMIN_CAPACITY_MGMT] = "Capacity Management",
	[NVME_ADMIN_LOCKDOWN] = "Lockdown",
	[NVME_ADMIN_DOORBELL_BUFFER] = "Doorbell Buffer Config",
	[NVME_ADMIN_FORMAT_NVM] = "Format NVM",
	[NVME_ADMIN_SECURITY_SEND] = "Security Send",
	[NVME_ADMIN_SECURITY_RECEIVE] = "Security Receive",
	[NVME_ADMIN_SANITIZE] = "Sanitize",
	[NVME_ADMIN_GET_LBA_STATUS] = "Get LBA Status",
};

static const char *const nvm_names[] = {
	[NVME_NVM_FLUSH] = "Flush",
	[NVME_NVM_WRITE] = "Write",
	[NVME_NVM_READ] = "Read",
	[NVME_NVM_WRITE_UNCORRECTABLE] = "Write Uncorrectable",
	[NVME_NVM_COMPARE] = "Compare",
	[NVME_NVM_WRITE_ZEROES] = "Write Zeroes",
	[NVME_NVM_DATASET_MGMT] = "Dataset Management",
	[NVME_NVM_VERIFY] = "Verify",
	[NVME_NVM_RESV_REGISTER] = "Reservation Register",
	[NVME_NVM_RESV_REPORT] = "Reservation Report",
	[NVME_NVM_RESV_ACQUIRE] = "Reservation Acquire",
	[NVME_NVM_RESV_RELEASE] = "Reservation Release",
	[NVME_NVM_COPY] = "Copy",
};

static const char *const fabrics_names[] = {
	[NVME_FABRICS_PROPERTY_SET] = "Property Set",
	[NVME_FABRICS_CONNECT] = "Connect",
	[NVME_FABRICS_PROPERTY_GET] = "Property Get",
	[NVME_FABRICS_AUTH_SEND] = "Authentication Send",
	[NVME_FABRICS_AUTH_RECEIVE] = "Authentication Receive",
	[NVME_FABRICS_DISCONNECT] = "Disconnect",
};

/* Vendor specific ranges: admin opcodes from C0h, NVM opcodes from 80h, FCTYPE from C0h. */
const char *nvme_cmd_name(uint8_t opc, bool is_admin, uint8_t fctype)
{
	if (opc == NVME_OPC_FABRICS)
		return NAME_AT(fabrics_names, fctype,
			       fctype >= 0xc0 ? "vendor specific Fabrics command"
					      : "unknown Fabrics command");
	if (is_admin)
		return NAME_AT(admin_names, opc,
			       opc >= 0xc0 ? "vendor specific admin command"
					   : "unknown admin command");
	return NAME_AT(nvm_names, opc,
		       opc >= 0x80 ? "vendor specific I/O command" : "unknown I/O command");
}

static const char *const log_names[] = {
	[NVME_LID_SUPPORTED_LOGS] = "Supported Log Pages",
	[NVME_LID_ERROR] = "Error Information",
	[NVME_LID_SMART] = "SMART / Health Information",
	[NVME_LID_FIRMWARE_SLOT] = "Firmware Slot Information",
	[NVME_LID_CHANGED_NS] = "Changed Namespace List",
	[NVME_LID_EFFECTS] = "Commands Supported and Effects",
	[NVME_LID_SELF_TEST] = "Device Self-test",
	[NVME_LID_TELEMETRY_HOST] = "Telemetry Host-Initiated",
	[NVME_LID_TELEMETRY_CONTROLLER] = "Telemetry Controller-Initiated",
	[NVME_LID_ENDURANCE_GROUP] = "Endurance Group Information",
	[NVME_LID_PREDICTABLE_LATENCY_SET] = "Predictable Latency Per NVM Set",
	[NVME_LID_PREDICTABLE_LATENCY_EVENTS] = "Predictable Latency Event Aggregate",
	[NVME_LID_ANA] = "Asymmetric Namespace Access",
	[NVME_LID_PERSISTENT_EVENT] = "Persistent Event Log",
	[NVME_LID_LBA_STATUS] = "LBA Status Information",
	[NVME_LID_ENDURANCE_GROUP_EVENTS] = "Endurance Group Event Aggregate",
	[NVME_LID_MEDIA_UNIT_STATUS] = "Media Unit Status",
	[NVME_LID_CAPACITY_CONFIGS] = "Supported Capacity Configuration List",
	[NVME_LID_FEATURE_EFFECTS] = "Feature Identifiers Supported and Effects",
	[NVME_LID_NVME_MI_EFFECTS] = "NVMe-MI Commands Supported and Effects",
	[NVME_LID_LOCKDOWN] = "Command and Feature Lockdown",
	[NVME_LID_BOOT_PARTITION] = "Boot Partition",
	[NVME_LID_ROTATIONAL_MEDIA] = "Rotational Media Information",
	[NVME_LID_DISCOVERY] = "Discovery",
	[NVME_LID_RESERVATION] = "Reservation Notification",
	[NVME_LID_SANITIZE] = "Sanitize Status",
};

const char *nvme_log_name(uint8_t lid)
{
	return NAME_AT(log_names, lid, lid >= 0xc0 ? "vendor specific log" : "unknown log");
}

static const char *const feature_names[] = {
	[NVME_FID_ARBITRATION] = "Arbitration",
	[NVME_FID_POWER_MANAGEMENT] = "Power Management",
	[NVME_FID_LBA_RANGE_TYPE] = "LBA Range Type",
	[NVME_FID_TEMPERATURE_THRESHOLD] = "Temperature Threshold",
	[NVME_FID_ERROR_RECOVERY] = "Error Recovery",
	[NVME_FID_VOLATILE_WRITE_CACHE] = "Volatile Write Cache",
	[NVME_FID_NUMBER_OF_QUEUES] = "Number of Queues",
	[NVME_FID_INTERRUPT_COALESCING] = "Interrupt Coalescing",
	[NVME_FID_INTERRUPT_VECTOR] = "Interrupt Vector Configuration",
	[NVME_FID_WRITE_ATOMICITY] = "Write Atomicity Normal",
	[NVME_FID_ASYNC_EVENT_CONFIG] = "Asynchronous Event Configuration",
	[NVME_FID_AUTONOMOUS_POWER] = "Autonomous Power State Transition",
	[NVME_FID_HOST_MEMORY_BUFFER] = "Host Memory Buffer",
	[NVME_FID_TIMESTAMP] = "Timestamp",
	[NVME_FID_KEEP_ALIVE] = "Keep Alive Timer",
	[NVME_FID_HOST_THERMAL] = "Host Controlled Thermal Management",
	[NVME_FID_NON_OPERATIONAL_POWER] = "Non-Operational Power State Config",
	[NVME_FID_READ_RECOVERY_LEVEL] = "Read Recovery Level Config",
	[NVME_FID_PREDICTABLE_LATENCY_CONFIG] = "Predictable Latency Mode Config",
	[NVME_FID_PREDICTABLE_LATENCY_WINDOW] = "Predictable Latency Mode Window",
	[NVME_FID_LBA_STATUS_INTERVAL] = "LBA Status Information Report Interval",
	[NVME_FID_HOST_BEHAVIOR] = "Host Behavior Support",
	[NVME_FID_SANITIZE_CONFIG] = "Sanitize Config",
	[NVME_FID_ENDURANCE_GROUP_EVENTS] = "Endurance Group Event Configuration",
	[NVME_FID_IO_COMMAND_SET_PROFILE] = "I/O Command Set Profile",
	[NVME_FID_SPINUP_CONTROL] = "Spinup Control",
	[NVME_FID_ENHANCED_CONTROLLER_METADATA] = "Enhanced Controller Metadata",
	[NVME_FID_CONTROLLER_METADATA] = "Controller Metadata",
	[NVME_FID_NAMESPACE_METADATA] = "Namespace Metadata",
	[NVME_FID_SOFTWARE_PROGRESS] = "Software Progress Marker",
	[NVME_FID_HOST_ID] = "Host Identifier",
	[NVME_FID_RESERVATION_MASK] = "Reservation Notification Mask",
	[NVME_FID_RESERVATION_PERSISTENCE] = "Reservation Persistence",
	[NVME_FID_NS_WRITE_PROTECTION] = "Namespace Write Protection Config",
};

const char *nvme_feature_name(uint8_t fid)
{
	return NAME_AT(feature_names, fid,
		       fid >= 0xc0 ? "vendor specific feature" : "unknown feature");
}

static const char *const cns_names[] = {
	[NVME_CNS_NS] = "Identify Namespace",
	[NVME_CNS_CTRL] = "Identify Controller",
	[NVME_CNS_ACTIVE_NS_LIST] = "Active Namespace ID list",
	[NVME_CNS_NS_DESC_LIST] = "Namespace Identification Descriptor list",
	[NVME_CNS_NVM_SET_LIST] = "NVM Set List",
	[NVME_CNS_CSI_NS] = "I/O Command Set specific Identify Namespace",
	[NVME_CNS_CSI_CTRL] = "I/O Command Set specific Identify Controller",
	[NVME_CNS_CSI_ACTIVE_NS_LIST] = "I/O Command Set specific Active Namespace ID list",
	[NVME_CNS_INDEPENDENT_NS] = "I/O Command Set Independent Identify Namespace",
	[NVME_CNS_NS_FORMAT] = "Identify Namespace for a User Data Format",
	[NVME_CNS_CSI_NS_FORMAT] =
		"I/O Command Set specific Identify Namespace for a User Data Format",
	[NVME_CNS_ALLOCATED_NS_LIST] = "Allocated Namespace ID list",
	[NVME_CNS_ALLOCATED_NS] = "Identify Namespace for an Allocated Namespace ID",
	[NVME_CNS_NS_CTRL_LIST] = "Namespace Attached Controller list",
	[NVME_CNS_CTRL_LIST] = "Controller list",
	[NVME_CNS_PRIMARY_CTRL_CAPS] = "Primary Controller Capabilities",
	[NVME_CNS_SECONDARY_CTRL_LIST] = "Secondary Controller list",
	[NVME_CNS_NS_GRANULARITY_LIST] = "Namespace Granularity List",
	[NVME_CNS_UUID_LIST] = "UUID List",
	[NVME_CNS_DOMAIN_LIST] = "Domain List",
	[NVME_CNS_ENDURANCE_GROUP_LIST] = "Endurance Group List",
	[NVME_CNS_CSI_ALLOCATED_NS_LIST] = "I/O Command Set specific Allocated Namespace ID list",
	[NVME_CNS_CSI_ALLOCATED_NS] =
		"I/O Command Set specific Identify Namespace for an Allocated Namespace ID",
	[NVME_CNS_IO_COMMAND_SETS] = "Identify I/O Command Set",
};

const char *nvme_cns_name(uint8_t cns)
{
	return NAME_AT(cns_names, cns, "unknown CNS");
}

const char *nvme_property_name(uint32_t ofst)
{
	switch (ofst) {
	case NVME_REG_CAP:
		return "CAP";
	case NVME_REG_VS:
		return "VS";
	case NVME_REG_CC:
		return "CC";
	case NVME_REG_CSTS:
		return "CSTS";
	case NVME_REG_NSSR:
		return "NSSR";
	case NVME_REG_NSSD:
		return "NSSD";
	case NVME_REG_CRTO:
		return "CRTO";
	default:
		return "unknown property";
	}
}

static const char *const event_error_names[] = {
	[NVME_ERROR_DOORBELL_REGISTER] = "Write to Invalid Doorbell Register",
	[NVME_ERROR_DOORBELL_VALUE] = "Invalid Doorbell Write Value",
	[NVME_ERROR_DIAGNOSTIC] = "Diagnostic Failure",
	[NVME_ERROR_PERSISTENT_INTERNAL] = "Persistent Internal Error",
	[NVME_ERROR_TRANSIENT_INTERNAL] = "Transient Internal Error",
	[NVME_ERROR_FIRMWARE_LOAD] = "Firmware Image Load Error",
};

static const char *const event_smart_names[] = {
	[NVME_SMART_EVENT_RELIABILITY] = "NVM Subsystem Reliability",
	[NVME_SMART_EVENT_TEMPERATURE] = "Temperature Threshold",
	[NVME_SMART_EVENT_SPARE] = "Spare Below Threshold",
};

static const char *const event_notice_names[] = {
	[NVME_NOTICE_NS_ATTRIBUTE] = "Namespace Attribute Changed",
	[NVME_NOTICE_FIRMWARE_ACTIVATION] = "Firmware Activation Starting",
	[NVME_NOTICE_TELEMETRY] = "Telemetry Log Changed",
	[NVME_NOTICE_ANA] = "Asymmetric Namespace Access Change",
	[NVME_NOTICE_LATENCY_EVENTS] = "Predictable Latency Event Aggregate Log Change",
	[NVME_NOTICE_LBA_STATUS] = "LBA Status Information Alert",
	[NVME_NOTICE_ENDURANCE_EVENTS] = "Endurance Group Event Aggregate Log Page Change",
	[NVME_NOTICE_DISCOVERY] = "Discovery Log Page Change",
};

static const char *const event_immediate_names[] = {
	[NVME_IMMEDIATE_SHUTDOWN] = "Normal NVM Subsystem Shutdown",
};

static const char *const event_io_names[] = {
	[NVME_IO_EVENT_RESERVATION_LOG] = "Reservation Log Page Available",
	[NVME_IO_EVENT_SANITIZE_DONE] = "Sanitize Operation Completed",
	[NVME_IO_EVENT_SANITIZE_DEALLOCATED] =
		"Sanitize Operation Completed With Unexpected Deallocation",
};

const char *nvme_event_name(struct nvme_event e)
{
	switch (e.type) {
	case NVME_EVENT_ERROR:
		return NAME_AT(event_error_names, e.info, "unknown error event");
	case NVME_EVENT_SMART:
		return NAME_AT(event_smart_names, e.info, "unknown health event");
	case NVME_EVENT_NOTICE:
		return NAME_AT(event_notice_names, e.info, "unknown notice");
	case NVME_EVENT_IMMEDIATE:
		return NAME_AT(event_immediate_names, e.info, "unknown immediate event");
	case NVME_EVENT_IO_COMMAND_SET:
		return NAME_AT(event_io_names, e.info, "unknown I/O command set event");
	case NVME_EVENT_VENDOR:
		return "vendor specific event";
	default:
		return "event of a reserved type";
	}
}

static const char *const ana_state_names[] = {
	[NVME_ANA_OPTIMIZED] = "optimized",
	[NVME_ANA_NON_OPTIMIZED] = "non-optimized",
	[NVME_ANA_INACCESSIBLE] = "inaccessible",
	[NVME_ANA_PERSISTENT_LOSS] = "persistent loss",
	[NVME_ANA_CHANGE] = "change",
};

const char *nvme_ana_state_name(uint8_t state)
{
	return NAME_AT(ana_state_names, state, "unknown ANA state");
}

static const char *const trtype_names[] = {
	[NVME_TRTYPE_RDMA] = "rdma",
	[NVME_TRTYPE_FC] = "fc",
	[NVME_TRTYPE_TCP] = "tcp",
	[NVME_TRTYPE_INTRA_HOST] = "loop",
};

const char *nvme_trtype_name(uint8_t trtype)
{
	return NAME_AT(trtype_names, trtype, "unknown");
}

static const char *const adrfam_names[] = {
	[NVME_ADRFAM_IPV4] = "ipv4", [NVME_ADRFAM_IPV6] = "ipv6",       [NVME_ADRFAM_IB] = "ib",
	[NVME_ADRFAM_FC] = "fc",     [NVME_ADRFAM_INTRA_HOST] = "loop",
};

const char *nvme_adrfam_name(uint8_t adrfam)
{
	return NAME_AT(adrfam_names, adrfam, "unknown");
}

static const char *const subtype_names[] = {
	[NVME_SUBTYPE_REFERRAL] = "discovery subsystem referral",
	[NVME_SUBTYPE_NVM] = "nvme subsystem",
	[NVME_SUBTYPE_CURRENT] = "current discovery subsystem",
};

const char *nvme_subtype_name(uint8_t subtype)
{
	return NAME_AT(subtype_names, subtype, "unknown");
}

static const char *const treq_names[] = {
	[NVME_TREQ_NOT_SPECIFIED] = "not specified",
	[NVME_TREQ_REQUIRED] = "required",
	[NVME_TREQ_NOT_REQUIRED] = "not required",
};

const char *nvme_treq_name(uint8_t treq)
{
	return NAME_AT(treq_names, treq & NVME_TREQ_SECURE_MASK, "unknown");
}

static const char *const sectype_names[] = {
	[NVME_TCP_SECTYPE_NONE] = "none",
	[NVME_TCP_SECTYPE_TLS12] = "tls1.2",
	[NVME_TCP_SECTYPE_TLS13] = "tls1.3",
};

const char *nvme_tcp_sectype_name(uint8_t sectype)
{
	return NAME_AT(sectype_names, sectype, "unknown");
}
