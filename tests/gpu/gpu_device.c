/*
 * gpu_device.c - device cuda against device cpu, and what its samples say of known launches.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_kernels.h"
#include "gpu_tap.h"

#define SPIN_NS  20000
#define ELEMENTS (1001 * 131)
#define GAP_MAX_NS                                                                                 \
    5000 /* between two kernels enqueued back to back; a host's launch costs more                  \
          */

struct pair {
    struct device *cpu, *cuda;
    void *host, *there;
};

/* ---- equal bits on both sides ---------------------------------------------------------------- */

static const struct recipe row_recipe[] = {
    {.kind = RECIPE_BLOCK_ROWS,
     .dtype = SAB_I32,
     .seed = 7,
     .rank = 4,
     .shape = {2, 3, 70, 33},
     .p = {[ROWS_PATTERN] = PATTERN_TOPK,
           [ROWS_BLOCKS] = 70,
           [ROWS_COUNTS] = COUNTS_VARYING,
           [ROWS_SELECTED] = 33,
           [ROWS_COUNT_SEED] = 3}},
    {.kind = RECIPE_BLOCK_ROWS,
     .dtype = SAB_I32,
     .seed = 8,
     .rank = 4,
     .shape = {2, 3, 70, 33},
     .p = {[ROWS_PATTERN] = PATTERN_CONTIGUOUS,
           [ROWS_BLOCKS] = 70,
           [ROWS_COUNTS] = COUNTS_PER_ROW,
           [ROWS_SELECTED] = 33,
           [ROWS_COUNT_SEED] = 4}},
    {.kind = RECIPE_BLOCK_COUNTS,
     .dtype = SAB_I32,
     .seed = 9,
     .rank = 3,
     .shape = {2, 3, 700},
     .p = {[ROWS_BLOCKS] = 70,
           [ROWS_COUNTS] = COUNTS_VARYING,
           [ROWS_SELECTED] = 33,
           [ROWS_COUNT_SEED] = 3}},
    {.kind = RECIPE_BLOCK_SIZES, .dtype = SAB_I32, .seed = 1, .rank = 3, .shape = {3, 4, 50}},
    {.kind = RECIPE_SAGE_V,
     .dtype = SAB_E4M3,
     .seed = 5,
     .rank = 4,
     .shape = {2, 3, 128, 192},
     .p = {[SAGE_V_TOKENS] = 150, [SAGE_V_SIZES] = 2},
     .f = {1, 0}},
    {.kind = RECIPE_OUTLIER,
     .dtype = SAB_BF16,
     .seed = 6,
     .rank = 4,
     .shape = {2, 3, 65, 128},
     .p = {37},
     .f = {1, 0, 1000}},
    {.kind = RECIPE_CYCLE,
     .dtype = SAB_F32,
     .rank = 1,
     .shape = {133},
     .p = {3, 0x3f800000, 0xff800000, 0x7f61e1e1}},
    {.kind = RECIPE_LINE, .dtype = SAB_F32, .rank = 1, .shape = {133}, .f = {-97.3f, 2}},
    {.kind = RECIPE_BLEND,
     .dtype = SAB_FP16,
     .seed = 11,
     .rank = 2,
     .shape = {300, 512},
     .f = {0.1f, 0.1f}},
    {.kind = RECIPE_POISONED,
     .dtype = SAB_BF16,
     .seed = 12,
     .rank = 2,
     .shape = {100, 576},
     .p = {99},
     .f = {0.1f}},
    {.kind = RECIPE_ODD_ROWS,
     .dtype = SAB_BF16,
     .seed = 16,
     .rank = 2,
     .shape = {101, 576},
     .f = {0.1f, 0.065f, 3.4f}},
    {.kind = RECIPE_ODD_ROWS,
     .dtype = SAB_FP16,
     .seed = 17,
     .rank = 2,
     .shape = {101, 512},
     .f = {0.1f, 0.065f, 3.4f}},
    {.kind = RECIPE_BLOCK_TOKENS,
     .dtype = SAB_FP16,
     .seed = 14,
     .rank = 4,
     .shape = {2, 2, 150, 128},
     .p = {[TOKENS_SIZES] = 3, [TOKENS_GROUP] = 2, [TOKENS_POISON] = 0x7e00},
     .f = {1, 0}},
    {.kind = RECIPE_LENGTHS,
     .dtype = SAB_I32,
     .rank = 1,
     .shape = {1000},
     .p = {[IDS_SLOTS] = 65, [IDS_LENGTHS] = LENGTHS_RAGGED, [IDS_LENGTH_SEED] = 6}},
};

