/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file, by a schema: libcyaml makes the structure and says where the file does
 * not fit it. JSON is YAML, so a JSON file will do.
 */
#include <cyaml/cyaml.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/util.h"
#include "ops/config.h"

enum { TEXT_MAX = 4096, ITEMS_MAX = 4096 };

static const cyaml_schema_value_t text_schema = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, TEXT_MAX),
};

static const cyaml_schema_field_t namespace_fields[] = {
	CYAML_FIELD_STRING_PTR("store", CYAML_FLAG_POINTER, struct config_namespace, store, 1, TEXT_MAX),
	CYAML_FIELD_UINT("nsid", CYAML_FLAG_OPTIONAL, struct config_namespace, nsid),
	CYAML_FIELD_STRING_PTR("uuid", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_namespace, uuid, 1,
			       64),
	CYAML_FIELD_BOOL("read_only", CYAML_FLAG_OPTIONAL, struct config_namespace, read_only),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t namespace_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_namespace, namespace_fields),
};

static const cyaml_schema_field_t subsystem_fields[] = {
	CYAML_FIELD_STRING_PTR("nqn", CYAML_FLAG_POINTER, struct config_subsystem, nqn, 1, 223),
	CYAML_FIELD_STRING_PTR("serial", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_subsystem,
			       serial, 1, 20),
	CYAML_FIELD_STRING_PTR("model", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_subsystem, model,
			       1, 40),
	CYAML_FIELD_SEQUENCE_COUNT("allow", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_subsystem,
				   allow, allow_count, &text_schema, 0, ITEMS_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("namespaces", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
				   struct config_subsystem, namespaces, namespace_count, &namespace_schema, 0,
				   ITEMS_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t subsystem_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_subsystem, subsystem_fields),
};

static const cyaml_schema_field_t listener_fields[] = {
	CYAML_FIELD_STRING_PTR("address", CYAML_FLAG_POINTER, struct config_listener, address, 1, 300),
	CYAML_FIELD_STRING_PTR("advertise", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_listener,
			       advertise, 1, 300),
	CYAML_FIELD_SEQUENCE_COUNT("subsystems", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_listener,
				   nqns, nqn_count, &text_schema, 0, ITEMS_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t listener_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_listener, listener_fields),
};

static const cyaml_schema_field_t limit_fields[] = {
#define LIMIT(name, kind, field)                                                                   \
	CYAML_FIELD_STRING_PTR(#name, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config_limits,  \
			       name.text, 1, 32),
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t config_fields[] = {
	CYAML_FIELD_SEQUENCE_COUNT("listeners", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config,
				   listeners, listener_count, &listener_schema, 1, ITEMS_MAX),
	CYAML_FIELD_SEQUENCE_COUNT("subsystems", CYAML_FLAG_POINTER, struct config, subsystems, subsystem_count,
				   &subsystem_schema, 1, ITEMS_MAX),
	CYAML_FIELD_STRING_PTR("cores", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, cores, 1,
			       TEXT_MAX),
	CYAML_FIELD_STRING_PTR("log_level", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, log_level, 1,
			       16),
	CYAML_FIELD_STRING_PTR("state_dir", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, state_dir, 1,
			       TEXT_MAX),
	CYAML_FIELD_STRING_PTR("control", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, control, 1, 107),
	CYAML_FIELD_UINT("queue_depth", CYAML_FLAG_OPTIONAL, struct config, queue_depth),
	CYAML_FIELD_UINT("io_queues", CYAML_FLAG_OPTIONAL, struct config, io_queues),
	CYAML_FIELD_UINT("connections", CYAML_FLAG_OPTIONAL, struct config, connections),
	CYAML_FIELD_STRING_PTR("spin", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, spin, 1, 32),
	CYAML_FIELD_STRING_PTR("arena", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, arena, 1, 32),
	CYAML_FIELD_STRING_PTR("drain", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct config, drain, 1, 32),
	CYAML_FIELD_MAPPING("limits", CYAML_FLAG_OPTIONAL, struct config, limits, limit_fields),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t config_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config, config_fields),
};

/* What libcyaml says of a file it refuses: what is wrong first, then where, innermost first. */
struct complaint {
	char what[256];
	char where[256];
};

PRINTF_LIKE(3, 0)
static void listen_to(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct complaint *c = ctx;
	char line[256];

	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	if (level < CYAML_LOG_ERROR)
		return;
	if (!c->what[0])
		snprintf(c->what, sizeof(c->what), "%s", strncmp(line, "Load: ", 6) == 0 ? line + 6 : line);
	else if (!c->where[0] && strstr(line, "line"))
		snprintf(c->where, sizeof(c->where), "%s", line + strspn(line, "Load: "));
}

static cyaml_config_t cyaml_settings(struct complaint *c)
{
	return (cyaml_config_t){
		.log_fn = c ? listen_to : NULL,
		.log_ctx = c,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_DEFAULT,
	};
}

enum limit_kind { LIMIT_COUNT, LIMIT_SIZE, LIMIT_TIME };

static const struct {
	const char *name;
	enum limit_kind kind;
	size_t offset;
} limits[] = {
#define LIMIT(name, kind, field) { #name, LIMIT_##kind, offsetof(struct config_limits, name) },
	CONFIG_LIMIT_LIST(LIMIT)
#undef LIMIT
};

static int check_limits(struct config *c, const char *path, struct err *err)
{
	static const char *const expected[] = {
		[LIMIT_COUNT] = "a number",
		[LIMIT_SIZE] = "a size such as 128k",
		[LIMIT_TIME] = "a time such as 10s",
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct config_limit *l = (void *)((char *)&c->limits + limits[i].offset);
		enum limit_kind kind = limits[i].kind;
		int rc;

		if (!l->text)
			continue;
		rc = kind == LIMIT_TIME ? parse_duration_ns(l->text, &l->value) :
		     kind == LIMIT_SIZE ? parse_size(l->text, &l->value) :
					  parse_u64(l->text, &l->value);
		if (rc < 0 || (kind != LIMIT_TIME && l->value > UINT32_MAX))
			return err_set(err, EINVAL, "%s: limits: %s: '%s': expected %s", path, limits[i].name,
				       l->text, expected[kind]);
	}
	return 0;
}

static int check_words(struct config *c, const char *path, struct err *err)
{
	if (c->spin && parse_duration_ns(c->spin, &c->spin_ns) < 0)
		return err_set(err, EINVAL, "%s: spin: '%s': expected a time such as 20us", path, c->spin);
	if (c->drain && parse_duration_ns(c->drain, &c->drain_ns) < 0)
		return err_set(err, EINVAL, "%s: drain: '%s': expected a time such as 10s", path, c->drain);
	if (c->arena && parse_size(c->arena, &c->arena_bytes) < 0)
		return err_set(err, EINVAL, "%s: arena: '%s': expected a size such as 128M", path, c->arena);
	for (size_t i = 0; i < c->subsystem_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(c->subsystems[i].nqn, c->subsystems[k].nqn) == 0)
				return err_set(err, EINVAL, "%s: subsystem %s is there twice", path,
					       c->subsystems[i].nqn);
		}
	}
	return check_limits(c, path, err);
}

