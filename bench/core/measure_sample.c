/*
 * measure_sample.c - one sample: what is restored before it, its launch, its row.
 */
#include <string.h>

#include "measure_internal.h"
#include "strbuf.h"
#include "text.h"

#define PREPARES_MAX (CHAIN_MAX_STEPS * (SAB_MAX_TENSORS + 1))

static size_t prepare_step(const struct step_run *step, struct device_prepare *list)
{
    const struct work *w = step->work;
    size_t nr = 0;

    if (step->workspace && !step->keeps_workspace) {
        list[nr] = (struct device_prepare){.kind = DEVICE_PREPARE_FILL,
                                           .dst = (char *)step->workspace + WORK_GUARD_BYTES,
                                           .byte = 0xa5,
                                           .bytes = step->workspace_bytes};
        nr++;
    }
    for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++) {
        if (!w->base[t] || w->tensor[t].role != SAB_OUT)
            continue;
        list[nr] = (struct device_prepare){.kind = DEVICE_PREPARE_FILL,
                                           .dst = w->tensor[t].data,
                                           .byte = work_poison_byte(w->tensor[t].dtype),
                                           .bytes = w->p.tensor[t].bytes};
        nr++;
    }
    return nr;
}

static size_t prepare_list(const struct arm_run *arm, struct device_prepare *list)
{
    size_t nr = 0;

    for (size_t i = 0; i < arm->steps_nr; i++)
        nr += prepare_step(&arm->step[i], list + nr);
    return nr;
}

static size_t touch_list(const struct arm_run *arm, struct device_span *list)
{
    size_t nr = 0;

    for (size_t i = 0; i < arm->steps_nr; i++) {
        const struct step_run *step = &arm->step[i];
        const struct work *w = step->work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
            if (w->base[t])
                list[nr++] = (struct device_span){w->tensor[t].data, w->p.tensor[t].bytes};
        if (step->workspace)
            list[nr++] = (struct device_span){(char *)step->workspace + WORK_GUARD_BYTES,
                                              step->workspace_bytes};
    }
    return nr;
}

/* Inout tensors go back to their first bytes before the sample; they are not part of the scrub. */
static int restore_inout(const struct arm_run *arm, struct err *err)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        struct work *w = arm->step[i].work;

        for (uint32_t t = 0; t < w->p.spec->tensors_nr; t++)
            if (w->base[t] && w->tensor[t].role == SAB_INOUT &&
                device_generate(w->dev, &w->p.tensor[t].recipe, w->tensor[t].data, err))
                return -1;
    }
    return 0;
}

int measure_launch(struct measure *m, struct arm_run *arm, uint64_t id, struct err *err)
{
    struct device_prepare prepare[PREPARES_MAX];
    struct device_span touch[PREPARES_MAX];
    struct device *dev = m->run->worker->dev;
    char text[512] = "";
    enum device_cache cache = (enum device_cache)m->run->worker->plan->set.cache;

    if (restore_inout(arm, err) ||
        device_sample_begin(dev, id, cache, prepare, prepare_list(arm, prepare), touch,
                            touch_list(arm, touch), err))
        return -1;
    int status = arm_launch(arm, true, text, sizeof(text), err);
    if (status < 0 || device_sample_end(dev, err))
        return -1;
    if (status)
        return err_set(err, ERR_CRASH, "arm '%s' refused a launch while it was timed: %s",
                       arm->job->label, text);
    return 0;
}

/* "12288;65432": one number a part. */
static int parts_text(const struct device_sample *d, size_t offset, char **member, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret;

    for (size_t i = 0; i < d->parts_nr; i++) {
        strbuf_addstr(&sb, i ? ";" : "");
        text_add_real(&sb, *(const double *)((const char *)&d->part[i] + offset));
    }
    ret = sb.oom ? err_memory(err) : d->parts_nr ? row_set(member, sb.buf, err) : 0;
    strbuf_release(&sb);
    return ret;
}

int measure_store(struct measure *m, const struct slot *s, const struct device_sample *d, int prev,
                  struct err *err)
{
    const struct job *job = m->run->worker->job;
    struct device_conditions cond;
    struct sample_row *row = sample_table_add(&m->run->samples, err);

    if (!row)
        return -1;
    device_conditions_at(m->run->worker->dev, d->start_ns, &cond);
    row->schema = ROWS_SCHEMA;
    row->process = job->process;
    row->super_round = s->super_round;
    row->round = s->round;
    row->attempt = s->attempt;
    row->slot = s->slot;
    row->span_ns = d->span_ns;
    row->busy_ns = d->busy_ns;
    row->activities = d->activities;
    row->start_ns = d->start_ns;
    row->idle_before_ns = s->idle_ns;
    row->enqueue_ns = d->enqueue_ns;
    row->scrub_ns = d->scrub_ns;
    row->run_mhz = d->run_mhz;
    row->sm_mhz = cond.sm_mhz;
    row->mem_mhz = cond.mem_mhz;
    row->power_w = cond.power_w;
    row->temp_c = cond.temp_c;
    row->throttle_bits = (int64_t)cond.throttle_bits;
    if (row_set(&row->run_id, job->run_id, err) || row_set(&row->case_id, m->run->item->id, err) ||
        row_set(&row->arm, m->racer[s->arm]->job->label, err) ||
        parts_text(d, offsetof(struct device_part, span_ns), &row->parts_span_ns, err) ||
        parts_text(d, offsetof(struct device_part, busy_ns), &row->parts_busy_ns, err) ||
        row_setf(&row->activity_set, err, "%016llx", (unsigned long long)d->activity_set) ||
        (prev >= 0 && row_set(&row->prev_arm, m->racer[prev]->job->label, err)))
        return -1;
    if (device_throttled(cond.throttle_bits) && m->pattern != PATTERN_SUSTAINED)
        return row_set(&row->drop_reason, "throttled", err);
    return 0;
}
