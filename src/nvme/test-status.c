/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses: wire form, names, and both bridges to errno. The values are typed again here from the
 * figures, so a slip in the list that makes constants and names alike is still seen.
 */
#include <errno.h>
#include <limits.h>

#include "base/util.h"
#include "nvme/status.h"
#include "tests/tap.h"

#define STATUS_CODE(name, value, text, err) (value),

static const uint16_t all[] = { NVME_STATUS_LIST(STATUS_CODE) };
static const uint16_t all_fabrics[] = { NVME_STATUS_FABRICS_LIST(STATUS_CODE) };

static struct nvme_status status_of(uint16_t code)
{
	return (struct nvme_status){ .sct = (uint8_t)(code >> 8), .sc = (uint8_t)code };
}

static bool is_placeholder(const char *name)
{
	return strncmp(name, "unknown", 7) == 0 || strncmp(name, "vendor", 6) == 0 ||
	       strncmp(name, "status of", 9) == 0;
}

static void test_values(void)
{
	static const struct {
		enum nvme_sc code;
		uint16_t want;
		const char *name;
	} known[] = {
		{ NVME_SC_SUCCESS, 0x000, "Successful Completion" },
		{ NVME_SC_INVALID_OPCODE, 0x001, "Invalid Command Opcode" },
		{ NVME_SC_INVALID_FIELD, 0x002, "Invalid Field in Command" },
		{ NVME_SC_CID_CONFLICT, 0x003, "Command ID Conflict" },
		{ NVME_SC_DATA_TRANSFER_ERROR, 0x004, "Data Transfer Error" },
		{ NVME_SC_INTERNAL_ERROR, 0x006, "Internal Error" },
		{ NVME_SC_ABORT_REQUESTED, 0x007, "Command Abort Requested" },
		{ NVME_SC_ABORTED_SQ_DELETION, 0x008, "Command Aborted due to SQ Deletion" },
		{ NVME_SC_ABORTED_FAILED_FUSED, 0x009,
		  "Command Aborted due to Failed Fused Command" },
		{ NVME_SC_ABORTED_MISSING_FUSED, 0x00a,
		  "Command Aborted due to Missing Fused Command" },
		{ NVME_SC_INVALID_NAMESPACE, 0x00b, "Invalid Namespace or Format" },
		{ NVME_SC_SEQUENCE_ERROR, 0x00c, "Command Sequence Error" },
		{ NVME_SC_SGL_INVALID_LENGTH, 0x00f, "Data SGL Length Invalid" },
		{ NVME_SC_SGL_INVALID_TYPE, 0x011, "SGL Descriptor Type Invalid" },
		{ NVME_SC_SGL_INVALID_OFFSET, 0x016, "SGL Offset Invalid" },
		{ NVME_SC_KEEP_ALIVE_EXPIRED, 0x019, "Keep Alive Timer Expired" },
		{ NVME_SC_WRITE_PROTECTED, 0x020, "Namespace is Write Protected" },
		{ NVME_SC_INTERRUPTED, 0x021, "Command Interrupted" },
		{ NVME_SC_TRANSIENT_TRANSPORT, 0x022, "Transient Transport Error" },
		{ NVME_SC_LBA_OUT_OF_RANGE, 0x080, "LBA Out of Range" },
		{ NVME_SC_CAPACITY_EXCEEDED, 0x081, "Capacity Exceeded" },
		{ NVME_SC_NS_NOT_READY, 0x082, "Namespace Not Ready" },
		{ NVME_SC_RESERVATION_CONFLICT, 0x083, "Reservation Conflict" },
		{ NVME_SC_ASYNC_EVENT_LIMIT, 0x105, "Asynchronous Event Request Limit Exceeded" },
		{ NVME_SC_LOG_PAGE_INVALID, 0x109, "Invalid Log Page" },
		{ NVME_SC_FEATURE_NOT_CHANGEABLE, 0x10e, "Feature Not Changeable" },
		{ NVME_SC_CONFLICTING_ATTRIBUTES, 0x180, "Conflicting Attributes" },
		{ NVME_SC_SIZE_LIMIT_EXCEEDED, 0x183, "Command Size Limit Exceeded" },
		{ NVME_SC_WRITE_FAULT, 0x280, "Write Fault" },
		{ NVME_SC_UNRECOVERED_READ, 0x281, "Unrecovered Read Error" },
		{ NVME_SC_COMPARE_FAILURE, 0x285, "Compare Failure" },
		{ NVME_SC_ACCESS_DENIED, 0x286, "Access Denied" },
		{ NVME_SC_UNWRITTEN_BLOCK, 0x287, "Deallocated or Unwritten Logical Block" },
		{ NVME_SC_PATH_INTERNAL, 0x300, "Internal Path Error" },
		{ NVME_SC_ANA_PERSISTENT_LOSS, 0x301, "Asymmetric Access Persistent Loss" },
		{ NVME_SC_ANA_INACCESSIBLE, 0x302, "Asymmetric Access Inaccessible" },
		{ NVME_SC_ANA_TRANSITION, 0x303, "Asymmetric Access Transition" },
		{ NVME_SC_PATH_HOST, 0x370, "Host Pathing Error" },
		{ NVME_SC_ABORTED_BY_HOST, 0x371, "Command Aborted By Host" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		is_u64(known[i].code, known[i].want, "value of %s", known[i].name);
		is_str(nvme_status_name(status_of(known[i].want)), known[i].name, "name of %03x",
		       known[i].want);
	}
}

static void test_fabrics_values(void)
{
	static const struct {
		enum nvme_sc code;
		uint16_t want;
		const char *name;
	} known[] = {
		{ NVME_SC_CONNECT_FORMAT, 0x180, "Connect Incompatible Format" },
		{ NVME_SC_CONNECT_BUSY, 0x181, "Connect Controller Busy" },
		{ NVME_SC_CONNECT_INVALID_PARAM, 0x182, "Connect Invalid Parameters" },
		{ NVME_SC_CONNECT_RESTART_DISCOVERY, 0x183, "Connect Restart Discovery" },
		{ NVME_SC_CONNECT_INVALID_HOST, 0x184, "Connect Invalid Host" },
		{ NVME_SC_INVALID_QUEUE_TYPE, 0x185, "Invalid Queue Type" },
		{ NVME_SC_DISCOVER_RESTART, 0x190, "Discover Restart" },
		{ NVME_SC_AUTH_REQUIRED, 0x191, "Authentication Required" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		is_u64(known[i].code, known[i].want, "value of %s", known[i].name);
		is_str(nvme_status_name_fabrics(status_of(known[i].want)), known[i].name,
		       "Fabrics name of %03x", known[i].want);
	}
	is_str(nvme_status_name_fabrics(status_of(0x00c)), "Command Sequence Error",
	       "a generic status has its name with Fabrics commands too");
	ok(is_placeholder(nvme_status_name_fabrics(status_of(0x186))),
	   "a code Fabrics does not define gets no other command set's name");
}

static void test_complete(void)
{
	unsigned int unnamed = 0, twice = 0, no_errno = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		unnamed += is_placeholder(nvme_status_name(status_of(all[i])));
		no_errno += (nvme_status_to_errno(status_of(all[i])) < 0) != (all[i] != 0);
		for (size_t k = 0; k < i; k++)
			twice += all[k] == all[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(all_fabrics); i++) {
		unnamed += is_placeholder(nvme_status_name_fabrics(status_of(all_fabrics[i])));
		no_errno += nvme_status_to_errno_fabrics(status_of(all_fabrics[i])) >= 0;
		for (size_t k = 0; k < i; k++)
			twice += all_fabrics[k] == all_fabrics[i];
	}
	is_u64(unnamed, 0, "every status has a name");
	is_u64(no_errno, 0, "every status but success has an errno");
	is_u64(twice, 0, "no status is listed twice");
	/* 37 + 5 generic, 43 + 1 + 4 command specific, 9 media, 7 path. */
	is_u64(ARRAY_SIZE(all), 106, "as many statuses as the figures list");
	is_u64(ARRAY_SIZE(all_fabrics), 8, "as many Fabrics statuses as the figure lists");
}

static void test_every_field(void)
{
	unsigned int wrong = 0, nameless = 0;

	/*
	 * Every value of the field, phase tag aside, survives decoding and encoding, and has a
	 * name.
	 */
	for (uint32_t v = 0; v <= 0xffff; v++) {
		struct nvme_status st = nvme_status_decode((uint16_t)v);

		wrong += nvme_status_encode(st) != (v & 0xfffe);
		nameless += !*nvme_status_name(st) || !*nvme_status_name_fabrics(st);
	}
	is_u64(wrong, 0, "encoding undoes decoding for all 65536 fields");
	is_u64(nameless, 0, "every field has some name");
}

static void test_wire(void)
{
	struct nvme_status st = nvme_status_decode(0xf505);

	is_u64(st.sc, 0x82, "SC is bits 8:1");
	is_u64(st.sct, 2, "SCT is bits 11:9");
	is_u64(st.crd, 3, "CRD is bits 13:12");
	ok(st.more && st.dnr, "M is bit 14, DNR bit 15");
	is_u64(nvme_status_encode(nvme_status_dnr(NVME_SC_CONNECT_INVALID_PARAM)), 0x8304,
	       "Connect Invalid Parameters with DNR is 8304h");
	is_u64(nvme_status_encode(nvme_status(NVME_SC_PATH_INTERNAL)), 0x0600,
	       "Internal Path Error is 0600h");
	ok(!nvme_status_ok(status_of(0x300)),
	   "a type other than generic with code 0 is no success");
	ok(!nvme_status_ok(nvme_status_decode(0x0600)), "nor when it comes from the wire");
	ok(nvme_status_ok(nvme_status_decode(0x0001)), "the phase tag does not matter");
	is_str(nvme_status_name(status_of(0x700)), "vendor specific status",
	       "vendor specific type");
}

static void is_status(struct nvme_status st, enum nvme_sc code, bool dnr, const char *what)
{
	ok(nvme_status_is(st, code) && st.dnr == dnr, "%s", what);
}

static void test_from_errno(void)
{
	const enum nvme_media_op rd = NVME_MEDIA_READ, wr = NVME_MEDIA_WRITE;

	ok(nvme_status_ok(nvme_status_from_errno(0, rd)), "no error is success");
	is_status(nvme_status_from_errno(EIO, rd), NVME_SC_UNRECOVERED_READ, false,
		  "EIO of a read");
	is_status(nvme_status_from_errno(-EIO, rd), NVME_SC_UNRECOVERED_READ, false,
		  "-EIO of a read");
	is_status(nvme_status_from_errno(-EIO, wr), NVME_SC_WRITE_FAULT, false, "EIO of a write");
	is_status(nvme_status_from_errno(-EIO, NVME_MEDIA_COMPARE), NVME_SC_UNRECOVERED_READ, false,
		  "EIO of a compare");
	is_status(nvme_status_from_errno(-EILSEQ, NVME_MEDIA_COMPARE), NVME_SC_COMPARE_FAILURE,
		  true, "EILSEQ of a compare");
	is_status(nvme_status_from_errno(-EILSEQ, rd), NVME_SC_GUARD_CHECK, true,
		  "EILSEQ of a read");
	is_status(nvme_status_from_errno(-ENOSPC, wr), NVME_SC_CAPACITY_EXCEEDED, true, "ENOSPC");
	is_status(nvme_status_from_errno(-EDQUOT, wr), NVME_SC_CAPACITY_EXCEEDED, true, "EDQUOT");
	is_status(nvme_status_from_errno(-EROFS, wr), NVME_SC_WRITE_PROTECTED, true, "EROFS");
	is_status(nvme_status_from_errno(-ENOMEM, rd), NVME_SC_INTERNAL_ERROR, false, "ENOMEM");
	is_status(nvme_status_from_errno(-EAGAIN, rd), NVME_SC_INTERNAL_ERROR, false, "EAGAIN");
	is_status(nvme_status_from_errno(-ENXIO, rd), NVME_SC_NS_NOT_READY, false, "ENXIO");
	is_status(nvme_status_from_errno(-ENODEV, wr), NVME_SC_NS_NOT_READY, false, "ENODEV");
	is_status(nvme_status_from_errno(-EOPNOTSUPP, wr), NVME_SC_INVALID_OPCODE, true,
		  "EOPNOTSUPP");
	is_status(nvme_status_from_errno(-EINVAL, wr), NVME_SC_INVALID_FIELD, true, "EINVAL");
	is_status(nvme_status_from_errno(-ERANGE, wr), NVME_SC_LBA_OUT_OF_RANGE, true, "ERANGE");
	is_status(nvme_status_from_errno(-EACCES, rd), NVME_SC_ACCESS_DENIED, true, "EACCES");
	is_status(nvme_status_from_errno(-ECANCELED, rd), NVME_SC_ABORT_REQUESTED, false,
		  "ECANCELED");
	is_status(nvme_status_from_errno(-EBADE, wr), NVME_SC_RESERVATION_CONFLICT, true, "EBADE");
	is_status(nvme_status_from_errno(-EXDEV, wr), NVME_SC_INTERNAL_ERROR, false,
		  "an errno nobody thought of");
	is_status(nvme_status_from_errno(INT_MIN, wr), NVME_SC_INTERNAL_ERROR, false, "INT_MIN");
}

static void test_to_errno(void)
{
	is_i64(nvme_status_to_errno(nvme_status_success()), 0, "success");
	is_i64(nvme_status_to_errno(status_of(0x300)), -ENOLINK, "code 0 of the path type");
	is_i64(nvme_status_to_errno(status_of(0x7ff)), -EIO, "a vendor specific status");
	is_i64(nvme_status_to_errno(nvme_status(NVME_SC_LBA_OUT_OF_RANGE)), -ERANGE, "LBA range");
	is_i64(nvme_status_to_errno(status_of(0x182)), -EROFS, "182h of an NVM command");
	is_i64(nvme_status_to_errno_fabrics(status_of(0x182)), -EINVAL, "182h of Connect");
	is_i64(nvme_status_to_errno_fabrics(nvme_status(NVME_SC_CONNECT_INVALID_HOST)), -EACCES,
	       "Connect Invalid Host");
	is_i64(nvme_status_to_errno_fabrics(nvme_status(NVME_SC_CONNECT_BUSY)), -EBUSY,
	       "Connect Controller Busy");
	is_i64(nvme_status_to_errno_fabrics(status_of(0x186)), -EIO, "186h of Connect");
}

/*
 * What passes through a target and a host must come out as the same errno, where it says the same.
 */
static void test_round_trip(void)
{
	static const int same[] = { EIO,    ENOSPC, EROFS,  EACCES,     EBADE,    EINVAL,
				    ERANGE, ENXIO,  EILSEQ, EOPNOTSUPP, ECANCELED };

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct nvme_status rd = nvme_status_from_errno(same[i], NVME_MEDIA_READ);
		struct nvme_status wr = nvme_status_from_errno(same[i], NVME_MEDIA_WRITE);

		is_i64(nvme_status_to_errno(rd), -same[i], "errno %d of a read, there and back",
		       same[i]);
		is_i64(nvme_status_to_errno(wr), -same[i], "errno %d of a write, there and back",
		       same[i]);
	}
	/* No errno at all may turn into success. */
	for (int err = 1; err < 200; err++) {
		if (nvme_status_ok(nvme_status_from_errno(err, NVME_MEDIA_WRITE)))
			ok(false, "errno %d became success", err);
	}
}

int main(void)
{
	test_values();
	test_fabrics_values();
	test_complete();
	test_every_field();
	test_wire();
	test_from_errno();
	test_to_errno();
	test_round_trip();
	return tap_done();
}
