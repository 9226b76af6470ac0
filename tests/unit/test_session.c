/*
 * test_session.c - a session with several lanes, on device cpu: the lanes are set by hand, as they
 * would be on a machine with several GPUs, and real workers run on them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "session.h"

#define BENCH LIBRARY_DIR "/../bin/bench"
#define CASES 4

static const char config[] =
    "[global]\ndevice = cpu\nthreads = 1\nrounds = 3x4\nnoise_floor = 99%\n"
    "duplicate = no\n[arm base]\nkernel = copy/cpu\nrole = baseline\n"
    "[arm head]\nkernel = copy/cpu\n[sweep copy]\n"
    "size = 4k, 8k, 16k, 1m\n";

/* What happened, in the order of happening. */
struct log {
    volatile sig_atomic_t interrupted;
    int stop_at; /* interrupts when so many replicates are sealed; 0: never */
    struct session *s;
    bool both; /* two workers were seen at work at once */
    char last[2][64];
};

static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-session-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) &&
                   !file_write("lanes.ini", config, strlen(config), NULL)
               ? 0
               : -1;
}

static int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

static void on_progress(void *ctx, int done, int all, double eta_s, const char *case_id,
                        const char *phase)
{
    struct log *log = ctx;

    (void)eta_s;
    (void)phase;
    assert_true(done <= all);
    if (log->stop_at && done >= log->stop_at)
        log->interrupted = 1;
    for (size_t i = 0; i < log->s->plan.nr; i++)
        if (!strcmp(log->s->plan.item[i].id, case_id))
            snprintf(log->last[log->s->lane_of[i] != 0], sizeof(log->last[0]), "%s", case_id);
    log->both |= log->last[0][0] && log->last[1][0];
}

static void run(struct session *s, struct log *log, bool resume, size_t lanes)
{
    struct session_request request = {.config = "lanes.ini",
                                      .out = "o",
                                      .resume = resume,
                                      .mode = JOB_RUN,
                                      .exe = BENCH,
                                      .interrupted = &log->interrupted};
    struct err err = ERR_INIT;

    log->s = s;
    request.events.progress = on_progress;
    request.events.ctx = log;
    session_init(s);
    if (session_open(s, &request, &err) || session_device(s, &err))
        fail_msg("%s", err.text);
    for (size_t k = 1; k < lanes; k++)
        s->lane[k] = s->lane[0];
    s->lanes_nr = lanes;
    if (session_store(s, &err) || session_run(s, &err))
        fail_msg("%s", err.text);
    s->request = NULL;
}

/* Every replicate of every case once, sealed, and each case on the lane that it was given. */
static void check_complete(const struct session *s)
{
    int seen[CASES][3] = {{0}};

    assert_int_equal(s->plan.nr, CASES);
    for (size_t i = 0; i < s->store.samples.nr; i++) {
        const struct sample_row *row = &s->store.samples.row[i];
        for (size_t c = 0; c < CASES; c++)
            if (!row->drop_reason && !strcmp(row->case_id, s->plan.item[c].id))
                seen[c][row->process]++;
    }
    for (size_t c = 0; c < CASES; c++) {
        assert_true(s->finished[c]);
        assert_int_equal(store_sealed(&s->store, s->plan.item[c].id), 3);
        for (int p = 0; p < 3; p++)
            assert_int_equal(seen[c][p], 2 * 4);
    }
    assert_int_equal(s->store.cases.nr, 2 * CASES);
}

static void two_lanes(void **state)
{
    struct log log = {0};
    struct session s;

    (void)state;
    run(&s, &log, false, 2);
    check_complete(&s);
    assert_true(log.both);
    /* Four cases of nearly the same cost: two a lane, the dearest on the first. */
    assert_int_equal(s.lane_of[0] + s.lane_of[1] + s.lane_of[2] + s.lane_of[3], 2);
    assert_int_equal(s.lane_of[3], 0);
    assert_int_equal(session_status(&s), 0);
    session_release(&s);
}

/* Ctrl-C stops every lane; a resume goes on on all of them. */
static void interrupted_lanes(void **state)
{
    struct log log = {.stop_at = 3}, again = {0};
    struct session s;

    (void)state;
    run(&s, &log, false, 2);
    assert_true(s.stopped);
    assert_int_equal(session_status(&s), 130);
    session_release(&s);
    run(&s, &again, true, 2);
    check_complete(&s);
    session_release(&s);
    /* What was complete stays as it is. */
    run(&s, &again, true, 2);
    check_complete(&s);
    session_release(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_lanes),
        TEST(interrupted_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
