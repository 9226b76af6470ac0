/*
 * dsa_bwd.c - DSA sparse attention backward: axes, shapes, cost, what is checked, and the bars.
 * Section numbers are those of the dsa contract.
 */
#include <math.h>
#include <string.h>

#include "dsa_bwd_model.h"
#include "op_models.h"

/* More rows of dq and of dkv than this are not sampled; more values are not held as a whole. */
#define SAMPLED_MAX 256
#define WHOLE_MAX   (INT64_C(1) << 24)
#define KEYS_MAX    (INT64_C(1) << 22) /* values of dkv, which every thread adds up for itself */
#define READ_FLOPS  4.0

static const struct axis_spec axes[DSA_AXES_NR] = {
    DSA_AXES_OF_BOTH,
    DSA_AXIS_OF_DATA("", ""),
    [DSA_DETERMINISTIC] = {"deterministic", AXIS_INT, NULL, "0", 0, 1,
                           "1: equal bits of dkv and d_sink in every run"},
};

static int settle(struct op_case *c, struct err *err)
{
    if (dsa_settle(c, err))
        return -1;
    /* All rows of kv have a large part in common there; without a sink that part cancels. */
    if (c->axis[DSA_DATA].i == DATA_DEEP && c->axis[DSA_SINK].i != SINK_LINSPACE) {
        char sink[32];

        return err_set(
            err, ERR_CONFIG,
            "data = deep with sink = %s has gradients that cancel down to rounding, sink "
            "= linspace has not",
            op_case_text(c, DSA_SINK, sink, sizeof(sink)));
    }
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    static const struct dsa_places places = {SAB_T_dsa_bwd_q, SAB_T_dsa_bwd_kv,
                                             SAB_T_dsa_bwd_topk_idxs, SAB_T_dsa_bwd_attn_sink,
                                             SAB_T_dsa_bwd_topk_length};
    struct dsa_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("dsa_bwd");
    dsa_sizes(c, &s);
    const int64_t out[3] = {s.rows, s.heads, DSA_V}, dq[3] = {s.rows, s.heads, s.width};
    const int64_t dkv[2] = {s.keys, s.width};

    if (dsa_describe_inputs(c, &places, true, p, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_out, s.dtype, out, 3, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_dout, s.dtype, out, 3, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_lse, SAB_F32, out, 2, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_dq, s.dtype, dq, 3, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_dkv, s.dtype, dkv, 2, err) ||
        dsa_tensor(p, SAB_T_dsa_bwd_d_sink, SAB_F32, &out[1], 1, err))
        return -1;
    /* A number that no tensor of either operator has: dout is independent of all of them. */
    dsa_values_recipe(c, p, SAB_T_dsa_bwd_dout,
                      recipe_seed(c->seed, SAB_MAX_TENSORS + SAB_T_dsa_bwd_dout), 0);
    p->param[SAB_P_dsa_bwd_softmax_scale].f = dsa_softmax_scale(c);
    p->param[SAB_P_dsa_bwd_deterministic].i = c->axis[DSA_DETERMINISTIC].i;
    return 0;
}

/* out and lse come from dsa_fwd of the same case. */
static int producer(const struct op_case *c, size_t i, struct op_case *from, struct err *err)
{
    if (i > 0)
        return 1;
    *from = *c;
    from->op = &op_model_dsa_fwd;
    from->axis[DSA_LSE_PREFIX] = (struct axis_value){.i = 0, .f = 0};
    return from->op->settle(from, err);
}

