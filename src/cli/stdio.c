/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard input, output and error as scripts leave them: closed, full, or with a reader that has gone.
 * What is not open at the start must not become a socket or a file that is served, on which "ready" or
 * an error would then be written; and a report that did not come out is a failure, said once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static bool pipe_kills; /* SIGPIPE was not ignored by who started us */
static bool reader_gone, said;

void cli_stdio_begin(void)
{
	struct sigaction was;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* The wrong way round, so that using it is still the error that it would have been: EBADF. */
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
	pipe_kills = sigaction(SIGPIPE, NULL, &was) == 0 && was.sa_handler != SIG_IGN;
	/* A peer that goes away is an error of a call, not the end of the program. */
	signal(SIGPIPE, SIG_IGN);
}

int cli_output_error(int errnum)
{
	reader_gone |= errnum == EPIPE && pipe_kills;
	if (!said && !reader_gone)
		cli_error("standard output: %s", errnum ? strerror(errnum) : "what was printed did not all get out");
	said = true;
	return CLI_FAILED;
}

/* stdio keeps that an earlier write failed, not why; of a pipe or socket without a reader it can be seen. */
static int why(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) == 1 && p.revents & (POLLERR | POLLHUP) ? EPIPE : 0;
}

int cli_output_done(void)
{
	if (fflush(stdout) != 0)
		return cli_output_error(errno);
	return ferror(stdout) ? cli_output_error(why()) : CLI_DONE;
}

int cli_stdio_end(int status)
{
	if (cli_output_done() != CLI_DONE && status == CLI_DONE)
		status = CLI_FAILED;
	if (reader_gone) {
		/* Nobody is interested any more: `penstock read ... | head` ends as cat(1) would. */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return status;
}
