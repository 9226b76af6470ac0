/*
 * gpu_matrix.c - the test matrix of the Sage contract (section 9.3) and its edges, on every CUDA
 * kernel of sage_fwd and, in both types, of bsa_fwd in a library, against the oracle: all 25 keys,
 * ragged ends, contents that no recipe makes, long sequences, offsets beyond 2^31. Choices other
 * than the defaults see all but the large cases.
 *
 *   gpu_matrix [--quick] [--only GLOB] [LIBRARY]
 */
#include <math.h>

#include "gpu_case.h"
#include "numfmt.h"

#define KEYS_NR 25

struct matrix_case {
    const char *name, *axes;
    void (*change)(const struct rig_problem *rp, void *const *host); /* inputs, in place */
    bool no_counts; /* the call is made without q2k_block_nums */
    bool large;     /* not in a quick run */
    bool sage;      /* of sage_fwd alone */
};

struct matrix {
    struct rig rig;
    const struct op_model *op;
    const char *dtype; /* an axis of bsa_fwd, or "" */
    bool key[2][4][2][2][2];
};

#define PLACE_K 1 /* of the keys, in both operators */

/* Place of a tensor that both operators have. */
static uint32_t place_of(const struct op_problem *p, const char *name)
{
    uint32_t t = 0;

    while (strcmp(p->spec->tensors[t].name, name))
        t++;
    return t;
}

static int64_t param_of(const struct op_problem *p, const char *name)
{
    uint32_t i = 0;

    while (strcmp(p->spec->params[i].name, name))
        i++;
    return p->param[i].i;
}

/* Each second slot holds what the one before it holds: the block counts twice (section 4). */
static void duplicate_slots(const struct rig_problem *rp, void *const *host)
{
    const uint32_t place = place_of(&rp->p, "q2k_block_index");
    const int64_t cap = rp->p.tensor[place].shape[3];
    int32_t *index = host[place];

    for (int64_t i = 0; i < rp->p.tensor[place].elements; i++)
        if (i % cap % 2 == 1)
            index[i] = index[i - 1];
}

/* Recipes of bsa_fwd put NaN where their own sizes leave a key out. */
static void heal_keys(const struct rig_problem *rp, void *const *host)
{
    const struct op_tensor *k = &rp->p.tensor[PLACE_K];
    uint16_t *bits = host[PLACE_K];

    for (int64_t i = 0; sab_dtype_size(k->dtype) == 2 && i < k->elements; i++)
        if (isnan(numfmt_decode(k->dtype, bits[i])))
            bits[i] = (uint16_t)numfmt_encode(k->dtype, (double)(i % 101 - 50) / 32);
}

static void odd_sizes(const struct rig_problem *rp, void *const *host)
{
    static const int32_t sizes[] = {0, -5, 64, 65, INT32_MAX, 40, 1, INT32_MIN, 63};
    const uint32_t place = place_of(&rp->p, "block_sizes");
    int32_t *size = host[place];

    for (int64_t i = 0; i < rp->p.tensor[place].elements; i++)
        size[i] = sizes[(size_t)i % (sizeof(sizes) / sizeof(sizes[0]))];
    heal_keys(rp, host);
}

static void no_tokens(const struct rig_problem *rp, void *const *host)
{
    const uint32_t place = place_of(&rp->p, "block_sizes");
    int32_t *size = host[place];

    for (int64_t i = 0; i < rp->p.tensor[place].elements; i++)
        size[i] = -(int32_t)i;
}

/* All slots of every row name the last block. */
static void last_block_only(const struct rig_problem *rp, void *const *host)
{
    const uint32_t place = place_of(&rp->p, "q2k_block_index");
    int32_t *index = host[place];

    for (int64_t i = 0; i < rp->p.tensor[place].elements; i++)
        index[i] = (int32_t)((rp->p.tensor[PLACE_K].shape[2] - 1) / 64);
}

/* As the contract has it, `data = public` goes with the scale of 0.5: on the suite's own data it
 * makes few weights large, and the rounding of one weight passes the bar of an element. */

