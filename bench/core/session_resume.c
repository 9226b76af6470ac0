/*
 * session_resume.c - going on with a run: whether it may, and where it stood.
 */
#include <stdlib.h>
#include <string.h>

#include "ini.h"
#include "session.h"

/* ---- whether it may ---- */

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* Keys of [global] that plan_hash() leaves out. */
static bool is_free_key(const struct ini_section *section, const char *key)
{
    static const char *const names[] = {"device", "out", "timeout", "delta", "noise_floor"};

    if (!strcmp(section->kind, "gate"))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(key, names[i]))
            return true;
    return false;
}

/* The first key of `here` that `there` lacks or has otherwise. */
static bool first_difference(const struct ini *here, const struct ini *there, bool swapped,
                             struct strbuf *sb)
{
    for (size_t i = 0; i < here->nr; i++) {
        const struct ini_section *section = &here->sections[i];
        for (size_t k = 0; k < section->nr; k++) {
            const char *key = section->entries[k].key, *value = section->entries[k].value;
            const struct ini_entry *other = ini_lookup(there, section->kind, section->name, key);

            if (is_free_key(section, key) || (other && !strcmp(value, other->value)))
                continue;
            strbuf_addf(sb, "[%s%s%s] %s is ", section->kind, *section->name ? " " : "",
                        section->name, key);
            if (other)
                strbuf_addf(sb, "'%s' there and '%s' here", other->value, value);
            else
                strbuf_addf(sb,
                            swapped ? "'%s' there and not set here"
                                    : "not set there and '%s' "
                                      "here",
                            value);
            return true;
        }
    }
    return false;
}

/* In words where the configurations differ; defaults of another bench may, too. */
static void add_plan_difference(const struct session *s, struct strbuf *sb)
{
    const char *text = text_of(s->store.run, "config_text");
    struct ini there, here;
    struct err quiet = ERR_INIT;

    ini_init(&there);
    ini_init(&here);
    if (ini_read_text(&there, "run.json", text, strlen(text), &quiet) ||
        ini_read_text(&here, "resolved", s->config_text.buf, s->config_text.len, &quiet) ||
        (!first_difference(&here, &there, false, sb) && !first_difference(&there, &here, true, sb)))
        strbuf_addf(sb, "hash %.12s there and %.12s here", text_of(s->store.run, "plan_hash"),
                    s->plan_hash);
    ini_release(&there);
    ini_release(&here);
}

static int check_plan(const struct session *s, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;

    if (!strcmp(text_of(s->store.run, "plan_hash"), s->plan_hash))
        return 0;
    add_plan_difference(s, &sb);
    err_set(err, ERR_CONFIG, "'%s' was written by another plan: %.600s", s->store.dir, sb.buf);
    strbuf_release(&sb);
    return -1;
}

static int check_device(const struct session *s, struct err *err)
{
    const json_t *dev = json_object_get(s->store.run, "device");
    struct strbuf uuids = STRBUF_INIT;
    json_int_t threads = json_integer_value(json_object_get(dev, "threads"));
    int ret = 0;

    session_uuids(s, &uuids);
    if (strcmp(text_of(dev, "name"), s->info.name) || strcmp(text_of(dev, "uuid"), uuids.buf))
        ret = err_set(err, ERR_CONFIG, "'%s' was measured on %s %s, this is %s %s", s->store.dir,
                      text_of(dev, "name"), text_of(dev, "uuid"), s->info.name, uuids.buf);
    else if (s->kind == SAB_DEVICE_CPU && threads != s->info.threads)
        ret =
            err_set(err, ERR_CONFIG, "'%s' was measured with %lld threads, this process may use %d",
                    s->store.dir, (long long)threads, s->info.threads);
    strbuf_release(&uuids);
    return ret;
}

static int check_timer(const struct session *s, struct err *err)
{
    const char *used = text_of(json_object_get(s->store.run, "settings"), "timer");
    const char *here = device_timer_name(s->info.timer);

    if (!strcmp(used, here))
        return 0;
    if (!strcmp(used, device_timer_name(DEVICE_TIMER_NONE)))
        return err_set(err, ERR_CONFIG,
                       "'%s' holds checks, no times: name another folder with --out", s->store.dir);
    return err_set(err, ERR_CONFIG, "'%s' was timed by '%s', this is timer '%s'", s->store.dir,
                   used, here);
}

static bool knows_library(const json_t *run, const char *sha256)
{
    const json_t *lib;
    size_t i;

    json_array_foreach(json_object_get(run, "libraries"), i, lib)
    {
        if (!strcmp(text_of(lib, "sha256"), sha256))
            return true;
    }
    return false;
}