/* Every pattern, slots behind the length put aside in every other one. */
static struct recipe ids_recipe(int64_t pattern)
{
    struct recipe r = {.kind = RECIPE_IDS,
                       .dtype = SAB_I32,
                       .seed = 13,
                       .rank = 2,
                       .shape = {500, 65},
                       .p = {[IDS_SLOTS] = 65, [IDS_LENGTH_SEED] = 6, [IDS_STEP] = 13}};

    r.p[IDS_PATTERN] = pattern;
    r.p[IDS_ROWS] = 1001;
    r.p[IDS_DOMAIN] = 1000;
    r.p[IDS_LENGTHS] = LENGTHS_RAGGED;
    r.p[IDS_BEHIND] = pattern % 2 ? 1001 : 0;
    return r;
}

/* Every distribution of scores in every type, with lengths of each kind in turn. */
static struct recipe scores_recipe(int64_t data, int32_t dtype)
{
    return (struct recipe){.kind = RECIPE_SCORES,
                           .dtype = dtype,
                           .seed = 14,
                           .rank = 2,
                           .shape = {84, 1003},
                           .p = {[SCORES_DATA] = data,
                                 [SCORES_COLUMNS] = 1003,
                                 [SCORES_SLOTS] = 65,
                                 [SCORES_NEXT_N] = 2,
                                 [SCORES_LENGTHS] = data % (ROW_LENGTHS_EMPTY + 1),
                                 [SCORES_LENGTH_SEED] = 7,
                                 [SCORES_ROWS] = 84,
                                 [SCORES_TOKENS] = 28,
                                 [SCORES_RATIO] = 4,
                                 [SCORES_OFFSET] = 3900,
                                 [SCORES_SHARD] = 2}};
}

static void recipe_case(struct tap *t, struct pair *p, const struct recipe *r)
{
    uint64_t bytes = numfmt_size(r->dtype), here = 0, there = 1;
    struct err err = ERR_INIT;

    for (int32_t i = 0; i < r->rank; i++)
        bytes *= (uint64_t)r->shape[i];
    if (tap_try(t, device_generate(p->cpu, r, p->host, &err), "generate on cpu", &err) &&
        tap_try(t, device_digest(p->cpu, p->host, bytes, &here, &err), "digest on cpu", &err) &&
        tap_try(t, device_generate(p->cuda, r, p->there, &err), "generate on cuda", &err) &&
        tap_try(t, device_digest(p->cuda, p->there, bytes, &there, &err), "digest on cuda", &err))
        tap_ok(t, here == there, "recipe kind %u dtype %d: digest %016llx on cpu, %016llx on cuda",
               (unsigned)r->kind, (int)r->dtype, (unsigned long long)here,
               (unsigned long long)there);
}

