/*
 * sage_quant_oracle.c - the right answers of sage_quant_kv, in double, one head at a time (sage
 * contract, section 8; places of V: section 3).
 *
 * Reference values: of k_int8 the keys less their mean, held against k_int8 times the scale that
 * the kernel wrote; of v_fp8 the code's value, or the exact quotient where it lies on a rounding
 * boundary; of the scales max(amax, 1e-7)/127 and /2.25.
 */
#include <math.h>
#include <stdlib.h>

#include "numfmt.h"
#include "sage_quant_model.h"

struct quant_run {
    const struct op_problem *p;
    const struct op_source *src;
    int64_t seqlen, blocks;
};

/* What a head's slices need of all its tokens. */
struct quant_head {
    int64_t head;
    double k_mean[QUANT_DIM]; /* rounded to bf16 */
    double k_step[QUANT_DIM]; /* a step of bf16 at the mean */
    double v_scale[QUANT_DIM];
};

/* The distance of bf16 values at m, 2^(exponent - 7); subnormals are 2^-133 apart. */
static double bf16_step(double m)
{
    int exponent;

    if (m == 0)
        return 0x1p-133;
    frexp(m, &exponent);
    return ldexp(1, exponent - 8 < -133 ? -133 : exponent - 8);
}

static int read_row(const struct quant_run *run, uint32_t tensor, int64_t head, int64_t token,
                    double row[QUANT_DIM])
{
    uint16_t line[QUANT_DIM];

    if (run->src->read(run->src->ctx, tensor, (head * run->seqlen + token) * QUANT_DIM, QUANT_DIM,
                       line) < 0)
        return -1;
    for (int d = 0; d < QUANT_DIM; d++)
        row[d] = (double)numfmt_decode_bf16(line[d]);
    return 0;
}

static int head_init(const struct quant_run *run, struct quant_head *h)
{
    double sum[QUANT_DIM] = {0}, amax[QUANT_DIM] = {0}, row[QUANT_DIM];

    for (int64_t t = 0; t < run->seqlen; t++) {
        if (read_row(run, SAB_T_sage_quant_kv_k, h->head, t, row) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++)
            sum[d] += row[d];
        if (read_row(run, SAB_T_sage_quant_kv_v, h->head, t, row) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++)
            amax[d] = fmax(amax[d], fabs(row[d]));
    }
    for (int d = 0; d < QUANT_DIM; d++) {
        h->k_mean[d] = numfmt_decode(SAB_BF16, numfmt_encode_bf16(sum[d] / (double)run->seqlen));
        h->k_step[d] = bf16_step(h->k_mean[d]);
        h->v_scale[d] = quant_scale(amax[d], 2.25);
    }
    return 0;
}

static int fill_keys(const struct quant_run *run, const struct quant_head *h, struct op_slice *s)
{
    const int64_t first = s->at / QUANT_DIM - h->head * run->seqlen;

    for (int64_t r = 0; r < s->n / QUANT_DIM; r++) {
        double *ref = s->ref + r * QUANT_DIM, *within = s->within + r * QUANT_DIM;

        if (read_row(run, SAB_T_sage_quant_kv_k, h->head, first + r, ref) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++) {
            ref[d] -= h->k_mean[d];
            within[d] = h->k_step[d];
        }
    }
    return 0;
}

/* One block's scale. A mean that is a step off moves every key of its channel by that step. */
static int fill_key_scale(const struct quant_run *run, const struct quant_head *h, int64_t block,
                          double *ref, double *within)
{
    double row[QUANT_DIM], amax = 0, low = 0, high = 0;

    for (int64_t t = block * QUANT_BLOCK; t < (block + 1) * QUANT_BLOCK && t < run->seqlen; t++) {
        if (read_row(run, SAB_T_sage_quant_kv_k, h->head, t, row) < 0)
            return -1;
        for (int d = 0; d < QUANT_DIM; d++) {
            const double size = fabs(row[d] - h->k_mean[d]);

            amax = fmax(amax, size);
            low = fmax(low, size - h->k_step[d]);
            high = fmax(high, size + h->k_step[d]);
        }
    }
    *ref = quant_scale(amax, 127);
    *within = fmax(*ref - quant_scale(low, 127), quant_scale(high, 127) - *ref);
    return 0;
}

/* The code of v over its scale: its bits where no rounding boundary is near, else both neighbours
 * are right. A zero keeps no sign. */
