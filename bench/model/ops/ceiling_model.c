/*
 * ceiling_model.c - see ceiling_model.h.
 */
#include <stdlib.h>
#include <string.h>

#include "ceiling_model.h"

#define SAMPLED 64

struct recipe *ceiling_tensor(const struct op_case *c, struct op_problem *p, uint32_t place,
                              int32_t dtype, const int64_t *shape, int32_t rank, uint32_t kind)
{
    struct op_tensor *t = &p->tensor[place];

    t->dtype = dtype;
    t->rank = rank;
    t->elements = 1;
    for (int32_t i = 0; i < rank; i++) {
        t->shape[i] = t->recipe.shape[i] = shape[i];
        t->elements *= shape[i];
    }
    t->bytes = (uint64_t)t->elements * sab_dtype_size(dtype);
    t->recipe.kind = kind;
    t->recipe.dtype = dtype;
    t->recipe.seed = recipe_seed(c->seed, place);
    t->recipe.rank = rank;
    return &t->recipe;
}

int ceiling_slices(struct op_slices *out, uint32_t tensor, int64_t rows, int64_t width,
                   struct err *err)
{
    const int64_t nr = rows < SAMPLED ? rows : SAMPLED;

    out->complete = nr == rows;
    for (int64_t i = 0; i < nr; i++) {
        const int64_t row = nr > 1 ? i * (rows - 1) / (nr - 1) : 0;
        struct op_slice *item = op_slices_add(out, tensor, row * width, width, err);

        if (!item)
            return -1;
        item->tile = row;
    }
    return 0;
}

int ceiling_room(struct op_slice *s, struct err *err)
{
    if (!s->ref)
        s->ref = malloc((size_t)s->n * sizeof(double));
    return s->ref ? 0 : err_memory(err);
}
