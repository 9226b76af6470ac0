/*
 * test_device_cpu.c - device cpu: memory, recipes, digest, comparison, refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "stream.h"

#define MIB (1024u * 1024u)

static struct device *open_cpu(enum device_timer timer)
{
    const struct device_request request = {.kind = SAB_DEVICE_CPU, .timer = timer, .threads = 2};
    struct device *dev = NULL;
    struct err err = ERR_INIT;

    if (device_open(&dev, &request, &err) < 0)
        fail_msg("%s", err.text);
    return dev;
}

static int setup(void **state)
{
    *state = open_cpu(DEVICE_TIMER_MONOTONIC);
    return 0;
}

static int teardown(void **state)
{
    device_close(*state);
    return 0;
}

static void *alloc(struct device *dev, uint64_t bytes)
{
    struct err err = ERR_INIT;
    void *ptr;

    if (device_alloc(dev, bytes, &ptr, &err) < 0)
        fail_msg("%s", err.text);
    return ptr;
}

static void test_info(void **state)
{
    const struct device_info *info = device_info(*state);

    assert_int_equal(info->kind, SAB_DEVICE_CPU);
    assert_true(info->name[0] != '\0');
    assert_string_equal(info->uuid, "");
    assert_int_equal(info->threads, 2);
    assert_true(info->cache_bytes > 0);
    assert_true(info->memory_bytes > 0);
    assert_int_equal(info->timer, DEVICE_TIMER_MONOTONIC);
    assert_true(info->tick_ns >= 1 && info->tick_ns < 1e6);
    assert_true(info->scrub[0] != '\0');
    assert_null(device_stream(*state));
    assert_null(device_activity_name(*state, 0));
    print_message("%s, tick %.0f ns, scrub %s\n", info->name, info->tick_ns, info->scrub);
}

static void test_refusals(void **state)
{
    struct device_request request = {.kind = SAB_DEVICE_CPU, .timer = DEVICE_TIMER_CUPTI};
    struct device *dev;
    struct err err = ERR_INIT;
    void *ptr;

    assert_int_equal(device_open(&dev, &request, &err), -1);
    assert_null(dev);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "cupti"));
    device_close(NULL);

    err_clear(&err);
    assert_int_equal(device_alloc(*state, UINT64_MAX - 1, &ptr, &err), -1);
    assert_null(ptr);
    assert_int_equal(err.kind, ERR_MEMORY);
#ifndef SAB_HAVE_CUDA
    err_clear(&err);
    request.kind = SAB_DEVICE_CUDA;
    assert_int_equal(device_open(&dev, &request, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, "without CUDA"));
#endif
}

static void test_memory(void **state)
{
    static const char text[] = "0123456789abcdef";
    struct device *dev = *state;
    char *a = alloc(dev, 3 * MIB + 5), *b = alloc(dev, 0);
    char back[sizeof(text)];
    uint64_t count;
    int64_t first;

    assert_int_equal((uintptr_t)a % 4096, 0);
    assert_non_null(b);
    assert_int_equal(device_upload(dev, a, text, sizeof(text), NULL), 0);
    assert_int_equal(device_copy(dev, a + 100, a, sizeof(text), NULL), 0);
    assert_int_equal(device_download(dev, back, a + 100, sizeof(text), NULL), 0);
    assert_string_equal(back, text);

    assert_int_equal(device_fill(dev, a, 0xa5, 3 * MIB + 5, NULL), 0);
    assert_int_equal(device_count_other(dev, a, 0xa5, 3 * MIB + 5, &count, &first, NULL), 0);
    assert_int_equal(count, 0);
    assert_int_equal(first, -1);
    a[3 * MIB + 4] = 1;
    a[77777] = 2;
    assert_int_equal(device_count_other(dev, a, 0xa5, 3 * MIB + 5, &count, &first, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(first, 77777);
    assert_int_equal(device_sync(dev, NULL), 0);
    device_free(dev, a);
    device_free(dev, b);
    device_free(dev, NULL);
}

/* The digest as digest.h states it, written out anew. */
static uint64_t splitmix(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static uint64_t digest_of(const unsigned char *p, uint64_t bytes)
{
    uint64_t sum = splitmix(~0x6469676573740001ull, bytes);

    for (uint64_t i = 0; i < (bytes + 7) / 8; i++) {
        uint64_t word = 0;

        for (uint64_t k = 8 * i; k < 8 * i + 8 && k < bytes; k++)
            word |= (uint64_t)p[k] << (8 * (k - 8 * i));
        sum += splitmix(splitmix(0x6469676573740001ull, i), word);
    }
    return sum;
}

static void test_digest(void **state)
{
    static const uint64_t length[] = {0, 1, 7, 8, 9, 131072, 300001};
    struct device *dev = *state;
    unsigned char *p = alloc(dev, 300002);

    for (size_t i = 0; i < 300002; i++)
        p[i] = (unsigned char)splitmix(1, i);
    for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
        uint64_t got, moved;

        assert_int_equal(device_digest(dev, p, length[i], &got, NULL), 0);
        assert_true(got == digest_of(p, length[i]));
        assert_int_equal(device_digest(dev, p + 1, length[i], &moved, NULL), 0);
        assert_true(moved == digest_of(p + 1, length[i]));
        assert_true(length[i] == 0 || moved != got);
    }
    device_free(dev, p);
}

