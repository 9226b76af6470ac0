/*
 * test_sage_case.h - a sage_fwd problem in host memory and one call of sage_fwd/cpu, for the tests
 * of that kernel. Every buffer has exactly its size, so that a sanitizer sees a read beyond it.
 */
#ifndef TEST_SAGE_CASE_H
#define TEST_SAGE_CASE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schema.h"

extern const struct sab_kernel sage_fwd_cpu_row;

#define TENSOR(c, name) ((c)->tensor[SAB_T_sage_fwd_##name])
#define PARAM(c, name)  ((c)->param[SAB_P_sage_fwd_##name])

struct sage_case {
    struct sab_tensor tensor[SAB_TENSORS_NR_sage_fwd];
    union sab_value param[SAB_PARAMS_NR_sage_fwd];
    uint32_t choice;
    int threads;
    uint64_t seed;
    char text[512]; /* message of the last call */
};

static inline uint32_t case_random(struct sage_case *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(c->seed >> 33);
}

/* Contiguous, with room for exactly its elements (data = 1) or metadata alone. */
static inline void case_tensor(struct sage_case *c, int i, int32_t dtype, int32_t rank,
                               const int64_t *shape)
{
    struct sab_tensor *t = &c->tensor[i];
    int64_t elements = 1;
    int32_t d;

    t->dtype = dtype;
    t->rank = rank;
    t->role = i == SAB_T_sage_fwd_out ? SAB_OUT : SAB_IN;
    t->alignment = 64;
    for (d = rank - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->stride[d] = elements;
        elements *= shape[d];
    }
    if (posix_memalign(&t->data, 64, (size_t)elements * sab_dtype_size(dtype)))
        t->data = NULL;
    assert_non_null(t->data);
}

