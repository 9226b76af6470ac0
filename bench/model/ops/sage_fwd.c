/*
 * sage_fwd.c - the Sage forward operator: axes, shapes and inputs. Sections: sage contract.
 */
#include "sage_model.h"

#include <string.h>

#include "op_models.h"

static const struct axis_spec axes[BLOCKS_OWN] = {
    BLOCKS_AXES_OF_BOTH,
    [BLOCKS_KV_HEADS] = {"kv_heads", AXIS_INT, NULL, "heads", 1, 1048576,
                         "key and value heads; fewer than heads is a case that kernels skip"},
    [BLOCKS_DTYPE] = {"dtype", AXIS_WORD, "int8_e4m3", "int8_e4m3", 0, 0, "int8 QK, fp8 PV"},
    [BLOCKS_DATA] =
        {"data", AXIS_WORD, "strong public", "strong", 0, 0,
         "scales of q and k: U*0.04+0.04, or the public U*0.01+0.002, which hides faults"},
};

static void describe_values(const struct op_case *c, const struct blocks_sizes *s,
                            struct op_problem *p, bool *overflow)
{
    const int64_t q[4] = {s->batch, s->heads, s->seqlen_q, s->dim};
    const int64_t k[4] = {s->batch, s->kv_heads, s->seqlen_k, s->dim};
    const int64_t v[4] = {s->batch, s->kv_heads, s->dim, sage_k_padded(s)};
    const int64_t qs[4] = {s->batch, s->heads, sage_q_scales(s)};
    const int64_t ks[4] = {s->batch, s->kv_heads, s->k_blocks};
    const int64_t vs[4] = {s->batch, s->kv_heads, s->dim};
    const bool strong = c->axis[BLOCKS_DATA].i == 0;
    struct recipe *r;

    /* Section 9.2; `strong` are the suite's own scales, which do not hide a wrong QK product. */
    for (int i = 0; i < 2; i++) {
        r = i ? blocks_tensor(c, p, SAB_T_sage_fwd_k_int8, SAB_I8, k, 4, overflow)
              : blocks_tensor(c, p, SAB_T_sage_fwd_q_int8, SAB_I8, q, 4, overflow);
        r->kind = RECIPE_INT;
        r->p[0] = -32;
        r->p[1] = 32;
        r = i ? blocks_tensor(c, p, SAB_T_sage_fwd_k_scale, SAB_F32, ks, 3, overflow)
              : blocks_tensor(c, p, SAB_T_sage_fwd_q_scale, SAB_F32, qs, 3, overflow);
        r->kind = RECIPE_REAL;
        r->f[0] = strong ? 0.04f : 0.01f;
        r->f[1] = strong ? 0.04f : 0.002f;
    }
    r = blocks_tensor(c, p, SAB_T_sage_fwd_v_fp8, SAB_E4M3, v, 4, overflow);
    r->kind = RECIPE_SAGE_V;
    r->p[SAGE_V_TOKENS] = s->seqlen_k;
    r->p[SAGE_V_SIZES] = s->sizes_mode;
    r->f[0] = 0.25f;
    r = blocks_tensor(c, p, SAB_T_sage_fwd_v_scale, SAB_F32, vs, 3, overflow);
    r->kind = RECIPE_REAL;
    r->f[0] = 0.75f;
    r->f[1] = 0.25f;
    blocks_tensor(c, p, SAB_T_sage_fwd_out, SAB_BF16, q, 4, overflow);
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    static const struct blocks_places places = BLOCKS_PLACES(sage_fwd);
    bool overflow = false;
    struct blocks_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("sage_fwd");
    blocks_sizes(c, &s);
    describe_values(c, &s, p, &overflow);
    blocks_describe(c, &s, &places, p, &overflow);
    if (overflow)
        return err_set(err, ERR_CONFIG, "a tensor of this case has more than 2^63 bytes");
    return 0;
}

static const struct op_quantised quantised[] = {{"q_int8", "q"}, {"k_int8", "k"}, {"v_fp8", "v"}};

const struct op_model op_model_sage_fwd = {
    .name = "sage_fwd",
    .help = "Sage block-sparse attention forward: int8 QK, fp8 PV, bf16 out",
    .axes = axes,
    .axes_nr = BLOCKS_OWN,
    .settle = blocks_settle,
    .describe = describe,
    .cost = sage_cost,
    .bars = sage_bars,
    .bars_fed = sage_bars_fed,
    .slices = sage_slices,
    .oracle_flops = blocks_flops,
    .oracle = sage_oracle,
    .accuracy = sage_accuracy,
    .quantised = quantised,
    .quantised_nr = sizeof(quantised) / sizeof(quantised[0]),
};
