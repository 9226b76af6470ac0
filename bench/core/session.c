#include "session.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file.h"

/* Until `bench aa` has measured it, identical kernels on device cpu are taken to differ by so much.
 */
#define CPU_NOISE_FLOOR 0.03

void session_init(struct session *s)
{
    memset(s, 0, sizeof(*s));
    ini_init(&s->ini);
    plan_init(&s->plan);
    arm_set_init(&s->arms);
    store_init(&s->store);
    strbuf_init(&s->config_text);
}

static void scratch_remove(const char *dir)
{
    DIR *d = *dir ? opendir(dir) : NULL;
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d) {
        closedir(d);
        rmdir(dir);
    }
}

void session_release(struct session *s)
{
    scratch_remove(s->scratch);
    free(s->used_s);
    free(s->finished);
    free(s->sealed);
    free(s->lane_of);
    text_list_release(&s->axes);
    strbuf_release(&s->config_text);
    store_release(&s->store);
    arm_set_release(&s->arms);
    plan_release(&s->plan);
    ini_release(&s->ini);
    session_init(s);
}

void session_note(const struct session *s, const char *format, ...)
{
    char text[2048];
    va_list args;
    if (!s->request->events.note)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    s->request->events.note(s->request->events.ctx, text);
}

static void note_lines(const struct session *s, const char *lines)
{
    while (*lines) {
        const char *end = strchrnul(lines, '\n');
        session_note(s, "%.*s", (int)(end - lines), lines);
        lines = *end ? end + 1 : end;
    }
}

/* <prefix>/bin/bench has its kernels in <prefix>/lib. */
static void find_own_library(struct session *s)
{
    struct strbuf sb = STRBUF_INIT;
    char real[PATH_MAX];

    file_add_dir(&sb, s->request->exe);
    strbuf_addstr(&sb, "/../lib/libsab_kernels.so");
    if (!sb.oom && realpath(sb.buf, real))
        snprintf(s->own_library, sizeof(s->own_library), "%s", real);
    strbuf_release(&sb);
}

/* Arms that run them have the hash already. */
static int hash_own_library(struct session *s, struct err *err)
{
    for (size_t i = 0; i < s->arms.libraries_nr; i++)
        if (!strcmp(s->arms.library[i]->path, s->own_library)) {
            memcpy(s->own_sha256, s->arms.library[i]->sha256, sizeof(s->own_sha256));
            return 0;
        }
    return *s->own_library ? file_sha256(s->own_library, s->own_sha256, err) : 0;
}

static int read_plan(struct session *s, struct err *err)
{
    const struct session_request *r = s->request;

    if (ini_read_file(&s->ini, r->config, err))
        return -1;
    for (size_t i = 0; i < r->overrides_nr; i++)
        if (plan_override(&s->ini, r->override[i].key, r->override[i].value, err))
            return -1;
    if (plan_read(&s->plan, &s->ini, err) || plan_hash(&s->plan, s->plan_hash, err) ||
        arms_axis_names(&s->plan, &s->axes, err) ||
        plan_select(&s->plan, r->only, r->only_nr, r->arms, r->arms_nr, err))
        return -1;
    ini_write(&s->ini, &s->config_text);
    return s->config_text.oom ? err_memory(err) : 0;
}

/* The library that arms without one of their own run: BASE of `bench ab`, or that of this build. */
static const char *serving_library(const struct session *s)
{
    return s->request->variants_nr ? s->request->variants[0].library : s->own_library;
}

static void fill_settings(struct session *s)
{
    const struct plan_settings *set = &s->plan.set;
    struct summary_settings *out = &s->store.set;
    out->delta = set->delta;
    out->noise_floor = set->noise_floor >= 0       ? set->noise_floor
                       : s->kind == SAB_DEVICE_CPU ? CPU_NOISE_FLOOR
                                                   : 0;
    out->gate_slower = set->gate_slower;
    out->rounds_named = set->rounds_named;
    out->gate_unsure_fails = set->gate_unsure_fails;
}

