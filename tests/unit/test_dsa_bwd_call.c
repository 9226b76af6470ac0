/*
 * dsa_bwd_call: what it takes from a problem and what it refuses, the limits of the GPU kernels,
 * and the workspace against the published sizes of contracts/dsa.md, section 3.5.
 */
#include "dsa_bwd_call.h"
#include "test_validate_world.h"

static const char *const names[] = {"q",         "kv",          "out", "dout", "lse",   "attn_sink",
                                    "topk_idxs", "topk_length", "dq",  "dkv",  "d_sink"};

/* Shapes by the letters of the contract; T, H, D, N, K. */
static void right(struct world *w, int32_t half, const int64_t (*size)[5])
{
    static const char *const shapes[] = {"THD", "ND", "THV", "THV", "TH", "H",
                                         "TK",  "T",  "THD", "ND",  "H"};
    static const char letters[] = "THDNKV";

    world_init(w, "dsa_bwd");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    for (int i = 0; i < 11; i++) {
        const int integers = i == 6 || i == 7, floats = i == 4 || i == 5 || i == 10;
        char shape[96] = "";

        for (const char *c = shapes[i]; *c; c++) {
            const size_t at = (size_t)(strchr(letters, *c) - letters);
            snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%lld ",
                     at == 5 ? 512LL : (long long)(*size)[at]);
        }
        give(w, names[i],
             integers ? SAB_I32
             : floats ? SAB_F32
                      : half,
             shape)
            ->memory = SAB_MEMORY_DEVICE;
    }
    defaults(w);
}

static const int64_t small[5] = {3, 2, 512, 8, 5};

static int call_of(struct dsa_bwd_call *call, struct world *w, unsigned flags)
{
    struct sab_message msg = {w->text, sizeof(w->text)};

    return dsa_bwd_call_init(call, &w->problem, flags, &msg);
}

static void takes_everything(void **state)
{
    struct dsa_bwd_call call;
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &small);
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_OK);
    assert_int_equal(call.queries, 3);
    assert_int_equal(call.heads, 2);
    assert_int_equal(call.width, 512);
    assert_int_equal(call.keys, 8);
    assert_int_equal(call.slots, 5);
    assert_int_equal(call.fp16, 0);
    assert_int_equal(call.deterministic, 0);
    assert_true(fabsf(call.scale - 0.044194174f) < 1e-8f); /* 1/sqrt(512) */
    assert_ptr_equal(call.q, tensor(&w, "q")->data);
    assert_ptr_equal(call.kv, tensor(&w, "kv")->data);
    assert_ptr_equal(call.out, tensor(&w, "out")->data);
    assert_ptr_equal(call.dout, tensor(&w, "dout")->data);
    assert_ptr_equal(call.lse, tensor(&w, "lse")->data);
    assert_ptr_equal(call.sink, tensor(&w, "attn_sink")->data);
    assert_ptr_equal(call.topk_idxs, tensor(&w, "topk_idxs")->data);
    assert_ptr_equal(call.topk_length, tensor(&w, "topk_length")->data);
    assert_ptr_equal(call.dq, tensor(&w, "dq")->data);
    assert_ptr_equal(call.dkv, tensor(&w, "dkv")->data);
    assert_ptr_equal(call.d_sink, tensor(&w, "d_sink")->data);
}

static void takes_the_other_choices(void **state)
{
    static const int64_t wide[5] = {3, 2, 576, 8, 0};
    struct dsa_bwd_call call;
    struct world w;

    (void)state;
    right(&w, SAB_FP16, &wide);
    tensor(&w, "topk_length")->dtype = SAB_NONE;
    param(&w, "deterministic")->i = 1;
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_OK);
    assert_int_equal(call.width, 576);
    assert_int_equal(call.slots, 0);
    assert_int_equal(call.fp16, 1);
    assert_int_equal(call.deterministic, 1);
    assert_null(call.topk_length);
    assert_true(fabsf(call.scale - 1.0f / 24.0f) < 1e-8f);
}

