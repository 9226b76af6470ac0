/*
 * ncu.c - the launches that a profiler sees, and the command line that starts it.
 */
#include "ncu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "measure_internal.h"

/* ---- in the worker ---- */

static struct arm_run *only_arm(struct case_run *run)
{
    for (size_t i = 0; i < run->arms_nr; i++)
        if (!run->arm[i].job->duplicate)
            return &run->arm[i];
    return NULL;
}

int ncu_case(struct case_run *run, struct err *err)
{
    struct measure m = {.run = run, .prev = -1};
    struct arm_run *arm = only_arm(run);
    struct device *dev = run->worker->dev;
    struct device_sample samples[NCU_LAUNCHES];
    char text[512];

    if (!arm || !arm->usable)
        return 0;
    if (worker_phase(run, "profile", arm, err))
        return -1;
    int status = arm_launch_sync(arm, text, sizeof(text), err);
    if (status > 0)
        return arm_fail(arm, "crash", err, "a repeated launch was refused: %s", text);
    if (status < 0 || device_round_begin(dev, err))
        return -1;
    for (uint64_t id = 0; id < NCU_LAUNCHES; id++)
        if (measure_launch(&m, arm, id, err)) {
            device_round_end(dev, NULL, 0, NULL);
            return -1;
        }
    return device_round_end(dev, samples, NCU_LAUNCHES, err);
}

/* ---- the profiler ---- */

static bool try_file(const char *dir, const char *below, struct strbuf *sb)
{
    strbuf_reset(sb);
    strbuf_addf(sb, "%s%s/ncu", *dir ? dir : ".", below);
    return !sb->oom && !access(sb->buf, X_OK) && !file_is_dir(sb->buf);
}

static bool search_path(const char *path, struct strbuf *sb)
{
    while (path) {
        size_t len = strcspn(path, ":");
        char *dir = strndup(path, len);
        bool found = dir && try_file(dir, "", sb);

        free(dir);
        if (found)
            return true;
        path = path[len] ? path + len + 1 : NULL;
    }
    return false;
}

int ncu_find(struct text_list *path, struct err *err)
{
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    struct strbuf sb = STRBUF_INIT;
    bool found = search_path(getenv("PATH"), &sb);
    int ret;

    for (size_t i = 0; !found && i < sizeof(homes) / sizeof(homes[0]); i++)
        found = homes[i] && try_file(homes[i], "/bin", &sb);
    ret = found ? text_list_add(path, sb.buf, err)
                : err_set(err, ERR_ENVIRONMENT,
                          "no program 'ncu' in PATH or in the bin folder of $CUDA_HOME: install "
                          "Nsight Compute, a part of the CUDA toolkit");
    strbuf_release(&sb);
    return ret;
}

static int add_all(struct text_list *argv, const char *const *words, size_t nr, struct err *err)
{
    for (size_t i = 0; i < nr; i++)
        if (text_list_add(argv, words[i], err))
            return -1;
    return 0;
}

int ncu_argv(struct text_list *argv, const char *ncu, const char *exe, const char *const *extra,
             size_t extra_nr, const char *const *args, size_t args_nr, struct err *err)
{
    /* Clocks as the run has them: locked to base, the numbers would be of another machine. */
    static const char *const fixed[] = {"--clock-control", "none", "--target-processes", "all",
                                        "--nvtx"};
    const char *const inside[] = {exe, "ncu", NCU_INSIDE};
    char range[64];

    if (text_list_add(argv, ncu, err) ||
        add_all(argv, fixed, sizeof(fixed) / sizeof(fixed[0]), err))
        return -1;
    /* Names that bench/device gives to its ranges: DOMAIN@NAME/ is a range of pushes and pops. */
    for (int i = 0; i < NCU_LAUNCHES; i++) {
        snprintf(range, sizeof(range), "bench@sample %d/", i);
        if (text_list_add(argv, "--nvtx-include", err) || text_list_add(argv, range, err))
            return -1;
    }
    return add_all(argv, extra, extra_nr, err) || add_all(argv, inside, 3, err) ||
                   add_all(argv, args, args_nr, err)
               ? -1
               : 0;
}
