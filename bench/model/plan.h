/*
 * plan.h - what an INI file and flags ask for: settings, arms, and the expanded list of cases.
 *
 * plan_read() does all checking that needs no library and no device: unknown keys, bad values and
 * impossible cases come back as ERR_CONFIG with "FILE:LINE: ", the value and the nearest known
 * name. The plan is a pure function of (ini, overrides): a worker that gets the resolved text
 * builds the same plan, which plan_hash() proves.
 */
#ifndef BENCH_MODEL_PLAN_H
#define BENCH_MODEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain.h"
#include "err.h"
#include "ini.h"
#include "opmodel.h"
#include "strbuf.h"

enum plan_role { ROLE_CANDIDATE = 0, ROLE_BASELINE, ROLE_CONTEXT };
enum plan_cache { CACHE_COLD = 0, CACHE_DIRTY, CACHE_WARM };
enum plan_pace { PACE_BURST = 0, PACE_SUSTAINED };
enum plan_timer { TIMER_AUTO = 0, TIMER_CUPTI, TIMER_MONOTONIC };

struct plan_pair {
    char *key;
    char *value;
    const char *file; /* where it stands, for messages; lives as long as the ini */
    int line;
};

/* One step of a pipeline. The axes of the last one stand with those of the arm. */
struct plan_step {
    char *op;
    char *kernel;
    struct plan_pair *option; /* what stands in its parentheses and is no axis of its operator */
    size_t options_nr;
    struct plan_pair *axis;
    size_t axes_nr;
};

/* One [arm NAME] or [pipeline NAME], in the order of the file. */
struct plan_arm {
    char *name;
    char *library; /* path as written; NULL: the library of bench's own build */
    char *kernel;  /* "sage_fwd/mma", or "mma": then it serves every sweep */
    char *op;      /* operator override of this arm, NULL without */
    enum plan_role role;
    struct plan_pair *option; /* keys that are no axis and no arm key: options of the kernel */
    size_t options_nr;
    struct plan_pair *axis; /* axis overrides: the arm has its own problem, "across problems" */
    size_t axes_nr;
    struct plan_step *step; /* of a pipeline, whose `kernel` is "OPERATOR/KERNEL" of the last one */
    size_t steps_nr;        /* 0: no pipeline */
    const char *file;
    int line;
};

struct plan_settings {
    /* budget */
    int processes, rounds; /* P x R as asked */
    bool rounds_named;     /* then exactly that runs, unless max_rounds is named too */
    bool max_rounds_named;
    int max_rounds;
    double max_time_s;   /* wall time a case */
    double timeout_s;    /* 0: max(30 s, 10x the estimate) */
    double check_time_s; /* a case and run */
    /* protocol */
    enum plan_cache cache;
    enum plan_pace pace;
    enum plan_timer timer;
    uint64_t seed;
    char *device;       /* "auto", "cpu", "cuda:0" */
    int threads;        /* device cpu; 0: all cores that the process may use */
    double delta;       /* relative, 0.005 */
    double noise_floor; /* relative; negative: the device's default */
    bool duplicate;     /* A', on by default */
    char *out;          /* NULL: results/<config>-<device>-<UTC time> */
    /* [gate] */
    double gate_slower; /* relative; negative: no gate */
    bool gate_unsure_fails;
    bool gate_failed_fails; /* a case that crashed or timed out: on by default */
};

/* One case of one sweep. `id` is stable: "sage.B8.H32.S1024.d0.9375" style, unique in the plan. */
struct plan_case {
    char *id;
    const char *sweep;
    const char *file; /* of the sweep */
    int line;
    struct op_case c;     /* settled: the problem */
    struct op_case asked; /* before settling, what overrides of an arm start from */
    uint64_t given;       /* bit i: axis i was set by the sweep, not by its default */
    double density_asked; /* NAN without */
};

struct plan {
    struct plan_settings set;
    struct plan_arm *arm;
    size_t arms_nr;
    struct plan_case *item;
    size_t nr;
    char *config_name;   /* stem of the file name */
    struct strbuf notes; /* what a user should know and no error is, a line each */
    char hash[65];
};

void plan_init(struct plan *p);
void plan_release(struct plan *p);

/* Builds the plan. `ini` must outlive it. */
int plan_read(struct plan *p, const struct ini *ini, struct err *err);
/* Drops the cases whose id does not match GLOB (several are or-ed), and the arms not named; where
 * the baseline goes, the first candidate left takes its place. Nothing left is an error. The hash
 * is that of the plan before selection. */
int plan_select(struct plan *p, const char *const *only, size_t only_nr, const char *const *arms,
                size_t arms_nr, struct err *err);
/* SHA-256 in hex of everything that decides what is measured (not of `out`, `device`, `timeout`,
 * the names of INI files, nor of what judges the numbers later: `delta`, `noise_floor`, [gate]). */
int plan_hash(const struct plan *p, char hex[65], struct err *err);

/* The op_case that an arm of this plan runs for a case: c itself, or with the arm's overrides
 * (*across = true). ERR_CONFIG where the arm's override is impossible there. */
int plan_arm_case(const struct plan *p, const struct plan_arm *arm, const struct plan_case *item,
                  struct op_case *out, bool *across, struct err *err);
/*
 * The problems of an arm's steps for a case, linked; a plain arm has one step. The last step has
 * the case that plan_arm_case() gives, each earlier one that of the step that it feeds: axes of the
 * same name, what its model's `follow` says, and what stands in its parentheses.
 */
int plan_arm_chain(const struct plan *p, const struct plan_arm *arm, const struct plan_case *item,
                   struct chain *out, bool *across, struct err *err);
/* Whether the arm serves this case's operator: its kernel (of a pipeline the last step's) names the
 * operator, or leaves it out. */
bool plan_arm_serves(const struct plan_arm *arm, const struct plan_case *item);

/* Every configuration key with kind, default and help, for `help KEY`, flags and messages. */
struct plan_key {
    const char *section; /* "global", "arm", "sweep", "pipeline", "gate" */
    const char *name;
    const char *kind; /* "PxR", "duration", or the words that it takes: "cold dirty warm" */
    const char *initial;
    const char *help;
};
const struct plan_key *plan_key_at(size_t i);
/* NULL for an unknown one; any section where `section` is NULL. */
const struct plan_key *plan_key_find(const char *section, const char *name);

/*
 * Flags. plan_is_key(): whether `--NAME VALUE` is a flag that plan_override() takes: a key, an axis
 * of any operator, or SECTION.NAME.KEY.
 *
 * plan_override() writes one flag (without its dashes) into the ini, before plan_read():
 * `sweep.NAME.KEY`, `arm.NAME.KEY`, `gate.KEY`, `global.KEY` into that section; a setting into
 * [global], a key of [gate] there; an axis or `where` into every sweep whose operator knows it;
 * `library` and `kernel` into every arm that has none of its own. What an axis replaces (density
 * where topk is given, seqlen where seqlen_q is) leaves the section, so that ini_write() gives the
 * same plan.
 */
bool plan_is_key(const char *name);
int plan_override(struct ini *ini, const char *dotted, const char *value, struct err *err);

#endif
