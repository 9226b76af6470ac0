/*
 * work_oracle.c - the oracle's values of a work: chosen, computed once for a set of inputs, kept
 * for later workers of the run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "rng.h"
#include "strbuf.h"
#include "work.h"

/* Oracle work that one host thread does in a second, in the model's FLOPs: double precision, with
 * inputs decoded element by element. Conservative: the budget is a promise. */
#define ORACLE_FLOPS_PER_THREAD_S 4e8

/* Stands for attributes where the values are those of unquantised inputs: no kernel has it. */
#define SIGNATURE_RAW "unquantised"

static char *signature_of(const struct sab_kernel *kernel)
{
    struct strbuf sb = STRBUF_INIT;
    for (uint32_t i = 0; i < kernel->attributes_nr; i++)
        strbuf_addf(&sb, "%s%s=%s", i ? ";" : "", kernel->attributes[i].name,
                    kernel->attributes[i].value);
    return strbuf_detach(&sb);
}

/* What the values depend on: operator, axes, seed, slices, attributes, and what earlier steps
 * wrote.
 */
static uint64_t key_of(const struct work *w, const struct work_oracle *o)
{
    const struct op_slices *s = &o->slices;
    uint64_t h = rng_hash(rng_seed_of(w->c.seed, w->c.op->name), o->inputs, w->fed);
    char buf[64];
    for (size_t i = 0; i < w->c.op->axes_nr; i++)
        h = rng_seed_of(h, op_case_text(&w->c, i, buf, sizeof(buf)));
    h = rng_seed_of(h, o->signature);
    if (w->c.shape_seed)
        h = rng_hash(h, w->c.shape_seed, 0);
    for (size_t i = 0; i < s->nr; i++)
        h = rng_hash(h, (uint64_t)s->item[i].at, (uint64_t)s->item[i].n);
    return h;
}

static size_t values_nr(const struct op_slices *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->nr; i++)
        n += (size_t)s->item[i].n;
    return n;
}

/* The file is: key, what stands behind ref (enum), then per slice ref and each of those. */
enum cached { CACHED_EMULATED = 1, CACHED_WITHIN = 2 };

static uint64_t cached_of(const struct op_slices *s)
{
    if (!s->nr)
        return 0;
    return (s->item[0].emulated ? CACHED_EMULATED : 0u) | (s->item[0].within ? CACHED_WITHIN : 0u);
}

static bool take(double **values, size_t bytes, const char **from)
{
    *values = malloc(bytes + 1);
    if (!*values)
        return false;
    memcpy(*values, *from, bytes);
    *from += bytes;
    return true;
}

static int cache_read(const char *path, uint64_t key, struct op_slices *s)
{
    struct strbuf sb = STRBUF_INIT;
    uint64_t head[2];
    int ret = -1;

    if (!file_exists(path) || file_read(path, &sb, SIZE_MAX / 2, NULL))
        goto out;
    if (sb.len < sizeof(head))
        goto out;
    memcpy(head, sb.buf, sizeof(head));
    const size_t columns = 1 + !!(head[1] & CACHED_EMULATED) + !!(head[1] & CACHED_WITHIN);
    if (head[0] != key || sb.len != values_nr(s) * sizeof(double) * columns + sizeof(head))
        goto out;
    const char *p = sb.buf + sizeof(head);
    for (size_t i = 0; i < s->nr; i++) {
        const size_t bytes = (size_t)s->item[i].n * sizeof(double);
        if (!take(&s->item[i].ref, bytes, &p) ||
            (head[1] & CACHED_EMULATED && !take(&s->item[i].emulated, bytes, &p)) ||
            (head[1] & CACHED_WITHIN && !take(&s->item[i].within, bytes, &p)))
            goto out;
    }
    ret = 0;
out:
    strbuf_release(&sb);
    return ret;
}

