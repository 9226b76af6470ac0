/*
 * check_shrink.c - the smallest case that still fails: greedy, one axis after the other, until no
 * axis gives any more or time is up. A try is the one check in a process of its own.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "axis.h"
#include "case_build.h"
#include "check_session.h"
#include "repro.h"

#define SHRINK_S     120.0
#define SHRINK_TRIES 100
/* A try of what hung takes this long. What did not hang may take longer on a busy machine, and is
 * no smaller case where it does. */
#define TRY_HUNG_S 4.0
#define TRY_S      30.0

struct shrink {
    struct session *s;
    struct check_row *row;
    struct op_case now; /* of the smallest case so far, as asked */
    uint64_t changed;   /* bit i: axis i is another than the sweep's */
    double end_s;
    int tries;
    bool served; /* the last try was one that the kernel serves */
};

/* A case to try, as a configuration. */
struct candidate {
    struct ini ini;
    struct plan plan;
    struct strbuf text, flags;
    char hash[65];
    const struct plan_case *item;
};

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void candidate_init(struct candidate *c)
{
    memset(c, 0, sizeof(*c));
    ini_init(&c->ini);
    plan_init(&c->plan);
    strbuf_init(&c->text);
    strbuf_init(&c->flags);
}

static void candidate_release(struct candidate *c)
{
    plan_release(&c->plan);
    ini_release(&c->ini);
    strbuf_release(&c->text);
    strbuf_release(&c->flags);
}

/* ---- the command ---- */

int check_repro(const struct session *s, const struct check_row *row, const char *flags,
                const char *case_id, char **out, struct err *err)
{
    const struct session_request *r = s->request;
    struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, "bench check --config ");
    repro_add_word(&sb, r->config);
    for (size_t i = 0; i < r->overrides_nr; i++) {
        strbuf_addf(&sb, " --%s ", r->override[i].key);
        repro_add_word(&sb, r->override[i].value);
    }
    if (flags)
        strbuf_addstr(&sb, flags);
    strbuf_addstr(&sb, " --arm ");
    repro_add_word(&sb, s->plan.arm[row->arm->plan_arm].name);
    strbuf_addstr(&sb, " --only ");
    repro_add_word(&sb, case_id);
    strbuf_addf(&sb, " --check %s", row->check->name);
    free(*out);
    *out = strbuf_detach(&sb);
    return *out ? 0 : err_memory(err);
}

/* ---- a case by flags ---- */

static bool same_value(const struct op_model *op, size_t axis, const struct op_case *a,
                       const struct op_case *b)
{
    return axis_value_equal(&op->axes[axis], &a->axis[axis], &b->axis[axis]);
}

/* The one case of the sweep that has these values; NULL: none, or several. */
static const struct plan_case *find_case(const struct shrink *sh, const struct plan *plan,
                                         const struct op_case *want, uint64_t fixed)
{
    const struct op_model *op = want->op;
    const struct plan_case *found = NULL;

    for (size_t i = 0; i < plan->nr; i++) {
        const struct plan_case *item = &plan->item[i];
        bool same = !strcmp(item->sweep, sh->row->item->sweep) && item->asked.op == op;

        for (size_t a = 0; same && a < op->axes_nr; a++)
            if (fixed >> a & 1)
                same = same_value(op, a, &item->asked, want);
        if (same && found)
            return NULL;
        if (same)
            found = item;
    }
    return found;
}

/* The configuration of the run with these axes of the sweep fixed by flags. False where there is no
 * such case. */
static bool candidate_make(struct candidate *c, const struct shrink *sh, const struct op_case *want,
                           uint64_t pinned, uint64_t fixed)
{
    const struct session *s = sh->s;
    const struct op_model *op = want->op;
    char key[256], value[128];

    if (ini_read_text(&c->ini, s->request->config, s->config_text.buf, s->config_text.len, NULL))
        return false;
    for (size_t a = 0; a < op->axes_nr; a++) {
        if (!(pinned >> a & 1))
            continue;
        (void)snprintf(key, sizeof(key), "sweep.%s.%s", sh->row->item->sweep, op->axes[a].name);
        op_case_text(want, a, value, sizeof(value));
        if (plan_override(&c->ini, key, value, NULL))
            return false;
        strbuf_addf(&c->flags, " --%s=", key);
        repro_add_word(&c->flags, value);
    }
    if (plan_read(&c->plan, &c->ini, NULL) || plan_hash(&c->plan, c->hash, NULL))
        return false;
    c->item = find_case(sh, &c->plan, want, fixed);
    ini_write(&c->ini, &c->text);
    return c->item && !c->text.oom && !c->flags.oom;
}

/* Whether the candidate fails as the row did. */
static int candidate_fails(const struct candidate *c, struct shrink *sh, struct check_result *res,
                           struct err *err)
{
    struct check_case *item = calloc(1, sizeof(*item));
    const int check = check_find(sh->row->check->name);
    struct check_task task = {.s = sh->s,
                              .arm = sh->row->arm,
                              .item = item,
                              .nr = 1,
                              .config_text = c->text.buf,
                              .plan_hash = c->hash,
                              .hazards = sh->row->hazards,
                              .limit_s = sh->row->res.end == CHECK_TIMED_OUT ? TRY_HUNG_S : TRY_S};
    int ret;

