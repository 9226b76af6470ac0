/*
 * dsa_bwd_call.h - one validated call of dsa_bwd in the terms that a GPU kernel needs, and the
 * layout of its workspace (contracts/dsa.md, sections 3.2 and 3.5).
 */
#ifndef DSA_BWD_CALL_H
#define DSA_BWD_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DSA_BWD_V = 512,                   /* columns of a value, the first ones of a row of kv */
    DSA_BWD_WORKSPACE_ALIGNMENT = 256, /* bytes */
};

/* Pointers are NULL where the problem carries no data, and for the absent optional tensor. 16-bit
 * tensors hold bf16, or fp16 where `fp16` is set. */
struct dsa_bwd_call {
    const uint16_t *q;                          /* [T,H,D] */
    const uint16_t *kv;                         /* [N,D] */
    const uint16_t *out;                        /* [T,H,512], sink included */
    const uint16_t *dout;                       /* [T,H,512] */
    const float *lse;                           /* [T,H], natural, without the sink */
    const float *sink;                          /* [H] */
    const int32_t *topk_idxs;                   /* [T,K] */
    const int32_t *topk_length;                 /* [T] */
    uint16_t *dq;                               /* [T,H,D] */
    uint16_t *dkv;                              /* [N,D] */
    float *d_sink;                              /* [H] */
    int64_t queries, keys, heads, slots, width; /* T, N, H, K, D */
    float scale;                                /* softmax_scale */
    uint8_t fp16;
    uint8_t deterministic;
};

/* Holds the problem against the contract (flags: enum sab_validate_flags) and fills `call`. Returns
 * SAB_OK, SAB_INVALID or SAB_UNSUPPORTED with a message. */
int dsa_bwd_call_init(struct dsa_bwd_call *call, const struct sab_problem *problem, unsigned flags,
                      struct sab_message *msg);

/* SAB_UNSUPPORTED with the reason where the device is none that the portable kernels are built
 * for. */
int dsa_bwd_call_check_arch(const struct sab_problem *problem, struct sab_message *msg);

/* The factor of P, and with softmax_scale of dS, so that one accumulator takes P dout +
 * softmax_scale dS q: 1 / softmax_scale where that is at home in fp16. */
float dsa_bwd_gain(const struct dsa_bwd_call *call);

/* SAB_UNSUPPORTED where heads, slots or queries are beyond 32-bit arithmetic, for blocks of
 * `block_heads` heads and tiles of `tile_keys` slots. */
int dsa_bwd_call_check_limits(const struct dsa_bwd_call *call, int64_t block_heads,
                              int64_t tile_keys, struct sab_message *msg);

/* Bytes of the two planes of fp32 statistics of a (query, head), and of an fp32 accumulator of dkv
 * of `shards` copies: the published layout, statistics first. */
uint64_t dsa_bwd_stats_bytes(const struct dsa_bwd_call *call);
uint64_t dsa_bwd_accumulator_bytes(const struct dsa_bwd_call *call, uint64_t shards);

/* The accumulator of 64-bit integers of a kernel whose bits are to be equal in every run, which
 * takes the place of the fp32 one:
 *     sums      align128(ceil8(N) * ceil8(Dqk) * 8)
 *     counts    align128(N * 4)                      slots that name a row
 *     facts     128                                  from which the unit of the integers follows
 * in this order, behind the statistics. */
struct dsa_bwd_fixed_layout {
    uint64_t counts, facts, bytes; /* bytes from the sums on */
};
struct dsa_bwd_fixed_layout dsa_bwd_fixed_layout(const struct dsa_bwd_call *call);

#ifdef __cplusplus
}
#endif
#endif
