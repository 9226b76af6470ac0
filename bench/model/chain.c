#include "chain.h"

#include <math.h>
#include <string.h>

#include "case_build.h"

bool chain_feeds(const char *from, const char *to)
{
    const struct sab_op_spec *spec = sab_op_find(from);

    for (uint32_t i = 0; spec && i < spec->feeds_nr; i++)
        if (!strcmp(spec->feeds[i].op, to))
            return true;
    return false;
}

static const char *name_of(const struct chain *chain, size_t step)
{
    return chain->step[step].c.op->name;
}

static bool is_present(const struct op_problem *p, int32_t tensor)
{
    return tensor >= 0 && p->tensor[tensor].dtype != SAB_NONE;
}

/* The catalogue's row by which step i feeds this input, or NULL. */
static const struct sab_feed_spec *feed_find(const struct chain *chain, size_t i, const char *op,
                                             const char *input)
{
    const struct sab_op_spec *spec = chain->step[i].p.spec;

    for (uint32_t f = 0; f < spec->feeds_nr; f++) {
        const struct sab_feed_spec *feed = &spec->feeds[f];

        if (!strcmp(feed->op, op) && !strcmp(feed->input, input) &&
            is_present(&chain->step[i].p, sab_tensor_find(spec, feed->output)))
            return feed;
    }
    return NULL;
}

/* Makes tensor t of step j that of step i, or of the step that owns it. */
static void join(struct chain *chain, size_t j, uint32_t t, size_t i, uint32_t tensor)
{
    const struct chain_link further = chain->step[i].from[tensor];

    chain->step[j].from[t] =
        further.step >= 0 ? further : (struct chain_link){.step = (int)i, .tensor = tensor};
    if (chain->step[i].p.spec->tensors[tensor].role != SAB_OUT)
        chain->step[j].p.tensor[t].recipe = chain->step[i].p.tensor[tensor].recipe;
}

/* Ids count from the first key of their batch in one operator, from the first of all in another:
 * alike where there is one batch. */
static int find_shift(const struct chain *chain, size_t i, const struct sab_feed_spec *feed,
                      struct id_shift *shift, struct err *err)
{
    const struct op_case *c = &chain->step[i].c;
    const struct op_problem *p = &chain->step[i].p;
    int64_t batch;

    *shift = (struct id_shift){0, 0};
    if (!*feed->conversion || op_axis_find(c->op, "batch") < 0 ||
        op_axis_find(c->op, "seqlen_k") < 0)
        return 0;
    batch = op_case_int(c, "batch");
    if (batch <= 1)
        return 0;
    shift->ids = p->tensor[sab_tensor_find(p->spec, feed->output)].elements / batch;
    shift->keys = op_case_int(c, "seqlen_k");
    if (shift->keys > INT32_MAX / batch)
        return err_set(err, ERR_CONFIG,
                       "ids of '%s' count from the first of %lld keys in each of %lld batches: "
                       "those of all keys do not fit in 32 bits",
                       feed->output, (long long)shift->keys, (long long)batch);
    return 0;
}

static int check_feed(const struct chain *chain, size_t i, size_t j,
                      const struct sab_feed_spec *feed, struct err *err)
{
    const struct op_problem *a = &chain->step[i].p, *b = &chain->step[j].p;
    const struct op_tensor *out = &a->tensor[sab_tensor_find(a->spec, feed->output)];
    const struct op_tensor *in = &b->tensor[sab_tensor_find(b->spec, feed->input)];

    if (out->dtype != in->dtype)
        return err_set(err, ERR_CONFIG, "step '%s' gives '%s' as %s where '%s' of step '%s' is %s",
                       name_of(chain, i), feed->output, sab_dtype_name(out->dtype), feed->input,
                       name_of(chain, j), sab_dtype_name(in->dtype));
    if (out->elements != in->elements)
        return err_set(err, ERR_CONFIG,
                       "step '%s' gives '%s' with %lld elements where '%s' of step '%s' has %lld",
                       name_of(chain, i), feed->output, (long long)out->elements, feed->input,
                       name_of(chain, j), (long long)in->elements);
    return 0;
}

