/*
 * test_store_rig.h - a results folder of a made-up run: two arms, two cases, three sealed
 * replicates.
 */
#ifndef TESTS_UNIT_TEST_STORE_RIG_H
#define TESTS_UNIT_TEST_STORE_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_race.h"

#include "file.h"
#include "store.h"

#define CASE   "s.B1"
#define OTHER  "s.B2"
#define SUPERS 1
#define ROUNDS 2 /* of two arms */
#define A_CASE (2 * ROUNDS)

static const struct race_arm arms[] = {{"base", "baseline", NULL}, {"head", "candidate", NULL}};

/* In memory where that is to be had: thousands of fsync() on a busy disk take minutes. */
static inline int enter_folder(void **state)
{
    char *dir = strdup(access("/dev/shm", W_OK) ? "/tmp/sab-test-store-XXXXXX"
                                                : "/dev/shm/sab-test-store-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static inline int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

/* ---- what a worker would say ---- */

static inline void rows_text(const char *case_id, struct strbuf *out)
{
    struct case_table t;

    case_table_init(&t);
    for (size_t i = 0; i < 2; i++)
        race_row(&t, case_id, &arms[i]);
    assert_int_equal(case_table_write(&t, out, NULL), 0);
    case_table_release(&t);
}

static inline void samples_text(const char *case_id, int process, int header, struct strbuf *out)
{
    struct sample_table t;

    sample_table_init(&t);
    race_process(&t, case_id, arms, 2, process, SUPERS);
    assert_int_equal(sample_table_write(&t, 0, header, out, NULL), 0);
    sample_table_release(&t);
}

static inline void seal(struct store *s, const char *case_id, int process)
{
    struct strbuf rows = STRBUF_INIT, samples = STRBUF_INIT;
    struct err err = ERR_INIT;

    rows_text(case_id, &rows);
    samples_text(case_id, process, 0, &samples);
    if (store_seal(s, rows.buf, samples.buf, &err) || store_summarise(s, case_id, &err) ||
        store_write(s, false, &err))
        fail_msg("%s", err.text);
    strbuf_release(&rows);
    strbuf_release(&samples);
}

/* A run of one case with two sealed replicates and another case with one. */
static inline void begin(struct store *s)
{
    struct err err = ERR_INIT;

    store_init(s);
    s->set = (struct summary_settings){.delta = 0.005, .gate_slower = -1, .rounds_named = true};
    s->run = json_object();
    json_object_set_new(s->run, "run_id", json_string("run"));
    if (store_create(s, "results/o", false, &err))
        fail_msg("%s", err.text);
    seal(s, CASE, 0);
    seal(s, OTHER, 0);
    seal(s, CASE, 1);
}

#define SEALED (3 * A_CASE) /* samples after begin() */

static inline void content(const char *path, struct strbuf *sb)
{
    strbuf_reset(sb);
    assert_int_equal(file_read(path, sb, 1 << 24, NULL), 0);
}

static inline void open_again(struct store *s, bool resume)
{
    struct err err = ERR_INIT;

    store_init(s);
    s->set = (struct summary_settings){.delta = 0.005, .gate_slower = -1, .rounds_named = true};
    if (store_open(s, "results/o", resume, &err) || (resume && store_resume(s, NULL, &err)))
        fail_msg("%s", err.text);
}

static inline void expect_samples(const char *text)
{
    struct strbuf sb = STRBUF_INIT;

    content("results/o/samples.csv", &sb);
    assert_string_equal(sb.buf, text);
    strbuf_release(&sb);
}

#endif
