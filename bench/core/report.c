/*
 * report.c - the Markdown report: its order, its first sentence and its method line.
 */
#include "report_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_a_prime(const struct report_view *view, struct strbuf *out)
{
    double theta = run_real(view->run, "summary", "a_prime_theta");

    if (isnan(theta))
        return;
    strbuf_addstr(out, "A' ");
    add_log_change(out, theta, run_real(view->run, "summary", "a_prime_lo"),
                   run_real(view->run, "summary", "a_prime_hi"));
}

/* Stands before everything else: two identical copies of the baseline came out different. */
static void add_disbelief(const struct report_view *view, struct strbuf *out, const char *bold)
{
    double p = run_real(view->run, "summary", "a_prime_p");

    if (!json_is_false(run_at(view->run, "summary", "believed")))
        return;
    strbuf_addf(out,
                "%sNot to be believed: two identical copies of the baseline came out different in "
                "this run (",
                bold);
    add_a_prime(view, out);
    if (!isnan(p))
        strbuf_addf(out, "%sHolm p = %.2g",
                    isnan(run_real(view->run, "summary", "a_prime_theta")) ? "" : ", ", p);
    strbuf_addf(out, ").%s\n\n", bold);
}

#define ROWS_CHANGED "cases_changed" /* never in a file: a note in the run.json that was read */

int report_rows_changed(json_t *run, struct err *err)
{
    return json_object_set_new(run, ROWS_CHANGED, json_true()) ? err_memory(err) : 0;
}

static bool rows_changed(const struct report_view *view)
{
    return json_is_true(run_at(view->run, NULL, ROWS_CHANGED));
}

static const char *any_baseline(const struct report_view *view)
{
    for (size_t i = 0; i < view->cases->nr; i++)
        if (report_is_role(&view->cases->row[i], "baseline") && view->cases->row[i].arm)
            return view->cases->row[i].arm;
    return "the baseline";
}

/* In `ab` of several arms each has a baseline of its own. */
static const char *common_baseline(const struct report_view *view)
{
    const char *name = NULL;

    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *base = view->entry[i].base;

        if (!report_is_compared(&view->cases->row[i]) || !base || !base->arm)
            continue;
        if (name && strcmp(name, base->arm) != 0)
            return "its own baseline";
        name = base->arm;
    }
    return name ? name : any_baseline(view);
}

static void add_counts(const struct report_counts *c, struct strbuf *out)
{
    strbuf_addf(out, "%zu row%s: %zu faster, %zu same, %zu slower, %zu unsure, %zu failed", c->rows,
                c->rows == 1 ? "" : "s", c->faster, c->same, c->slower, c->unsure, c->failed);
    if (c->skipped)
        strbuf_addf(out, ", %zu skipped", c->skipped);
    strbuf_addstr(out, ". ");
}

static void add_overall(const struct report_view *view, const struct report_counts *c,
                        struct strbuf *out)
{
    double mean = rows_changed(view) ? NAN : run_real(view->run, "summary", "geomean");

    if (!isnan(mean)) {
        strbuf_addstr(out, "Geometric mean ");
        add_log_change(out, mean, run_real(view->run, "summary", "geomean_lo"),
                       run_real(view->run, "summary", "geomean_hi"));
        strbuf_addstr(out, isnan(c->worst) ? ". " : ", worst row ");
    } else if (!isnan(c->worst)) {
        strbuf_addstr(out, "Worst row ");
    }
    if (!isnan(c->worst)) {
        add_percent(out, expm1(c->worst));
        strbuf_addstr(out, " %. ");
    }
}

static void add_times_only(const struct report_view *view, struct strbuf *out)
{
    size_t timed = 0, failed = 0, skipped = 0;

    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];
        if (report_is_role(row, "duplicate"))
            continue;
        if (report_is_ok(row))
            timed++;
        else if (report_is_failed(row))
            failed++;
        else
            skipped++;
    }
    strbuf_addf(out,
                "%zu row%s timed, %zu failed, %zu skipped; no arm to compare. Lower is better.",
                timed, timed == 1 ? "" : "s", failed, skipped);
}

void report_sentence(const struct report_view *view, struct strbuf *out, bool markdown)
{
    struct report_counts c;
    const char *bold = markdown ? "**" : "";

    add_disbelief(view, out, bold);
    if (rows_changed(view))
        strbuf_addf(out, "%scases.csv was changed after its run.%s\n\n", bold, bold);
    if (cell_is(run_text(view->run, NULL, "status"), "interrupted"))
        strbuf_addf(out, "%sThis run was interrupted: only what was sealed is shown.%s\n\n", bold,
                    bold);
    strbuf_addstr(out, bold);
    if (!view->candidates.nr) {
        add_times_only(view, out);
    } else {
        report_count(view, &c);
        add_counts(&c, out);
        add_overall(view, &c, out);
        strbuf_addf(out, "Time, lower is better; change = ");
        add_escaped(out, view->candidates.nr == 1 ? view->candidates.items[0] : "each arm");
        strbuf_addstr(out, " against ");
        add_escaped(out, common_baseline(view));
        strbuf_addch(out, '.');
    }
    strbuf_addf(out, "%s\n", bold);
}

/* First row that was timed, for what a run says once: cache, timer, tick. */
static const struct case_row *timed_row(const struct report_view *view)
{
    for (size_t i = 0; i < view->cases->nr; i++)
        if (report_is_ok(&view->cases->row[i]) && !isnan(view->cases->row[i].span_median_ns))
            return &view->cases->row[i];
    return NULL;
}

