/*
 * sage_fold.c - see sage_fold.h.
 */
#include "sage_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"

static const char *attribute(const struct sab_attribute *list, uint32_t nr, const char *name)
{
    for (uint32_t i = 0; i < nr; i++)
        if (!strcmp(list[i].name, name))
            return list[i].value;
    return "";
}

void sage_rounding_read(struct sage_rounding *r, const struct sab_attribute *list, uint32_t nr)
{
    const char *fold = attribute(list, nr, "fold"), *scale = attribute(list, nr, "p_scale");
    const char *rescale = attribute(list, nr, "rescale");
    double factor;

    memset(r, 0, sizeof(*r));
    r->step_blocks = 1;
    if (strcmp(fold, "last_to_first") && strcmp(fold, "first_to_last"))
        return;
    if (strcmp(scale, "256") && strcmp(scale, "448"))
        return;
    if (strcmp(rescale, "lazy") && strcmp(rescale, "lazy_pairs") && strcmp(rescale, "always"))
        return;
    factor = strtod(scale, NULL);
    r->known = true;
    r->first_to_last = !strcmp(fold, "first_to_last");
    r->offset = log2(factor);
    /* The threshold that keeps P at most 448, the largest e4m3 value. */
    r->threshold = strcmp(rescale, "always") ? log2(448.0 / factor) : 0.0;
    r->step_blocks = strcmp(rescale, "lazy_pairs") ? 1 : 2;
}

void sage_fold_init(struct sage_fold *f)
{
    memset(f, 0, sizeof(*f));
    for (int r = 0; r < BLOCKS_TILE; r++)
        f->max[r] = -INFINITY;
}

static void add_scaled(double *restrict out, const double *restrict v, double p)
{
    for (int d = 0; d < BLOCKS_DIM; d++)
        out[d] += p * v[d];
}

static void raise_max(struct sage_fold *f, int64_t r, double max)
{
    const double factor = exp2(f->max[r] - max);

    f->max[r] = max;
    f->sum[r] *= factor;
    for (int d = 0; d < BLOCKS_DIM; d++)
        f->out[r][d] *= factor;
}

void sage_fold_exact(struct sage_fold *f, int64_t r, const double *score, int64_t valid,
                     double largest, double (*v)[BLOCKS_DIM])
{
    /* A running maximum costs a rounding of 2^-53 a block: exact for this purpose. */
    if (largest > f->max[r])
        raise_max(f, r, largest);
    for (int64_t c = 0; c < valid; c++) {
        const double p = exp2(score[c] - f->max[r]);

        f->sum[r] += p;
        add_scaled(f->out[r], v[c], p);
    }
}

void sage_fold_emulated(struct sage_fold *f, const struct sage_rounding *rule, int64_t r,
                        const double *score, int64_t valid, double largest, double (*v)[BLOCKS_DIM])
{
    if (f->max[r] - largest < -rule->threshold)
        raise_max(f, r, largest);
    for (int64_t c = 0; c < valid; c++) {
        const double p = exp2(score[c] - (f->max[r] - rule->offset));

        f->sum[r] += p;
        add_scaled(f->out[r], v[c], (double)numfmt_decode_e4m3(numfmt_encode_e4m3(p)));
    }
}

void sage_fold_finish(const struct sage_fold *f, const float *v_scale, int64_t rows, double *out)
{
    for (int64_t r = 0; r < rows; r++)
        for (int d = 0; d < BLOCKS_DIM; d++)
            out[r * BLOCKS_DIM + d] =
                f->sum[r] > 0 ? f->out[r][d] / f->sum[r] * (double)v_scale[d] : 0.0;
}
