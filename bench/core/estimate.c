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

/* Adds one step; a kernel that does not serve it says why in text. */
static int add_step(const struct chain_step *at, const struct arm_step *step,
                    const struct device_info *info, struct estimate *out, double *overhead_s,
                    char *text, size_t size, struct err *err)
{
    struct sab_message msg = {text, size};
    struct sab_tensor tensors[SAB_MAX_TENSORS];
    struct sab_problem problem;
    struct op_cost cost;
    uint64_t workspace = 0;
    double overhead;

    if (at->c.op->cost(&at->c, &cost, err))
        return -1;
    work_metadata(&at->p, info, step->choices, step->kernel->options_nr, tensors, &problem);
    if (step->kernel->supports(&problem, &msg) ||
        step->kernel->workspace_size(&problem, &workspace, &msg)) {
        out->status = ESTIMATE_SKIP;
        return 0;
    }
    out->bytes += (double)workspace;
    out->call_s += call_seconds(&cost, step->kernel, info, &overhead);
    *overhead_s = fmax(*overhead_s, overhead);
    return 0;
}

static void name_step(const struct sab_kernel *k, char *text, size_t size)
{
    char why[512];

    snprintf(why, sizeof(why), "%s", text);
    snprintf(text, size, "step '%s/%s': %s", k->op, k->name, why);
}

int estimate_arm(const struct plan *plan, const struct chain *chain, const struct arm_steps *steps,
                 const struct device_info *info, struct estimate *out, char *text, size_t size,
                 struct err *err)
{
    double overhead_s = 0;

    memset(out, 0, sizeof(*out));
    text[0] = '\0';
    for (size_t i = 0; i < chain->nr; i++) {
        if (add_step(&chain->step[i], &steps->item[i], info, out, &overhead_s, text, size, err))
            return -1;
        if (out->status == ESTIMATE_OK)
            continue;
        if (chain->nr > 1)
            name_step(steps->item[i].kernel, text, size);
        return 0;
    }
    out->bytes += (double)work_bytes(chain);
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
