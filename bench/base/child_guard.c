/*
 * child_guard.c - a process between a parent and a program, that ends the program's whole group
 * when the parent is gone in whatever way: a compiler started by make outlives both otherwise.
 */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_STARTED 127 /* as shells have it */

static void end_group(int signo)
{
    (void)signo;
    kill(0, SIGKILL);
}

/* The program gets what ends a group; we stay to say how it ended. */
static void listen(void)
{
    struct sigaction act = {.sa_handler = end_group};

    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
    act.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
}

static int start(pid_t *pid, char **argv)
{
    posix_spawnattr_t attributes;
    sigset_t all;
    int ret = posix_spawnattr_init(&attributes);

    if (ret)
        return ret;
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    ret = posix_spawnp(pid, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    return ret;
}

int child_guard(int argc, char **argv)
{
    pid_t pid, got;
    int status = 0;

    if (argc < 2)
        return EXIT_NOT_STARTED;
    listen();
    /* It may have ended before we listened. */
    if (getppid() != (pid_t)strtol(argv[0], NULL, 10) || start(&pid, argv + 1))
        return EXIT_NOT_STARTED;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
