/*
 * ceiling_rate.c - mma_peak and exp2: the rates of the tensor and the special function units.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ceiling_model.h"
#include "numfmt.h"
#include "op_models.h"

enum mma_axis {
    MMA_TILES = 0,
    MMA_M,
    MMA_N,
    MMA_ROW_BYTES,
    MMA_DTYPE,
    MMA_ITERATIONS,
    MMA_AXES_NR
};

static const struct axis_spec mma_axes[MMA_AXES_NR] = {
    [MMA_TILES] = {"tiles", AXIS_INT, NULL, "16", 1, 1048576, "independent products"},
    [MMA_M] = {"m", AXIS_INT, NULL, "64", 1, 1024, "rows of a"},
    [MMA_N] = {"n", AXIS_INT, NULL, "128", 1, 1024, "rows of b"},
    [MMA_ROW_BYTES] = {"row_bytes", AXIS_INT, NULL, "128", 16, 1024, "of a and b, by 16"},
    [MMA_DTYPE] = {"dtype", AXIS_WORD, "bf16 fp16 e4m3 i8", "bf16", 0, 0, "of a and b"},
    [MMA_ITERATIONS] = {"iterations", AXIS_INT, NULL, "64", 1, 16777216,
                        "how often each product is added up"},
};

/* In the order of the axis. */
static const struct {
    int32_t dtype;
    enum op_resource resource;
    double relative; /* what the accumulators may lose; 0: nothing */
} types[] = {
    {SAB_BF16, OP_BF16, 1e-3},
    {SAB_FP16, OP_FP16, 1e-3},
    {SAB_E4M3, OP_E4M3, 2e-2}, /* sums of about 13 bits on Hopper, promoted from time to time */
    {SAB_I8, OP_S8, 0},
};

static int mma_settle(struct op_case *c, struct err *err)
{
    if (c->axis[MMA_ROW_BYTES].i % 16)
        return err_set(err, ERR_CONFIG, "row_bytes = %lld is no multiple of 16",
                       (long long)c->axis[MMA_ROW_BYTES].i);
    return 0;
}

static int64_t depth_of(const struct op_case *c)
{
    return c->axis[MMA_ROW_BYTES].i / (int64_t)sab_dtype_size(types[c->axis[MMA_DTYPE].i].dtype);
}

static int mma_describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const int32_t dtype = types[c->axis[MMA_DTYPE].i].dtype;
    const int64_t tiles = c->axis[MMA_TILES].i, m = c->axis[MMA_M].i, n = c->axis[MMA_N].i;
    const int64_t k = depth_of(c);
    const int64_t a[3] = {tiles, m, k}, b[3] = {tiles, n, k}, out[3] = {tiles, m, n};

    (void)err;
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("mma_peak");
    for (uint32_t t = SAB_T_mma_peak_a; t <= SAB_T_mma_peak_b; t++) {
        struct recipe *r = ceiling_tensor(c, p, t, dtype, t == SAB_T_mma_peak_a ? a : b, 3,
                                          dtype == SAB_I8 ? RECIPE_INT : RECIPE_NORMAL);

        r->p[0] = -127;
        r->p[1] = 127;
        r->f[0] = 1;
    }
    ceiling_tensor(c, p, SAB_T_mma_peak_out, dtype == SAB_I8 ? SAB_I32 : SAB_F32, out, 3,
                   RECIPE_NONE);
    p->param[SAB_P_mma_peak_iterations].i = c->axis[MMA_ITERATIONS].i;
    return 0;
}

static double tile_flops(const struct op_case *c)
{
    return 2.0 * (double)(c->axis[MMA_M].i * c->axis[MMA_N].i * depth_of(c));
}

static int mma_cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double tiles = (double)c->axis[MMA_TILES].i;

    (void)err;
    memset(out, 0, sizeof(*out));
    out->flops_nominal = tile_flops(c) * tiles * (double)c->axis[MMA_ITERATIONS].i;
    out->flops_valid = out->flops_dense = out->flops_nominal;
    out->bytes_min =
        tiles * (double)((c->axis[MMA_M].i + c->axis[MMA_N].i) * c->axis[MMA_ROW_BYTES].i +
                         4 * c->axis[MMA_M].i * c->axis[MMA_N].i);
    out->use[types[c->axis[MMA_DTYPE].i].resource].amount = out->flops_nominal;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

static size_t mma_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    const double relative = types[c->axis[MMA_DTYPE].i].relative;

    (void)sampled;
    out[0] = relative > 0 ? (struct bar){SAB_T_mma_peak_out, BAR_REL_L2, BAR_WHOLE, relative, 0}
                          : (struct bar){SAB_T_mma_peak_out, BAR_ELEMENT, BAR_WHOLE, 0, 0};
    return 1;
}

static double mma_oracle_flops(const struct op_case *c)
{
    return tile_flops(c) * (double)c->axis[MMA_TILES].i;
}

static int mma_slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    (void)flops;
    return ceiling_slices(out, SAB_T_mma_peak_out, c->axis[MMA_TILES].i,
                          c->axis[MMA_M].i * c->axis[MMA_N].i, err);
}

/* Operands of one tile as doubles. */
static int read_operand(const struct op_problem *p, const struct op_source *src, uint32_t tensor,
                        int64_t tile, double *to)
{
    const struct op_tensor *t = &p->tensor[tensor];
    const int64_t n = t->shape[1] * t->shape[2];
    uint8_t *raw = malloc((size_t)n * sab_dtype_size(t->dtype));
    int ret = raw ? src->read(src->ctx, tensor, tile * n, n, raw) : -1;

    for (int64_t i = 0; ret >= 0 && i < n; i++)
        to[i] = numfmt_decode(t->dtype, numfmt_load(t->dtype, raw, i));
    free(raw);
    return ret;
}

