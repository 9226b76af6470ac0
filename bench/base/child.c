#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int child_pipe(int fds[2], struct err *err)
{
    if (pipe2(fds, O_CLOEXEC))
        return err_errno(err, ERR_ENVIRONMENT, "cannot make a pipe");
    return 0;
}

static size_t name_length(const char *assignment)
{
    return strcspn(assignment, "=");
}

static bool is_overridden(const char *variable, const char *const *overrides)
{
    size_t len = name_length(variable);

    for (; *overrides; overrides++)
        if (name_length(*overrides) == len && !strncmp(*overrides, variable, len))
            return true;
    return false;
}

/* The parent's environment with the overrides; only the array is the caller's to free. */
static char **make_environment(const char *const *overrides)
{
    size_t nr = 0, i;
    char **env;

    for (i = 0; environ[i]; i++)
        nr++;
    for (i = 0; overrides[i]; i++)
        nr++;
    env = calloc(nr + 1, sizeof(*env));
    if (!env)
        return NULL;
    nr = 0;
    for (i = 0; environ[i]; i++)
        if (!is_overridden(environ[i], overrides))
            env[nr++] = environ[i];
    for (i = 0; overrides[i]; i++)
        if (strchr(overrides[i], '='))
            env[nr++] = (char *)overrides[i];
    return env;
}

/*
 * Duplicates every `from` to a number above all `to`s, so that no dup2() in the child overwrites a
 * descriptor that a later one still needs. The copies are close-on-exec.
 */
static int lift_fds(const struct child_options *options, int *lifted, struct err *err)
{
    int above = 3;
    size_t i;

    for (i = 0; i < options->nr_fds; i++)
        if (options->fds[i].to >= above)
            above = options->fds[i].to + 1;
    for (i = 0; i < options->nr_fds; i++) {
        lifted[i] = fcntl(options->fds[i].from, F_DUPFD_CLOEXEC, above);
        if (lifted[i] < 0) {
            err_errno(err, ERR_ENVIRONMENT, "cannot pass the descriptor %d to '%s'",
                      options->fds[i].from, options->argv[0]);
            while (i--)
                close(lifted[i]);
            return -1;
        }
    }
    return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct child_options *options,
                       const int *lifted)
{
    bool has_input = false;
    int ret = 0;
    size_t i;

    for (i = 0; i < options->nr_fds && !ret; i++) {
        has_input |= options->fds[i].to == STDIN_FILENO;
        ret = posix_spawn_file_actions_adddup2(actions, lifted[i], options->fds[i].to);
    }
    if (!ret && !has_input)
        ret = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!ret && options->dir)
        ret = posix_spawn_file_actions_addchdir_np(actions, options->dir);
    return ret;
}

static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int ret;

    sigemptyset(&none);
    sigfillset(&all);
    ret = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETSIGDEF);
    if (!ret)
        ret = posix_spawnattr_setpgroup(attributes, 0);
    if (!ret)
        ret = posix_spawnattr_setsigmask(attributes, &none);
    if (!ret)
        ret = posix_spawnattr_setsigdefault(attributes, &all);
    return ret;
}

/* The words of the guard before those of the program; only the array is the caller's to free. */
static const char **guarded_words(const struct child_options *options, const char *pid)
{
    size_t nr = 0, at = 0;
    const char **words;

    while (options->argv[nr])
        nr++;
    words = calloc(nr + 4, sizeof(*words));
    if (!words)
        return NULL;
    if (options->guard) {
        words[at++] = options->guard;
        words[at++] = "--guard";
        words[at++] = pid;
    }
    for (size_t i = 0; i < nr; i++)
        words[at++] = options->argv[i];
    return words;
}

/* An errno value, 0 for success. */
static int spawn(struct child *child, const struct child_options *options, const int *lifted,
                 char *const *env)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char pid[24];
    const char **words;
    int ret = posix_spawn_file_actions_init(&actions);

    if (ret)
        return ret;
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    words = guarded_words(options, pid);
    ret = words ? posix_spawnattr_init(&attributes) : ENOMEM;
    if (!ret) {
        ret = add_actions(&actions, options, lifted);
        if (!ret)
            ret = set_attributes(&attributes);
        if (!ret)
            ret = posix_spawnp(&child->pid, words[0], &actions, &attributes, (char *const *)words,
                               env);
        posix_spawnattr_destroy(&attributes);
    }
    free(words);
    posix_spawn_file_actions_destroy(&actions);
    return ret;
}

int child_spawn(struct child *child, const struct child_options *options, struct err *err)
{
    static const char *const nothing[] = {NULL};
    int *lifted = calloc(options->nr_fds + 1, sizeof(*lifted));
    char **env = make_environment(options->env ? options->env : nothing);
    int ret = -1;
    size_t i;

    *child = (struct child){0};
    if (!lifted || !env) {
        err_memory(err);
    } else if (!lift_fds(options, lifted, err)) {
        int error = spawn(child, options, lifted, env);

        for (i = 0; i < options->nr_fds; i++)
            close(lifted[i]);
        if (error) {
            child->pid = 0;
            errno = error;
            err_errno(err, ERR_ENVIRONMENT, "cannot start '%s'", options->argv[0]);
        } else {
            ret = 0;
        }
    }
    free(lifted);
    free(env);
    return ret;
}

