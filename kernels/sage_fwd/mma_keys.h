/*
 * mma_keys.h - the 25 specialisations of sage_fwd/mma (contracts/sage.md section 6), and the
 * build-time proof that every legal key is among them exactly once.
 */
#ifndef SAGE_MMA_KEYS_H
#define SAGE_MMA_KEYS_H

#include "mma_args.h"

/* clang-format off */
/* X(name, M, F): one source file each, mma_<name>.cu */
#define SAGE_MMA_SIZES(X) \
    X(full,   0, 1) \
    X(tail,   0, 0) \
    X(global, 1, 0) \
    X(batch,  2, 0) \
    X(head,   3, 0)
/* X(N, U, C): per row; scalar, or uniform with count 0; uniform; contiguous; contiguous with count 0 */
#define SAGE_MMA_COUNTS(X, M, F) \
    X(1, M, F, 0, 0) \
    X(0, M, F, 0, 0) \
    X(0, M, F, 1, 0) \
    X(0, M, F, 1, 1) \
    X(0, M, F, 0, 1)
/* clang-format on */

#define SAGE_MMA_COUNTS_NR 5
#define SAGE_MMA_SIZES_NR  5

struct sage_mma_variant {
    struct sage_key key;
    void (*by_value)(const struct sage_mma_by_value);
    void (*in_memory)(const struct sage_mma_in_memory);
};

/* One table per source file: the five count forms of one sizes form. */
#define SAGE_MMA_DECLARE(name, M, F)                                                               \
    extern const struct sage_mma_variant sage_mma_##name[SAGE_MMA_COUNTS_NR];
SAGE_MMA_SIZES(SAGE_MMA_DECLARE)
#undef SAGE_MMA_DECLARE

namespace sage
{

#define SAGE_MMA_KEY(N, M, F, U, C)        {N, M, F, U, C},
#define SAGE_MMA_KEYS_OF_SIZES(name, M, F) SAGE_MMA_COUNTS(SAGE_MMA_KEY, M, F)
constexpr sage_key mma_keys[] = {SAGE_MMA_SIZES(SAGE_MMA_KEYS_OF_SIZES)};
#undef SAGE_MMA_KEYS_OF_SIZES
#undef SAGE_MMA_KEY

constexpr bool key_is_legal(int n, int m, int f, int u, int c)
{
    bool counts = !n || (!u && !c);
    bool sizes = m == 0 || !f;
    return counts && sizes;
}

constexpr int key_count(int n, int m, int f, int u, int c)
{
    int nr = 0;

    for (const sage_key &key : mma_keys)
        nr += key.block_nums == n && key.sizes_mode == m && key.full_tiles == f &&
              key.nonempty == u && key.contiguous == c;
    return nr;
}

/* Rule R1: every legal call has a kernel. */
constexpr bool keys_are_complete()
{
    for (int bits = 0; bits < 64; bits++) {
        int n = bits & 1, f = bits >> 1 & 1, u = bits >> 2 & 1, c = bits >> 3 & 1, m = bits >> 4;
        if (key_count(n, m, f, u, c) != (key_is_legal(n, m, f, u, c) ? 1 : 0))
            return false;
    }
    return sizeof(mma_keys) / sizeof(mma_keys[0]) == 25;
}

static_assert(keys_are_complete(), "mma_keys.h must list every legal key of sage_fwd exactly once");

} // namespace sage

#endif
