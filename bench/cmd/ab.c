/*
 * ab.c - `bench ab BASE HEAD [MORE...] --config FILE`: builds refs, then runs the sweep on them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "branch.h"
#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "file.h"
#include "ui.h"

#define AB_MAX 8

struct ab {
    struct branch branch[AB_MAX];
    struct arm_variant variant[AB_MAX];
    size_t nr;
};

static void note(void *ctx, const char *text)
{
    struct ui *ui = ctx;
    if (!ui->quiet)
        fprintf(stderr, "bench: %s\n", text);
}

/* "90" of a listing is the target 90a. */
static void architecture_of(const struct device_listing *gpu, char *buf, size_t size)
{
    snprintf(buf, size, "%da", gpu->arch);
}

static int build_all(struct ab *ab, const struct config_args *args, const char *const *names,
                     struct ui *ui, const volatile sig_atomic_t *interrupted, struct err *err)
{
    struct device_listing gpu[1];
    char arch[16] = "", exe[4096];
    struct branch_request request = {.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                                     .interrupted = interrupted,
                                     .exe = ui_own_path(exe, sizeof(exe)) ? NULL : exe,
                                     .note = note,
                                     .ctx = ui};

    if (args->arch) {
        request.cuda = strcmp(args->arch, "none") != 0;
        request.architectures = args->arch;
    } else if (device_list_cuda(gpu, 1) > 0) {
        architecture_of(&gpu[0], arch, sizeof(arch));
        request.cuda = true;
        request.architectures = arch;
    }
    for (size_t i = 0; i < ab->nr; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): names are as many as branches */
        if (branch_resolve(&ab->branch[i], names[i], &request, err))
            return -1;
    if (branch_labels(ab->branch, ab->nr, err))
        return -1;
    for (size_t i = 0; i < ab->nr; i++)
        ab->variant[i] = (struct arm_variant){ab->branch[i].label, ab->branch[i].library,
                                              ab->branch[i].describe};
    return 0;
}

static int print_libraries(const struct ab *ab)
{
    for (size_t i = 0; i < ab->nr; i++)
        printf("%s\t%s\n", ab->branch[i].label, ab->branch[i].library);
    return EXIT_OK;
}

/* Which refs became which libraries, for run.json. */
static json_t *branches_json(const struct ab *ab)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ab->nr; i++) {
        const struct branch *b = &ab->branch[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", b->name, "label",
                                        b->label, "library", file_below(b->library), "describe",
                                        b->describe, "diff_sha256", b->diff_sha256));
    }
    return list;
}

static int ab_names(struct option_result *result, struct ab *ab, const char **names,
                    struct err *err)
{
    ab->nr = result->nr_args;
    if (ab->nr < 2)
        return err_set(
            err, ERR_CONFIG,
            "`bench ab` compares at least two: BASE and HEAD, each a git ref, WORKTREE or "
            "the path of a library");
    if (ab->nr > AB_MAX)
        return err_set(err, ERR_CONFIG, "`bench ab` compares at most %d, %zu are named", AB_MAX,
                       ab->nr);
    for (size_t i = 0; i < ab->nr; i++)
        names[i] = result->args[i];
    result->nr_args = 0;
    return 0;
}

int cmd_ab(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    const char *names[AB_MAX];
    struct ab ab = {0};
    struct ui ui;
    struct err err = ERR_INIT;
    int status;

    if (config_args_parse(&args, &result, "ab", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    ui_init(&ui, args.quiet);
    const volatile sig_atomic_t *interrupted = ui_catch_signals();
    if (ab_names(&result, &ab, names, &err) ||
        build_all(&ab, &args, names, &ui, interrupted, &err)) {
        status = exit_report(&err);
    } else if (args.build_only) {
        status = print_libraries(&ab);
    } else {
        config_args_request(&args, &result, JOB_RUN, &request);
        request.variants = ab.variant;
        request.variants_nr = ab.nr;
        json_t *branches = branches_json(&ab);
        status = run_request(&request, &ui, argc, argv, branches);
        json_decref(branches);
    }
    for (size_t i = 0; i < AB_MAX; i++)
        branch_release(&ab.branch[i]);
    config_args_release(&args, &result);
    return status;
}
