/*
 * gpu_dsa.c - what the DSA contract asks of a kernel beside right values (sections 3.4, 3.5, 4 and
 * 5), on every CUDA kernel of dsa_fwd and dsa_bwd in a library: capture of a first launch, replays,
 * equal bits, a busy default stream, workspaces that are shared and overwritten, plans side by
 * side, refusals. Values at large are for `bench check` with dsa_fwd.ini and dsa_bwd.ini.
 *
 *   gpu_dsa [--quick] [--only GLOB] [LIBRARY]     GLOB over "dsa_bwd/wgmma wide busy"
 */
#include "gpu_refusals.h"
#include "gpu_subject.h"

#define BUSY_NS       400000000ull /* that the default stream is kept busy */
#define DETERMINISTIC 1000         /* launches of section 3.4 */
#define ROUNDS        4

struct dsa_case {
    const char *op, *name, *axes;
    const char *other; /* axes of a second plan; NULL: none */
};

#define FWD_OTHER "heads=5 head_dim=576 seqlen_q=9 seqlen_k=40 topk=33 lengths=ragged dtype=fp16"
#define BWD_OTHER "heads=5 head_dim=576 seqlen_q=9 seqlen_k=40 topk=33 lengths=ragged"

/* Rows that one tile or another does not divide, of every kind of length and id; rows without a
 * slot; calls that are nothing but fills; fp16 for what needs fine rounding. */
static const struct dsa_case cases[] = {
    {"dsa_fwd", "ragged",
     "heads=64 seqlen_q=150 seqlen_k=600 topk=131 lengths=ragged sink=mixed lse_prefix=70",
     FWD_OTHER},
    {"dsa_fwd", "wide",
     "heads=40 head_dim=576 seqlen_q=149 seqlen_k=1840 topk=256 lengths=none pattern=scattered "
     "dtype=fp16",
     FWD_OTHER},
    {"dsa_fwd", "no_keys", "heads=16 seqlen_q=300 seqlen_k=0 topk=5 lse_prefix=5", FWD_OTHER},
    {"dsa_fwd", "no_slots", "heads=16 seqlen_q=300 seqlen_k=64 topk=0", FWD_OTHER},
    {"dsa_fwd", "empty", "heads=16 seqlen_q=300 seqlen_k=64 topk=64 lengths=empty", FWD_OTHER},
    {"dsa_bwd", "ragged", "heads=64 seqlen_q=150 seqlen_k=600 topk=131 lengths=ragged sink=mixed",
     BWD_OTHER},
    {"dsa_bwd", "wide",
     "heads=40 head_dim=576 seqlen_q=149 seqlen_k=900 topk=256 lengths=none pattern=scattered "
     "dtype=fp16",
     BWD_OTHER " dtype=fp16"},
    {"dsa_bwd", "two_blocks", "heads=128 seqlen_q=70 seqlen_k=300 topk=96 lengths=random",
     BWD_OTHER},
    {"dsa_bwd", "no_keys", "heads=16 seqlen_q=300 seqlen_k=0 topk=5", NULL},
    {"dsa_bwd", "no_slots", "heads=16 seqlen_q=300 seqlen_k=64 topk=0", BWD_OTHER},
    {"dsa_bwd", "empty", "heads=16 seqlen_q=300 seqlen_k=64 topk=64 lengths=empty", BWD_OTHER},
    {"dsa_bwd", "same_ragged",
     "heads=64 seqlen_q=130 seqlen_k=200 topk=96 lengths=ragged sink=mixed deterministic=1",
     BWD_OTHER " deterministic=1"},
    {"dsa_bwd", "same_wide",
     "heads=40 head_dim=576 seqlen_q=149 seqlen_k=300 topk=65 pattern=scattered dtype=fp16 "
     "deterministic=1",
     BWD_OTHER " dtype=fp16 deterministic=1"},
    {"dsa_bwd", "same_id",
     "heads=16 seqlen_q=64 seqlen_k=100 topk=64 pattern=single sink=ln_k dtype=fp16 "
     "deterministic=1",
     BWD_OTHER " deterministic=1"},
    {"dsa_bwd", "same_overflow",
     "heads=8 seqlen_q=64 seqlen_k=100 topk=64 sink=overflow deterministic=1",
     BWD_OTHER " deterministic=1"},
    {"dsa_bwd", "same_no_slots", "heads=16 seqlen_q=300 seqlen_k=64 topk=0 deterministic=1",
     BWD_OTHER " deterministic=1"},
};

