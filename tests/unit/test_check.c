/*
 * The table of checks, what a result means and how it travels, and the JUnit report. Hazards and
 * their names: sab.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check_session.h"
#include "csv.h"

static const struct {
    uint32_t hazard;
    const char *name;
} hazards[] = {
    {SAB_HAZARD_ZEROED, "zeroed"},
    {SAB_HAZARD_STALE_VALID, "stale_valid"},
    {SAB_HAZARD_RECYCLED_VIEW, "recycled_view"},
    {SAB_HAZARD_GRAPH_REPLAY, "graph_replay"},
    {SAB_HAZARD_NO_GROWTH, "no_growth"},
    {SAB_HAZARD_ORDERED_STREAMS, "ordered_streams"},
    {SAB_HAZARD_EMPTY, "empty"},
    {SAB_HAZARD_DEGENERATE, "degenerate"},
};

static void test_table(void **state)
{
    (void)state;
    /* The plain launch decides whether the others are run at all. */
    assert_string_equal(check_at(0)->name, "oracle");
    assert_null(check_at(checks_nr()));
    for (size_t i = 0; check_at(i); i++) {
        assert_int_equal(check_find(check_at(i)->name), (int)i);
        assert_non_null(check_at(i)->run);
        assert_true(strlen(check_at(i)->help) > 10);
        assert_int_equal(strspn(check_at(i)->name, "abcdefghijklmnopqrstuvwxyz_"),
                         strlen(check_at(i)->name));
    }
    assert_int_equal(check_find("oracles"), -1);
}

static void test_each_hazard_has_its_check(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hazards) / sizeof(hazards[0]); i++) {
        const int at = check_find(hazards[i].name);

        assert_true(at >= 0);
        assert_int_equal(check_at((size_t)at)->hazard, hazards[i].hazard);
    }
}

static enum check_status expected(const char *check, uint32_t flagged, enum check_status plain)
{
    struct check_result r;

    check_result_init(&r);
    r.status = plain;
    check_expect(check_at((size_t)check_find(check)), flagged, &r);
    return r.status;
}

static void test_what_a_hazard_changes(void **state)
{
    const uint32_t flagged = SAB_HAZARD_ZEROED | SAB_HAZARD_ORDERED_STREAMS;

    (void)state;
    assert_int_equal(expected("zeroed", flagged, CHECK_FAIL), CHECK_EXPECTED);
    assert_int_equal(expected("zeroed", flagged, CHECK_PASS), CHECK_UNEXPECTED);
    assert_int_equal(expected("zeroed", flagged, CHECK_NA), CHECK_NA);
    assert_int_equal(expected("zeroed", 0, CHECK_FAIL), CHECK_FAIL);
    assert_int_equal(expected("zeroed", 0, CHECK_PASS), CHECK_PASS);
    /* A hazard excuses its own check only. */
    assert_int_equal(expected("stale_valid", flagged, CHECK_FAIL), CHECK_FAIL);
    assert_int_equal(expected("oracle", flagged, CHECK_FAIL), CHECK_FAIL);
    /* Undefined across streams: either answer is right. */
    assert_int_equal(expected("ordered_streams", flagged, CHECK_FAIL), CHECK_EXPECTED);
    assert_int_equal(expected("ordered_streams", flagged, CHECK_PASS), CHECK_PASS);
}

static void test_a_result_travels(void **state)
{
    struct check_result r, back;
    json_t *json;

    (void)state;
    check_result_init(&r);
    check_fail(&r, "it says \"%s\"\n\x01 and \xc3", "no");
    assert_string_equal(r.text, "it says \"no\" ? and ?");
    strcpy(r.tensor, "out");
    strcpy(r.index, "[0,1]");
    r.at = 1;
    r.got = NAN;
    r.want = -INFINITY;
    r.rel_l2 = 0.1;
    r.end = CHECK_CRASHED;
    json = check_result_to_json(&r);
    assert_non_null(json);
    assert_int_equal(check_result_from_json(&back, json, NULL), 0);
    json_decref(json);
    assert_int_equal(back.status, CHECK_FAIL);
    assert_int_equal(back.end, CHECK_CRASHED);
    assert_string_equal(back.text, r.text);
    assert_string_equal(back.tensor, "out");
    assert_string_equal(back.index, "[0,1]");
    assert_int_equal(back.at, 1);
    assert_true(isnan(back.got));
    assert_true(isinf(back.want) && back.want < 0);
    assert_true(back.rel_l2 == 0.1);
    assert_true(isnan(back.jitter));
}

