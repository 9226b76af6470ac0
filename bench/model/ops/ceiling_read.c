/*
 * ceiling_read.c - read: sums of parts of memory, modulo 2^32.
 */
#include <math.h>
#include <string.h>

#include "ceiling_model.h"
#include "op_models.h"

#define PART_WORDS INT64_C(8192)

static const struct axis_spec axes[] = {
    {"size", AXIS_INT, NULL, "1048576", 16, 1099511627776.0, "bytes that are read, by 16"},
};

static int settle(struct op_case *c, struct err *err)
{
    if (c->axis[0].i % 16)
        return err_set(err, ERR_CONFIG, "size = %lld is no multiple of 16",
                       (long long)c->axis[0].i);
    return 0;
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const int64_t words = c->axis[0].i / 4, parts = (words - 1) / PART_WORDS + 1;

    (void)err;
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("read");
    ceiling_tensor(c, p, SAB_T_read_src, SAB_I32, &words, 1, RECIPE_RANDOM);
    ceiling_tensor(c, p, SAB_T_read_sums, SAB_I32, &parts, 1, RECIPE_NONE);
    return 0;
}

static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    (void)err;
    memset(out, 0, sizeof(*out));
    out->bytes_min = out->use[OP_READ].amount = (double)c->axis[0].i;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    out[0] = (struct bar){SAB_T_read_sums, BAR_ELEMENT, BAR_WHOLE, 0, 0};
    return 1;
}

static double oracle_flops(const struct op_case *c)
{
    return (double)c->axis[0].i;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    (void)flops;
    return ceiling_slices(out, SAB_T_read_sums, (c->axis[0].i / 4 - 1) / PART_WORDS + 1, 1, err);
}

static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    const int64_t words = p->tensor[SAB_T_read_src].elements;
    uint32_t word[PART_WORDS];

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    for (size_t i = 0; i < list->nr; i++) {
        struct op_slice *s = &list->item[i];
        const int64_t at = s->at * PART_WORDS;
        const int64_t n = words - at < PART_WORDS ? words - at : PART_WORDS;
        uint32_t sum = 0;

        if (ceiling_room(s, err))
            return -1;
        if (src->read(src->ctx, SAB_T_read_src, at, n, word) < 0)
            return err_set(err, ERR_BUG, "the input of read cannot be read by its oracle");
        for (int64_t k = 0; k < n; k++)
            sum += word[k];
        s->ref[0] = (int32_t)sum;
    }
    return 0;
}

const struct op_model op_model_read = {
    .name = "read",
    .help = "reads bytes: the ceiling of memory bandwidth for what writes little",
    .axes = axes,
    .axes_nr = sizeof(axes) / sizeof(axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = oracle,
};
