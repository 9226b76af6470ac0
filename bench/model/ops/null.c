/*
 * null.c - the operator that does nothing: what the harness itself costs. It has no tensors, so
 * there is nothing to judge, and it alone may be timed without a check.
 */
#include <math.h>
#include <string.h>

#include "op_models.h"

static const struct axis_spec axes[] = {
    {"batch", AXIS_INT, NULL, "1", 1, 1048576, "changes nothing, so that a sweep can have cases"},
};

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    (void)c;
    (void)err;
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("null");
    return 0;
}

static int cost(const struct op_case *c, struct op_cost *cost, struct err *err)
{
    (void)c;
    (void)err;
    memset(cost, 0, sizeof(*cost));
    cost->bytes_tiles = cost->density = NAN;
    return 0;
}

static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    (void)out;
    return 0;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    (void)c;
    (void)flops;
    (void)err;
    out->complete = true;
    return 0;
}

static double oracle_flops(const struct op_case *c)
{
    (void)c;
    return 0;
}

static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    (void)p;
    (void)src;
    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    (void)list;
    (void)err;
    return 0;
}

const struct op_model op_model_null = {
    .name = "null",
    .help = "does nothing: what the harness itself costs",
    .axes = axes,
    .axes_nr = sizeof(axes) / sizeof(axes[0]),
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = oracle,
};
