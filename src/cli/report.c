/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page goes to a file beside its place and is renamed: a report that was there stays until the
 * new one is whole. gnuplot runs as a process of its own, with files in memory for its input and
 * output, so that neither side can wait for the other.
 */
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figures.h"
#include "bench/report.h"
#include "cli/cli.h"
#include "cli/doctor.h"

enum { PATH_MAX_ = 4096, SVG_MAX = 16 << 20 };

/* ---- where to ------------------------------------------------------------------------------ */

static bool is_page(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0);
}

/* The directory that @path is in. */
static const char *parent(const char *path, char *buf, size_t n)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(buf, n, ".");
	else
		snprintf(buf, n, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return buf;
}

int report_check(const char *path)
{
	char dir[PATH_MAX_];
	struct stat st;

	if (strlen(path) > PATH_MAX_ - 64)
		return cli_usage("--report: the path is too long");
	if (is_page(path)) {
		if (access(parent(path, dir, sizeof(dir)), W_OK) < 0)
			return cli_error("--report %s: %s: %s", path, dir, strerror(errno));
		return CLI_DONE;
	}
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return cli_error("--report %s: expected a directory, or a file whose name ends in .html", path);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return cli_error("--report %s: %s", path, strerror(errno));
	if (access(path, W_OK) < 0)
		return cli_error("--report %s: %s", path, strerror(errno));
	return CLI_DONE;
}

static int save(const char *path, const char *text, size_t n)
{
	char beside[PATH_MAX_];
	bool ok;
	FILE *f;

	snprintf(beside, sizeof(beside), "%s.part", path);
	f = fopen(beside, "w");
	if (!f)
		return cli_error("--report: %s: %s", beside, strerror(errno));
	ok = fwrite(text, 1, n, f) == n;
	ok = fclose(f) == 0 && ok;
	if (ok && rename(beside, path) == 0)
		return CLI_DONE;
	cli_error("--report: %s: %s", path, strerror(errno));
	unlink(beside);
	return CLI_FAILED;
}

/* ---- gnuplot ------------------------------------------------------------------------------- */

static int memory_file(const char *name, const struct text *contents)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; contents && at < contents->len;) {
		ssize_t n = write(fd, contents->s + at, contents->len - at);

		if (n < 0) {
			int rc = -errno;

			close(fd);
			return rc;
		}
		at += (size_t)n;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Runs it to its end. 0; -errno, -ENOENT if there is none; -EIO if it was not content. */
static int run_gnuplot(int in, int out)
{
	char *argv[] = { (char[]){ "gnuplot" }, (char[]){ "-d" }, (char[]){ "-" }, NULL };
	posix_spawn_file_actions_t actions;
	int rc, status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc != 0)
		return -rc;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int take_svg(int fd, struct report_plot *plot)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *raw;
	int rc = 0;

	if (size <= 0 || size > SVG_MAX)
		return -EIO;
	/* The rest of the last page reads as zeroes: a text ends. A whole last page would not. */
	if (ftruncate(fd, size + 1) < 0)
		return -errno;
	raw = mmap(NULL, (size_t)size + 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (raw == MAP_FAILED)
		return -errno;
	if (!report_svg(raw, (size_t)size, plot))
		rc = -EIO;
	munmap(raw, (size_t)size + 1);
	return rc;
}

static int draw(struct report_plot *plot)
{
	int in = memory_file("script", &plot->script), out = memory_file("svg", NULL), rc = in < 0 ? in : out;

	if (rc >= 0)
		rc = run_gnuplot(in, out);
	if (rc == 0)
		rc = take_svg(out, plot);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return rc;
}

/* Returns why there are no plots, or NULL. */
static const char *draw_all(struct report_plot *plots, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int rc = draw(&plots[i]);

		if (rc == 0)
			continue;
		if (rc == -ENOENT) {
			cli_error("--report: there is no gnuplot on this machine (Debian has it in gnuplot-nox): the "
				  "report has tables in place of plots");
			return "There was no gnuplot on the machine that made this page: here are the figures in place "
			       "of plots.";
		}
		cli_error("--report: gnuplot could not draw '%s': the report has tables in place of plots",
			  plots[i].caption);
		return "gnuplot failed on the machine that made this page: here are the figures in place of plots.";
	}
	return NULL;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int write_page(struct json_object *doc, const char *path)
{
	struct report_plot plots[REPORT_PLOTS_MAX];
	size_t n = report_plots(doc, plots);
	struct text page = { .s = NULL };
	const char *without = draw_all(plots, n);
	int rc;

	report_page(doc, plots, n, without, &page);
	rc = page.failed ? cli_error("--report: out of memory") : save(path, page.s, page.len);
	text_deinit(&page);
	report_plots_deinit(plots, n);
	return rc;
}

static int write_json(struct json_object *doc, const char *dir)
{
	const char *text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
								       JSON_C_TO_STRING_NOSLASHESCAPE);
	char path[PATH_MAX_];

	snprintf(path, sizeof(path), "%s/report.json", dir);
	return save(path, text, strlen(text));
}

static int write_csv(struct json_object *table, const char *dir, const char *name)
{
	struct text text = { .s = NULL };
	char path[PATH_MAX_];
	int rc;

	snprintf(path, sizeof(path), "%s/%s.csv", dir, name);
	report_csv(table, &text);
	rc = text.failed ? cli_error("--report: out of memory") : save(path, text.s, text.len);
	text_deinit(&text);
	return rc;
}

static int write_tables(struct json_object *doc, const char *dir)
{
	struct json_object *series = figures_at(doc, "series"), *all = figures_at(doc, "latency_distribution");
	int rc = all ? write_csv(all, dir, "latency-distribution") : CLI_DONE;
	char name[32];

	for (size_t i = 0; rc == CLI_DONE && i < report_length(series); i++) {
		snprintf(name, sizeof(name), "series-%zu", i + 1);
		rc = write_csv(report_item(series, i), dir, name);
	}
	return rc;
}

int report_write(struct json_object *doc, const char *path)
{
	char page[PATH_MAX_];
	int rc;

	/* Of several clients the machines are others than this. */
	if (!figures_at(doc, "clients"))
		doctor_topology(doc);
	if (is_page(path))
		return write_page(doc, path);
	snprintf(page, sizeof(page), "%s/index.html", path);
	rc = write_page(doc, page);
	if (rc == CLI_DONE)
		rc = write_json(doc, path);
	return rc == CLI_DONE ? write_tables(doc, path) : rc;
}
