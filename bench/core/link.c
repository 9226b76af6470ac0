#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanes.h"

/* Longest line that a worker may write: samples of a case as text. */
#define LINE_MAX_BYTES ((size_t)1 << 30)

static int write_all(int fd, const char *data, size_t len, struct err *err)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_errno(err, ERR_CRASH, "cannot hand a worker its job");
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int send_job(int fd, const struct job *job, struct err *err)
{
    json_t *json = job_to_json(job);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int ret = text ? write_all(fd, text, strlen(text), err) : err_memory(err);
    free(text);
    json_decref(json);
    return ret;
}

int link_start(struct link *l, const char *exe, const char *uuid, const struct job *job,
               struct err *err)
{
    const char *argv[] = {exe, "--worker", NULL};
    char visible[96];
    const char *env[] = {visible, "CUDA_MODULE_LOADING=LAZY", NULL};
    int down[2] = {-1, -1}, up[2] = {-1, -1}, ret = -1;

    memset(l, 0, sizeof(*l));
    l->from = -1;
    strbuf_init(&l->pending);
    snprintf(visible, sizeof(visible), "CUDA_VISIBLE_DEVICES=%s", uuid);
    if (child_pipe(down, err) || child_pipe(up, err))
        goto out;
    struct child_fd fds[] = {{down[0], JOB_FD_IN}, {up[1], JOB_FD_OUT}, {2, 1}};
    struct child_options options = {.argv = argv, .env = env, .fds = fds, .nr_fds = 3};
    if (child_spawn(&l->child, &options, err))
        goto out;
    close(down[0]);
    close(up[1]);
    down[0] = up[1] = -1;
    l->from = up[0];
    up[0] = -1;
    /* A worker that is gone already is found by link_next(), with how it ended. */
    struct err quiet = ERR_INIT;
    send_job(down[1], job, &quiet);
    ret = 0;
out:
    for (int i = 0; i < 2; i++) {
        if (down[i] >= 0)
            close(down[i]);
        if (up[i] >= 0)
            close(up[i]);
    }
    return ret;
}

static int take_line(struct link *l, struct answer *a, struct err *err)
{
    char *end = memchr(l->pending.buf, '\n', l->pending.len);
    if (!end)
        return 0;
    size_t len = (size_t)(end - l->pending.buf);
    answer_init(a);
    int ret = answer_read(a, l->pending.buf, len, err);
    struct strbuf rest = STRBUF_INIT;
    strbuf_add(&rest, end + 1, l->pending.len - len - 1);
    strbuf_release(&l->pending);
    l->pending = rest;
    if (ret) {
        answer_release(a);
        return -1;
    }
    return 1;
}

/* The pipe is closed: waits for the end and says what it was. */
static int say_end(struct link *l, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    struct err why = ERR_INIT;

    if (child_wait(&l->child, 5000, &why) != 1)
        strbuf_addstr(&sb, "closed its pipe and did not end");
    else
        child_add_status(&sb, l->child.status);
    err_set(err, ERR_CRASH, "the worker process ended: %s", sb.buf);
    strbuf_release(&sb);
    return -1;
}

int link_next(struct link *l, int timeout_ms, struct answer *a, struct err *err)
{
    char buf[65536];

    for (;;) {
        int got = take_line(l, a, err);
        if (got)
            return got;
        struct pollfd p = {.fd = l->from, .events = POLLIN};
        int n = poll(&p, 1, timeout_ms);
        if (n == 0 || (n < 0 && errno == EINTR))
            return 0;
        if (n < 0)
            return err_errno(err, ERR_ENVIRONMENT, "cannot wait for a worker");
        ssize_t len = read(l->from, buf, sizeof(buf));
        if (len < 0 && errno == EINTR)
            return 0;
        if (len <= 0)
            return say_end(l, err);
        strbuf_add(&l->pending, buf, (size_t)len);
        if (l->pending.oom || l->pending.len > LINE_MAX_BYTES)
            return err_set(err, ERR_CRASH, "a worker wrote a line of more than 1 GiB");
    }
}

void link_wait(struct link *const *list, size_t nr, int timeout_ms)
{
    struct pollfd p[LANES_MAX];

    for (size_t i = 0; i < nr; i++) {
        if (memchr(list[i]->pending.buf, '\n', list[i]->pending.len))
            return;
        p[i] = (struct pollfd){.fd = list[i]->from, .events = POLLIN};
    }
    poll(p, nr, timeout_ms);
}

void link_ask_stop(struct link *l)
{
    if (l->child.pid > 0)
        kill(l->child.pid, SIGUSR1);
}

void link_close(struct link *l)
{
    if (l->child.pid > 0) {
        struct err quiet = ERR_INIT;
        /* One that said bye is on its way out. */
        if (child_wait(&l->child, 3000, &quiet) != 1) {
            child_signal(&l->child, SIGKILL);
            child_stop(&l->child, 0);
        }
    }
    if (l->from >= 0)
        close(l->from);
    l->from = -1;
    strbuf_release(&l->pending);
}