/* The count styles of the product, section 9.3, and the contiguous one that completes the keys. */
static const struct matrix_case styles[] = {
    {.name = "per_row", .axes = "topk=3 pattern=topk counts=varying promise=per_row"},
    {.name = "omitted", .axes = "topk=3 pattern=topk promise=scalar"},
    {.name = "uniform", .axes = "topk=3 pattern=topk promise=uniform"},
    {.name = "omitted_uniform", .axes = "topk=3 pattern=topk promise=uniform", .no_counts = true},
    {.name = "empty_omitted", .axes = "density=0 cap=3 promise=scalar"},
    {.name = "empty_uniform", .axes = "density=0 cap=3 promise=uniform"},
    {.name = "empty_contiguous", .axes = "density=0 cap=3 promise=uniform_contiguous"},
    {.name = "contiguous", .axes = "topk=3 promise=uniform_contiguous"},
};

#define RAGGED "pattern=topk promise=per_row"

static const struct matrix_case cases[] = {
    {.name = "aligned_full", .axes = "seqlen=128 topk=2"},
    {.name = "aligned_half", .axes = "heads=8 seqlen=512 topk=4"},
    {.name = "aligned_sparse", .axes = "batch=2 heads=4 seqlen=256 topk=1"},
    {.name = "aligned_dense", .axes = "batch=2 heads=8 seqlen=1024 topk=12", .large = true},
    {.name = "custom_softmax_scale",
     .axes = "heads=4 seqlen=256 topk=2 softmax_scale=0.5 data=public",
     .sage = true},
    {.name = "ragged_q", .axes = "heads=4 seqlen_q=100 seqlen_k=128 topk=2"},
    {.name = "ragged_k", .axes = "heads=4 seqlen_q=128 seqlen_k=100 topk=2"},
    {.name = "ragged_qk", .axes = "heads=4 seqlen=100 topk=2"},
    {.name = "noncontiguous_ragged", .axes = "heads=4 seqlen=4000 topk=16 " RAGGED, .large = true},
    {.name = "noncontiguous_tail", .axes = "heads=4 seqlen_q=128 seqlen_k=4033 topk=16 " RAGGED},
    {.name = "empty_rows", .axes = "heads=4 seqlen=256 topk=4 counts=varying"},
    {.name = "block_sizes_global", .axes = "seqlen=128 topk=2 sizes_mode=1"},
    {.name = "block_sizes_batch", .axes = "seqlen=128 topk=2 sizes_mode=2"},
    {.name = "block_sizes_head", .axes = "seqlen=128 topk=2 sizes_mode=3"},
    {.name = "scalar_below_cap", .axes = "batch=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3"},
    {.name = "scalar_only",
     .axes = "batch=2 seqlen_q=100 seqlen_k=257 topk=2 cap=3 promise=scalar"},
    {.name = "public_data", .axes = "heads=4 seqlen=512 topk=4 data=public", .sage = true},
    {.name = "one_key", .axes = "seqlen_q=70 seqlen_k=1 topk=1"},
    {.name = "one_key_in_tail", .axes = "seqlen_q=70 seqlen_k=65 topk=2"},
    {.name = "one_query", .axes = "batch=3 seqlen_q=1 seqlen_k=512 topk=5"},
    {.name = "one_of_each", .axes = "seqlen_q=1 seqlen_k=1 topk=1"},
    {.name = "cap_beyond_blocks", .axes = "heads=4 seqlen=320 topk=3 cap=20 " RAGGED},
    {.name = "dense", .axes = "heads=3 seqlen=1000 density=1"},
    {.name = "wraps_over_tail", .axes = "batch=2 heads=3 seqlen_q=200 seqlen_k=1025 topk=9"},
    {.name = "multiples_of_8",
     .axes = "heads=4 seqlen_q=1024 seqlen_k=4096 topk=40 pattern=topk counts=varying",
     .large = true},
    {.name = "duplicates", .axes = "heads=3 seqlen=700 topk=6 " RAGGED, .change = duplicate_slots},
    {.name = "last_block_only",
     .axes = "heads=3 seqlen_q=200 seqlen_k=257 topk=3 " RAGGED,
     .change = last_block_only},
    {.name = "odd_sizes_global",
     .axes = "heads=3 seqlen_q=200 seqlen_k=1100 topk=11 sizes_mode=1 " RAGGED,
     .change = odd_sizes},
    {.name = "odd_sizes_batch",
     .axes = "batch=3 seqlen_q=200 seqlen_k=1100 topk=11 sizes_mode=2",
     .change = odd_sizes},
    {.name = "odd_sizes_head",
     .axes = "heads=3 seqlen_q=200 seqlen_k=1100 topk=11 sizes_mode=3",
     .change = odd_sizes},
    {.name = "no_tokens", .axes = "seqlen=320 topk=5 sizes_mode=1", .change = no_tokens},
    {.name = "many_heads", .axes = "batch=300 heads=300 seqlen=1 topk=1", .large = true},
    {.name = "long_dense_tail",
     .axes = "heads=4 seqlen_q=2048 seqlen_k=16321 density=1 " RAGGED,
     .large = true},
    {.name = "beyond_65536", .axes = "seqlen=70001 topk=8 " RAGGED, .large = true},
    {.name = "index_beyond_2_31",
     .axes = "heads=48 seqlen_q=65536 seqlen_k=4096 topk=2 cap=65537 " RAGGED,
     .large = true},
};

