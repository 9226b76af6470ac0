/*
 * bsa_fwd.c - block-sparse attention forward in bf16 or fp16: axes, shapes, inputs, cost, what is
 * checked, and the bars. Section numbers are those of the bsa contract.
 */
#include "bsa_model.h"

#include <string.h>

#include "numfmt.h"
#include "op_models.h"

static const struct axis_spec axes[BSA_AXES_NR] = {
    BLOCKS_AXES_OF_BOTH,
    [BLOCKS_KV_HEADS] = {"kv_heads", AXIS_INT, NULL, "heads", 1, 1048576,
                         "key and value heads, each shared by heads/kv_heads query heads"},
    [BLOCKS_DTYPE] = {"dtype", AXIS_WORD, "bf16 fp16", "bf16", 0, 0, "of q, k, v and out"},
    [BLOCKS_DATA] = {"data", AXIS_WORD, "normal large equal", "normal", 0, 0,
                     "N(0,1); q and k 50 times as wide, for logits up to 1e4; k = 0, for logits "
                     "that are all equal"},
    [BSA_LSE] = {"lse", AXIS_WORD, "off on", "on", 0, 0, "whether the log-sums are asked for"},
};

static int32_t dtype_of(const struct op_case *c)
{
    return c->axis[BLOCKS_DTYPE].i ? SAB_FP16 : SAB_BF16;
}

/* Section 5: masked places of K hold NaN and those of V 64. */
static void describe_values(const struct op_case *c, const struct blocks_sizes *s,
                            struct op_problem *p, bool *overflow)
{
    const int64_t q[4] = {s->batch, s->heads, s->seqlen_q, s->dim};
    const int64_t kv[4] = {s->batch, s->kv_heads, s->seqlen_k, s->dim};
    const float width = c->axis[BLOCKS_DATA].i == BSA_LARGE ? 50 : 1;
    const int32_t dtype = dtype_of(c);
    struct recipe *r = blocks_tensor(c, p, SAB_T_bsa_fwd_q, dtype, q, 4, overflow);

    r->kind = RECIPE_NORMAL;
    r->f[0] = width;
    for (int i = 0; i < 2; i++) {
        const double poison = i ? 64.0 : (double)numfmt_f32_of_bits(0x7fc00000u);

        r = blocks_tensor(c, p, i ? SAB_T_bsa_fwd_v : SAB_T_bsa_fwd_k, dtype, kv, 4, overflow);
        r->kind = RECIPE_BLOCK_TOKENS;
        r->p[TOKENS_SIZES] = s->sizes_mode;
        r->p[TOKENS_GROUP] = s->heads / s->kv_heads;
        r->p[TOKENS_POISON] = numfmt_encode(dtype, poison);
        r->f[0] = i ? 1 : c->axis[BLOCKS_DATA].i == BSA_EQUAL ? 0 : width;
    }
    blocks_tensor(c, p, SAB_T_bsa_fwd_out, dtype, q, 4, overflow);
    if (c->axis[BSA_LSE].i)
        blocks_tensor(c, p, SAB_T_bsa_fwd_lse, SAB_F32, q, 3, overflow);
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    static const struct blocks_places places = BLOCKS_PLACES(bsa_fwd);
    bool overflow = false;
    struct blocks_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("bsa_fwd");
    blocks_sizes(c, &s);
    describe_values(c, &s, p, &overflow);
    blocks_describe(c, &s, &places, p, &overflow);
    if (overflow)
        return err_set(err, ERR_CONFIG, "a tensor of this case has more than 2^63 bytes");
    return 0;
}

/* Section 6. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double element_bytes = 2;
    struct blocks_sizes s;

    (void)err;
    blocks_sizes(c, &s);
    const double rows = (double)s.batch * (double)s.heads * (double)s.seqlen_q;
    const double keys = (double)s.batch * (double)s.kv_heads * (double)s.seqlen_k;
    const double row_bytes = element_bytes * (double)s.dim;

    blocks_cost(c, 2 * BLOCKS_TILE * row_bytes, out);
    out->bytes_min += 2 * row_bytes * (rows + keys);
    if (c->axis[BSA_LSE].i)
        out->bytes_min += 4 * rows;
    out->use[OP_WRITE].amount = rows * (row_bytes + (c->axis[BSA_LSE].i ? 4 : 0));
    out->use[OP_READ].amount = out->bytes_min - out->use[OP_WRITE].amount;
    out->use[c->axis[BLOCKS_DTYPE].i ? OP_FP16 : OP_BF16].amount = out->flops_valid;
    return 0;
}

static int add_tile(const struct op_case *c, const struct blocks_sizes *s, int64_t head,
                    int64_t tile, struct op_slices *out, struct err *err)
{
    if (blocks_add_slice(s, SAB_T_bsa_fwd_out, s->dim, head, tile, out, err) < 0)
        return -1;
    return c->axis[BSA_LSE].i ? blocks_add_slice(s, SAB_T_bsa_fwd_lse, 1, head, tile, out, err) : 0;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    return blocks_slices(c, flops, out, add_tile, err);
}

/* Section 5. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    static const enum bar_level levels[] = {BAR_WHOLE, BAR_HEAD};
    const double relative = c->axis[BLOCKS_DTYPE].i ? 1e-3 : 5e-3;
    size_t nr = 0;

    (void)sampled;
    out[nr++] = (struct bar){SAB_T_bsa_fwd_out, BAR_ZERO, BAR_WHOLE, 0, 1};
    out[nr++] = (struct bar){SAB_T_bsa_fwd_out, BAR_ELEMENT, BAR_WHOLE, 1e-2, 1e-2};
    for (int i = 0; i < 2; i++) {
        out[nr++] = (struct bar){SAB_T_bsa_fwd_out, BAR_REL_L2, levels[i], relative, 0};
        out[nr++] = (struct bar){SAB_T_bsa_fwd_out, BAR_COSINE, levels[i], 0.9999, 0};
    }
    out[nr++] = (struct bar){SAB_T_bsa_fwd_lse, BAR_ELEMENT, BAR_WHOLE, 1e-3, 1e-4};
    return nr;
}

const struct op_model op_model_bsa_fwd = {
    .name = "bsa_fwd",
    .help = "block-sparse attention forward in bf16 or fp16, grouped-query heads",
    .axes = axes,
    .axes_nr = BSA_AXES_NR,
    .settle = blocks_settle,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = blocks_flops,
    .oracle = bsa_oracle,
};
