/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every constant has a name and nothing else has one. Each switch below lists an enum without a
 * default, so the compiler reports a constant that was added but not listed; the loops then hold
 * the name tables to the switches.
 */
#include "nvme/cmd.h"
#include "nvme/log.h"
#include "nvme/names.h"
#include "nvme/reg.h"
#include "tests/tap.h"

static bool is_admin_opcode(enum nvme_admin_opcode v)
{
	switch (v) {
	case NVME_ADMIN_DELETE_IO_SQ:
	case NVME_ADMIN_CREATE_IO_SQ:
	case NVME_ADMIN_GET_LOG_PAGE:
	case NVME_ADMIN_DELETE_IO_CQ:
	case NVME_ADMIN_CREATE_IO_CQ:
	case NVME_ADMIN_IDENTIFY:
	case NVME_ADMIN_ABORT:
	case NVME_ADMIN_SET_FEATURES:
	case NVME_ADMIN_GET_FEATURES:
	case NVME_ADMIN_ASYNC_EVENT_REQUEST:
	case NVME_ADMIN_NS_MANAGEMENT:
	case NVME_ADMIN_FW_COMMIT:
	case NVME_ADMIN_FW_DOWNLOAD:
	case NVME_ADMIN_DEVICE_SELF_TEST:
	case NVME_ADMIN_NS_ATTACHMENT:
	case NVME_ADMIN_KEEP_ALIVE:
	case NVME_ADMIN_DIRECTIVE_SEND:
	case NVME_ADMIN_DIRECTIVE_RECEIVE:
	case NVME_ADMIN_VIRTUALIZATION_MGMT:
	case NVME_ADMIN_NVME_MI_SEND:
	case NVME_ADMIN_NVME_MI_RECEIVE:
	case NVME_ADMIN_CAPACITY_MGMT:
	case NVME_ADMIN_LOCKDOWN:
	case NVME_ADMIN_DOORBELL_BUFFER:
	case NVME_ADMIN_FORMAT_NVM:
	case NVME_ADMIN_SECURITY_SEND:
	case NVME_ADMIN_SECURITY_RECEIVE:
	case NVME_ADMIN_SANITIZE:
	case NVME_ADMIN_GET_LBA_STATUS:
		return true;
	}
	return false;
}

static bool is_nvm_opcode(enum nvme_nvm_opcode v)
{
	switch (v) {
	case NVME_NVM_FLUSH:
	case NVME_NVM_WRITE:
	case NVME_NVM_READ:
	case NVME_NVM_WRITE_UNCORRECTABLE:
	case NVME_NVM_COMPARE:
	case NVME_NVM_WRITE_ZEROES:
	case NVME_NVM_DATASET_MGMT:
	case NVME_NVM_VERIFY:
	case NVME_NVM_RESV_REGISTER:
	case NVME_NVM_RESV_REPORT:
	case NVME_NVM_RESV_ACQUIRE:
	case NVME_NVM_RESV_RELEASE:
	case NVME_NVM_COPY:
		return true;
	}
	return false;
}

static bool is_fabrics_type(enum nvme_fabrics_type v)
{
	switch (v) {
	case NVME_FABRICS_PROPERTY_SET:
	case NVME_FABRICS_CONNECT:
	case NVME_FABRICS_PROPERTY_GET:
	case NVME_FABRICS_AUTH_SEND:
	case NVME_FABRICS_AUTH_RECEIVE:
	case NVME_FABRICS_DISCONNECT:
		return true;
	}
	return false;
}

