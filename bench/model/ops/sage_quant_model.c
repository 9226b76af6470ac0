/*
 * sage_quant_model.c - what the models of the two Sage quantisers share.
 */
#include "sage_quant_model.h"

#include <stdlib.h>
#include <string.h>

#define OUTLIER_CHANNEL 37
#define OUTLIER_WIDTH   1000.0f

enum quant_data { DATA_NORMAL = 0, DATA_OUTLIER, DATA_ZERO };

static void fill_recipe(const struct op_case *c, struct recipe *r)
{
    r->f[0] = 1;
    r->f[2] = OUTLIER_WIDTH;
    switch ((enum quant_data)c->axis[QUANT_DATA].i) {
    case DATA_NORMAL:
        r->kind = RECIPE_NORMAL;
        break;
    case DATA_OUTLIER:
        r->kind = RECIPE_OUTLIER;
        r->p[0] = OUTLIER_CHANNEL;
        break;
    case DATA_ZERO:
        r->kind = RECIPE_CONST;
        break;
    }
}

int quant_tensor(const struct op_case *c, struct op_problem *p, uint32_t place, int32_t dtype,
                 const int64_t *shape, int32_t rank, struct err *err)
{
    struct op_tensor *t = &p->tensor[place];
    int64_t bytes = (int64_t)sab_dtype_size(dtype);

    t->dtype = dtype;
    t->rank = rank;
    for (int32_t i = 0; i < rank; i++) {
        t->shape[i] = shape[i];
        if (__builtin_mul_overflow(bytes, shape[i], &bytes))
            return err_set(err, ERR_CONFIG, "a tensor of this case has more than 2^63 bytes");
    }
    t->elements = bytes / (int64_t)sab_dtype_size(dtype);
    t->bytes = (uint64_t)bytes;
    t->recipe.dtype = dtype;
    t->recipe.seed = recipe_seed(c->seed, place);
    t->recipe.rank = rank;
    memcpy(t->recipe.shape, t->shape, sizeof(t->recipe.shape));
    if (p->spec->tensors[place].role == SAB_IN)
        fill_recipe(c, &t->recipe);
    return 0;
}

int quant_slice(struct op_slices *out, uint32_t tensor, int64_t at, int64_t n, int64_t head,
                int64_t tile, uint32_t unit, int64_t unit_at, struct err *err)
{
    struct op_slice *item = op_slices_add(out, tensor, at, n, err);

    if (!item)
        return -1;
    item->head = head;
    item->tile = tile;
    if (unit != QUANT_NO_UNIT) {
        item->scaled = true;
        item->unit = unit;
        item->unit_at = unit_at;
    }
    return 0;
}

double quant_scale(double amax, double divisor)
{
    const double floor = 1e-7;

    return (amax > floor ? amax : floor) / divisor;
}

int quant_room(struct op_slice *s, bool within)
{
    if (!s->ref)
        s->ref = malloc((size_t)s->n * sizeof(double));
    if (within && !s->within)
        s->within = calloc((size_t)s->n, sizeof(double));
    return s->ref && (s->within || !within) ? 0 : -1;
}