/* A type or shape of the contract's table, and the argument that the message names. */
static const struct {
    const char *tensor;
    int32_t dtype;
    const char *shape, *named;
} refusals[] = {
    {"q", SAB_F32, "3 2 512", "q"},
    {"q", SAB_BF16, "6 512", "q"},
    {"kv", SAB_FP16, "8 512", "kv"},
    {"kv", SAB_BF16, "8 576", "kv"},
    {"out", SAB_BF16, "2 3 512", "out"},
    {"dout", SAB_BF16, "2 3 512", "dout"},
    {"dout", SAB_NONE, "", "dout"},
    {"lse", SAB_F32, "2 3", "lse"},
    {"lse", SAB_BF16, "3 2", "lse"},
    {"attn_sink", SAB_NONE, "", "attn_sink"},
    {"attn_sink", SAB_F32, "3", "attn_sink"},
    {"topk_idxs", SAB_F32, "3 5", "topk_idxs"},
    {"topk_idxs", SAB_I32, "5 3", "topk_idxs"},
    {"topk_length", SAB_I32, "5", "topk_length"},
    {"dq", SAB_FP16, "3 2 512", "dq"},
    {"dkv", SAB_BF16, "9 512", "dkv"},
    {"d_sink", SAB_F32, "2 1", "d_sink"},
};

static void refuses_by_name(void **state)
{
    struct dsa_bwd_call call;
    struct world w;
    char quoted[64];

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        for (unsigned flags = 0; flags < 2; flags++) {
            right(&w, SAB_BF16, &small);
            give(&w, refusals[i].tensor, refusals[i].dtype, refusals[i].shape)->memory =
                SAB_MEMORY_DEVICE;
            assert_int_equal(
                call_of(&call, &w, flags ? SAB_VALIDATE_POINTERS : SAB_VALIDATE_METADATA),
                SAB_INVALID);
            snprintf(quoted, sizeof(quoted), "'%s'", refusals[i].named);
            if (!strstr(w.text, quoted))
                fail_msg("expected %s in: %s", quoted, w.text);
        }
    }
}

static void refuses_widths_scales_and_places(void **state)
{
    static const int64_t narrow[5] = {3, 2, 128, 8, 5};
    struct dsa_bwd_call call;
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &narrow);
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_INVALID);
    right(&w, SAB_BF16, &small);
    param(&w, "softmax_scale")->f = -1.0;
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_INVALID);
    right(&w, SAB_BF16, &small);
    tensor(&w, "kv")->memory = SAB_MEMORY_HOST;
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_INVALID);
    right(&w, SAB_BF16, &small);
    tensor(&w, "dkv")->data = tensor(&w, "kv")->data;
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_INVALID);
}

static void knows_its_devices(void **state)
{
    static const struct {
        int32_t arch;
        int status;
    } devices[] = {{80, SAB_UNSUPPORTED},  {89, SAB_UNSUPPORTED}, {90, SAB_OK},
                   {100, SAB_OK},          {120, SAB_OK},         {103, SAB_UNSUPPORTED},
                   {121, SAB_UNSUPPORTED}, {0, SAB_UNSUPPORTED}};
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &small);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct sab_message msg = {w.text, sizeof(w.text)};
        w.problem.arch = devices[i].arch;
        assert_int_equal(dsa_bwd_call_check_arch(&w.problem, &msg), devices[i].status);
    }
}

