/*
 * sage_quant_q.c - the Sage quantiser of the queries (sage contract, section 8, row Q).
 *
 * Reference values of q_int8 are the queries themselves, held against q_int8 times the scale that
 * the kernel wrote; those of q_scale are max(amax, 1e-7)/127.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"
#include "op_models.h"
#include "sage_quant_model.h"

#define SAMPLED_MAX 1024
/* Oracle FLOPs of one element: about 50 ns of reading, decoding and comparing. */
#define ELEMENT_FLOPS 20.0

static const struct axis_spec axes[QUANT_AXES_NR] = QUANT_AXES("seqlen_q", "query tokens");

/* Entries of q_scale of one head; those beyond the queries hold the floor. */
static int64_t scales_of(int64_t seqlen)
{
    return 4 * quant_ceil(seqlen, 128);
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    const int64_t q[4] = {c->axis[QUANT_BATCH].i, c->axis[QUANT_HEADS].i, c->axis[QUANT_SEQLEN].i,
                          QUANT_DIM};
    const int64_t scale[3] = {q[0], q[1], scales_of(q[2])};

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("sage_quant_q");
    if (quant_tensor(c, p, SAB_T_sage_quant_q_q, SAB_BF16, q, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_q_q_int8, SAB_I8, q, 4, err) < 0 ||
        quant_tensor(c, p, SAB_T_sage_quant_q_q_scale, SAB_F32, scale, 3, err) < 0)
        return -1;
    return 0;
}

/* Performance anchors, row i of 4.1: 2 B read and 1 B written per element, and the scales. No
 * FLOPs are counted: quantising is traffic. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double heads = (double)quant_heads(c), seqlen = (double)c->axis[QUANT_SEQLEN].i;

    (void)err;
    memset(out, 0, sizeof(*out));
    out->bytes_min = heads * (3 * QUANT_DIM * seqlen + 4 * (double)scales_of((int64_t)seqlen));
    out->use[OP_READ].amount = 2 * heads * QUANT_DIM * seqlen;
    out->use[OP_WRITE].amount = out->bytes_min - out->use[OP_READ].amount;
    out->bytes_tiles = out->density = NAN;
    return 0;
}

/* Section 8, tests. The relative bars are for a whole tensor against the reference kernel; rounding
 * alone costs 0.9 % of N(0,1), and 1.3 % where one channel is an outlier. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    out[0] = (struct bar){SAB_T_sage_quant_q_q_int8, BAR_WITHIN, BAR_WHOLE, 0.5 * (1 + 0x1p-14), 0};
    out[1] = (struct bar){SAB_T_sage_quant_q_q_int8, BAR_REL_L2, BAR_WHOLE, 3e-2, 0};
    out[2] = (struct bar){SAB_T_sage_quant_q_q_scale, BAR_ELEMENT, BAR_WHOLE, 0, 1e-6};
    out[3] = (struct bar){SAB_T_sage_quant_q_q_scale, BAR_REL_L2, BAR_WHOLE, 1e-6, 0};
    return 4;
}

static double oracle_flops(const struct op_case *c)
{
    return ELEMENT_FLOPS * (double)quant_heads(c) * (double)c->axis[QUANT_SEQLEN].i * QUANT_DIM;
}

/* A group: its scale, and its rows where it has any. */
static int add_group(struct op_slices *out, int64_t seqlen, int64_t group, struct err *err)
{
    const int64_t scales = scales_of(seqlen), head = group / scales, tile = group % scales;
    const int64_t first = QUANT_GROUP * tile;
    const int64_t rows = seqlen - first < QUANT_GROUP ? seqlen - first : QUANT_GROUP;

    if (quant_slice(out, SAB_T_sage_quant_q_q_scale, group, 1, head, tile, QUANT_NO_UNIT, 0, err))
        return -1;
    if (rows <= 0)
        return 0;
    return quant_slice(out, SAB_T_sage_quant_q_q_int8, (head * seqlen + first) * QUANT_DIM,
                       rows * QUANT_DIM, head, tile, SAB_T_sage_quant_q_q_scale, group, err);
}

