/*
 * ceiling_rows.c - gather, reduce and both together, on random rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ceiling_model.h"
#include "op_models.h"

enum rows_axis { ROWS_FOOTPRINT = 0, ROWS_BYTES, ROWS_STREAMS, ROWS_PICKS, ROWS_AXES_NR };

/* Rows of this size and above are the tiles of a dense operand. */
#define TILE_BYTES 8192

static const struct axis_spec axes[ROWS_AXES_NR] = {
    [ROWS_FOOTPRINT] = {"footprint", AXIS_INT, NULL, "1048576", 16, 1099511627776.0,
                        "bytes of all rows, of what is added to in gather_reduce twice that"},
    [ROWS_BYTES] = {"row_bytes", AXIS_INT, NULL, "1024", 16, 65536, "bytes of a row, by 16"},
    [ROWS_STREAMS] = {"streams", AXIS_INT, NULL, "64", 1, 16777216, "that take rows by turns"},
    [ROWS_PICKS] = {"picks", AXIS_INT, NULL, "64", 1, 16777216, "rows that a stream takes"},
};

struct rows {
    int64_t rows, bytes, streams, picks;
    bool gathers, reduces;
    uint32_t src, ids, acc, sums; /* places */
};

static void rows_of(const struct op_case *c, struct rows *r)
{
    const bool both = !strcmp(c->op->name, "gather_reduce");

    r->bytes = c->axis[ROWS_BYTES].i;
    r->rows = c->axis[ROWS_FOOTPRINT].i / r->bytes;
    r->streams = c->axis[ROWS_STREAMS].i;
    r->picks = c->axis[ROWS_PICKS].i;
    r->gathers = both || !strcmp(c->op->name, "gather");
    r->reduces = both || !r->gathers;
    r->src = SAB_T_gather_src;
    r->ids = SAB_T_gather_ids;
    r->acc = both ? (uint32_t)SAB_T_gather_reduce_acc : (uint32_t)SAB_T_reduce_acc;
    r->sums = both ? (uint32_t)SAB_T_gather_reduce_sums : (uint32_t)SAB_T_gather_sums;
}

static int settle(struct op_case *c, struct err *err)
{
    if (c->axis[ROWS_BYTES].i % 16)
        return err_set(err, ERR_CONFIG, "row_bytes = %lld is no multiple of 16",
                       (long long)c->axis[ROWS_BYTES].i);
    if (c->axis[ROWS_FOOTPRINT].i < c->axis[ROWS_BYTES].i ||
        c->axis[ROWS_FOOTPRINT].i / c->axis[ROWS_BYTES].i > INT32_MAX)
        return err_set(err, ERR_CONFIG,
                       "footprint = %lld with row_bytes = %lld is not 1 to 2147483647 rows",
                       (long long)c->axis[ROWS_FOOTPRINT].i, (long long)c->axis[ROWS_BYTES].i);
    return 0;
}

/* The numbers that are added to have as many bytes a row as what is read; where both are done,
 * twice as many, like fp32 beside bf16. */
static int64_t acc_width(const struct rows *r)
{
    return r->bytes / 4 * (r->gathers ? 2 : 1);
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    struct rows r;

    (void)err;
    rows_of(c, &r);
    const int64_t src[2] = {r.rows, r.bytes / 4}, ids[2] = {r.streams, r.picks};
    const int64_t acc[2] = {r.rows, acc_width(&r)};
    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find(c->op->name);
    if (r.gathers) {
        ceiling_tensor(c, p, r.src, SAB_I32, src, 2, RECIPE_RANDOM);
        ceiling_tensor(c, p, r.sums, SAB_I32, ids, 1, RECIPE_NONE);
    }
    if (r.reduces)
        ceiling_tensor(c, p, r.acc, SAB_F32, acc, 2, RECIPE_CONST);
    ceiling_tensor(c, p, r.ids, SAB_I32, ids, 2, RECIPE_INT)->p[1] = r.rows - 1;
    return 0;
}

