/*
 * bsa_model.h - what the files of bsa_fwd's model share.
 */
#ifndef BENCH_MODEL_OPS_BSA_MODEL_H
#define BENCH_MODEL_OPS_BSA_MODEL_H

#include "blocks_model.h"

enum bsa_axis { BSA_LSE = BLOCKS_OWN, BSA_AXES_NR };

/* In the order of the words of the axis `data`. */
enum bsa_data { BSA_NORMAL = 0, BSA_LARGE, BSA_EQUAL };

int bsa_oracle(const struct op_problem *p, const struct op_source *src,
               const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
               struct op_slices *slices, struct err *err);

#endif
