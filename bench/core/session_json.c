/*
 * session_json.c - run.json: what ran, where, and how it stands; and rows of cases that failed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "ceilings.h"
#include "file.h"
#include "sab_build.h"
#include "session.h"

static void set_text(json_t *o, const char *key, const char *value)
{
    json_t *v = json_string(value ? value : "");
    json_object_set_new(o, key, v ? v : json_string("(not UTF-8)"));
}

static void set_real(json_t *o, const char *key, double value)
{
    if (isfinite(value))
        json_object_set_new(o, key, json_real(value));
    else
        json_object_del(o, key);
}

static void set_time(json_t *o, const char *key)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
    set_text(o, key, stamp);
}

static json_t *command_json(const struct session *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->request->argc; i++) {
        json_t *v = json_string(s->request->argv[i]);
        json_array_append_new(list, v ? v : json_string("(not UTF-8)"));
    }
    return list;
}

static json_t *host_json(void)
{
    struct utsname u;
    json_t *o = json_object();
    struct sysinfo si;

    if (!uname(&u)) {
        set_text(o, "kernel", u.release);
        set_text(o, "machine", u.machine);
    }
    json_object_set_new(o, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    if (!sysinfo(&si))
        json_object_set_new(o, "memory_bytes",
                            json_integer((json_int_t)si.totalram * (json_int_t)si.mem_unit));
    return o;
}

const char *session_describe(void)
{
    return SAB_BUILD_DESCRIBE;
}

static json_t *bench_json(void)
{
    json_t *o = json_object();
    set_text(o, "version", SAB_VERSION);
    set_text(o, "describe", session_describe());
    set_text(o, "build_type", SAB_BUILD_TYPE);
    set_text(o, "compiler", "gcc " __VERSION__);
    set_text(o, "cuda", SAB_BUILD_TOOLKIT);
    return o;
}

static json_t *libraries_json(const struct session *s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < s->arms.libraries_nr; i++) {
        const struct library *lib = s->arms.library[i];
        json_t *o = json_object();
        set_text(o, "path", file_below(lib->path));
        set_text(o, "sha256", lib->sha256);
        set_text(o, "name", lib->table->name);
        set_text(o, "describe", lib->table->describe);
        set_text(o, "toolkit", lib->table->toolkit);
        set_text(o, "targets", lib->table->targets);
        json_object_set_new(o, "dirty",
                            json_boolean(strstr(lib->table->describe, "-dirty") != NULL));
        json_array_append_new(list, o);
    }
    return list;
}

/* What the machine profile gave, by octave of the baseline's median in ns. */
static json_t *floors_json(const struct noise_floors *floors)
{
    json_t *o = json_object();
    char octave[16];

    for (int i = 0; floors && i < PROFILE_OCTAVES; i++) {
        snprintf(octave, sizeof(octave), "%d", i);
        if (isfinite(floors->octave[i]))
            json_object_set_new(o, octave, json_real(floors->octave[i]));
    }
    return o;
}

static json_t *settings_json(const struct session *s)
{
    const struct plan_settings *set = &s->plan.set;
    json_t *o = json_object();
    json_object_set_new(o, "processes", json_integer(set->processes));
    json_object_set_new(o, "rounds", json_integer(set->rounds));
    json_object_set_new(o, "rounds_named", json_boolean(set->rounds_named));
    json_object_set_new(o, "max_rounds", json_integer(set->max_rounds));
    set_real(o, "max_time_s", set->max_time_s);
    set_text(o, "cache", plan_cache_name(set->cache));
    set_text(o, "pace", plan_pace_name(set->pace));
    set_text(o, "timer", device_timer_name(s->info.timer));
    json_object_set_new(o, "duplicate", json_boolean(set->duplicate));
    json_object_set_new(o, "threads", json_integer(set->threads));
    set_real(o, "delta", s->store.set.delta);
    set_real(o, "noise_floor", s->store.set.noise_floor);
    json_object_set_new(o, "noise_floor_octaves", floors_json(s->store.set.floors));
    set_real(o, "gate_slower", set->gate_slower);
    return o;
}

/* Of several GPUs `device` is the first, with the UUIDs of all; `devices` has each. */
static int devices_json(const struct session *s, json_t *run, struct err *err)
{
    json_t *device = device_info_to_json(&s->info), *list = json_array();
    struct strbuf uuids = STRBUF_INIT;

    session_uuids(s, &uuids);
    set_text(device, "uuid", uuids.buf);
    strbuf_release(&uuids);
    for (size_t k = 0; k < s->lanes_nr; k++)
        json_array_append_new(list, device_info_to_json(&s->lane[k].info));
    if (s->lanes_nr > 1)
        json_object_set(run, "devices", list);
    json_decref(list);
    return json_object_set_new(run, "device", device) ? err_memory(err) : 0;
}

/* What the machine can do, as the workers hold rows against it. */
static int run_ceilings(const struct session *s, json_t *run, struct err *err)
{
    struct ceilings c;
    struct err why = ERR_INIT;

    ceilings_init(&c);
    if (ceilings_read(&c, &s->info, &why)) {
        if (why.kind == ERR_MEMORY)
            return err_memory(err);
        session_note(s, "%s; no limits are shown", why.text);
    } else if (c.nr) {
        json_object_set_new(run, "ceilings", ceilings_json(&c));
    }
    ceilings_release(&c);
    return 0;
}

