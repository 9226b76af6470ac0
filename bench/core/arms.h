/*
 * arms.h - from the arms of a plan to kernels of libraries, and to the arms of a job.
 */
#ifndef BENCH_CORE_ARMS_H
#define BENCH_CORE_ARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "err.h"
#include "job.h"
#include "library.h"
#include "plan.h"
#include "strbuf.h"
#include "text.h"

#define ARM_SET_MAX 64 /* a round of more would be no comparison */

/* The kernels of an arm, one a step: a plain arm has one. */
struct arm_steps {
    struct arm_step {
        const struct sab_kernel *kernel;
        uint32_t choices[SAB_MAX_OPTIONS];
    } item[CHAIN_MAX_STEPS];
    size_t nr;
};

/* One arm as it will race. */
struct arm_entry {
    size_t plan_arm; /* index into plan.arm */
    char *label;
    char *origin;              /* absolute path of the library */
    const struct library *lib; /* opened by the parent, for questions only */
    char *against;  /* label of the arm that it is compared with; NULL: the baseline of the case */
    bool base;      /* `bench ab`: an arm at BASE, a baseline of its own */
    bool duplicate; /* A': the copy of the arm that `against` names */
    char *describe; /* `bench ab`: the variant's commit; NULL */
    struct library copy; /* a private copy of origin, where an earlier arm has the same file */
    bool copied;
};

struct arm_set {
    struct arm_entry *item;
    size_t nr;
    struct library **library; /* one a file */
    size_t libraries_nr;
    struct strbuf notes; /* a line each */
};

void arm_set_init(struct arm_set *set);
/* Also removes the private copies. */
void arm_set_release(struct arm_set *set);

/* One build that `bench ab` compares: the first of them is BASE. */
struct arm_variant {
    const char *label;
    const char *library; /* absolute path */
    const char *describe;
};

/*
 * Opens every library, finds every kernel and option, keeps the arms whose kernel runs on `kind`,
 * makes the first of them the baseline where the named one is gone, and appends the duplicate.
 * `own_library` stands for arms that name no library. What is missing is ERR_CONFIG with the line
 * that names it; no arm left is ERR_ENVIRONMENT.
 *
 * With variants, every arm that names no library and is no context runs once for each, as
 * ARM@LABEL, and is compared with itself at the first. A kernel that a variant lacks leaves that
 * arm out there, with a note.
 */
int arm_set_resolve(struct arm_set *set, const struct plan *plan, enum sab_device kind,
                    const char *own_library, const struct arm_variant *variants, size_t variants_nr,
                    struct err *err);
/* Makes the private copies that a run needs: one for every arm beyond the first of a file. */
int arm_set_copy(struct arm_set *set, struct err *err);
/*
 * Whom an arm is compared with in a case: another entry, or itself where it is the baseline there.
 * NULL: it does not race in this case. The baseline of a case is the arm with that role, where it
 * is left and serves the case, else the first that serves it and is no context. A duplicate races
 * only where its original is a baseline.
 */
const struct arm_entry *arm_set_against(const struct arm_set *set, const struct plan *plan,
                                        const struct plan_case *item,
                                        const struct arm_entry *entry);
/* What the worker opens: origin, or the private copy. */
const char *arm_entry_file(const struct arm_entry *entry);
/* Whether some arm of the plan has a kernel for `kind`: what `device = auto` asks. */
bool arm_set_serves(const struct plan *plan, enum sab_device kind, const char *own_library);

/* arms_kernel.c. The kernels of an arm for a case that it serves, and the choice of each of their
 * options, by the arm's keys. ERR_CONFIG with file:line: a kernel or option that is not there,
 * steps that run on different devices. */
int arms_steps(const struct library *lib, const struct plan_arm *arm, const struct plan_case *item,
               struct arm_steps *out, struct err *err);
/* The same of an entry; 0 steps (and no error) where it has no kernel for the case. */
void arm_entry_steps(const struct arm_entry *entry, const struct plan *plan,
                     const struct plan_case *item, struct arm_steps *out);
/* "sage_fwd/mma"; of a pipeline "a/x + b/y". */
#define ARM_STEP_JOIN " + "
void arm_steps_add_name(const struct arm_steps *steps, struct strbuf *sb);
/* "descriptor=upload simd=off"; of a pipeline "sage_fwd.descriptor=upload". */
void arm_steps_add_options(const struct arm_steps *steps, struct strbuf *sb);
/* Names of the hazards of the choices made, separated by blanks. */
void arm_steps_add_hazards(const struct arm_steps *steps, struct strbuf *sb);
/* Names of every axis of every operator of the plan, in order of appearance, to an empty list. */
int arms_axis_names(const struct plan *plan, struct text_list *names, struct err *err);

#endif
