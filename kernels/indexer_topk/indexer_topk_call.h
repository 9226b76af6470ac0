/*
 * indexer_topk_call.h - one validated call of indexer_topk in the terms that a kernel needs
 * (contracts/indexer.md, section 3). Shared by the CPU and the GPU kernels.
 */
#ifndef INDEXER_TOPK_CALL_H
#define INDEXER_TOPK_CALL_H

#include "host_device.h"
#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { INDEXER_TOPK_MAX_SLOTS = 2048 };

enum indexer_topk_tie { TIE_ANY = 0, TIE_SMALLER_ID, TIE_LARGER_ID };

/* Pointers are NULL where the problem carries no data, `values` also where it is not asked for. */
struct indexer_topk_call {
    const void *values_in;   /* [rows,columns], rows `stride` elements apart */
    const int32_t *seq_lens; /* [rows / next_n] */
    int32_t *indices;        /* [rows,slots] */
    void *values;            /* [rows,slots], dtype of values_in, or NULL */
    int64_t rows, columns, slots;
    int64_t stride; /* elements; `columns`, or a multiple of 4 above it */
    int64_t next_n;
    int32_t dtype;         /* SAB_F32, SAB_FP16 or SAB_BF16 */
    int32_t element_bytes; /* of values_in and values */
    int32_t tie_break;     /* enum indexer_topk_tie */
    int32_t with_values;   /* `values` is asked for; its pointer may still be NULL */
};

/* Holds the problem against the contract (flags: enum sab_validate_flags; device: where the kernel
 * runs) and fills `call`. Returns SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int indexer_topk_call_init(struct indexer_topk_call *call, const struct sab_problem *problem,
                           enum sab_device device, unsigned flags, struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device's capability is not in the exact list. */
int indexer_topk_call_check_arch(const struct sab_problem *problem, const char *targets,
                                 struct sab_message *msg);

/* Columns of a row that may be selected:
 *     clamp(seq_lens[floor(row / next_n)] - next_n + (row mod next_n) + 1, 0, columns)  (3.1) */
SAB_HOST_DEVICE int64_t indexer_topk_length(const struct indexer_topk_call *call, int64_t row)
{
    const int64_t length =
        (int64_t)call->seq_lens[row / call->next_n] - call->next_n + row % call->next_n + 1;

    return length < 0 ? 0 : length < call->columns ? length : call->columns;
}

/*
 * Keys that order like the values, as unsigned integers: a larger value has a larger key, -0 and +0
 * have the same one, infinities lie where they belong. NaN, which the contract leaves open, lies
 * beyond the infinity of its sign. 16-bit values give keys below 2^16. -inf has key 0x007fffff for
 * f32, 0x03ff for fp16 and 0x007f for bf16: no key of a number is 0.
 */
SAB_HOST_DEVICE uint32_t indexer_topk_key32(uint32_t bits)
{
    if (bits == UINT32_C(0x80000000)) /* -0 */
        bits = 0;
    return bits & UINT32_C(0x80000000) ? ~bits : bits | UINT32_C(0x80000000);
}

SAB_HOST_DEVICE uint32_t indexer_topk_key16(uint32_t bits)
{
    if (bits == 0x8000u)
        bits = 0;
    return bits & 0x8000u ? ~bits & 0xffffu : bits | 0x8000u;
}

#ifdef __cplusplus
}
#endif
#endif