static void test_recipes(struct tap *t, struct pair *p)
{
    struct recipe r = {.seed = 42, .rank = 2, .shape = {1001, 131}, .p = {-3, 5}, .f = {0.5f, 1}};

    for (uint32_t kind = RECIPE_BYTES; kind <= RECIPE_RANDOM; kind++) {
        for (int32_t dtype = SAB_I8; dtype < SAB_DTYPE_NR; dtype++) {
            r.kind = kind;
            r.dtype = dtype;
            recipe_case(t, p, &r);
        }
    }
    for (size_t i = 0; i < sizeof(row_recipe) / sizeof(row_recipe[0]); i++)
        recipe_case(t, p, &row_recipe[i]);
    for (int64_t pattern = IDS_UNIQUE; pattern <= IDS_INVALID; pattern++) {
        r = ids_recipe(pattern);
        recipe_case(t, p, &r);
        r.p[IDS_BATCH_ROWS] = 100;
        recipe_case(t, p, &r);
        r.p[IDS_BATCH_ROWS] = 0;
        r.p[IDS_DOMAIN] = 500;
        r.p[IDS_ODD_FROM] = 33;
        recipe_case(t, p, &r);
    }
    for (int64_t data = SCORES_UNIFORM; data < SCORES_KINDS_NR; data++) {
        static const int32_t dtypes[] = {SAB_F32, SAB_FP16, SAB_BF16};

        for (int i = 0; i < 3; i++) {
            r = scores_recipe(data, dtypes[i]);
            recipe_case(t, p, &r);
        }
        r.kind = RECIPE_ROW_LENGTHS;
        r.dtype = SAB_I32;
        r.rank = 1;
        r.shape[0] = 42;
        recipe_case(t, p, &r);
    }
    r = (struct recipe){.kind = RECIPE_SEGMENTS,
                        .dtype = SAB_I32,
                        .seed = 15,
                        .rank = 1,
                        .shape = {101},
                        .p = {33, 100}};
    recipe_case(t, p, &r);
}

static void test_digest_lengths(struct tap *t, struct pair *p)
{
    static const uint64_t length[] = {0, 1, 7, 8, 9, 4096, 300001};
    struct err err = ERR_INIT;
    uint64_t here, there;

    if (!tap_try(t, device_upload(p->cuda, p->there, p->host, 300004, &err), "upload", &err))
        return;
    for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
        for (int shift = 0; shift < 4; shift += 3) {
            device_digest(p->cpu, (char *)p->host + shift, length[i], &here, &err);
            if (tap_try(t,
                        device_digest(p->cuda, (char *)p->there + shift, length[i], &there, &err),
                        "digest", &err))
                tap_ok(t, here == there, "digest of %llu bytes at offset %d",
                       (unsigned long long)length[i], shift);
        }
    }
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

static void compare_case(struct tap *t, struct pair *p, int32_t dtype)
{
    const uint64_t bytes = (uint64_t)ELEMENTS * numfmt_size(dtype);
    char *got = p->host, *ref = got + bytes, *got_there = p->there, *ref_there;
    struct device_difference a, b, again;
    struct recipe r = {.kind = RECIPE_RANDOM, .dtype = dtype, .rank = 1, .shape = {ELEMENTS}};
    struct err err = ERR_INIT;

    /* Random bits hold infinities and NaN of every format that has them; a third of the elements
     * are equal. */
    r.seed = 1;
    device_generate(p->cpu, &r, got, &err);
    r.seed = 2;
    device_generate(p->cpu, &r, ref, &err);
    memcpy(got, ref, bytes / 3);
    ref_there = got_there + (bytes + 255) / 256 * 256;
    if (!tap_try(t, device_upload(p->cuda, got_there, got, bytes, &err), "upload", &err) ||
        !tap_try(t, device_upload(p->cuda, ref_there, ref, bytes, &err), "upload", &err))
        return;
    device_compare(p->cpu, dtype, got, ref, ELEMENTS, &a, &err);
    if (!tap_try(t, device_compare(p->cuda, dtype, got_there, ref_there, ELEMENTS, &b, &err),
                 "compare", &err) ||
        !tap_try(t, device_compare(p->cuda, dtype, got_there, ref_there, ELEMENTS, &again, &err),
                 "compare", &err))
        return;
    tap_ok(t,
           a.max_abs == b.max_abs && a.max_at == b.max_at && a.pattern == b.pattern &&
               a.pattern_first == b.pattern_first && a.bits == b.bits,
           "compare of dtype %d: max %g at %lld, pattern %lld first %lld, bits %lld", (int)dtype,
           b.max_abs, (long long)b.max_at, (long long)b.pattern, (long long)b.pattern_first,
           (long long)b.bits);
    tap_ok(t,
           near(a.sum_err2, b.sum_err2) && near(a.sum_ref2, b.sum_ref2) &&
               near(a.sum_got2, b.sum_got2) && fabs(a.sum_dot - b.sum_dot) <= 1e-12 * a.sum_ref2,
           "compare of dtype %d: sums", (int)dtype);
    tap_ok(t, memcmp(&b, &again, sizeof(b)) == 0, "compare of dtype %d: the same bits twice",
           (int)dtype);
}