static bool is_lid(enum nvme_lid v)
{
	switch (v) {
	case NVME_LID_SUPPORTED_LOGS:
	case NVME_LID_ERROR:
	case NVME_LID_SMART:
	case NVME_LID_FIRMWARE_SLOT:
	case NVME_LID_CHANGED_NS:
	case NVME_LID_EFFECTS:
	case NVME_LID_SELF_TEST:
	case NVME_LID_TELEMETRY_HOST:
	case NVME_LID_TELEMETRY_CONTROLLER:
	case NVME_LID_ENDURANCE_GROUP:
	case NVME_LID_PREDICTABLE_LATENCY_SET:
	case NVME_LID_PREDICTABLE_LATENCY_EVENTS:
	case NVME_LID_ANA:
	case NVME_LID_PERSISTENT_EVENT:
	case NVME_LID_LBA_STATUS:
	case NVME_LID_ENDURANCE_GROUP_EVENTS:
	case NVME_LID_MEDIA_UNIT_STATUS:
	case NVME_LID_CAPACITY_CONFIGS:
	case NVME_LID_FEATURE_EFFECTS:
	case NVME_LID_NVME_MI_EFFECTS:
	case NVME_LID_LOCKDOWN:
	case NVME_LID_BOOT_PARTITION:
	case NVME_LID_ROTATIONAL_MEDIA:
	case NVME_LID_DISCOVERY:
	case NVME_LID_RESERVATION:
	case NVME_LID_SANITIZE:
		return true;
	}
	return false;
}

static bool is_fid(enum nvme_fid v)
{
	switch (v) {
	case NVME_FID_ARBITRATION:
	case NVME_FID_POWER_MANAGEMENT:
	case NVME_FID_LBA_RANGE_TYPE:
	case NVME_FID_TEMPERATURE_THRESHOLD:
	case NVME_FID_ERROR_RECOVERY:
	case NVME_FID_VOLATILE_WRITE_CACHE:
	case NVME_FID_NUMBER_OF_QUEUES:
	case NVME_FID_INTERRUPT_COALESCING:
	case NVME_FID_INTERRUPT_VECTOR:
	case NVME_FID_WRITE_ATOMICITY:
	case NVME_FID_ASYNC_EVENT_CONFIG:
	case NVME_FID_AUTONOMOUS_POWER:
	case NVME_FID_HOST_MEMORY_BUFFER:
	case NVME_FID_TIMESTAMP:
	case NVME_FID_KEEP_ALIVE:
	case NVME_FID_HOST_THERMAL:
	case NVME_FID_NON_OPERATIONAL_POWER:
	case NVME_FID_READ_RECOVERY_LEVEL:
	case NVME_FID_PREDICTABLE_LATENCY_CONFIG:
	case NVME_FID_PREDICTABLE_LATENCY_WINDOW:
	case NVME_FID_LBA_STATUS_INTERVAL:
	case NVME_FID_HOST_BEHAVIOR:
	case NVME_FID_SANITIZE_CONFIG:
	case NVME_FID_ENDURANCE_GROUP_EVENTS:
	case NVME_FID_IO_COMMAND_SET_PROFILE:
	case NVME_FID_SPINUP_CONTROL:
	case NVME_FID_ENHANCED_CONTROLLER_METADATA:
	case NVME_FID_CONTROLLER_METADATA:
	case NVME_FID_NAMESPACE_METADATA:
	case NVME_FID_SOFTWARE_PROGRESS:
	case NVME_FID_HOST_ID:
	case NVME_FID_RESERVATION_MASK:
	case NVME_FID_RESERVATION_PERSISTENCE:
	case NVME_FID_NS_WRITE_PROTECTION:
		return true;
	}
	return false;
}