static void test_a_result_that_is_none(void **state)
{
    struct err err = ERR_INIT;
    struct check_result r;
    json_t *json = json_pack("{s:i}", "status", 1);

    (void)state;
    assert_int_equal(check_result_from_json(&r, json, &err), -1);
    assert_int_equal(err.kind, ERR_CRASH);
    json_decref(json);
    assert_int_equal(check_result_from_json(&r, NULL, &err), -1);
    json = json_pack("{s:i, s:i, s:s, s:s, s:s, s:i}", "status", 99, "end", 0, "text", "", "tensor",
                     "", "index", "", "at", 0);
    assert_int_equal(check_result_from_json(&r, json, &err), -1);
    json_decref(json);
    json = json_pack("{s:i, s:i, s:s, s:s, s:s, s:i}", "status", 1, "end", 99, "text", "", "tensor",
                     "", "index", "", "at", 0);
    assert_int_equal(check_result_from_json(&r, json, &err), -1);
    json_decref(json);
}

/* ---- the files ---- */

struct world {
    struct session s;
    struct session_request request;
    struct plan_arm plan_arm;
    struct arm_entry arm[2];
    struct sab_library table;
    struct library lib;
    struct plan_case item;
    struct check_rows rows;
    struct strbuf text;
};

static void add_row(struct world *w, size_t arm, const char *check, enum check_status status,
                    const char *text)
{
    struct check_row *row = &w->rows.row[w->rows.nr++];

    row->item = &w->item;
    row->arm = &w->arm[arm];
    row->check = check_at((size_t)check_find(check));
    row->kernel = strdup("sage_fwd/x");
    row->options = strdup("");
    check_result_init(&row->res);
    check_result_init(&row->small_res);
    row->res.status = status;
    strcpy(row->res.text, text);
    if (!check_row_is_bad(row))
        return;
    assert_int_equal(check_repro(&w->s, row, " --sweep.s.heads=1", "s.<1>&'2'", &row->repro, NULL),
                     0);
}

static void setup(struct world *w)
{
    memset(w, 0, sizeof(*w));
    session_init(&w->s);
    w->request.config = "a file.ini";
    w->s.request = &w->request;
    w->plan_arm.name = strdup("odd");
    w->s.plan.arm = &w->plan_arm;
    w->table.describe = "v1";
    w->lib.table = &w->table;
    for (int i = 0; i < 2; i++) {
        w->arm[i].label = strdup(i ? "<odd>" : "even");
        w->arm[i].origin = strdup("/lib/x.so");
        w->arm[i].lib = &w->lib;
    }
    w->s.arms.item = w->arm;
    w->s.arms.nr = 2;
    w->item.id = strdup("s.<1>&\"2\"");
    w->item.sweep = "s";
    w->item.c.op = op_model_find("sage_fwd");
    w->rows.row = calloc(8, sizeof(*w->rows.row));
    strbuf_init(&w->text);
    add_row(w, 0, "oracle", CHECK_PASS, "full");
    add_row(w, 1, "oracle", CHECK_FAIL, "is < and > & \"quoted\"");
    add_row(w, 1, "guards", CHECK_NA, "none");
    add_row(w, 1, "zeroed", CHECK_EXPECTED, "as <flagged>");
    add_row(w, 1, "empty", CHECK_UNEXPECTED, "passes");
    w->rows.row[1].res.at = 7;
    w->rows.row[1].res.got = NAN;
    w->rows.row[1].res.want = 0.5;
}

static void teardown(struct world *w)
{
    check_rows_release(&w->rows);
    strbuf_release(&w->text);
    for (int i = 0; i < 2; i++) {
        free(w->arm[i].label);
        free(w->arm[i].origin);
    }
    free(w->plan_arm.name);
    free(w->item.id);
}

/* A reader for what XML asks of such a file: one root, tags that close in order, attributes in
 * double quotes, no bare < or & in text. Returns the number of elements, -1 where it is not well
 * formed. */
static int elements_of(const char *xml)
{
    char open[16][32];
    int depth = 0, nr = 0, roots = 0;

    if (strncmp(xml, "<?xml ", 6) != 0 || !(xml = strstr(xml, "?>")))
        return -1;
    for (xml += 2; *xml;) {
        size_t len;

        if (*xml == '&') {
            len = strcspn(xml, ";");
            if (len > 5 || !xml[len])
                return -1;
            xml += len;
            continue;
        }
        if (*xml != '<') {
            if (!depth && !strchr(" \n", *xml))
                return -1;
            xml++;
            continue;
        }
        if (xml[1] == '/') {
            len = strcspn(xml + 2, ">");
            if (!depth || strlen(open[--depth]) != len || strncmp(open[depth], xml + 2, len) != 0)
                return -1;
            xml += len + 3;
            continue;
        }
        len = strcspn(++xml, " />");
        if (!len || len >= sizeof(open[0]) || depth == 16)
            return -1;
        memcpy(open[depth], xml, len);
        open[depth++][len] = '\0';
        roots += depth == 1;
        nr++;
        for (xml += len; *xml && *xml != '>' && *xml != '/'; xml++)
            if (*xml == '"') {
                xml += 1 + strcspn(xml + 1, "\"<");
                if (*xml != '"')
                    return -1;
            }
        if (*xml == '/')
            depth--, xml++;
        if (*xml++ != '>')
            return -1;
    }
    return depth || roots != 1 ? -1 : nr;
}