static const struct dsa_case quick_cases[] = {
    {"dsa_fwd", "ragged",
     "heads=20 seqlen_q=18 seqlen_k=90 topk=65 lengths=ragged sink=mixed lse_prefix=33", FWD_OTHER},
    {"dsa_fwd", "wide",
     "heads=7 head_dim=576 seqlen_q=17 seqlen_k=90 topk=70 pattern=scattered dtype=fp16",
     FWD_OTHER},
    {"dsa_bwd", "ragged", "heads=20 seqlen_q=18 seqlen_k=90 topk=65 lengths=ragged sink=mixed",
     BWD_OTHER},
    {"dsa_bwd", "wide",
     "heads=7 head_dim=576 seqlen_q=17 seqlen_k=90 topk=70 pattern=scattered dtype=fp16",
     BWD_OTHER},
    {"dsa_bwd", "same_ragged",
     "heads=70 seqlen_q=18 seqlen_k=90 topk=65 lengths=ragged deterministic=1",
     BWD_OTHER " deterministic=1"},
};

#define CASES_NR       (sizeof(cases) / sizeof(cases[0]))
#define QUICK_CASES_NR (sizeof(quick_cases) / sizeof(quick_cases[0]))

struct dsa {
    struct rig rig;
    const struct dsa_case *cases;
    size_t cases_nr;
    int served[CASES_NR]; /* kernels; of the quick cases, which are fewer, too */
};

static bool is_deterministic(const struct subject *s)
{
    return strcmp(s->row->op, "dsa_bwd") == 0 && s->rp.p.param[SAB_P_dsa_bwd_deterministic].i != 0;
}

/* Outputs whose bits may differ, section 3.4: the sums of the backward where nobody asks for more.
 */
static uint32_t loose_outputs(const struct subject *s)
{
    if (strcmp(s->row->op, "dsa_bwd") != 0 || is_deterministic(s) ||
        (s->row->flags & SAB_KERNEL_DETERMINISTIC))
        return 0;
    return 1u << SAB_T_dsa_bwd_dkv | 1u << SAB_T_dsa_bwd_d_sink;
}

static int take(struct subject *s, struct err *err)
{
    return subject_take(s, loose_outputs(s), err);
}

/* ---- scenarios: 0 passed, 1 says nothing here, negative failed ------------------------------- */

/* Section 5.4: the first launch of the plan, and the first of this form in the process where no
 * other case has it, is a capture. */
static int first_captured(struct subject *s, const char *other, struct err *err)
{
    (void)other;
    if (subject_poison(s, 0xa5, err) < 0 ||
        rig_capture(s->rig, s->row, s->plan, &s->graph, err) < 0)
        return -1;
    if (rig_untouched(s->rig, &s->rp, 0xa5, err) < 0)
        return err_prefix(err, "during the capture");
    if (rig_run_graph(s->rig, s->graph, err) < 0)
        return -1;
    return take(s, err);
}

/* Section 5.3: whatever the workspace holds. */
static int replayed(struct subject *s, const char *other, struct err *err)
{
    static const int bytes[] = {0xa5, 0x00, 0xff, SUBJECT_KEEP};

    (void)other;
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        if (subject_poison(s, bytes[i], err) < 0 || rig_run_graph(s->rig, s->graph, err) < 0 ||
            subject_hold(s, "replayed", err) < 0)
            return -1;
    return 0;
}

/* Sections 2.5 and 3.4: again and again, beside copies, on a side stream, from a graph. */
static int repeated(struct subject *s, const char *other, struct err *err)
{
    (void)other;
    return s->rig->quick ? 1 : rig_repeats(s->rig, &s->rp, s->row, s->plan, err);
}

/* What the outputs are when the side stream has ended is copied on that stream. */
static int busy_shots(struct subject *s, void *const *shot, struct err *err)
{
    void *side = s->rig->side;
    int rc = rig_cuda(gpu_spin(BUSY_NS, NULL), "spin", err), busy;

    if (rc == 0)
        rc = subject_launch(s, side, err);
    for (uint32_t t = 0; rc == 0 && t < SAB_MAX_TENSORS; t++)
        if (shot[t])
            rc = rig_cuda(gpu_copy(shot[t], s->rp.tensor[t].data, s->rp.p.tensor[t].bytes, side),
                          "copy", err);
    if (rc == 0)
        rc = rig_cuda(gpu_stream_wait(side), "side stream", err);
    busy = gpu_stream_busy(NULL);
    if (gpu_stream_wait(NULL) != 0 && rc == 0)
        rc = err_set(err, ERR_CRASH, "the default stream failed");
    if (rc == 0 && !busy)
        rc = err_set(err, ERR_WRONG, "the side stream waited for the default stream");
    return rc;
}

