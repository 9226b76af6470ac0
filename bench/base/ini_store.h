/*
 * ini_store.h - what ini.c and ini_read.c share; nobody else includes it.
 */
#ifndef BENCH_BASE_INI_STORE_H
#define BENCH_BASE_INI_STORE_H

#include <stdbool.h>

#include "ini.h"

/* Whether the kind exists and whether it wants a name; the message is without a place. */
int ini_check_header(const char *kind, const char *name, struct err *err);
int ini_check_key(const char *key, struct err *err);
int ini_check_value(const char *value, struct err *err);

/* The owned copy of a file's name; the same pointer for the same resolved path. */
const char *ini_store_file(struct ini *ini, const char *name, const char *path, struct err *err);
/* Finds or makes; `file` and `line` are for a new one. */
int ini_store_section(struct ini *ini, const char *kind, const char *name, const char *file,
                      unsigned line, size_t *index, struct err *err);
/* Adds the key, or replaces its value and origin. */
int ini_store_entry(struct ini_section *section, const char *key, const char *value,
                    const char *file, unsigned line, struct err *err);

#endif
