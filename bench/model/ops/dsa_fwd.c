/*
 * dsa_fwd.c - DSA sparse attention forward: axes, shapes, cost, what is checked, and the bars.
 * Section numbers are those of the dsa contract.
 */
#include <math.h>
#include <string.h>

#include "dsa_fwd_model.h"
#include "op_models.h"

/* More rows than this are not sampled, and more values than this are not held as a whole. */
#define SAMPLED_MAX 512
#define WHOLE_MAX   (INT64_C(1) << 24)
/* Reading and decoding an input element costs the oracle about as much as this many FLOPs. */
#define READ_FLOPS 4.0

static const struct axis_spec axes[DSA_AXES_NR] = {
    DSA_AXES_OF_BOTH,
    DSA_AXIS_OF_DATA(" prefix_below",
                     "; logits near 5 in the first lse_prefix slots, 256 above behind"),
    [DSA_LSE_PREFIX] = {"lse_prefix", AXIS_INT, NULL, "0", 0, 16777216,
                        "first slots whose log-sum is written to lse_indexer; 0: none"},
};

static int settle(struct op_case *c, struct err *err)
{
    if (dsa_settle(c, err))
        return -1;
    if (c->axis[DSA_LSE_PREFIX].i > c->axis[DSA_TOPK].i)
        return err_set(err, ERR_CONFIG, "lse_prefix = %lld is above topk = %lld",
                       (long long)c->axis[DSA_LSE_PREFIX].i, (long long)c->axis[DSA_TOPK].i);
    if (c->axis[DSA_DATA].i == DATA_PREFIX_BELOW && c->axis[DSA_LSE_PREFIX].i == 0)
        return err_set(err, ERR_CONFIG,
                       "lse_prefix = 0, must be at least 1 for data = prefix_below");
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    static const struct dsa_places places = {SAB_T_dsa_fwd_q, SAB_T_dsa_fwd_kv,
                                             SAB_T_dsa_fwd_topk_idxs, SAB_T_dsa_fwd_attn_sink,
                                             SAB_T_dsa_fwd_topk_length};
    struct dsa_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("dsa_fwd");
    dsa_sizes(c, &s);
    const int64_t out[3] = {s.rows, s.heads, DSA_V};

    if (dsa_describe_inputs(c, &places, false, p, err) ||
        dsa_tensor(p, SAB_T_dsa_fwd_out, s.dtype, out, 3, err) ||
        dsa_tensor(p, SAB_T_dsa_fwd_max_logits, SAB_F32, out, 2, err) ||
        dsa_tensor(p, SAB_T_dsa_fwd_lse, SAB_F32, out, 2, err))
        return -1;
    if (c->axis[DSA_LSE_PREFIX].i > 0 &&
        dsa_tensor(p, SAB_T_dsa_fwd_lse_indexer, SAB_F32, out, 2, err))
        return -1;
    p->param[SAB_P_dsa_fwd_softmax_scale].f = dsa_softmax_scale(c);
    p->param[SAB_P_dsa_fwd_lse_prefix].i = c->axis[DSA_LSE_PREFIX].i;
    return 0;
}

/* Section 6. To the minimum there come the tensors that are optional: sink, lengths, lse_indexer.
 */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double active = dsa_active(c);
    struct dsa_sizes s;

    (void)err;
    dsa_sizes(c, &s);
    const double rows = (double)s.rows, keys = (double)s.keys, heads = (double)s.heads;
    const double width = (double)s.width, pair = 2 * heads * (width + DSA_V);

    out->flops_nominal = pair * rows * (double)s.slots;
    out->flops_valid = pair * active;
    out->flops_dense = pair * rows * keys;
    out->bytes_min = rows * heads * (width + DSA_V) * 2 + 4 * rows * (double)s.slots +
                     2 * keys * width + 8 * rows * heads;
    if (c->axis[DSA_LSE_PREFIX].i > 0)
        out->bytes_min += 4 * rows * heads;
    if (c->axis[DSA_LENGTHS].i != LENGTHS_NONE)
        out->bytes_min += 4 * rows;
    if (c->axis[DSA_SINK].i != SINK_NONE)
        out->bytes_min += 4 * heads;
    out->bytes_tiles = active * width * 2 + rows * heads * (width + DSA_V) * 2;
    out->density = rows * keys > 0 ? active / (rows * keys) : NAN;
    dsa_use(c, out, rows * heads * DSA_V * 2);
    return 0;
}

