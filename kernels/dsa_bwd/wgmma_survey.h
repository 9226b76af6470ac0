/*
 * wgmma_survey.h - what the small kernels of the integer form of dsa_bwd/wgmma are called with.
 */
#ifndef DSA_BWD_WGMMA_SURVEY_H
#define DSA_BWD_WGMMA_SURVEY_H

#include <stdint.h>

enum { DSA_BWD_SURVEY_THREADS = 256 };

struct dsa_bwd_survey_args {
    const uint16_t *q, *dout, *kv;
    int64_t q_pieces, dout_pieces, kv_pieces; /* of 8 elements */
    int64_t sums_pieces;                      /* of 16 bytes, of the accumulator */
    int32_t queries;
};

#endif