static void test_generate(void **state)
{
    static const int32_t dtype[] = {SAB_I8,   SAB_U8,   SAB_I32,  SAB_F32,
                                    SAB_BF16, SAB_FP16, SAB_E4M3, SAB_E8M0};
    struct device *dev = *state;
    struct recipe r = {.seed = 42, .rank = 2, .shape = {1001, 131}, .p = {-3, 5}, .f = {0.5f, 1}};
    unsigned char *p = alloc(dev, 4 * 1001 * 131);

    for (uint32_t kind = RECIPE_BYTES; kind <= RECIPE_RANDOM; kind++) {
        for (size_t d = 0; d < sizeof(dtype) / sizeof(dtype[0]); d++) {
            r.kind = kind;
            r.dtype = dtype[d];
            assert_int_equal(device_generate(dev, &r, p, NULL), 0);
            for (int64_t i = 0; i < 1001 * 131; i++)
                if (numfmt_load(r.dtype, p, i) != recipe_element(&r, i))
                    fail_msg("kind %u dtype %d element %d", kind, dtype[d], (int)i);
        }
    }
    r.kind = RECIPE_NONE;
    assert_int_equal(device_generate(dev, &r, p, NULL), -1);
    r.kind = RECIPE_NORMAL;
    r.shape[0] = 0;
    assert_int_equal(device_generate(dev, &r, p, NULL), 0);
    device_free(dev, p);
}

static void test_generate_rows(void **state)
{
    struct device *dev = *state;
    const struct recipe r = {.kind = RECIPE_BLOCK_ROWS,
                             .dtype = SAB_I32,
                             .seed = 7,
                             .rank = 4,
                             .shape = {2, 3, 50, 9},
                             .p = {[ROWS_PATTERN] = PATTERN_TOPK,
                                   [ROWS_BLOCKS] = 20,
                                   [ROWS_COUNTS] = COUNTS_VARYING,
                                   [ROWS_SELECTED] = 9,
                                   [ROWS_COUNT_SEED] = 3}};
    struct recipe wrong = r;
    int32_t *p = alloc(dev, sizeof(int32_t) * 2 * 3 * 50 * 9), row[9];

    assert_int_equal(device_generate(dev, &r, p, NULL), 0);
    for (int64_t i = 0; i < 2 * 3 * 50; i++) {
        recipe_row(&r, i, row);
        assert_memory_equal(row, p + 9 * i, sizeof(row));
    }
    wrong.dtype = SAB_BF16;
    assert_int_equal(device_generate(dev, &wrong, p, NULL), -1);
    device_free(dev, p);
}

static void test_compare_values(void **state)
{
    struct device *dev = *state;
    float got[6] = {1, 2, NAN, INFINITY, -INFINITY, 4};
    float ref[6] = {1, 2.5f, NAN, INFINITY, INFINITY, 3.5f};
    struct device_difference d;

    assert_int_equal(device_compare(dev, SAB_F32, got, ref, 6, &d, NULL), 0);
    assert_true(d.max_abs == 0.5);
    assert_int_equal(d.max_at, 1); /* the first of two equal ones */
    assert_true(d.sum_err2 == 0.5);
    assert_true(d.sum_ref2 == 1 + 6.25 + 12.25);
    assert_true(d.sum_got2 == 1 + 4 + 16);
    assert_true(d.sum_dot == 1 + 5 + 14);
    assert_int_equal(d.pattern, 1);
    assert_int_equal(d.pattern_first, 4);
    assert_int_equal(d.bits, 3);

    got[5] = NAN;
    got[4] = 0;
    assert_int_equal(device_compare(dev, SAB_F32, got, ref, 6, &d, NULL), 0);
    assert_int_equal(d.pattern, 2);
    assert_int_equal(d.pattern_first, 4);

    assert_int_equal(device_compare(dev, SAB_F32, got, ref, 0, &d, NULL), 0);
    assert_int_equal(d.max_at, -1);
    assert_int_equal(d.pattern_first, -1);
    assert_int_equal(device_compare(dev, SAB_NONE, got, ref, 1, &d, NULL), -1);
}