/* Section 2.5. The relative bar is the difference bar in other words, 1 - 2<a,b>/(a.a+b.b) being
 * half of the squared relative distance: for comparisons that know no other. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double atol = 8e-4 * fmax(1, dsa_rms_of_values(c) / 0.25), rtol = 3.01 / 128;
    const double diff = c->axis[DSA_DTYPE].i ? 3e-7 : 7e-6;
    static const uint32_t logs[] = {SAB_T_dsa_fwd_max_logits, SAB_T_dsa_fwd_lse,
                                    SAB_T_dsa_fwd_lse_indexer};
    size_t nr = 0;

    (void)sampled;
    out[nr++] = (struct bar){SAB_T_dsa_fwd_out, BAR_ELEMENT, BAR_WHOLE, atol, rtol};
    /* What must be 0 is marked: rows without an active slot, heads whose sink is above all. */
    out[nr++] = (struct bar){SAB_T_dsa_fwd_out, BAR_WITHIN, BAR_WHOLE, atol, rtol};
    out[nr++] = (struct bar){SAB_T_dsa_fwd_out, BAR_DIFF, BAR_WHOLE, diff, 0};
    out[nr++] = (struct bar){SAB_T_dsa_fwd_out, BAR_REL_L2, BAR_WHOLE, sqrt(2 * diff), 0};
    for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
        out[nr++] = (struct bar){logs[i], BAR_ELEMENT, BAR_WHOLE, 1e-6, 2.01 / 65536};
    return nr;
}

static double work_flops(const struct dsa_sizes *s, double rows, double active)
{
    return 2 * (double)(s->heads * (s->width + DSA_V)) * active +
           READ_FLOPS * (double)s->width * (active + rows * (double)s->heads);
}

static double oracle_flops(const struct op_case *c)
{
    struct dsa_sizes s;

    dsa_sizes(c, &s);
    return work_flops(&s, (double)s.rows, dsa_active(c));
}

/* One query row: all outputs of all its heads. */
static int add_row(const struct op_case *c, const struct dsa_sizes *s, int64_t row,
                   struct op_slices *out, struct err *err)
{
    static const uint32_t tensors[] = {SAB_T_dsa_fwd_out, SAB_T_dsa_fwd_max_logits,
                                       SAB_T_dsa_fwd_lse, SAB_T_dsa_fwd_lse_indexer};
    const size_t nr = c->axis[DSA_LSE_PREFIX].i > 0 ? 4 : 3;

    for (size_t i = 0; i < nr; i++) {
        const int64_t n = s->heads * (i == 0 ? DSA_V : 1);
        struct op_slice *item = op_slices_add(out, tensors[i], row * n, n, err);

        if (!item)
            return -1;
        item->tile = row;
    }
    return 0;
}

static bool has_row(const struct op_slices *s, int64_t row)
{
    for (size_t i = 0; i < s->nr; i++)
        if (s->item[i].tile == row)
            return true;
    return false;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    struct dsa_sizes s;
    struct recipe ids;
    double left = flops;

    dsa_sizes(c, &s);
    dsa_ids_recipe(c, &s, &ids);
    out->complete = s.rows * s.heads * DSA_V <= WHOLE_MAX && oracle_flops(c) <= flops;
    for (int64_t row = 0; out->complete && row < s.rows; row++)
        if (add_row(c, &s, row, out, err))
            return -1;
    for (uint64_t pick = 0; !out->complete && pick < SAMPLED_MAX; pick++) {
        const int64_t row = dsa_pick(c, 0, pick, s.rows);

        if (has_row(out, row))
            continue;
        left -= work_flops(&s, 1, (double)recipe_ids_active(&ids, row));
        if (pick > 1 && left < 0)
            break;
        if (add_row(c, &s, row, out, err))
            return -1;
    }
    return 0;
}

const struct op_model op_model_dsa_fwd = {
    .name = "dsa_fwd",
    .help = "DSA sparse attention forward over gathered rows, with sink",
    .axes = axes,
    .axes_nr = DSA_AXES_NR,
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = dsa_fwd_oracle,
};
