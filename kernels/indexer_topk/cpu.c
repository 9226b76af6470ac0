/*
 * cpu.c - indexer_topk/cpu: a row a thread. The top 11 bits of the scores' order are counted,
 * columns above the bucket of the n-th largest are taken, those inside go on to the next 11 bits
 * and then to the last 10; what is left then is equal, and the tie rule cuts it. Every pass keeps
 * columns in ascending order, so neither the number of threads nor their order changes a bit.
 */
#include <stdlib.h>
#include <string.h>
#if defined(_OPENMP)
#    include <omp.h>
#endif

#include "indexer_topk_call.h"
#include "row.h"

#define BUCKETS 2048
#define LANES   4 /* counters of one bucket: equal neighbours do not wait for each other */

struct cpu_plan {
    struct indexer_topk_call call;
    int threads;
    int32_t *candidates; /* [threads][columns] */
};

struct cpu_row {
    const void *in;
    int64_t length, n;
    int32_t *out; /* [n] */
    int64_t taken;
    int32_t *candidates;
    int64_t candidates_nr;
};

/* 32 bits that order like the values; of a 16-bit type the upper half alone. */
static inline __attribute__((always_inline)) uint32_t key_at(const void *in, int32_t dtype,
                                                             int64_t i)
{
    if (dtype == SAB_F32)
        return indexer_topk_key32(((const uint32_t *)in)[i]);
    return indexer_topk_key16(((const uint16_t *)in)[i]) << 16;
}

/* The bucket that holds the `left`-th largest; *left becomes its place inside. */
static int64_t bucket_find(int64_t count[BUCKETS][LANES], int64_t *left)
{
    int64_t bucket = BUCKETS - 1;

    for (;; bucket--) {
        const int64_t n = count[bucket][0] + count[bucket][1] + count[bucket][2] + count[bucket][3];

        if (n >= *left)
            return bucket;
        *left -= n;
    }
}

static inline __attribute__((always_inline)) void first_pass(struct cpu_row *r, int32_t dtype)
{
    int64_t count[BUCKETS][LANES], left = r->n, bucket;

    memset(count, 0, sizeof(count));
    for (int64_t i = 0; i < r->length; i++)
        count[key_at(r->in, dtype, i) >> 21][i % LANES]++;
    bucket = bucket_find(count, &left);
    for (int64_t i = 0; i < r->length; i++) {
        const int64_t at = key_at(r->in, dtype, i) >> 21;

        if (at > bucket)
            r->out[r->taken++] = (int32_t)i;
        else if (at == bucket)
            r->candidates[r->candidates_nr++] = (int32_t)i;
    }
}

/* The same among the candidates, by the bits from `shift` on. */
static inline __attribute__((always_inline)) void further_pass(struct cpu_row *r, int32_t dtype,
                                                               int shift)
{
    int64_t count[BUCKETS][LANES], left = r->n - r->taken, bucket, kept = 0;

    if (r->candidates_nr == left)
        return;
    memset(count, 0, sizeof(count));
    for (int64_t i = 0; i < r->candidates_nr; i++)
        count[key_at(r->in, dtype, r->candidates[i]) >> shift & (BUCKETS - 1)][i % LANES]++;
    bucket = bucket_find(count, &left);
    for (int64_t i = 0; i < r->candidates_nr; i++) {
        const int32_t id = r->candidates[i];
        const int64_t at = key_at(r->in, dtype, id) >> shift & (BUCKETS - 1);

        if (at > bucket)
            r->out[r->taken++] = id;
        else if (at == bucket)
            r->candidates[kept++] = id;
    }
    r->candidates_nr = kept;
}

static inline __attribute__((always_inline)) void row_select(struct cpu_row *r, int32_t dtype,
                                                             int32_t tie_break)
{
    int64_t left, from;

    first_pass(r, dtype);
    further_pass(r, dtype, 10);
    /* the lowest ten bits, and one that all candidates share */
    further_pass(r, dtype, 0);
    left = r->n - r->taken;
    from = tie_break == TIE_LARGER_ID ? r->candidates_nr - left : 0;
    memcpy(r->out + r->taken, r->candidates + from, (size_t)left * sizeof(*r->out));
}

