/*
 * gpu_subject.h - one kernel on one case, planned and filled: inputs come from their recipes and,
 * where those are outputs of another operator, from that operator's reference kernel. Once it was
 * right, subject_hold() says whether it still is.
 */
#ifndef TESTS_GPU_GPU_SUBJECT_H
#define TESTS_GPU_GPU_SUBJECT_H

#include "gpu_case.h"

#define SUBJECT_KEEP (-1) /* the workspace stays as it is */

struct subject {
    struct rig *rig;
    const struct sab_kernel *row;
    struct op_case c;
    struct rig_problem rp;
    void *plan;
    void *graph;                 /* of a launch; NULL: none was captured */
    void *host[SAB_MAX_TENSORS]; /* inputs that no recipe makes */
    uint64_t digest;             /* of the outputs whose bits must not differ */
};

static inline void subject_close(struct subject *s)
{
    gpu_graph_free(s->graph);
    if (s->plan)
        s->row->free(s->plan);
    if (s->rig)
        rig_problem_close(s->rig, &s->rp);
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        free(s->host[t]);
    memset(s, 0, sizeof(*s));
}

/* Outputs are poisoned and the workspace is filled with a byte; all that is done when it returns.
 */
static inline int subject_poison(struct subject *s, int byte, struct err *err)
{
    if (rig_fill(s->rig, &s->rp, true, RIG_POISON, err) < 0 ||
        (byte != SUBJECT_KEEP && rig_spoil(s->rig, &s->rp, byte, err) < 0))
        return -1;
    return device_sync(s->rig->dev, err);
}

static inline int subject_launch(struct subject *s, void *stream, struct err *err)
{
    return rig_launch(s->row, s->plan, stream, err);
}

