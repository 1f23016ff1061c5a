/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/gather.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int gather_machine(const char *root, struct doctor_facts *f, struct err *err)
{
	struct tree t = { .root = root };
	struct stat st;

	if (root[0]) {
		if (stat(root, &st) < 0)
			return err_set(err, errno, "%s: %s", root, strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return err_set(err, ENOTDIR, "%s: is no directory; expected one that holds sys and proc",
				       root);
		if (!tree_exists(&t, "sys") && !tree_exists(&t, "proc"))
			return err_set(err, ENOENT, "%s: has neither sys nor proc in it", root);
	}
	f->system.root = geteuid() == 0;
	f->system.captured = root[0] != 0;
	gather_system(&t, &f->system);
	gather_gpus(&t, f);
	gather_nics(&t, f);
	gather_disks(&t, f);
	gather_topology(&t, f);
	gather_bridges(&t, f);
	if (!root[0])
		gather_live(f);
	return 0;
}
