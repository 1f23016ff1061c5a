/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated disk: what a power cut keeps and loses, errors, and the order of operations. */
#include <stdlib.h>

#include "tests/tap.h"
#include "wait.h"

#define PATH "/srv/a.img"
#define SIZE (1 << 20)

struct disk {
	struct sim *sim;
	struct sim_node *node;
	struct io_loop *loop;
	struct io_file *file;
};

static uint8_t buf[SIZE];

static void disk_open(struct disk *d)
{
	struct io_file_options fo = { .create = true, .size = SIZE, .exclusive = true };
	struct err err = ERR_NULL;

	d->loop = sim_loop_new(d->node);
	if (io_file_open(d->loop, PATH, &fo, &d->file, &err) != 0)
		diag("%s", err_text(&err));
}

static void disk_close(struct disk *d)
{
	io_file_close(d->file);
	io_loop_free(d->loop);
}

static void disk_up(struct disk *d, const struct sim_config *config, uint64_t seed)
{
	struct sim_config calm;

	sim_config_calm(&calm);
	d->sim = sim_new(seed, config ? config : &calm);
	d->node = sim_node_new(d->sim, "disk");
	disk_open(d);
}

static void disk_down(struct disk *d)
{
	disk_close(d);
	sim_free(d->sim);
}

static void disk_crash(struct disk *d, enum sim_crash how)
{
	sim_node_crash(d->node, how);
	sim_run_for(d->sim, MS);
	disk_close(d);
	sim_node_restart(d->node);
	disk_open(d);
}

static void write_start(struct disk *d, struct waiter *w, uint64_t offset, size_t n, uint8_t fill,
			bool dsync)
{
	struct io_op *op = waiter_arm(w, d->sim);

	w->iov = (struct iovec){ malloc(n), n };
	memset(w->iov.iov_base, fill, n);
	io_file_write(d->loop, d->file, op, &w->iov, 1, offset, dsync ? IO_FILE_DSYNC : 0);
}

static int64_t write_end(struct waiter *w)
{
	int64_t r = waiter_wait(w, 100 * S);

	free(w->iov.iov_base);
	return r;
}

static int64_t write_fill(struct disk *d, uint64_t offset, size_t n, uint8_t fill, bool dsync)
{
	struct waiter w;

	write_start(d, &w, offset, n, fill, dsync);
	return write_end(&w);
}

static int64_t sync_file(struct disk *d)
{
	struct waiter w;

	io_file_sync(d->loop, d->file, waiter_arm(&w, d->sim));
	return waiter_wait(&w, 100 * S);
}

static int64_t read_at(struct disk *d, uint64_t offset, size_t n)
{
	struct waiter w;
	struct io_op *op = waiter_arm(&w, d->sim);

	w.iov = (struct iovec){ buf, n };
	memset(buf, 0xee, n);
	io_file_read(d->loop, d->file, op, &w.iov, 1, offset);
	return waiter_wait(&w, 100 * S);
}

/*
 * Sectors of [offset, offset + n) that are all @fill; -1 if a sector is a mixture of it and @old.
 */
static int sectors_of(struct disk *d, uint64_t offset, size_t n, size_t sector, uint8_t fill,
		      uint8_t old)
{
	int whole = 0;

	read_at(d, offset, n);
	for (size_t i = 0; i < n; i += sector) {
		for (size_t j = 1; j < sector; j++)
			if (buf[i + j] != buf[i])
				return -1;
		if (buf[i] != fill && buf[i] != old)
			return -1;
		whole += buf[i] == fill;
	}
	return whole;
}

static void test_plain(void)
{
	struct disk d;
	struct waiter w;

	disk_up(&d, NULL, 1);
	is_u64(io_file_info(d.file)->size, SIZE, "a new file has its size");
	is_i64(read_at(&d, 100, 1000), 1000, "it can be read");
	is_u64(buf[0] | buf[999], 0, "and is zero");
	is_i64(write_fill(&d, 1000, 20000, 5, false), 20000, "written");
	is_i64(read_at(&d, 500, 30000), 30000, "and read");
	ok(buf[499] == 0 && buf[500] == 5 && buf[20499] == 5 && buf[20500] == 0,
	   "just those bytes");
	is_i64(read_at(&d, SIZE - 10, 100), 10, "a read ends with the file");
	is_i64(read_at(&d, SIZE + 10, 100), 0, "and there is nothing behind it");
	is_i64(write_fill(&d, SIZE, 512, 1, false), 512, "a write makes the file longer");
	io_file_refresh(d.file);
	is_u64(io_file_info(d.file)->size, SIZE + 512, "which a refresh tells");
	io_file_discard(d.loop, d.file, waiter_arm(&w, d.sim), 2000, 1000);
	is_i64(waiter_wait(&w, S), 0, "discard");
	io_file_zero(d.loop, d.file, waiter_arm(&w, d.sim), 5000, 1000, true);
	is_i64(waiter_wait(&w, S), 0, "zero");
	read_at(&d, 0, 8000);
	ok(buf[1999] == 5 && !buf[2000] && !buf[2999] && buf[3000] == 5,
	   "discarded bytes are zero");
	ok(buf[4999] == 5 && !buf[5000] && !buf[5999] && buf[6000] == 5, "and so are zeroed ones");
	disk_down(&d);
}