static bool is_cns(enum nvme_cns v)
{
	switch (v) {
	case NVME_CNS_NS:
	case NVME_CNS_CTRL:
	case NVME_CNS_ACTIVE_NS_LIST:
	case NVME_CNS_NS_DESC_LIST:
	case NVME_CNS_NVM_SET_LIST:
	case NVME_CNS_CSI_NS:
	case NVME_CNS_CSI_CTRL:
	case NVME_CNS_CSI_ACTIVE_NS_LIST:
	case NVME_CNS_INDEPENDENT_NS:
	case NVME_CNS_NS_FORMAT:
	case NVME_CNS_CSI_NS_FORMAT:
	case NVME_CNS_ALLOCATED_NS_LIST:
	case NVME_CNS_ALLOCATED_NS:
	case NVME_CNS_NS_CTRL_LIST:
	case NVME_CNS_CTRL_LIST:
	case NVME_CNS_PRIMARY_CTRL_CAPS:
	case NVME_CNS_SECONDARY_CTRL_LIST:
	case NVME_CNS_NS_GRANULARITY_LIST:
	case NVME_CNS_UUID_LIST:
	case NVME_CNS_DOMAIN_LIST:
	case NVME_CNS_ENDURANCE_GROUP_LIST:
	case NVME_CNS_CSI_ALLOCATED_NS_LIST:
	case NVME_CNS_CSI_ALLOCATED_NS:
	case NVME_CNS_IO_COMMAND_SETS:
		return true;
	}
	return false;
}

static bool is_reg(enum nvme_reg v)
{
	switch (v) {
	case NVME_REG_CAP:
	case NVME_REG_VS:
	case NVME_REG_CC:
	case NVME_REG_CSTS:
	case NVME_REG_NSSR:
	case NVME_REG_NSSD:
	case NVME_REG_CRTO:
		return true;
	}
	return false;
}

static bool is_notice(enum nvme_event_notice v)
{
	switch (v) {
	case NVME_NOTICE_NS_ATTRIBUTE:
	case NVME_NOTICE_FIRMWARE_ACTIVATION:
	case NVME_NOTICE_TELEMETRY:
	case NVME_NOTICE_ANA:
	case NVME_NOTICE_LATENCY_EVENTS:
	case NVME_NOTICE_LBA_STATUS:
	case NVME_NOTICE_ENDURANCE_EVENTS:
	case NVME_NOTICE_DISCOVERY:
		return true;
	}
	return false;
}

static bool is_real_name(const char *name)
{
	return strncmp(name, "unknown", 7) != 0 && strncmp(name, "vendor", 6) != 0;
}

static unsigned int wrong_commands(void)
{
	unsigned int wrong = 0;

	for (unsigned int v = 0; v < 256; v++) {
		uint8_t b = (uint8_t)v;

		if (v != NVME_OPC_FABRICS) {
			wrong += is_real_name(nvme_cmd_name(b, true, 0)) !=
				 is_admin_opcode((enum nvme_admin_opcode)v);
			wrong += is_real_name(nvme_cmd_name(b, false, 0)) !=
				 is_nvm_opcode((enum nvme_nvm_opcode)v);
		}
		wrong += is_real_name(nvme_cmd_name(NVME_OPC_FABRICS, v & 1, b)) !=
			 is_fabrics_type((enum nvme_fabrics_type)v);
	}
	return wrong;
}

static void test_complete(void)
{
	unsigned int lids = 0, fids = 0, cns = 0, regs = 0, notices = 0, bits = 0;

	for (unsigned int v = 0; v < 256; v++) {
		struct nvme_event notice = { .type = NVME_EVENT_NOTICE, .info = (uint8_t)v };
		uint8_t b = (uint8_t)v;

		lids += is_real_name(nvme_log_name(b)) != is_lid((enum nvme_lid)v);
		fids += is_real_name(nvme_feature_name(b)) != is_fid((enum nvme_fid)v);
		cns += is_real_name(nvme_cns_name(b)) != is_cns((enum nvme_cns)v);
		regs += is_real_name(nvme_property_name(v)) != is_reg((enum nvme_reg)v);
		regs += (nvme_reg_size(v) != 0) != is_reg((enum nvme_reg)v);
		notices += is_real_name(nvme_event_name(notice)) !=
			   is_notice((enum nvme_event_notice)v);
		bits += (nvme_event_enable_bit(notice) != 0) !=
			is_notice((enum nvme_event_notice)v);
	}
	is_u64(wrong_commands(), 0, "each command, and nothing else, has a name");
	is_u64(lids, 0, "each log has a name");
	is_u64(fids, 0, "each feature has a name");
	is_u64(cns, 0, "each CNS has a name");
	is_u64(regs, 0, "each property has a name and a size");
	is_u64(notices, 0, "each notice has a name");
	is_u64(bits, 0, "each notice has a bit that turns it on");
}