static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    struct rows r;

    (void)err;
    rows_of(c, &r);
    const double picks = (double)r.streams * (double)r.picks, rows = (double)r.rows;
    const double acc_bytes = 4 * (double)acc_width(&r);

    memset(out, 0, sizeof(*out));
    if (r.gathers)
        out->use[r.bytes >= TILE_BYTES ? OP_FEED : OP_GATHER] =
            (struct op_use){picks * (double)r.bytes, rows * (double)r.bytes};
    if (r.reduces)
        out->use[OP_REDUCE] = (struct op_use){picks * acc_bytes, rows * acc_bytes};
    /* What moves between the processors and L2, not what memory must give. */
    for (int i = OP_FEED; i <= OP_REDUCE; i++)
        out->bytes_min += out->use[i].amount;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    struct rows r;
    size_t nr = 0;

    (void)sampled;
    rows_of(c, &r);
    if (r.gathers)
        out[nr++] = (struct bar){r.sums, BAR_ELEMENT, BAR_WHOLE, 0, 0};
    if (r.reduces)
        out[nr++] = (struct bar){r.acc, BAR_ELEMENT, BAR_WHOLE, 0, 0};
    return nr;
}

static double oracle_flops(const struct op_case *c)
{
    return (double)c->axis[ROWS_STREAMS].i * (double)c->axis[ROWS_PICKS].i;
}

static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    bool complete = true;
    struct rows r;

    (void)flops;
    rows_of(c, &r);
    if (r.gathers && ceiling_slices(out, r.sums, r.streams, 1, err))
        return -1;
    if (r.gathers)
        complete = out->complete;
    if (r.reduces && ceiling_slices(out, r.acc, r.rows, acc_width(&r), err))
        return -1;
    out->complete = out->complete && complete;
    return 0;
}

static int sum_stream(const struct op_problem *p, const struct op_source *src, const struct rows *r,
                      const int32_t *ids, struct op_slice *s)
{
    const int64_t width = r->bytes / 4;
    uint32_t sum = 0;

    (void)p;
    for (int64_t i = 0; i < r->picks; i++) {
        const int64_t row = ids[s->at * r->picks + i];
        uint32_t word;

        if (src->read(src->ctx, r->src, row * width + i % width, 1, &word) < 0)
            return -1;
        sum += word;
    }
    s->ref[0] = (int32_t)sum;
    return 0;
}

static int fill(const struct op_problem *p, const struct op_source *src, const struct rows *r,
                const int32_t *ids, struct op_slices *list, struct err *err)
{
    for (size_t i = 0; i < list->nr; i++) {
        struct op_slice *s = &list->item[i];

        if (ceiling_room(s, err))
            return -1;
        if (r->gathers && s->tensor == r->sums) {
            if (sum_stream(p, src, r, ids, s))
                return err_set(err, ERR_BUG, "the input of gather cannot be read by its oracle");
            continue;
        }
        double count = 0;
        for (int64_t k = 0; k < r->streams * r->picks; k++)
            count += ids[k] == s->at / s->n;
        for (int64_t k = 0; k < s->n; k++)
            s->ref[k] = count;
    }
    return 0;
}

static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    const bool both = !strcmp(p->spec->name, "gather_reduce");
    const bool gathers = both || !strcmp(p->spec->name, "gather");
    struct rows r = {.gathers = gathers,
                     .reduces = both || !gathers,
                     .src = SAB_T_gather_src,
                     .ids = SAB_T_gather_ids,
                     .sums =
                         both ? (uint32_t)SAB_T_gather_reduce_sums : (uint32_t)SAB_T_gather_sums};

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    r.streams = p->tensor[r.ids].shape[0];
    r.picks = p->tensor[r.ids].shape[1];
    r.bytes = gathers ? 4 * p->tensor[r.src].shape[1] : 0;
    int32_t *ids = malloc((size_t)(r.streams * r.picks) * sizeof(*ids));
    if (!ids)
        return err_memory(err);
    int ret =
        src->read(src->ctx, r.ids, 0, r.streams * r.picks, ids) < 0
            ? err_set(err, ERR_BUG, "the ids of %s cannot be read by its oracle", p->spec->name)
            : fill(p, src, &r, ids, list, err);
    free(ids);
    return ret;
}

#define ROWS_MODEL(op, text)                                                                       \
    const struct op_model op_model_##op = {                                                        \
        .name = #op,                                                                               \
        .help = text,                                                                              \
        .axes = axes,                                                                              \
        .axes_nr = ROWS_AXES_NR,                                                                   \
        .settle = settle,                                                                          \
        .describe = describe,                                                                      \
        .cost = cost,                                                                              \
        .bars = bars,                                                                              \
        .slices = slices,                                                                          \
        .oracle_flops = oracle_flops,                                                              \
        .oracle = oracle,                                                                          \
    }

ROWS_MODEL(gather, "brings random rows on chip: the ceiling of tiles and of gathered rows");
ROWS_MODEL(reduce, "adds to random rows in memory: the ceiling of reductions");
ROWS_MODEL(gather_reduce, "brings random rows on chip and adds to others: both ceilings together");
