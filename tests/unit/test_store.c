/*
 * test_store.c - the results folder: sealed, read back, and who may write to it.
 */
#include "test_store_rig.h"

static void seals_and_reads_back(void **state)
{
    struct store s;

    (void)state;
    begin(&s);
    assert_int_equal(store_sealed(&s, CASE), 2);
    assert_int_equal(store_sealed(&s, OTHER), 1);
    assert_int_equal(store_sealed(&s, "s.B3"), 0);
    store_release(&s);
    for (int resume = 0; resume < 2; resume++) {
        open_again(&s, resume);
        assert_int_equal(s.cases.nr, 4);
        assert_int_equal(s.samples.nr, SEALED);
        assert_int_equal(store_sealed(&s, CASE), 2);
        assert_int_equal(store_sealed(&s, OTHER), 1);
        store_release(&s);
    }
}

/* Hashes of what lies there; derived files are those of the same tables. */
static void hashes_are_those_of_the_files(void **state)
{
    static const char *const names[] = {"cases.csv", "samples.csv", "report.md"};
    struct store s;
    char path[64], hex[65];

    (void)state;
    begin(&s);
    /* While the journal grows there are none; at the end there are. */
    assert_null(json_object_get(s.run, "files"));
    assert_int_equal(store_write(&s, true, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        const json_t *files = json_object_get(s.run, "files");
        snprintf(path, sizeof(path), "results/o/%s", names[i]);
        assert_int_equal(file_sha256(path, hex, NULL), 0);
        assert_string_equal(json_string_value(json_object_get(files, names[i])), hex);
    }
    store_release(&s);
}

static void one_writer_at_a_time(void **state)
{
    struct err err = ERR_INIT;
    struct store s, other;

    (void)state;
    begin(&s);
    store_init(&other);
    assert_int_equal(store_open(&other, "results/o", true, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "'results/o' is being written by another bench"));
    store_release(&other);
    assert_int_equal(store_create(&other, "results/o", true, &err), -1);
    store_release(&other);
    assert_true(file_exists("results/o/cases.csv"));
    /* Reading is free, and the lock goes with its owner. */
    open_again(&other, false);
    store_release(&other);
    store_release(&s);
    open_again(&other, true);
    store_release(&other);
}

/* A reader that is no resume leaves the torn line where it is. */
static void reading_changes_nothing(void **state)
{
    struct strbuf before = STRBUF_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    assert_int_equal(file_append("results/o/samples.csv", "1,run,s.B", 9, NULL), 0);
    content("results/o/samples.csv", &before);
    open_again(&s, false);
    assert_int_equal(s.samples.nr, SEALED);
    store_release(&s);
    expect_samples(before.buf);
    strbuf_release(&before);
}

static void folders_that_exist(void **state)
{
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    store_release(&s);
    assert_int_equal(store_create(&s, "results/o", false, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    store_release(&s);
    err_clear(&err);
    assert_int_equal(store_create(&s, "results/o", true, &err), 0);
    assert_false(file_exists("results/o/cases.csv"));
    store_release(&s);
    assert_int_equal(file_write("results/o/mine.txt", "x", 1, NULL), 0);
    assert_int_equal(store_create(&s, "results/o", true, &err), -1);
    assert_non_null(strstr(err.text, "mine.txt"));
    assert_true(file_exists("results/o/samples.csv"));
    store_release(&s);
}

/* The worst that any replicate found stays. */
static void statuses_only_get_worse(void **state)
{
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    assert_int_equal(store_status(&s, CASE, "head", "crash", "killed", &err), 0);
    seal(&s, CASE, 2); /* its rows say ok */
    assert_string_equal(race_find(&s.cases, CASE, "head")->status, "crash");
    assert_int_equal(store_status(&s, CASE, "head", "skip", "no", &err), 0);
    assert_string_equal(race_find(&s.cases, CASE, "head")->status, "crash");
    assert_int_equal(store_status(&s, CASE, "head", "wrong", "out[0]", &err), 0);
    assert_string_equal(race_find(&s.cases, CASE, "head")->status_text, "out[0]");
    assert_int_equal(store_status(&s, CASE, "nobody", "wrong", "", &err), -1);
    store_release(&s);
}

static void budget_is_remembered(void **state)
{
    struct err err = ERR_INIT;
    struct store s;

    (void)state;
    begin(&s);
    assert_int_equal(store_budget(&s, CASE, &err), 0);
    assert_int_equal(store_budget_reasons(&s, CASE, &err), 0);
    assert_true(row_has_reason(race_find(&s.cases, CASE, "head"), "budget"));
    seal(&s, CASE, 2);
    assert_true(row_has_reason(race_find(&s.cases, CASE, "head"), "budget"));
    assert_false(row_has_reason(race_find(&s.cases, OTHER, "head"), "budget"));
    store_release(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(seals_and_reads_back), TEST(hashes_are_those_of_the_files),
        TEST(one_writer_at_a_time), TEST(reading_changes_nothing),
        TEST(folders_that_exist),   TEST(statuses_only_get_worse),
        TEST(budget_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
