/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: a thread that answers requests (methods.h) on a Unix socket, one line each,
 * and reads the configuration file again when it is told to.
 *
 * Who may ask: the user that the target runs as, and root; the file's mode says so (0600), and the
 * kernel is asked again about each peer (SO_PEERCRED). Everything is bounded: clients at once, bytes
 * of a request, time for it to be complete. Changes are made one after the other, by this thread, so
 * a request may wait for another client's.
 */
#ifndef OPS_CONTROL_H
#define OPS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "ops/methods.h"

struct control;

enum {
	CONTROL_PATH_MAX = 108,
	CONTROL_CLIENTS = 16,
	CONTROL_REQUEST_MAX = 64 * 1024,
};

/*
 * Where the socket is when nobody says: control.sock in $XDG_RUNTIME_DIR/penstock, or, without
 * that variable, in /run/penstock. -ENAMETOOLONG.
 */
int control_default_path(char ret_path[CONTROL_PATH_MAX]);

/*
 * Starts the thread. @path NULL: no socket, but for what signals ask. @must: without the socket
 * there is no success; otherwise that is a line in the log. A socket that a dead process left is
 * replaced, one that is answered is not (-EADDRINUSE). @m and @log must outlive it.
 */
int control_new(const struct methods *m, const struct log *log, const char *path, bool must,
		struct control **ret_control, struct err *err);
/* The configuration file shall be read again. Any thread, and signal handlers. */
void control_reload(struct control *c);
/* Ends the thread and removes the socket. Takes NULL, returns NULL. */
struct control *control_free(struct control *c);

/*
 * The other end: sends one request, a line without its newline, and waits for the answer, which is
 * for free(3). Errors of connect(2), -EPIPE when the target ended, with a sentence.
 */
int control_ask(const char *path, const char *request, char **ret_answer, struct err *err);

#endif
