#include "job.h"

#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"info", "run", "check", "profile"};
static const char *const answer_names[] = {"info", "case",  "phase", "done",
                                           "note", "fatal", "bye",   "check"};

const char *device_kind_name(enum sab_device kind)
{
    return kind == SAB_DEVICE_CUDA ? "cuda" : "cpu";
}

const char *device_timer_name(enum device_timer used)
{
    static const char *const names[] = {"none", "cupti", "monotonic"};
    return names[used];
}

const char *plan_cache_name(enum plan_cache cache)
{
    static const char *const names[] = {"cold", "dirty", "warm"};
    return names[cache];
}

const char *plan_pace_name(enum plan_pace pace)
{
    return pace == PACE_SUSTAINED ? "sustained" : "burst";
}

const char *plan_role_name(enum plan_role role)
{
    static const char *const names[] = {"candidate", "baseline", "context"};
    return names[role];
}

void job_init(struct job *job)
{
    memset(job, 0, sizeof(*job));
}

void job_release(struct job *job)
{
    free(job->run_id);
    free(job->config_name);
    free(job->config_text);
    free(job->plan_hash);
    free(job->scratch);
    free(job->own_library);
    free(job->own_sha256);
    for (size_t i = 0; i < job->arms_nr; i++) {
        free(job->arm[i].label);
        free(job->arm[i].library);
        free(job->arm[i].origin);
        free(job->arm[i].sha256);
        free(job->arm[i].arm);
    }
    free(job->arm);
    for (size_t i = 0; i < job->nr; i++) {
        free(job->item[i].id);
        free(job->item[i].race);
        free(job->item[i].checks);
    }
    free(job->item);
    job_init(job);
}

static json_t *arms_to_json(const struct job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < job->arms_nr; i++) {
        const struct job_arm *a = &job->arm[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "label", a->label,
                                              "library", a->library, "origin", a->origin, "sha256",
                                              a->sha256, "arm", a->arm, "duplicate", a->duplicate));
    }
    return list;
}

static json_t *cases_to_json(const struct job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < job->nr; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i, s:f, s:s*}", "id", job->item[i].id, "race",
                            job->item[i].race, "rounds", job->item[i].rounds, "budget_s",
                            job->item[i].budget_s, "checks", job->item[i].checks));
    return list;
}

json_t *job_to_json(const struct job *job)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:b, s:o, s:o}",
                     "mode", mode_names[job->mode], "run_id", job->run_id, "config_name",
                     job->config_name, "config_text", job->config_text, "plan_hash", job->plan_hash,
                     "scratch", job->scratch, "own_library", job->own_library, "own_sha256",
                     job->own_sha256, "kind", (int)job->kind, "threads", job->threads, "timer",
                     (int)job->timer, "process", job->process, "look", job->look, "arms",
                     arms_to_json(job), "cases", cases_to_json(job));
}

static int take(char **out, const char *value, struct err *err)
{
    *out = strdup(value);
    return *out ? 0 : err_memory(err);
}

static int arms_from_json(struct job *job, const json_t *list, struct err *err)
{
    size_t nr = json_array_size(list);
    job->arm = calloc(nr + 1, sizeof(*job->arm));
    if (!job->arm)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++) {
        struct job_arm *a = &job->arm[job->arms_nr++];
        const char *label, *library, *origin, *sha256, *arm;
        int duplicate;
        if (json_unpack(json_array_get(list, i), "{s:s, s:s, s:s, s:s, s:s, s:b}", "label", &label,
                        "library", &library, "origin", &origin, "sha256", &sha256, "arm", &arm,
                        "duplicate", &duplicate))
            return err_set(err, ERR_BUG, "a job's arm %zu cannot be read", i);
        a->duplicate = duplicate;
        if (take(&a->label, label, err) || take(&a->library, library, err) ||
            take(&a->origin, origin, err) || take(&a->sha256, sha256, err) ||
            take(&a->arm, arm, err))
            return -1;
    }
    return 0;
}

static int cases_from_json(struct job *job, const json_t *list, struct err *err)
{
    size_t nr = json_array_size(list);
    job->item = calloc(nr + 1, sizeof(*job->item));
    if (!job->item)
        return err_memory(err);
    for (size_t i = 0; i < nr; i++) {
        struct job_case *c = &job->item[job->nr++];
        const char *id, *race, *checks = NULL;
        if (json_unpack(json_array_get(list, i), "{s:s, s:s, s:i, s:F, s?s}", "id", &id, "race",
                        &race, "rounds", &c->rounds, "budget_s", &c->budget_s, "checks", &checks))
            return err_set(err, ERR_BUG, "a job's case %zu cannot be read", i);
        if (take(&c->id, id, err) || take(&c->race, race, err) ||
            (checks && take(&c->checks, checks, err)))
            return -1;
    }
    return 0;
}