static void test_the_reader_of_xml(void **state)
{
    (void)state;
    assert_int_equal(elements_of("<?xml v?>\n<a><b c=\"&lt;\"/>x&amp;y</a>\n"), 2);
    assert_int_equal(elements_of("<?xml v?><a><b></a></b>"), -1);
    assert_int_equal(elements_of("<?xml v?><a>&</a>"), -1);
    assert_int_equal(elements_of("<?xml v?><a c=\"<\"/>"), -1);
    assert_int_equal(elements_of("<?xml v?><a/><b/>"), -1);
    assert_int_equal(elements_of("<a/>"), -1);
}

static void test_junit(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    assert_int_equal(check_junit(&w.s, &w.rows, &w.text, NULL), 0);
    /* testsuites, 2 suites, 5 cases, 2 failures, 1 skipped, 1 system-out */
    assert_int_equal(elements_of(w.text.buf), 12);
    assert_non_null(strstr(w.text.buf,
                           "<testsuites name=\"bench check\" tests=\"5\" failures=\"2\" "
                           "errors=\"0\" skipped=\"1\""));
    assert_non_null(
        strstr(w.text.buf, "<testsuite name=\"&lt;odd&gt;\" tests=\"4\" failures=\"2\""));
    assert_non_null(strstr(w.text.buf, "classname=\"s.&lt;1&gt;&amp;&quot;2&quot;\""));
    assert_non_null(strstr(w.text.buf, "message=\"is &lt; and &gt; &amp; &quot;quoted&quot;\""));
    teardown(&w);
}

static void test_csv(void **state)
{
    struct csv csv;
    struct world w;
    size_t at;

    (void)state;
    setup(&w);
    assert_int_equal(check_csv(&w.s, &w.rows, &w.text, NULL), 0);
    csv_init(&csv);
    assert_int_equal(csv_read_text(&csv, "checks.csv", w.text.buf, w.text.len, NULL), 0);
    assert_int_equal(csv.nr_rows, 5);
    assert_int_equal(csv_find_column(&csv, "status", &at, NULL), 0);
    assert_string_equal(csv_cell(&csv, 0, at), "pass");
    assert_string_equal(csv_cell(&csv, 1, at), "fail");
    assert_string_equal(csv_cell(&csv, 2, at), "n/a");
    assert_string_equal(csv_cell(&csv, 3, at), "expected_failure");
    assert_string_equal(csv_cell(&csv, 4, at), "unexpected_pass");
    assert_int_equal(csv_find_column(&csv, "got", &at, NULL), 0);
    assert_string_equal(csv_cell(&csv, 1, at), "nan");
    assert_string_equal(csv_cell(&csv, 0, at), "");
    assert_int_equal(csv_find_column(&csv, "element", &at, NULL), 0);
    assert_string_equal(csv_cell(&csv, 1, at), "7");
    assert_int_equal(csv_find_column(&csv, "repro", &at, NULL), 0);
    assert_string_equal(csv_cell(&csv, 1, at),
                        "bench check --config 'a file.ini' --sweep.s.heads=1 --arm odd --only "
                        "'s.<1>&'\\''2'\\''' --check oracle");
    csv_release(&csv);
    teardown(&w);
}

static void test_status(void **state)
{
    struct world w;

    (void)state;
    setup(&w);
    assert_int_equal(check_session_status(&w.s, &w.rows), 3);
    w.rows.row[1].res.status = CHECK_PASS;
    assert_int_equal(check_session_status(&w.s, &w.rows), 3);
    w.rows.row[4].res.status = CHECK_EXPECTED;
    assert_int_equal(check_session_status(&w.s, &w.rows), 0);
    w.s.stopped = true;
    assert_int_equal(check_session_status(&w.s, &w.rows), 130);
    teardown(&w);
}

static void test_selection(void **state)
{
    static const char *const two[] = {"refusals", "oracle"}, *const none[] = {"refusal"};
    struct err err = ERR_INIT;
    struct check_rows rows;

    (void)state;
    check_rows_init(&rows);
    assert_int_equal(rows.each, checks_nr());
    assert_int_equal(check_rows_select(&rows, two, 2, &err), 0);
    assert_int_equal(rows.each, 2);
    assert_true(rows.wanted[0] && rows.wanted[check_find("refusals")]);
    assert_false(rows.wanted[1]);
    assert_int_equal(check_rows_select(&rows, none, 1, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, "'refusal' is no check, did you mean 'refusals'");
    check_rows_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_each_hazard_has_its_check),
        cmocka_unit_test(test_what_a_hazard_changes),
        cmocka_unit_test(test_a_result_travels),
        cmocka_unit_test(test_a_result_that_is_none),
        cmocka_unit_test(test_the_reader_of_xml),
        cmocka_unit_test(test_junit),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_selection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
