#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "ncu.h"
#include "ui.h"

/* Exactly one case and one arm: a profile of several is a heap of kernels without names. */
static int check_selection(const struct session_request *request, struct err *err)
{
    struct ini ini;
    struct plan plan;
    int ret = -1;

    ini_init(&ini);
    plan_init(&plan);
    if (!request->only_nr || request->arms_nr != 1) {
        err_set(err, ERR_CONFIG, "`bench ncu` needs --only CASE and one --arm NAME");
        goto out;
    }
    if (ini_read_file(&ini, request->config, err))
        goto out;
    for (size_t i = 0; i < request->overrides_nr; i++)
        if (plan_override(&ini, request->override[i].key, request->override[i].value, err))
            goto out;
    if (plan_read(&plan, &ini, err) ||
        plan_select(&plan, request->only, request->only_nr, request->arms, request->arms_nr, err))
        goto out;
    if (plan.nr != 1)
        err_set(err, ERR_CONFIG, "'%s' matches %zu cases, '%s' and '%s' among them: name one",
                request->only[0], plan.nr, plan.item[0].id, plan.item[1].id);
    else
        ret = 0;
out:
    plan_release(&plan);
    ini_release(&ini);
    return ret;
}

/* Becomes the profiler. Returns only where that fails. */
static int become_ncu(const char *const *extra, size_t extra_nr, int argc, const char **argv,
                      struct err *err)
{
    struct text_list path = {0}, words = {0};
    char exe[4096], **list = NULL;

    if (ncu_find(&path, err))
        goto out;
    if (ui_own_path(exe, sizeof(exe))) {
        err_errno(err, ERR_ENVIRONMENT, "cannot tell where this program lies");
        goto out;
    }
    if (ncu_argv(&words, path.items[0], exe, extra, extra_nr, argv, (size_t)argc, err))
        goto out;
    list = calloc(words.nr + 1, sizeof(*list));
    if (!list) {
        err_memory(err);
        goto out;
    }
    memcpy(list, words.items, words.nr * sizeof(*list));
    execv(list[0], list);
    err_errno(err, ERR_ENVIRONMENT, "cannot start '%s'", list[0]);
out:
    free(list);
    text_list_release(&path);
    text_list_release(&words);
    return -1;
}

/* What became of the one case, for whoever reads the profiler's output. */
static void print_rows(const struct session *s)
{
    for (size_t i = 0; i < s->store.cases.nr; i++) {
        const struct case_row *row = &s->store.cases.row[i];
        if (strcmp(row->role, "duplicate"))
            fprintf(stderr, "bench: %s, arm %s: %s%s%s\n", row->case_id, row->arm, row->status,
                    row->status_text ? ": " : "", row->status_text ? row->status_text : "");
    }
}

static int inside(const struct session_request *asked, bool quiet, struct err *err)
{
    struct session_request request = *asked;
    struct session s;
    struct ui ui;
    char exe[4096];
    int status;

    ui_init(&ui, quiet);
    ui_fill_request(&ui, &request, exe, sizeof(exe), asked->argc, asked->argv);
    session_init(&s);
    if (!session_open(&s, &request, err) && s.kind != SAB_DEVICE_CUDA)
        err_set(err, ERR_ENVIRONMENT,
                "ncu profiles CUDA kernels, and this case would run on device cpu");
    if (err->kind == ERR_NONE && !session_device(&s, err) && !session_store(&s, err))
        session_run(&s, err);
    ui_end(&ui);
    if (err->kind == ERR_NONE)
        print_rows(&s);
    status = err->kind == ERR_NONE ? session_status(&s) : exit_report(err);
    session_release(&s);
    return status;
}

/* Words before `--` are ours, those behind it are for the profiler. */
static int own_words(int argc, const char **argv)
{
    int nr = 0;
    while (nr < argc && strcmp(argv[nr], "--"))
        nr++;
    return nr;
}

int cmd_ncu(int argc, const char **argv)
{
    bool is_inside = argc && !strcmp(argv[0], NCU_INSIDE);
    int own = own_words(argc, argv), status;
    struct session_request request;
    struct config_args args;
    struct option_result result;
    struct err err = ERR_INIT;

    if (!config_args_parse(&args, &result, "ncu", own - is_inside, argv + is_inside, &status)) {
        config_args_request(&args, &result, JOB_PROFILE, &request);
        request.in_memory = true;
        if (is_inside) {
            status = inside(&request, args.quiet, &err);
        } else {
            if (!check_selection(&request, &err))
                become_ncu(argv + own + 1, own < argc ? (size_t)(argc - own - 1) : 0, own, argv,
                           &err);
            status = exit_report(&err);
        }
    }
    config_args_release(&args, &result);
    return status;
}