int job_from_json(struct job *job, const json_t *json, struct err *err)
{
    const char *mode, *run_id, *name, *text, *hash, *scratch, *own, *own_sha256;
    json_t *arms, *cases;
    int kind, timer, look;

    if (json_unpack((json_t *)json,
                    "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:b, s:o, s:o}",
                    "mode", &mode, "run_id", &run_id, "config_name", &name, "config_text", &text,
                    "plan_hash", &hash, "scratch", &scratch, "own_library", &own, "own_sha256",
                    &own_sha256, "kind", &kind, "threads", &job->threads, "timer", &timer,
                    "process", &job->process, "look", &look, "arms", &arms, "cases", &cases))
        return err_set(err, ERR_BUG, "the job cannot be read");
    job->kind = (enum sab_device)kind;
    job->timer = (enum device_timer)timer;
    job->look = look;
    for (size_t i = 0; i < sizeof(mode_names) / sizeof(mode_names[0]); i++)
        if (!strcmp(mode, mode_names[i]))
            job->mode = (enum job_mode)i;
    if (take(&job->run_id, run_id, err) || take(&job->config_name, name, err) ||
        take(&job->config_text, text, err) || take(&job->plan_hash, hash, err) ||
        take(&job->scratch, scratch, err) || take(&job->own_library, own, err) ||
        take(&job->own_sha256, own_sha256, err))
        return -1;
    if (arms_from_json(job, arms, err))
        return -1;
    return cases_from_json(job, cases, err);
}

/* device_info: a table, so that writer and reader cannot drift apart. */
enum info_kind { INFO_TEXT, INFO_INT, INFO_U64, INFO_REAL };
static const struct {
    const char *name;
    enum info_kind kind;
    size_t offset, size;
} info_fields[] = {
#define FIELD(kind, name)                                                                          \
    {                                                                                              \
#        name, kind, offsetof(struct device_info, name), sizeof(((struct device_info *)0)->name)   \
    }
    FIELD(INFO_TEXT, name),
    FIELD(INFO_TEXT, uuid),
    FIELD(INFO_TEXT, pci),
    FIELD(INFO_INT, arch),
    FIELD(INFO_INT, multiprocessors),
    FIELD(INFO_INT, threads),
    FIELD(INFO_U64, memory_bytes),
    FIELD(INFO_U64, memory_free_bytes),
    FIELD(INFO_U64, cache_bytes),
    FIELD(INFO_TEXT, driver),
    FIELD(INFO_TEXT, cuda_driver),
    FIELD(INFO_TEXT, cuda_runtime),
    FIELD(INFO_TEXT, cupti),
    FIELD(INFO_REAL, tick_ns),
    FIELD(INFO_REAL, clock_max_mhz),
    FIELD(INFO_REAL, power_limit_w),
    FIELD(INFO_REAL, power_default_w),
    FIELD(INFO_REAL, sm_mhz_lo),
    FIELD(INFO_REAL, sm_mhz_hi),
    FIELD(INFO_U64, throttle_bits),
    FIELD(INFO_INT, processes),
    FIELD(INFO_INT, ecc),
    FIELD(INFO_INT, persistence),
    FIELD(INFO_INT, mig),
    FIELD(INFO_INT, display),
    FIELD(INFO_TEXT, scrub),
#undef FIELD
};

json_t *device_info_to_json(const struct device_info *info)
{
    json_t *j = json_pack("{s:s, s:s}", "device", device_kind_name(info->kind), "timer",
                          device_timer_name(info->timer));
    for (size_t i = 0; j && i < sizeof(info_fields) / sizeof(info_fields[0]); i++) {
        const char *at = (const char *)info + info_fields[i].offset;
        json_t *v = NULL;
        switch (info_fields[i].kind) {
        case INFO_TEXT:
            v = json_string(at);
            break;
        case INFO_INT:
            v = json_integer(*(const int *)at);
            break;
        case INFO_U64:
            v = json_integer((json_int_t) * (const uint64_t *)at);
            break;
        case INFO_REAL:
            v = json_real(*(const double *)at);
            break;
        }
        if (v)
            json_object_set_new(j, info_fields[i].name, v);
    }
    return j;
}

