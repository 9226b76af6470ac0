/*
 * repro.c - a case as a configuration of its own.
 */
#include "repro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "axis.h"
#include "case_build.h"
#include "folder.h"
#include "report_internal.h"
#include "store.h"

void repro_init(struct repro *r)
{
    memset(r, 0, sizeof(*r));
    ini_init(&r->ini);
    plan_init(&r->plan);
}

void repro_release(struct repro *r)
{
    json_decref(r->run);
    plan_release(&r->plan);
    ini_release(&r->ini);
    free(r->dir);
    repro_init(r);
}

static int case_missing(const struct repro *r, const char *case_id, struct err *err)
{
    const char **names = calloc(r->plan.nr + 1, sizeof(*names));
    const char *near;

    if (!names)
        return err_memory(err);
    for (size_t i = 0; i < r->plan.nr; i++)
        names[i] = r->plan.item[i].id;
    near = text_nearest(case_id, names, r->plan.nr);
    if (near)
        err_set(err, ERR_CONFIG, "'%.200s' is no case of '%s', did you mean '%s'", case_id, r->dir,
                near);
    else
        err_set(err, ERR_CONFIG, "'%.200s' is no case of '%s', the first of which is '%s'", case_id,
                r->dir, r->plan.item[0].id);
    free(names);
    return -1;
}

int repro_open(struct repro *r, const char *dir, const char *case_id, struct err *err)
{
    r->dir = strdup(dir);
    if (!r->dir)
        return err_memory(err);
    if (folder_read_run(dir, &r->run, err))
        return -1;
    const char *text = run_text(r->run, NULL, "config_text");
    const char *name = run_text(r->run, NULL, "config_name");
    if (!*text)
        return err_set(err, ERR_CONFIG, "run.json of '%s' holds no configuration", dir);
    if (ini_read_text(&r->ini, *name ? name : "config", text, strlen(text), err) ||
        plan_read(&r->plan, &r->ini, err))
        return err_prefix(err, "configuration of '%s'", dir);
    r->other_plan = strcmp(r->plan.hash, run_text(r->run, NULL, "plan_hash")) != 0;
    for (size_t i = 0; i < r->plan.nr; i++)
        if (!strcmp(r->plan.item[i].id, case_id))
            r->item = &r->plan.item[i];
    return r->item ? 0 : case_missing(r, case_id, err);
}

/* ---- the command ---- */

/* Flags that say where or how much, not what; `value`: one word more. */
static const struct {
    const char *name;
    bool value;
} dropped[] = {{"only", true},   {"out", true},    {"o", true}, {"resume", false},
               {"force", false}, {"quiet", false}, {"q", false}};

/* How many words a dropped flag takes at this place, 0 for one that stays. */
static size_t dropped_words(const char *word)
{
    const char *name = word + strspn(word, "-");
    size_t len = strcspn(name, "=");

    if (name == word)
        return 0;
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
        if (strlen(dropped[i].name) == len && !strncmp(name, dropped[i].name, len))
            return dropped[i].value && !name[len] ? 2 : 1;
    return 0;
}

void repro_add_word(struct strbuf *sb, const char *text)
{
    static const char *const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-./:=,+@%";

    if (*text && strspn(text, plain) == strlen(text)) {
        strbuf_addstr(sb, text);
        return;
    }
    strbuf_addch(sb, '\'');
    for (; *text; text++)
        strbuf_addstr(sb, *text == '\'' ? "'\\''" : (char[]){*text, '\0'});
    strbuf_addch(sb, '\'');
}

/* The configuration by its name, where no command says which file it was. */
static void add_config_name(const json_t *run, struct strbuf *out)
{
    const char *name = run_text(run, NULL, "config_name");
    char file[512];

    snprintf(file, sizeof(file), "%s%s", *name ? name : "FILE",
             *name && !strstr(name, ".ini") ? ".ini" : "");
    strbuf_addstr(out, "bench --config ");
    repro_add_word(out, file);
}

int repro_command(const json_t *run, const char *case_id, struct strbuf *out, struct err *err)
{
    const json_t *list = json_object_get(run, "command");
    size_t nr = json_array_size(list);

    /* A merged run has no one command; its configuration is the first run's. */
    if (!nr || json_object_get(run, "merged_from")) {
        add_config_name(run, out);
        nr = 0;
    } else {
        const char *first = json_string_value(json_array_get(list, 0));
        strbuf_addstr(out, json_object_get(run, "branches") ? "bench ab"
                           : first && *first != '-'         ? "bench run"
                                                            : "bench");
    }
    for (size_t i = 0; i < nr;) {
        const char *word = json_string_value(json_array_get(list, i));
        size_t skip = word ? dropped_words(word) : 1;

        if (!skip) {
            strbuf_addch(out, ' ');
            repro_add_word(out, word);
        }
        i += skip ? skip : 1;
    }
    strbuf_addstr(out, " --only ");
    repro_add_word(out, case_id);
    strbuf_addch(out, '\n');
    return out->oom ? err_memory(err) : 0;
}

