/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and completions as text; see dump.h. One function per group of commands that share a
 * layout.
 */
#include "nvme/dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/util.h"
#include "nvme/cmd.h"
#include "nvme/names.h"
#include "nvme/status.h"

/* Text that grows in the caller's buffer and stops growing at its end. */
struct line {
	char *buf;
	size_t size;
	size_t at;
};

static PRINTF_LIKE(2, 3) void put(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->buf + l->at, l->size - l->at, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->at += MIN((size_t)n, l->size - l->at - 1);
}

static struct line line_init(char *buf, size_t size)
{
	INVARIANT(size > 0);
	buf[0] = '\0';
	return (struct line){ .buf = buf, .size = size };
}

static void put_sgl(struct line *l, const struct nvme_sgl_desc *sgl)
{
	switch (sgl->id) {
	case NVME_SGL_ID_TRANSPORT:
		put(l, " sgl=transport:%" PRIu32, nvme_sgl_len(sgl));
		break;
	case NVME_SGL_ID_IN_CAPSULE:
		put(l, " sgl=capsule+%" PRIu64 ":%" PRIu32, le64_to_cpu(sgl->addr),
		    nvme_sgl_len(sgl));
		break;
	default:
		/* The all-zero descriptor of commands that move no data. */
		if (sgl->id == 0 && nvme_sgl_len(sgl) == 0)
			break;
		put(l, " sgl=0x%02x:%" PRIu32, sgl->id, nvme_sgl_len(sgl));
	}
}

static void put_rw(struct line *l, const struct nvme_cmd *cmd)
{
	put(l, " slba=%" PRIu64 " nlb=%" PRIu32, nvme_cmd_slba(cmd), nvme_cmd_nlb(cmd));
	if (nvme_cmd_fua(cmd))
		put(l, " fua");
	if (nvme_cmd_lr(cmd))
		put(l, " lr");
	if (cmd->opc == NVME_NVM_WRITE_ZEROES && nvme_cmd_deac(cmd))
		put(l, " deac");
	if (nvme_cmd_prinfo(cmd))
		put(l, " prinfo=0x%x", nvme_cmd_prinfo(cmd));
	if (cmd->opc == NVME_NVM_WRITE && nvme_cmd_dtype(cmd))
		put(l, " dtype=%u dspec=%u", nvme_cmd_dtype(cmd), nvme_cmd_dspec(cmd));
}

static void put_resv(struct line *l, const struct nvme_cmd *cmd)
{
	put(l, " action=%u", nvme_resv_action(cmd));
	if (nvme_resv_ignore_key(cmd))
		put(l, " iekey");
	if (cmd->opc == NVME_NVM_RESV_REGISTER)
		put(l, " cptpl=%u", nvme_resv_cptpl(cmd));
	else
		put(l, " rtype=%u", nvme_resv_rtype(cmd));
}

static void put_nvm(struct line *l, const struct nvme_cmd *cmd)
{
	switch (cmd->opc) {
	case NVME_NVM_READ:
	case NVME_NVM_WRITE:
	case NVME_NVM_COMPARE:
	case NVME_NVM_VERIFY:
	case NVME_NVM_WRITE_ZEROES:
	case NVME_NVM_WRITE_UNCORRECTABLE:
		put_rw(l, cmd);
		break;
	case NVME_NVM_DATASET_MGMT:
		put(l, " nr=%" PRIu32 " attr=0x%" PRIx32, nvme_dsm_nr(cmd), nvme_dsm_attr(cmd));
		break;
	case NVME_NVM_RESV_REGISTER:
	case NVME_NVM_RESV_ACQUIRE:
	case NVME_NVM_RESV_RELEASE:
		put_resv(l, cmd);
		break;
	case NVME_NVM_RESV_REPORT:
		put(l, " bytes=%" PRIu64 "%s", nvme_resv_report_bytes(cmd),
		    nvme_resv_report_extended(cmd) ? " extended" : "");
		break;
	default:
		break;
	}
}

static void put_get_log(struct line *l, const struct nvme_cmd *cmd)
{
	struct nvme_get_log log = nvme_cmd_get_log(cmd);

	put(l, " lid=0x%02x (%s) bytes=%" PRIu64 " offset=%" PRIu64, log.lid,
	    nvme_log_name(log.lid), log.bytes, log.offset);
	if (log.lsp)
		put(l, " lsp=0x%x", log.lsp);
	if (log.rae)
		put(l, " rae");
}