static void test_compare_dtypes(void **state)
{
    /* 1.5 and -2 in each format; a NaN and an infinity where it has one. */
    static const struct {
        int32_t dtype;
        uint32_t a, b, nan, inf;
    } row[] = {
        {SAB_BF16, 0x3fc0, 0xc000, 0x7fc0, 0x7f80},
        {SAB_FP16, 0x3e00, 0xc000, 0x7e00, 0x7c00},
        {SAB_E4M3, 0x3c, 0xc0, 0x7f, 0x7f},
        {SAB_F32, 0x3fc00000, 0xc0000000, 0x7fc00000, 0x7f800000},
    };
    struct device_difference d;

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        uint32_t got[4] = {0}, ref[4] = {0};

        numfmt_store(row[i].dtype, got, 0, row[i].a);
        numfmt_store(row[i].dtype, ref, 0, row[i].b);
        numfmt_store(row[i].dtype, got, 1, row[i].nan);
        numfmt_store(row[i].dtype, ref, 1, row[i].nan);
        numfmt_store(row[i].dtype, got, 2, row[i].inf);
        numfmt_store(row[i].dtype, ref, 2, row[i].a);
        assert_int_equal(device_compare(*state, row[i].dtype, got, ref, 3, &d, NULL), 0);
        assert_true(d.max_abs == 3.5 && d.max_at == 0);
        assert_int_equal(d.pattern, 1);
        assert_int_equal(d.pattern_first, 2);
        assert_int_equal(d.bits, 2);
    }
    {
        const int32_t got[2] = {INT32_MAX, 5}, ref[2] = {INT32_MIN, 5};
        const int8_t small[2] = {-128, 3}, zero[2] = {0, 3};
        const uint8_t big[2] = {255, 3}, none[2] = {0, 3};

        assert_int_equal(device_compare(*state, SAB_I32, got, ref, 2, &d, NULL), 0);
        assert_true(d.max_abs == 4294967295.0 && d.bits == 1);
        assert_int_equal(device_compare(*state, SAB_I8, small, zero, 2, &d, NULL), 0);
        assert_true(d.max_abs == 128);
        assert_int_equal(device_compare(*state, SAB_U8, big, none, 2, &d, NULL), 0);
        assert_true(d.max_abs == 255);
    }
}

/* The number of threads must not show in a sum. */
static void test_compare_threads(void **state)
{
    const struct device_request one = {.kind = SAB_DEVICE_CPU, .threads = 1};
    const int64_t n = 300007;
    struct device *dev;
    struct device_difference a, b;
    float *got = alloc(*state, 4 * (uint64_t)n), *ref = alloc(*state, 4 * (uint64_t)n);

    for (int64_t i = 0; i < n; i++) {
        got[i] = (float)(splitmix(1, (uint64_t)i) >> 40) * 0x1p-20f;
        ref[i] = (float)(splitmix(2, (uint64_t)i) >> 40) * 0x1p-20f;
    }
    assert_int_equal(device_open(&dev, &one, NULL), 0);
    assert_int_equal(device_compare(dev, SAB_F32, got, ref, n, &a, NULL), 0);
    assert_int_equal(device_compare(*state, SAB_F32, got, ref, n, &b, NULL), 0);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_true(a.max_at >= 0 && got[a.max_at] != ref[a.max_at]);
    device_close(dev);
    device_free(*state, got);
    device_free(*state, ref);
}

/* No GPU is not an error, and one that the user hid stays hidden. */
static void test_listing(void **state)
{
    struct device_listing list[2];

    (void)state;
    assert_true(device_list_cuda(list, 2) >= 0);
    assert_true(device_list_cuda(NULL, 0) >= 0);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    assert_int_equal(device_list_cuda(list, 2), 0);
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "GPU-nonsense,0", 1), 0);
    assert_int_equal(device_list_cuda(list, 2), 0);
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
}

static void test_throttled(void **state)
{
    (void)state;
    assert_false(device_throttled(0));
    assert_false(device_throttled(0x1 | 0x2 | 0x4 | 0x10 | 0x100));
    assert_true(device_throttled(0x8));
    assert_true(device_throttled(0x20 | 0x4));
    assert_true(device_throttled(0x40));
    assert_true(device_throttled(0x80));
}

static void test_streams(void **state)
{
    struct device *dev = *state;
    struct err err = ERR_INIT;
    struct device_graph graph = {NULL, 0, 0};
    uint64_t bytes;
    void *stream = &graph;

    assert_false(device_has_streams(dev));
    assert_int_equal(device_stream_make(dev, &stream, &err), -1);
    assert_int_equal(err.kind, ERR_BUG);
    assert_null(stream);
    assert_int_equal(device_capture_begin(dev, NULL), -1);
    assert_null(device_use_stream(dev, NULL));
    device_graph_free(dev, &graph);
    assert_int_equal(device_sync_all(dev, NULL), 0);
    assert_int_equal(device_free_bytes(dev, &bytes, NULL), 0);
    assert_int_equal(bytes, 0);
}

static void test_traffic(void **state)
{
    struct device *dev = *state;
    struct device_traffic *traffic;

    assert_int_equal(device_traffic_start(dev, &traffic, NULL), 0);
    assert_non_null(traffic);
    assert_int_equal(device_traffic_feed(dev, traffic, NULL), 0);
    assert_int_equal(device_traffic_stop(dev, traffic, NULL), 0);
    assert_int_equal(device_traffic_stop(dev, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_generate),
        cmocka_unit_test(test_generate_rows),
        cmocka_unit_test(test_compare_values),
        cmocka_unit_test(test_compare_dtypes),
        cmocka_unit_test(test_compare_threads),
        cmocka_unit_test(test_throttled),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_traffic),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
