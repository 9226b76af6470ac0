/*
 * cpu_plain.c - dsa_bwd/cpu with what every processor of its kind has.
 */
#define DSA_CPU_VECTOR 16
#include "cpu_body.h"

static void group(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first, int64_t i,
                  int64_t index)
{
    body_group(p, t, first, i, index);
}

static void strip(const struct dsa_bwd_plan *p, struct dsa_bwd_tile *t, int64_t first,
                  int64_t column, int64_t part)
{
    body_strip(p, t, first, column, part);
}

static void key(const struct dsa_bwd_plan *p, int64_t row)
{
    body_key(p, row);
}

const struct dsa_bwd_variant dsa_bwd_variant_plain = {group, strip, key};
