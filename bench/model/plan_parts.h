/*
 * plan_parts.h - what the files of plan.h share; of no interest elsewhere.
 */
#ifndef BENCH_MODEL_PLAN_PARTS_H
#define BENCH_MODEL_PLAN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "ini.h"
#include "plan.h"
#include "text.h"

/* keys.c. Whether KEY ("heads" or a zip "heads:head_dim") is made of axes, of one operator or,
 * where `op` is NULL, of any. */
bool key_is_axis(const struct op_model *op, const char *key);
/* "operator" or its short form. */
bool key_is_operator(const char *key);
/* Refuses an entry that its section does not know: where it belongs, or the nearest name. With
 * `axes`, the axes of all operators count as known. */
int key_unknown(const struct ini_entry *entry, const char *section, bool axes, struct err *err);
/* The nearest of all keys and axes, or NULL. */
const char *key_nearest(const char *section, bool axes, const char *word);

/* plan_settings.c */
int settings_init(struct plan_settings *set, struct err *err);
int settings_read(struct plan_settings *set, const struct ini *ini, struct err *err);

/* plan_arms.c */
void arm_release(struct plan_arm *arm);
int arms_read(struct plan *p, const struct ini *ini, struct err *err);
/* After a change of the list: exactly one baseline. */
void arms_promote(struct plan *p);

void pairs_release(struct plan_pair *pair, size_t nr);
int pair_add(struct plan_pair **pair, size_t *nr, const char *key, const char *value,
             const struct ini_entry *at, struct err *err);

/* plan_pipeline.c. Parses `steps = OP/KERNEL(KEY=VALUE), OP/KERNEL` into the arm. */
int arm_read_steps(struct plan_arm *arm, const struct ini_entry *entry, struct err *err);

/* plan_sweeps.c */
int sweeps_read(struct plan *p, const struct ini *ini, struct err *err);
/* The operator of section `at`, a [sweep NAME]. NULL after filling `err`. */
const struct op_model *sweep_operator(const struct ini *ini, size_t at, struct err *err);
/* Nearest name of an operator that bench can judge, or NULL. */
const char *operator_nearest(const char *name);
int operator_unknown(const char *name, struct err *err);

/* plan_check.c. Holds arms against cases. */
int plan_check_arms(const struct plan *p, struct err *err);
/* The value of an axis of one operator as one of another's: false where its list lacks the word. */
bool axis_translate(const struct axis_spec *from, const struct axis_value *value,
                    const struct axis_spec *to, struct axis_value *out);
/* Puts "FILE:LINE" before the message; line 0 is the command line. Returns -1. */
int at_line(const char *file, int line, struct err *err);

/* plan_hash.c. Fills p->hash. */
int plan_make_hash(struct plan *p, struct err *err);

/* Names: letters, digits, `_`, `-` and `.`, at most 64; of a sweep no dot, which ends the sweep's
 * part of a case's name. */
int check_name(const struct ini_section *section, struct err *err);
/* err_set(ERR_CONFIG) with the origin of a section in front. Returns -1. */
int section_error(struct err *err, const struct ini_section *section, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts the origin of an entry before the message. Returns -1. */
int entry_prefix(struct err *err, const struct ini_entry *entry);

#endif