/* The fixed part, once. */
static int run_begin(struct session *s, struct err *err)
{
    char id[64], hex[9];
    json_t *run = json_object();

    if (!run)
        return err_memory(err);
    s->store.run = run;
    json_object_set_new(run, "schema", json_integer(ROWS_SCHEMA));
    json_object_set_new(run, "protocol", json_integer(ROWS_PROTOCOL));
    snprintf(hex, sizeof(hex), "%.8s", s->plan_hash);
    snprintf(id, sizeof(id), "%s-%lx-%d", hex, (unsigned long)time(NULL), (int)getpid());
    set_text(run, "run_id", id);
    set_time(run, "started_utc");
    json_object_set_new(run, "command", command_json(s));
    set_text(run, "config_name", s->plan.config_name);
    set_text(run, "config_text", s->config_text.buf);
    set_text(run, "plan_hash", s->plan_hash);
    json_object_set_new(run, "seed", json_integer((json_int_t)s->plan.set.seed));
    json_object_set_new(run, "host", host_json());
    json_object_set_new(run, "bench", bench_json());
    json_object_set_new(run, "libraries", libraries_json(s));
    json_object_set_new(run, "settings", settings_json(s));
    return devices_json(s, run, err) ? -1 : run_ceilings(s, run, err);
}

/* A resumed run with --only must not forget how the other cases stand. */
static json_t *kept_object(json_t *run, const char *key)
{
    json_t *o = json_object_get(run, key);
    if (!o) {
        o = json_object();
        json_object_set_new(run, key, o);
    }
    return o;
}

static void state_json(struct session *s)
{
    json_t *walls = kept_object(s->store.run, "wall_s");
    json_t *finished = kept_object(s->store.run, "finished");
    for (size_t i = 0; i < s->plan.nr; i++) {
        set_real(walls, s->plan.item[i].id, s->used_s[i]);
        json_object_set_new(finished, s->plan.item[i].id, json_boolean(s->finished[i]));
    }
}

int session_run_json(struct session *s, const char *status, struct err *err)
{
    if (!s->store.run && run_begin(s, err))
        return -1;
    set_text(s->store.run, "status", status);
    set_time(s->store.run, "ended_utc");
    state_json(s);
    return 0;
}

/* ---- rows of failed cases ---- */

static int fail_kernel(const struct session *s, const struct plan_case *item,
                       const struct arm_entry *e, struct case_row *row, struct err *err)
{
    struct strbuf name = STRBUF_INIT;
    struct arm_steps steps;

    arm_entry_steps(e, &s->plan, item, &steps);
    arm_steps_add_name(&steps, &name);
    int ret = name.oom ? err_memory(err) : row_set(&row->kernel, name.len ? name.buf : "?/?", err);
    strbuf_release(&name);
    return ret;
}

static int fail_row(struct session *s, const struct plan_case *item, const struct arm_entry *e,
                    const char *status, const char *text, struct err *err)
{
    const struct arm_entry *other = arm_set_against(&s->arms, &s->plan, item, e);
    const char *run_id = json_string_value(json_object_get(s->store.run, "run_id"));
    char buf[128];

    for (size_t i = 0; i < s->store.cases.nr; i++)
        if (!strcmp(s->store.cases.row[i].case_id, item->id) &&
            !strcmp(s->store.cases.row[i].arm, e->label))
            return store_status(&s->store, item->id, e->label, status, text, err);
    for (size_t i = s->store.cases.axes.nr; i < s->axes.nr; i++)
        if (text_list_add(&s->store.cases.axes, s->axes.items[i], err))
            return -1;
    struct case_row *row = case_table_add(&s->store.cases, err);
    if (!row)
        return -1;
    row->schema = ROWS_SCHEMA;
    if (row_set(&row->run_id, run_id, err) || row_set(&row->plan_hash, s->plan_hash, err) ||
        row_set(&row->case_id, item->id, err) || row_set(&row->sweep, item->sweep, err) ||
        row_set(&row->operator, item->c.op->name, err) || fail_kernel(s, item, e, row, err) ||
        row_set(&row->arm, e->label, err) ||
        row_set(&row->role,
                e->duplicate                                    ? "duplicate"
                : other == e                                    ? "baseline"
                : s->plan.arm[e->plan_arm].role == ROLE_CONTEXT ? "context"
                                                                : "candidate",
                err) ||
        row_set(&row->device, s->info.name, err) ||
        row_set(&row->device_uuid, s->lane[s->lane_of[item - s->plan.item]].info.uuid, err) ||
        row_set(&row->status, status, err) || row_set(&row->status_text, text, err) ||
        row_set(&row->problem, "same", err) ||
        (other && other != e && row_set(&row->baseline, other->label, err)) ||
        row_set(&row->library, file_below(e->origin), err) ||
        row_set(&row->library_sha256, e->lib->sha256, err))
        return -1;
    for (size_t a = 0; a < item->c.op->axes_nr; a++)
        for (size_t i = 0; i < s->store.cases.axes.nr; i++)
            if (!strcmp(s->store.cases.axes.items[i], item->c.op->axes[a].name) &&
                row_set(&row->axis[i], op_case_text(&item->c, a, buf, sizeof(buf)), err))
                return -1;
    return 0;
}

int session_fail_rows(struct session *s, const struct plan_case *item, const char *label,
                      const char *status, const char *text, struct err *err)
{
    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        if (!arm_set_against(&s->arms, &s->plan, item, e) || (label && strcmp(label, e->label)))
            continue;
        if (fail_row(s, item, e, status, text, err))
            return -1;
    }
    return 0;
}
