/*
 * sage_quant_kv.c - the Sage quantiser of keys and values: shapes, cost, what is checked, and the
 * bars (sage contract, section 8, rows KV). Its oracle is sage_quant_oracle.c.
 */
#include <math.h>
#include <string.h>

#include "op_models.h"
#include "sage_quant_model.h"

/* Of a head longer than this many blocks only so many blocks and channels are held. */
#define BLOCKS_MAX       1024
#define SAMPLED_BLOCKS   256
#define SAMPLED_CHANNELS 8
#define SAMPLED_HEADS    64
/* Oracle FLOPs of one element, as in sage_quant_q.c; each is read twice or three times. */
#define ELEMENT_FLOPS 50.0

static const struct axis_spec axes[QUANT_AXES_NR] = QUANT_AXES("seqlen_k", "key tokens");

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const int64_t b = c->axis[QUANT_BATCH].i, h = c->axis[QUANT_HEADS].i;
    const int64_t blocks = quant_ceil(c->axis[QUANT_SEQLEN].i, QUANT_BLOCK);
    const int64_t kv[4] = {b, h, c->axis[QUANT_SEQLEN].i, QUANT_DIM};
    const int64_t v_fp8[4] = {b, h, QUANT_DIM, QUANT_BLOCK * blocks};
    const int64_t k_scale[3] = {b, h, blocks}, v_scale[3] = {b, h, QUANT_DIM};

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("sage_quant_kv");
    if (quant_tensor(c, p, SAB_T_sage_quant_kv_k, SAB_BF16, kv, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_kv_v, SAB_BF16, kv, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_kv_k_int8, SAB_I8, kv, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_kv_k_scale, SAB_F32, k_scale, 3, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_kv_v_fp8, SAB_E4M3, v_fp8, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_kv_v_scale, SAB_F32, v_scale, 3, err) < 0)
        return -1;
    return 0;
}