static int link_fed(struct chain *chain, size_t j, uint32_t t, struct err *err)
{
    const struct sab_op_spec *spec = chain->step[j].p.spec;

    for (size_t i = j; i-- > 0;) {
        const struct sab_feed_spec *feed = feed_find(chain, i, spec->name, spec->tensors[t].name);

        if (!feed)
            continue;
        if (check_feed(chain, i, j, feed, err))
            return -1;
        join(chain, j, t, i, (uint32_t)sab_tensor_find(chain->step[i].p.spec, feed->output));
        return find_shift(chain, i, feed, &chain->step[j].from[t].shift, err);
    }
    return 0;
}

static bool alike(const struct op_tensor *a, const struct op_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(a->shape[0]));
}

static void link_shared(struct chain *chain, size_t j, uint32_t t)
{
    const struct op_problem *p = &chain->step[j].p;

    for (size_t i = j; i-- > 0;) {
        const struct op_problem *q = &chain->step[i].p;
        const int32_t same = sab_tensor_find(q->spec, p->spec->tensors[t].name);

        if (!is_present(q, same) || q->spec->tensors[same].role != SAB_IN ||
            !alike(&q->tensor[same], &p->tensor[t]))
            continue;
        join(chain, j, t, i, (uint32_t)same);
        return;
    }
}

static int link_step(struct chain *chain, size_t j, struct err *err)
{
    struct chain_step *step = &chain->step[j];

    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        step->from[t] = (struct chain_link){.step = -1};
    for (uint32_t t = 0; t < step->p.spec->tensors_nr; t++) {
        if (step->p.tensor[t].dtype == SAB_NONE || step->p.spec->tensors[t].role != SAB_IN)
            continue;
        if (link_fed(chain, j, t, err))
            return -1;
        if (step->from[t].step < 0)
            link_shared(chain, j, t);
    }
    return 0;
}

static bool is_used(const struct chain *chain, size_t i)
{
    for (size_t j = i + 1; j < chain->nr; j++)
        for (uint32_t t = 0; t < chain->step[j].p.spec->tensors_nr; t++)
            if (chain->step[j].from[t].step == (int)i && chain_is_fed(chain, j, t))
                return true;
    return false;
}

int chain_link(struct chain *chain, struct err *err)
{
    for (size_t i = 0; i < chain->nr; i++) {
        struct chain_step *step = &chain->step[i];

        if (step->c.op->describe(&step->c, &step->p, err) || link_step(chain, i, err))
            return -1;
    }
    for (size_t i = 0; i + 1 < chain->nr; i++)
        if (!is_used(chain, i))
            return err_set(err, ERR_CONFIG,
                           "no output of step '%s' is an input of a step behind it",
                           name_of(chain, i));
    return 0;
}

bool chain_is_fed(const struct chain *chain, size_t step, uint32_t tensor)
{
    const struct chain_link from = chain->step[step].from[tensor];

    return from.step >= 0 && chain->step[from.step].p.spec->tensors[from.tensor].role != SAB_IN;
}

int chain_cost(const struct chain *chain, struct op_cost *cost, struct err *err)
{
    struct op_cost one = {0};

    memset(cost, 0, sizeof(*cost));
    for (size_t i = 0; i < chain->nr; i++) {
        const struct op_case *c = &chain->step[i].c;

        memset(&one, 0, sizeof(one));
        if (c->op->cost(c, &one, err))
            return -1;
        cost->flops_nominal += one.flops_nominal;
        cost->flops_valid += one.flops_valid;
        cost->flops_dense += one.flops_dense;
        cost->bytes_min += one.bytes_min;
        for (int r = 0; r < OP_RESOURCES_NR; r++) {
            cost->use[r].amount += one.use[r].amount;
            cost->use[r].footprint_bytes =
                fmax(cost->use[r].footprint_bytes, one.use[r].footprint_bytes);
        }
    }
    cost->bytes_tiles = chain->nr == 1 ? one.bytes_tiles : NAN;
    cost->density = one.density;
    return 0;
}

bool chain_equal(const struct chain *a, const struct chain *b)
{
    if (a->nr != b->nr)
        return false;
    for (size_t i = 0; i < a->nr; i++)
        if (a->step[i].c.op != b->step[i].c.op || a->step[i].c.seed != b->step[i].c.seed ||
            !case_equal(&a->step[i].c, &b->step[i].c))
            return false;
    return true;
}
