/*
 * indexer_topk_oracle.c - which columns of a row are selected (indexer contract, 3.2), by counting:
 * the order of the n-th largest value is found byte by byte, then the row is walked once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "indexer_topk_model.h"
#include "numfmt.h"

enum fault { FAULT_NONE = 0, FAULT_READ, FAULT_MEMORY };

uint32_t indexer_topk_order(int32_t dtype, uint32_t bits)
{
    const uint32_t sign = dtype == SAB_F32 ? 0x80000000u : 0x8000u, size = bits & (sign - 1);

    return bits & sign ? sign - size : sign + size;
}

int64_t indexer_topk_row_limit(const struct op_problem *p, const struct op_source *src, int64_t row)
{
    const int64_t next_n = p->param[SAB_P_indexer_topk_next_n].i;
    const int64_t columns = p->tensor[SAB_T_indexer_topk_values_in].shape[1];
    int32_t given;

    if (src->read(src->ctx, SAB_T_indexer_topk_seq_lens, row / next_n, 1, &given) < 0)
        return -1;
    const int64_t length = (int64_t)given - next_n + row % next_n + 1;
    return length < 0 ? 0 : length > columns ? columns : length;
}

struct topk_row {
    int64_t length, slots;
    int32_t dtype;
    void *raw;       /* [C] */
    uint32_t *order; /* [C] */
    int32_t *ids;    /* [K] */
};

/* The largest order that at least `n` of the row's elements reach. */
static uint32_t nth_order(const struct topk_row *r, int64_t n)
{
    uint32_t found = 0, known = 0;
    int64_t left = n;

    for (int shift = 24; shift >= 0; shift -= 8) {
        int64_t count[256] = {0};
        int digit = 255;

        for (int64_t i = 0; i < r->length; i++)
            if ((r->order[i] & known) == found)
                count[r->order[i] >> shift & 255]++;
        while (count[digit] < left)
            left -= count[digit--];
        found |= (uint32_t)digit << shift;
        known |= 255u << shift;
    }
    return found;
}

/* ids of the n selected columns, ascending. */
static void row_select(struct topk_row *r, int64_t n, int64_t tie_break)
{
    const uint32_t nth = nth_order(r, n);
    int64_t above = 0, ties = 0, skip, take, at = 0;

    for (int64_t i = 0; i < r->length; i++) {
        above += r->order[i] > nth;
        ties += r->order[i] == nth;
    }
    take = n - above;
    skip = tie_break == 2 ? ties - take : 0;
    for (int64_t i = 0; i < r->length; i++) {
        bool chosen = r->order[i] > nth;

        if (r->order[i] == nth) {
            chosen = skip <= 0 && take > 0;
            take -= chosen;
            skip--;
        }
        if (chosen)
            r->ids[at++] = (int32_t)i;
    }
}

static void slice_write(const struct topk_row *r, int64_t n, struct op_slice *s)
{
    for (int64_t j = 0; j < s->n; j++) {
        if (s->tensor == SAB_T_indexer_topk_indices)
            s->ref[j] = j < n ? r->ids[j] : -1;
        else
            s->ref[j] = j < n ? numfmt_decode(r->dtype, numfmt_load(r->dtype, r->raw, r->ids[j]))
                              : -INFINITY;
    }
}

/* All slices of one row, from the first of them on. */
static enum fault run_row(const struct op_problem *p, const struct op_source *src,
                          struct topk_row *r, struct op_slice *s, size_t left)
{
    const int64_t row = s->tile, columns = p->tensor[SAB_T_indexer_topk_values_in].shape[1];
    int64_t n;

    r->length = indexer_topk_row_limit(p, src, row);
    if (r->length < 0 ||
        src->read(src->ctx, SAB_T_indexer_topk_values_in, row * columns, r->length, r->raw) < 0)
        return FAULT_READ;
    n = r->length < r->slots ? r->length : r->slots;
    for (int64_t i = 0; i < r->length; i++)
        r->order[i] = indexer_topk_order(r->dtype, numfmt_load(r->dtype, r->raw, i));
    if (n > 0)
        row_select(r, n, p->param[SAB_P_indexer_topk_tie_break].i);
    for (size_t i = 0; i < left && s[i].tile == row; i++) {
        if (!s[i].ref)
            s[i].ref = malloc((size_t)s[i].n * sizeof(double));
        if (!s[i].ref)
            return FAULT_MEMORY;
        slice_write(r, n, &s[i]);
    }
    return FAULT_NONE;
}

static bool row_init(struct topk_row *r, const struct op_problem *p)
{
    const struct op_tensor *in = &p->tensor[SAB_T_indexer_topk_values_in];
    const size_t columns = (size_t)in->shape[1];

    r->slots = p->tensor[SAB_T_indexer_topk_indices].shape[1];
    r->dtype = in->dtype;
    r->raw = malloc(columns * sizeof(uint32_t));
    r->order = malloc(columns * sizeof(*r->order));
    r->ids = malloc((size_t)r->slots * sizeof(*r->ids));
    return r->raw && r->order && r->ids;
}

static void row_release(struct topk_row *r)
{
    free(r->raw);
    free(r->order);
    free(r->ids);
}

int indexer_topk_oracle(const struct op_problem *p, const struct op_source *src,
                        const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                        struct op_slices *slices, struct err *err)
{
    int unread = 0, no_memory = 0;

    (void)attributes;
    (void)attributes_nr;
    (void)threads;
#ifdef _OPENMP
#    pragma omp parallel num_threads(threads > 0 ? threads : 1) reduction(+ : unread, no_memory)
#endif
    {
        struct topk_row r = {0};
        const bool room = row_init(&r, p);

        no_memory += !room;
#ifdef _OPENMP
#    pragma omp for schedule(dynamic, 16)
#endif
        for (size_t i = 0; i < slices->nr; i++) {
            enum fault fault;

            if (!room || (i > 0 && slices->item[i - 1].tile == slices->item[i].tile))
                continue;
            fault = run_row(p, src, &r, &slices->item[i], slices->nr - i);
            unread += fault == FAULT_READ;
            no_memory += fault == FAULT_MEMORY;
        }
        row_release(&r);
    }
    if (no_memory)
        return err_memory(err);
    if (unread)
        return err_set(err, ERR_BUG, "an input of indexer_topk cannot be read by its oracle");
    return 0;
}
