/*
 * sage_fold.h - the arithmetic of sage_fwd's oracle: folding the scores of one step, a key block or
 * two, into the running state of a query row. Sections: sage contract.
 */
#ifndef BENCH_MODEL_OPS_SAGE_FOLD_H
#define BENCH_MODEL_OPS_SAGE_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "sab.h"
#include "sage_model.h"

/* Section 5 as a kernel declares it: attributes fold = last_to_first | first_to_last,
 * p_scale = 256 | 448, rescale = lazy | lazy_pairs | always. Anything else is not known. lazy_pairs
 * is lazy with one maximum for two blocks in a row: blocks that hold a valid token are taken by
 * twos in fold order, the last of an odd number alone. */
struct sage_rounding {
    bool known;
    bool first_to_last;
    double offset;    /* P carries a factor 2^offset */
    double threshold; /* the maximum is kept while it rises by no more than this */
    int step_blocks;  /* key blocks that share a maximum: 1 or 2 */
};

void sage_rounding_read(struct sage_rounding *r, const struct sab_attribute *list, uint32_t nr);

enum { SAGE_STEP_TOKENS = 2 * BLOCKS_TILE }; /* of the longest step */

/* Running state of the rows of a tile: maximum (log2 units), sum, and sum of products. */
struct sage_fold {
    double max[BLOCKS_TILE];
    double sum[BLOCKS_TILE];
    double out[BLOCKS_TILE][BLOCKS_DIM];
};

void sage_fold_init(struct sage_fold *f);
/* Row r meets `valid` >= 1 tokens with these scores (log2 units, `largest` among them) and these
 * values: plain softmax, P not rounded (9.1 "exact"). */
void sage_fold_exact(struct sage_fold *f, int64_t r, const double *score, int64_t valid,
                     double largest, double (*v)[BLOCKS_DIM]);
/* The same by section 5, steps 2.3 to 2.9 (9.1 "emulated"). */
void sage_fold_emulated(struct sage_fold *f, const struct sage_rounding *rule, int64_t r,
                        const double *score, int64_t valid, double largest,
                        double (*v)[BLOCKS_DIM]);
/* out = O / l * v_scale, not rounded to bf16; a row that met no token is exactly 0. */
void sage_fold_finish(const struct sage_fold *f, const float *v_scale, int64_t rows, double *out);

#endif
