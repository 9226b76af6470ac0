#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* harness.md 4.1, the worked table as it stands there. */
static const char worked[] =
    "**3 rows: 2 faster, 1 same, 0 slower, 0 unsure, 0 failed. Geometric mean -1.3 % [-1.5, -1.1], "
    "worst row +0.2 %. Time, lower is better; change = head against base.**\n"
    "\n"
    "| case (B.H.S.D, density) | base µs | head µs | change [95 % CI] | verdict | % of limit | "
    "activities | regs / spill B | max err | n |\n"
    "|---|--:|--:|--:|:--|--:|:--:|--:|--:|--:|\n"
    "| 1.64.4033.128, 0.10 | 19.33 | 19.36 | +0.2 % [-0.1, +0.4], 1 tick, MDE 0.3 % | SAME | 58 "
    "HBM "
    "| 1 -> 1 | 168/0 | 2.2e-4 | 5x24 |\n"
    "| 8.32.1024.128, 0.10 | 221.12 | 218.11 | -1.4 % [-1.5, -1.2] | FASTER | 64 mma | 1 -> 1 | "
    "168/0 | 2.1e-4 | 5x24 |\n"
    "| 1.64.4096.128, 0.10 | 25.98 | 25.31 | -2.6 % [-2.8, -2.4], 21 ticks | FASTER | 61 HBM | 1 "
    "-> "
    "1 | 168/0 | 2.3e-4 | 5x24 |\n";

static const char *const axes[] = {"batch", "heads", "seqlen_q", "seqlen_k", "head_dim"};

static void table_init(struct case_table *t)
{
    case_table_init(t);
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        assert_int_equal(text_list_add(&t->axes, axes[i], NULL), 0);
}

/* `shape` is "B H S D". */
static struct case_row *add(struct case_table *t, const char *id, const char *shape,
                            const char *arm, const char *role, double median_ns)
{
    struct case_row *row = case_table_add(t, NULL);
    char words[4][16];

    assert_non_null(row);
    assert_int_equal(sscanf(shape, "%15s %15s %15s %15s", words[0], words[1], words[2], words[3]),
                     4);
    static const int word_of[] = {0, 1, 2, 2, 3};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(row_set(&row->axis[i], words[word_of[i]], NULL), 0);
    row_set(&row->case_id, id, NULL);
    row_set(&row->arm, arm, NULL);
    row_set(&row->role, role, NULL);
    row_set(&row->status, "ok", NULL);
    row_set(&row->problem, "same", NULL);
    row_set(&row->timer_used, "cupti", NULL);
    row_set(&row->cache_used, "cold", NULL);
    row_set(&row->pace_used, "burst", NULL);
    row->density_asked = 0.1;
    row->span_median_ns = median_ns;
    row->span_p10_ns = median_ns * 0.99;
    row->span_p90_ns = median_ns * 1.01;
    row->tick_ns = 32;
    row->activities = 1;
    row->registers = 168;
    row->spill_bytes = 0;
    row->processes = 5;
    row->rounds = 120;
    return row;
}

static void change(struct case_row *row, double percent, double lo, double hi, const char *verdict)
{
    row->ratio = 1 + percent / 100;
    row->ratio_lo = 1 + lo / 100;
    row->ratio_hi = 1 + hi / 100;
    row_set(&row->verdict, verdict, NULL);
}

static void limit(struct case_row *row, const char *name, double percent, double max_err)
{
    row_set(&row->limit, name, NULL);
    row->limit_pct = percent;
    row->max_abs_err = max_err;
}

static void fill_worked(struct case_table *t)
{
    struct case_row *row;

    table_init(t);
    add(t, "s.B8", "8 32 1024 128", "base", "baseline", 221120);
    row = add(t, "s.B8", "8 32 1024 128", "head", "candidate", 218112);
    change(row, -1.36, -1.5, -1.2, "FASTER");
    limit(row, "mma", 64, 2.1e-4);
    row = add(t, "s.B8", "8 32 1024 128", "base'", "duplicate", 221120);
    change(row, 0, -0.1, 0.1, "SAME");
    add(t, "s.S4096", "1 64 4096 128", "base", "baseline", 25984);
    row = add(t, "s.S4096", "1 64 4096 128", "head", "candidate", 25312);
    change(row, -2.6, -2.8, -2.4, "FASTER");
    limit(row, "HBM", 61, 2.3e-4);
    add(t, "s.S4033", "1 64 4033 128", "base", "baseline", 19328);
    row = add(t, "s.S4033", "1 64 4033 128", "head", "candidate", 19360);
    change(row, 0.2, -0.1, 0.4, "SAME");
    row->mde_pct = 0.3;
    limit(row, "HBM", 58, 2.2e-4);
}

