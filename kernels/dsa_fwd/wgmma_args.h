/*
 * wgmma_args.h - what one launch of dsa_fwd/wgmma is given, by value, and the shared memory of its
 * block.
 */
#ifndef DSA_FWD_WGMMA_ARGS_H
#define DSA_FWD_WGMMA_ARGS_H

#include <cuda.h>

#include "dsa_fwd_call.h"

/* An item is a tile of heads of one query row: item = row * head_tiles + tile. Tiles lie behind
 * each other from first_head on; heads in reach that do not exist read as zeros and are not
 * written. */
struct dsa_fwd_wgmma_args {
    CUtensorMap q; /* u16, [rows,heads,width], box 1 x heads of a tile x 64, 128-byte swizzle */
    struct dsa_fwd_call c;
    int32_t first_head, head_tiles, items;
};

struct dsa_fwd_wgmma_form {
    void (*kernel)(const struct dsa_fwd_wgmma_args);
    int32_t heads, shared_bytes; /* heads of a tile */
};

/* One form of 64 heads per source file, wgmma_<type>_<width>.cu, and those of 8, 16 and 32 heads in
 * wgmma_few_<type>_<width>.cu. */
#define DSA_WGMMA_KERNELS(X) X(bf16, 512) X(bf16, 576) X(fp16, 512) X(fp16, 576)

enum {
    DSA_WGMMA_HEADS = 64,
    DSA_WGMMA_KEYS = 64,            /* of a tile */
    DSA_WGMMA_SEGMENT_BYTES = 8192, /* 64 columns of a tile */
    DSA_WGMMA_THREADS = 384,        /* two groups that compute, one that gathers */
    DSA_WGMMA_LIST = 128,           /* ids that a gathering warp knows ahead */
};

#ifdef __cplusplus

#    define DSA_WGMMA_DECLARE(type, width)                                                         \
        extern const struct dsa_fwd_wgmma_form dsa_fwd_wgmma_##type##_##width,                     \
            dsa_fwd_wgmma_few_##type##_##width[3];
DSA_WGMMA_KERNELS(DSA_WGMMA_DECLARE)
#    undef DSA_WGMMA_DECLARE

namespace dsa
{

/* What the computing groups need to know of a tile; written ahead of its rows. */
struct tile_info {
    int32_t item;   /* below 0: there are no more tiles */
    int32_t valid;  /* keys, 1 to 64 */
    int32_t prefix; /* of them in the prefix of lse_prefix */
    int32_t last;   /* of its item */
};

/* Per head row, exchanged between the groups at the end of an item. */
struct row_result {
    float sum, top, prefix_sum, prefix_maximum;
};

/* A tile's columns are cut in segments of 64, which are loaded, read and released one by one, in an
 * order that alternates between the two groups' halves of V. At width 576 the columns that are for
 * scores alone come first. */
template <int WIDTH> struct shape {
    static constexpr int SEGMENTS = WIDTH / 64;
    static constexpr int EXTRA = SEGMENTS - 8;
    static constexpr int HEADS = DSA_WGMMA_HEADS;
    static constexpr int INFOS = 4;
    static constexpr int Q_SLOTS = 1, Q_READERS = 4; /* warps that release one */
    static constexpr int Q_IN_REGISTERS = EXTRA;     /* leading segments of Q */
    static constexpr int RING = 18;                  /* segments of K in shared memory */
    static constexpr int FIRST = EXTRA + 4;          /* segments multiplied before the PV between */
    /* Leading segments of the next but one tile that lie where a tile's V does not. */
    static constexpr int EARLY = RING - 2 * SEGMENTS + EXTRA;

    static __host__ __device__ constexpr int column_segment(int i)
    {
        return i < EXTRA ? 8 : (i - EXTRA) % 2 * 4 + (i - EXTRA) / 2;
    }
};

template <int WIDTH> struct wgmma_shared {
    uint8_t q[1][shape<WIDTH>::SEGMENTS - shape<WIDTH>::Q_IN_REGISTERS][DSA_WGMMA_SEGMENT_BYTES];
    uint8_t ring[shape<WIDTH>::RING][DSA_WGMMA_SEGMENT_BYTES];
    uint4 p[4][128];    /* of the latest tile, as left operands: [k / 16][thread] */
    float2 maxima[128]; /* that go with it */
    row_result results[2][2][DSA_WGMMA_HEADS]; /* [parity of the item][group] */
    int32_t lists[4][DSA_WGMMA_LIST];          /* active ids, a copy for each gathering warp */
    tile_info infos[shape<WIDTH>::INFOS];
    uint64_t full[shape<WIDTH>::RING], empty[shape<WIDTH>::RING];
    uint64_t info[shape<WIDTH>::INFOS];
    uint64_t q_full[1], q_free[1];
};
static_assert(sizeof(wgmma_shared<512>) <= 232448 && sizeof(wgmma_shared<576>) <= 232448);

} // namespace dsa

#endif
#endif
