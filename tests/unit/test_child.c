#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "child.h"

#define SHELL(script)                                                                              \
    (const char *const[])                                                                          \
    {                                                                                              \
        "sh", "-c", script, NULL                                                                   \
    }

static void expect_status(int status, const char *text)
{
    struct strbuf sb = STRBUF_INIT;

    child_add_status(&sb, status);
    assert_string_equal(sb.buf, text);
    strbuf_release(&sb);
}

static void describes_ends(void **state)
{
    struct child_options options = {.argv = SHELL("exit 3")};
    struct err err = ERR_INIT;
    struct child child;

    (void)state;
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    assert_int_equal(child_wait(&child, -1, &err), 1);
    assert_int_equal(child.pid, 0);
    expect_status(child.status, "exit status 3");
    options.argv = SHELL("kill -9 $$");
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    assert_int_equal(child_wait(&child, 10000, &err), 1);
    expect_status(child.status, "killed by signal 9 (SIGKILL)");
    expect_status(11 | 0x80, "killed by signal 11 (SIGSEGV), core dumped");
    expect_status(0, "exit status 0");
}

static void refuses_what_is_not_there(void **state)
{
    const char *const none[] = {"no-such-program-at-all", NULL};
    struct child_options options = {.argv = none};
    struct child_fd bad = {9999, 3};
    struct err err = ERR_INIT;
    struct child child;

    (void)state;
    assert_int_equal(child_spawn(&child, &options, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_string_equal(err.text,
                        "cannot start 'no-such-program-at-all': No such file or directory");
    options.argv = SHELL("exit 0");
    options.dir = "/no/such/folder";
    assert_int_equal(child_spawn(&child, &options, &err), -1);
    options.dir = NULL;
    options.fds = &bad;
    options.nr_fds = 1;
    assert_int_equal(child_spawn(&child, &options, &err), -1);
    assert_string_equal(err.text, "cannot pass the descriptor 9999 to 'sh': Bad file descriptor");
    assert_int_equal(child.pid, 0);
}

/* Two pipes whose numbers the child swaps, and nothing else of ours open in it. */
static void passes_descriptors(void **state)
{
    struct child_options options = {
        .argv = SHELL("read x <&3; echo \"got $x\" >&4; ls /proc/self/fd | wc -l >&4"),
    };
    struct err err = ERR_INIT;
    struct child_fd fds[2];
    struct child child;
    char answer[64] = "";
    int to[2], from[2];

    (void)state;
    assert_int_equal(child_pipe(to, &err), 0);
    assert_int_equal(child_pipe(from, &err), 0);
    assert_int_equal(fcntl(to[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    fds[0] = (struct child_fd){from[1], 4};
    fds[1] = (struct child_fd){to[0], 3};
    options.fds = fds;
    options.nr_fds = 2;
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    close(to[0]);
    close(from[1]);
    assert_int_equal(write(to[1], "plan\n", 5), 5);
    assert_int_equal(child_wait(&child, 10000, &err), 1);
    assert_int_equal(child.status, 0);
    assert_true(read(from[0], answer, sizeof(answer) - 1) > 0);
    /* 0, 1, 2, 3, 4 and the one with which ls reads the folder; more only if our parent leaks. */
    assert_memory_equal(answer, "got plan\n", 9);
    assert_true(atoi(answer + 9) >= 6);
    close(to[1]);
    close(from[0]);
}

static void times_out_and_stops(void **state)
{
    struct child_options options = {.argv = SHELL("trap '' TERM; sleep 100 & wait; sleep 100")};
    struct err err = ERR_INIT;
    struct child child;

    (void)state;
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    assert_int_equal(child_wait(&child, 0, &err), 0);
    assert_int_equal(child_wait(&child, 100, &err), 0);
    assert_true(getpgid(child.pid) == child.pid);
    child_stop(&child, 50);
    assert_int_equal(child.pid, 0);
    expect_status(child.status, "killed by signal 9 (SIGKILL)");
    child_stop(&child, 50);
    options.argv = SHELL("sleep 100");
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    child_stop(&child, 5000);
    expect_status(child.status, "killed by signal 15 (SIGTERM)");
    assert_int_equal(child_wait(&child, 0, &err), -1);
}

static void kills_what_is_left_of_the_group(void **state)
{
    struct child_options options = {.argv = SHELL("sleep 100 & exit 0")};
    struct err err = ERR_INIT;
    struct child child;
    pid_t group;
    int tries;

    (void)state;
    assert_int_equal(child_spawn(&child, &options, &err), 0);
    group = child.pid;
    assert_int_equal(child_wait(&child, 10000, &err), 1);
    for (tries = 0; tries < 200 && !kill(-group, 0); tries++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    /* An orphan that nobody reaps stays in its group as a zombie. */
    if (tries == 200)
        skip();
}

static void sets_the_environment(void **state)
{
    const char *const env[] = {"SAB_ONE=1=1", "SAB_TWO", NULL};
    struct child_options options = {
        .argv = SHELL("echo $SAB_ONE,${SAB_TWO-unset},$SAB_THREE; pwd; read x || echo no input"),
        .env = env,
        .dir = "/",
    };
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;

    (void)state;
    setenv("SAB_ONE", "0", 1);
    setenv("SAB_TWO", "2", 1);
    setenv("SAB_THREE", "3", 1);
    assert_int_equal(child_run(&options, 10000, 1000, &out, &err), 0);
    assert_string_equal(out.buf, "1=1,unset,3\n/\nno input\n");
    assert_string_equal(getenv("SAB_TWO"), "2");
    strbuf_release(&out);
}

static void resets_signals(void **state)
{
    struct child_options options = {.argv = SHELL("kill -INT $$; echo survived")};
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    sigset_t mask, old;

    (void)state;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_BLOCK, &mask, &old);
    signal(SIGINT, SIG_IGN);
    assert_int_equal(child_run(&options, 10000, 1000, &out, &err), -1);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_string_equal(err.text, "'sh': killed by signal 2 (SIGINT)");
    assert_string_equal(out.buf, "");
    strbuf_release(&out);
}

static void runs_and_collects(void **state)
{
    struct child_options options = {.argv = SHELL("echo out; echo bad >&2; exit 5")};
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(child_run(&options, -1, 1000, &out, &err), -1);
    assert_int_equal(err.kind, ERR_CRASH);
    assert_string_equal(err.text, "'sh': exit status 5");
    assert_string_equal(out.buf, "out\nbad\n");
    strbuf_reset(&out);
    options.argv = SHELL("head -c 1000000 /dev/zero | tr '\\0' x");
    assert_int_equal(child_run(&options, 20000, 70000, &out, &err), 0);
    assert_int_equal(out.len, 70000);
    strbuf_reset(&out);
    options.argv = SHELL("echo begun; sleep 100");
    assert_int_equal(child_run(&options, 300, 1000, &out, &err), -1);
    assert_string_equal(err.text, "'sh' took longer than 1 s");
    assert_string_equal(out.buf, "begun\n");
    strbuf_reset(&out);
    options.argv = SHELL("setsid sleep 5 & echo done");
    assert_int_equal(child_run(&options, 4000, 1000, &out, &err), 0);
    assert_string_equal(out.buf, "done\n");
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_ends),
        cmocka_unit_test(refuses_what_is_not_there),
        cmocka_unit_test(passes_descriptors),
        cmocka_unit_test(times_out_and_stops),
        cmocka_unit_test(kills_what_is_left_of_the_group),
        cmocka_unit_test(sets_the_environment),
        cmocka_unit_test(resets_signals),
        cmocka_unit_test(runs_and_collects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