/* Over poison, on the device's own stream, to its end. */
static inline int subject_run(struct subject *s, struct err *err)
{
    return subject_poison(s, 0xa5, err) < 0 ||
                   subject_launch(s, device_stream(s->rig->dev), err) < 0
               ? -1
               : device_sync(s->rig->dev, err);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static inline const struct sab_kernel *subject_reference(const struct rig *rig, const char *op)
{
    const struct sab_kernel *row;
    size_t at = 0;

    while ((row = rig_kernel(rig, op, &at)))
        if (row->flags & SAB_KERNEL_REFERENCE)
            return row;
    return NULL;
}

/* Outputs of `from` that are inputs here, on the device and at home. */
static inline int subject_take_feeds(struct subject *s, const struct subject *from, struct err *err)
{
    const struct sab_op_spec *spec = from->rp.p.spec;

    for (uint32_t i = 0; i < spec->feeds_nr; i++) {
        const struct sab_feed_spec *feed = &spec->feeds[i];
        const bool here = strcmp(feed->op, s->rp.p.spec->name) == 0;
        const int32_t in = here ? sab_tensor_find(s->rp.p.spec, feed->input) : -1;
        const int32_t out = sab_tensor_find(spec, feed->output);

        if (in < 0 || out < 0)
            continue;
        const uint64_t bytes = s->rp.p.tensor[in].bytes;
        s->host[in] = malloc(bytes + 1);
        if (!s->host[in])
            return err_memory(err);
        if (device_copy(s->rig->dev, s->rp.tensor[in].data, from->rp.tensor[out].data, bytes, err) <
                0 ||
            device_download(s->rig->dev, s->host[in], s->rp.tensor[in].data, bytes, err) < 0)
            return -1;
    }
    return 0;
}

static inline int subject_open_case(struct subject *s, struct rig *rig,
                                    const struct sab_kernel *row, const struct op_case *c,
                                    const struct sab_buffer *lent, struct err *err);

static inline int subject_feed(struct subject *s, const struct op_case *c, struct err *err)
{
    const struct sab_kernel *row = subject_reference(s->rig, c->op->name);
    struct subject from = {.rig = NULL};
    int rc = row ? subject_open_case(&from, s->rig, row, c, NULL, err)
                 : err_set(err, ERR_ENVIRONMENT, "no reference kernel of %s", c->op->name);

    if (rc == 0)
        rc = subject_run(&from, err);
    if (rc == 0)
        rc = subject_take_feeds(s, &from, err);
    subject_close(&from);
    return rc == 0 ? 0 : -1;
}

static inline int subject_fill(struct subject *s, struct err *err)
{
    struct op_case from;
    int rc = 0;

    for (uint32_t t = 0; t < s->rp.p.spec->tensors_nr; t++) {
        const struct recipe *r = &s->rp.p.tensor[t].recipe;

        if (s->rp.base[t] && s->rp.tensor[t].role == SAB_IN && r->kind != RECIPE_NONE &&
            device_generate(s->rig->dev, r, s->rp.tensor[t].data, err) < 0)
            return -1;
    }
    for (size_t i = 0; rc == 0 && s->c.op->producer; i++) {
        rc = s->c.op->producer(&s->c, i, &from, err);
        if (rc == 0)
            rc = subject_feed(s, &from, err);
    }
    return rc < 0 ? -1 : device_sync(s->rig->dev, err);
}

/* ---- one subject ----------------------------------------------------------------------------- */

static inline int subject_open_case(struct subject *s, struct rig *rig,
                                    const struct sab_kernel *row, const struct op_case *c,
                                    const struct sab_buffer *lent, struct err *err)
{
    int rc;

    *s = (struct subject){.rig = rig, .row = row, .c = *c};
    if (c->op->describe(c, &s->rp.p, err) < 0)
        return -1;
    if (lent)
        s->rp.workspace = *lent;
    rc = rig_plan(rig, &s->rp, row, &s->plan, err);
    return rc == 0 ? subject_fill(s, err) : rc;
}

/* Planned on poison, then filled, on a workspace of its own or a lent one. Returns 0, 1 where the
 * kernel does not serve the case (err says why), negative for anything wrong. subject_close() is
 * due in any case. */
static inline int subject_open(struct subject *s, struct rig *rig, const struct sab_kernel *row,
                               const char *axes, const struct sab_buffer *lent, struct err *err)
{
    struct op_case c;

    memset(s, 0, sizeof(*s));
    return case_make(op_model_find(row->op), axes, &c, err) < 0
               ? -1
               : subject_open_case(s, rig, row, &c, lent, err);
}

/* Holds the outputs against the oracle, and remembers them. Bit t of `loose`: output t need only
 * come near next time. */
static inline int subject_take(struct subject *s, uint32_t loose, struct err *err)
{
    struct judgement j;

    for (uint32_t t = 0; t < s->rp.p.spec->tensors_nr; t++)
        if (rig_is_output(&s->rp, t) &&
            device_download(s->rig->dev, s->rp.out[t], s->rp.tensor[t].data,
                            s->rp.p.tensor[t].bytes, err) < 0)
            return -1;
    if (case_judge(&s->c, &s->rp, s->host, s->row, &j, err) < 0)
        return -1;
    if (!j.pass)
        return err_set(err, ERR_WRONG, "%s", j.text);
    for (uint32_t t = 0; t < s->rp.p.spec->tensors_nr; t++)
        if ((loose >> t & 1) && rig_keep(s->rig, &s->rp, t, err) < 0)
            return -1;
    return rig_digest(s->rig, &s->rp, &s->digest, err) < 0 ? -1 : rig_guards(s->rig, &s->rp, err);
}

/* The outputs are what they were, and nothing around them has changed. */
static inline int subject_hold(struct subject *s, const char *when, struct err *err)
{
    uint64_t digest;
    int rc = rig_digest(s->rig, &s->rp, &digest, err);

    if (rc == 0 && digest != s->digest)
        rc = err_set(err, ERR_WRONG, "other bits");
    if (rc == 0)
        rc = rig_near(s->rig, &s->rp, err);
    if (rc == 0)
        rc = rig_guards(s->rig, &s->rp, err);
    return rc == 0 ? 0 : err_prefix(err, "%s", when);
}

#endif
