/*
 * The oracle's values of a work: chosen, computed once, kept for later workers of the run.
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

static char *signature_of(const struct sab_kernel *kernel)
{
    struct strbuf sb = STRBUF_INIT;
    for (uint32_t i = 0; i < kernel->attributes_nr; i++)
        strbuf_addf(&sb, "%s%s=%s", i ? ";" : "", kernel->attributes[i].name,
                    kernel->attributes[i].value);
    return strbuf_detach(&sb);
}

/* What the values depend on: operator, axes, seed, slices, attributes, inputs that were made. */
static uint64_t key_of(const struct work *w, uint64_t made, const char *signature,
                       const struct op_slices *s)
{
    uint64_t h = rng_hash(rng_seed_of(w->c.seed, w->c.op->name), made, 0);
    char buf[64];
    for (size_t i = 0; i < w->c.op->axes_nr; i++)
        h = rng_seed_of(h, op_case_text(&w->c, i, buf, sizeof(buf)));
    h = rng_seed_of(h, signature);
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

/* ---- inputs that were made ---- */

static int made_digest(const struct work *w, uint64_t *digest, struct err *err)
{
    *digest = 0;
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        uint64_t one;

        if (!w->made[t])
            continue;
        if (device_digest(w->dev, w->tensor[t].data, w->p.tensor[t].bytes, &one, err))
            return -1;
        *digest = rng_hash(*digest, t, one);
    }
    return 0;
}

/* Copies of them on the host. The caller frees each. */
static int made_fetch(const struct work *w, struct op_buffers *to, struct err *err)
{
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        const uint64_t bytes = w->p.tensor[t].bytes;

        if (!w->made[t])
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

static int compute(struct work *w, const struct sab_kernel *kernel, int threads,
                   struct op_slices *s, struct err *err)
{
    struct op_buffers buffers = {.problem = &w->p};
    struct op_source src;
    int ret = made_fetch(w, &buffers, err);

    op_source_buffers(&src, &buffers);
    if (!ret)
        ret = w->c.op->oracle(&w->p, &src, kernel->attributes, kernel->attributes_nr, threads, s,
                              err);
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free((void *)(uintptr_t)buffers.data[t]);
    return ret;
}

static int oracle_fill(struct work *w, const struct sab_kernel *kernel, const char *signature,
                       const char *scratch, int threads, struct op_slices *s, struct err *err)
{
    char path[4096];
    uint64_t made, key;

    if (made_digest(w, &made, err))
        return -1;
    key = key_of(w, made, signature, s);
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

int work_oracle_get(struct work *w, const struct sab_kernel *kernel, const char *scratch,
                    double budget_s, const struct op_slices **out, struct err *err)
{
    char *signature = signature_of(kernel);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (!signature)
        return err_memory(err);
    for (size_t i = 0; i < w->oracles_nr; i++) {
        /* A kernel without attributes is held against the exact values alone: any set has them. */
        if (!*signature || !strcmp(w->oracle[i].signature, signature)) {
            *out = &w->oracle[i].slices;
            free(signature);
            return 0;
        }
    }
    struct work_oracle *grown = realloc(w->oracle, (w->oracles_nr + 1) * sizeof(*grown));
    if (!grown) {
        free(signature);
        return err_memory(err);
    }
    w->oracle = grown;
    struct work_oracle *o = &w->oracle[w->oracles_nr++];
    o->signature = signature;
    op_slices_init(&o->slices);
    double flops = budget_s * (double)cores * ORACLE_FLOPS_PER_THREAD_S;
    if (w->c.op->slices(&w->c, flops, &o->slices, err) ||
        oracle_fill(w, kernel, signature, scratch, (int)cores, &o->slices, err))
        return -1;
    *out = &o->slices;
    return 0;
}
