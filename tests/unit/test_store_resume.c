/*
 * test_store_resume.c - the results folder cut off anywhere in what was not sealed yet.
 */
#include "test_store_rig.h"

/* The journal was written and the derived files were not: cut at every byte of that replicate. */
static void resume_drops_what_is_not_sealed(void **state)
{
    struct strbuf sealed = STRBUF_INIT, tail = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    content("results/o/samples.csv", &sealed);
    samples_text(CASE, 2, 0, &tail);
    for (size_t cut = 0; cut <= tail.len; cut++) {
        assert_int_equal(file_write("results/o/samples.csv", sealed.buf, sealed.len, NULL), 0);
        assert_int_equal(file_append("results/o/samples.csv", tail.buf, cut, NULL), 0);
        open_again(&s, true);
        assert_int_equal(s.samples.nr, SEALED);
        assert_int_equal(store_sealed(&s, CASE), 2);
        store_release(&s);
        expect_samples(sealed.buf);
    }
    strbuf_release(&sealed);
    strbuf_release(&tail);
}

static void check_whole(struct store *s, const char *case_id, int want)
{
    int64_t samples = 0;

    assert_int_equal(store_sealed(s, case_id), want);
    for (size_t i = 0; i < s->samples.nr; i++)
        if (!strcmp(s->samples.row[i].case_id, case_id)) {
            samples++;
            assert_in_range(s->samples.row[i].process, 0, want - 1);
        }
    assert_int_equal(samples, want * A_CASE);
    /* What is derived is derived from what is left. */
    assert_int_equal(race_find(&s->cases, case_id, "head")->samples, want * A_CASE / 2);
}

/* The journal was cut at every byte, sealed or not: what is whole stays, and nothing half. Sealed
 * were, in this order, CASE 0, OTHER 0 and CASE 1. */
static void resume_keeps_what_is_whole(void **state)
{
    struct strbuf sealed = STRBUF_INIT, block = STRBUF_INIT;
    struct store s;
    size_t end[3];

    (void)state;
    begin(&s);
    json_object_set_new(s.run, "wall_s", json_pack("{s:f, s:f}", CASE, 10.0, OTHER, 3.0));
    json_object_set_new(s.run, "finished", json_pack("{s:b, s:b}", CASE, 1, OTHER, 1));
    assert_int_equal(store_write(&s, true, NULL), 0);
    store_release(&s);
    content("results/o/samples.csv", &sealed);
    end[2] = sealed.len;
    samples_text(CASE, 1, 0, &block);
    end[1] = end[2] - block.len;
    strbuf_reset(&block);
    samples_text(OTHER, 0, 0, &block);
    end[0] = end[1] - block.len;
    assert_int_equal(system("cp -r results/o whole"), 0);
    for (size_t cut = strcspn(sealed.buf, "\n") + 1; cut <= sealed.len; cut++) {
        const json_t *run;
        assert_int_equal(system("rm -r results/o && cp -r whole results/o"), 0);
        assert_int_equal(file_truncate("results/o/samples.csv", cut, NULL), 0);
        open_again(&s, true);
        run = s.run;
        check_whole(&s, CASE, (cut >= end[0]) + (cut >= end[2]));
        check_whole(&s, OTHER, cut >= end[1]);
        assert_int_equal(s.notes.nr, cut < end[2]);
        /* A case that lost a replicate is not finished, and has used that much less time. */
        assert_true(json_is_true(json_object_get(json_object_get(run, "finished"), CASE)) ==
                    (cut >= end[2]));
        assert_float_equal(json_number_value(json_object_get(json_object_get(run, "wall_s"), CASE)),
                           cut >= end[2]   ? 10
                           : cut >= end[0] ? 5
                                           : 0,
                           1e-9);
        assert_int_equal(store_write(&s, false, NULL), 0);
        store_release(&s);
        /* And so it lies there. */
        open_again(&s, false);
        check_whole(&s, OTHER, cut >= end[1]);
        store_release(&s);
    }
    strbuf_release(&sealed);
    strbuf_release(&block);
}

/* After a power cut the tail may be anything; what was counted is in front of it. */
static void resume_does_not_read_what_was_never_counted(void **state)
{
    struct strbuf sealed = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    content("results/o/samples.csv", &sealed);
    assert_int_equal(file_append("results/o/samples.csv", "\0\0\0\n1,\"\n,,\n", 12, NULL), 0);
    open_again(&s, true);
    assert_int_equal(s.samples.nr, SEALED);
    store_release(&s);
    expect_samples(sealed.buf);
    strbuf_release(&sealed);
}

/* cases.csv is replaced whole and so never torn by us; where it is, the cases whose rows are gone
 * are begun anew and the others kept. */
static void rows_that_are_lost(void **state)
{
    struct text_list redo = {0};
    struct strbuf rows = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    json_object_set_new(s.run, "finished", json_pack("{s:b, s:b}", CASE, 1, OTHER, 1));
    assert_int_equal(store_write(&s, true, NULL), 0);
    store_release(&s);
    content("results/o/cases.csv", &rows);
    assert_int_equal(file_truncate("results/o/cases.csv", rows.len - 7, NULL), 0);
    store_init(&s);
    assert_int_equal(store_open(&s, "results/o", true, &err), 0);
    assert_int_equal(s.rows_lost, 1);
    assert_int_equal(text_list_add(&redo, OTHER, NULL), 0);
    assert_int_equal(store_resume(&s, &redo, &err), 0);
    check_whole(&s, CASE, 2);
    assert_int_equal(store_sealed(&s, OTHER), 0);
    assert_false(json_is_true(json_object_get(json_object_get(s.run, "finished"), OTHER)));
    assert_true(json_is_true(json_object_get(json_object_get(s.run, "finished"), CASE)));
    assert_non_null(strstr(s.notes.items[0], "cases.csv"));
    text_list_release(&redo);
    strbuf_release(&rows);
    store_release(&s);
}

