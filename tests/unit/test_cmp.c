/*
 * test_cmp.c - two made-up runs held against each other: which rows match, what the numbers are,
 * what is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_race.h"

#include "cmp.h"

static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-cmp-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

/* ---- matching ---- */

static struct case_row *add(struct case_table *t, const char *case_id, const char *arm,
                            const char *role, const char *heads)
{
    const struct race_arm who = {arm, role, NULL};
    struct case_row *row = race_row(t, case_id, &who);

    race_text(&row->operator, "sage_fwd");
    race_text(&row->axis[0], heads);
    return row;
}

static void begin(struct case_table *t)
{
    case_table_init(t);
    assert_int_equal(text_list_add(&t->axes, "heads", NULL), 0);
}

static void rows_match_by_axes_and_arm(void **state)
{
    struct case_table before, after;
    struct cmp_match m;

    (void)state;
    begin(&before);
    add(&before, "s.H1", "base", "baseline", "1");
    add(&before, "s.H1", "head", "candidate", "1");
    add(&before, "s.H2", "base", "baseline", "2");
    add(&before, "s.H1", "base'", "duplicate", "1");
    begin(&after);
    add(&after, "t.H2", "base", "baseline", "2"); /* another name, the same problem */
    add(&after, "t.H1", "base", "baseline", "1");
    add(&after, "t.H1", "new", "candidate", "1");
    add(&after, "t.H3", "base", "baseline", "3");
    add(&after, "t.H1", "base'", "duplicate", "1");
    assert_int_equal(cmp_match_init(&m, &before, &after, NULL), 0);
    assert_int_equal(m.nr, 2);
    assert_int_equal(m.pair[0].before, 2);
    assert_int_equal(m.pair[0].after, 0);
    assert_int_equal(m.pair[1].before, 0);
    assert_int_equal(m.pair[1].after, 1);
    assert_false(m.pair[0].by_role);
    assert_int_equal(m.only_before_nr, 1);
    assert_int_equal(m.only_before[0], 1);
    assert_int_equal(m.only_after_nr, 2);
    assert_int_equal(m.only_after[0], 2);
    assert_int_equal(m.only_after[1], 3);
    cmp_match_release(&m);
    case_table_release(&before);
    case_table_release(&after);
}

/* The same label goes before the same role, the same case id before another. */
static void better_fits_come_first(void **state)
{
    struct case_table before, after;
    struct cmp_match m;

    (void)state;
    begin(&before);
    add(&before, "s.H1", "main", "baseline", "1");
    add(&before, "t.H1", "main", "baseline", "1");
    add(&before, "t.H1", "branch", "candidate", "1");
    begin(&after);
    add(&after, "t.H1", "branch", "baseline", "1");
    add(&after, "s.H1", "other", "baseline", "1");
    assert_int_equal(cmp_match_init(&m, &before, &after, NULL), 0);
    assert_int_equal(m.nr, 2);
    assert_int_equal(m.pair[0].before, 2);
    assert_false(m.pair[0].by_role);
    assert_int_equal(m.pair[1].before, 0);
    assert_true(m.pair[1].by_role);
    cmp_match_release(&m);
    case_table_release(&before);
    case_table_release(&after);
}

/* Each arm of `bench ab` is its own baseline: another ref of the same arm is its partner. */
static void branches_match_by_the_name_of_the_arm(void **state)
{
    struct case_table before, after;
    struct cmp_match m;

    (void)state;
    begin(&before);
    add(&before, "s.H1", "slow@v1", "baseline", "1");
    add(&before, "s.H1", "fast@v1", "baseline", "1");
    begin(&after);
    add(&after, "s.H1", "fast@v2", "baseline", "1");
    add(&after, "s.H1", "other@v2", "baseline", "1");
    assert_int_equal(cmp_match_init(&m, &before, &after, NULL), 0);
    assert_int_equal(m.nr, 1);
    assert_int_equal(m.pair[0].before, 1);
    assert_int_equal(m.pair[0].after, 0);
    cmp_match_release(&m);
    case_table_release(&before);
    case_table_release(&after);
}

/* An axis that the older run did not know matches its default, and nothing else. */
static void a_new_axis_matches_its_default(void **state)
{
    for (int def = 0; def < 2; def++) {
        struct case_table before, after;
        struct cmp_match m;

        (void)state;
        begin(&before);
        add(&before, "s.H1", "base", "baseline", "1");
        begin(&after);
        assert_int_equal(text_list_add(&after.axes, "batch", NULL), 0);
        race_text(&add(&after, "s.H1", "base", "baseline", "1")->axis[1], def ? "1" : "7");
        assert_int_equal(cmp_match_init(&m, &before, &after, NULL), 0);
        assert_int_equal(m.nr, def ? 1 : 0);
        cmp_match_release(&m);
        case_table_release(&before);
        case_table_release(&after);
    }
}

/* ---- folders ---- */

struct run {
    const char *dir, *json;
    double theta[4]; /* of each process's base arm against RACE_BASE_NS */
    int processes;
};

#define JSON(protocol, gpu)                                                                        \
    "{\"schema\": 1, \"protocol\": " #protocol ", \"device\": {\"name\": \"" gpu                   \
    "\", \"driver\": \"1\"}, \"settings\": {\"delta\": 0.005, \"noise_floor\": 0, \"cache\": "     \
    "\"cold\"}}"

