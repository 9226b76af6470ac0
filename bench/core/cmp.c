/*
 * cmp.c - the statistics of two runs: medians of processes, Welch, verdicts.
 */
#include "cmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "report_internal.h"
#include "stats_multiple.h"
#include "stats_quantile.h"

#define GOOD_PROCESSES 5

void cmp_init(struct cmp *c)
{
    *c = (struct cmp){.row = NULL};
    store_init(&c->before);
    store_init(&c->after);
}

void cmp_release(struct cmp *c)
{
    for (size_t i = 0; c->row && i < c->match.nr; i++)
        strbuf_release(&c->row[i].notes);
    free(c->row);
    cmp_match_release(&c->match);
    text_list_release(&c->warnings);
    text_list_release(&c->notes);
    store_release(&c->before);
    store_release(&c->after);
    cmp_init(c);
}

/* ---- one side of one row ---- */

struct medians {
    double *value; /* a process */
    size_t nr;
};

static int compare_process(const void *a, const void *b)
{
    const struct sample_row *const *x = a, *const *y = b;
    return ((*x)->process > (*y)->process) - ((*x)->process < (*y)->process);
}

/* The median span of each process, from the samples that were kept. */
static int medians_init(struct medians *m, const struct store *s, const struct case_row *row,
                        struct err *err)
{
    const struct sample_row **kept = malloc((s->samples.nr + 1) * sizeof(*kept));
    double *span = malloc((s->samples.nr + 1) * sizeof(*span));
    size_t nr = 0;

    *m = (struct medians){malloc((s->samples.nr + 1) * sizeof(*m->value)), 0};
    if (!kept || !span || !m->value) {
        free(kept);
        free(span);
        return err_memory(err);
    }
    for (size_t i = 0; i < s->samples.nr; i++) {
        const struct sample_row *at = &s->samples.row[i];
        if (!at->drop_reason && at->span_ns > 0 && cell_is(at->arm, row->arm) &&
            cell_is(at->case_id, row->case_id))
            kept[nr++] = at;
    }
    qsort(kept, nr, sizeof(*kept), compare_process);
    for (size_t i = 0, from = 0; i < nr; i++) {
        span[i - from] = kept[i]->span_ns;
        if (i + 1 < nr && kept[i + 1]->process == kept[i]->process)
            continue;
        m->value[m->nr++] = stats_median(span, i + 1 - from);
        from = i + 1;
    }
    free(kept);
    free(span);
    return 0;
}

/* The middle one for the table, and logarithms for the estimate. */
static double medians_settle(struct medians *m)
{
    double middle;

    if (!m->nr)
        return NAN;
    middle = stats_median(m->value, m->nr);
    for (size_t i = 0; i < m->nr; i++)
        m->value[i] = log(m->value[i]);
    return middle;
}

/* ---- one row ---- */

static double setting(const struct cmp *c, const char *name)
{
    return fmax(fmax(0, run_real(c->before.run, "settings", name)),
                run_real(c->after.run, "settings", name));
}

/* The larger of what the two runs took identical kernels to differ by. */
static double floor_of(const struct cmp *c, double ns)
{
    const struct store *const side[] = {&c->before, &c->after};
    double floor = setting(c, "delta");

    for (size_t i = 0; i < 2; i++) {
        struct noise_floors floors;
        double own = run_real(side[i]->run, "settings", "noise_floor");

        folder_noise_floors(side[i]->run, &floors);
        noise_floors_at(&floors, ns, &own);
        floor = fmax(floor, own);
    }
    return floor;
}

static void add_note(struct cmp_row *r, const char *text)
{
    strbuf_addf(&r->notes, "%s%s", r->notes.len ? "; " : "", text);
}

static void note_difference(struct cmp_row *r, const char *what, const char *before,
                            const char *after)
{
    if (strcmp(before ? before : "", after ? after : "") == 0)
        return;
    strbuf_addf(&r->notes, "%s%s %s -> %s", r->notes.len ? "; " : "", what,
                before && *before ? before : "none", after && *after ? after : "none");
}

static void note_status(struct cmp_row *r, const char *side, const struct case_row *row)
{
    if (!report_is_ok(row))
        strbuf_addf(&r->notes, "%s%s in the %s run", r->notes.len ? "; " : "",
                    row->status ? row->status : "no status", side);
}

/* One file with the same options: what changed is the machine. */
static bool same_file(const struct cmp_row *r)
{
    const char *b = r->before->options ? r->before->options : "";
    const char *a = r->after->options ? r->after->options : "";

    return r->before->library_sha256 && !strcmp(b, a) &&
           cell_is(r->after->library_sha256, r->before->library_sha256);
}

static void note_row(struct cmp_row *r, bool by_role)
{
    if (by_role)
        note_difference(r, "baseline", r->before->arm, r->after->arm);
    note_status(r, "old", r->before);
    note_status(r, "new", r->after);
    note_difference(r, "kernel", r->before->kernel, r->after->kernel);
    note_difference(r, "options", r->before->options, r->after->options);
    if (!r->compared)
        return;
    if (isnan(r->u.half))
        add_note(r, r->u.nr_before && r->u.nr_after ? "one process a side has no interval"
                                                    : "no samples");
    else if (r->u.nr_before < GOOD_PROCESSES || r->u.nr_after < GOOD_PROCESSES)
        add_note(r, "few_processes");
    if (r->verdict != VERDICT_UNSURE && r->verdict != VERDICT_SAME && same_file(r))
        add_note(r, "the library is the same file: the machine changed, not the kernel");
    else if (r->before->sass_sha256 && !same_file(r) &&
             cell_is(r->after->sass_sha256, r->before->sass_sha256))
        add_note(r, "same_sass");
}