/* Section 5.2. */
static int beside_busy_stream(struct subject *s, const char *other, struct err *err)
{
    void *shot[SAB_MAX_TENSORS] = {NULL};
    int rc = s->rig->quick ? 1 : 0;

    (void)other;
    for (uint32_t t = 0; rc == 0 && t < s->rp.p.spec->tensors_nr; t++)
        if (rig_is_output(&s->rp, t) && s->rp.p.tensor[t].bytes)
            rc = device_alloc(s->rig->dev, s->rp.p.tensor[t].bytes, &shot[t], err);
    if (rc == 0)
        rc = subject_poison(s, 0xa5, err);
    if (rc == 0)
        rc = busy_shots(s, shot, err);
    for (uint32_t t = 0; rc == 0 && t < SAB_MAX_TENSORS; t++)
        if (shot[t])
            rc = device_copy(s->rig->dev, s->rp.tensor[t].data, shot[t], s->rp.p.tensor[t].bytes,
                             err);
    if (rc == 0)
        rc = subject_hold(s, "beside a busy default stream", err);
    for (uint32_t t = 0; t < SAB_MAX_TENSORS; t++)
        device_free(s->rig->dev, shot[t]);
    return rc;
}

/* One launch over poison and 0xa5, all of it on one stream. */
static int fill_and_launch(struct subject *s, void *stream, struct err *err)
{
    const struct sab_buffer *w = &s->rp.workspace;
    int rc = w->data ? rig_cuda(gpu_memset(w->data, 0xa5, w->bytes, stream), "fill", err) : 0;

    for (uint32_t t = 0; rc == 0 && t < s->rp.p.spec->tensors_nr; t++)
        if (rig_is_output(&s->rp, t) && s->rp.p.tensor[t].bytes)
            rc = rig_cuda(
                gpu_memset(s->rp.tensor[t].data, RIG_POISON, s->rp.p.tensor[t].bytes, stream),
                "poison", err);
    if (rc == 0)
        rc = subject_launch(s, stream, err);
    return rc == 0 ? rig_cuda(gpu_stream_wait(stream), "launch", err) : rc;
}

/* Section 3.4, on two streams in turn. */
static int thousand_times(struct subject *s, const char *other, struct err *err)
{
    const int launches = s->rig->quick ? 4 : DETERMINISTIC;
    uint64_t digest;

    (void)other;
    if (!is_deterministic(s))
        return 1;
    for (int i = 0; i < launches; i++) {
        if (fill_and_launch(s, i & 1 ? s->rig->side : device_stream(s->rig->dev), err) < 0 ||
            rig_digest(s->rig, &s->rp, &digest, err) < 0)
            return -1;
        if (digest != s->digest)
            return err_set(err, ERR_WRONG, "other bits in launch %d of %d", i + 1, launches);
    }
    return subject_hold(s, "in the end", err);
}

static int both_at_once(struct subject *s, struct subject *b, struct err *err)
{
    void *stream[2] = {device_stream(s->rig->dev), s->rig->side};

    for (int i = 0; i < ROUNDS; i++) {
        if (subject_poison(s, 0xa5, err) < 0 || subject_poison(b, 0x5a, err) < 0 ||
            subject_launch(s, stream[i & 1], err) < 0 ||
            subject_launch(b, stream[~i & 1], err) < 0 || device_sync(s->rig->dev, err) < 0 ||
            rig_cuda(gpu_stream_wait(s->rig->side), "side stream", err) < 0 ||
            subject_hold(s, "the first of two plans", err) < 0 ||
            subject_hold(b, "the second of two plans", err) < 0)
            return -1;
    }
    return 0;
}

/* Two plans of different shapes alive, launched at once on two streams; one outlives the other. */
static int two_plans(struct subject *s, const char *other, struct err *err)
{
    struct subject b = {.rig = NULL};
    int rc = other ? subject_open(&b, s->rig, s->row, other, NULL, err) : 1;

    if (rc == 0)
        rc = subject_run(&b, err);
    if (rc == 0)
        rc = take(&b, err);
    if (rc == 0)
        rc = both_at_once(s, &b, err);
    subject_close(&b);
    if (rc == 0)
        rc = subject_run(s, err);
    return rc == 0 ? subject_hold(s, "after the other plan was freed", err) : rc;
}

/* Section 5.3: the graphs of two problems replayed in turn on one workspace, which holds what the
 * other left there, or 0xa5. */