/* Section 6. What is asked of the L2 is the contract's reads, writes and scatter. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double active = dsa_active(c);
    struct dsa_sizes s;

    (void)err;
    dsa_sizes(c, &s);
    const double rows = (double)s.rows, keys = (double)s.keys, heads = (double)s.heads;
    const double width = (double)s.width, slots = rows * (double)s.slots;
    const double pair = 2 * heads * (3 * width + 2 * DSA_V);
    const double queries = rows * heads * (width + 2 * DSA_V) * 2 + rows * heads * 4;
    const double written = rows * heads * width * 2 + keys * width * 2;

    out->flops_nominal = pair * slots;
    out->flops_valid = pair * active;
    out->flops_dense = pair * rows * keys;
    out->bytes_min = queries + keys * width * 2 + 4 * slots + written + 8 * heads;
    if (c->axis[DSA_LENGTHS].i != LENGTHS_NONE)
        out->bytes_min += 4 * rows;
    out->bytes_tiles = queries + slots * (width * 2 + 4) + written +
                       slots * width * 4 * ceil(heads / 64) + 2 * keys * width * 4;
    out->density = rows * keys > 0 ? active / (rows * keys) : NAN;
    dsa_use(c, out, written);
    out->use[OP_REDUCE] = (struct op_use){2 * out->use[OP_GATHER].amount, keys * width * 4};
    return 0;
}

/*
 * Section 3.6. The contract's 1e-3 for fp16 does not count that results are rounded to places of
 * 2^-24: a dq of the benchmark's data has a root mean square of about
 * scale * rms(dout) * rms(kv)^2 * sqrt(512/K), 2e-5 at K = 2048, and the places add 2^-24/sqrt(12).
 */
static double dq_bar(const struct op_case *c)
{
    const double rms = dsa_rms_of_values(c), slots = fmax(1, (double)c->axis[DSA_TOPK].i);
    const double size = dsa_softmax_scale(c) * rms * rms * rms * sqrt(DSA_V / slots);

    return c->axis[DSA_DTYPE].i ? hypot(1e-3, 0x1p-24 / sqrt(12) / size) : 6e-3;
}

/* Whether dq is 0 but for rounding everywhere: all slots of a row have one id and no sink beside it
 * (3.6, T = N = 1). No relative bar holds there. */
static bool dq_cancels(const struct op_case *c)
{
    const int64_t sink = c->axis[DSA_SINK].i;

    return (sink == SINK_NONE || sink == SINK_NEG_INF) &&
           (c->axis[DSA_SEQLEN_K].i == 1 || c->axis[DSA_TOPK].i == 1 ||
            c->axis[DSA_PATTERN].i == IDS_SINGLE);
}

static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const bool unit = dsa_rms_of_values(c) >= 1;
    const double element = unit ? 5e-2 : 1e-2;
    size_t nr = 0;

    (void)sampled;
    out[nr++] = (struct bar){SAB_T_dsa_bwd_dq, BAR_ELEMENT, BAR_WHOLE, element, element};
    /* What must be 0 is marked, section 3.3; other rows may come to 0 by cancellation. */
    out[nr++] = (struct bar){SAB_T_dsa_bwd_dq, BAR_WITHIN, BAR_WHOLE, element, element};
    if (dq_cancels(c))
        out[nr++] =
            (struct bar){SAB_T_dsa_bwd_dq, BAR_ELEMENT, BAR_WHOLE, unit ? 3e-3 : 3e-5, element};
    else
        out[nr++] = (struct bar){SAB_T_dsa_bwd_dq, BAR_REL_L2, BAR_WHOLE, dq_bar(c), 0};
    out[nr++] = (struct bar){SAB_T_dsa_bwd_dkv, BAR_ELEMENT, BAR_WHOLE, element, element};
    out[nr++] = (struct bar){SAB_T_dsa_bwd_dkv, BAR_ZERO, BAR_WHOLE, 0, 0};
    out[nr++] = (struct bar){SAB_T_dsa_bwd_dkv, BAR_REL_L2, BAR_WHOLE,
                             c->axis[DSA_DTYPE].i ? 1e-3 : 6e-3, 0};
    /* Terms of unscaled data are a hundred times those of the data that 2e-5 was chosen on. */
    out[nr++] =
        (struct bar){SAB_T_dsa_bwd_d_sink, BAR_ELEMENT, BAR_WHOLE, unit ? 2e-3 : 2e-5, 2e-3};
    out[nr++] = (struct bar){SAB_T_dsa_bwd_d_sink, BAR_ZERO, BAR_WHOLE, 0, 0};
    return nr;
}

static double pair_flops(const struct dsa_sizes *s)
{
    return 2 * (double)(s->heads * (3 * s->width + 2 * DSA_V)) + READ_FLOPS * (double)s->width;
}

/* Reading q, out and dout of a query row. */
static double row_flops(const struct dsa_sizes *s)
{
    return READ_FLOPS * (double)(s->heads * (s->width + 2 * DSA_V));
}