/* For kernels without pidfd: looks at growing intervals. 1, 0 and -1 as of poll(). */
static int poll_slowly(pid_t pid, int timeout_ms)
{
    long waited_us = 0, nap_us = 500;

    for (;;) {
        struct timespec nap = {.tv_nsec = nap_us * 1000};
        siginfo_t info = {.si_pid = 0};

        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
            return -1;
        if (info.si_pid)
            return 1;
        if (timeout_ms >= 0 && waited_us >= timeout_ms * 1000L)
            return 0;
        if (nanosleep(&nap, NULL))
            return -1;
        waited_us += nap_us;
        nap_us = nap_us < 20000 ? nap_us * 2 : nap_us;
    }
}

/* 1: ended, still a zombie; 0: not yet; -1 with errno. */
static int wait_end(pid_t pid, int timeout_ms)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0), ret, error;
    struct pollfd poller = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return errno == ESRCH ? -1 : poll_slowly(pid, timeout_ms);
    ret = poll(&poller, 1, timeout_ms);
    error = errno;
    close(fd);
    errno = error;
    return ret;
}

int child_wait(struct child *child, int timeout_ms, struct err *err)
{
    int ret = wait_end(child->pid, timeout_ms);
    pid_t got;

    if (ret < 0 && errno == EINTR)
        return 0;
    if (ret < 0)
        return err_errno(err, ERR_BUG, "cannot wait for process %ld", (long)child->pid);
    if (!ret)
        return 0;
    /* While the leader is a zombie its number cannot be somebody else's. */
    kill(-child->pid, SIGKILL);
    do {
        got = waitpid(child->pid, &child->status, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_errno(err, ERR_BUG, "cannot wait for process %ld", (long)child->pid);
    child->pid = 0;
    return 1;
}

void child_signal(const struct child *child, int signal)
{
    if (child->pid > 0)
        kill(-child->pid, signal);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void child_stop(struct child *child, int grace_ms)
{
    int64_t until = now_ms() + grace_ms;
    int got = 0;

    if (child->pid <= 0)
        return;
    child_signal(child, SIGTERM);
    child_signal(child, SIGCONT);
    while (!got && now_ms() < until)
        got = child_wait(child, (int)(until - now_ms()), NULL);
    if (got > 0)
        return;
    child_signal(child, SIGKILL);
    do {
        got = child_wait(child, -1, NULL);
    } while (!got);
    child->pid = 0;
}

void child_add_status(struct strbuf *sb, int status)
{
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        const char *name = sigabbrev_np(number);

        strbuf_addf(sb, "killed by signal %d", number);
        if (name)
            strbuf_addf(sb, " (SIG%s)", name);
        if (WCOREDUMP(status))
            strbuf_addstr(sb, ", core dumped");
    } else {
        strbuf_addf(sb, "exit status %d", WEXITSTATUS(status));
    }
}

/* Takes what is in the pipe now. False at its end. */
static bool drain(int fd, size_t limit_bytes, struct strbuf *out)
{
    char chunk[4096];
    ssize_t got;

    while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t room = out->len < limit_bytes ? limit_bytes - out->len : 0;

        strbuf_add(out, chunk, (size_t)got < room ? (size_t)got : room);
    }
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/* A grandchild that left the group may hold the pipe open for ever: the end of the child counts,
 * not the end of the pipe. */
static int collect(struct child *child, int fd, int timeout_ms, size_t limit_bytes,
                   struct strbuf *out, struct err *err)
{
    int64_t until = now_ms() + timeout_ms;
    bool open = true;
    int got = 0;

    while (!got) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};

        if (open) {
            poll(&poller, 1, 20);
            open = drain(fd, limit_bytes, out);
        }
        got = child_wait(child, open ? 0 : 20, err);
        if (!got && timeout_ms >= 0 && now_ms() >= until)
            break;
    }
    if (open)
        drain(fd, limit_bytes, out);
    return got;
}

int child_run(const struct child_options *options, int timeout_ms, size_t limit_bytes,
              struct strbuf *out, struct err *err)
{
    struct strbuf how = STRBUF_INIT;
    struct child_fd fds[2] = {{.to = STDOUT_FILENO}, {.to = STDERR_FILENO}};
    struct child_options piped = *options;
    struct child child;
    int ends[2], ret;

    if (options->nr_fds)
        return err_set(err, ERR_BUG, "child_run() wires the descriptors itself");
    if (child_pipe(ends, err))
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fds[0].from = fds[1].from = ends[1];
    piped.fds = fds;
    piped.nr_fds = 2;
    ret = child_spawn(&child, &piped, err);
    close(ends[1]);
    if (!ret) {
        ret = collect(&child, ends[0], timeout_ms, limit_bytes, out, err);
        if (!ret) {
            child_stop(&child, 1000);
            ret = err_set(err, ERR_CRASH, "'%s' took longer than %d s", options->argv[0],
                          (timeout_ms + 999) / 1000);
        } else if (ret > 0) {
            child_add_status(&how, child.status);
            ret = child.status ? err_set(err, ERR_CRASH, "'%s': %s", options->argv[0], how.buf) : 0;
        }
    }
    close(ends[0]);
    strbuf_release(&how);
    return ret;
}