static void add_cache(const struct report_view *view, const struct case_row *row,
                      struct strbuf *out)
{
    const char *cache = row->cache_used ? row->cache_used : row->cache_asked;
    const char *scrub = run_text(view->run, "device", "scrub");
    bool cpu = cell_is(run_text(view->run, "device", "device"), "cpu") ||
               cell_is(row->timer_used, "monotonic");

    if (!cache)
        return;
    strbuf_addf(out, "%c%s %s", cache[0] >= 'a' && cache[0] <= 'z' ? cache[0] - 32 : cache[0],
                cache + 1, cpu ? "last-level cache" : "L2");
    if (*scrub && strcmp(cache, "warm") != 0)
        strbuf_addf(out, " (%s)", scrub);
    strbuf_addstr(out, ", ");
}

static void add_timer(const struct case_row *row, struct strbuf *out)
{
    if (cell_is(row->timer_used, "cupti"))
        strbuf_addstr(out, "CUPTI span of all activities, ");
    else if (cell_is(row->timer_used, "monotonic"))
        strbuf_addstr(out, "span of the call by the monotonic clock, ");
}

static void add_clocks(const struct report_view *view, struct strbuf *out)
{
    double lo = run_real(view->run, "clocks", "run_mhz_lo");
    double hi = run_real(view->run, "clocks", "run_mhz_hi");
    double power_w = run_real(view->run, "clocks", "power_w");
    bool cpu = cell_is(run_text(view->run, "device", "device"), "cpu");

    if (lo > 0 && hi > 0)
        strbuf_addf(out, ", running %s %.0f-%.0f MHz", cpu ? "clock" : "SM clock", lo, hi);
    if (power_w > 0)
        strbuf_addf(out, ", %.0f W", power_w);
}

static void add_dropped(const struct report_view *view, struct strbuf *out)
{
    double kept = run_real(view->run, "rounds", "kept");
    double dropped = run_real(view->run, "rounds", "dropped");
    const json_t *by_arm = run_at(view->run, "rounds", "dropped_by_arm"), *v;
    const char *arm, *between = " (";

    if (isnan(kept) || isnan(dropped))
        return;
    strbuf_addf(out, ", dropped rounds %.0f/%.0f", dropped, kept + dropped);
    json_object_foreach((json_t *)by_arm, arm, v)
    {
        if (!(json_number_value(v) > 0))
            continue;
        strbuf_addstr(out, between);
        add_escaped(out, arm);
        strbuf_addf(out, " %.0f", json_number_value(v));
        between = ", ";
    }
    if (*between == ',')
        strbuf_addch(out, ')');
}

static void add_device(const struct report_view *view, struct strbuf *out)
{
    static const char *const names[][2] = {
        {"name", ", "}, {"driver", ", driver "}, {"cuda_runtime", ", CUDA "}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = run_text(view->run, "device", names[i][0]);
        if (!*text)
            continue;
        strbuf_addstr(out, names[i][1]);
        add_escaped(out, text);
        size_t gpus = json_array_size(run_at(view->run, NULL, "devices"));
        if (!i && gpus > 1)
            strbuf_addf(out, " (%zu of them, each case on one)", gpus);
    }
}

/* "base v1.2-3-gabc (+dirty)": each arm once. */
static void add_revisions(const struct report_view *view, struct strbuf *out)
{
    const struct case_table *t = view->cases;

    for (size_t i = 0; i < t->nr; i++) {
        const struct case_row *row = &t->row[i];
        bool seen = report_is_role(row, "duplicate") || !row->arm || !row->library_describe;

        for (size_t k = 0; k < i && !seen; k++)
            seen = t->row[k].arm && !strcmp(t->row[k].arm, row->arm);
        if (seen)
            continue;
        strbuf_addstr(out, ", ");
        add_escaped(out, row->arm);
        strbuf_addch(out, ' ');
        add_escaped(out, row->library_describe);
    }
}

void report_method(const struct report_view *view, struct strbuf *out)
{
    const struct case_row *row = timed_row(view);
    double protocol = run_real(view->run, NULL, "protocol");

    if (!row)
        return;
    strbuf_addch(out, '*');
    add_cache(view, row, out);
    add_timer(row, out);
    strbuf_addstr(out, "Williams order");
    if (cell_is(row->pace_used, "burst") || cell_is(row->pace_used, "sustained"))
        strbuf_addf(out, ", pace %s", row->pace_used);
    if (!isnan(run_real(view->run, "summary", "a_prime_theta")))
        strbuf_addstr(out, ", ");
    add_a_prime(view, out);
    add_clocks(view, out);
    add_dropped(view, out);
    if (row->tick_ns > 0)
        strbuf_addf(out, ", tick %.3g ns", row->tick_ns);
    strbuf_addf(out, ", protocol %.0f", isnan(protocol) ? ROWS_PROTOCOL : protocol);
    add_device(view, out);
    add_revisions(view, out);
    strbuf_addstr(out, ".*\n\n");
}

int report_markdown(const struct case_table *cases, const json_t *run, struct strbuf *out,
                    struct err *err)
{
    struct report_view view;

    if (report_view_init(&view, cases, run, err))
        return -1;
    report_sentence(&view, out, true);
    strbuf_addch(out, '\n');
    int ret = report_tables(&view, out, err) || report_exceptions(&view, out, err) ||
              report_crossover(&view, out, err);
    if (!ret) {
        report_parts(&view, out);
        report_outputs(&view, out);
        report_method(&view, out);
        ret = report_details(&view, out, err);
    }
    report_view_release(&view);
    if (ret)
        return -1;
    return out->oom ? err_memory(err) : 0;
}