static void write_run(const struct run *r, const char *status)
{
    const struct race_arm arms[] = {{"still", "context", NULL}, {"base", "baseline", r->theta}};
    struct err err = ERR_INIT;
    struct store s;

    store_init(&s);
    s.set = (struct summary_settings){.delta = 0.005, .gate_slower = -1, .rounds_named = true};
    s.run = json_loads(r->json, 0, NULL);
    assert_non_null(s.run);
    for (size_t i = 0; i < 2; i++) {
        struct case_row *row = race_row(&s.cases, "s.H1", &arms[i]);
        race_text(&row->operator, "sage_fwd");
        race_text(&row->status, status);
    }
    for (int p = 0; p < r->processes; p++)
        race_process(&s.samples, "s.H1", arms, 2, p, 6);
    if (store_create(&s, r->dir, false, &err) || store_write(&s, true, &err))
        fail_msg("%s", err.text);
    store_release(&s);
}

static const struct cmp_row *row_of(const struct cmp *c, const char *arm)
{
    for (size_t i = 0; i < c->match.nr; i++)
        if (!strcmp(c->row[i].after->arm, arm))
            return &c->row[i];
    fail_msg("no row of arm '%s'", arm);
    return NULL;
}

static void open_both(struct cmp *c, const char *before, const char *after)
{
    struct err err = ERR_INIT;

    cmp_init(c);
    if (cmp_open(c, before, after, &err))
        fail_msg("%s", err.text);
}

/*
 * Old: logs 0, .01 (mean .005, s^2 5e-5); new: -.04, -.05, -.06 (mean -.05, s^2 1e-4), each over
 * the median of a process, which drifts alike in both runs for the same process number. With
 * processes 0, 1 and 0, 1, 2 the drift moves each median by less than 1e-3.
 */
static void estimates_and_words(void **state)
{
    static const struct run before = {"old", JSON(1, "A"), {0, 0.01}, 2};
    static const struct run after = {"new", JSON(1, "A"), {-0.04, -0.05, -0.06}, 3};
    struct strbuf text = STRBUF_INIT;
    const struct cmp_row *r;
    struct cmp c;

    (void)state;
    write_run(&before, "ok");
    write_run(&after, "ok");
    open_both(&c, "old", "new");
    r = row_of(&c, "base");
    assert_int_equal(r->u.nr_before, 2);
    assert_int_equal(r->u.nr_after, 3);
    assert_near(r->u.theta, -0.055, 1e-3);
    assert_near(r->u.se, sqrt(5e-5 / 2 + 1e-4 / 3), 1e-3);
    assert_near(r->delta, log1p(0.005), 1e-12);
    assert_int_equal(r->verdict, VERDICT_FASTER);
    assert_int_equal(row_of(&c, "still")->verdict, VERDICT_SAME);
    assert_int_equal(c.warnings.nr, 0);
    for (int markdown = 0; markdown < 2; markdown++) {
        strbuf_reset(&text);
        assert_int_equal(cmp_print(&c, markdown, &text, NULL), 0);
        assert_non_null(strstr(text.buf, "unpaired"));
        assert_non_null(strstr(text.buf, "2 rows: 1 faster, 1 same, 0 slower, 0 unsure"));
        assert_non_null(strstr(text.buf, "2 -> 3"));
        assert_non_null(strstr(text.buf, "against a delta of 0.5 %"));
        assert_non_null(strstr(text.buf, "few_processes"));
    }
    strbuf_release(&text);
    cmp_release(&c);
}

static void one_process_is_unsure(void **state)
{
    static const struct run before = {"one", JSON(1, "A"), {0}, 1};
    static const struct run after = {"many", JSON(1, "B"), {0.5, 0.5}, 2};
    struct cmp c;

    (void)state;
    write_run(&before, "ok");
    write_run(&after, "ok");
    open_both(&c, "one", "many");
    assert_near(row_of(&c, "base")->u.theta, 0.5, 1e-3);
    assert_nan(row_of(&c, "base")->u.lo);
    assert_int_equal(row_of(&c, "base")->verdict, VERDICT_UNSURE);
    assert_non_null(strstr(row_of(&c, "base")->notes.buf, "no interval"));
    assert_int_equal(c.warnings.nr, 1);
    assert_non_null(strstr(c.warnings.items[0], "another device: A in the old run, B in the new"));
    cmp_release(&c);
}

static void failed_rows_are_not_compared(void **state)
{
    static const struct run wrong = {"wrong", JSON(1, "A"), {0, 0}, 2};
    struct cmp c;

    (void)state;
    write_run(&wrong, "wrong");
    open_both(&c, "many", "wrong");
    assert_false(row_of(&c, "base")->compared);
    assert_non_null(strstr(row_of(&c, "base")->notes.buf, "wrong in the new run"));
    cmp_release(&c);
}

static void another_protocol_is_refused(void **state)
{
    static const struct run later = {"later", JSON(2, "A"), {0, 0}, 2};
    struct err err = ERR_INIT;
    struct cmp c;

    (void)state;
    write_run(&later, "ok");
    cmp_init(&c);
    assert_int_equal(cmp_open(&c, "old", "later", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "'old' has protocol 1"));
    assert_non_null(strstr(err.text, "'later' has protocol 2"));
    cmp_release(&c);
    cmp_init(&c);
    assert_int_equal(cmp_open(&c, "old", "nowhere", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    cmp_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_match_by_axes_and_arm),
        cmocka_unit_test(better_fits_come_first),
        cmocka_unit_test(branches_match_by_the_name_of_the_arm),
        cmocka_unit_test(a_new_axis_matches_its_default),
        cmocka_unit_test(estimates_and_words),
        cmocka_unit_test(one_process_is_unsure),
        cmocka_unit_test(failed_rows_are_not_compared),
        cmocka_unit_test(another_protocol_is_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