/* What bsa_fwd adds to them (bsa contract, section 5). */
static const struct matrix_case bsa_cases[] = {
    {.name = "softmax_scale", .axes = "heads=4 seqlen=512 density=.5 softmax_scale=0.5"},
    {.name = "group_of_2", .axes = "heads=8 kv_heads=4 seqlen=512 density=.5 pattern=topk"},
    {.name = "group_of_4", .axes = "heads=8 kv_heads=2 seqlen=256 density=.5 counts=per_row"},
    {.name = "group_of_8", .axes = "heads=8 kv_heads=1 seqlen=512 density=.5 pattern=topk"},
    {.name = "group_of_7", .axes = "batch=2 heads=7 kv_heads=1 seqlen=300 topk=3 sizes_mode=3"},
    {.name = "group_ragged",
     .axes = "batch=2 heads=4 kv_heads=2 seqlen_q=100 seqlen_k=257 topk=4 counts=varying"},
    {.name = "long_queries", .axes = "heads=4 seqlen_q=512 seqlen_k=256 density=.5 pattern=topk"},
    {.name = "long_keys", .axes = "heads=8 seqlen_q=256 seqlen_k=512 density=.5 pattern=topk"},
    {.name = "no_lse", .axes = "heads=4 seqlen=500 density=.5 counts=varying lse=off"},
    {.name = "equal_logits", .axes = "heads=2 seqlen=300 density=1 data=equal"},
    {.name = "large_logits", .axes = "heads=2 seqlen=1000 density=.5 data=large"},
    {.name = "production", .axes = "heads=7 seqlen=109632 topk=64 " RAGGED, .large = true},
};

struct inputs {
    const struct matrix_case *mc;
    void *host[SAB_MAX_TENSORS]; /* NULL where the inputs stay on the device */
};

/* By the recipes, on the device; small ones come home, to be changed and for the oracle. */
static int fill_inputs(struct rig *rig, struct rig_problem *rp, void *ctx, struct err *err)
{
    struct inputs *in = ctx;
    const bool home = !case_is_big(&rp->p);

    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &rp->p.tensor[t];

        if (!rp->base[t] || rp->tensor[t].role != SAB_IN)
            continue;
        if (device_generate(rig->dev, &o->recipe, rp->tensor[t].data, err) < 0)
            return -1;
        if (home && case_bring_home(rig, rp, t, &in->host[t], err) < 0)
            return -1;
    }
    if (!home || !in->mc->change)
        return 0;
    in->mc->change(rp, in->host);
    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++)
        if (in->host[t] && device_upload(rig->dev, rp->tensor[t].data, in->host[t],
                                         rp->p.tensor[t].bytes, err) < 0)
            return -1;
    return 0;
}

/* Section 6: the key that the call has. */
static void note_key(struct matrix *m, const struct op_problem *p)
{
    const struct op_tensor *sizes = &p->tensor[place_of(p, "block_sizes")];
    const struct op_tensor *nums = &p->tensor[place_of(p, "q2k_block_nums")];
    const bool uniform = param_of(p, "uniform_block_count") != 0;
    const int mode = sizes->dtype == SAB_NONE ? 0 : sizes->rank;

    m->key[nums->dtype != SAB_NONE && !uniform][mode]
          [mode == 0 && p->tensor[PLACE_K].shape[2] % 64 == 0]
          [uniform && param_of(p, "block_sparse_num") > 0]
          [param_of(p, "contiguous_block_indices") != 0] = true;
}