#define CASE_TENSOR(c, name, dtype, ...)                                                           \
    case_tensor(c, SAB_T_sage_fwd_##name, dtype,                                                   \
                sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static inline int64_t case_elements(const struct sab_tensor *t)
{
    int64_t elements = 1;
    int32_t d;

    for (d = 0; d < t->rank; d++)
        elements *= t->shape[d];
    return elements;
}

static inline size_t case_bytes(const struct sab_tensor *t)
{
    return (size_t)case_elements(t) * sab_dtype_size(t->dtype);
}

/* int8 in [-32, 32], scales in [0.04, 0.08], V in (-2, 2): the data that the contract asks for. */
static inline void case_fill(struct sage_case *c)
{
    int64_t i;
    int k;

    for (i = 0; i < case_elements(&TENSOR(c, q_int8)); i++)
        ((int8_t *)TENSOR(c, q_int8).data)[i] = (int8_t)(case_random(c) % 65 - 32);
    for (i = 0; i < case_elements(&TENSOR(c, k_int8)); i++)
        ((int8_t *)TENSOR(c, k_int8).data)[i] = (int8_t)(case_random(c) % 65 - 32);
    for (i = 0; i < case_elements(&TENSOR(c, v_fp8)); i++)
        ((uint8_t *)TENSOR(c, v_fp8).data)[i] =
            (uint8_t)(case_random(c) % 0x40 | (case_random(c) & 0x80));
    for (k = SAB_T_sage_fwd_q_scale; k <= SAB_T_sage_fwd_v_scale; k++) {
        for (i = 0; i < case_elements(&c->tensor[k]); i++)
            ((float *)c->tensor[k].data)[i] =
                0.04f + (float)(case_random(c) % 4096) * 0x1p-12f * 0.04f;
    }
}

/* Slots hold (3b + 5h + 7qb + slot) mod Kb: contiguous, different in every row. */
static inline void case_fill_index(struct sage_case *c)
{
    const int64_t *shape = TENSOR(c, q2k_block_index).shape;
    int64_t kb = TENSOR(c, k_scale).shape[2], b, h, q, slot;
    int32_t *index = TENSOR(c, q2k_block_index).data;

    for (b = 0; b < shape[0]; b++)
        for (h = 0; h < shape[1]; h++)
            for (q = 0; q < shape[2]; q++)
                for (slot = 0; slot < shape[3]; slot++)
                    *index++ = (int32_t)((3 * b + 5 * h + 7 * q + slot) % kb);
}

/* mode: rank of block_sizes, 0 for none (all 64). Every row uses `n` slots, by the scalar. */
static inline void case_init(struct sage_case *c, int64_t b, int64_t h, int64_t sq, int64_t sk,
                             int64_t cap, int64_t n, int mode)
{
    int64_t qb = (sq + 63) / 64, kb = (sk + 63) / 64, i;

    memset(c, 0, sizeof(*c));
    c->seed = (uint64_t)(sq * 1000003 + sk);
    c->threads = 2;
    CASE_TENSOR(c, q_int8, SAB_I8, b, h, sq, 128);
    CASE_TENSOR(c, k_int8, SAB_I8, b, h, sk, 128);
    CASE_TENSOR(c, v_fp8, SAB_E4M3, b, h, 128, 64 * kb);
    CASE_TENSOR(c, q_scale, SAB_F32, b, h, 4 * ((sq + 127) / 128));
    CASE_TENSOR(c, k_scale, SAB_F32, b, h, kb);
    CASE_TENSOR(c, v_scale, SAB_F32, b, h, 128);
    CASE_TENSOR(c, q2k_block_index, SAB_I32, b, h, qb, cap);
    CASE_TENSOR(c, out, SAB_BF16, b, h, sq, 128);
    if (mode == 1)
        CASE_TENSOR(c, block_sizes, SAB_I32, kb);
    else if (mode == 2)
        CASE_TENSOR(c, block_sizes, SAB_I32, b, kb);
    else if (mode == 3)
        CASE_TENSOR(c, block_sizes, SAB_I32, b, h, kb);
    for (i = 0; mode && i < case_elements(&TENSOR(c, block_sizes)); i++)
        ((int32_t *)TENSOR(c, block_sizes).data)[i] = 64;
    PARAM(c, block_sparse_num).i = n;
    PARAM(c, softmax_scale).f = 1 / sqrt(128);
    case_fill(c);
    case_fill_index(c);
}

/* Counts of `n` in every row. */
static inline void case_add_nums(struct sage_case *c, int32_t n)
{
    const int64_t *shape = TENSOR(c, q2k_block_index).shape;
    int64_t i;

    CASE_TENSOR(c, q2k_block_nums, SAB_I32, shape[0], shape[1], shape[2]);
    for (i = 0; i < case_elements(&TENSOR(c, q2k_block_nums)); i++)
        ((int32_t *)TENSOR(c, q2k_block_nums).data)[i] = n;
}

static inline void case_release(struct sage_case *c)
{
    int i;

    for (i = 0; i < SAB_TENSORS_NR_sage_fwd; i++)
        free(c->tensor[i].data);
}

static inline struct sab_problem case_problem(const struct sage_case *c)
{
    struct sab_problem p = {.struct_size = sizeof(p),
                            .tensors_nr = SAB_TENSORS_NR_sage_fwd,
                            .params_nr = SAB_PARAMS_NR_sage_fwd,
                            .choices_nr = 1,
                            .tensors = c->tensor,
                            .params = c->param,
                            .choices = &c->choice,
                            .threads = c->threads};

    return p;
}

static inline int case_supports(struct sage_case *c)
{
    struct sab_problem p = case_problem(c);
    struct sab_message msg = {c->text, sizeof(c->text)};

    return sage_fwd_cpu_row.supports(&p, &msg);
}

/* Plans, launches over an output of NaN as often as asked, frees. */
static inline int case_run(struct sage_case *c, int launches)
{
    struct sab_problem p = case_problem(c);
    struct sab_message msg = {c->text, sizeof(c->text)};
    struct sab_buffer workspace = {0};
    void *plan;
    int status = sage_fwd_cpu_row.plan(&p, &workspace, &plan, &msg);

    while (status == SAB_OK && launches-- > 0) {
        memset(TENSOR(c, out).data, 0xff, case_bytes(&TENSOR(c, out)));
        status = sage_fwd_cpu_row.launch(plan, NULL, &msg);
    }
    sage_fwd_cpu_row.free(plan);
    return status;
}

/* Runs and returns a copy of the output, to be freed. */
static inline void *case_output(struct sage_case *c)
{
    size_t bytes = case_bytes(&TENSOR(c, out));
    void *copy = malloc(bytes);

    assert_non_null(copy);
    if (case_run(c, 1) != SAB_OK)
        fail_msg("%s", c->text);
    memcpy(copy, TENSOR(c, out).data, bytes);
    return copy;
}

/* Runs and holds the output against bits that an earlier call gave. */
static inline void case_expect(struct sage_case *c, const void *bits)
{
    if (case_run(c, 1) != SAB_OK)
        fail_msg("%s", c->text);
    assert_memory_equal(TENSOR(c, out).data, bits, case_bytes(&TENSOR(c, out)));
}

static inline int case_is_zero(const struct sage_case *c)
{
    const uint8_t *out = TENSOR(c, out).data;
    size_t i, bytes = case_bytes(&TENSOR(c, out));

    for (i = 0; i < bytes; i++) {
        if (out[i])
            return 0;
    }
    return 1;
}

#endif