static void cache_write(const char *path, uint64_t key, const struct op_slices *s)
{
    struct strbuf sb = STRBUF_INIT;
    uint64_t head[2] = {key, cached_of(s)};

    strbuf_add(&sb, head, sizeof(head));
    for (size_t i = 0; i < s->nr; i++) {
        const size_t bytes = (size_t)s->item[i].n * sizeof(double);
        strbuf_add(&sb, s->item[i].ref, bytes);
        if (head[1] & CACHED_EMULATED)
            strbuf_add(&sb, s->item[i].emulated, bytes);
        if (head[1] & CACHED_WITHIN)
            strbuf_add(&sb, s->item[i].within, bytes);
    }
    /* A full disk only costs the next worker its time. */
    if (!sb.oom)
        file_write(path, sb.buf, sb.len, NULL);
    strbuf_release(&sb);
}

/* ---- inputs that earlier steps wrote, or kernels of other operators ---- */

static bool is_written(const struct work *w, uint32_t t)
{
    const struct work_feed *feed = &w->feed[t];

    return w->made[t] || (feed->from && feed->from->tensor[feed->tensor].role != SAB_IN);
}

int work_inputs_digest(const struct work *w, uint64_t *digest, struct err *err)
{
    *digest = 0;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        uint64_t one;

        if (!is_written(w, t))
            continue;
        if (device_digest(w->dev, w->tensor[t].data, w->p.tensor[t].bytes, &one, err))
            return -1;
        *digest = rng_hash(*digest, t, one);
    }
    return 0;
}

/* Copies of them on the host. The caller frees each. */
static int inputs_fetch(const struct work *w, struct op_buffers *to, struct err *err)
{
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        const uint64_t bytes = w->p.tensor[t].bytes;

        if (!is_written(w, t))
            continue;
        void *copy = malloc(bytes + 1);
        if (!copy)
            return err_memory(err);
        to->data[t] = copy;
        if (device_download(w->dev, copy, w->tensor[t].data, bytes, err))
            return -1;
    }
    return 0;
}

static void inputs_drop(struct op_buffers *b)
{
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free((void *)(uintptr_t)b->data[t]);
}

/* ---- unquantised inputs ---- */

/* Where the unquantised form of each input is described: a tensor with a recipe. */
struct raw_inputs {
    struct op_source of[SAB_MAX_TENSORS];
    uint32_t tensor[SAB_MAX_TENSORS];
    bool known[SAB_MAX_TENSORS];
};

static int raw_read(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    const struct raw_inputs *raw = ctx;

    if (tensor >= SAB_MAX_TENSORS || !raw->known[tensor])
        return -1;
    return raw->of[tensor].read(raw->of[tensor].ctx, raw->tensor[tensor], at, n, dst);
}

/* False where an input was not written by a step that has the raw form as an input of its own. */
static bool raw_find(const struct work *w, struct raw_inputs *raw)
{
    const struct op_model *op = w->c.op;

    memset(raw, 0, sizeof(*raw));
    for (size_t i = 0; i < op->quantised_nr; i++) {
        const int32_t t = sab_tensor_find(w->p.spec, op->quantised[i].input);
        const struct work *from = t < 0 ? NULL : w->feed[t].from;
        const int32_t r = from ? sab_tensor_find(from->p.spec, op->quantised[i].raw) : -1;

        if (r < 0 || from->p.tensor[r].recipe.kind == RECIPE_NONE || from->fed)
            return false;
        op_source_recipes(&raw->of[t], &from->p);
        raw->tensor[t] = (uint32_t)r;
        raw->known[t] = true;
    }
    return true;
}

static bool accuracy_known(const struct work *w)
{
    struct raw_inputs raw;

    return w->c.op->accuracy && raw_find(w, &raw);
}

static int accuracy_compute(const struct work *w, int threads, struct op_slices *s, struct err *err)
{
    struct raw_inputs raw;
    struct op_source src, from = {.ctx = &raw, .read = raw_read};

    raw_find(w, &raw);
    op_source_recipes(&src, &w->p);
    return w->c.op->accuracy(&w->p, &src, &from, threads, s, err);
}

/* ---- values ---- */

/* Who computes: the operator's oracle by a kernel's attributes, or (NULL) its accuracy hook. */
static int compute(struct work *w, const struct sab_kernel *kernel, int threads,
                   struct op_slices *s, struct err *err)
{
    struct op_buffers buffers = {.problem = &w->p};
    struct op_source src;
    int ret = -1;

