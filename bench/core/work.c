#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t work_bytes(const struct chain *chain)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < chain->nr; i++) {
        const struct chain_step *step = &chain->step[i];
        for (uint32_t t = 0; t < step->p.spec->tensors_nr; t++)
            if (step->p.tensor[t].dtype != SAB_NONE &&
                (step->from[t].step < 0 || step->from[t].shift.ids))
                sum += step->p.tensor[t].bytes + 2 * WORK_GUARD_BYTES;
    }
    return sum;
}

int work_poison_byte(int32_t dtype)
{
    switch (dtype) {
    case SAB_F32:
    case SAB_BF16:
    case SAB_FP16:
    case SAB_E4M3:
    case SAB_E8M0:
        return 0xff; /* NaN in each of them */
    case SAB_I8:
        return 0x80; /* -128: our quantisers never write it */
    default:
        return 0xa5;
    }
}

static void tensor_fill(struct sab_tensor *t, const struct op_problem *p, uint32_t i,
                        const struct device_info *info)
{
    const struct op_tensor *o = &p->tensor[i];

    memset(t, 0, sizeof(*t));
    t->dtype = o->dtype;
    t->role = p->spec->tensors[i].role;
    t->memory = info->kind == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    t->alignment = 256;
    if (o->dtype == SAB_NONE)
        return;
    t->rank = o->rank;
    int64_t stride = 1;
    for (int d = o->rank - 1; d >= 0; d--) {
        t->shape[d] = o->shape[d];
        t->stride[d] = stride;
        stride *= o->shape[d];
    }
}

/* Takes a tensor of an earlier work for tensor i. */
static void tensor_borrow(struct work *w, uint32_t i, const struct work_feed *feed)
{
    w->feed[i] = *feed;
    w->tensor[i].data = feed->from->tensor[feed->tensor].data;
    if (feed->from->tensor[feed->tensor].role == SAB_IN)
        w->p.tensor[i].recipe = feed->from->p.tensor[feed->tensor].recipe;
    else
        w->fed = true;
}

int work_open(struct work *w, struct device *dev, const struct op_case *c,
              const struct work_feed *feed, struct err *err)
{
    memset(w, 0, sizeof(*w));
    w->dev = dev;
    w->c = *c;
    if (c->op->describe(c, &w->p, err))
        return -1;
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        const struct op_tensor *o = &w->p.tensor[i];
        tensor_fill(&w->tensor[i], &w->p, i, device_info(dev));
        if (o->dtype == SAB_NONE)
            continue;
        if (feed && feed[i].from && !feed[i].shift.ids) {
            tensor_borrow(w, i, &feed[i]);
            continue;
        }
        if (feed && feed[i].from) {
            w->feed[i] = feed[i];
            w->fed = true;
        }
        if (device_alloc(dev, o->bytes + 2 * WORK_GUARD_BYTES, &w->base[i], err))
            return err_prefix(err, "tensor '%s'", w->p.spec->tensors[i].name);
        w->tensor[i].data = (char *)w->base[i] + WORK_GUARD_BYTES;
        if (device_fill(dev, w->tensor[i].data, 0xa5, o->bytes, err))
            return -1;
    }
    return work_guards_write(w, err);
}

void work_close(struct work *w)
{
    for (uint32_t i = 0; i < SAB_MAX_TENSORS; i++) {
        device_free(w->dev, w->base[i]);
        device_free(w->dev, w->reference[i]);
        device_free(w->dev, w->baseline[i]);
    }
    for (size_t i = 0; i < w->oracles_nr; i++) {
        free(w->oracle[i].signature);
        op_slices_release(&w->oracle[i].slices);
    }
    free(w->oracle);
    memset(w, 0, sizeof(*w));
}

int work_generate(struct work *w, struct err *err)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        const struct op_tensor *o = &w->p.tensor[i];
        if (!w->base[i] || w->tensor[i].role == SAB_OUT || !o->bytes || w->feed[i].from)
            continue;
        if (o->recipe.kind == RECIPE_NONE && w->c.op->producer)
            continue;
        if (device_generate(w->dev, &o->recipe, w->tensor[i].data, err))
            return err_prefix(err, "filling '%s'", w->p.spec->tensors[i].name);
    }
    return device_sync(w->dev, err);
}