/* Performance anchors, row i of 4.1: 2 B read and 1 B written per element, and the scales. The mean
 * of K and the maximum of V need a second look at both; it is not counted, since a kernel may keep
 * them in the cache between its two passes. No FLOPs are counted: quantising is traffic. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double heads = (double)quant_heads(c), seqlen = (double)c->axis[QUANT_SEQLEN].i;
    const double blocks = (double)quant_ceil(c->axis[QUANT_SEQLEN].i, QUANT_BLOCK);

    (void)err;
    memset(out, 0, sizeof(*out));
    out->bytes_min =
        heads * QUANT_DIM * (5 * seqlen + QUANT_BLOCK * blocks) + 4 * heads * (blocks + QUANT_DIM);
    out->use[OP_READ].amount = 4 * heads * QUANT_DIM * seqlen;
    out->use[OP_WRITE].amount = out->bytes_min - out->use[OP_READ].amount;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

/* Section 8, tests. Each slice's `within` holds what depends on the data: a step of bf16 of K's
 * mean, and the two e4m3 values beside a quotient on a rounding boundary. The relative bars are for
 * a whole tensor against the reference kernel. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double half = 0.5 * (1 + 0x1p-14);

    (void)c;
    (void)sampled;
    out[0] = (struct bar){SAB_T_sage_quant_kv_k_int8, BAR_WITHIN, BAR_WHOLE, half, 0};
    out[1] = (struct bar){SAB_T_sage_quant_kv_k_int8, BAR_REL_L2, BAR_WHOLE, 3e-2, 0};
    out[2] = (struct bar){SAB_T_sage_quant_kv_k_scale, BAR_WITHIN, BAR_WHOLE, 0, 1e-6};
    out[3] = (struct bar){SAB_T_sage_quant_kv_v_fp8, BAR_WITHIN, BAR_WHOLE, 0, 0};
    out[4] = (struct bar){SAB_T_sage_quant_kv_v_fp8, BAR_REL_L2, BAR_WHOLE, 5e-2, 0};
    out[5] = (struct bar){SAB_T_sage_quant_kv_v_scale, BAR_ELEMENT, BAR_WHOLE, 0, 1e-6};
    out[6] = (struct bar){SAB_T_sage_quant_kv_v_scale, BAR_REL_L2, BAR_WHOLE, 1e-6, 0};
    return 7;
}

static double oracle_flops(const struct op_case *c)
{
    return 2 * ELEMENT_FLOPS * (double)quant_heads(c) * (double)c->axis[QUANT_SEQLEN].i * QUANT_DIM;
}

static int add_block(struct op_slices *out, int64_t seqlen, int64_t head, int64_t block,
                     struct err *err)
{
    const int64_t blocks = quant_ceil(seqlen, QUANT_BLOCK), first = QUANT_BLOCK * block;
    const int64_t rows = seqlen - first < QUANT_BLOCK ? seqlen - first : QUANT_BLOCK;
    const int64_t scale = head * blocks + block;

    if (quant_slice(out, SAB_T_sage_quant_kv_k_int8, (head * seqlen + first) * QUANT_DIM,
                    rows * QUANT_DIM, head, block, SAB_T_sage_quant_kv_k_scale, scale, err) < 0)
        return -1;
    return quant_slice(out, SAB_T_sage_quant_kv_k_scale, scale, 1, head, block, QUANT_NO_UNIT, 0,
                       err);
}

/* One head: all of its blocks and channels, or some of them, evenly spread, the ends among them. */
static int add_head(struct op_slices *out, int64_t seqlen, int64_t head, struct err *err)
{
    const int64_t blocks = quant_ceil(seqlen, QUANT_BLOCK);
    const bool all = blocks <= BLOCKS_MAX;
    const int64_t blocks_nr = all ? blocks : SAMPLED_BLOCKS;
    const int64_t channels_nr = all ? QUANT_DIM : SAMPLED_CHANNELS;

    for (int64_t i = 0; i < blocks_nr; i++) {
        const int64_t block = all ? i : i * (blocks - 1) / (blocks_nr - 1);

        if (add_block(out, seqlen, head, block, err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < channels_nr; i++) {
        const int64_t channel = all ? i : i * (QUANT_DIM - 1) / (channels_nr - 1);
        const int64_t width = QUANT_BLOCK * blocks;

        if (quant_slice(out, SAB_T_sage_quant_kv_v_fp8, (head * QUANT_DIM + channel) * width, width,
                        head, channel, QUANT_NO_UNIT, 0, err) < 0)
            return -1;
    }
    return quant_slice(out, SAB_T_sage_quant_kv_v_scale, head * QUANT_DIM, QUANT_DIM, head, 0,
                       QUANT_NO_UNIT, 0, err);
}

/* All heads, or evenly spread ones with the last among them: the statistics need every token of
 * a head. */
static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    const int64_t seqlen = c->axis[QUANT_SEQLEN].i, heads = quant_heads(c);
    const bool whole = 2 * heads * seqlen * QUANT_DIM <= QUANT_WHOLE_MAX &&
                       quant_ceil(seqlen, QUANT_BLOCK) <= BLOCKS_MAX;
    const double affordable = flops / (oracle_flops(c) / (double)heads);
    int64_t nr = heads;

    out->complete = whole && oracle_flops(c) <= flops;
    if (!out->complete) {
        nr = affordable < SAMPLED_HEADS ? (int64_t)affordable : SAMPLED_HEADS;
        while (nr > 1 && 2 * nr * seqlen * QUANT_DIM > QUANT_WHOLE_MAX)
            nr--;
    }
    if (nr > heads)
        nr = heads;
    if (nr < 1)
        nr = 1;
    for (int64_t i = 0; i < nr; i++)
        if (add_head(out, seqlen, (i + 1) * heads / nr - 1, err) < 0)
            return -1;
    return 0;
}

/* Heads are those of the keys that attention is given. */
static bool follow(const struct op_case *fed, size_t axis, struct axis_value *value)
{
    if (axis != QUANT_HEADS || op_axis_find(fed->op, "kv_heads") < 0)
        return false;
    value->i = op_case_int(fed, "kv_heads");
    return true;
}

const struct op_model op_model_sage_quant_kv = {
    .name = "sage_quant_kv",
    .help = "Sage quantiser of keys and values: int8 per block, fp8 per channel",
    .axes = axes,
    .axes_nr = QUANT_AXES_NR,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = quant_kv_oracle,
    .follow = follow,
};