static void knows_its_limits(void **state)
{
    /* value by value one that fits, and the next one; blocks of 64 heads, tiles of 64 keys */
    static const struct {
        int64_t queries, heads, slots;
        const char *named; /* NULL: served */
    } limits[] = {
        {INT32_MAX - 512, 64, 5, NULL},       {INT32_MAX - 511, 64, 5, "rows of q"},
        {(INT32_MAX - 512) / 2, 65, 5, NULL}, {(INT32_MAX - 512) / 2 + 1, 65, 5, "rows of q"},
        {3, 1, INT32_MAX - 512, NULL},        {3, 1, INT32_MAX - 511, "slots"},
        {0, INT32_MAX - 512, 5, NULL},        {0, INT32_MAX - 511, 5, "heads"},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct dsa_bwd_call call = {
            .queries = limits[i].queries, .heads = limits[i].heads, .slots = limits[i].slots};
        struct sab_message msg = {w.text, sizeof(w.text)};
        int status = dsa_bwd_call_check_limits(&call, 64, 64, &msg);

        assert_int_equal(status, limits[i].named ? SAB_UNSUPPORTED : SAB_OK);
        if (limits[i].named)
            assert_non_null(strstr(w.text, limits[i].named));
    }
}

static void sizes_the_workspace(void **state)
{
    /* T = N; the published bytes */
    static const struct {
        int64_t queries, heads, width;
        uint64_t shards, bytes;
    } published[] = {
        {2048, 64, 512, 1, 5242880},        {2048, 128, 512, 1, 6291456},
        {2048, 64, 576, 1, 5767168},        {32768, 64, 512, 1, 83886080},
        {32768, 128, 512, 1, 100663296},    {32768, 64, 576, 1, 92274688},
        {2048, 64, 512, 128, 513ull << 20}, {32768, 128, 512, 128, 8224ull << 20},
        {1, 1, 512, 1, 128 + 8 * 512 * 4},  {0, 3, 512, 1, 0},
        {9, 3, 576, 1, 384 + 16 * 576 * 4},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const struct dsa_bwd_call call = {.queries = published[i].queries,
                                          .keys = published[i].queries,
                                          .heads = published[i].heads,
                                          .width = published[i].width};
        assert_int_equal(dsa_bwd_stats_bytes(&call) +
                             dsa_bwd_accumulator_bytes(&call, published[i].shards),
                         published[i].bytes);
    }
}

/* Worked by hand from the formula of the header. */
static void sizes_the_integers(void **state)
{
    static const struct {
        int64_t keys, width;
        uint64_t counts, facts, bytes;
    } layouts[] = {
        {0, 512, 0, 0, 128},
        {1, 512, 32768, 32896, 33024},
        {33, 576, 184320, 184576, 184704},
        {2048, 512, 8388608, 8396800, 8396928},
        {32768, 576, 150994944, 151126016, 151126144},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct dsa_bwd_call call = {.keys = layouts[i].keys, .width = layouts[i].width};
        const struct dsa_bwd_fixed_layout at = dsa_bwd_fixed_layout(&call);

        assert_int_equal(at.counts, layouts[i].counts);
        assert_int_equal(at.facts, layouts[i].facts);
        assert_int_equal(at.bytes, layouts[i].bytes);
    }
}

static void gains_between_1_and_4096(void **state)
{
    static const struct {
        float scale, gain;
    } gains[] = {{0.25f, 4.0f},       {1.0f, 1.0f},      {1.5f, 1.0f},
                 {0x1p-12f, 4096.0f}, {1e-30f, 4096.0f}, {1e-45f, 4096.0f}};

    (void)state;
    for (size_t i = 0; i < sizeof(gains) / sizeof(gains[0]); i++) {
        const struct dsa_bwd_call call = {.scale = gains[i].scale};
        assert_true(dsa_bwd_gain(&call) == gains[i].gain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_everything),
        cmocka_unit_test(takes_the_other_choices),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(refuses_widths_scales_and_places),
        cmocka_unit_test(knows_its_devices),
        cmocka_unit_test(knows_its_limits),
        cmocka_unit_test(sizes_the_workspace),
        cmocka_unit_test(sizes_the_integers),
        cmocka_unit_test(gains_between_1_and_4096),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
