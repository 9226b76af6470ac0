/*
 * bsa_oracle.c - the right answers of bsa_fwd in double, one query tile at a time (bsa contract,
 * section 3; the exact softmax, P not rounded).
 */
#include <math.h>
#include <stdlib.h>

#include "blocks_list.h"
#include "bsa_model.h"
#include "numfmt.h"
#include "sage_fold.h"

#define LOG2E 1.44269504088896340736
#define LN2   0.69314718055994530942

struct bsa_run {
    struct blocks_list list;
    int64_t seqlen_q, seqlen_k, group;
    int32_t dtype;
    double scale_log2;
};

struct bsa_tile {
    double q[BLOCKS_TILE][BLOCKS_DIM];
    double k[BLOCKS_TILE][BLOCKS_DIM];
    double v[BLOCKS_TILE][BLOCKS_DIM];
    struct sage_fold fold;
};

/* Rows `first`.. of [.., 128]. */
static int read_rows(const struct bsa_run *run, uint32_t tensor, int64_t first, int64_t n,
                     double (*to)[BLOCKS_DIM])
{
    const struct op_source *src = run->list.src;
    uint16_t line[BLOCKS_DIM];

    for (int64_t r = 0; r < n; r++) {
        if (src->read(src->ctx, tensor, (first + r) * BLOCKS_DIM, BLOCKS_DIM, line) < 0)
            return -1;
        for (int d = 0; d < BLOCKS_DIM; d++)
            to[r][d] = numfmt_decode(run->dtype, line[d]);
    }
    return 0;
}

static double dot(const double *restrict a, const double *restrict b)
{
    double sum = 0;

    for (int d = 0; d < BLOCKS_DIM; d++)
        sum += a[d] * b[d];
    return sum;
}

/* Keys 0 to valid - 1 of a block; what the others hold is never looked at. */
static int fold_block(const struct bsa_run *run, struct bsa_tile *t, int64_t kv_head, int64_t rows,
                      const struct blocks_slot *slot)
{
    const int64_t first = kv_head * run->seqlen_k + slot->block * BLOCKS_TILE;
    double score[BLOCKS_TILE];

    if (read_rows(run, SAB_T_bsa_fwd_k, first, slot->valid, t->k) < 0 ||
        read_rows(run, SAB_T_bsa_fwd_v, first, slot->valid, t->v) < 0)
        return -1;
    for (int64_t r = 0; r < rows; r++) {
        double largest = -INFINITY;

        for (int64_t c = 0; c < slot->valid; c++) {
            score[c] = run->scale_log2 * dot(t->q[r], t->k[c]);
            if (score[c] > largest)
                largest = score[c];
        }
        sage_fold_exact(&t->fold, r, score, slot->valid, largest, t->v);
    }
    return 0;
}

static void finish(const struct bsa_tile *t, int64_t rows, struct op_slice *s)
{
    float ones[BLOCKS_DIM];

    for (int d = 0; d < BLOCKS_DIM; d++)
        ones[d] = 1;
    if (s->tensor == SAB_T_bsa_fwd_out)
        sage_fold_finish(&t->fold, ones, rows, s->ref);
    else
        for (int64_t r = 0; r < rows; r++)
            s->ref[r] =
                t->fold.sum[r] > 0 ? (t->fold.max[r] + log2(t->fold.sum[r])) * LN2 : -INFINITY;
}

static enum blocks_fault_kind fill(const struct bsa_run *run, struct bsa_tile *t,
                                   struct op_slice *s, size_t nr, const struct blocks_slot *slots,
                                   int64_t slots_nr)
{
    const int64_t heads = run->list.heads, batch = s->head / heads, head = s->head % heads;
    const int64_t kv_head = batch * (heads / run->group) + head / run->group;
    const int64_t left = run->seqlen_q - s->tile * BLOCKS_TILE;
    const int64_t rows = left < BLOCKS_TILE ? left : BLOCKS_TILE;

    sage_fold_init(&t->fold);
    if (read_rows(run, SAB_T_bsa_fwd_q, s->head * run->seqlen_q + s->tile * BLOCKS_TILE, rows,
                  t->q) < 0)
        return FAULT_READ;
    for (int64_t i = 0; i < slots_nr; i++)
        if (slots[i].valid > 0 && fold_block(run, t, kv_head, rows, &slots[i]) < 0)
            return FAULT_READ;
    for (size_t i = 0; i < nr; i++) {
        if (!s[i].ref)
            s[i].ref = malloc((size_t)s[i].n * sizeof(double));
        if (!s[i].ref)
            return FAULT_MEMORY;
        finish(t, rows, &s[i]);
    }
    return FAULT_NONE;
}

static enum blocks_fault_kind tile_fill(const void *run, struct op_slice *s, size_t nr,
                                        const struct blocks_slot *slots, int64_t slots_nr)
{
    struct bsa_tile *t = malloc(sizeof(*t));
    const enum blocks_fault_kind fault = t ? fill(run, t, s, nr, slots, slots_nr) : FAULT_MEMORY;

    free(t);
    return fault;
}

int bsa_oracle(const struct op_problem *p, const struct op_source *src,
               const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
               struct op_slices *slices, struct err *err)
{
    static const struct blocks_places places = BLOCKS_PLACES(bsa_fwd);
    const int64_t *q = p->tensor[SAB_T_bsa_fwd_q].shape, *k = p->tensor[SAB_T_bsa_fwd_k].shape;
    struct bsa_run run;

    (void)attributes;
    (void)attributes_nr;
    if (q[3] != BLOCKS_DIM)
        return err_set(err, ERR_CONFIG, "bsa_fwd has no oracle for head_dim = %lld, only for %d",
                       (long long)q[3], BLOCKS_DIM);
    blocks_list_init(&run.list, p, src, &places, k[2]);
    run.seqlen_q = q[2];
    run.seqlen_k = k[2];
    run.group = q[1] / k[1];
    run.dtype = p->tensor[SAB_T_bsa_fwd_q].dtype;
    run.scale_log2 = p->param[places.scale].f * LOG2E;
    return blocks_list_run(&run.list, &run, tile_fill, threads, slices, err);
}
