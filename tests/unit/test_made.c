/*
 * Inputs that are outputs of another operator: made by the oracle where there is no kernel, by a
 * kernel of bench's own library where there is one, and read by the oracle of what they feed.
 */
#include "job.h"
#include "plan.h"
#include "test_dsa_rig.h"
#include "verify_made.h"

#define AXES "seqlen_q=9 seqlen_k=70 heads=3 topk=40 lengths=ragged sink=mixed head_dim=576"

struct desk {
    struct job job;
    struct plan plan;
    struct worker worker;
    struct plan_case item;
    struct case_run run;
    struct work work;
};

static void desk_open(struct desk *d, bool own)
{
    const struct device_request request = {.kind = SAB_DEVICE_CPU, .threads = 2};
    struct err err = ERR_INIT;

    memset(d, 0, sizeof(*d));
    job_init(&d->job);
    plan_init(&d->plan);
    d->job.scratch = strdup("");
    d->plan.set.check_time_s = 20;
    d->worker.job = &d->job;
    d->worker.plan = &d->plan;
    d->run.worker = &d->worker;
    d->run.item = &d->item;
    if (device_open(&d->worker.dev, &request, &err) ||
        (own && library_open(&d->worker.own, LIBRARY_DIR "/libsab_kernels.so", &err)) ||
        rig_case(&d->item.c, "dsa_bwd", AXES, &err) ||
        work_open(&d->work, d->worker.dev, &d->item.c, NULL, &err))
        fail_msg("%s", err.text);
    d->worker.own_ready = own;
    if (verify_make_inputs(&d->run, &d->work, &err))
        fail_msg("%s", err.text);
}

static void desk_close(struct desk *d)
{
    work_close(&d->work);
    library_close(&d->worker.own);
    device_close(d->worker.dev);
    plan_release(&d->plan);
    job_release(&d->job);
}

/* The oracle's bits where it is alone; a kernel's, which differ from them by rounding. */
static void made(void **state)
{
    struct dsa_rig r;

    (void)state;
    rig_init(&r, "dsa_bwd", AXES);
    for (int own = 0; own < 2; own++) {
        const uint32_t inputs[] = {BWD(q), BWD(kv), BWD(dout), BWD(attn_sink), BWD(topk_idxs)};
        struct desk d;
        double off = 0;

        desk_open(&d, own);
        for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
            assert_memory_equal(d.work.tensor[inputs[i]].data, r.data[inputs[i]],
                                r.p.tensor[inputs[i]].bytes);
        assert_true(d.work.made[BWD(out)] && d.work.made[BWD(lse)] && !d.work.made[BWD(dout)]);
        for (int64_t i = 0; i < r.p.tensor[BWD(lse)].elements; i++) {
            const double want = rig_value(&r, BWD(lse), i);
            const double got = (double)((float *)d.work.tensor[BWD(lse)].data)[i];

            if (isfinite(want))
                off = fmax(off, fabs(got - want));
            else
                assert_true(got == want);
        }
        assert_true(off < 1e-5);
        if (!own)
            assert_memory_equal(d.work.tensor[BWD(out)].data, r.data[BWD(out)],
                                r.p.tensor[BWD(out)].bytes);
        desk_close(&d);
    }
    rig_release(&r);
}

/* The backward's oracle reads what was made. */
static void oracle_of_made(void **state)
{
    struct sab_kernel kernel = {.name = "none"};
    const struct op_slices *s;
    struct dsa_rig r;
    struct desk d;
    struct err err = ERR_INIT;

    (void)state;
    desk_open(&d, false);
    rig_init(&r, "dsa_bwd", AXES);
    rig_oracle(&r, 2);
    if (work_oracle_get(&d.work, &kernel, "", 5, &s, &err))
        fail_msg("%s", err.text);
    assert_true(s->complete);
    assert_int_equal(s->nr, r.s.nr);
    for (size_t i = 0; i < s->nr; i++)
        for (int64_t k = 0; k < s->item[i].n; k++)
            assert_true(fabs(s->item[i].ref[k] - r.s.item[i].ref[k]) < 1e-14);
    rig_release(&r);
    desk_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made),
        cmocka_unit_test(oracle_of_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
