/*
 * doctor_device.c - what of a device disturbs measurements: as NVML and the driver describe it, or
 * as it refused to open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_internal.h"
#include "text.h"

/* Below this share of the device's memory, what others hold is only the driver's own. */
#define MEMORY_TAKEN_SHARE 0.05
/* A clock that moves by more than this on an idle GPU has not settled. */
#define CLOCK_SHARE 0.03
/* Limits are set in watts. */
#define POWER_SLACK_W 1.0
/* NVML's clock event reason for a limit that somebody set. */
#define REASON_APPLICATION_CLOCKS 0x02

/* NVML's clock event reasons that lower the clocks (NVML API Reference, clocksEventReasons). */
static const struct {
    uint64_t bit;
    const char *word;
} throttle_words[] = {
    {0x04, "software power cap"}, {0x08, "hardware slowdown"}, {0x20, "software thermal"},
    {0x40, "hardware thermal"},   {0x80, "power brake"},
};
#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* ---- settings ---- */

static int check_modes(const struct device_info *info, struct finding_list *list, struct err *err)
{
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
    return 0;
}

static int check_power(const struct device_info *info, struct finding_list *list, struct err *err)
{
    char what[200];

    if (!(info->power_default_w > 0) || !(info->power_limit_w > 0) ||
        info->power_limit_w >= info->power_default_w - POWER_SLACK_W)
        return 0;
    snprintf(what, sizeof(what), "the power limit is %.0f W, this GPU is made for %.0f W",
             info->power_limit_w, info->power_default_w);
    return doctor_add(list, err, FINDING_WARN, "power_cap", what,
                      "kernels that draw much power run at lower clocks than elsewhere: ratios "
                      "between such kernels shift",
                      "ask the machine's owner for the default limit, or name the limit in what "
                      "you publish");
}

/* ---- this moment ---- */

static int check_clocks(const struct device_info *info, struct finding_list *list, struct err *err)
{
    char what[200];

    if ((info->throttle_bits & REASON_APPLICATION_CLOCKS) &&
        doctor_add(list, err, FINDING_WARN, "clock_limit",
                   "the clocks are limited by a setting (application clocks)",
                   "kernels run slower than elsewhere, those bound by memory less so",
                   "ask the machine's owner to reset it, or name the clocks in what you publish"))
        return -1;
    if (!(info->sm_mhz_hi > 0) ||
        info->sm_mhz_hi - info->sm_mhz_lo <= CLOCK_SHARE * info->sm_mhz_hi)
        return 0;
    snprintf(what, sizeof(what), "the SM clock moves between %.0f and %.0f MHz on an idle GPU",
             info->sm_mhz_lo, info->sm_mhz_hi);
    return doctor_add(list, err, FINDING_WARN, "clocks", what,
                      "rounds at other clocks than their neighbours are dropped and repeated, and "
                      "what is kept is noisier",
                      "wait until the GPU is free and cool; nvidia-smi -q -d PERFORMANCE says "
                      "what moves it");
}

static int check_throttling(const struct device_info *info, struct finding_list *list,
                            struct err *err)
{
    char what[200] = "the GPU is throttled now:";

    if (!device_throttled(info->throttle_bits))
        return 0;
    for (size_t i = 0; i < NR(throttle_words); i++) {
        size_t len = strlen(what);
        if (info->throttle_bits & throttle_words[i].bit)
            snprintf(what + len, sizeof(what) - len, " %s", throttle_words[i].word);
    }
    return doctor_add(list, err, FINDING_WARN, "throttled", what,
                      "rounds are dropped and repeated, and what is kept runs at lower clocks",
                      "let the GPU cool down, and look for other load on it");
}

static int check_neighbours(const struct device_info *info, struct finding_list *list,
                            struct err *err)
{
    double taken = (double)info->memory_bytes - (double)info->memory_free_bytes;
    char what[200];