int session_open(struct session *s, const struct session_request *request, struct err *err)
{
    s->request = request;
    find_own_library(s);
    if (read_plan(s, err) || session_choose_device(s, serving_library(s), err) ||
        arm_set_resolve(&s->arms, &s->plan, s->kind, s->own_library, request->variants,
                        request->variants_nr, err) ||
        hash_own_library(s, err))
        return -1;
    note_lines(s, s->plan.notes.buf);
    note_lines(s, s->arms.notes.buf);
    fill_settings(s);
    for (size_t i = 0; i < s->plan.nr; i++)
        if (text_list_add(&s->store.case_order, s->plan.item[i].id, err))
            return -1;
    for (size_t i = 0; i < s->arms.nr; i++)
        if (text_list_add(&s->store.arm_order, s->arms.item[i].label, err))
            return -1;
    s->used_s = calloc(s->plan.nr + 1, sizeof(*s->used_s));
    s->finished = calloc(s->plan.nr + 1, sizeof(*s->finished));
    s->sealed = calloc(s->plan.nr + 1, sizeof(*s->sealed));
    s->lane_of = calloc(s->plan.nr + 1, sizeof(*s->lane_of));
    return s->used_s && s->finished && s->sealed && s->lane_of ? 0 : err_memory(err);
}

static int copy_text(char **out, const char *text, struct err *err)
{
    *out = strdup(text);
    return *out ? 0 : err_memory(err);
}

static enum device_timer timer_for(const struct session *s, enum job_mode mode)
{
    if (s->request->mode == JOB_CHECK || s->request->mode == JOB_PROFILE || mode == JOB_CHECK)
        return DEVICE_TIMER_NONE;
    if (s->plan.set.timer == TIMER_CUPTI)
        return DEVICE_TIMER_CUPTI;
    if (s->plan.set.timer == TIMER_MONOTONIC)
        return DEVICE_TIMER_MONOTONIC;
    return s->kind == SAB_DEVICE_CUDA ? DEVICE_TIMER_CUPTI : DEVICE_TIMER_MONOTONIC;
}

/* Everything of a job but its cases. */
int session_job(struct session *s, struct job *job, enum job_mode mode, struct err *err)
{
    const char *run_id =
        s->store.run ? json_string_value(json_object_get(s->store.run, "run_id")) : NULL;

    job_init(job);
    job->mode = mode;
    job->kind = s->kind;
    job->threads = s->plan.set.threads;
    job->timer = timer_for(s, mode);
    job->look = mode == JOB_INFO && s->request->mode == JOB_RUN;
    if (copy_text(&job->run_id, run_id ? run_id : "", err) ||
        copy_text(&job->config_name, s->request->config, err) ||
        copy_text(&job->config_text, s->config_text.buf, err) ||
        copy_text(&job->plan_hash, s->plan_hash, err) ||
        copy_text(&job->scratch, s->scratch, err) ||
        copy_text(&job->own_library, s->own_library, err) ||
        copy_text(&job->own_sha256, s->own_sha256, err))
        return -1;
    job->arm = calloc(s->arms.nr + 1, sizeof(*job->arm));
    if (!job->arm)
        return err_memory(err);
    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        struct job_arm *a = &job->arm[job->arms_nr++];
        if (copy_text(&a->label, e->label, err) || copy_text(&a->library, arm_entry_file(e), err) ||
            copy_text(&a->origin, file_below(e->origin), err) ||
            copy_text(&a->sha256, e->lib->sha256, err) ||
            copy_text(&a->arm, s->plan.arm[e->plan_arm].name, err))
            return -1;
        a->duplicate = e->duplicate;
    }
    return 0;
}

/* ---- results folder ---- */

static void default_out(const struct session *s, struct strbuf *sb)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    strbuf_addf(sb, "results/%s-%s-%s", s->plan.config_name, device_kind_name(s->kind), stamp);
}

static int scratch_make(struct session *s)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(s->scratch, sizeof(s->scratch), "%s/sab-scratch-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(s->scratch))
        s->scratch[0] = '\0'; /* later workers then compute the oracle again */
    return 0;
}

int session_store(struct session *s, struct err *err)
{
    const struct session_request *r = s->request;
    struct strbuf dir = STRBUF_INIT;
    int ret = -1;

    scratch_make(s);
    if (r->in_memory || (r->mode == JOB_CHECK && !r->out))
        return session_run_json(s, "running", err);
    if (r->out)
        strbuf_addstr(&dir, r->out);
    else if (s->plan.set.out)
        strbuf_addstr(&dir, s->plan.set.out);
    else
        default_out(s, &dir);
    /* One that was cut off before it had written anything down is begun. */
    bool blank = r->resume && store_is_blank(dir.buf);
    if (r->resume && !r->out && !s->plan.set.out) {
        err_set(err, ERR_CONFIG, "--resume needs --out: the results folder to go on with");
        goto out;
    }
    if (r->resume && file_is_dir(dir.buf) && !blank
            ? session_resume(s, dir.buf, err)
            : store_create(&s->store, dir.buf, r->force || blank, err))
        goto out;
    ret = session_run_json(s, "running", err) || store_write(&s->store, true, err) ? -1 : 0;
out:
    strbuf_release(&dir);
    return ret;
}