int device_info_from_json(struct device_info *info, const json_t *json, struct err *err)
{
    const char *kind = json_string_value(json_object_get(json, "device"));
    const char *timer = json_string_value(json_object_get(json, "timer"));

    memset(info, 0, sizeof(*info));
    if (!kind || !timer)
        return err_set(err, ERR_BUG, "a device description cannot be read");
    info->kind = strcmp(kind, "cuda") ? SAB_DEVICE_CPU : SAB_DEVICE_CUDA;
    for (int t = DEVICE_TIMER_NONE; t <= DEVICE_TIMER_MONOTONIC; t++)
        if (!strcmp(timer, device_timer_name((enum device_timer)t)))
            info->timer = (enum device_timer)t;
    for (size_t i = 0; i < sizeof(info_fields) / sizeof(info_fields[0]); i++) {
        const json_t *v = json_object_get(json, info_fields[i].name);
        char *at = (char *)info + info_fields[i].offset;
        if (info_fields[i].kind == INFO_TEXT)
            snprintf(at, info_fields[i].size, "%s", json_is_string(v) ? json_string_value(v) : "");
        else if (info_fields[i].kind == INFO_INT)
            *(int *)at = (int)json_integer_value(v);
        else if (info_fields[i].kind == INFO_U64)
            *(uint64_t *)at = (uint64_t)json_integer_value(v);
        else
            *(double *)at = json_number_value(v);
    }
    return 0;
}

void answer_init(struct answer *a)
{
    memset(a, 0, sizeof(*a));
}

void answer_release(struct answer *a)
{
    free(a->case_id);
    free(a->text);
    free(a->rows);
    free(a->samples);
    answer_init(a);
}

int answer_write(FILE *out, const struct answer *a, struct err *err)
{
    json_t *j =
        json_pack("{s:s, s:s*, s:s*, s:s*, s:s*, s:f, s:f, s:f, s:i, s:i}", "kind",
                  answer_names[a->kind], "case", a->case_id, "text", a->text, "rows", a->rows,
                  "samples", a->samples, "timeout_s", a->timeout_s, "wall_s", a->wall_s, "check_s",
                  a->check_s, "error_kind", (int)a->error_kind, "cut", a->cut);
    if (j && a->kind == ANSWER_INFO)
        json_object_set_new(j, "info", device_info_to_json(&a->info));
    if (!j)
        return err_set(err, ERR_BUG, "an answer cannot be written as JSON (invalid UTF-8?)");
    int bad = json_dumpf(j, out, JSON_COMPACT) || fputc('\n', out) == EOF || fflush(out);
    json_decref(j);
    return bad ? err_errno(err, ERR_CRASH, "cannot write to the parent process") : 0;
}

int answer_read(struct answer *a, const char *line, size_t len, struct err *err)
{
    json_error_t json_err;
    json_t *j = json_loadb(line, len, 0, &json_err);
    const char *kind = NULL, *case_id = NULL, *text = NULL, *rows = NULL, *samples = NULL;
    int error_kind = 0, ret = -1;
    size_t k;

    if (!j)
        return err_set(err, ERR_CRASH, "a worker wrote something that is no answer: %s",
                       json_err.text);
    if (json_unpack(j, "{s:s, s?s, s?s, s?s, s?s, s:F, s:F, s:F, s:i, s:i}", "kind", &kind, "case",
                    &case_id, "text", &text, "rows", &rows, "samples", &samples, "timeout_s",
                    &a->timeout_s, "wall_s", &a->wall_s, "check_s", &a->check_s, "error_kind",
                    &error_kind, "cut", &a->cut)) {
        err_set(err, ERR_CRASH, "a worker's answer lacks a field");
        goto out;
    }
    for (k = 0; k < sizeof(answer_names) / sizeof(answer_names[0]); k++)
        if (!strcmp(answer_names[k], kind))
            break;
    if (k == sizeof(answer_names) / sizeof(answer_names[0])) {
        err_set(err, ERR_CRASH, "a worker's answer is of unknown kind '%s'", kind);
        goto out;
    }
    a->kind = (enum answer_kind)k;
    a->error_kind = (enum err_kind)error_kind;
    if (row_set(&a->case_id, case_id, err) || row_set(&a->text, text, err) ||
        row_set(&a->rows, rows, err) || row_set(&a->samples, samples, err))
        goto out;
    if (a->kind == ANSWER_INFO && device_info_from_json(&a->info, json_object_get(j, "info"), err))
        goto out;
    ret = 0;
out:
    json_decref(j);
    return ret;
}