static void test_memory(struct tap *t, struct pair *p)
{
    struct err err = ERR_INIT;
    uint64_t count = 0;
    int64_t first = 0;
    void *ptr;

    if (tap_try(t, device_fill(p->cuda, p->there, 0xa5, 1000003, &err), "fill", &err) &&
        tap_try(t, device_upload(p->cuda, (char *)p->there + 777777, "x", 1, &err), "upload",
                &err) &&
        tap_try(t, device_upload(p->cuda, (char *)p->there + 1000002, "y", 1, &err), "upload",
                &err) &&
        tap_try(t, device_count_other(p->cuda, p->there, 0xa5, 1000003, &count, &first, &err),
                "count", &err))
        tap_ok(t, count == 2 && first == 777777, "count of other bytes: %llu, first at %lld",
               (unsigned long long)count, (long long)first);
    tap_ok(t, device_alloc(p->cuda, 1ull << 50, &ptr, &err) < 0 && err.kind == ERR_MEMORY && !ptr,
           "an allocation beyond the memory: %s", err.text);
    err_clear(&err);
    tap_try(t, device_sync(p->cuda, &err), "sync after it", &err);
}

/* ---- samples ----------------------------------------------------------------------------------
 */

static int launch_spins(struct device *dev, int nr)
{
    int rc = 0;

    for (int i = 0; i < nr && rc == 0; i++)
        rc = gpu_spin(SPIN_NS, device_stream(dev));
    return rc;
}

