#include "verify_made.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numfmt.h"
#include "verify_internal.h"

/* The oracle may make what no kernel can, up to this much of its work. */
#define ORACLE_MAX_FLOPS 2e11

/* Runs a kernel and holds it against the oracle: 0 it is right, 1 it cannot or is wrong (text). */
static int try_kernel(struct case_run *run, struct work *from, const struct sab_kernel *k,
                      struct err *why, struct err *err)
{
    struct judgement j;
    bool complete;
    double seconds;

    if (work_poison(from, -1, err))
        return -1;
    if (verify_run_once(from, k, &seconds, why))
        return why->kind == ERR_CRASH ? err_set(err, why->kind, "%s", why->text) : 1;
    if (verify_judge(run, from, k, &j, &complete, err))
        return -1;
    if (j.pass)
        return 0;
    err_clear(why);
    err_set(why, ERR_WRONG, "bench's own %s/%s is wrong: %s", k->op, k->name, j.text);
    return 1;
}

/* The kernels of bench's own library in the order of its table, the slow reference last. */
static int by_kernel(struct case_run *run, struct work *from, struct err *why, struct err *err)
{
    const struct worker *wk = run->worker;

    for (int reference = 0; wk->own_ready && reference < 2; reference++)
        for (size_t i = 0; i < wk->own.kernels_nr; i++) {
            const struct sab_kernel *k = wk->own.kernels[i].row;
            int ret;

            if (wk->own.kernels[i].refusal || strcmp(k->op, from->c.op->name) ||
                k->device != (int32_t)device_info(from->dev)->kind ||
                !(k->flags & SAB_KERNEL_REFERENCE) != !reference)
                continue;
            err_clear(why);
            ret = try_kernel(run, from, k, why, err);
            if (ret <= 0)
                return ret;
        }
    return 1;
}

/* A slice's values, rounded to the tensor's type. */
static int upload_slice(struct work *from, const struct op_slice *s, struct err *err)
{
    const int32_t dtype = from->tensor[s->tensor].dtype;
    const uint32_t size = numfmt_size(dtype);
    char *raw = malloc((size_t)s->n * size + 1);
    int ret;

    if (!raw)
        return err_memory(err);
    for (int64_t i = 0; i < s->n; i++)
        numfmt_store(dtype, raw, i, numfmt_encode(dtype, s->ref[i]));
    ret = device_upload(from->dev, (char *)from->tensor[s->tensor].data + (size_t)s->at * size, raw,
                        (size_t)s->n * size, err);
    free(raw);
    return ret;
}

static int by_oracle(struct work *from, const struct err *why, struct err *err)
{
    const struct op_model *op = from->c.op;
    struct op_slices all;
    struct op_source src;
    int ret = -1;

    op_slices_init(&all);
    op_source_recipes(&src, &from->p);
    if (op->slices(&from->c, ORACLE_MAX_FLOPS, &all, err))
        goto out;
    if (!all.complete) {
        err_set(err, ERR_ENVIRONMENT, "no kernel makes the outputs of %s that are inputs here%s%s",
                op->name, why->kind == ERR_NONE ? "" : ": ", why->text);
        goto out;
    }
    if (op->oracle(&from->p, &src, NULL, 0, (int)sysconf(_SC_NPROCESSORS_ONLN), &all, err))
        goto out;
    ret = 0;
    for (size_t i = 0; !ret && i < all.nr; i++)
        ret = upload_slice(from, &all.item[i], err);
out:
    op_slices_release(&all);
    return ret;
}

/* Copies what feeds the work's inputs. */
static int take_outputs(struct work *w, const struct work *from, struct err *err)
{
    for (uint32_t i = 0; i < from->p.spec->feeds_nr; i++) {
        const struct sab_feed_spec *feed = &from->p.spec->feeds[i];
        int32_t out, in;

        if (strcmp(feed->op, w->p.spec->name) || *feed->conversion)
            continue;
        out = sab_tensor_find(from->p.spec, feed->output);
        in = sab_tensor_find(w->p.spec, feed->input);
        if (out < 0 || in < 0 || !w->base[in] || w->p.tensor[in].recipe.kind != RECIPE_NONE)
            continue;
        if (w->p.tensor[in].bytes != from->p.tensor[out].bytes)
            return err_set(err, ERR_BUG, "'%s' of %s does not fit '%s' of %s", feed->output,
                           from->p.spec->name, feed->input, w->p.spec->name);
        if (device_copy(w->dev, w->tensor[in].data, from->tensor[out].data, w->p.tensor[in].bytes,
                        err))
            return -1;
        w->made[in] = true;
    }
    return device_sync(w->dev, err);
}

static int make(struct case_run *run, struct work *w, const struct op_case *c, struct err *err)
{
    struct work from;
    struct err why = ERR_INIT;
    int ret = -1;

    if (work_open(&from, w->dev, c, NULL, err) || verify_make_inputs(run, &from, err))
        goto out;
    ret = by_kernel(run, &from, &why, err);
    if (ret > 0)
        ret = by_oracle(&from, &why, err);
    if (!ret)
        ret = take_outputs(w, &from, err);
out:
    work_close(&from);
    return ret;
}

/* Whether an input waits to be made: an earlier step of a pipeline may have written it. */
static bool is_wanted(const struct work *w, uint32_t t)
{
    return w->base[t] && w->tensor[t].role == SAB_IN && !w->made[t] &&
           w->p.tensor[t].recipe.kind == RECIPE_NONE;
}

static bool wants(const struct work *w)
{
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
        if (is_wanted(w, t))
            return true;
    return false;
}

int verify_make_inputs(struct case_run *run, struct work *w, struct err *err)
{
    struct op_case c;
    int ret = 0;

    if (work_generate(w, err))
        return -1;
    for (size_t i = 0; w->c.op->producer && wants(w) && !ret; i++) {
        ret = w->c.op->producer(&w->c, i, &c, err);
        if (!ret)
            ret = make(run, w, &c, err);
    }
    if (ret < 0)
        return err_prefix(err, "inputs of %s", w->c.op->name);
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
        if (is_wanted(w, t))
            return err_set(err, ERR_BUG, "nothing makes '%s' of %s", w->p.spec->tensors[t].name,
                           w->c.op->name);
    return 0;
}