static void values_write(const struct indexer_topk_call *c, const struct cpu_row *r, int64_t row)
{
    for (int64_t j = 0; j < c->slots; j++) {
        if (c->dtype == SAB_F32)
            ((uint32_t *)c->values)[row * c->slots + j] =
                j < r->n ? ((const uint32_t *)r->in)[r->out[j]] : UINT32_C(0xff800000);
        else
            ((uint16_t *)c->values)[row * c->slots + j] =
                j < r->n ? ((const uint16_t *)r->in)[r->out[j]]
                         : (uint16_t)(c->dtype == SAB_FP16 ? 0xfc00 : 0xff80);
    }
}

static void row_run(const struct indexer_topk_call *c, int64_t row, int32_t *candidates)
{
    struct cpu_row r = {.candidates = candidates};

    r.in = (const char *)c->values_in + (size_t)(row * c->stride) * (size_t)c->element_bytes;
    r.length = indexer_topk_length(c, row);
    r.n = r.length < c->slots ? r.length : c->slots;
    r.out = c->indices + row * c->slots;
    if (r.length <= c->slots)
        for (int64_t j = 0; j < r.n; j++)
            r.out[j] = (int32_t)j;
    else if (c->dtype == SAB_F32)
        row_select(&r, SAB_F32, c->tie_break);
    else
        row_select(&r, SAB_BF16, c->tie_break); /* fp16 orders alike */
    for (int64_t j = r.n; j < c->slots; j++)
        r.out[j] = -1;
    if (c->values)
        values_write(c, &r, row);
}

static int check(const struct sab_problem *problem, unsigned flags, struct indexer_topk_call *call,
                 struct sab_message *msg)
{
    const int status = indexer_topk_call_init(call, problem, SAB_DEVICE_CPU, flags, msg);

    if (status != SAB_OK)
        return status;
    if (problem->threads < 1)
        return sab_say(msg, SAB_INVALID, "threads is %d, expected at least 1", problem->threads);
    return SAB_OK;
}

static int cpu_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    struct indexer_topk_call call;

    return check(problem, SAB_VALIDATE_METADATA, &call, msg);
}

static int cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    *bytes = 0;
    return cpu_supports(problem, msg);
}

static void cpu_free(void *plan)
{
    struct cpu_plan *p = plan;

    if (!p)
        return;
    free(p->candidates);
    free(p);
}

static int cpu_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    struct indexer_topk_call call;
    const int status = check(problem, SAB_VALIDATE_POINTERS, &call, msg);
    struct cpu_plan *p;

    (void)workspace;
    *plan = NULL;
    if (status != SAB_OK)
        return status;
    p = calloc(1, sizeof(*p));
    if (!p)
        return sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));
    p->call = call;
    p->threads = call.rows < problem->threads ? (int)call.rows : problem->threads;
    p->candidates = malloc((size_t)p->threads * (size_t)call.columns * sizeof(*p->candidates));
    if (!p->candidates) {
        cpu_free(p);
        return sab_say(msg, SAB_FAILED, "no memory for the candidates of %d threads",
                       problem->threads);
    }
    *plan = p;
    return SAB_OK;
}

static int cpu_launch(void *plan, void *stream, struct sab_message *msg)
{
    const struct cpu_plan *p = plan;

    (void)stream;
    (void)msg;
#if defined(_OPENMP)
#    pragma omp parallel for schedule(dynamic) num_threads(p->threads)
#endif
    for (int64_t row = 0; row < p->call.rows; row++) {
#if defined(_OPENMP)
        const int64_t thread = omp_get_thread_num();
#else
        const int64_t thread = 0;
#endif
        row_run(&p->call, row, p->candidates + thread * p->call.columns);
    }
    return SAB_OK;
}

extern const struct sab_kernel indexer_topk_cpu_row;

const struct sab_kernel indexer_topk_cpu_row = {
    SAB_ROW(indexer_topk),
    .name = "cpu",
    .help = "all cores, a row a thread: counts 11 bits at a time",
    .device = SAB_DEVICE_CPU,
    .targets = "",
    .flags = SAB_KERNEL_DETERMINISTIC,
    .supports = cpu_supports,
    .workspace_size = cpu_workspace_size,
    .plan = cpu_plan,
    .launch = cpu_launch,
    .free = cpu_free,
};
