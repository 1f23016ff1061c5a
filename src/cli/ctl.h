/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of penstock ctl share: reading answers, and showing them. */
#ifndef CLI_CTL_H
#define CLI_CTL_H

#include <json-c/json.h>
#include <stdint.h>

/* NULL if it is not there. */
struct json_object *ctl_get(struct json_object *o, const char *key);
/* "" if it is not there, or no text. */
const char *ctl_text(struct json_object *o, const char *key);
uint64_t ctl_u64(struct json_object *o, const char *key);

/* Whatever is in @result, or missing; a text or a list that is none counts as not there. */
int ctl_show_change(struct json_object *result);
int ctl_show_status(struct json_object *result);
int ctl_show_stats(struct json_object *result);

#endif
