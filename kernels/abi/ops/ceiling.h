/*
 * ceiling.h - operators that measure the machine and the harness rather than an algorithm.
 */
#ifndef SAB_OPS_CEILING_H
#define SAB_OPS_CEILING_H

/* clang-format off */

/* copy: dst = src, byte for byte */
#define SAB_TENSORS_copy(T) \
    T(copy, src, SAB_IN, 0, "u8", "N", 16, "") \
    T(copy, dst, SAB_OUT, 0, "u8", "N", 16, "")
#define SAB_PARAMS_copy(P)
#define SAB_RULES_copy(R) \
    R(copy, SAB_INVALID, src, "N >= 1", "needs at least one byte")
#define SAB_FEEDS_copy(F)

/* mma_peak: out[w] = iterations * a[w] * transpose(b[w]) for W independent tiles, summed in the
 * accumulator's own type (f32, or i32 for i8), so that operands can stay in registers. */
#define SAB_TENSORS_mma_peak(T) \
    T(mma_peak, a, SAB_IN, 0, "bf16 fp16 e4m3 i8", "W M K", 16, "") \
    T(mma_peak, b, SAB_IN, 0, "=a", "W N K", 16, "") \
    T(mma_peak, out, SAB_OUT, 0, "f32 i32", "W M N", 16, "")
#define SAB_PARAMS_mma_peak(P) \
    P(mma_peak, iterations, SAB_INT, "", "1024")
#define SAB_RULES_mma_peak(R) \
    R(mma_peak, SAB_INVALID, a, "W >= 1 && M >= 1 && K >= 1", "needs every size to be at least 1") \
    R(mma_peak, SAB_INVALID, b, "N >= 1", "needs at least one column") \
    R(mma_peak, SAB_INVALID, out, "is(out, i32) == is(a, i8)", "must be i32 for i8 operands and f32 for others") \
    R(mma_peak, SAB_INVALID, iterations, "iterations >= 1", "must be at least 1")
#define SAB_FEEDS_mma_peak(F)

/* read: sums[p] = sum of the words of part p of src, 8192 words, modulo 2^32 */
#define SAB_TENSORS_read(T) \
    T(read, src, SAB_IN, 0, "i32", "N", 16, "") \
    T(read, sums, SAB_OUT, 0, "i32", "ceil(N/8192)", 16, "")
#define SAB_PARAMS_read(P)
#define SAB_RULES_read(R) \
    R(read, SAB_INVALID, src, "N >= 4 && mod(N, 4) == 0", "needs a positive multiple of 4 words")
#define SAB_FEEDS_read(F)

/* Of the next three each of C streams takes S rows by their number, in order.
 * gather: sums[c] = sum over s of word s mod W of row ids[c,s], modulo 2^32: whole rows come on chip,
 * one word of each is looked at */
#define SAB_TENSORS_gather(T) \
    T(gather, src, SAB_IN, 0, "i32", "R W", 16, "") \
    T(gather, ids, SAB_IN, 0, "i32", "C S", 16, "") \
    T(gather, sums, SAB_OUT, 0, "i32", "C", 16, "")
#define SAB_PARAMS_gather(P)
#define SAB_RULES_gather(R) \
    R(gather, SAB_INVALID, src, "R >= 1 && W >= 4 && mod(W, 4) == 0", "needs rows of a positive multiple of 4 words") \
    R(gather, SAB_INVALID, ids, "C >= 1 && S >= 1", "needs at least one stream and one row of it")
#define SAB_FEEDS_gather(F)

/* reduce: acc[ids[c,s],:] += 1 */
#define SAB_TENSORS_reduce(T) \
    T(reduce, acc, SAB_INOUT, 0, "f32", "R W", 16, "") \
    T(reduce, ids, SAB_IN, 0, "i32", "C S", 16, "")
#define SAB_PARAMS_reduce(P)
#define SAB_RULES_reduce(R) \
    R(reduce, SAB_INVALID, acc, "R >= 1 && W >= 4 && mod(W, 4) == 0", "needs rows of a positive multiple of 4 numbers") \
    R(reduce, SAB_INVALID, ids, "C >= 1 && S >= 1", "needs at least one stream and one row of it")
#define SAB_FEEDS_reduce(F)

/* gather_reduce: both, on rows of the same number */
#define SAB_TENSORS_gather_reduce(T) \
    T(gather_reduce, src, SAB_IN, 0, "i32", "R W", 16, "") \
    T(gather_reduce, ids, SAB_IN, 0, "i32", "C S", 16, "") \
    T(gather_reduce, acc, SAB_INOUT, 0, "f32", "R V", 16, "") \
    T(gather_reduce, sums, SAB_OUT, 0, "i32", "C", 16, "")
#define SAB_PARAMS_gather_reduce(P)
#define SAB_RULES_gather_reduce(R) \
    R(gather_reduce, SAB_INVALID, src, "R >= 1 && W >= 4 && mod(W, 4) == 0", "needs rows of a positive multiple of 4 words") \
    R(gather_reduce, SAB_INVALID, acc, "V >= 4 && mod(V, 4) == 0", "needs rows of a positive multiple of 4 numbers") \
    R(gather_reduce, SAB_INVALID, ids, "C >= 1 && S >= 1", "needs at least one stream and one row of it")
#define SAB_FEEDS_gather_reduce(F)

/* exp2: out[i] = sum over j below iterations of 2^(src[i] - j/1024) */
#define SAB_TENSORS_exp2(T) \
    T(exp2, src, SAB_IN, 0, "f32", "N", 16, "") \
    T(exp2, out, SAB_OUT, 0, "f32", "N", 16, "")
#define SAB_PARAMS_exp2(P) \
    P(exp2, iterations, SAB_INT, "", "256")
#define SAB_RULES_exp2(R) \
    R(exp2, SAB_INVALID, src, "N >= 1", "needs at least one element") \
    R(exp2, SAB_INVALID, iterations, "iterations >= 1", "must be at least 1")
#define SAB_FEEDS_exp2(F)

/* null: does nothing */
#define SAB_TENSORS_null(T)
#define SAB_PARAMS_null(P)
#define SAB_RULES_null(R)
#define SAB_FEEDS_null(F)
/* clang-format on */

#endif
