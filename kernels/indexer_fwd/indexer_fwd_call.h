/*
 * indexer_fwd_call.h - one validated call of indexer_fwd in the terms that a kernel needs
 * (contracts/indexer.md, sections 1 and 2). Shared by the CPU and the GPU kernels.
 */
#ifndef INDEXER_FWD_CALL_H
#define INDEXER_FWD_CALL_H

#include "indexer_mask.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    INDEXER_WIDTH = 128,   /* of a row of q and k */
    INDEXER_MX_GROUP = 32, /* channels of an E8M0 scale */
    INDEXER_MX_SCALES = INDEXER_WIDTH / INDEXER_MX_GROUP,
};

enum indexer_precision { INDEXER_BF16 = 0, INDEXER_FP8, INDEXER_MXFP8 };

/*
 * Rows of q, w, scores and lse are numbered over all batches (b*seqlen_q + q, or the packed token),
 * rows of k likewise. Pointers are NULL where the problem carries no data, and for absent tensors.
 *
 *     S = factor * k_scale * sum_h relu(<q,k>) * q_scale * w
 *
 * where a scale that is absent is 1. For mxfp8 the scales are powers of two inside <q,k>, one for
 * 32 channels.
 */
struct indexer_fwd_call {
    const void *q;       /* [rows,heads,128] bf16 or e4m3 */
    const void *k;       /* [keys,128] */
    const void *w;       /* [rows,heads] f32 where `w_f32`, else bf16 */
    const void *q_scale; /* f32 [rows,heads] | e8m0 [rows,heads,4] | NULL: bf16, or in w already */
    const void *k_scale; /* f32 [keys] | e8m0 [keys,4] | NULL: bf16 */
    const int32_t *offsets;     /* [batch], or NULL: all 0 */
    const int32_t *cu_q, *cu_k; /* [batch + 1] where `packed`, else NULL */
    float *scores;              /* [rows,columns], rows `stride` elements apart */
    float *lse;                 /* [rows], or NULL */
    int64_t batch;
    int64_t rows, keys;         /* of all batches */
    int64_t seqlen_q, seqlen_k; /* of a batch; where `packed`, the most (what the host gives) */
    int64_t columns;            /* of scores: seqlen_k */
    int64_t stride;             /* of scores, elements: a multiple of 4, except for a single row */
    int64_t ratio;
    int32_t heads;     /* 16, 32 or 64 */
    int32_t precision; /* enum indexer_precision */
    int32_t packed;    /* layout thd */
    int32_t w_f32;
    int32_t with_lse; /* `lse` is asked for; its pointer may still be NULL */
    float factor;     /* sm_scale, or 1 where w holds it already (w_prescaled) */
};

/* Holds the problem against the contract (flags: enum sab_validate_flags; device: where the kernel
 * runs) and fills `call`. Returns SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int indexer_fwd_call_init(struct indexer_fwd_call *call, const struct sab_problem *problem,
                          enum sab_device device, unsigned flags, struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int indexer_fwd_call_check_arch(const struct sab_problem *problem, const char *targets,
                                struct sab_message *msg);

/* Where a row lies. Reads device data where `packed`. */
SAB_HOST_DEVICE struct indexer_place indexer_fwd_place(const struct indexer_fwd_call *call,
                                                       int64_t row)
{
    return call->packed ? indexer_packed_place(call->cu_q, call->cu_k, call->batch, row)
                        : indexer_padded_place(call->seqlen_q, call->seqlen_k, row);
}

/* Columns that it sees. */
SAB_HOST_DEVICE int64_t indexer_fwd_limit(const struct indexer_fwd_call *call,
                                          const struct indexer_place *place)
{
    const int64_t offset = call->offsets ? call->offsets[place->batch] : 0;
    const int64_t keys = place->keys < call->columns ? place->keys : call->columns;

    return indexer_limit(offset, place->q, call->ratio, keys);
}

#ifdef __cplusplus
}
#endif
#endif