/* ---- the INI ---- */

/* Whether a key ("heads", "heads:head_dim") sets axes of the operator. */
static bool is_axis_key(const struct op_model *op, const char *key)
{
    char first[128];
    int places[2];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(key, ":"), key);
    return axis_targets(op, first, places) > 0;
}

/* The file that an arm of the run was loaded from; NULL where no row says so. */
static const char *library_of(const struct store *s, const char *arm)
{
    for (size_t i = 0; i < s->cases.nr; i++)
        if (s->cases.row[i].library && cell_is(s->cases.row[i].arm, arm))
            return s->cases.row[i].library;
    return NULL;
}

/* The same for a library that [global] gives to the arms that name none. */
static const char *global_library(const struct repro *r, const struct store *s)
{
    for (size_t i = 0; i < r->ini.nr; i++) {
        const struct ini_section *at = &r->ini.sections[i];
        if (*at->name && strcmp(at->kind, "sweep") && !ini_section_find(at, "library") &&
            library_of(s, at->name))
            return library_of(s, at->name);
    }
    return NULL;
}

/* What the sweep set, with the values that it came to for this case. */
static int copy_sweep(const struct repro *r, const struct ini_section *from, struct ini *to,
                      struct err *err)
{
    const struct op_case *c = &r->item->asked;
    char text[128];

    if (ini_set(to, "sweep", from->name, "operator", c->op->name, err))
        return -1;
    for (size_t i = 0; i < c->op->axes_nr; i++) {
        if (!(r->item->given >> i & 1))
            continue;
        if (ini_set(to, "sweep", from->name, c->op->axes[i].name,
                    op_case_text(c, i, text, sizeof(text)), err))
            return -1;
    }
    return 0;
}

static int copy_section(const struct repro *r, const struct store *s,
                        const struct ini_section *from, struct ini *to, struct err *err)
{
    bool global = !strcmp(from->kind, "global");

    for (size_t e = 0; e < from->nr; e++) {
        const char *key = from->entries[e].key, *value = from->entries[e].value;

        /* Axes of [global] stand in the sweep by now; the results go where they are told. */
        if (global && (!strcmp(key, "out") || is_axis_key(r->item->c.op, key)))
            continue;
        if (!strcmp(key, "library")) {
            const char *used = global ? global_library(r, s) : library_of(s, from->name);
            value = used ? used : value;
        }
        if (ini_set(to, from->kind, from->name, key, value, err))
            return -1;
    }
    return 0;
}

/* The text must give the case back, or it is no repro. */
static int verify(const struct repro *r, const struct strbuf *text, struct err *err)
{
    struct ini ini;
    struct plan plan;
    int ret = -1;

    ini_init(&ini);
    plan_init(&plan);
    if (ini_read_text(&ini, "repro", text->buf, text->len, err) || plan_read(&plan, &ini, err))
        err_prefix(err, "case '%s' as a configuration of its own", r->item->id);
    else if (plan.nr != 1 || strcmp(plan.item[0].id, r->item->id) ||
             !case_equal(&plan.item[0].c, &r->item->c) || plan.arms_nr != r->plan.arms_nr)
        err_set(err, ERR_BUG, "case '%s' as a configuration of its own came out as %zu cases, '%s'",
                r->item->id, plan.nr, plan.nr ? plan.item[0].id : "");
    else
        ret = 0;
    plan_release(&plan);
    ini_release(&ini);
    return ret;
}

int repro_ini(const struct repro *r, struct strbuf *out, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    struct store s;
    struct ini to;
    int ret = -1;

    store_init(&s);
    ini_init(&to);
    if (store_open(&s, r->dir, false, err))
        goto out;
    for (size_t i = 0; i < r->ini.nr; i++) {
        const struct ini_section *from = &r->ini.sections[i];
        bool sweep = !strcmp(from->kind, "sweep");

        if (sweep && strcmp(from->name, r->item->sweep))
            continue;
        if (sweep ? copy_sweep(r, from, &to, err) : copy_section(r, &s, from, &to, err))
            goto out;
    }
    ini_write(&to, &text);
    if (text.oom) {
        err_memory(err);
        goto out;
    }
    if (verify(r, &text, err))
        goto out;
    strbuf_addf(out, "; case %s of run %s\n", r->item->id, run_text(r->run, NULL, "run_id"));
    /* Which builds stood against each other is no matter of the configuration. */
    if (json_object_get(r->run, "branches"))
        strbuf_addstr(out, "; for `bench ab BASE HEAD --config FILE`\n");
    strbuf_add(out, text.buf, text.len);
    ret = out->oom ? err_memory(err) : 0;
out:
    strbuf_release(&text);
    ini_release(&to);
    store_release(&s);
    return ret;
}
