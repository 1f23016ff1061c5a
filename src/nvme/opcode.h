/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opcodes: the first byte of every submission queue entry.
 *
 * The same byte means different things on the admin queue and on an I/O queue (0Ch is Asynchronous
 * Event Request on one, Verify on the other), so each set has its own enum and nothing here takes
 * an opcode without its queue. Bits 1:0 say which way data travels (Base 2.0, figure "Opcode");
 * that rule is in nvme_opcode_direction().
 */
#ifndef PENSTOCK_NVME_OPCODE_H
#define PENSTOCK_NVME_OPCODE_H

#include <stdint.h>

/* Admin commands: NVMe Base 2.0, 5 "Admin Command Set". */
enum nvme_admin_opcode {
	NVME_ADMIN_DELETE_IO_SQ = 0x00,
	NVME_ADMIN_CREATE_IO_SQ = 0x01,
	NVME_ADMIN_GET_LOG_PAGE = 0x02,
	NVME_ADMIN_DELETE_IO_CQ = 0x04,
	NVME_ADMIN_CREATE_IO_CQ = 0x05,
	NVME_ADMIN_IDENTIFY = 0x06,
	NVME_ADMIN_ABORT = 0x08,
	NVME_ADMIN_SET_FEATURES = 0x09,
	NVME_ADMIN_GET_FEATURES = 0x0a,
	NVME_ADMIN_ASYNC_EVENT_REQUEST = 0x0c,
	NVME_ADMIN_NS_MANAGEMENT = 0x0d,
	NVME_ADMIN_FW_COMMIT = 0x10,
	NVME_ADMIN_FW_DOWNLOAD = 0x11,
	NVME_ADMIN_DEVICE_SELF_TEST = 0x14,
	NVME_ADMIN_NS_ATTACHMENT = 0x15,
	NVME_ADMIN_KEEP_ALIVE = 0x18,
	NVME_ADMIN_DIRECTIVE_SEND = 0x19,
	NVME_ADMIN_DIRECTIVE_RECEIVE = 0x1a,
	NVME_ADMIN_VIRTUALIZATION_MGMT = 0x1c,
	NVME_ADMIN_NVME_MI_SEND = 0x1d,
	NVME_ADMIN_NVME_MI_RECEIVE = 0x1e,
	NVME_ADMIN_CAPACITY_MGMT = 0x20,
	NVME_ADMIN_LOCKDOWN = 0x24,
	NVME_ADMIN_DOORBELL_BUFFER = 0x7c,
	NVME_ADMIN_FORMAT_NVM = 0x80,
	NVME_ADMIN_SECURITY_SEND = 0x81,
	NVME_ADMIN_SECURITY_RECEIVE = 0x82,
	NVME_ADMIN_SANITIZE = 0x84,
	NVME_ADMIN_GET_LBA_STATUS = 0x86,
};

/* I/O commands: NVM Command Set 1.0, 3 "I/O Commands", and the reservations of Base 2.0, 7. */
enum nvme_nvm_opcode {
	NVME_NVM_FLUSH = 0x00,
	NVME_NVM_WRITE = 0x01,
	NVME_NVM_READ = 0x02,
	NVME_NVM_WRITE_UNCORRECTABLE = 0x04,
	NVME_NVM_COMPARE = 0x05,
	NVME_NVM_WRITE_ZEROES = 0x08,
	NVME_NVM_DATASET_MGMT = 0x09,
	NVME_NVM_VERIFY = 0x0c,
	NVME_NVM_RESV_REGISTER = 0x0d,
	NVME_NVM_RESV_REPORT = 0x0e,
	NVME_NVM_RESV_ACQUIRE = 0x11,
	NVME_NVM_RESV_RELEASE = 0x15,
	NVME_NVM_COPY = 0x19,
};

/*
 * One opcode, on both kinds of queue, is the whole Fabrics command set; byte 4 (FCTYPE) says which
 * command.
 */
enum {
	NVME_OPC_FABRICS = 0x7f,
};

/* Fabrics commands: NVMe Base 2.0, 6 "Fabrics Command Set". */
enum nvme_fabrics_type {
	NVME_FABRICS_PROPERTY_SET = 0x00,
	NVME_FABRICS_CONNECT = 0x01,
	NVME_FABRICS_PROPERTY_GET = 0x04,
	NVME_FABRICS_AUTH_SEND = 0x05,
	NVME_FABRICS_AUTH_RECEIVE = 0x06,
	NVME_FABRICS_DISCONNECT = 0x08,
};

/* Which way data travels, as bits 1:0 of an opcode (of FCTYPE for Fabrics commands) say it. */
enum nvme_direction {
	NVME_DIR_NONE = 0,
	NVME_DIR_TO_CONTROLLER = 1,
	NVME_DIR_TO_HOST = 2,
	NVME_DIR_BOTH = 3, /* no command of these standards; refuse it */
};

static inline enum nvme_direction nvme_opcode_direction(uint8_t opc, uint8_t fctype)
{
	return (enum nvme_direction)((opc == NVME_OPC_FABRICS ? fctype : opc) & 3);
}

#endif