int config_load(const char *path, struct config **ret_config, struct err *err)
{
	struct complaint complaint = { "", "" };
	cyaml_config_t settings = cyaml_settings(&complaint);
	struct config *c = NULL;
	cyaml_err_t e;
	FILE *probe = fopen(path, "r");
	int rc;

	/* libcyaml says of a file it cannot open no more than that. */
	if (!probe)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	fclose(probe);
	e = cyaml_load_file(path, &settings, &config_schema, (cyaml_data_t **)&c, NULL);
	if (e != CYAML_OK)
		return err_set(err, EINVAL, "%s: %s%s%s", path,
			       complaint.what[0] ? complaint.what : cyaml_strerror(e),
			       complaint.where[0] ? " " : "", complaint.where);
	if (!c)
		return err_set(err, EINVAL, "%s: the configuration is empty", path);
	rc = config_settle(c, err);
	if (rc == 0)
		rc = check_words(c, path, err);
	if (rc < 0) {
		config_free(c);
		return rc;
	}
	*ret_config = c;
	return 0;
}

struct config *config_free(struct config *c)
{
	cyaml_config_t settings = cyaml_settings(NULL);

	settings.log_level = CYAML_LOG_ERROR + 1;
	if (c)
		cyaml_free(&settings, &config_schema, c, 0);
	return NULL;
}