/* All groups, or evenly spread ones with the first and the last among them, each moved by a seeded
 * step, so that they do not all have the same place in their heads. */
static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    const int64_t seqlen = c->axis[QUANT_SEQLEN].i, groups = quant_heads(c) * scales_of(seqlen);
    const double affordable = flops / (ELEMENT_FLOPS * QUANT_GROUP * QUANT_DIM);
    int64_t nr = groups, last = -1;

    out->complete =
        quant_heads(c) * seqlen * QUANT_DIM <= QUANT_WHOLE_MAX && oracle_flops(c) <= flops;
    if (!out->complete)
        nr = affordable < SAMPLED_MAX ? (int64_t)affordable : SAMPLED_MAX;
    if (nr > groups)
        nr = groups;
    if (nr < 2)
        nr = groups < 2 ? groups : 2;
    for (int64_t i = 0; i < nr; i++) {
        const int64_t from = (int64_t)((double)i * (double)groups / (double)nr);
        const int64_t to = (int64_t)((double)(i + 1) * (double)groups / (double)nr);
        int64_t group = from;

        if (i == nr - 1)
            group = groups - 1;
        else if (i > 0 && to > from + 1)
            group += (int64_t)(recipe_hash(recipe_seed(c->seed, SAB_MAX_TENSORS), (uint64_t)i) %
                               (uint64_t)(to - from));
        if (group > last && add_group(out, seqlen, group, err) < 0)
            return -1;
        last = group;
    }
    return 0;
}

static int read_rows(const struct op_source *src, int64_t at, int64_t rows, double *dst)
{
    uint16_t line[QUANT_DIM];

    for (int64_t r = 0; r < rows; r++) {
        if (src->read(src->ctx, SAB_T_sage_quant_q_q, at + r * QUANT_DIM, QUANT_DIM, line) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++)
            dst[r * QUANT_DIM + d] = (double)numfmt_decode_bf16(line[d]);
    }
    return 0;
}

/* The scale of one group; rows beyond the queries count as 0. */
static int scale_of(const struct op_problem *p, const struct op_source *src, int64_t group,
                    double *scale)
{
    const int64_t seqlen = p->tensor[SAB_T_sage_quant_q_q].shape[2], scales = scales_of(seqlen);
    const int64_t first = group % scales * QUANT_GROUP;
    double row[QUANT_DIM], amax = 0;

    for (int64_t r = first; r < first + QUANT_GROUP && r < seqlen; r++) {
        if (read_rows(src, (group / scales * seqlen + r) * QUANT_DIM, 1, row) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++)
            amax = fmax(amax, fabs(row[d]));
    }
    *scale = quant_scale(amax, 127);
    return 0;
}

static int fill(const struct op_problem *p, const struct op_source *src, struct op_slice *s)
{
    if (s->tensor == SAB_T_sage_quant_q_q_int8)
        return read_rows(src, s->at, s->n / QUANT_DIM, s->ref);
    for (int64_t i = 0; i < s->n; i++)
        if (scale_of(p, src, s->at + i, &s->ref[i]) < 0)
            return -1;
    return 0;
}

static int oracle(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *list, struct err *err)
{
    int unread = 0;

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    for (size_t i = 0; i < list->nr; i++)
        if (quant_room(&list->item[i], false) < 0)
            return err_memory(err);
#ifdef _OPENMP
#    pragma omp parallel for schedule(dynamic) num_threads(threads > 0 ? threads : 1)              \
        reduction(+ : unread)
#endif
    for (size_t i = 0; i < list->nr; i++)
        unread += fill(p, src, &list->item[i]) < 0;
    if (unread)
        return err_set(err, ERR_BUG, "the input of sage_quant_q cannot be read by its oracle");
    return 0;
}

const struct op_model op_model_sage_quant_q = {
    .name = "sage_quant_q",
    .help = "Sage quantiser of the queries: bf16 to int8, one scale per 32 rows",
    .axes = axes,
    .axes_nr = QUANT_AXES_NR,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = oracle,
};