    if (!item)
        return err_memory(err);
    item->id = c->item->id;
    item->wanted[check] = true;
    ret = check_task_run(&task, err);
    *res = item->result[check];
    sh->served = res->status != CHECK_NA;
    free(item);
    if (ret || sh->s->stopped)
        return ret;
    return res->status == CHECK_FAIL && res->end == sh->row->res.end;
}

static int accept(struct shrink *sh, const struct candidate *c, const struct check_result *res,
                  uint64_t changed, struct err *err)
{
    char *id = strdup(c->item->id);

    if (!id)
        return err_memory(err);
    sh->now = c->item->asked;
    sh->changed = changed;
    free(sh->row->small);
    sh->row->small = id;
    sh->row->small_res = *res;
    return check_repro(sh->s, sh->row, c->flags.buf, id, &sh->row->small_repro, err);
}

/* Tries one axis at another value. 1: that fails too, and is where to go on from. */
static int try_value(struct shrink *sh, size_t axis, struct axis_value value, struct err *err)
{
    const uint64_t bit = UINT64_C(1) << axis;
    const int rival = case_rival(sh->now.op, axis);
    uint64_t given = sh->row->item->given | sh->changed, changed = sh->changed | bit;
    struct op_case want = sh->now;
    struct check_result res;
    struct candidate c;
    int ret = 0;

    if (now_s() > sh->end_s || sh->tries >= SHRINK_TRIES || sh->s->stopped)
        return 0;
    want.axis[axis] = value;
    if (rival >= 0) {
        given &= ~(UINT64_C(1) << rival);
        changed &= ~(UINT64_C(1) << rival);
    }
    /* Where other cases of the sweep would become impossible, everything is fixed. */
    for (int all = 0; all < 2; all++) {
        candidate_init(&c);
        if (candidate_make(&c, sh, &want, all ? given | changed : changed, given | changed)) {
            sh->tries++;
            ret = candidate_fails(&c, sh, &res, err);
            if (ret > 0 && accept(sh, &c, &res, changed, err))
                ret = -1;
            all = 2;
        }
        candidate_release(&c);
    }
    return ret;
}

static int try_int(struct shrink *sh, size_t axis, int64_t n, struct err *err)
{
    return try_value(sh, axis, (struct axis_value){.i = n, .f = (double)n}, err);
}

/* ---- one axis ---- */

/* The least value, else ever smaller steps down from the present one. Of two axes that say the same
 * thing, 0 hands over to the other one. */
static int reduce_int(struct shrink *sh, size_t axis, struct err *err)
{
    const struct axis_spec *spec = &sh->now.op->axes[axis];
    const bool rivals = case_rival(sh->now.op, axis) >= 0;
    const int64_t least = (int64_t)fmax(spec->min, rivals ? 1 : 0);
    const int64_t before = sh->now.axis[axis].i;
    int ret;

    if (before == 0 && rivals)
        return try_int(sh, axis, 1, err);
    if (before <= least)
        return 0;
    ret = try_int(sh, axis, least, err);
    if (ret)
        return ret;
    for (int64_t step = (before - least) / 2; ret >= 0 && step > 0;) {
        const int64_t n = sh->now.axis[axis].i - step;

        ret = n > least ? try_int(sh, axis, n, err) : 0;
        if (ret <= 0)
            step /= 2;
        /* A width that no kernel serves, say: other steps would find the same. */
        if (!ret && !sh->served)
            break;
    }
    return ret < 0 ? -1 : sh->now.axis[axis].i < before;
}

/* The default, else the first word of the list: both are plain. */
static int reduce_word(struct shrink *sh, size_t axis, struct err *err)
{
    const struct axis_spec *spec = &sh->now.op->axes[axis];
    const int64_t before = sh->now.axis[axis].i;
    struct axis_value value = {0};
    int ret = 0;

    if (!axis_value_read(spec, spec->initial, &value, NULL) && value.i == before)
        return 0;
    if (value.i != before)
        ret = try_value(sh, axis, value, err);
    if (!ret && value.i != 0 && before != 0)
        ret = try_value(sh, axis, (struct axis_value){0}, err);
    return ret;
}

/* An axis that nobody set and that follows another one goes with it. */
static bool is_follower(const struct shrink *sh, size_t axis)
{
    const char *initial = sh->now.op->axes[axis].initial;

    return !((sh->row->item->given | sh->changed) >> axis & 1) &&
           op_axis_find(sh->now.op, initial) >= 0;
}

static int one_sweep(struct shrink *sh, struct err *err)
{
    int progress = 0;

    for (size_t a = 0; a < sh->now.op->axes_nr; a++) {
        const enum axis_kind kind = sh->now.op->axes[a].kind;
        int ret = 0;

        if (is_follower(sh, a) || kind == AXIS_REAL)
            continue;
        ret = kind == AXIS_INT ? reduce_int(sh, a, err) : reduce_word(sh, a, err);
        if (ret < 0)
            return -1;
        progress |= ret;
    }
    return progress;
}

int check_shrink(struct session *s, struct check_row *row, struct err *err)
{
    struct shrink sh = {
        .s = s, .row = row, .now = row->item->asked, .end_s = now_s() + SHRINK_S, .served = true};
    int ret;

    row->small = strdup(row->item->id);
    if (!row->small || check_repro(s, row, NULL, row->small, &row->small_repro, err))
        return row->small ? -1 : err_memory(err);
    row->small_res = row->res;
    do
        ret = one_sweep(&sh, err);
    while (ret > 0 && now_s() < sh.end_s && !s->stopped);
    return ret < 0 ? -1 : 0;
}
