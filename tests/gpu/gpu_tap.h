/*
 * gpu_tap.h - lines of the Test Anything Protocol, and the way to skip without a GPU.
 */
#ifndef TESTS_GPU_GPU_TAP_H
#define TESTS_GPU_GPU_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "device.h"

#define TAP_SKIPPED 77 /* CTest's SKIP_RETURN_CODE */

struct tap {
    int nr, failed;
};

__attribute__((format(printf, 3, 4))) static inline bool tap_ok(struct tap *t, bool good,
                                                                const char *format, ...)
{
    va_list args;

    t->nr++;
    t->failed += !good;
    printf("%s %d - ", good ? "ok" : "not ok", t->nr);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    return good;
}

/* For calls that must not fail: their error is the line. */
static inline bool tap_try(struct tap *t, int rc, const char *what, struct err *err)
{
    if (rc == 0)
        return true;
    tap_ok(t, false, "%s: %s", what, err->text);
    err_clear(err);
    return false;
}

static inline int tap_end(const struct tap *t)
{
    printf("1..%d\n# %d failed\n", t->nr, t->failed);
    return t->failed ? 1 : 0;
}

/* Opens device cuda with CUPTI. Returns 0, or the exit status: skipped without a GPU, failed with
 * one that cannot be had. */
static inline int tap_open(struct device **dev)
{
    const struct device_request request = {
        .kind = SAB_DEVICE_CUDA, .timer = DEVICE_TIMER_CUPTI, .conditions = true, .seed = 1};
    struct device_listing list[1];
    struct err err = ERR_INIT;

    if (device_list_cuda(list, 1) == 0) {
        printf("1..0 # SKIP no GPU\n");
        return TAP_SKIPPED;
    }
    if (device_open(dev, &request, &err) < 0) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    printf("# %s, driver %s, CUDA %s, CUPTI %s, tick %.0f ns, scrub %s\n", device_info(*dev)->name,
           device_info(*dev)->driver, device_info(*dev)->cuda_runtime, device_info(*dev)->cupti,
           device_info(*dev)->tick_ns, device_info(*dev)->scrub);
    return 0;
}

#endif
