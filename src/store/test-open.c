/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: which files are taken, who they are, how they grow, and what if there is no memory. */
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include "store/test-rig.h"

static struct rig rig;

/* Opens "file:NAME OPTIONS"; NULL and a sentence if that fails. */
static struct store *attempt(const char *name, const char *options, struct err *err)
{
	struct store *s = NULL;
	char text[512];
	int r;

	snprintf(text, sizeof(text), "file:%s%s", rig_path(&rig, name), options);
	*err = (struct err)ERR_NULL;
	r = store_open(rig.loop, text, &s, err);
	INVARIANT((r == 0) == (s != NULL) && (r == 0 || err->code == -r));
	return s;
}

static void refused(const char *name, const char *options, int code, const char *says)
{
	struct err err;
	struct store *s = attempt(name, options, &err);

	if (!ok(!s && err.code == code && strstr(err.text, says), "file:%s%s: %s", name, options, says))
		diag("%d %s", err.code, err.text);
	store_free(s);
}

static struct store *taken(const char *name, const char *options)
{
	struct err err;
	struct store *s = attempt(name, options, &err);

	if (!s)
		diag("%s", err.text);
	INVARIANT(s);
	return s;
}

static void make_file(const char *name, uint64_t size)
{
	int fd = open(rig_path(&rig, name), O_RDWR | O_CREAT | O_TRUNC, 0600);

	INVARIANT(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

static void test_sizes(void)
{
	uint8_t buf[512] = { 1 };
	struct store *s;

	refused("no.img", "", ENOENT, "No such file");
	refused("no.img", ",size=1M,create=off", ENOENT, "No such file");
	refused("no.img", ",size=1M,ro", ENOENT, "No such file");
	refused("", "", EINVAL, "neither a regular file nor a block device");
	make_file("odd.img", 1000);
	refused("odd.img", "", EINVAL, "1000 bytes, no multiple of the block of 512");
	make_file("odd.img", 1536);
	refused("odd.img", ",block=4096", EINVAL, "1536 bytes, no multiple of the block of 4096");
	s = taken("odd.img", "");
	is_u64(store_info(s)->size, 1536, "blocks of 512 are the default");
	store_free(s);
	refused("odd.img", ",size=1M", EINVAL, "has 1536 bytes, and size= says 1048576");
	make_file("odd.img", 0);
	refused("odd.img", "", EINVAL, "is empty");
	rig_unlink(&rig, "odd.img");

	s = taken("new.img", ",size=1M");
	ok(store_info(s)->size == 1 << 20 && store_info(s)->block == 512, "size= makes a file");
	is_i64(run(&rig, s, STORE_READ, 0, 0, 512, buf), 0, "that can be read");
	ok(is_zero(buf, 512), "and is zeroes");
	is_str(store_info(s)->kind, "file", "kind");
	is_str(store_info(s)->name, rig_path(&rig, "new.img"), "name");
	store_free(s);
	s = taken("new.img", ",size=1M,create=off");
	store_free(s);
	ok(true, "size= that matches is right");
	rig_unlink(&rig, "new.img");
}

static void test_direct(void)
{
	struct store *s = taken("d.img", ",size=1M,direct=off");

	is_u64(store_info(s)->align, 1, "direct=off needs no alignment");
	store_free(s);
	s = taken("d.img", "");
	if (store_info(s)->align == 1) {
		tap_skip("no direct I/O with blocks of 512 here");
		store_free(s);
	} else {
		store_free(s);
		s = taken("d.img", ",direct=on");
		ok(store_info(s)->align >= 512, "direct=on says the alignment: %u", store_info(s)->align);
		store_free(s);
	}
	rig_unlink(&rig, "d.img");
}

static void test_lock(void)
{
	struct store *s = taken("l.img", ",size=1M"), *other;

	refused("l.img", "", EBUSY, "another process");
	other = taken("l.img", ",ro");
	ok(true, "a reader may join");
	store_free(other);
	other = taken("l.img", ",lock=off");
	ok(true, "lock=off takes it all the same");
	store_free(other);
	store_free(s);
	s = taken("l.img", "");
	ok(true, "the lock goes with the store");
	store_free(s);
	rig_unlink(&rig, "l.img");
}

/* ---- identity ------------------------------------------------------------------------------ */

static void uuid_of(const char *name, const char *options, uint8_t uuid[16])
{
	struct store *s = taken(name, options);

	memcpy(uuid, store_info(s)->uuid, 16);
	store_free(s);
}

static void test_identity(void)
{
	uint8_t a[16], b[16];
	struct store *x, *y;

	uuid_of("a.img", ",size=1M", a);
	uuid_of("a.img", "", b);
	is_mem(b, a, 16, "a file is the same after a restart");
	INVARIANT(rename(rig_path(&rig, "a.img"), rig_path(&rig, "b.img")) == 0);
	uuid_of("b.img", ",ro", b);
	is_mem(b, a, 16, "under another name too");
	uuid_of("a.img", ",size=1M", b);
	ok(memcmp(a, b, 16) != 0, "a new file of the old name is another");
	uuid_of("a.img", ",uuid=6ba7b810-9dad-11d1-80b4-00c04fd430c8", b);
	is_mem(b, "\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8", 16, "uuid= rules");
	rig_unlink(&rig, "a.img");
	rig_unlink(&rig, "b.img");

	x = rig_open(&rig, "memory:1M");
	y = rig_open(&rig, "memory:1M");
	memcpy(a, store_info(x)->uuid, 16);
	memcpy(b, store_info(y)->uuid, 16);
	ok(memcmp(a, b, 16) != 0, "two memory stores of a size are two");
	store_free(x);
	store_free(y);
	x = rig_open(&rig, "memory:1M");
	y = rig_open(&rig, "memory:1M");
	ok(memcmp(a, store_info(x)->uuid, 16) == 0 && memcmp(b, store_info(y)->uuid, 16) == 0,
	   "in the same order they are the same");
	store_free(x);
	x = rig_open(&rig, "memory:1M,filter=delay:1ms");
	is_mem(store_info(x)->uuid, a, 16, "a filter does not change who it is");
	store_free(x);
	x = rig_open(&rig, "null:1M");
	ok(memcmp(store_info(x)->uuid, a, 16) != 0, "null is not memory");
	store_free(x);
	store_free(y);
}

/* ---- growing ------------------------------------------------------------------------------- */

static void test_growing(void)
{
	struct store *s = taken("g.img", ",size=1M,filter=delay:1us");
	uint8_t buf[512] = { 7 };

	is_i64(s->ops->refresh(s), 0, "nothing changed");
	INVARIANT(truncate(rig_path(&rig, "g.img"), (2 << 20) + 100) == 0);
	is_i64(s->ops->refresh(s), 1, "the file grew");
	is_u64(store_info(s)->size, 2 << 20, "by whole blocks, seen through a filter");
	is_i64(run(&rig, s, STORE_WRITE, 0, (2 << 20) - 512, 512, buf), 0, "its new end can be written");
	INVARIANT(truncate(rig_path(&rig, "g.img"), 1 << 19) == 0);
	is_i64(s->ops->refresh(s), 1, "the file shrank");
	is_u64(store_info(s)->size, 1 << 19, "to its new size");
	store_free(s);
	rig_unlink(&rig, "g.img");
}

/* ---- no memory ----------------------------------------------------------------------------- */

static void test_no_memory(const char *spec, const char *what)
{
	struct err err = ERR_NULL;
	struct store *s = NULL;
	uint64_t n, before;
	int r;

	for (n = 1; !s && n < 100; n++) {
		before = mem_fail_count();
		mem_fail_after(n);
		r = store_open(rig.loop, spec, &s, &err);
		mem_fail_after(0);
		if (mem_fail_count() == before)
			break;
		if (r != -ENOMEM)
			break;
	}
	ok(s && n > 3 && n < 100, "%s: each allocation may fail (%llu)", what, (unsigned long long)n - 1);
	store_free(s);
}

/* ---- a block device ------------------------------------------------------------------------ */

static int attach(const char *path, char dev[32])
{
	int control = open("/dev/loop-control", O_RDWR), file, loop, n;

	if (control < 0)
		return -1;
	n = ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	snprintf(dev, 32, "/dev/loop%d", n);
	loop = open(dev, O_RDWR);
	file = open(path, O_RDWR);
	if (n < 0 || loop < 0 || file < 0 || ioctl(loop, LOOP_SET_FD, file) < 0) {
		close(loop);
		close(file);
		return -1;
	}
	close(file);
	return loop;
}

static void test_block_device(void)
{
	uint8_t *out = pages(8192), *in = pages(8192), uuid[16];
	struct store *s;
	char dev[32];
	int loop;

	make_file("disk.img", 4 << 20);
	loop = attach(rig_path(&rig, "disk.img"), dev);
	if (loop < 0) {
		tap_skip("no loop device to be had (needs root and the loop driver)");
	} else {
		s = rig_open(&rig, dev);
		memcpy(uuid, store_info(s)->uuid, 16);
		is_u64(store_info(s)->size, 4 << 20, "a block device has its size");
		memset(out, 0x5a, 8192);
		is_i64(run(&rig, s, STORE_WRITE, STORE_FUA, 8192, 8192, out), 0, "and can be written");
		is_i64(run(&rig, s, STORE_FLUSH, 0, 0, 0, NULL), 0, "and flushed");
		is_i64(run(&rig, s, STORE_READ, 0, 8192, 8192, in), 0, "and read");
		is_mem(in, out, 8192, "with the same bytes");
		if (store_info(s)->can_discard) {
			is_i64(run(&rig, s, STORE_DISCARD, 0, 8192, 8192, NULL), 0, "and discarded");
			run(&rig, s, STORE_READ, 0, 8192, 8192, in);
			ok(is_zero(in, 8192), "which leaves zeroes");
		} else {
			tap_skip("this loop device has no discard that leaves zeroes");
		}
		is_i64(run(&rig, s, STORE_ZERO, STORE_FUA, 0, 1 << 20, NULL), 0, "and zeroed");
		store_free(s);
		s = rig_open(&rig, dev);
		is_mem(store_info(s)->uuid, uuid, 16, "it is the same when opened again");
		store_free(s);
		ioctl(loop, LOOP_CLR_FD, 0);
		close(loop);
	}
	rig_unlink(&rig, "disk.img");
	mem_free(in);
	mem_free(out);
}

int main(void)
{
	char spec[256];

	for (int kind = RIG_URING; kind <= RIG_EPOLL; kind++) {
		if (!rig_init(&rig, (enum rig_kind)kind, NULL))
			continue;
		test_sizes();
		test_direct();
		test_lock();
		test_identity();
		test_growing();
		make_file("n.img", 1 << 20);
		snprintf(spec, sizeof(spec), "file:%s,filter=delay:1ms,filter=torn:1", rig_path(&rig, "n.img"));
		test_no_memory(spec, "file");
		rig_unlink(&rig, "n.img");
		test_no_memory("memory:1M,filter=error:read:EIO", "memory");
		test_no_memory("null:1M,filter=torn:1", "null");
		test_block_device();
		rig_deinit(&rig);
	}
	return tap_done();
}
