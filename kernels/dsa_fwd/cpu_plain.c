/*
 * cpu_plain.c - dsa_fwd/cpu with what every processor of its kind has.
 */
#define DSA_CPU_VECTOR 16
#include "cpu_body.h"

static void group(const struct dsa_fwd_plan *p, struct dsa_fwd_tile *t, int32_t *ids, int64_t row,
                  int64_t index)
{
    body_group(p, t, ids, row, index);
}

const struct dsa_fwd_variant dsa_fwd_variant_plain = {group};
