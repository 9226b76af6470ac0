/*
 * quant_call.h - one validated call of sage_quant_q or sage_quant_kv in the terms that a kernel
 * needs, and the order of sums that all kernels of this folder keep (sage contract, section 8).
 *
 * The order, so that K and its scales have the same bits whoever computes them: in a chunk of 256
 * tokens, strand s sums rows s, s+16, s+32, ... ascending, from +0; the 16 strands are added to
 * strand 0 ascending; chunks are added to chunk 0 ascending; all in float. Rows that do not exist
 * add +0 or nothing, which is the same. The mean is sum / Sk in float, rounded to bf16. Divisions
 * are IEEE divisions.
 */
#ifndef SAGE_QUANT_CALL_H
#define SAGE_QUANT_CALL_H

#include "schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    QUANT_DIM = 128,
    QUANT_GROUP = 32, /* query rows that share a scale */
    QUANT_BLOCK = 64, /* keys that share a scale */
    QUANT_CHUNK = 256,
    QUANT_STRANDS = 16,
};

/* The floor on a largest absolute value, and the divisors of the scales. */
#define QUANT_FLOOR   1e-7f
#define QUANT_INT8    127.0f
#define QUANT_E4M3    2.25f
#define QUANT_TARGETS "90a;100a;120a"

/* bf16 rows of 128 channels; strides in elements. */
struct quant_rows {
    const uint16_t *data;
    int64_t batch, head, row;
    int32_t aligned; /* every row begins at a multiple of 16 bytes */
};

struct quant_q_call {
    struct quant_rows q;
    int8_t *q_int8; /* [B,H,Sq,128] */
    float *q_scale; /* [B,H,groups] */
    int64_t batch, heads, seqlen;
    int64_t groups; /* 4*ceil(Sq/128): those beyond Sq hold the floor */
};

struct quant_kv_call {
    struct quant_rows k, v;
    int8_t *k_int8; /* [B,H,Sk,128] */
    float *k_scale; /* [B,H,blocks] */
    uint8_t *v_fp8; /* e4m3 [B,H,128,64*blocks], tokens permuted in groups of 16 */
    float *v_scale; /* [B,H,128] */
    int64_t batch, heads, seqlen;
    int64_t blocks, chunks; /* of 64 and of 256 tokens */
    /* In the workspace; NULL before quant_kv_place(). */
    float *sum;       /* [B*H,chunks,128]: of K over a chunk */
    float *largest;   /* [B*H,chunks,128]: of |V| over a chunk */
    float *mean;      /* [B*H,128]: of K, rounded to bf16 */
    float *inverse;   /* [B*H,128]: 1/v_scale, for kernels that multiply by it */
    /* Counters side by side, for kernels that need them. */
    uint32_t *k_count, *v_count; /* [B*H]: chunks of K, of V, that are done */
    uint32_t *ticket;            /* the next piece of work */
};

/* Hold a problem against the contract (flags: enum sab_validate_flags) and fill `call`. Return
 * SAB_OK, SAB_INVALID or, for a device beyond QUANT_TARGETS, SAB_UNSUPPORTED, with a message. */
int quant_q_call_init(struct quant_q_call *call, const struct sab_problem *problem,
                      enum sab_device device, unsigned flags, struct sab_message *msg);
int quant_kv_call_init(struct quant_kv_call *call, const struct sab_problem *problem,
                       enum sab_device device, unsigned flags, struct sab_message *msg);

/* Bytes of the workspace of a call: those of `sum` and of what follows it. */
uint64_t quant_kv_workspace(const struct quant_kv_call *call);
/* Points the call into a workspace, which is held against the problem first. */
int quant_kv_place(struct quant_kv_call *call, const struct sab_problem *problem,
                   const struct sab_buffer *workspace, enum sab_device device,
                   struct sab_message *msg);

/* The hooks `supports` and `workspace_size` of every kernel here. */
int quant_q_cpu_supports(const struct sab_problem *problem, struct sab_message *msg);
int quant_q_cuda_supports(const struct sab_problem *problem, struct sab_message *msg);
int quant_q_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                           struct sab_message *msg);
int quant_kv_cpu_supports(const struct sab_problem *problem, struct sab_message *msg);
int quant_kv_cuda_supports(const struct sab_problem *problem, struct sab_message *msg);
int quant_kv_cpu_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                struct sab_message *msg);
int quant_kv_cuda_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                 struct sab_message *msg);

#ifdef __cplusplus
}
#endif
#endif