static void put_admin(struct line *l, const struct nvme_cmd *cmd)
{
	switch (cmd->opc) {
	case NVME_ADMIN_IDENTIFY:
		put(l, " cns=0x%02x (%s)", nvme_identify_cns(cmd),
		    nvme_cns_name(nvme_identify_cns(cmd)));
		if (nvme_identify_cntid(cmd))
			put(l, " cntid=%u", nvme_identify_cntid(cmd));
		if (nvme_identify_csi(cmd))
			put(l, " csi=%u", nvme_identify_csi(cmd));
		break;
	case NVME_ADMIN_GET_LOG_PAGE:
		put_get_log(l, cmd);
		break;
	case NVME_ADMIN_SET_FEATURES:
		put(l, " fid=0x%02x (%s) dw11=0x%" PRIx32 "%s", nvme_feature_fid(cmd),
		    nvme_feature_name(nvme_feature_fid(cmd)), nvme_feature_dw11(cmd),
		    nvme_feature_save(cmd) ? " save" : "");
		break;
	case NVME_ADMIN_GET_FEATURES:
		put(l, " fid=0x%02x (%s) sel=%u", nvme_feature_fid(cmd),
		    nvme_feature_name(nvme_feature_fid(cmd)), nvme_feature_sel(cmd));
		break;
	case NVME_ADMIN_ABORT:
		put(l, " sqid=%u abort_cid=%u", nvme_abort_sqid(cmd), nvme_abort_cid(cmd));
		break;
	default:
		break;
	}
}

static void put_fabrics(struct line *l, const struct nvme_cmd *cmd)
{
	const struct nvme_connect_cmd *connect = nvme_cmd_as_connect(cmd);
	const struct nvme_property_cmd *prop = nvme_cmd_as_property(cmd);
	const struct nvme_auth_cmd *auth = nvme_cmd_as_auth(cmd);

	switch (nvme_cmd_fctype(cmd)) {
	case NVME_FABRICS_CONNECT:
		put(l, " recfmt=%u qid=%u sqsize=%u cattr=0x%02x kato=%" PRIu32,
		    le16_to_cpu(connect->recfmt), le16_to_cpu(connect->qid),
		    le16_to_cpu(connect->sqsize), connect->cattr, le32_to_cpu(connect->kato));
		put_sgl(l, &connect->sgl);
		break;
	case NVME_FABRICS_PROPERTY_GET:
	case NVME_FABRICS_PROPERTY_SET:
		put(l, " ofst=0x%" PRIx32 " (%s) size=%u", le32_to_cpu(prop->ofst),
		    nvme_property_name(le32_to_cpu(prop->ofst)), nvme_property_size(prop));
		if (nvme_cmd_fctype(cmd) == NVME_FABRICS_PROPERTY_SET)
			put(l, " value=0x%" PRIx64, le64_to_cpu(prop->value));
		break;
	case NVME_FABRICS_AUTH_SEND:
	case NVME_FABRICS_AUTH_RECEIVE:
		put(l, " secp=0x%02x len=%" PRIu32, auth->secp, le32_to_cpu(auth->len));
		put_sgl(l, &auth->sgl);
		break;
	default:
		break;
	}
}

char *nvme_cmd_dump(const struct nvme_cmd *cmd, bool is_admin, char *buf, size_t size)
{
	struct line l = line_init(buf, size);

	put(&l, "%s", nvme_cmd_name(cmd->opc, is_admin, nvme_cmd_fctype(cmd)));
	if (cmd->opc == NVME_OPC_FABRICS) {
		put(&l, " fctype=0x%02x cid=%u", nvme_cmd_fctype(cmd), nvme_cmd_cid(cmd));
		put_fabrics(&l, cmd);
		return buf;
	}
	put(&l, " opc=0x%02x cid=%u nsid=%" PRIu32, cmd->opc, nvme_cmd_cid(cmd),
	    nvme_cmd_nsid(cmd));
	if (nvme_cmd_fuse(cmd) != NVME_FUSE_NONE)
		put(&l, " fuse=%u", (unsigned int)nvme_cmd_fuse(cmd));
	if (is_admin)
		put_admin(&l, cmd);
	else
		put_nvm(&l, cmd);
	put_sgl(&l, &cmd->sgl);
	return buf;
}

char *nvme_cpl_dump(const struct nvme_cpl *cpl, bool is_fabrics, char *buf, size_t size)
{
	struct line l = line_init(buf, size);
	struct nvme_status st = nvme_cpl_status(cpl);

	put(&l, "cid=%u sqhd=%u status=0x%03x (%s)", nvme_cpl_cid(cpl), nvme_cpl_sqhd(cpl),
	    nvme_status_code(st), is_fabrics ? nvme_status_name_fabrics(st) : nvme_status_name(st));
	if (st.dnr)
		put(&l, " dnr");
	if (st.more)
		put(&l, " more");
	if (st.crd)
		put(&l, " crd=%u", st.crd);
	put(&l, " dw0=0x%" PRIx32, nvme_cpl_dw0(cpl));
	if (le32_to_cpu(cpl->cdw1))
		put(&l, " dw1=0x%" PRIx32, le32_to_cpu(cpl->cdw1));
	return buf;
}