static json_t *worked_run(void)
{
    json_t *run = json_pack("{s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}}", "summary", "geomean",
                            log(0.987), "geomean_lo", log(0.985), "geomean_hi", log(0.989), "worst",
                            log(1.002), "a_prime_theta", 0.0, "a_prime_lo", log(0.998),
                            "a_prime_hi", log(1.001), "believed", 1);
    assert_non_null(run);
    return run;
}

static void worked_example(void **state)
{
    struct case_table t;
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    json_t *run = worked_run();

    (void)state;
    fill_worked(&t);
    assert_int_equal(report_markdown(&t, run, &out, &err), 0);
    assert_true(out.len > strlen(worked));
    out.buf[strlen(worked)] = out.buf[strlen(worked)] == '\n' ? '\0' : 'X';
    assert_string_equal(out.buf, worked);
    const char *rest = out.buf + strlen(worked) + 1;
    assert_non_null(strstr(rest, "A' +0.0 % [-0.2, +0.1]"));
    assert_non_null(strstr(rest, "tick 32 ns"));
    assert_non_null(strstr(rest, "bench --config FILE --only s.S4096"));
    assert_null(strstr(rest, "Exceptions"));
    json_decref(run);
    strbuf_release(&out);
    case_table_release(&t);
}

static char *markdown(const struct case_table *t, const json_t *run)
{
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(report_markdown(t, run, &out, NULL), 0);
    return strbuf_detach(&out);
}

static void no_run_json(void **state)
{
    struct case_table t;

    (void)state;
    fill_worked(&t);
    char *text = markdown(&t, NULL);
    assert_int_equal(strncmp(text, "**3 rows: 2 faster, 1 same", 26), 0);
    assert_null(strstr(text, "Geometric"));
    assert_null(strstr(text, "nan"));
    free(text);
    case_table_release(&t);
    case_table_init(&t);
    text = markdown(&t, NULL);
    assert_non_null(strstr(text, "No row was sealed"));
    free(text);
}

static void failed_a_prime_stands_first(void **state)
{
    struct case_table t;
    json_t *run = json_pack("{s:s, s:{s:b, s:f, s:f, s:f, s:f}}", "status", "interrupted",
                            "summary", "believed", 0, "a_prime_theta", log(1.02), "a_prime_lo",
                            log(1.015), "a_prime_hi", log(1.025), "a_prime_p", 0.001);

    (void)state;
    fill_worked(&t);
    char *text = markdown(&t, run);
    assert_int_equal(strncmp(text, "**Not to be believed", 20), 0);
    assert_non_null(strstr(text, "A' +2.0 % [+1.5, +2.5], Holm p = 0.001"));
    assert_non_null(strstr(text, "interrupted"));
    free(text);
    json_decref(run);
    case_table_release(&t);
}

static void parts_of_pipelines(void **state)
{
    struct case_table t;
    struct case_row *row;

    (void)state;
    fill_worked(&t);
    row = add(&t, "s.S4096", "1 64 4096 128", "both", "candidate", 99008);
    row_set(&row->problem, "across", NULL);
    row_set(&row->parts_span_ns, "sage_quant_q/vector=10016;sage_fwd/mma=80000", NULL);
    row->accuracy_rel_l2 = 3.6e-2;
    row->accuracy_cosine = 0.99935;
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(
        text, "Parts of pipeline both, medians; relative L2 and cosine of its output against the "
              "operator on unquantised inputs:\n\n"
              "| case | both µs | sage_quant_q/vector µs | sage_fwd/mma µs | relative L2 | cosine "
              "|\n|---|--:|--:|--:|--:|--:|\n"
              "| 1.64.4096.128, 0.10 | 99.01 | 10.02 | 80.00 | 3.6e-2 | 0.99935 |\n"));
    free(text);
    /* Without accuracy its columns are left out; without parts the section. */
    row->accuracy_rel_l2 = row->accuracy_cosine = NAN;
    text = markdown(&t, NULL);
    assert_non_null(strstr(text, "Parts of pipeline both, medians:\n"));
    assert_null(strstr(text, "relative L2 and cosine of its output"));
    free(text);
    row_set(&row->parts_span_ns, NULL, NULL);
    text = markdown(&t, NULL);
    assert_null(strstr(text, "Parts of"));
    free(text);
    case_table_release(&t);
}

