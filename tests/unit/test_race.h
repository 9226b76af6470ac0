/*
 * test_race.h - tables of a made-up run for the tests of bench/core: what each arm did in each
 * round is given, so that every estimate is known beforehand.
 */
#ifndef TEST_RACE_H
#define TEST_RACE_H

#include <math.h>
#include <string.h>

#include "test_stats_near.h"

#include "rows.h"
#include "stats_order.h"

#define RACE_BASE_NS 100000.0 /* median span of the baseline */
#define RACE_TICK_NS 1.0      /* far below what the examples resolve */

/* Who races, in the order of rows and of first appearance. */
struct race_arm {
    const char *name, *role;
    const double *theta; /* log-ratio against the baseline by process; NULL: 0 */
};

static inline void race_text(char **member, const char *value)
{
    assert_int_equal(row_set(member, value, NULL), 0);
}

static inline struct case_row *race_row(struct case_table *t, const char *case_id,
                                        const struct race_arm *arm)
{
    struct case_row *row = case_table_add(t, NULL);

    assert_non_null(row);
    row->schema = ROWS_SCHEMA;
    race_text(&row->run_id, "run");
    race_text(&row->case_id, case_id);
    race_text(&row->arm, arm->name);
    race_text(&row->role, arm->role);
    race_text(&row->status, "ok");
    race_text(&row->problem, "same");
    race_text(&row->kernel, "sage_fwd/made_up");
    if (strcmp(arm->role, "baseline") != 0)
        race_text(&row->baseline, "base");
    row->tick_ns = RACE_TICK_NS;
    return row;
}

static inline struct sample_row *race_sample(struct sample_table *t, const char *case_id,
                                             const char *arm, double span_ns)
{
    struct sample_row *s = sample_table_add(t, NULL);

    assert_non_null(s);
    s->schema = ROWS_SCHEMA;
    race_text(&s->run_id, "run");
    race_text(&s->case_id, case_id);
    race_text(&s->arm, arm);
    race_text(&s->activity_set, "one");
    s->process = s->super_round = s->round = s->attempt = s->slot = 0;
    s->activities = 1;
    s->span_ns = s->busy_ns = span_ns;
    return s;
}

/* Two or three arms in the orders of harness.md 3.1: rotated, then (three arms) mirrored. */
static inline size_t race_turn(size_t arms_nr, int round, size_t slot)
{
    size_t r = (size_t)round % order_super_round(arms_nr);

    return r < arms_nr ? (slot + r) % arms_nr : (arms_nr - 1 - slot + r) % arms_nr;
}

/* One process of `supers` super-rounds. The machine drifts, the same for all arms. */
static inline void race_process(struct sample_table *t, const char *case_id,
                                const struct race_arm *arm, size_t arms_nr, int process, int supers)
{
    int rounds = supers * (int)order_super_round(arms_nr);

    for (int r = 0; r < rounds; r++) {
        for (size_t k = 0; k < arms_nr; k++) {
            const struct race_arm *a = &arm[race_turn(arms_nr, r, k)];
            double drift = 1 + 1e-3 * sin(r + process);
            double ratio = a->theta ? exp(a->theta[process]) : 1;
            struct sample_row *s = race_sample(t, case_id, a->name, RACE_BASE_NS * drift * ratio);

            s->process = process;
            s->round = r;
            s->super_round = r / (int)order_super_round(arms_nr);
            s->slot = (int64_t)k;
        }
    }
}

static inline struct case_row *race_find(struct case_table *t, const char *case_id, const char *arm)
{
    for (size_t i = 0; i < t->nr; i++)
        if (!strcmp(t->row[i].case_id, case_id) && !strcmp(t->row[i].arm, arm))
            return &t->row[i];
    fail_msg("no row of arm '%s' in case '%s'", arm, case_id);
    return NULL;
}

#endif
