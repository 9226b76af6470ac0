/*
 * dsa_fwd_call: what it takes from a problem, and what it refuses (contracts/dsa.md, section 4), by
 * name and in both modes; the devices and the limits of the GPU kernels.
 */
#include "dsa_fwd_call.h"
#include "test_validate_world.h"

static const char *const names[] = {"q",   "kv",         "topk_idxs", "attn_sink",  "topk_length",
                                    "out", "max_logits", "lse",       "lse_indexer"};

/* Shapes by the letters of the contract; T, H, D, N, K. Everything optional is there. */
static void right(struct world *w, int32_t half, const int64_t (*size)[5])
{
    static const char *const shapes[] = {"THD", "ND", "TK", "H", "T", "THV", "TH", "TH", "TH"};
    static const char letters[] = "THDNKV";

    world_init(w, "dsa_fwd");
    w->problem.arch = 90;
    w->problem.multiprocessors = 132;
    for (int i = 0; i < 9; i++) {
        const int integers = i == 2 || i == 4, halves = i < 2 || i == 5;
        char shape[96] = "";

        for (const char *c = shapes[i]; *c; c++) {
            const size_t at = (size_t)(strchr(letters, *c) - letters);
            snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%lld ",
                     at == 5 ? 512LL : (long long)(*size)[at]);
        }
        give(w, names[i],
             integers ? SAB_I32
             : halves ? half
                      : SAB_F32,
             shape)
            ->memory = SAB_MEMORY_DEVICE;
    }
    param(w, "lse_prefix")->i = 4;
    defaults(w);
}

static const int64_t small[5] = {3, 2, 512, 8, 5};

static int call_of(struct dsa_fwd_call *call, struct world *w, unsigned flags)
{
    struct sab_message msg = {w->text, sizeof(w->text)};

    return dsa_fwd_call_init(call, &w->problem, flags, &msg);
}

static void takes_everything(void **state)
{
    struct dsa_fwd_call call;
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &small);
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_OK);
    assert_int_equal(call.rows, 3);
    assert_int_equal(call.heads, 2);
    assert_int_equal(call.width, 512);
    assert_int_equal(call.keys, 8);
    assert_int_equal(call.slots, 5);
    assert_int_equal(call.prefix, 4);
    assert_int_equal(call.fp16, 0);
    assert_true(fabsf(call.scale - 0.044194174f) < 1e-8f);      /* 1/sqrt(512) */
    assert_true(fabsf(call.scale_log2 - 0.063758716f) < 1e-8f); /* the same over ln 2 */
    assert_ptr_equal(call.q, tensor(&w, "q")->data);
    assert_ptr_equal(call.kv, tensor(&w, "kv")->data);
    assert_ptr_equal(call.ids, tensor(&w, "topk_idxs")->data);
    assert_ptr_equal(call.sink, tensor(&w, "attn_sink")->data);
    assert_ptr_equal(call.lengths, tensor(&w, "topk_length")->data);
    assert_ptr_equal(call.out, tensor(&w, "out")->data);
    assert_ptr_equal(call.max_logits, tensor(&w, "max_logits")->data);
    assert_ptr_equal(call.lse, tensor(&w, "lse")->data);
    assert_ptr_equal(call.lse_prefix, tensor(&w, "lse_indexer")->data);
}

static void takes_the_other_choices(void **state)
{
    static const int64_t wide[5] = {3, 2, 576, 8, 0};
    static const char *const optional[] = {"attn_sink", "topk_length", "lse_indexer"};
    struct dsa_fwd_call call;
    struct world w;

    (void)state;
    right(&w, SAB_FP16, &wide);
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
        tensor(&w, optional[i])->dtype = SAB_NONE;
    param(&w, "lse_prefix")->i = 0;
    assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_OK);
    assert_int_equal(call.width, 576);
    assert_int_equal(call.slots, 0);
    assert_int_equal(call.fp16, 1);
    assert_int_equal(call.prefix, 0);
    assert_null(call.sink);
    assert_null(call.lengths);
    assert_null(call.lse_prefix);
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
    {"q", SAB_NONE, "", "q"},
    {"kv", SAB_FP16, "8 512", "kv"},
    {"kv", SAB_BF16, "8 576", "kv"},
    {"kv", SAB_BF16, "8 1 512", "kv"},
    {"topk_idxs", SAB_F32, "3 5", "topk_idxs"},
    {"topk_idxs", SAB_I32, "5 3", "topk_idxs"},
    {"topk_idxs", SAB_I32, "15", "topk_idxs"},
    {"topk_idxs", SAB_NONE, "", "topk_idxs"},
    {"attn_sink", SAB_BF16, "2", "attn_sink"},
    {"attn_sink", SAB_F32, "3", "attn_sink"},
    {"topk_length", SAB_F32, "3", "topk_length"},
    {"topk_length", SAB_I32, "5", "topk_length"},
    {"out", SAB_BF16, "2 3 512", "out"},
    {"out", SAB_FP16, "3 2 512", "out"},
    {"out", SAB_BF16, "3 2 576", "out"},
    {"max_logits", SAB_BF16, "3 2", "max_logits"},
    {"max_logits", SAB_F32, "2 3", "max_logits"},
    {"max_logits", SAB_NONE, "", "max_logits"},
    {"lse", SAB_F32, "2 3", "lse"},
    {"lse", SAB_F32, "3", "lse"},
    {"lse_indexer", SAB_NONE, "", "lse_indexer"}, /* a prefix is asked for */
    {"lse_indexer", SAB_F32, "2 3", "lse_indexer"},
};

