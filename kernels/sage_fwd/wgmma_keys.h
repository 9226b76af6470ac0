/*
 * wgmma_keys.h - the kernels of sage_fwd/wgmma, by the keys of mma_keys.h.
 */
#ifndef SAGE_WGMMA_KEYS_H
#define SAGE_WGMMA_KEYS_H

#include "mma_keys.h"

/* One table per source file, wgmma_<name>.cu: the five count forms of one sizes form. */
#define SAGE_WGMMA_DECLARE(name, M, F)                                                             \
    extern const struct sage_mma_variant sage_wgmma_##name[SAGE_MMA_COUNTS_NR];
SAGE_MMA_SIZES(SAGE_WGMMA_DECLARE)
#undef SAGE_WGMMA_DECLARE

#endif