static void fill_value(double v, double scale, double *ref, double *within)
{
    const double quotient = v / scale;
    const double low = numfmt_decode(SAB_E4M3, numfmt_encode_e4m3(quotient * (1 - 0x1p-20)));
    const double high = numfmt_decode(SAB_E4M3, numfmt_encode_e4m3(quotient * (1 + 0x1p-20)));

    if (low == high) {
        *ref = low;
        *within = v == 0 ? 0 : -1;
        return;
    }
    *ref = quotient;
    *within = fmax(fabs(low - quotient), fabs(high - quotient)) * (1 + 0x1p-40);
}

/* A part of one channel; tokens beyond the sequence are zero bytes. */
static int fill_values(const struct quant_run *run, const struct quant_head *h, struct op_slice *s)
{
    const int64_t width = QUANT_BLOCK * run->blocks;
    const int64_t channel = s->at / width % QUANT_DIM;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t place = (s->at + i) % width;
        const int64_t token = place - place % 16 + recipe_sage_logical((int)(place % 16));
        uint16_t v;

        s->ref[i] = 0;
        s->within[i] = -1;
        if (token >= run->seqlen)
            continue;
        if (run->src->read(run->src->ctx, SAB_T_sage_quant_kv_v,
                           (h->head * run->seqlen + token) * QUANT_DIM + channel, 1, &v) < 0)
            return -1;
        fill_value((double)numfmt_decode_bf16(v), h->v_scale[channel], &s->ref[i], &s->within[i]);
    }
    return 0;
}

static int fill_slice(const struct quant_run *run, const struct quant_head *h, struct op_slice *s)
{
    switch (s->tensor) {
    case SAB_T_sage_quant_kv_k_int8:
        return fill_keys(run, h, s);
    case SAB_T_sage_quant_kv_k_scale:
        for (int64_t i = 0; i < s->n; i++)
            if (fill_key_scale(run, h, (s->at + i) % run->blocks, &s->ref[i], &s->within[i]) < 0)
                return -1;
        return 0;
    case SAB_T_sage_quant_kv_v_fp8:
        return fill_values(run, h, s);
    default:
        for (int64_t i = 0; i < s->n; i++)
            s->ref[i] = h->v_scale[(s->at + i) % QUANT_DIM];
        return 0;
    }
}

static int by_head(const void *left, const void *right)
{
    const struct op_slice *a = *(struct op_slice *const *)left;
    const struct op_slice *b = *(struct op_slice *const *)right;

    return a->head < b->head ? -1 : a->head > b->head;
}

/* The slices of one head are order[from..to). */
static int fill_head(const struct quant_run *run, struct op_slice *const *order, size_t from,
                     size_t to)
{
    struct quant_head h = {.head = order[from]->head};

    if (head_init(run, &h) < 0)
        return -1;
    for (size_t i = from; i < to; i++)
        if (fill_slice(run, &h, order[i]) < 0)
            return -1;
    return 0;
}

int quant_kv_oracle(const struct op_problem *p, const struct op_source *src,
                    const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                    struct op_slices *slices, struct err *err)
{
    struct quant_run run = {.p = p, .src = src};
    struct op_slice **order = malloc((slices->nr + 1) * sizeof(*order));
    size_t *begin = malloc((slices->nr + 1) * sizeof(*begin)), heads = 0;
    int room = order && begin ? 0 : -1, unread = 0;

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
    run.seqlen = p->tensor[SAB_T_sage_quant_kv_k].shape[2];
    run.blocks = p->tensor[SAB_T_sage_quant_kv_k_scale].shape[2];
    for (size_t i = 0; i < slices->nr && !room; i++) {
        order[i] = &slices->item[i];
        room = quant_room(order[i], true);
    }
    if (!room) {
        qsort(order, slices->nr, sizeof(*order), by_head);
        for (size_t i = 0; i < slices->nr; i++)
            if (i == 0 || order[i]->head != order[i - 1]->head)
                begin[heads++] = i;
        begin[heads] = slices->nr;
#ifdef _OPENMP
#    pragma omp parallel for schedule(dynamic) num_threads(threads > 0 ? threads : 1)              \
        reduction(+ : unread)
#endif
        for (size_t i = 0; i < heads; i++)
            unread += fill_head(&run, order, begin[i], begin[i + 1]) < 0;
    }
    free(begin);
    free(order);
    if (room)
        return err_memory(err);
    if (unread)
        return err_set(err, ERR_BUG, "an input of sage_quant_kv cannot be read by its oracle");
    return 0;
}
