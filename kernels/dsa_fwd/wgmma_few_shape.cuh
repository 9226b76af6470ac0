/*
 * wgmma_few_shape.cuh - shared memory of a block of dsa_fwd/wgmma that serves 8, 16 or 32 heads.
 */
#ifndef DSA_FWD_WGMMA_FEW_SHAPE_CUH
#define DSA_FWD_WGMMA_FEW_SHAPE_CUH

#include "wgmma_args.h"

namespace dsa
{

/* What one group knows of its tiles of an item, warp by warp. */
template <int N> struct few_part {
    float sum[4][N], top[4][N], prefix[4][N];
    float m[N], prefix_m[4][N]; /* references of sum and prefix */
};

/* What is left of shared memory is for the ring. q and p begin at multiples of 1024. */
template <int WIDTH, int N> struct few_rest {
    static constexpr int Q_SLOTS = N > 16 && WIDTH > 512 ? 1 : 2;

    uint8_t q[Q_SLOTS][WIDTH / 64][128 * N];
    uint8_t p[2][2][128 * N];         /* weights, rows are heads: [group][parity of its tile] */
    few_part<N> parts[2][2];          /* [parity of the item][group] */
    float maxima[2][4][N];            /* [group][warp], where a reference moves */
    float2 factors[2][N];             /* of what the group has, of what it was handed */
    int32_t lists[4][DSA_WGMMA_LIST]; /* active ids, a copy for each gathering warp */
    tile_info infos[8];
    uint64_t info[8], full[32], empty[32], q_full[Q_SLOTS], q_free[Q_SLOTS];
    uint64_t handed[2]; /* by hand-overs, in turn */
};

/* Segments come in the order of their columns, behind those that are for scores alone. */
template <int WIDTH, int N> struct few_shape {
    static constexpr int SEGMENTS = WIDTH / 64;
    static constexpr int EXTRA = SEGMENTS - 8;
    static constexpr int HEADS = N;
    static constexpr int INFOS = 8;
    static constexpr int Q_IN_REGISTERS = 0;
    static constexpr int Q_SLOTS = few_rest<WIDTH, N>::Q_SLOTS, Q_READERS = 8;
    static constexpr int FREE =
        (232448 / 1024 - (static_cast<int>(sizeof(few_rest<WIDTH, N>)) + 1023) / 1024) / 8;
    /* With 32 heads there are no registers for places that move round. */
    static constexpr int RING = N > 16 ? FREE / SEGMENTS *SEGMENTS : FREE;
    /* Segments of a tile's V that its group keeps: for what it hands over, for its part of out. */
    static constexpr int HANDED = N / 4, STAGED = N / 8;

    /* At most four tiles lie in the ring, so that INFOS and two of each handed thing are enough: a
     * tile comes in when the fourth one before it was released by those who read it. */
    static_assert(RING >= 2 * SEGMENTS && RING <= 4 * SEGMENTS && RING <= 32);

    static __host__ __device__ constexpr int column_segment(int i)
    {
        return i < EXTRA ? 8 : i - EXTRA;
    }
};

template <int WIDTH, int N> struct few_shared : few_rest<WIDTH, N> {
    alignas(1024) uint8_t ring[few_shape<WIDTH, N>::RING][DSA_WGMMA_SEGMENT_BYTES];
};

} // namespace dsa

#endif