static void test_some(void)
{
	is_str(nvme_cmd_name(0x0c, true, 0), "Asynchronous Event Request", "0Ch, admin queue");
	is_str(nvme_cmd_name(0x0c, false, 0), "Verify", "0Ch, I/O queue");
	is_str(nvme_cmd_name(0x7f, false, 0x01), "Connect", "7Fh 01h");
	is_str(nvme_cmd_name(0x7f, true, 0x02), "unknown Fabrics command", "7Fh 02h");
	is_str(nvme_cmd_name(0xc1, true, 0), "vendor specific admin command", "C1h, admin queue");
	is_str(nvme_cmd_name(0x81, false, 0), "vendor specific I/O command", "81h, I/O queue");
	is_str(nvme_log_name(0x70), "Discovery", "log 70h");
	is_str(nvme_feature_name(0x0f), "Keep Alive Timer", "feature 0Fh");
	is_str(nvme_cns_name(0x1c), "Identify I/O Command Set", "CNS 1Ch");
	is_str(nvme_property_name(0x1c), "CSTS", "property 1Ch");
	is_str(nvme_ana_state_name(0xf), "change", "ANA state Fh");
	is_str(nvme_ana_state_name(0), "unknown ANA state", "ANA state 0h");
	is_str(nvme_trtype_name(3), "tcp", "TRTYPE 3");
	is_str(nvme_trtype_name(255), "unknown", "TRTYPE 255");
	is_str(nvme_adrfam_name(2), "ipv6", "ADRFAM 2");
	is_str(nvme_subtype_name(2), "nvme subsystem", "SUBTYPE 2");
	is_str(nvme_treq_name(NVME_TREQ_REQUIRED | NVME_TREQ_DISABLE_SQFLOW), "required",
	       "TREQ bits 1:0 alone make the name");
	is_str(nvme_treq_name(3), "unknown", "TREQ 3");
	is_str(nvme_tcp_sectype_name(2), "tls1.3", "SECTYPE 2");
}

static void test_events(void)
{
	struct nvme_event e = { .type = NVME_EVENT_NOTICE, .info = 0xf0, .lid = 0x70 };
	struct nvme_event back;

	is_u64(nvme_event_encode(e), 0x70f002, "Discovery Log Page Change is 0070F002h");
	back = nvme_event_decode(0x70f002);
	ok(back.type == 2 && back.info == 0xf0 && back.lid == 0x70, "and back");
	is_str(nvme_event_name(e), "Discovery Log Page Change", "its name");
	is_u64(nvme_event_enable_bit(e), 0x80000000, "its bit");
	e = (struct nvme_event){ .type = NVME_EVENT_NOTICE, .info = 0, .lid = 4 };
	is_u64(nvme_event_encode(e), 0x040002, "Namespace Attribute Changed is 00040002h");
	is_u64(nvme_event_enable_bit(e), 0x100, "its bit");
	e.info = NVME_NOTICE_ANA;
	is_u64(nvme_event_enable_bit(e), 0x800, "the bit of an ANA change");
	e.type = NVME_EVENT_ERROR;
	is_u64(nvme_event_enable_bit(e), 0, "errors cannot be turned off");
	is_str(nvme_event_name(e), "Persistent Internal Error", "name of error 3");
	e.type = 4;
	is_str(nvme_event_name(e), "event of a reserved type", "type 4");
	e = (struct nvme_event){ .type = NVME_EVENT_IO_COMMAND_SET, .info = 0, .lid = 0x80 };
	is_str(nvme_event_name(e), "Reservation Log Page Available", "name of a reservation event");
}

int main(void)
{
	test_complete();
	test_some();
	test_events();
	return tap_done();
}