static int shared_workspace(struct subject *s, const char *other, struct err *err)
{
    static const int order[] = {0, 1, 1, 0, 0, 1, 0};
    struct subject b = {.rig = NULL}, *both[2] = {s, &b};
    int rc = other ? subject_open(&b, s->rig, s->row, other, &s->rp.workspace, err) : 1;

    if (rc == 0)
        rc = first_captured(&b, NULL, err);
    for (size_t i = 0; rc == 0 && i < 2 * sizeof(order) / sizeof(order[0]); i++) {
        struct subject *one = both[order[i / 2]];

        rc = subject_poison(one, i % 2 ? 0xa5 : SUBJECT_KEEP, err);
        if (rc == 0)
            rc = rig_run_graph(s->rig, one->graph, err);
        if (rc == 0)
            rc = subject_hold(
                one, one == s ? "the first of two graphs" : "the second of two graphs", err);
    }
    subject_close(&b);
    return rc;
}

static const struct scenario {
    const char *name;
    int (*play)(struct subject *s, const char *other, struct err *err);
} scenarios[] = {
    {"first_captured", first_captured},
    {"replayed", replayed},
    {"repeated", repeated},
    {"busy", beside_busy_stream},
    {"thousand_times", thousand_times},
    {"two_plans", two_plans},
    {"shared_workspace", shared_workspace},
};

#define SCENARIOS_NR (sizeof(scenarios) / sizeof(scenarios[0]))

/* ---- all of them ----------------------------------------------------------------------------- */

/* The first scenario makes what the others hold on to. */
static void play_all(struct dsa *d, struct subject *s, const struct dsa_case *dc)
{
    for (size_t i = 0; i < SCENARIOS_NR; i++) {
        struct err err = ERR_INIT;
        char name[160];
        int rc;

        snprintf(name, sizeof(name), "%s/%s %s %s", s->row->op, s->row->name, dc->name,
                 scenarios[i].name);
        if (i > 0 && !rig_wants(&d->rig, name))
            continue;
        rc = scenarios[i].play(s, dc->other, &err);
        if (rc <= 0)
            tap_ok(&d->rig.tap, rc == 0, "%s%s%s", name, rc == 0 ? "" : ": ",
                   rc == 0 ? "" : err.text);
        err_clear(&err);
        if (i == 0 && rc < 0)
            return;
    }
}

static bool wants_case(const struct dsa *d, const struct sab_kernel *row, const struct dsa_case *dc)
{
    char name[160];

    for (size_t i = 0; i < SCENARIOS_NR; i++) {
        snprintf(name, sizeof(name), "%s/%s %s %s", row->op, row->name, dc->name,
                 scenarios[i].name);
        if (rig_wants(&d->rig, name))
            return true;
    }
    return false;
}

static void run_case(struct dsa *d, const struct sab_kernel *row, size_t at)
{
    const struct dsa_case *dc = &d->cases[at];
    struct subject s;
    struct err err = ERR_INIT;
    int rc;

    if (strcmp(row->op, dc->op) != 0 || !wants_case(d, row, dc))
        return;
    rc = subject_open(&s, &d->rig, row, dc->axes, NULL, &err);
    if (rc == 0) {
        d->served[at]++;
        play_all(d, &s, dc);
    } else if (rc > 0) {
        printf("# %s/%s %s: not served: %s\n", row->op, row->name, dc->name, err.text);
        d->rig.skipped++;
    } else {
        tap_ok(&d->rig.tap, false, "%s/%s %s: %s", row->op, row->name, dc->name, err.text);
    }
    subject_close(&s);
    err_clear(&err);
}

static void expect_served(struct dsa *d)
{
    for (size_t i = 0; i < d->cases_nr; i++)
        tap_ok(&d->rig.tap, d->served[i] > 0, "%s %s: served by %d kernels", d->cases[i].op,
               d->cases[i].name, d->served[i]);
}

int main(int argc, char **argv)
{
    static struct dsa d;
    const struct sab_kernel *row;
    size_t at = 0;
    int rc = rig_open(&d.rig, argc, argv);

    if (rc != 0)
        return rc;
    d.cases = d.rig.quick ? quick_cases : cases;
    d.cases_nr = d.rig.quick ? QUICK_CASES_NR : CASES_NR;
    while ((row = rig_kernel(&d.rig, NULL, &at))) {
        for (size_t i = 0; i < d.cases_nr; i++)
            run_case(&d, row, i);
        if (strncmp(row->op, "dsa_", 4) == 0)
            refuse_all(&d.rig, row);
    }
    if (!d.rig.only)
        expect_served(&d);
    return rig_close(&d.rig);
}
