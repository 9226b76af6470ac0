/*
 * cupti_api.h - the functions of CUPTI's activity API, resolved at run time.
 */
#ifndef BENCH_DEVICE_CUPTI_API_H
#define BENCH_DEVICE_CUPTI_API_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct cupti_api {
    CUptiResult (*get_version)(uint32_t *version);
    CUptiResult (*get_string)(CUptiResult result, const char **text);
    CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc request,
                                      CUpti_BuffersCallbackCompleteFunc complete);
    CUptiResult (*enable)(CUpti_ActivityKind kind);
    CUptiResult (*disable)(CUpti_ActivityKind kind);
    CUptiResult (*flush_all)(uint32_t flag);
    CUptiResult (*next)(uint8_t *buffer, size_t bytes, CUpti_Activity **record);
    CUptiResult (*dropped)(CUcontext context, uint32_t stream, size_t *nr);
    CUptiResult (*push)(CUpti_ExternalCorrelationKind kind, uint64_t id);
    CUptiResult (*pop)(CUpti_ExternalCorrelationKind kind, uint64_t *id);
    CUptiResult (*timestamp)(uint64_t *ns);
    uint32_t version; /* CUPTI_API_VERSION of the library found */
};

/* ERR_ENVIRONMENT naming what was tried, or both versions. */
int cupti_api_open(struct cupti_api *api, struct err *err);
/* Fills `err` with ERR_ENVIRONMENT for a failed call `what`; returns -1. */
int cupti_api_explain(const struct cupti_api *api, CUptiResult rc, const char *what,
                      struct err *err);

#endif
