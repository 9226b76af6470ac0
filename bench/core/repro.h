/*
 * repro.h - one case of a finished run again: the command that ran it, and an INI of its own.
 */
#ifndef BENCH_CORE_REPRO_H
#define BENCH_CORE_REPRO_H

#include "err.h"
#include "ini.h"
#include "json.h"
#include "plan.h"
#include "strbuf.h"

struct repro {
    json_t *run;
    struct ini ini; /* of run.json's config_text */
    struct plan plan;
    const struct plan_case *item; /* the case asked for, in `plan` */
    char *dir;
    bool other_plan; /* this bench reads the configuration as another plan than the run's */
};

void repro_init(struct repro *r);
void repro_release(struct repro *r);
/* Reads run.json of the folder and finds the case. ERR_CONFIG where there is none of that id, with
 * the nearest. */
int repro_open(struct repro *r, const char *dir, const char *case_id, struct err *err);

/* The command line that measured a run, narrowed to the case, as a POSIX shell reads it: one line.
 * `run` is run.json; NULL names no configuration. */
int repro_command(const json_t *run, const char *case_id, struct strbuf *out, struct err *err);
/*
 * An INI that expands to that one case: same id, seed, settings and arms (those of the file: the
 * builds of `bench ab` are named by its command). Libraries that an arm
 * names stand with the absolute path that the run used. ERR_BUG where the text does not give the
 * case back.
 */
int repro_ini(const struct repro *r, struct strbuf *out, struct err *err);

/* A word as a POSIX shell takes it: bare, or in single quotes. */
void repro_add_word(struct strbuf *sb, const char *text);

#endif
