/*
 * summary_samples.c - the samples of one case: found, counted, paired by round.
 */
#include <stdlib.h>
#include <string.h>

#include "stats_order.h"
#include "stats_paired.h"
#include "summary_internal.h"

static bool same_round(const struct sample_row *a, const struct sample_row *b)
{
    return a->process == b->process && a->round == b->round && a->attempt == b->attempt;
}

int sample_index_init(struct sample_index *index, const struct sample_table *samples,
                      struct err *err)
{
    size_t alloc = 0;

    *index = (struct sample_index){NULL, 0};
    for (size_t i = 0; i < samples->nr; i++) {
        if (i && !strcmp(samples->row[i].case_id, samples->row[i - 1].case_id)) {
            index->run[index->nr - 1].nr++;
            continue;
        }
        if (index->nr == alloc) {
            alloc = alloc ? 2 * alloc : 64;
            struct sample_run *grown = realloc(index->run, alloc * sizeof(*grown));
            if (!grown) {
                sample_index_release(index);
                return err_memory(err);
            }
            index->run = grown;
        }
        index->run[index->nr++] = (struct sample_run){i, 1};
    }
    return 0;
}

void sample_index_release(struct sample_index *index)
{
    free(index->run);
    *index = (struct sample_index){NULL, 0};
}

static int take_samples(struct case_samples *cs, const struct sample_table *samples,
                        const struct sample_index *index, const char *case_id, struct err *err)
{
    for (int pass = 0; pass < 2; pass++) {
        size_t nr = 0;
        for (size_t r = 0; r < index->nr; r++) {
            const struct sample_run *run = &index->run[r];
            if (strcmp(samples->row[run->from].case_id, case_id))
                continue;
            for (size_t i = 0; pass && i < run->nr; i++)
                cs->sample[nr + i] = &samples->row[run->from + i];
            nr += run->nr;
        }
        if (!pass)
            cs->sample = malloc((nr + 1) * sizeof(*cs->sample));
        if (!cs->sample)
            return err_memory(err);
        cs->nr = nr;
    }
    return 0;
}

/* Arms in one process, by the samples of its first round. */
static int count_racers(struct case_samples *cs, struct err *err)
{
    const struct sample_row *first = NULL;

    cs->racers = calloc((size_t)cs->processes + 1, sizeof(*cs->racers));
    if (!cs->racers)
        return err_memory(err);
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (s->process < 0)
            continue;
        if (!cs->racers[s->process])
            first = s;
        if (same_round(s, first))
            cs->racers[s->process]++;
    }
    return 0;
}

int case_samples_init(struct case_samples *cs, const struct case_table *cases,
                      const struct sample_table *samples, const struct sample_index *index,
                      const char *case_id, struct err *err)
{
    memset(cs, 0, sizeof(*cs));
    cs->cases = cases;
    if (take_samples(cs, samples, index, case_id, err))
        return -1;
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        size_t a = 0;
        while (a < cs->arms_nr && strcmp(cs->arm[a], s->arm))
            a++;
        if (a == cs->arms_nr && a < CASE_SAMPLES_MAX_ARMS)
            cs->arm[cs->arms_nr++] = s->arm;
        if (s->process >= cs->processes)
            cs->processes = s->process + 1;
    }
    return count_racers(cs, err);
}

void case_samples_release(struct case_samples *cs)
{
    free(cs->sample);
    free(cs->racers);
    memset(cs, 0, sizeof(*cs));
}

static int by_super_round(const void *a, const void *b)
{
    size_t x = ((const struct paired_round *)a)->super_round;
    size_t y = ((const struct paired_round *)b)->super_round;
    return (x > y) - (x < y);
}

size_t case_samples_pair(const struct case_samples *cs, int64_t process, const char *base,
                         const char *arm, bool cycles, struct paired_round *out)
{
    size_t nr = 0;
    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *b = cs->sample[i];
        if (b->process != process || b->drop_reason || strcmp(b->arm, base))
            continue;
        /* Rounds are stored together: the partner is within one round's length. */
        size_t lo = i > cs->arms_nr ? i - cs->arms_nr : 0;
        for (size_t k = lo; k < cs->nr && k <= i + cs->arms_nr; k++) {
            const struct sample_row *a = cs->sample[k];
            if (a->drop_reason || !same_round(a, b) || strcmp(a->arm, arm))
                continue;
            double tb = b->span_ns * (cycles ? b->run_mhz : 1);
            double ta = a->span_ns * (cycles ? a->run_mhz : 1);
            /* No clock, or a call that launched nothing: there is no ratio of it. */
            if (tb > 0 && ta > 0)
                out[nr++] = (struct paired_round){(size_t)b->super_round, tb, ta};
        }
    }
    /* Repeats of dropped rounds ran later than their super-round. */
    qsort(out, nr, sizeof(*out), by_super_round);
    return nr;
}

void paired_processes_release(struct paired_processes *pp)
{
    for (size_t i = 0; i < pp->nr; i++)
        free((double *)pp->item[i].d);
    free(pp->item);
    memset(pp, 0, sizeof(*pp));
}

int paired_processes_init(struct paired_processes *pp, const struct case_samples *cs,
                          const char *base, const char *arm, bool cycles, struct err *err)
{
    struct paired_round *rounds = malloc((cs->nr + 1) * sizeof(*rounds));
    int ret = -1;

    memset(pp, 0, sizeof(*pp));
    pp->item = calloc((size_t)cs->processes + 1, sizeof(*pp->item));
    if (!rounds || !pp->item) {
        err_memory(err);
        goto out;
    }
    for (int64_t p = 0; p < cs->processes; p++) {
        size_t nr = case_samples_pair(cs, p, base, arm, cycles, rounds), nr_d = 0;
        double *d = malloc((nr + 1) * sizeof(*d));
        if (!d) {
            err_memory(err);
            goto out;
        }
        pp->item[pp->nr] = (struct verdict_process){d, 0, 0};
        pp->nr++;
        size_t per_super = order_super_round(cs->racers[p]);
        if (nr && paired_means(rounds, nr, per_super, d, &nr_d, err))
            goto out;
        pp->item[pp->nr - 1].nr = nr_d;
        pp->item[pp->nr - 1].rounds = nr_d * per_super;
    }
    ret = 0;
out:
    free(rounds);
    if (ret)
        paired_processes_release(pp);
    return ret;
}