/* Two files that changed places are both known, and every arm would run the other's kernels. */
static int check_libraries(const struct session *s, struct err *err)
{
    for (size_t k = 0; k < s->arms.libraries_nr; k++)
        if (!knows_library(s->store.run, s->arms.library[k]->sha256))
            return err_set(err, ERR_CONFIG, "library '%s' has changed since '%s' was begun",
                           s->arms.library[k]->path, s->store.dir);
    for (size_t i = 0; i < s->store.cases.nr; i++) {
        const struct case_row *row = &s->store.cases.row[i];
        for (size_t k = 0; k < s->arms.nr; k++) {
            const struct arm_entry *e = &s->arms.item[k];
            if (strcmp(e->label, row->arm) || !row->library_sha256 ||
                !strcmp(e->lib->sha256, row->library_sha256))
                continue;
            return err_set(err, ERR_CONFIG,
                           "arm '%s' runs library '%s' (%.12s), in '%s' it ran '%s' (%.12s)",
                           e->label, e->lib->path, e->lib->sha256, s->store.dir,
                           row->library ? row->library : "", row->library_sha256);
        }
    }
    return 0;
}

/* What may change without making other numbers of it, and should be known. */
static void note_changes(const struct session *s)
{
    const json_t *dev = json_object_get(s->store.run, "device");
    const struct {
        const char *word, *there, *here;
    } changes[] = {
        {"driver", text_of(dev, "driver"), s->info.driver},
        {"CUPTI", text_of(dev, "cupti"), s->info.cupti},
        {"bench", text_of(json_object_get(s->store.run, "bench"), "describe"), session_describe()},
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
        if (strcmp(changes[i].there, changes[i].here))
            session_note(s, "'%s' was begun with %s %s, and goes on with %s", s->store.dir,
                         changes[i].word, changes[i].there, changes[i].here);
}

static int resume_check(struct session *s, struct err *err)
{
    const json_t *run = s->store.run;
    json_int_t schema = json_integer_value(json_object_get(run, "schema"));
    json_int_t protocol = json_integer_value(json_object_get(run, "protocol"));

    if (schema != ROWS_SCHEMA)
        return err_set(err, ERR_CONFIG, "'%s' has schema version %lld, this bench writes %d",
                       s->store.dir, (long long)schema, ROWS_SCHEMA);
    if (protocol != ROWS_PROTOCOL)
        return err_set(err, ERR_CONFIG, "'%s' was measured by protocol %lld, this is protocol %d",
                       s->store.dir, (long long)protocol, ROWS_PROTOCOL);
    if (check_plan(s, err) || check_device(s, err) || check_timer(s, err) ||
        check_libraries(s, err))
        return -1;
    note_changes(s);
    return 0;
}

/* ---- where it stood ---- */

static const struct case_row *row_of(const struct session *s, const char *case_id,
                                     const char *label)
{
    for (size_t i = 0; i < s->store.cases.nr; i++)
        if (!strcmp(s->store.cases.row[i].case_id, case_id) &&
            !strcmp(s->store.cases.row[i].arm, label))
            return &s->store.cases.row[i];
    return NULL;
}

static bool lacks_rows(const struct session *s, const struct plan_case *item)
{
    for (size_t k = 0; k < s->arms.nr; k++)
        if (arm_set_against(&s->arms, &s->plan, item, &s->arms.item[k]) &&
            !row_of(s, item->id, s->arms.item[k].label))
            return true;
    return false;
}

/* Where cases.csv has lost lines, cases that lack one are begun anew. */
static int list_damaged(const struct session *s, struct text_list *redo, struct err *err)
{
    const json_t *finished = json_object_get(s->store.run, "finished");

    for (size_t i = 0; s->store.rows_lost && i < s->plan.nr; i++) {
        const char *id = s->plan.item[i].id;
        bool begun =
            json_object_get(s->store.sealed, id) || json_is_true(json_object_get(finished, id));
        if (begun && lacks_rows(s, &s->plan.item[i]) && text_list_add(redo, id, err))
            return -1;
    }
    return 0;
}

static void take_state(struct session *s)
{
    const json_t *walls = json_object_get(s->store.run, "wall_s");
    const json_t *finished = json_object_get(s->store.run, "finished");

    for (size_t i = 0; i < s->plan.nr; i++) {
        const char *id = s->plan.item[i].id;
        s->sealed[i] = store_sealed(&s->store, id);
        s->used_s[i] = json_number_value(json_object_get(walls, id));
        s->finished[i] = json_is_true(json_object_get(finished, id));
    }
}

int session_resume(struct session *s, const char *dir, struct err *err)
{
    struct text_list redo = {0};
    int ret = store_open(&s->store, dir, true, err) || resume_check(s, err) ||
                      list_damaged(s, &redo, err) || store_resume(&s->store, &redo, err)
                  ? -1
                  : 0;

    for (size_t i = 0; !ret && i < s->store.notes.nr; i++)
        session_note(s, "%s", s->store.notes.items[i]);
    if (!ret)
        take_state(s);
    text_list_release(&redo);
    return ret;
}