static void exceptions(void **state)
{
    struct case_table t;
    struct case_row *row;

    (void)state;
    fill_worked(&t);
    row = add(&t, "s.bad|id", "2 2 64 128", "head", "candidate", NAN);
    row_set(&row->status, "wrong", NULL);
    row_set(&row->status_text, "max |err| 3e-1 at <0>", NULL);
    row = add(&t, "s.S4096", "1 64 4096 128", "dense", "candidate", 99000);
    row_set(&row->problem, "across", NULL);
    row->ratio = 3.81;
    row_add_reason(&t.row[1], "multiple", NULL);
    row_add_reason(&t.row[1], "drift", NULL);
    row_set(&t.row[4].verdict, "UNSURE", NULL);
    t.row[4].rounds_to_settle = 168;
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(text, "1 failed"));
    assert_non_null(strstr(text, "`s.bad|id` head: wrong: max \\|err\\| 3e-1 at &lt;0>"));
    assert_non_null(strstr(text, "across problems, no verdict: 3.810 times base"));
    assert_non_null(strstr(text, "UNSURE, about 168 rounds would settle it"));
    assert_non_null(strstr(text, "- `drift`: "));
    assert_non_null(strstr(text, "-1.4 % [-1.5, -1.2], multiple | FASTER"));
    assert_null(strstr(text, "dense against base"));
    free(text);
    case_table_release(&t);
}

static void outputs(struct case_row *row, const char *equal, double rel_l2, double jitter)
{
    row_set(&row->bits_equal, equal, NULL);
    row->rel_l2_baseline = rel_l2;
    row->jitter_baseline = jitter;
}

static void outputs_against_the_baseline(void **state)
{
    struct case_table t;

    (void)state;
    fill_worked(&t);
    char *text = markdown(&t, NULL);
    assert_null(strstr(text, "Outputs"));
    free(text);
    outputs(&t.row[1], "yes", 0, 0);
    outputs(&t.row[2], "no", 1, 1); /* the baseline's twin is no candidate */
    outputs(&t.row[4], "no", 9.2e-6, 9.1e-6);
    text = markdown(&t, NULL);
    assert_non_null(strstr(text,
                           "\n\nOutputs: bits equal to base in 1 of 2 rows; `s.S4096` relative "
                           "L2 9.2e-6 between them, base's own run-to-run jitter 9.1e-6.\n\n*"));
    free(text);
    outputs(&t.row[1], "no", NAN, 0);
    row_set(&t.row[4].bits_equal, "yes", NULL);
    text = markdown(&t, NULL);
    assert_non_null(strstr(text, "`s.B8` relative L2 not known between them, base's own run-to-run "
                                 "jitter 0.\n"));
    free(text);
    case_table_release(&t);
}

static void many_outputs_differ(void **state)
{
    struct case_table t;
    char id[16];

    (void)state;
    table_init(&t);
    for (int i = 0; i < 9; i++) {
        snprintf(id, sizeof(id), "s.%d", i);
        add(&t, id, "1 2 64 128", "base", "baseline", 1000);
        outputs(add(&t, id, "1 2 64 128", "head", "candidate", 1000), "no", 1e-3, 2e-3);
    }
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(text, "bits equal to base in 0 of 9 rows; `s.0` "));
    assert_non_null(strstr(text, "; `s.5` relative L2 1.0e-3, jitter 2.0e-3; and 3 more.\n"));
    free(text);
    case_table_release(&t);
}

/* Two arms at two revisions: each stands against itself, whichever baseline comes first. */
static void each_arm_has_its_own_baseline(void **state)
{
    static const char *const names[][2] = {{"mma@main", "mma@topic"},
                                           {"wgmma@main", "wgmma@topic"}};
    struct case_table t;

    (void)state;
    table_init(&t);
    for (int i = 0; i < 2; i++)
        add(&t, "s.B8", "8 32 1024 128", names[i][0], "baseline", 200000 * (i + 1));
    for (int i = 0; i < 2; i++) {
        struct case_row *row =
            add(&t, "s.B8", "8 32 1024 128", names[i][1], "candidate", 100000 * (i + 1));
        row_set(&row->baseline, names[i][0], NULL);
        change(row, -50, -51, -49, "FASTER");
        outputs(row, "yes", 0, 0);
    }
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(text, "change = each arm against its own baseline.**"));
    assert_non_null(strstr(text, "**wgmma@topic against wgmma@main**"));
    assert_non_null(strstr(text, "| wgmma@main µs | wgmma@topic µs |"));
    assert_non_null(strstr(text, "| 400.00 | 200.00 |"));
    assert_non_null(
        strstr(text, "Outputs of wgmma@topic: bits equal to wgmma@main in 1 of 1 row.\n"));
    free(text);
    case_table_release(&t);
}