/* Samples with 1, 2, (extra 3,) 2 and 8 spins in one round. */
static void test_spans(struct tap *t, struct pair *p, enum device_cache cache)
{
    static const int spins[] = {1, 2, 3, 2, 8};
    const struct device_prepare prepare[] = {
        {DEVICE_PREPARE_FILL, p->there, NULL, 0xff, 100000},
        {DEVICE_PREPARE_COPY, (char *)p->there + 200000, p->there, 0, 100000},
    };
    struct device_sample s[4];
    struct device_conditions c;
    struct err err = ERR_INIT;
    const char *name;

    if (!tap_try(t, device_round_begin(p->cuda, &err), "round", &err))
        return;
    for (uint64_t i = 0; i < 5; i++) {
        if (i == 3)
            device_idle(p->cuda, 3e6);
        if (!tap_try(t,
                     device_sample_begin(p->cuda, i == 2 ? DEVICE_SAMPLE_EXTRA : i, cache, prepare,
                                         2, NULL, 0, &err),
                     "sample", &err))
            return;
        tap_ok(t, launch_spins(p->cuda, spins[i]) == 0, "launch");
        tap_try(t, device_sample_end(p->cuda, &err), "sample", &err);
    }
    if (!tap_try(t, device_round_end(p->cuda, s, 4, &err), "end of round", &err))
        return;
    for (int i = 0; i < 4; i++) {
        const int nr = spins[i < 2 ? i : i + 1];

        tap_ok(t, s[i].activities == nr && s[i].id == (uint64_t)(i < 2 ? i : i + 1),
               "sample %d: %d activities of %d", i, s[i].activities, nr);
        tap_ok(t,
               s[i].busy_ns >= 0.9 * nr * SPIN_NS &&
                   s[i].span_ns - s[i].busy_ns <= GAP_MAX_NS * (nr - 1) + 1,
               "sample %d: span %.0f ns, busy %.0f ns, enqueue %.0f ns, front %.0f ns", i,
               s[i].span_ns, s[i].busy_ns, s[i].enqueue_ns, s[i].scrub_ns);
        tap_ok(t, !s[i].late, "sample %d: enqueued before it ran", i);
        tap_ok(t, s[i].run_mhz > 200 && s[i].run_mhz < 3000, "sample %d: running clock %.1f MHz", i,
               s[i].run_mhz);
        tap_ok(t, i == 0 || s[i].start_ns > s[i - 1].start_ns + s[i - 1].span_ns,
               "sample %d: in order", i);
    }
    tap_ok(t, fabs(device_now_ns(p->cuda) - s[3].start_ns) < 1e9, "start on the host's time line");
    tap_ok(t, s[2].idle_before_ns >= 3e6 && s[1].idle_before_ns == 0, "pause before a sample");
    tap_ok(t, s[1].activity_set == s[2].activity_set && s[0].activity_set != s[1].activity_set,
           "activity sets");
    name = device_activity_name(p->cuda, 0);
    tap_ok(t, name && strstr(name, "spin_kernel"), "name of an activity: %s", name ? name : "none");
    device_conditions_at(p->cuda, s[3].start_ns, &c);
    printf("# conditions: SM %.0f MHz, memory %.0f MHz, %.1f W, %.0f C, reasons 0x%llx\n", c.sm_mhz,
           c.mem_mhz, c.power_w, c.temp_c, (unsigned long long)c.throttle_bits);
}

static void test_graph(struct tap *t, struct pair *p)
{
    struct device_sample s[2];
    struct err err = ERR_INIT;
    void *graph = NULL;

    if (!tap_ok(t, gpu_graph_make(SPIN_NS, &graph, device_stream(p->cuda)) == 0, "capture"))
        return;
    if (tap_try(t, device_round_begin(p->cuda, &err), "round", &err)) {
        device_sample_begin(p->cuda, 0, DEVICE_COLD, NULL, 0, NULL, 0, &err);
        tap_ok(t, gpu_graph_launch(graph, device_stream(p->cuda)) == 0, "graph launch");
        device_sample_end(p->cuda, &err);
        device_sample_begin(p->cuda, 1, DEVICE_COLD, NULL, 0, NULL, 0, &err);
        tap_ok(t, gpu_memset(p->there, 1, 4096, device_stream(p->cuda)) == 0, "memset");
        tap_ok(t, gpu_spin(SPIN_NS, device_stream(p->cuda)) == 0, "spin");
        device_sample_end(p->cuda, &err);
        if (tap_try(t, device_round_end(p->cuda, s, 2, &err), "end of round", &err)) {
            tap_ok(t, s[0].activities == 2, "a graph launch: %d activities", s[0].activities);
            tap_ok(t, s[1].activities == 2 && s[1].span_ns > s[1].busy_ns,
                   "fill and kernel: %d activities", s[1].activities);
        }
    }
    gpu_graph_free(graph);
}