int work_convert(struct work *w, struct err *err)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        const struct work_feed *feed = &w->feed[i];

        if (feed->from && feed->shift.ids &&
            device_shift_ids(w->dev, w->tensor[i].data, feed->from->tensor[feed->tensor].data,
                             w->p.tensor[i].elements, feed->shift.ids, feed->shift.keys, err))
            return -1;
    }
    return 0;
}

int work_guards_write(struct work *w, struct err *err)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        if (!w->base[i])
            continue;
        char *end = (char *)w->tensor[i].data + w->p.tensor[i].bytes;
        if (device_fill(w->dev, w->base[i], WORK_GUARD_BYTE, WORK_GUARD_BYTES, err) ||
            device_fill(w->dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, err))
            return -1;
    }
    return 0;
}

int work_guards_check(struct work *w, char *text, size_t size, struct err *err)
{
    uint64_t count;
    int64_t first;

    text[0] = '\0';
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        if (!w->base[i])
            continue;
        const char *name = w->p.spec->tensors[i].name;
        char *end = (char *)w->tensor[i].data + w->p.tensor[i].bytes;
        if (device_count_other(w->dev, w->base[i], WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count,
                               &first, err))
            return -1;
        if (count) {
            snprintf(text, size, "%llu bytes written before '%s', the nearest %lld bytes before it",
                     (unsigned long long)count, name, (long long)(WORK_GUARD_BYTES - first));
            return 0;
        }
        if (device_count_other(w->dev, end, WORK_GUARD_BYTE, WORK_GUARD_BYTES, &count, &first, err))
            return -1;
        if (count) {
            snprintf(text, size, "%llu bytes written behind '%s', the first %lld bytes behind it",
                     (unsigned long long)count, name, (long long)first);
            return 0;
        }
    }
    return 0;
}

int work_poison(struct work *w, int byte, struct err *err)
{
    for (uint32_t i = 0; i < w->p.spec->tensors_nr; i++) {
        if (!w->base[i] || w->tensor[i].role == SAB_IN)
            continue;
        if (w->tensor[i].role == SAB_INOUT) {
            if (device_generate(w->dev, &w->p.tensor[i].recipe, w->tensor[i].data, err))
                return -1;
            continue;
        }
        int b = byte >= 0 ? byte : work_poison_byte(w->p.tensor[i].dtype);
        if (device_fill(w->dev, w->tensor[i].data, b, w->p.tensor[i].bytes, err))
            return -1;
    }
    return 0;
}

static void problem_fill(const struct op_problem *p, const struct device_info *info,
                         const uint32_t *choices, uint32_t choices_nr,
                         const struct sab_tensor *tensors, struct sab_problem *out)
{
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    out->tensors_nr = p->spec->tensors_nr;
    out->params_nr = p->spec->params_nr;
    out->choices_nr = choices_nr;
    out->tensors = tensors;
    out->params = p->param;
    out->choices = choices;
    out->arch = info->arch;
    out->multiprocessors = info->multiprocessors;
    out->threads = info->threads;
}

void work_problem(const struct work *w, const struct device_info *info, const uint32_t *choices,
                  uint32_t choices_nr, struct sab_tensor *tensors, struct sab_problem *out)
{
    memcpy(tensors, w->tensor, sizeof(w->tensor));
    problem_fill(&w->p, info, choices, choices_nr, tensors, out);
}

void work_metadata(const struct op_problem *p, const struct device_info *info,
                   const uint32_t *choices, uint32_t choices_nr, struct sab_tensor *tensors,
                   struct sab_problem *out)
{
    for (uint32_t i = 0; i < p->spec->tensors_nr; i++)
        tensor_fill(&tensors[i], p, i, info);
    problem_fill(p, info, choices, choices_nr, tensors, out);
}