    if (info->processes > 0) {
        snprintf(what, sizeof(what), "%d other program%s the GPU open", info->processes,
                 info->processes == 1 ? " has" : "s have");
        return doctor_add(list, err, FINDING_WARN, "gpu_shared", what,
                          "kernels of others run between and beside the samples, and take cache, "
                          "memory and power",
                          "look at nvidia-smi and wait until the GPU is free");
    }
    if (!info->memory_free_bytes || taken <= MEMORY_TAKEN_SHARE * (double)info->memory_bytes)
        return 0;
    snprintf(what, sizeof(what), "%.1f GiB of the GPU's memory are taken",
             taken / (double)(1 << 30));
    return doctor_add(list, err, FINDING_WARN, "gpu_shared", what,
                      "another process may run kernels between the samples",
                      "look at nvidia-smi and wait until the GPU is free");
}

/* ---- versions ---- */

/* "13.1" as 13001; 0 where it says nothing. */
static int version_number(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10);

    return end == text ? 0 : (int)(1000 * major + (*end == '.' ? strtol(end + 1, NULL, 10) : 0));
}

static int check_driver(const struct device_info *info, struct finding_list *list, struct err *err)
{
    int has = version_number(info->cuda_driver), wants = version_number(info->cuda_runtime);
    char what[200];

    if (!has || !wants || has >= wants)
        return 0;
    snprintf(what, sizeof(what), "the driver serves CUDA %s, this program was built with CUDA %s",
             info->cuda_driver, info->cuda_runtime);
    return doctor_add(list, err, FINDING_WARN, "driver_old", what,
                      "kernels that need newer driver features fail, and CUPTI may stamp less "
                      "exactly",
                      "update the driver, or build with the toolkit of its version");
}

static int check_cupti(const struct device_info *info, struct finding_list *list, struct err *err)
{
    if (info->cupti[0])
        return 0;
    return doctor_add(list, err, FINDING_BAD, "no_cupti", "CUPTI could not be loaded",
                      "kernels cannot be timed, and there is no fallback",
                      "install cuda-cupti, or set CUDA_HOME to a toolkit that has it");
}

static int check_tick(const struct device_info *info, struct finding_list *list, struct err *err)
{
    char what[200];

    if (!(info->tick_ns > 1000))
        return 0;
    snprintf(what, sizeof(what), "the timer steps in %.0f ns", info->tick_ns);
    return doctor_add(list, err, FINDING_WARN, "tick", what,
                      "no claim is made below 1.5 steps: short cases stay UNSURE",
                      "compare on longer cases");
}

int doctor_device(const struct device_info *info, struct finding_list *list, struct err *err)
{
    if (info->kind == SAB_DEVICE_CUDA &&
        (check_modes(info, list, err) || check_power(info, list, err) ||
         check_clocks(info, list, err) || check_throttling(info, list, err) ||
         check_neighbours(info, list, err) || check_driver(info, list, err) ||
         check_cupti(info, list, err)))
        return -1;
    return check_tick(info, list, err);
}

/* ---- a device that did not open ---- */

static const struct {
    const char *begins, *code, *effect, *remedy;
} refusals[] = {
    {DEVICE_DRIVER_OLD, "driver_old", "no kernel runs on the GPU",
     "update the driver, or build with the toolkit of its version"},
    {DEVICE_CUPTI_MISSING, "no_cupti", "kernels cannot be timed, and there is no fallback",
     "install cuda-cupti, or set CUDA_HOME to a toolkit that has it"},
    {DEVICE_CUPTI_VERSION, "cupti_version", "kernels cannot be timed, and there is no fallback",
     "set CUDA_HOME to a toolkit of the version that this program was built with"},
    {DEVICE_CUPTI_TAKEN, "cupti_taken",
     "kernels cannot be timed, and a profiler would change their times",
     "end the profiler or debugger, or start bench without it; `bench ncu` profiles one case"},
    {DEVICE_CUPTI_FORBIDDEN, "cupti_permission",
     "kernels cannot be timed, and there is no fallback",
     "ask the machine's owner for NVreg_RestrictProfilingToAdminUsers=0, or in a container for "
     "the capability SYS_ADMIN"},
    {"", "device", "nothing can be measured on that device", "see the findings below"},
};

int doctor_refused(const struct err *refused, struct finding_list *list, struct err *err)
{
    size_t i = 0;

    /* The last one begins every text. */
    while (!text_starts_with(refused->text, refusals[i].begins))
        i++;
    return doctor_add(list, err, FINDING_BAD, refusals[i].code, refused->text, refusals[i].effect,
                      refusals[i].remedy);
}
