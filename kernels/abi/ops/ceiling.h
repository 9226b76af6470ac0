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

/* null: does nothing */
#define SAB_TENSORS_null(T)
#define SAB_PARAMS_null(P)
#define SAB_RULES_null(R)
#define SAB_FEEDS_null(F)
/* clang-format on */

#endif