static void run_case(struct matrix *m, const struct sab_kernel *row, const uint32_t *choices,
                     const struct matrix_case *mc)
{
    struct rig_problem rp = {.choices = choices};
    struct inputs in = {.mc = mc};
    struct judgement j;
    struct op_case c;
    struct err err = ERR_INIT;
    char name[256], arm[128], axes[256];
    int rc;

    snprintf(axes, sizeof(axes), "%s%s%s", mc->axes, *m->dtype ? " " : "", m->dtype);
    snprintf(name, sizeof(name), "%s %s%s%s", rig_arm_name(row, choices, arm, sizeof(arm)),
             mc->name, *m->dtype ? " " : "", m->dtype);
    if (!rig_wants(&m->rig, name) || (mc->sage && *m->dtype) ||
        (mc->large && (choices || m->rig.quick)))
        return;
    rc = case_make(m->op, axes, &c, &err);
    if (rc == 0)
        rc = m->op->describe(&c, &rp.p, &err);
    if (rc == 0) {
        if (mc->no_counts)
            rp.p.tensor[place_of(&rp.p, "q2k_block_nums")] = (struct op_tensor){.dtype = SAB_NONE};
        note_key(m, &rp.p);
        rc = rig_run(&m->rig, &rp, row, fill_inputs, &in, &err);
    }
    if (rc == 0)
        rc = case_judge(&c, &rp, in.host, row, &j, &err);
    if (rc == 0)
        tap_ok(&m->rig.tap, j.pass,
               "%s: %lld elements, max abs %.3g, relative L2 %.3g, emulated %.3g%s%s", name,
               (long long)j.compared, j.max_abs, j.rel_l2, j.emulated_rel_l2, j.pass ? "" : ": ",
               j.text);
    else if (rc > 0)
        printf("# %s: not served: %s\n", name, err.text);
    else
        tap_ok(&m->rig.tap, false, "%s: %s", name, err.text);
    m->rig.skipped += rc > 0;
    rig_problem_close(&m->rig, &rp);
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(in.host[t]);
    err_clear(&err);
}

static void run_product(struct matrix *m, const struct sab_kernel *row, const uint32_t *choices)
{
    static const int seqlens[] = {320, 257};

    for (int mode = 0; mode <= 3; mode++)
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
                struct matrix_case mc = styles[i];
                char name[64], axes[256];

                snprintf(name, sizeof(name), "product_%s_m%d_k%d", mc.name, mode, seqlens[s]);
                snprintf(axes, sizeof(axes),
                         "batch=2 heads=2 seqlen_q=100 seqlen_k=%d sizes_mode=%d %s", seqlens[s],
                         mode, mc.axes);
                mc.name = name;
                mc.axes = axes;
                run_case(m, row, choices, &mc);
            }
}

static void run_all(struct matrix *m, const struct sab_kernel *row, const uint32_t *choices)
{
    run_product(m, row, choices);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        run_case(m, row, choices, &cases[i]);
    for (size_t i = 0; *m->dtype && i < sizeof(bsa_cases) / sizeof(bsa_cases[0]); i++)
        run_case(m, row, choices, &bsa_cases[i]);
}

static int keys_seen(const struct matrix *m)
{
    const bool *key = &m->key[0][0][0][0][0];
    int nr = 0;

    for (size_t i = 0; i < sizeof(m->key); i++)
        nr += key[i];
    return nr;
}

static void run_operator(struct matrix *m, const char *op, const char *dtype)
{
    const struct sab_kernel *row;
    uint32_t choices[SAB_MAX_OPTIONS];
    size_t at = 0, served = 0;

    m->op = op_model_find(op);
    m->dtype = dtype;
    memset(m->key, 0, sizeof(m->key));
    while ((row = rig_kernel(&m->rig, m->op->name, &at))) {
        run_all(m, row, NULL);
        for (uint32_t step = 1; !m->rig.quick && rig_choose(row, step, choices); step++)
            run_all(m, row, choices);
        served++;
    }
    if (!m->rig.only && served)
        tap_ok(&m->rig.tap, keys_seen(m) == KEYS_NR, "%s %s: %d of %d keys were run", op, dtype,
               keys_seen(m), KEYS_NR);
}

int main(int argc, char **argv)
{
    struct matrix m = {.dtype = ""};
    int rc = rig_open(&m.rig, argc, argv);

    if (rc != 0)
        return rc;
    run_operator(&m, "sage_fwd", "");
    run_operator(&m, "bsa_fwd", "dtype=bf16");
    run_operator(&m, "bsa_fwd", "dtype=fp16");
    return rig_close(&m.rig);
}
