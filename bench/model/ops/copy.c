/*
 * copy.c - dst = src, byte for byte: the ceiling of memory bandwidth.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op_models.h"

/* Bytes of a slice; a copy that is not held as a whole is known by this many slices. */
#define SLICE_BYTES INT64_C(65536)
#define SAMPLED     64
#define WHOLE_MAX   (INT64_C(1) << 24)

static const struct axis_spec axes[] = {
    {"size", AXIS_INT, NULL, "1048576", 1, 1099511627776.0, "bytes that are copied"},
};

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    (void)err;
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("copy");
    for (uint32_t i = SAB_T_copy_src; i <= SAB_T_copy_dst; i++) {
        struct op_tensor *t = &p->tensor[i];

        t->dtype = SAB_U8;
        t->rank = 1;
        t->shape[0] = t->elements = c->axis[0].i;
        t->bytes = (uint64_t)t->elements;
        t->recipe.kind = i == SAB_T_copy_src ? RECIPE_RANDOM : RECIPE_NONE;
        t->recipe.dtype = SAB_U8;
        t->recipe.seed = recipe_seed(c->seed, i);
        t->recipe.rank = 1;
        t->recipe.shape[0] = t->elements;
    }
    return 0;
}

/* One byte read and one written for each byte copied. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    (void)err;
    memset(out, 0, sizeof(*out));
    out->bytes_min = 2.0 * (double)c->axis[0].i;
    out->use[OP_READ].amount = out->use[OP_WRITE].amount = (double)c->axis[0].i;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    out[0] = (struct bar){SAB_T_copy_dst, BAR_ELEMENT, BAR_WHOLE, 0, 0};
    return 1;
}

static double oracle_flops(const struct op_case *c)
{
    return (double)c->axis[0].i;
}

static int add(struct op_slices *out, int64_t bytes, int64_t tile, struct err *err)
{
    const int64_t at = tile * SLICE_BYTES;
    const int64_t n = bytes - at < SLICE_BYTES ? bytes - at : SLICE_BYTES;
    struct op_slice *item = op_slices_add(out, SAB_T_copy_dst, at, n, err);

    if (!item)
        return -1;
    item->tile = tile;
    return 0;
}

/* All of it, or evenly spread slices with the first and the last among them. */
static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    const int64_t bytes = c->axis[0].i, parts = (bytes + SLICE_BYTES - 1) / SLICE_BYTES;
    int64_t last = -1, nr = parts;

    out->complete = bytes <= WHOLE_MAX && oracle_flops(c) <= flops;
    if (!out->complete && nr > SAMPLED)
        nr = SAMPLED;
    if (nr == parts)
        out->complete = true;
    for (int64_t i = 0; i < nr; i++) {
        const int64_t tile =
            nr > 1 ? (int64_t)((double)i * (double)(parts - 1) / (double)(nr - 1) + 0.5) : 0;

        if (tile != last && add(out, bytes, tile, err) < 0)
            return -1;
        last = tile;
    }
    return 0;
}

static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    uint8_t raw[4096];

    (void)p;
    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    for (size_t i = 0; i < list->nr; i++) {
        struct op_slice *s = &list->item[i];

        if (!s->ref)
            s->ref = malloc((size_t)s->n * sizeof(double));
        if (!s->ref)
            return err_memory(err);
        for (int64_t at = 0; at < s->n; at += (int64_t)sizeof(raw)) {
            const int64_t n = s->n - at < (int64_t)sizeof(raw) ? s->n - at : (int64_t)sizeof(raw);

            if (src->read(src->ctx, SAB_T_copy_src, s->at + at, n, raw) < 0)
                return err_set(err, ERR_BUG, "the input of copy cannot be read by its oracle");
            for (int64_t k = 0; k < n; k++)
                s->ref[at + k] = raw[k];
        }
    }
    return 0;
}

const struct op_model op_model_copy = {
    .name = "copy",
    .help = "copies bytes: the ceiling of memory bandwidth",
    .axes = axes,
    .axes_nr = sizeof(axes) / sizeof(axes[0]),
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = oracle,
};
