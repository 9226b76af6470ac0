/*
 * check_worker.c - the worker's side of `bench check`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_rig.h"
#include "verify_internal.h"

/* What the process prints from here on goes into a file in memory: kernels print nothing, and where
 * one does it shall not stand in the user's table. A sanitizer's report is let through. */
static int catch_prints(void)
{
    int fd = memfd_create("prints", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    (void)fflush(NULL);
    if (dup2(fd, STDOUT_FILENO) < 0)
        return -1;
#ifndef SAB_SANITIZED
    if (dup2(fd, STDERR_FILENO) < 0)
        return -1;
#endif
    return fd;
}

static int say_result(struct worker *wk, const char *case_id, const struct check *check,
                      const struct check_result *res, struct err *err)
{
    json_t *json = check_result_to_json(res);
    char *text = NULL;
    struct answer a;
    int ret;

    if (json)
        json_object_set_new(json, "check", json_string(check->name));
    text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return err_memory(err);
    answer_init(&a);
    a.kind = ANSWER_CHECK;
    a.case_id = (char *)(uintptr_t)case_id;
    a.text = text;
    ret = answer_write(wk->out, &a, err);
    free(text);
    return ret;
}

/* Whether the check means anything for this arm; *res says why not. */
static int applies(struct rig *rig, const struct check *check, struct check_result *res,
                   struct err *err)
{
    int ret;

    if ((check->flags & CHECK_STREAMS) && !device_has_streams(rig->dev))
        return check_na(res, "device cpu has no streams");
    if (!(check->flags & CHECK_WORKSPACE))
        return 0;
    ret = rig_open(rig, RIG_A, res, err);
    if (ret)
        return ret;
    return rig_has_workspace(rig->side[RIG_A].arm) ? 0 : check_na(res, "it has no workspace");
}

static int run_check(struct rig *rig, const struct check *check, struct check_result *res,
                     struct err *err)
{
    double begin = verify_now_s();
    int ret;

    check_result_init(res);
    ret = applies(rig, check, res, err);
    if (!ret)
        ret = check->run(rig, res, err);
    if (ret < 0 && err->kind == ERR_MEMORY) {
        check_na(res, "oom: %s", err->text);
        err_clear(err);
        rig_close(rig);
        ret = 1;
    }
    res->seconds = verify_now_s() - begin;
    return ret < 0 ? -1 : 0;
}

/* Is `name` a word of the list? */
static bool is_listed(const char *list, const char *name)
{
    const size_t len = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

int check_serve(struct worker *wk, const struct job_case *jc, const struct plan_case *item,
                struct err *err)
{
    struct case_run said = {.worker = wk, .item = item, .job = jc};
    struct rig rig;
    bool failed = false;
    int ret = 0;

    if (!jc->checks)
        return err_set(err, ERR_BUG, "the job names no checks for case '%s'", jc->id);
    rig_init(&rig, wk, jc, item);
    rig.print_fd = catch_prints();
    for (size_t i = 0; !ret && !failed && check_at(i); i++) {
        const struct check *check = check_at(i);
        struct check_result res;
        char what[64];

        if (!is_listed(jc->checks, check->name))
            continue;
        (void)snprintf(what, sizeof(what), "check %s;", check->name);
        if (worker_phase(&said, what, NULL, err) || run_check(&rig, check, &res, err) ||
            say_result(wk, item->id, check, &res, err))
            ret = -1;
        else
            failed = res.status == CHECK_FAIL;
    }
    rig_close(&rig);
    wk->ended = failed;
    if (rig.print_fd >= 0)
        close(rig.print_fd);
    return ret;
}