/* Integers are added up modulo 2^32. */
static double summed(double once, double iterations, int32_t dtype)
{
    if (dtype != SAB_I8)
        return once * iterations;
    return (double)(int32_t)(uint32_t)((int64_t)once * (int64_t)iterations);
}

static void mma_fill(const struct op_problem *p, const double *a, const double *b,
                     struct op_slice *s)
{
    const int64_t m = p->tensor[SAB_T_mma_peak_a].shape[1];
    const int64_t n = p->tensor[SAB_T_mma_peak_b].shape[1];
    const int64_t k = p->tensor[SAB_T_mma_peak_a].shape[2];
    const double iterations = (double)p->param[SAB_P_mma_peak_iterations].i;

    for (int64_t r = 0; r < m; r++)
        for (int64_t col = 0; col < n; col++) {
            double sum = 0;

            for (int64_t i = 0; i < k; i++)
                sum += a[r * k + i] * b[col * k + i];
            s->ref[r * n + col] = summed(sum, iterations, p->tensor[SAB_T_mma_peak_a].dtype);
        }
}

static int mma_oracle(const struct op_problem *p, const struct op_source *src,
                      const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                      struct op_slices *list, struct err *err)
{
    const int64_t *sa = p->tensor[SAB_T_mma_peak_a].shape, *sb = p->tensor[SAB_T_mma_peak_b].shape;
    double *a = calloc((size_t)(sa[1] * sa[2]), sizeof(*a));
    double *b = calloc((size_t)(sb[1] * sb[2]), sizeof(*b));
    int ret = a && b ? 0 : err_memory(err);

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    for (size_t i = 0; i < list->nr && !ret; i++) {
        struct op_slice *s = &list->item[i];

        if (ceiling_room(s, err))
            ret = -1;
        else if (read_operand(p, src, SAB_T_mma_peak_a, s->tile, a) < 0 ||
                 read_operand(p, src, SAB_T_mma_peak_b, s->tile, b) < 0)
            ret = err_set(err, ERR_BUG, "an input of mma_peak cannot be read by its oracle");
        else
            mma_fill(p, a, b, s);
    }
    free(a);
    free(b);
    return ret;
}

const struct op_model op_model_mma_peak = {
    .name = "mma_peak",
    .help = "repeated small matrix products: the ceiling of the tensor units",
    .axes = mma_axes,
    .axes_nr = MMA_AXES_NR,
    .settle = mma_settle,
    .describe = mma_describe,
    .cost = mma_cost,
    .bars = mma_bars,
    .slices = mma_slices,
    .oracle_flops = mma_oracle_flops,
    .oracle = mma_oracle,
};

/* ---- exp2 ---- */

static const struct axis_spec exp2_axes[] = {
    {"elements", AXIS_INT, NULL, "65536", 1, 1073741824.0, "sums"},
    {"iterations", AXIS_INT, NULL, "16", 1, 16384, "exponentials of a sum"},
};

static int exp2_describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const int64_t n = c->axis[0].i;

    (void)err;
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("exp2");
    ceiling_tensor(c, p, SAB_T_exp2_src, SAB_F32, &n, 1, RECIPE_REAL)->f[0] = 1;
    ceiling_tensor(c, p, SAB_T_exp2_out, SAB_F32, &n, 1, RECIPE_NONE);
    p->param[SAB_P_exp2_iterations].i = c->axis[1].i;
    return 0;
}

/* Counted as operations: one an exponential. */
static int exp2_cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    (void)err;
    memset(out, 0, sizeof(*out));
    out->flops_nominal = (double)c->axis[0].i * (double)c->axis[1].i;
    out->flops_valid = out->flops_dense = out->use[OP_EXP2].amount = out->flops_nominal;
    out->bytes_min = 8 * (double)c->axis[0].i;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

/* The approximation is good to 2^-22; sums of floats lose more. */
static size_t exp2_bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    out[0] = (struct bar){SAB_T_exp2_out, BAR_ELEMENT, BAR_WHOLE, 0, 1e-4};
    return 1;
}

static double exp2_oracle_flops(const struct op_case *c)
{
    return (double)c->axis[0].i;
}

static int exp2_slices(const struct op_case *c, double flops, struct op_slices *out,
                       struct err *err)
{
    (void)flops;
    return ceiling_slices(out, SAB_T_exp2_out, c->axis[0].i, 1, err);
}

/* A geometric series: 2^x * (1 - q^n) / (1 - q), q = 2^(-1/1024). */
static int exp2_oracle(const struct op_problem *p, const struct op_source *src,
                       const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                       struct op_slices *list, struct err *err)
{
    const double n = (double)p->param[SAB_P_exp2_iterations].i, step = -M_LN2 / 1024;

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    for (size_t i = 0; i < list->nr; i++) {
        struct op_slice *s = &list->item[i];
        float x;

        if (ceiling_room(s, err))
            return -1;
        if (src->read(src->ctx, SAB_T_exp2_src, s->at, 1, &x) < 0)
            return err_set(err, ERR_BUG, "the input of exp2 cannot be read by its oracle");
        s->ref[0] = exp2((double)x) * expm1(n * step) / expm1(step);
    }
    return 0;
}

const struct op_model op_model_exp2 = {
    .name = "exp2",
    .help = "exponentials: the ceiling of the special function units",
    .axes = exp2_axes,
    .axes_nr = sizeof(exp2_axes) / sizeof(exp2_axes[0]),
    .describe = exp2_describe,
    .cost = exp2_cost,
    .bars = exp2_bars,
    .slices = exp2_slices,
    .oracle_flops = exp2_oracle_flops,
    .oracle = exp2_oracle,
};
