/*
 * cuda_range.c - the one user of NVTX: a named range around every launch, for profilers. Costs
 * nothing without one.
 */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>

#include "cuda_internal.h"

void *cuda_range_open(void)
{
    return nvtxDomainCreateA("bench");
}

void cuda_range_push(void *domain, uint64_t id)
{
    nvtxEventAttributes_t event = {0};
    char text[40];

    if (!domain)
        return;
    if (id == DEVICE_SAMPLE_EXTRA)
        snprintf(text, sizeof(text), "extra");
    else
        snprintf(text, sizeof(text), "sample %llu", (unsigned long long)id);
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    nvtxDomainRangePushEx(domain, &event);
}

void cuda_range_pop(void *domain)
{
    if (domain)
        nvtxDomainRangePop(domain);
}