static void times_without_candidates(void **state)
{
    struct case_table t;

    (void)state;
    table_init(&t);
    add(&t, "s.B8", "8 32 1024 128", "only", "baseline", 221120);
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(text, "**1 row timed, 0 failed, 0 skipped; no arm to compare."));
    assert_non_null(strstr(text, "| 8.32.1024.128, 0.10 | only | 221.12 | 218.91 | 223.33 |"));
    free(text);
    case_table_release(&t);
}

/* A thousand cases of three arms and a long configuration stay below the limit. */
static void long_sweeps_are_folded(void **state)
{
    struct case_table t;
    char id[64], shape[64];
    char *ini = calloc(1, 100001);

    (void)state;
    assert_non_null(ini);
    for (size_t i = 0; i < 100000; i++)
        ini[i] = i % 40 == 39 ? '\n' : 'x';
    json_t *run = json_pack("{s:s, s:s}", "config_text", ini, "config_name", "it's");
    table_init(&t);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof(id), "sweep.B8.H32.S%d.d0.1", i + 64);
        snprintf(shape, sizeof(shape), "8 32 %d 128", i + 64);
        add(&t, id, shape, "base", "baseline", 221120);
        for (int a = 0; a < 2; a++) {
            struct case_row *row =
                add(&t, id, shape, a ? "second" : "first", "candidate", 221120 + i);
            change(row, i * 0.01, i * 0.01 - 0.2, i * 0.01 + 0.2, "UNSURE");
            row_add_reason(row, "halves", NULL);
            row->rounds_to_settle = 1000;
        }
    }
    char *text = markdown(&t, run);
    assert_true(strlen(text) < REPORT_MAX_CHARS);
    assert_non_null(strstr(text, "<details><summary>960 more rows</summary>"));
    assert_non_null(strstr(text, "more rows stand in cases.csv"));
    assert_non_null(strstr(text, "--config 'it'\\''s.ini'"));
    free(text);
    free(ini);
    json_decref(run);
    case_table_release(&t);
}

/* Two cases that the short label cannot tell apart get the axis that differs, then their ids. */
static void labels_tell_cases_apart(void **state)
{
    struct case_table t;

    (void)state;
    table_init(&t);
    assert_int_equal(text_list_add(&t.axes, "counts", NULL), 0);
    struct case_row *a = add(&t, "s.one", "1 2 64 128", "x", "baseline", 1000);
    row_set(&a->axis[5], "uniform", NULL);
    struct case_row *b = add(&t, "s.two", "1 2 64 128", "x", "baseline", 1000);
    row_set(&b->axis[5], "varying", NULL);
    char *text = markdown(&t, NULL);
    assert_non_null(strstr(text, "| 1.2.64.128, 0.10, counts uniform |"));
    free(text);
    row_set(&t.row[1].axis[5], "uniform", NULL);
    text = markdown(&t, NULL);
    assert_non_null(strstr(text, "| s.two |"));
    free(text);
    case_table_release(&t);
}

static void terminal(void **state)
{
    struct case_table t;
    struct strbuf out = STRBUF_INIT;
    json_t *run = worked_run();

    (void)state;
    fill_worked(&t);
    t.row[1].tflops = 512.3;
    row_set(&t.row[4].status_text, "", NULL);
    assert_int_equal(report_terminal(&t, run, 100, false, &out, NULL), 0);
    assert_null(strchr(out.buf, '\033'));
    assert_non_null(strstr(out.buf, "s.B8     base      221.12"));
    assert_non_null(
        strstr(out.buf, "         head      218.11  -1.4 % [-1.5, -1.2]  FASTER       512  ok"));
    for (const char *line = out.buf; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == '3') /* the sentence is prose, not a row */
            break;
        assert_true(strcspn(line, "\n") <= 100);
    }
    strbuf_reset(&out);
    row_set(&t.row[3].status, "crash", NULL);
    row_set(&t.row[3].status_text,
            "the worker was killed by signal 11 (SIGSEGV) while it ran the case for the first time",
            NULL);
    assert_int_equal(report_terminal(&t, run, 80, true, &out, NULL), 0);
    assert_non_null(strstr(out.buf, "\033[32mFASTER"));
    assert_non_null(strstr(out.buf, ".."));
    strbuf_release(&out);
    json_decref(run);
    case_table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(no_run_json),
        cmocka_unit_test(failed_a_prime_stands_first),
        cmocka_unit_test(parts_of_pipelines),
        cmocka_unit_test(exceptions),
        cmocka_unit_test(outputs_against_the_baseline),
        cmocka_unit_test(many_outputs_differ),
        cmocka_unit_test(each_arm_has_its_own_baseline),
        cmocka_unit_test(times_without_candidates),
        cmocka_unit_test(long_sweeps_are_folded),
        cmocka_unit_test(labels_tell_cases_apart),
        cmocka_unit_test(terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