static void test_open(void)
{
	struct io_file_options ro = { .read_only = true };
	struct io_file_options ex = { .exclusive = true };
	struct io_file_options di = { .direct = true };
	struct disk d;
	struct io_file *f;
	struct waiter w;

	disk_up(&d, NULL, 1);
	is_i64(io_file_open(d.loop, "/none", &ro, &f, NULL), -ENOENT, "a file that is not there");
	is_i64(io_file_open(d.loop, PATH, &ex, &f, NULL), -EBUSY, "one server at a time");
	is_i64(io_file_open(d.loop, PATH, &ro, &f, NULL), 0, "but any number of readers");
	io_file_write(d.loop, f, waiter_arm(&w, d.sim), &(struct iovec){ buf, 512 }, 1, 0, 0);
	is_i64(waiter_wait(&w, S), -EBADF, "who cannot write");
	io_file_close(f);
	is_i64(io_file_open(d.loop, PATH, &di, &f, NULL), 0, "direct");
	is_u64(io_file_info(f)->dio_align, 512, "says how to align");
	io_file_write(d.loop, f, waiter_arm(&w, d.sim), &(struct iovec){ buf, 512 }, 1, 100, 0);
	is_i64(waiter_wait(&w, S), -EINVAL, "and means it");
	io_file_close(f);
	disk_down(&d);
}

/*
 * Over many power cuts: what was synced is kept, what was not is lost, kept or torn between
 * sectors.
 */
static void test_power_cut(uint32_t sector)
{
	unsigned int kept = 0, lost = 0, torn = 0, torn_within = 0, synced_lost = 0, dsync_lost = 0;
	unsigned int older = 0;
	struct sim_config c;

	sim_config_calm(&c);
	c.sector = sector;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct disk d;
		int n;

		disk_up(&d, &c, seed);
		write_fill(&d, 0, 65536, 1, false);
		sync_file(&d);
		write_fill(&d, 65536, 65536, 2, true);
		write_fill(&d, 0, 65536, 3, false);
		write_fill(&d, 131072, 8192, 4, false);
		write_fill(&d, 131072, 8192, 5, false);
		disk_crash(&d, SIM_CRASH_POWER);
		n = sectors_of(&d, 0, 65536, sector, 3, 1);
		torn_within += n < 0;
		kept += n == (int)(65536 / sector);
		lost += n == 0;
		torn += n > 0 && n < (int)(65536 / sector);
		dsync_lost += sectors_of(&d, 65536, 65536, sector, 2, 2) != (int)(65536 / sector);
		read_at(&d, 131072, 8192);
		for (size_t i = 0; i < 8192; i++)
			older += buf[i] == 4;
		read_at(&d, 0, 65536);
		for (size_t i = 0; i < 65536; i++)
			synced_lost += buf[i] != 1 && buf[i] != 3;
		disk_down(&d);
	}
	is_u64(synced_lost, 0, "sectors of %u: what was synced before is never lost", sector);
	is_u64(dsync_lost, 0, "nor what was written durably");
	is_u64(torn_within, 0, "no sector is torn");
	ok(kept > 0 && lost > 0 && torn > 0, "writes are kept (%u), lost (%u), torn (%u)", kept,
	   lost, torn);
	ok(older > 0, "an older version of an un-synced sector may be what was written");
}

static void test_process_crash(void)
{
	struct disk d;

	disk_up(&d, NULL, 3);
	write_fill(&d, 0, 65536, 9, false);
	disk_crash(&d, SIM_CRASH_PROCESS);
	is_i64(sectors_of(&d, 0, 65536, 512, 9, 0), 128, "a killed process loses no write");
	disk_down(&d);
}

