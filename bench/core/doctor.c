#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_internal.h"

/* Below this share of the device's memory, what others hold is only the driver's own. */
#define MEMORY_TAKEN_SHARE 0.05

void finding_list_init(struct finding_list *list)
{
    memset(list, 0, sizeof(*list));
}

void finding_list_release(struct finding_list *list)
{
    free(list->items);
    finding_list_init(list);
}

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"note", "warn", "bad"};
    return names[severity];
}

enum finding_severity finding_worst(const struct finding_list *list)
{
    enum finding_severity worst = FINDING_NOTE;

    for (size_t i = 0; i < list->nr; i++)
        if (list->items[i].severity > worst)
            worst = list->items[i].severity;
    return worst;
}

int doctor_add(struct finding_list *list, struct err *err, enum finding_severity severity,
               const char *code, const char *what, const char *effect, const char *remedy)
{
    if (list->nr == list->alloc) {
        size_t alloc = list->alloc ? 2 * list->alloc : 16;
        struct finding *grown = realloc(list->items, alloc * sizeof(*grown));

        if (!grown)
            return err_memory(err);
        list->items = grown;
        list->alloc = alloc;
    }
    struct finding *f = &list->items[list->nr++];
    f->severity = severity;
    snprintf(f->code, sizeof(f->code), "%s", code);
    snprintf(f->what, sizeof(f->what), "%s", what);
    snprintf(f->effect, sizeof(f->effect), "%s", effect);
    snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
    return 0;
}

/* ---- the build of this program ---- */

static int check_build(struct finding_list *list, struct err *err)
{
    (void)list; /* an optimised build with CUDA has nothing to say */
    (void)err;
#ifndef __OPTIMIZE__
    if (doctor_add(list, err, FINDING_WARN, "build", "bench was built without optimisation",
                   "host time around a launch grows, and arms on device cpu may be slow too",
                   "build with CMAKE_BUILD_TYPE=Release"))
        return -1;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (doctor_add(list, err, FINDING_BAD, "sanitizer", "bench was built with a sanitizer",
                   "every memory access of host code is several times slower",
                   "measure with the release preset"))
        return -1;
#endif
#ifndef SAB_HAVE_CUDA
    if (doctor_add(list, err, FINDING_NOTE, "no_cuda_build", "bench was built without CUDA",
                   "arms on device cuda cannot run",
                   "install the CUDA toolkit and configure with SAB_CUDA=ON"))
        return -1;
#endif
    return 0;
}

/* ---- the device that was opened ---- */

static int check_gpu(const struct device_info *info, struct finding_list *list, struct err *err)
{
    char what[200];
    double taken = (double)info->memory_bytes - (double)info->memory_free_bytes;

    if (info->mig == 1 &&
        doctor_add(list, err, FINDING_WARN, "mig", "the GPU is split by MIG",
                   "neighbours share its memory and its power, and L2 is smaller than the "
                   "data sheet says",
                   "measure on a GPU without MIG, or name the slice in what you publish"))
        return -1;
    if (info->display == 1 &&
        doctor_add(list, err, FINDING_WARN, "display", "the GPU drives a display",
                   "drawing the screen takes time from the kernel under test",
                   "log out of the desktop, or use another GPU"))
        return -1;
    if (info->persistence == 0 &&
        doctor_add(list, err, FINDING_NOTE, "persistence", "persistence mode is off",
                   "the driver unloads between processes: each start is slower, and clocks begin "
                   "from idle",
                   "ask the machine's owner for nvidia-persistenced"))
        return -1;
    if (info->ecc == 0 &&
        doctor_add(list, err, FINDING_NOTE, "ecc", "ECC is off",
                   "memory is a few percent faster than on machines that have it on",
                   "say so in what you publish"))
        return -1;
    if (info->memory_free_bytes && taken > MEMORY_TAKEN_SHARE * (double)info->memory_bytes) {
        snprintf(what, sizeof(what), "%.1f GiB of the GPU's memory are taken",
                 taken / (double)(1 << 30));
        return doctor_add(list, err, FINDING_WARN, "gpu_shared", what,
                          "another process may run kernels between the samples",
                          "look at nvidia-smi and wait until the GPU is free");
    }
    return 0;
}

static int check_device(const struct device_info *info, struct finding_list *list, struct err *err)
{
    char what[200];

    if (info->kind == SAB_DEVICE_CUDA && check_gpu(info, list, err))
        return -1;
    if (info->kind == SAB_DEVICE_CUDA && !info->cupti[0] &&
        doctor_add(list, err, FINDING_BAD, "no_cupti", "CUPTI could not be loaded",
                   "kernels cannot be timed, and there is no fallback",
                   "install cuda-cupti, or set CUDA_HOME to a toolkit that has it"))
        return -1;
    if (info->tick_ns > 1000) {
        snprintf(what, sizeof(what), "the timer steps in %.0f ns", info->tick_ns);
        return doctor_add(list, err, FINDING_WARN, "tick", what,
                          "no claim is made below 1.5 steps: short cases stay UNSURE",
                          "compare on longer cases");
    }
    return 0;
}

/* NVML's clock event reasons, for words only. */
static const struct {
    uint64_t bit;
    const char *word;
} throttle_words[] = {
    {0x04, "software power cap"}, {0x08, "hardware slowdown"}, {0x20, "software thermal"},
    {0x40, "hardware thermal"},   {0x80, "power brake"},
};

int doctor_conditions(const struct device_conditions *now, struct finding_list *list,
                      struct err *err)
{
    char what[200] = "the GPU is throttled now:";

    if (!device_throttled(now->throttle_bits))
        return 0;
    for (size_t i = 0; i < sizeof(throttle_words) / sizeof(throttle_words[0]); i++) {
        size_t len = strlen(what);
        if (now->throttle_bits & throttle_words[i].bit)
            snprintf(what + len, sizeof(what) - len, " %s", throttle_words[i].word);
    }
    return doctor_add(list, err, FINDING_WARN, "throttled", what,
                      "rounds are dropped and repeated, and what is kept runs at lower clocks",
                      "let the GPU cool down, and look for other load on it");
}

int doctor_run_at(const struct doctor_paths *paths, const struct device_info *info,
                  struct finding_list *list, struct err *err)
{
    if (check_build(list, err) || doctor_host(paths, list, err) ||
        doctor_tools(paths, info, list, err))
        return -1;
    return info ? check_device(info, list, err) : 0;
}

int doctor_run(const struct device_info *info, struct finding_list *list, struct err *err)
{
    static const struct doctor_paths here = {"/sys", "/proc", "results"};
    return doctor_run_at(&here, info, list, err);
}