    if (!kernel)
        return accuracy_compute(w, threads, s, err);
    if (inputs_fetch(w, &buffers, err))
        goto out;
    op_source_buffers(&src, &buffers);
    ret = w->c.op->oracle(&w->p, &src, kernel->attributes, kernel->attributes_nr, threads, s, err);
out:
    inputs_drop(&buffers);
    return ret;
}

int work_examine(struct work *w, const struct op_slices *slices, judge_read_fn read,
                 struct judgement *out, struct err *err)
{
    struct op_buffers buffers = {.problem = &w->p};
    struct op_source src;
    int ret = -1;

    if (!w->c.op->examine || !out->pass)
        return 0;
    if (!inputs_fetch(w, &buffers, err)) {
        op_source_buffers(&src, &buffers);
        ret = w->c.op->examine(&w->p, &src, slices, read, w, out, err);
    }
    inputs_drop(&buffers);
    return ret;
}

static int oracle_fill(struct work *w, const struct sab_kernel *kernel, const char *scratch,
                       int threads, struct work_oracle *o, struct err *err)
{
    struct op_slices *s = &o->slices;
    char path[4096];
    uint64_t key = key_of(w, o);

    snprintf(path, sizeof(path), "%s/oracle-%016llx", scratch, (unsigned long long)key);
    if (*scratch && !cache_read(path, key, s))
        return 0;
    for (size_t i = 0; i < s->nr; i++) {
        free(s->item[i].ref);
        free(s->item[i].emulated);
        free(s->item[i].within);
        s->item[i].ref = s->item[i].emulated = s->item[i].within = NULL;
    }
    if (compute(w, kernel, threads, s, err))
        return -1;
    if (*scratch)
        cache_write(path, key, s);
    return 0;
}

static struct work_oracle *oracle_find(struct work *w, const char *signature)
{
    for (size_t i = 0; i < w->oracles_nr; i++)
        /* A kernel without attributes is held against the exact values alone: any set has them. */
        if (!strcmp(w->oracle[i].signature, signature) ||
            (!*signature && strcmp(w->oracle[i].signature, SIGNATURE_RAW)))
            return &w->oracle[i];
    return NULL;
}

/* A new one without slices; takes the signature. */
static struct work_oracle *oracle_add(struct work *w, char *signature, struct err *err)
{
    struct work_oracle *grown = realloc(w->oracle, (w->oracles_nr + 1) * sizeof(*grown));

    if (!grown) {
        free(signature);
        err_memory(err);
        return NULL;
    }
    w->oracle = grown;
    struct work_oracle *o = &w->oracle[w->oracles_nr++];
    o->signature = signature;
    o->inputs = 0;
    op_slices_init(&o->slices);
    return o;
}

/* Takes the signature. */
static int values_get(struct work *w, const struct sab_kernel *kernel, char *signature,
                      uint64_t inputs, const char *scratch, double budget_s,
                      const struct op_slices **out, struct err *err)
{
    struct work_oracle *o = signature ? oracle_find(w, signature) : NULL;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (!signature)
        return err_memory(err);
    if (o && o->inputs == inputs) {
        *out = &o->slices;
        free(signature);
        return 0;
    }
    if (o) {
        free(o->signature);
        o->signature = signature;
        op_slices_release(&o->slices);
    } else {
        o = oracle_add(w, signature, err);
        if (!o)
            return -1;
    }
    o->inputs = inputs;
    double flops = budget_s * (double)cores * ORACLE_FLOPS_PER_THREAD_S;
    if (w->c.op->slices(&w->c, flops, &o->slices, err) ||
        oracle_fill(w, kernel, scratch, (int)cores, o, err))
        return -1;
    *out = &o->slices;
    return 0;
}

int work_oracle_get(struct work *w, const struct sab_kernel *kernel, const char *scratch,
                    double budget_s, const struct op_slices **out, struct err *err)
{
    uint64_t inputs;

    if (work_inputs_digest(w, &inputs, err))
        return -1;
    return values_get(w, kernel, signature_of(kernel), inputs, scratch, budget_s, out, err);
}

int work_accuracy_get(struct work *w, const char *scratch, double budget_s,
                      const struct op_slices **out, struct err *err)
{
    *out = NULL;
    if (!accuracy_known(w))
        return 0;
    return values_get(w, NULL, strdup(SIGNATURE_RAW), 0, scratch, budget_s, out, err);
}
