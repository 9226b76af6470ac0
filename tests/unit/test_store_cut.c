/*
 * test_store_cut.c - a results folder whose cases.csv was cut at any byte, and a disk that is full
 * at any byte of a replicate.
 */
#include "test_store_rig.h"

#include <signal.h>
#include <sys/resource.h>

/* Rows of cases.csv: two a case, CASE in front of OTHER. */
#define ROWS_A_CASE 2
#define ROWS        (2 * ROWS_A_CASE)

static size_t header_end(const struct strbuf *text)
{
    return strcspn(text->buf, "\n") + 1;
}

/* How many lines behind the header are whole in the first `cut` bytes. */
static size_t whole_lines(const struct strbuf *text, size_t cut)
{
    size_t nr = 0;

    for (size_t i = header_end(text); i < cut; i++)
        nr += text->buf[i] == '\n';
    return nr;
}

static int64_t samples_of(const struct store *s, const char *case_id)
{
    int64_t nr = 0;

    for (size_t i = 0; i < s->samples.nr; i++)
        nr += !strcmp(s->samples.row[i].case_id, case_id);
    return nr;
}

/* A case that has all its rows keeps its replicates, the other one none. */
static void expect_kept(struct store *s, const char *case_id, int sealed, bool whole)
{
    assert_int_equal(store_sealed(s, case_id), whole ? sealed : 0);
    assert_int_equal(samples_of(s, case_id), whole ? sealed * A_CASE : 0);
    assert_true(json_is_true(json_object_get(json_object_get(s->run, "finished"), case_id)) ==
                whole);
}

/* The folder of a run with two sealed replicates of CASE and one of OTHER, as files. */
static const char *const names[] = {"cases.csv", "samples.csv", "run.json"};
#define NAMES (sizeof(names) / sizeof(names[0]))

/* Without the fsync of file_write(), of which there would be thousands. */
static void put(const char *name, const struct strbuf *text, size_t len)
{
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "results/o/%s", name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text->buf, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void resume_cut(const struct strbuf folder[NAMES], size_t cut)
{
    const struct strbuf *rows = &folder[0];
    const size_t left = whole_lines(rows, cut);
    const bool other = left == ROWS, first = left >= ROWS_A_CASE;
    struct text_list redo = {0};
    struct err err = ERR_INIT;
    struct store s;

    for (size_t i = 0; i < NAMES; i++)
        put(names[i], &folder[i], i ? folder[i].len : cut);
    store_init(&s);
    if (store_open(&s, "results/o", true, &err))
        fail_msg("cut at %zu: %s", cut, err.text);
    assert_int_equal(s.cases.nr, left);
    assert_int_equal(s.rows_lost, ROWS - left);
    if (!first)
        assert_int_equal(text_list_add(&redo, CASE, NULL), 0);
    if (!other)
        assert_int_equal(text_list_add(&redo, OTHER, NULL), 0);
    if (store_resume(&s, &redo, &err) || store_write(&s, false, &err))
        fail_msg("cut at %zu: %s", cut, err.text);
    expect_kept(&s, CASE, 2, first);
    expect_kept(&s, OTHER, 1, other);
    assert_int_equal(s.notes.nr, left < ROWS);
    store_release(&s);
    text_list_release(&redo);
    /* And so it lies there: a second resume finds nothing amiss. */
    store_init(&s);
    assert_int_equal(store_open(&s, "results/o", true, &err), 0);
    assert_int_equal(store_resume(&s, NULL, &err), 0);
    assert_int_equal(s.notes.nr, 0);
    expect_kept(&s, CASE, 2, first);
    expect_kept(&s, OTHER, 1, other);
    store_release(&s);
}

/* Where the last `nr` lines begin. */
static size_t last_lines(const struct strbuf *text, size_t nr)
{
    size_t at = text->len;

    for (size_t newlines = 0; at; at--) {
        newlines += text->buf[at - 1] == '\n';
        if (newlines > nr)
            break;
    }
    return at;
}

/* cases.csv is replaced whole, and so is never torn by us. Cut in the last row of the first case,
 * and in both of the second one. */
static void rows_cut_at_every_byte(void **state)
{
    struct strbuf folder[NAMES] = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};
    struct store s;

    (void)state;
    begin(&s);
    json_object_set_new(s.run, "finished", json_pack("{s:b, s:b}", CASE, 1, OTHER, 1));
    assert_int_equal(store_write(&s, true, NULL), 0);
    store_release(&s);
    for (size_t i = 0; i < NAMES; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "results/o/%s", names[i]);
        content(path, &folder[i]);
    }
    assert_int_equal(whole_lines(&folder[0], folder[0].len), ROWS);
    for (size_t cut = last_lines(&folder[0], ROWS_A_CASE + 1); cut <= folder[0].len; cut++)
        resume_cut(folder, cut);
    for (size_t i = 0; i < NAMES; i++)
        strbuf_release(&folder[i]);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A limit on the size of files stands for the full disk: what fits is written, the rest is not. */
static void no_room_at_any_byte(void **state)
{
    struct strbuf sealed = STRBUF_INIT, rows = STRBUF_INIT, tail = STRBUF_INIT;
    struct store s;

    (void)state;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    begin(&s);
    store_release(&s);
    content("results/o/samples.csv", &sealed);
    rows_text(CASE, &rows);
    samples_text(CASE, 2, 0, &tail);
    for (size_t room = 0; room < tail.len; room++) {
        struct err err = ERR_INIT;

        open_again(&s, true);
        limit_files(sealed.len + room);
        int ret = store_seal(&s, rows.buf, tail.buf, &err);
        limit_files(RLIM_INFINITY);
        assert_int_equal(ret, -1);
        assert_int_equal(err.kind, ERR_ENVIRONMENT);
        store_release(&s);
        expect_samples(sealed.buf);
    }
    /* With room again it goes on where it was. */
    open_again(&s, true);
    assert_int_equal(store_sealed(&s, CASE), 2);
    seal(&s, CASE, 2);
    assert_int_equal(store_sealed(&s, CASE), 3);
    store_release(&s);
    strbuf_addstr(&sealed, tail.buf);
    expect_samples(sealed.buf);
    strbuf_release(&sealed);
    strbuf_release(&rows);
    strbuf_release(&tail);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_cut_at_every_byte),
        TEST(no_room_at_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
