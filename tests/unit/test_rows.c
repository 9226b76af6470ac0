#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "rows.h"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/test_rows.XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void put(const char *text)
{
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

/* A copy of the text with its first `from` replaced by `to`. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    struct strbuf sb = STRBUF_INIT;

    assert_non_null(at);
    strbuf_add(&sb, text, (size_t)(at - text));
    strbuf_addstr(&sb, to);
    strbuf_addstr(&sb, at + strlen(from));
    return strbuf_detach(&sb);
}

static void fill_cases(struct case_table *t)
{
    case_table_init(t);
    assert_int_equal(text_list_add(&t->axes, "batch", NULL), 0);
    assert_int_equal(text_list_add(&t->axes, "density", NULL), 0);
    struct case_row *row = case_table_add(t, NULL);
    assert_non_null(row);
    row->schema = ROWS_SCHEMA;
    row_set(&row->case_id, "sage.B8", NULL);
    row_set(&row->arm, "base'", NULL);
    row_set(&row->role, "duplicate", NULL);
    row_set(&row->status, "ok", NULL);
    row_set(&row->problem, "same", NULL);
    row_set(&row->axis[0], "8", NULL);
    row_set(&row->status_text, "a \"quoted\" word, a comma\nand a line", NULL);
    row->span_median_ns = 19328.25;
    row->ratio = 0.1 + 0.2;
    row->rounds = 120;
    row_add_reason(row, "drift", NULL);
    row_add_reason(row, "few", NULL);
    row_add_reason(row, "drift", NULL);
    row = case_table_add(t, NULL);
    assert_non_null(row);
    row->schema = ROWS_SCHEMA;
    row_set(&row->case_id, "sage.B9", NULL);
    row_set(&row->arm, "base", NULL);
    row_set(&row->role, "baseline", NULL);
    row_set(&row->status, "ok", NULL);
    row_set(&row->problem, "same", NULL);
    row_set(&row->axis[1], "0.9375", NULL);
}

static void cases_round_trip(void **state)
{
    struct case_table t, back;
    struct strbuf sb = STRBUF_INIT, again = STRBUF_INIT;

    (void)state;
    fill_cases(&t);
    case_table_init(&back);
    assert_int_equal(case_table_write(&t, &sb, NULL), 0);
    put(sb.buf);
    assert_int_equal(case_table_read(&back, path, NULL), 0);
    assert_int_equal(back.nr, 2);
    assert_int_equal(back.axes.nr, 2);
    const struct case_row *row = &back.row[0];
    assert_string_equal(row->arm, "base'");
    assert_string_equal(row->status_text, "a \"quoted\" word, a comma\nand a line");
    assert_true(row->ratio == 0.1 + 0.2);
    assert_true(isnan(row->ratio_lo));
    assert_int_equal(row->rounds, 120);
    assert_int_equal(row->processes, -1);
    assert_null(row->kernel);
    assert_string_equal(row->reasons, "drift;few");
    assert_true(row_has_reason(row, "few"));
    assert_false(row_has_reason(row, "fe"));
    assert_string_equal(case_table_axis(&back, row, "batch"), "8");
    assert_null(case_table_axis(&back, row, "density"));
    assert_null(case_table_axis(&back, row, "heads"));
    assert_string_equal(case_table_axis(&back, &back.row[1], "density"), "0.9375");
    assert_int_equal(case_table_write(&back, &again, NULL), 0);
    assert_string_equal(again.buf, sb.buf);
    strbuf_release(&sb);
    strbuf_release(&again);
    case_table_release(&t);
    case_table_release(&back);
}

/* Reading a changed text must fail, naming the file and `word`. */
static void refuses(const char *text, const char *from, const char *to, const char *word)
{
    struct case_table t;
    struct err err = ERR_INIT;
    char *changed = replaced(text, from, to);

    case_table_init(&t);
    put(changed);
    assert_int_equal(case_table_read(&t, path, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, word));
    free(changed);
    case_table_release(&t);
}

static void bad_cases_are_refused(void **state)
{
    struct case_table t;
    struct strbuf sb = STRBUF_INIT;
    char newer[16];

    (void)state;
    fill_cases(&t);
    assert_int_equal(case_table_write(&t, &sb, NULL), 0);
    refuses(sb.buf, "span_p10_ns", "span_p11_ns", "span_p11_ns");
    snprintf(newer, sizeof(newer), "\n%d,", ROWS_SCHEMA + 1);
    refuses(sb.buf, "\n1,", newer, "version 2");
    refuses(sb.buf, "19328.25", "19a", "19a");
    refuses(sb.buf, "schema,", "schemo,", "schem");
    struct err err = ERR_INIT;
    struct case_table none;
    case_table_init(&none);
    assert_int_equal(case_table_read(&none, "/nonexistent/cases.csv", &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    case_table_release(&none);
    strbuf_release(&sb);
    case_table_release(&t);
}

static void add_sample(struct sample_table *t, int round, double span_ns)
{
    struct sample_row *row = sample_table_add(t, NULL);

    assert_non_null(row);
    row->schema = ROWS_SCHEMA;
    row_set(&row->case_id, "sage.B8", NULL);
    row_set(&row->arm, "head", NULL);
    row_set(&row->activity_set, "one", NULL);
    row->process = 0;
    row->round = round;
    row->span_ns = span_ns;
    row->start_ns = 1e15 + 0.125;
}

static void samples_round_trip_and_torn_line(void **state)
{
    struct sample_table t, back;
    struct strbuf sb = STRBUF_INIT, tail = STRBUF_INIT;

    (void)state;
    sample_table_init(&t);
    sample_table_init(&back);
    add_sample(&t, 0, 4800);
    add_sample(&t, 1, 4832);
    assert_int_equal(sample_table_write(&t, 0, 1, &sb, NULL), 0);
    size_t complete = sb.len;
    add_sample(&t, 2, 4864);
    assert_int_equal(sample_table_write(&t, 2, 0, &tail, NULL), 0);
    strbuf_add(&sb, tail.buf, tail.len - 7);
    put(sb.buf);
    assert_int_equal(sample_table_read(&back, path, SIZE_MAX, NULL), 0);
    assert_int_equal(back.nr, 2);
    assert_true(back.row[1].span_ns == 4832);
    assert_true(back.row[1].start_ns == 1e15 + 0.125);
    assert_null(back.row[1].drop_reason);
    assert_int_equal(back.row[1].slot, -1);
    sample_table_release(&back);
    /* As much as a reader wants to see of it. */
    assert_int_equal(sample_table_read(&back, path, complete - 1, NULL), 0);
    assert_int_equal(back.nr, 1);
    strbuf_release(&sb);
    strbuf_release(&tail);
    sample_table_release(&t);
    sample_table_release(&back);
}

static void bad_samples_are_refused(void **state)
{
    struct sample_table t;
    struct err err = ERR_INIT;

    (void)state;
    sample_table_init(&t);
    put("schema,case_id,nonsense\n1,a,b\n");
    assert_int_equal(sample_table_read(&t, path, SIZE_MAX, &err), -1);
    assert_non_null(strstr(err.text, "nonsense"));
    put("schema,case_id\n2,a\n");
    assert_int_equal(sample_table_read(&t, path, SIZE_MAX, &err), -1);
    assert_non_null(strstr(err.text, "version 2"));
    sample_table_release(&t);
    put("schema,case_id,process,arm,activity_set\n1,a,0,base,\n");
    assert_int_equal(sample_table_read(&t, path, SIZE_MAX, &err), -1);
    assert_non_null(strstr(err.text, "row 1 has no 'activity_set'"));
    sample_table_release(&t);
    put("schema,case_id,process,arm,activity_set\n1,a,4096,base,one\n");
    assert_int_equal(sample_table_read(&t, path, SIZE_MAX, &err), -1);
    assert_non_null(strstr(err.text, "row 1 has process 4096, expected 0 to 4095"));
    sample_table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_round_trip),
        cmocka_unit_test(bad_cases_are_refused),
        cmocka_unit_test(samples_round_trip_and_torn_line),
        cmocka_unit_test(bad_samples_are_refused),
    };
    return cmocka_run_group_tests(tests, make_path, drop_path);
}
