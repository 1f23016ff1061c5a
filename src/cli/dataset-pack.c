/* SPDX-License-Identifier: Apache-2.0 */
/*
 * penstock dataset pack: files and directories onto a volume. All names are gathered first and
 * sorted, so that the same tree gives the same archive whatever order a file system lists it in,
 * and so that it is known beforehand whether it fits. Only regular files are samples; of
 * everything else it is said how much was left out. Links on the command line are followed, as
 * `find -H` does, those inside of directories are not. A file with several hard links is stored
 * once per name.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "cli/dataset.h"
#include "cli/volume.h"

enum { PIECE = 1 << 20, TAR_UNIT = 512, TAR_END = 1024 };

struct file {
	char *path;
	const char *name; /* within path: what the sample is called */
	uint64_t size;
};

struct pack {
	struct file *files;
	size_t count;
	size_t capacity;
	uint64_t bytes;	  /* of contents */
	uint64_t archive; /* bytes at least */
	uint64_t links;	  /* symbolic ones, left out */
	uint64_t special; /* devices, sockets, pipes, left out */
};

/* ---- gathering ----------------------------------------------------------------------------- */

/* As GNU tar names members: what is behind the last "..", without "/" and "./" in front. */
static const char *name_of(const char *path)
{
	const char *name = path, *at = path;

	while (*at) {
		size_t n = strcspn(at, "/");

		if (n == 2 && at[0] == '.' && at[1] == '.')
			name = at + n;
		at += n + (at[n] == '/');
	}
	while (name[0] == '/' || (name[0] == '.' && name[1] == '/'))
		name++;
	return name;
}

static int add_file(struct pack *p, const char *path, uint64_t size)
{
	struct file *f;

	if (p->count == p->capacity) {
		size_t n = p->capacity ? 2 * p->capacity : 256;

		f = mem_realloc(p->files, n * sizeof(*f));
		if (!f)
			return cli_error("out of memory");
		p->files = f;
		p->capacity = n;
	}
	f = &p->files[p->count];
	f->path = mem_strdup(path);
	if (!f->path)
		return cli_error("out of memory");
	f->name = name_of(f->path);
	f->size = size;
	p->count++;
	p->bytes += size;
	p->archive += TAR_UNIT + (size + TAR_UNIT - 1) / TAR_UNIT * TAR_UNIT;
	return CLI_DONE;
}

