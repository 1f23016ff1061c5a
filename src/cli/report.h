/* SPDX-License-Identifier: Apache-2.0 */
/* --report: a document as a page for people, on disk. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <json-c/json.h>

/*
 * Can there be a report at @path, which is a file whose name ends in .html or .htm, or else a
 * directory that is made if it is not there? Before anything is measured. Returns enum cli_status.
 */
int report_check(const char *path);

/* Writes it; into a directory as index.html, report.json and one CSV per run. */
int report_write(struct json_object *doc, const char *path);

#endif