/* A sample of three launches, of 1, 4 and 2 spins. */
static void test_parts(struct tap *t, struct pair *p)
{
    static const int spins[] = {1, 4, 2};
    struct device_sample s;
    struct err err = ERR_INIT;
    double busy_ns = 0;

    if (!tap_try(t, device_round_begin(p->cuda, &err), "round", &err))
        return;
    device_sample_begin(p->cuda, 0, DEVICE_COLD, NULL, 0, NULL, 0, &err);
    for (size_t i = 0; i < 3; i++) {
        tap_try(t, device_sample_part(p->cuda, i, &err), "part", &err);
        tap_ok(t, launch_spins(p->cuda, spins[i]) == 0, "launch");
    }
    device_sample_end(p->cuda, &err);
    if (!tap_try(t, device_round_end(p->cuda, &s, 1, &err), "end of round", &err))
        return;
    tap_ok(t, s.activities == 7 && s.parts_nr == 3, "%d activities in %zu parts", s.activities,
           s.parts_nr);
    for (size_t i = 0; i < s.parts_nr; i++) {
        tap_ok(t,
               s.part[i].busy_ns >= 0.9 * spins[i] * SPIN_NS &&
                   s.part[i].span_ns - s.part[i].busy_ns <= GAP_MAX_NS * (spins[i] - 1) + 1,
               "part %zu: span %.0f ns, busy %.0f ns", i, s.part[i].span_ns, s.part[i].busy_ns);
        busy_ns += s.part[i].busy_ns;
    }
    tap_ok(t, fabs(busy_ns - s.busy_ns) < 1, "the parts make the whole: %.0f of %.0f ns", busy_ns,
           s.busy_ns);
    tap_ok(t, s.span_ns - s.busy_ns <= GAP_MAX_NS * 6 + 1, "no gap between parts: span %.0f ns",
           s.span_ns);
}

static void test_nothing_and_giving_up(struct tap *t, struct pair *p)
{
    struct device_sample s;
    struct err err = ERR_INIT;

    device_round_begin(p->cuda, &err);
    device_sample_begin(p->cuda, 5, DEVICE_COLD, NULL, 0, NULL, 0, &err);
    device_sample_end(p->cuda, &err);
    if (tap_try(t, device_round_end(p->cuda, &s, 1, &err), "empty launch", &err))
        tap_ok(t, s.activities == 0 && isnan(s.span_ns), "an empty launch has no span");
    device_round_begin(p->cuda, &err);
    device_sample_begin(p->cuda, 5, DEVICE_COLD, NULL, 0, NULL, 0, &err);
    tap_try(t, device_round_end(p->cuda, NULL, 0, &err), "a round given up", &err);
}

int main(void)
{
    const struct device_request on_cpu = {.kind = SAB_DEVICE_CPU};
    const uint64_t bytes = 8 << 20;
    struct tap t = {0, 0};
    struct pair p;
    struct err err = ERR_INIT;
    int rc = tap_open(&p.cuda);

    if (rc != 0)
        return rc;
    if (!tap_try(&t, device_open(&p.cpu, &on_cpu, &err), "device cpu", &err) ||
        !tap_try(&t, device_alloc(p.cpu, bytes, &p.host, &err), "alloc on cpu", &err) ||
        !tap_try(&t, device_alloc(p.cuda, bytes, &p.there, &err), "alloc on cuda", &err))
        return tap_end(&t);
    tap_ok(&t, device_info(p.cuda)->tick_ns > 0 && device_info(p.cuda)->tick_ns <= 1024,
           "tick of the stamps: %.0f ns", device_info(p.cuda)->tick_ns);
    test_recipes(&t, &p);
    test_digest_lengths(&t, &p);
    for (int32_t dtype = SAB_I8; dtype < SAB_DTYPE_NR; dtype++)
        compare_case(&t, &p, dtype);
    test_memory(&t, &p);
    /* The first use of a kernel loads it. */
    launch_spins(p.cuda, 1);
    tap_try(&t, device_sync(p.cuda, &err), "warm-up", &err);
    test_spans(&t, &p, DEVICE_COLD);
    test_spans(&t, &p, DEVICE_DIRTY);
    test_spans(&t, &p, DEVICE_WARM);
    test_graph(&t, &p);
    test_parts(&t, &p);
    test_nothing_and_giving_up(&t, &p);
    device_free(p.cpu, p.host);
    device_free(p.cuda, p.there);
    device_close(p.cpu);
    device_close(p.cuda);
    return tap_end(&t);
}