static int compare(struct cmp *c, struct cmp_row *r, struct err *err)
{
    struct medians before = {0}, after = {0};
    double tick_ns = fmax(fmax(0, r->before->tick_ns), r->after->tick_ns);
    int ret = -1;

    r->before_ns = r->after_ns = NAN;
    r->p = 1;
    r->q = NAN;
    r->verdict = VERDICT_UNSURE;
    r->compared = report_is_ok(r->before) && report_is_ok(r->after);
    if (medians_init(&before, &c->before, r->before, err) ||
        medians_init(&after, &c->after, r->after, err))
        goto out;
    r->before_ns = medians_settle(&before);
    r->after_ns = medians_settle(&after);
    /* A folder without its samples still has the medians of cases.csv. */
    if (isnan(r->before_ns))
        r->before_ns = r->before->span_median_ns;
    if (isnan(r->after_ns))
        r->after_ns = r->after->span_median_ns;
    unpaired_welch(before.value, before.nr, after.value, after.nr, &r->u);
    if (isnan(r->u.theta))
        r->u.theta = log(r->after_ns / r->before_ns);
    r->compared = r->compared && isfinite(r->u.theta);
    if (r->compared) {
        r->delta = verdict_delta(tick_ns, r->before_ns, floor_of(c, r->before_ns));
        r->verdict = verdict_of(r->u.lo, r->u.hi, r->delta);
        r->p = unpaired_p(&r->u, r->delta);
    }
    ret = 0;
out:
    free(before.value);
    free(after.value);
    return ret;
}

/* Benjamini-Hochberg over the rows that were compared. */
static int correct(struct cmp *c, struct err *err)
{
    double *p = malloc((c->match.nr + 1) * sizeof(*p)), *q = malloc((c->match.nr + 1) * sizeof(*q));
    size_t nr = 0;
    int ret = p && q ? 0 : err_memory(err);

    for (size_t i = 0; !ret && i < c->match.nr; i++)
        if (c->row[i].compared)
            p[nr++] = c->row[i].p;
    if (!ret)
        ret = multiple_bh(p, nr, q, err);
    for (size_t i = 0, k = 0; !ret && i < c->match.nr; i++) {
        struct cmp_row *r = &c->row[i];
        if (!r->compared)
            continue;
        r->q = q[k++];
        if ((r->verdict == VERDICT_FASTER || r->verdict == VERDICT_SLOWER) && r->q > MULTIPLE_LEVEL)
            add_note(r, "multiple");
    }
    free(p);
    free(q);
    return ret;
}

static int compare_all(struct cmp *c, struct err *err)
{
    c->row = calloc(c->match.nr + 1, sizeof(*c->row));
    if (!c->row)
        return err_memory(err);
    for (size_t i = 0; i < c->match.nr; i++) {
        struct cmp_row *r = &c->row[i];
        const struct cmp_match_pair *pair = &c->match.pair[i];

        strbuf_init(&r->notes);
        r->before = &c->before.cases.row[pair->before];
        r->after = &c->after.cases.row[pair->after];
        if (compare(c, r, err))
            return -1;
        note_row(r, pair->by_role);
    }
    return correct(c, err);
}

/* What was changed after its run is compared as it is, and said. */
static int note_changes(struct cmp *c, const char *dir, const json_t *run, struct err *err)
{
    static const char *const names[] = {"cases.csv", "samples.csv"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct err change = ERR_INIT;
        if (folder_check_hash(dir, run, names[i], &change) &&
            text_list_add(&c->warnings, change.text, err))
            return -1;
    }
    return 0;
}

static int refuse(const char *before, const char *after, struct err *err)
{
    json_t *b = NULL, *a = NULL;
    int ret = folder_read_run(before, &b, err) || folder_read_run(after, &a, err) ||
              folder_same_version("protocol", before, b, after, a, err) ||
              folder_same_version("schema", before, b, after, a, err);

    json_decref(b);
    json_decref(a);
    return ret ? -1 : 0;
}

int cmp_open(struct cmp *c, const char *before, const char *after, struct err *err)
{
    if (refuse(before, after, err) || store_open(&c->before, before, false, err) ||
        store_open(&c->after, after, false, err) ||
        cmp_match_init(&c->match, &c->before.cases, &c->after.cases, err))
        return -1;
    if (!c->match.nr)
        return err_set(err, ERR_CONFIG,
                       "'%s' and '%s' have no row in common: operator, every axis and arm must be "
                       "the same",
                       before, after);
    return note_changes(c, before, c->before.run, err) ||
                   note_changes(c, after, c->after.run, err) || compare_all(c, err) ||
                   cmp_differ(c, err)
               ? -1
               : 0;
}
