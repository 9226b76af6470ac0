/*
 * indexer_bwd_call.h - one validated call of indexer_bwd_sparse or indexer_bwd_dense in the terms
 * that a kernel needs (contracts/indexer.md, section 6). Shared by the CPU and the GPU kernels.
 */
#ifndef INDEXER_BWD_CALL_H
#define INDEXER_BWD_CALL_H

#include "schema.h"
#include "sparse_scores.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { INDEXER_BWD_WIDTH = 128, INDEXER_BWD_HEADS = 64 /* the most */ };

/* A probability below this, FLT_MIN, gets no gradient of its own; a teacher is raised to it. In the
 * dense form the logarithm of a probability counts from INDEXER_BWD_LOG_TINY on. */
#define INDEXER_BWD_TINY     0x1p-126f
#define INDEXER_BWD_LOG_TINY -100.0f
#define INDEXER_BWD_L1_EPS   1e-10f

/* Rows of all batches are numbered through, keys likewise. Pointers are NULL where the problem
 * carries no data, for absent tensors, and those of the other operator. */
struct indexer_bwd_call {
    const uint16_t *q, *w, *k;            /* bf16: [rows,heads,128], [rows,heads], [keys,128] */
    const float *target, *predict;        /* sparse: [rows,slots] */
    struct indexer_slots slots;           /* sparse */
    const float *attn_raw, *index_raw;    /* dense: [rows,columns] */
    const float *attn_l1norm, *index_lse; /* dense: [rows] */
    const float *grad_loss;               /* one element */
    const int32_t *offsets, *cu_q, *cu_k; /* NULL: 0, padded; offsets: dense */
    uint16_t *dq, *dw;                    /* bf16, as q and w */
    void *dk;                             /* [keys,128] f32 where `dk_f32`, else bf16 */
    int64_t batch, rows, keys, heads;     /* heads: 16, 32 or 64 */
    int64_t seqlen_q, seqlen_k;           /* of a batch; packed: the most (what the host gives) */
    int64_t columns;                      /* entries of a row of scores: slots, or columns */
    int64_t ratio;                        /* dense */
    float sm_scale, grad_scale;
    int32_t sparse, dk_f32, deterministic;
};

int indexer_bwd_call_init(struct indexer_bwd_call *call, const struct sab_problem *problem,
                          int sparse, enum sab_device device, unsigned flags,
                          struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int indexer_bwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg);

/* Bytes of G, the gradient of the scores, [rows,columns] f32, a multiple of 256: at the start of
 * the workspace of the kernels here. */
uint64_t indexer_bwd_gradient_bytes(const struct indexer_bwd_call *call);

SAB_HOST_DEVICE struct indexer_place indexer_bwd_place(const struct indexer_bwd_call *c,
                                                       int64_t row)
{
    return c->cu_q ? indexer_packed_place(c->cu_q, c->cu_k, c->batch, row)
                   : indexer_padded_place(c->seqlen_q, c->seqlen_k, row);
}

/* Entries of a row of scores that may count: its length, or the columns that it sees. */
SAB_HOST_DEVICE int64_t indexer_bwd_length(const struct indexer_bwd_call *c,
                                           const struct indexer_place *place, int64_t row)
{
    if (c->sparse)
        return indexer_slots_length(&c->slots, row);
    return indexer_limit(c->offsets ? c->offsets[place->batch] : 0, place->q, c->ratio,
                         place->keys < c->columns ? place->keys : c->columns);
}

/* The key of entry j of those, or -1 where it is not active. */
SAB_HOST_DEVICE int64_t indexer_bwd_key(const struct indexer_bwd_call *c,
                                        const struct indexer_place *place, int64_t row, int64_t j)
{
    return c->sparse ? indexer_slots_key(&c->slots, place, row, j) : place->first_k + j;
}

/* The batch's rows and keys: [first, end). */
struct indexer_bwd_batch {
    int64_t first_q, end_q, first_k, end_k;
};

SAB_HOST_DEVICE struct indexer_bwd_batch indexer_bwd_bounds(const struct indexer_bwd_call *c,
                                                            int64_t b)
{
    struct indexer_bwd_batch s;

    s.first_q = c->cu_q ? c->cu_q[b] : b * c->seqlen_q;
    s.end_q = c->cu_q ? c->cu_q[b + 1] : (b + 1) * c->seqlen_q;
    s.first_k = c->cu_q ? c->cu_k[b] : b * c->seqlen_k;
    s.end_k = c->cu_q ? c->cu_k[b + 1] : (b + 1) * c->seqlen_k;
    return s;
}

#ifdef __cplusplus
}
#endif
#endif
