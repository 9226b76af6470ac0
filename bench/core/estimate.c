#include "estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stats_order.h"
#include "strbuf.h"
#include "text.h"
#include "work.h"

/* Rates for estimates. A kernel that is much slower than its row only makes a worker's time limit
 * (ten times the estimate, at least 30 s) work for its living. */
static const struct {
    int32_t device;
    uint32_t flags;
    double flops_s;    /* a thread on cpu, the chip on cuda */
    double bytes_s;    /* the memory system */
    double overhead_s; /* scrub and bookkeeping of a sample */
} rates[] = {
    {SAB_DEVICE_CPU, 0, 2e9, 5e9, 2e-3},
    {SAB_DEVICE_CUDA, SAB_KERNEL_REFERENCE, 5e11, 1e12, 2e-4},
    {SAB_DEVICE_CUDA, 0, 2e14, 2e12, 2e-4},
};

static double call_seconds(const struct op_cost *cost, const struct sab_kernel *k,
                           const struct device_info *info, double *overhead_s)
{
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if (rates[i].device != k->device || (rates[i].flags && !(k->flags & rates[i].flags)))
            continue;
        double threads = k->device == SAB_DEVICE_CPU ? fmax(1, info->threads) : 1;
        *overhead_s = rates[i].overhead_s + cost->bytes_min / rates[i].bytes_s;
        return fmax(cost->flops_nominal / (rates[i].flops_s * threads),
                    cost->bytes_min / rates[i].bytes_s);
    }
    *overhead_s = 0;
    return 0;
}

static void say_seconds(char *text, size_t size, double call_s, double max_time_s)
{
    struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    text_add_duration(&a, call_s * 1e9);
    text_add_duration(&b, max_time_s * 1e9);
    snprintf(text, size, "one sample would take about %s, more than max_time = %s", a.buf, b.buf);
    strbuf_release(&a);
    strbuf_release(&b);
}

static void say_bytes(char *text, size_t size, double need, double have)
{
    struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    text_add_bytes(&a, (uint64_t)need);
    text_add_bytes(&b, (uint64_t)have);
    snprintf(text, size, "needs %s of memory, the device has %s free", a.buf, b.buf);
    strbuf_release(&a);
    strbuf_release(&b);
}

int estimate_arm(const struct plan *plan, const struct op_case *c, const struct sab_kernel *kernel,
                 const uint32_t *choices, const struct device_info *info, struct estimate *out,
                 char *text, size_t size, struct err *err)
{
    struct sab_message msg = {text, size};
    struct op_problem p;
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_problem problem;
    struct op_cost cost;
    uint64_t workspace = 0;
    double overhead_s;

    memset(out, 0, sizeof(*out));
    text[0] = '\0';
    if (c->op->describe(c, &p, err) || c->op->cost(c, &cost, err))
        return -1;
    work_metadata(&p, info, choices, kernel->options_nr, tensors, &problem);
    int status = kernel->supports(&problem, &msg);
    if (status) {
        out->status = ESTIMATE_SKIP;
        return 0;
    }
    if (kernel->workspace_size(&problem, &workspace, &msg)) {
        out->status = ESTIMATE_SKIP;
        return 0;
    }
    out->bytes = (double)work_bytes(&p) + (double)workspace;
    out->call_s = call_seconds(&cost, kernel, info, &overhead_s);
    double pause = info->kind == SAB_DEVICE_CUDA && plan->set.pace == PACE_BURST ? 5 : 1;
    out->sample_s = (out->call_s + overhead_s) * pause;
    if (info->memory_free_bytes && out->bytes > 0.95 * (double)info->memory_free_bytes) {
        out->status = ESTIMATE_OOM;
        say_bytes(text, size, out->bytes, (double)info->memory_free_bytes);
    } else if (out->sample_s > plan->set.max_time_s) {
        out->status = ESTIMATE_SKIP;
        say_seconds(text, size, out->sample_s, plan->set.max_time_s);
    }
    return 0;
}

int estimate_rounds(const struct plan *plan, size_t arms_nr)
{
    return (int)order_round_up((size_t)plan->set.rounds, arms_nr);
}