/* In both modes, by a message that names the argument. */
static void refused(struct world *w, const char *named)
{
    static const unsigned modes[] = {SAB_VALIDATE_METADATA, SAB_VALIDATE_POINTERS};
    struct dsa_fwd_call call;
    char quoted[64];

    snprintf(quoted, sizeof(quoted), "'%s'", named);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call_of(&call, w, modes[i]), SAB_INVALID);
        if (!strstr(w->text, quoted))
            fail_msg("expected %s in: %s", quoted, w->text);
    }
}

static void refuses_by_name(void **state)
{
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        right(&w, SAB_BF16, &small);
        give(&w, refusals[i].tensor, refusals[i].dtype, refusals[i].shape)->memory =
            SAB_MEMORY_DEVICE;
        refused(&w, refusals[i].named);
    }
}

static void refuses_widths_scales_and_prefixes(void **state)
{
    static const int64_t narrow[5] = {3, 2, 128, 8, 5}, headless[5] = {3, 0, 512, 8, 5};
    static const double scales[] = {-1.0, -0.0, INFINITY, NAN};
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &narrow);
    refused(&w, "q");
    right(&w, SAB_BF16, &headless);
    refused(&w, "q");
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        right(&w, SAB_BF16, &small);
        param(&w, "softmax_scale")->f = scales[i];
        refused(&w, "softmax_scale");
    }
    right(&w, SAB_BF16, &small);
    param(&w, "lse_prefix")->i = 6; /* of 5 slots */
    refused(&w, "lse_prefix");
    right(&w, SAB_BF16, &small);
    param(&w, "lse_prefix")->i = -1;
    refused(&w, "lse_prefix");
    right(&w, SAB_BF16, &small);
    param(&w, "lse_prefix")->i = 0; /* but lse_indexer is given */
    refused(&w, "lse_indexer");
}

static void refuses_places(void **state)
{
    static const char *const outputs[] = {"out", "max_logits", "lse", "lse_indexer"};
    struct dsa_fwd_call call;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        right(&w, SAB_BF16, &small);
        tensor(&w, names[i])->memory = SAB_MEMORY_HOST;
        refused(&w, names[i]);
        right(&w, SAB_BF16, &small);
        tensor(&w, names[i])->device = 1;
        assert_int_equal(call_of(&call, &w, SAB_VALIDATE_METADATA), SAB_INVALID);
        right(&w, SAB_BF16, &small);
        tensor(&w, names[i])->data = (char *)tensor(&w, names[i])->data + 8;
        assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_INVALID);
        right(&w, SAB_BF16, &small);
        tensor(&w, names[i])->data = NULL;
        assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    }
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        right(&w, SAB_BF16, &small);
        tensor(&w, outputs[i])->data = tensor(&w, "kv")->data;
        assert_int_equal(call_of(&call, &w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    }
}

static void knows_its_devices(void **state)
{
    static const struct {
        int32_t arch;
        const char *targets;
        int status;
    } devices[] = {{90, "90a;100a;120a", SAB_OK},
                   {100, "90a;100a;120a", SAB_OK},
                   {120, "90a;100a;120a", SAB_OK},
                   {80, "90a;100a;120a", SAB_UNSUPPORTED},
                   {103, "90a;100a;120a", SAB_UNSUPPORTED},
                   {0, "90a;100a;120a", SAB_UNSUPPORTED},
                   {90, "90a", SAB_OK},
                   {100, "90a", SAB_UNSUPPORTED}};
    struct world w;

    (void)state;
    right(&w, SAB_BF16, &small);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct sab_message msg = {w.text, sizeof(w.text)};
        w.problem.arch = devices[i].arch;
        assert_int_equal(dsa_fwd_call_check_arch(&w.problem, devices[i].targets, &msg),
                         devices[i].status);
        if (devices[i].status != SAB_OK)
            assert_non_null(strstr(w.text, devices[i].targets));
    }
}

static void knows_its_limits(void **state)
{
    /* value by value one that fits, and the next one; tiles of 64 heads, 128 slots ahead */
    static const struct {
        int64_t rows, heads, slots;
        const char *named; /* NULL: served */
    } limits[] = {
        {INT32_MAX - 128, 64, 5, NULL},       {INT32_MAX - 127, 64, 5, "q:"},
        {(INT32_MAX - 128) / 2, 65, 5, NULL}, {(INT32_MAX - 128) / 2 + 1, 65, 5, "q:"},
        {3, 1, INT32_MAX - 128, NULL},        {3, 1, INT32_MAX - 127, "topk_idxs:"},
        {0, INT32_MAX - 128, 5, NULL},        {0, INT32_MAX - 127, 5, "heads"},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const struct dsa_fwd_call call = {
            .rows = limits[i].rows, .heads = limits[i].heads, .slots = limits[i].slots};
        struct sab_message msg = {w.text, sizeof(w.text)};
        int status = dsa_fwd_call_check_limits(&call, 64, 128, &msg);

        assert_int_equal(status, limits[i].named ? SAB_UNSUPPORTED : SAB_OK);
        if (limits[i].named)
            assert_non_null(strstr(w.text, limits[i].named));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_everything), cmocka_unit_test(takes_the_other_choices),
        cmocka_unit_test(refuses_by_name),  cmocka_unit_test(refuses_widths_scales_and_prefixes),
        cmocka_unit_test(refuses_places),   cmocka_unit_test(knows_its_devices),
        cmocka_unit_test(knows_its_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