/* A sync covers what finished before it was submitted, and is only sure of that. */
static void test_sync_order(void)
{
	unsigned int later_lost = 0, earlier_lost = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct disk d;
		struct waiter sync, w;

		disk_up(&d, NULL, seed);
		write_fill(&d, 0, 512, 1, false);
		io_file_sync(d.loop, d.file, waiter_arm(&sync, d.sim));
		write_start(&d, &w, 4096, 512, 2, false);
		write_end(&w);
		waiter_wait(&sync, S);
		sim_disk_peek(d.node, PATH, SIM_VIEW_DURABLE, 0, buf, 512);
		earlier_lost += buf[0] != 1;
		sim_disk_peek(d.node, PATH, SIM_VIEW_DURABLE, 4096, buf, 512);
		later_lost += buf[0] != 2;
		disk_down(&d);
	}
	is_u64(earlier_lost, 0, "a sync makes durable what was written before it");
	is_u64(later_lost, 50, "and not what is written while it runs");
}

/* Writes in flight at a crash: nothing, a part or all of each may be there. */
static void test_in_flight(enum sim_crash how)
{
	unsigned int none = 0, some = 0, all = 0, cancelled = 0;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct disk d;
		struct waiter w;
		int n;

		disk_up(&d, NULL, seed);
		write_start(&d, &w, 0, 16384, 6, true);
		sim_node_crash(d.node, how);
		cancelled += write_end(&w) == -ECANCELED;
		disk_close(&d);
		sim_node_restart(d.node);
		disk_open(&d);
		n = sectors_of(&d, 0, 16384, 512, 6, 0);
		none += n == 0;
		some += n > 0 && n < 32;
		all += n == 32;
		disk_down(&d);
	}
	is_u64(cancelled, 100, "a write in flight at a crash ends with -ECANCELED");
	ok(none > 0 && all > 0, "it landed (%u), or not (%u)", all, none);
	ok(how == SIM_CRASH_POWER ? some > 0 : some == 0, "in part: %u", some);
}

static void test_dead(void)
{
	struct disk d;
	struct waiter w;
	struct io_loop *old_loop;
	struct io_file *old_file;
	struct io_file *f;

	disk_up(&d, NULL, 5);
	old_loop = d.loop;
	old_file = d.file;
	sim_node_crash(d.node, SIM_CRASH_POWER);
	sim_node_restart(d.node);
	disk_open(&d);
	w.iov = (struct iovec){ buf, 512 };
	memset(buf, 7, 512);
	io_file_write(old_loop, old_file, waiter_arm(&w, d.sim), &(struct iovec){ buf, 512 }, 1, 0,
		      0);
	is_i64(waiter_wait(&w, S), -ECANCELED, "what is left of a dead process cannot write");
	ok(io_file_open(old_loop, PATH, NULL, &f, NULL) < 0, "nor open");
	read_at(&d, 0, 512);
	is_u64(buf[0], 0, "and had no effect");
	io_file_close(old_file);
	io_loop_free(old_loop);
	ok(io_file_open(d.loop, PATH, &(struct io_file_options){ .exclusive = true }, &f, NULL) ==
		   -EBUSY,
	   "its late close leaves the new process its lock");
	disk_down(&d);
}

static void test_errors(void)
{
	static const struct {
		enum sim_fault fault;
		int want_write, want_read, want_sync;
	} cases[] = {
		{ SIM_FILE_READ, 4096, -EIO, 0 },     { SIM_FILE_WRITE, -EIO, 4096, 0 },
		{ SIM_FILE_SPACE, -ENOSPC, 4096, 0 }, { SIM_FILE_SYNC, 4096, 4096, -EIO },
		{ SIM_FILE_BAD, 4096, -EIO, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sim_config c;
		struct disk d;
		const char *name = sim_fault_name(cases[i].fault);

		sim_config_calm(&c);
		c.ppm[cases[i].fault] = 1000000;
		disk_up(&d, &c, i);
		is_i64(write_fill(&d, 0, 4096, 1, false), cases[i].want_write, "%s: write", name);
		is_i64(read_at(&d, 0, 4096), cases[i].want_read, "%s: read", name);
		is_i64(sync_file(&d), cases[i].want_sync, "%s: sync", name);
		sim_heal(d.sim);
		is_i64(write_fill(&d, 0, 4096, 1, false), 4096, "healed: write");
		is_i64(read_at(&d, 0, 4096), 4096, "healed: read");
		is_i64(sync_file(&d), 0, "healed: sync");
		disk_down(&d);
	}
}

/*
 * A sync that fails may forget what it was to write: the next one succeeds, and the data is gone.
 */
static void test_forgotten(void)
{
	unsigned int lost = 0, kept = 0, unread = 0, lost_again = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct sim_config c;
		struct disk d;

		sim_config_calm(&c);
		c.ppm[SIM_FILE_SYNC] = 1000000;
		disk_up(&d, &c, seed);
		write_fill(&d, 0, 4096, 7, false);
		write_fill(&d, 8192, 4096, 7, false);
		sync_file(&d);
		sim_heal(d.sim);
		write_fill(&d, 8192, 4096, 8, false);
		sync_file(&d);
		read_at(&d, 0, 4096);
		unread += buf[0] != 7;
		disk_crash(&d, SIM_CRASH_POWER);
		read_at(&d, 0, 4096);
		lost += buf[0] == 0;
		kept += buf[0] == 7;
		read_at(&d, 8192, 4096);
		lost_again += buf[0] != 8;
		disk_down(&d);
	}
	is_u64(unread, 0, "what a failed sync forgot can still be read");
	ok(lost > 0 && kept > 0, "until the power goes (%u lost, %u kept)", lost, kept);
	is_u64(lost_again, 0, "unless it was written again");
}