/* Killed between cases.csv and run.json: that replicate does not count and leaves no trace. */
static void a_replicate_that_run_json_does_not_count(void **state)
{
    struct strbuf run = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    content("results/o/run.json", &run);
    seal(&s, OTHER, 1);
    store_release(&s);
    assert_int_equal(file_write("results/o/run.json", run.buf, run.len, NULL), 0);
    open_again(&s, true);
    check_whole(&s, CASE, 2);
    check_whole(&s, OTHER, 1);
    assert_int_equal(s.notes.nr, 0);
    store_release(&s);
    strbuf_release(&run);
}

/* A folder of an earlier bench counts by cases.csv alone. */
static void a_run_json_without_a_journal(void **state)
{
    struct strbuf run = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    strbuf_addstr(&run, "{\"run_id\": \"run\"}\n");
    assert_int_equal(file_write("results/o/run.json", run.buf, run.len, NULL), 0);
    open_again(&s, true);
    check_whole(&s, CASE, 2);
    check_whole(&s, OTHER, 1);
    store_release(&s);
    strbuf_reset(&run);
    strbuf_addf(&run, "{\"run_id\": \"run\", \"partial\": {\"case\": \"%s\", \"process\": 1}}",
                CASE);
    assert_int_equal(file_write("results/o/run.json", run.buf, run.len, NULL), 0);
    open_again(&s, true);
    check_whole(&s, CASE, 1);
    check_whole(&s, OTHER, 1);
    store_release(&s);
    strbuf_release(&run);
}

static void what_is_blank(void **state)
{
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    assert_false(store_is_blank("nowhere"));
    store_init(&s);
    assert_int_equal(store_create(&s, "o", false, &err), 0);
    store_release(&s);
    assert_true(store_is_blank("o"));
    assert_int_equal(file_write("o/cases.csv.12.34.tmp", "x", 1, NULL), 0);
    assert_true(store_is_blank("o"));
    assert_int_equal(file_append("o/samples.csv", "1", 1, NULL), 0);
    assert_false(store_is_blank("o"));
    assert_int_equal(unlink("o/samples.csv"), 0);
    assert_int_equal(file_write("o/mine.txt", "x", 1, NULL), 0);
    assert_false(store_is_blank("o"));
}

static void goes_on_after_a_cut(void **state)
{
    struct strbuf whole = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    seal(&s, CASE, 2);
    store_release(&s);
    content("results/o/samples.csv", &whole);
    /* The same run, cut after begin() in the middle of a line. */
    store_init(&s);
    assert_int_equal(system("rm -r results"), 0);
    begin(&s);
    store_release(&s);
    assert_int_equal(file_append("results/o/samples.csv", "1,run,s.B1,2,0", 14, NULL), 0);
    open_again(&s, true);
    seal(&s, CASE, 2);
    assert_int_equal(store_sealed(&s, CASE), 3);
    store_release(&s);
    expect_samples(whole.buf);
    strbuf_release(&whole);
}

/* Ctrl-C cuts a replicate short: it is kept for the table and run again by a resume. */
static void a_partial_replicate_runs_again(void **state)
{
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_partial(&s, CASE, 1);
    assert_int_equal(store_write(&s, true, &err), 0);
    assert_int_equal(store_partial_process(&s, CASE), 1);
    assert_int_equal(store_partial_process(&s, OTHER), -1);
    store_release(&s);
    open_again(&s, true);
    assert_int_equal(store_sealed(&s, CASE), 1);
    assert_int_equal(store_sealed(&s, OTHER), 1);
    assert_int_equal(s.samples.nr, 2 * A_CASE);
    assert_int_equal(store_partial_process(&s, CASE), -1);
    store_release(&s);
}

/* Cut between the journal's first replicate and the first cases.csv. */
static void nothing_sealed_is_nothing_kept(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    assert_int_equal(unlink("results/o/cases.csv"), 0);
    open_again(&s, true);
    assert_int_equal(s.samples.nr, 0);
    assert_int_equal(store_sealed(&s, CASE), 0);
    store_release(&s);
}

static void what_is_no_journal_is_refused(void **state)
{
    struct strbuf rows = STRBUF_INIT, before = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    content("results/o/samples.csv", &before);
    rows_text(CASE, &rows);
    /* A worker's text that could not be read back does not get into the journal. */
    assert_int_equal(store_seal(&s, rows.buf, "1,run,too,few\n", &err), -1);
    expect_samples(before.buf);
    store_release(&s);
    strbuf_release(&rows);
    strbuf_release(&before);

    err_clear(&err);
    store_init(&s);
    assert_int_equal(store_open(&s, "nowhere", false, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    store_release(&s);

    assert_int_equal(file_write("results/o/run.json", "{\"run_id\": ", 11, NULL), 0);
    err_clear(&err);
    assert_int_equal(store_open(&s, "results/o", true, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "run.json:1: "));
    store_release(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(resume_drops_what_is_not_sealed),
        TEST(resume_keeps_what_is_whole),
        TEST(resume_does_not_read_what_was_never_counted),
        TEST(rows_that_are_lost),
        TEST(a_replicate_that_run_json_does_not_count),
        TEST(a_run_json_without_a_journal),
        TEST(what_is_blank),
        TEST(goes_on_after_a_cut),
        TEST(a_partial_replicate_runs_again),
        TEST(nothing_sealed_is_nothing_kept),
        TEST(what_is_no_journal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
