/*
 * child.h - other programs, by posix_spawn and never by a bare fork: a parent with threads or a
 * driver in it cannot be forked safely.
 *
 * A child leads a process group of its own, so that Ctrl-C at the terminal reaches the parent
 * alone, and starts with an empty signal mask and default handlers. Descriptors of the parent that
 * are not close-on-exec leak into it: open yours with O_CLOEXEC.
 */
#ifndef BENCH_BASE_CHILD_H
#define BENCH_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "strbuf.h"

/* The parent's descriptor `from` becomes the child's `to`; any overlap of numbers is fine. */
struct child_fd {
    int from;
    int to;
};

struct child_options {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH if it has no slash */
    const char *const *env;  /* NULL, or NULL-terminated: "NAME=VALUE" sets, "NAME" unsets */
    const struct child_fd *fds;
    size_t nr_fds;
    const char *dir; /* working directory of the child; NULL: the parent's */
    /* A program that runs child_guard() for `--guard`, to stand in between; NULL: none does. Its
     * exit status is the program's, or 127 where that could not be started. */
    const char *guard;
};

struct child {
    pid_t pid;  /* also its process group; 0: none */
    int status; /* of waitpid(), once child_wait() returned 1 */
};

/* Both ends close-on-exec: [0] reads, [1] writes. */
int child_pipe(int fds[2], struct err *err);

/* Standard input is /dev/null unless `fds` says otherwise; output and error are the parent's.
 * A program that is not there is ERR_ENVIRONMENT. */
int child_spawn(struct child *child, const struct child_options *options, struct err *err);
/*
 * Waits for at most `timeout_ms` (-1: for ever; 0: looks). 1: it ended, `status` is set, what was
 * left of its group has been killed, `pid` is 0; 0: still running; -1: error. A signal that
 * interrupts the wait makes it return 0 early, so that the caller can look at its flags.
 */
int child_wait(struct child *child, int timeout_ms, struct err *err);
/* The other side of `guard`, with the words behind `--guard`. Returns the exit status. The group of
 * a guarded program is killed when the process that spawned it ends. */
int child_guard(int argc, char **argv);
/* Sends `signal` to the whole group of a child that has not been waited for. */
void child_signal(const struct child *child, int signal);
/* SIGTERM to the group, SIGKILL after `grace_ms`, and waits. For a child with pid 0 does nothing.
 */
void child_stop(struct child *child, int grace_ms);

/* "exit status 3", "killed by signal 9 (SIGKILL)", "killed by signal 11 (SIGSEGV), core dumped". */
void child_add_status(struct strbuf *sb, int status);

/*
 * Runs a program to its end with standard output and error going, mixed, into `out` (at most
 * `limit_bytes`; the rest is read and thrown away). 0: exit status 0. -1 else, with ERR_CRASH for a
 * bad end or a timeout, ERR_ENVIRONMENT for a program that could not be started.
 */
int child_run(const struct child_options *options, int timeout_ms, size_t limit_bytes,
              struct strbuf *out, struct err *err);

#endif
