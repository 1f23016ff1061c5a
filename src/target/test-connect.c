/* SPDX-License-Identifier: Apache-2.0 */
#include "target/test-rig.h"
#include "tests/tap.h"

int main(void)
{
	struct rig rig;
	struct peer a, io;
	uint8_t buf[4096], back[4096];
	struct nvme_cmd cmd;
	struct nvme_cpl cpl;
	uint16_t cntlid;

	rig_init(&rig);
	rig_start(&rig);
	cntlid = peer_admin(&a, &rig, RIG_NQN);
	peer_io(&io, &rig, RIG_NQN, 1, cntlid);
	memset(buf, 0x5a, sizeof(buf));
	nvme_cmd_init_rw(&cmd, NVME_NVM_WRITE, 1, 8, 8, 0);
	cpl = peer_do(&io, &cmd, buf, 4096);
	is_status(&cpl, SUCCESS, "write by R2T");
	nvme_cmd_init_rw(&cmd, NVME_NVM_READ, 1, 8, 8, 0);
	cpl = peer_do(&io, &cmd, back, 4096);
	is_status(&cpl, SUCCESS, "read");
	is_mem(back, buf, 4096, "what was written");
	peer_close(&io);
	peer_close(&a);
	fputs(rig.log_text, stderr);
	rig_end(&rig);
	return tap_done();
}