static void test_bad_range(void)
{
	struct disk d;

	disk_up(&d, NULL, 5);
	write_fill(&d, 0, 65536, 1, true);
	sim_disk_bad(d.node, PATH, 8192, 4096);
	is_i64(read_at(&d, 0, 8192), 8192, "before a bad range");
	is_i64(read_at(&d, 12288, 8192), 8192, "behind it");
	is_i64(read_at(&d, 8000, 8192), -EIO, "across it");
	write_fill(&d, 9216, 512, 2, false);
	is_i64(read_at(&d, 9216, 512), 512, "a sector that is written again is good");
	is_i64(read_at(&d, 8192, 512), -EIO, "and no other");
	is_i64(read_at(&d, 9728, 512), -EIO, "on either side");
	write_fill(&d, 8192, 4096, 2, false);
	is_i64(read_at(&d, 0, 65536), 65536, "until all are");
	sim_disk_full(d.node, true);
	is_i64(write_fill(&d, 0, 4096, 2, false), 4096, "a full disk takes what overwrites");
	is_i64(write_fill(&d, SIZE / 2, 4096, 2, false), -ENOSPC, "and nothing new");
	disk_down(&d);
}

/* Concurrent operations overtake each other, and a split one is overtaken in the middle. */
static void test_order(void)
{
	unsigned int second_wins = 0, mixed = 0, shorts = 0;
	struct sim_config c;

	sim_config_calm(&c);
	c.ppm[SIM_FILE_SPLIT] = 500000;
	c.ppm[SIM_FILE_SHORT] = 100000;
	c.ppm[SIM_FILE_SLOW] = 100000;
	c.slow_max_ns = MS;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct disk d;
		struct waiter w1, w2;
		int64_t r1, r2;

		disk_up(&d, &c, seed);
		write_start(&d, &w1, 0, 16384, 1, false);
		write_start(&d, &w2, 0, 16384, 2, false);
		r1 = write_end(&w1);
		r2 = write_end(&w2);
		shorts += r1 < 16384 || r2 < 16384;
		sim_disk_peek(d.node, PATH, SIM_VIEW_CACHED, 0, buf, 16384);
		second_wins += buf[0] == 2 && buf[16383] == 2;
		mixed += buf[0] != buf[16383];
		disk_down(&d);
	}
	ok(second_wins > 10 && second_wins < 90, "of two writes either may land last (%u)",
	   second_wins);
	ok(mixed > 0, "or a part of each (%u)", mixed);
	ok(shorts > 0, "and some are short (%u)", shorts);
}

static void test_cancel(void)
{
	unsigned int cancelled = 0, done = 0, lies = 0;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct disk d;
		struct waiter w;
		int64_t r;

		disk_up(&d, NULL, seed);
		write_start(&d, &w, 0, 512, 1, false);
		io_cancel(&w.op);
		io_cancel(&w.op);
		r = write_end(&w);
		sim_run_for(d.sim, S);
		sim_disk_peek(d.node, PATH, SIM_VIEW_CACHED, 0, buf, 1);
		cancelled += r == -ECANCELED;
		done += r == 512;
		lies += (r == 512) != (buf[0] == 1);
		disk_down(&d);
	}
	ok(cancelled > 0 && done > 0 && cancelled + done == 50,
	   "a cancel works (%u) or comes too late (%u)", cancelled, done);
	is_u64(lies, 0, "what was cancelled had no effect");
}

int main(void)
{
	test_plain();
	test_open();
	test_power_cut(512);
	test_power_cut(4096);
	test_process_crash();
	test_sync_order();
	test_in_flight(SIM_CRASH_POWER);
	test_in_flight(SIM_CRASH_PROCESS);
	test_dead();
	test_errors();
	test_forgotten();
	test_bad_range();
	test_order();
	test_cancel();
	return tap_done();
}
