/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "doctor/judge.h"

enum {
	REQUEST_MIN_KIB = 128, /* what a host asks for in one command when it streams */
	NO_LIMIT_KIB = 1 << 30,
};

static void scheduler(const struct doctor_facts *f, const struct doctor_disk *d, struct doctor_report *r)
{
	const char *s = d->scheduler;

	if (!s[0])
		report_add(r, DOCTOR_DISK_SCHEDULER, d->name, DOCTOR_UNKNOWN, "its scheduler%s",
			   unseen_text(f, DOCTOR_UNSEEN));
	else if (d->rotational == 1)
		report_add(r, DOCTOR_DISK_SCHEDULER, d->name, DOCTOR_PASS, "%s, for a disk that says it turns",
			   s);
	else
		report_add(r, DOCTOR_DISK_SCHEDULER, d->name,
			   strcmp(s, "none") == 0 || (!d->nvme && strcmp(s, "mq-deadline") == 0) ? DOCTOR_PASS
												 : DOCTOR_WARN,
			   "%s", s);
}

static void cache(const struct doctor_facts *f, const struct doctor_disk *d, struct doctor_report *r)
{
	if (!d->cache[0])
		report_add(r, DOCTOR_DISK_CACHE, d->name, DOCTOR_UNKNOWN, "its write cache%s",
			   unseen_text(f, DOCTOR_UNSEEN));
	else if (strcmp(d->cache, "write through") == 0)
		report_add(r, DOCTOR_DISK_CACHE, d->name, DOCTOR_PASS,
			   "none, or one that survives a loss of power");
	else if (d->nvme)
		report_add(r, DOCTOR_DISK_CACHE, d->name, DOCTOR_WARN, "%s: a flush has to empty it", d->cache);
	else
		report_add(r, DOCTOR_DISK_CACHE, d->name, DOCTOR_PASS, "%s, as usual for its kind", d->cache);
	if (d->nvme && strcmp(d->cache, "write back") == 0)
		report_mend(r, "for writes that must last, use disks with power-loss protection");
}

static void request(const struct doctor_facts *f, const struct doctor_disk *d, struct doctor_report *r)
{
	if (d->max_kib < 0 || d->max_hw_kib < 0)
		report_add(r, DOCTOR_DISK_REQUEST, d->name, DOCTOR_UNKNOWN, "the largest request%s",
			   unseen_text(f, DOCTOR_UNSEEN));
	else if (d->max_hw_kib >= NO_LIMIT_KIB)
		report_add(r, DOCTOR_DISK_REQUEST, d->name,
			   d->max_kib < REQUEST_MIN_KIB ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld KiB; the disk sets no limit", (long long)d->max_kib);
	else
		report_add(r, DOCTOR_DISK_REQUEST, d->name,
			   d->max_kib < REQUEST_MIN_KIB && d->max_kib < d->max_hw_kib ? DOCTOR_WARN : DOCTOR_PASS,
			   "%lld KiB of at most %lld", (long long)d->max_kib, (long long)d->max_hw_kib);
}

static void disk(const struct doctor_facts *f, const struct doctor_disk *d, struct doctor_report *r)
{
	const char *model = d->model[0] ? d->model : d->nvme ? "an NVMe disk" : "a disk";

	report_add(r, DOCTOR_DISK_PRESENT, d->name, DOCTOR_PASS, "%s%s%s%s%s", model, d->pci.bdf[0] ? " at " : "",
		   d->pci.bdf, d->transport[0] && !d->pci.bdf[0] ? " over " : "",
		   d->pci.bdf[0] ? "" : d->transport);
	if (d->nvme && d->pci.bdf[0]) {
		judge_link(r, f, DOCTOR_DISK_LINK, d->name, &d->pci.link, false);
		judge_node(r, f, DOCTOR_DISK_NUMA, d->name, d->pci.node);
	}
	scheduler(f, d, r);
	cache(f, d, r);
	request(f, d, r);
}

void judge_disks(const struct doctor_facts *f, struct doctor_report *r)
{
	for (size_t i = 0; i < f->disk_count; i++)
		disk(f, &f->disks[i], r);
	if (f->disk_count == 0 && f->system.sysfs)
		report_add(r, DOCTOR_DISK_PRESENT, NULL, DOCTOR_ABSENT, "no disk with a device behind it");
	else if (f->disk_count == 0)
		report_add(r, DOCTOR_DISK_PRESENT, NULL, DOCTOR_UNKNOWN, "disks%s",
			   unseen_text(f, DOCTOR_UNSEEN));
}