static int take_entry(struct pack *p, const FTSENT *e)
{
	switch (e->fts_info) {
	case FTS_F:
		return add_file(p, e->fts_path, (uint64_t)e->fts_statp->st_size);
	case FTS_SL:
		p->links++;
		return CLI_DONE;
	case FTS_DEFAULT:
		p->special++;
		return CLI_DONE;
	case FTS_SLNONE:
		return cli_error("%s: a link to nothing", e->fts_path);
	case FTS_DC:
		return cli_error("%s: a directory that contains itself", e->fts_path);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return cli_error("%s: %s", e->fts_path, strerror(e->fts_errno));
	default:
		return CLI_DONE; /* directories, before and behind */
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static int gather(struct pack *p, char **roots)
{
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	int rc = CLI_DONE;
	FTSENT *e;

	if (!fts)
		return cli_error("%s: %s", roots[0], strerror(errno));
	errno = 0;
	while (rc == CLI_DONE && (e = fts_read(fts))) {
		rc = atomic_load(&dataset_stop) ? cli_error("interrupted, nothing was written") : take_entry(p, e);
		errno = 0;
	}
	if (rc == CLI_DONE && errno != 0)
		rc = cli_error("reading directories: %s", strerror(errno));
	fts_close(fts);
	if (rc != CLI_DONE)
		return rc;
	if (p->count == 0)
		return cli_error("no regular file there: a dataset needs at least one");
	qsort(p->files, p->count, sizeof(*p->files), by_name);
	for (size_t i = 1; i < p->count; i++) {
		if (strcmp(p->files[i - 1].name, p->files[i].name) == 0)
			return cli_error("%s and %s would have the same name, '%s'", p->files[i - 1].path,
					 p->files[i].path, p->files[i].name);
	}
	return CLI_DONE;
}

static void pack_deinit(struct pack *p)
{
	for (size_t i = 0; i < p->count; i++)
		mem_free(p->files[i].path);
	mem_free(p->files);
}

/* ---- writing ------------------------------------------------------------------------------- */

struct writing {
	struct pst_dataset_writer *w;
	const char *uri;
	uint8_t *piece;
	uint64_t done;
	struct cli_progress progress;
};

static int changed(const struct file *f)
{
	return cli_error("%s: it changed while it was being packed; the dataset is incomplete", f->path);
}

static int copy_contents(struct writing *x, const struct file *f, int fd)
{
	struct pst_error err;
	uint64_t left = f->size;

	while (left > 0) {
		ssize_t n = read(fd, x->piece, MIN(left, (uint64_t)PIECE));

		if (n < 0 && errno == EINTR && !atomic_load(&dataset_stop))
			continue;
		if (atomic_load(&dataset_stop))
			return cli_error("interrupted; the dataset is incomplete");
		if (n < 0)
			return cli_error("%s: %s", f->path, strerror(errno));
		if (n == 0)
			return changed(f);
		if (pst_dataset_write(x->w, x->piece, (size_t)n, &err) < 0)
			return cli_error("%s: %s", x->uri, err.text);
		left -= (uint64_t)n;
		x->done += (uint64_t)n;
		cli_progress_update(&x->progress, x->done);
	}
	return CLI_DONE;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int copy_open(struct writing *x, const struct file *f, int fd)
{
	struct stat before, after;
	struct pst_error err;
	int rc;

	if (fstat(fd, &before) != 0)
		return cli_error("%s: %s", f->path, strerror(errno));
	if (!S_ISREG(before.st_mode) || (uint64_t)before.st_size != f->size)
		return changed(f);
	if (pst_dataset_add(x->w, f->name, f->size, (uint64_t)MAX(before.st_mtim.tv_sec, (time_t)0),
			    before.st_mode & 07777, &err) < 0)
		return cli_error("%s: %s", x->uri, err.text);
	rc = copy_contents(x, f, fd);
	if (rc == CLI_DONE && (fstat(fd, &after) != 0 || !same_file(&before, &after)))
		rc = changed(f);
	return rc;
}

static int copy_file(struct writing *x, const struct file *f)
{
	/* Not to hang on a pipe that has taken the file's place. */
	int rc, fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return cli_error("%s: %s; the dataset is incomplete", f->path, strerror(errno));
	rc = copy_open(x, f, fd);
	close(fd);
	return rc;
}

static int write_all(struct cli_volume *v, const struct pack *p, const char *uri, uint64_t *ret_bytes)
{
	struct writing x = { .uri = uri, .piece = mem_alloc(PIECE) };
	struct pst_error err;
	int rc = CLI_DONE;

	if (!x.piece)
		return cli_error("out of memory");
	if (pst_dataset_create(v->vol, &x.w, &err) < 0) {
		mem_free(x.piece);
		return cli_error("%s: %s", uri, err.text);
	}
	cli_progress_begin(&x.progress, "pack", p->bytes);
	for (size_t i = 0; rc == CLI_DONE && i < p->count; i++)
		rc = copy_file(&x, &p->files[i]);
	cli_progress_end(&x.progress);
	if (rc == CLI_DONE && pst_dataset_finish(x.w, ret_bytes, &err) < 0)
		rc = cli_error("%s: %s", uri, err.text);
	pst_dataset_writer_free(x.w);
	mem_free(x.piece);
	return rc;
}

/* ---- the action ---------------------------------------------------------------------------- */

static int report(const struct pack *p, const char *uri, uint64_t bytes)
{
	struct json_object *o;
	char size[FORMAT_MAX];

	if (!cli_json) {
		fprintf(stderr, "%s: %zu samples, %s\n", uri, p->count, format_size(bytes, size, sizeof(size)));
		if (p->links + p->special > 0)
			fprintf(stderr, "%s: left out: %llu symbolic links, %llu devices, sockets and pipes\n", uri,
				(unsigned long long)p->links, (unsigned long long)p->special);
		return CLI_DONE;
	}
	o = cli_json_new("dataset");
	cli_json_str(o, "action", "pack");
	cli_json_u64(o, "samples", p->count);
	cli_json_u64(o, "bytes", p->bytes);
	cli_json_u64(o, "archive_bytes", bytes);
	cli_json_u64(o, "skipped_links", p->links);
	cli_json_u64(o, "skipped_special", p->special);
	return cli_json_print(o);
}

static int pack_onto(struct cli_volume *v, const struct pack *p, const char *uri)
{
	uint64_t bytes;
	int rc;

	if (p->archive + TAR_END > v->info.size_bytes)
		return cli_error("%s: %zu files take at least %llu bytes, the volume has %llu: nothing was written",
				 uri, p->count, (unsigned long long)(p->archive + TAR_END),
				 (unsigned long long)v->info.size_bytes);
	rc = write_all(v, p, uri, &bytes);
	return rc == CLI_DONE ? report(p, uri, bytes) : rc;
}

int dataset_pack(const char *uri, int count, char **files)
{
	struct pack p = { .count = 0 };
	struct cli_volume v;
	int rc = gather(&p, files); /* argv ends with a NULL, as fts_open(3) wants it */

	if (rc == CLI_DONE)
		rc = cli_volume_open(&v, uri, CLI_WRITE);
	if (rc == CLI_DONE) {
		rc = pack_onto(&v, &p, uri);
		cli_volume_close(&v);
	}
	pack_deinit(&p);
	return rc;
}