static double oracle_flops(const struct op_case *c)
{
    struct dsa_sizes s;

    dsa_sizes(c, &s);
    return pair_flops(&s) * dsa_active(c) + row_flops(&s) * (double)s.rows;
}

/* A row of dkv: every query row may name it, and has to be asked. Equal ids of a row count once. */
static double key_flops(const struct op_case *c, const struct dsa_sizes *s)
{
    const int64_t pattern = c->axis[DSA_PATTERN].i;
    const bool hot = pattern == IDS_SINGLE || pattern == IDS_OVERLAP || s->slots >= s->keys;
    const double share = hot ? 1 : (double)s->slots / (double)s->keys;

    return (double)s->rows * (share * (pair_flops(s) + row_flops(s)) + (double)s->slots);
}

static int add(struct op_slices *out, uint32_t tensor, int64_t i, int64_t n, struct err *err)
{
    struct op_slice *item;

    for (size_t k = 0; !out->complete && k < out->nr; k++)
        if (out->item[k].tensor == tensor && out->item[k].at == i * n)
            return 0;
    item = op_slices_add(out, tensor, i * n, n, err);
    if (!item)
        return -1;
    if (tensor == SAB_T_dsa_bwd_d_sink)
        item->head = i;
    else
        item->tile = i;
    return 0;
}

static int add_all(const struct dsa_sizes *s, struct op_slices *out, struct err *err)
{
    for (int64_t row = 0; row < s->rows; row++)
        if (add(out, SAB_T_dsa_bwd_dq, row, s->heads * s->width, err))
            return -1;
    for (int64_t key = 0; key < s->keys; key++)
        if (add(out, SAB_T_dsa_bwd_dkv, key, s->width, err))
            return -1;
    for (int64_t h = 0; h < s->heads; h++)
        if (add(out, SAB_T_dsa_bwd_d_sink, h, 1, err))
            return -1;
    return 0;
}

/* Half of the budget each for rows of dq and of dkv, two of either at least; heads cost little
 * beside them. Rows of dkv are random ones: the first and the last are no more than others. */
static int add_samples(const struct op_case *c, const struct dsa_sizes *s, double flops,
                       struct op_slices *out, struct err *err)
{
    const double key = key_flops(c, s);
    double left = flops / 2;
    struct recipe ids;

    dsa_ids_recipe(c, s, &ids);
    for (uint64_t pick = 0; s->rows > 0 && pick < SAMPLED_MAX; pick++) {
        const int64_t row = dsa_pick(c, 0, pick, s->rows);

        left -= pair_flops(s) * (double)recipe_ids_active(&ids, row) + row_flops(s);
        if (pick > 1 && left < 0)
            break;
        if (add(out, SAB_T_dsa_bwd_dq, row, s->heads * s->width, err))
            return -1;
    }
    left = flops / 2;
    for (uint64_t pick = 0; s->keys > 0 && pick < SAMPLED_MAX; pick++) {
        int64_t row = dsa_pick(c, 1, 2 + pick, s->keys);

        /* One at least that is named, if any is: by the first slot of the last row. */
        if (pick == 0 && ids.p[IDS_DOMAIN] > 0 && s->slots > 0 && s->rows > 0)
            row = recipe_id(&ids, (s->rows - 1) * s->slots);
        if (row < 0 || row >= s->keys)
            continue;
        left -= key;
        if (pick > 1 && left < 0)
            break;
        if (add(out, SAB_T_dsa_bwd_dkv, row, s->width, err))
            return -1;
    }
    for (uint64_t pick = 0; pick < 4; pick++)
        if (add(out, SAB_T_dsa_bwd_d_sink, dsa_pick(c, 2, pick, s->heads), 1, err))
            return -1;
    return 0;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    struct dsa_sizes s;

    dsa_sizes(c, &s);
    out->complete = s.rows * s.heads * s.width <= WHOLE_MAX && s.keys * s.width <= KEYS_MAX &&
                    oracle_flops(c) <= flops;
    return out->complete ? add_all(&s, out, err) : add_samples(c, &s, flops, out, err);
}

const struct op_model op_model_dsa_bwd = {
    .name = "dsa_bwd",
    .help = "DSA sparse attention backward: dq, dkv and d_sink",
    .axes = axes,
    .axes_nr = DSA_AXES_NR,
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = dsa_bwd_oracle,
    .producer = producer,
};
