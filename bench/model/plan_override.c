/*
 * plan_override.c - flags that stand for keys of the configuration.
 */
#include <stdlib.h>
#include <string.h>

#include "axis.h"
#include "case_build.h"
#include "plan_parts.h"

static const char *const kinds[] = {"global", "arm", "sweep", "pipeline", "gate"};

#define KINDS_NR (sizeof(kinds) / sizeof(kinds[0]))

static bool is_dotted(const char *name)
{
    for (size_t i = 0; i < KINDS_NR; i++) {
        size_t len = strlen(kinds[i]);

        if (text_starts_with(name, kinds[i]) && name[len] == '.')
            return true;
    }
    return false;
}

bool plan_is_key(const char *name)
{
    return is_dotted(name) || plan_key_find(NULL, name) || key_is_axis(NULL, name);
}

/* The axes that a key ("heads:head_dim", "seqlen") sets, one bit each; 0 for a key that is none. */
static uint64_t axes_of(const struct op_model *op, const char *key)
{
    struct text_list names = {0};
    uint64_t mask = 0;

    if (text_split(&names, key, ':', NULL) == 0)
        for (size_t i = 0; i < names.nr; i++) {
            int places[2];
            size_t nr = axis_targets(op, names.items[i], places);

            for (size_t t = 0; t < nr; t++)
                mask |= UINT64_C(1) << places[t];
        }
    text_list_release(&names);
    return mask;
}

static uint64_t with_rivals(const struct op_model *op, uint64_t mask)
{
    uint64_t all = mask;

    for (size_t i = 0; i < op->axes_nr; i++) {
        int rival = case_rival(op, i);

        if ((mask >> i & 1) && rival >= 0)
            all |= UINT64_C(1) << rival;
    }
    return all;
}

static void remove_entry(struct ini_section *section, size_t at)
{
    free(section->entries[at].key);
    free(section->entries[at].value);
    memmove(&section->entries[at], &section->entries[at + 1],
            (section->nr - at - 1) * sizeof(*section->entries));
    section->nr--;
}

/* `seqlen` of which one half is taken goes on as the other half. */
static int rename_half(struct ini_entry *entry, const struct op_model *op, uint64_t left,
                       struct err *err)
{
    for (size_t i = 0; i < op->axes_nr; i++) {
        char *key;

        if (!(left >> i & 1))
            continue;
        key = strdup(op->axes[i].name);
        if (!key)
            return err_memory(err);
        free(entry->key);
        entry->key = key;
        return 0;
    }
    return 0;
}

static int in_zip(const struct ini_section *section, const struct ini_entry *entry, const char *key,
                  struct err *err)
{
    return err_set(err, ERR_CONFIG,
                   "'--%s' would tear the zip '%.200s' of [%s %s] apart: set it whole, "
                   "'--%s.%s.%s=VALUES'",
                   key, entry->key, section->kind, section->name, section->kind, section->name,
                   entry->key);
}

/* Sets an axis of one section, and takes out what it replaces there. */
static int set_axis(struct ini *ini, size_t at, const struct op_model *op, const char *key,
                    const char *value, struct err *err)
{
    struct ini_section *section = &ini->sections[at];
    uint64_t taken = with_rivals(op, axes_of(op, key));

    for (size_t e = 0; e < section->nr;) {
        struct ini_entry *entry = &section->entries[e];
        uint64_t old = axes_of(op, entry->key);

        if (!strcmp(entry->key, key) || !(old & taken)) {
            e++;
        } else if (!(old & ~taken)) {
            remove_entry(section, e);
        } else if (strchr(entry->key, ':')) {
            return in_zip(section, entry, key, err);
        } else {
            if (rename_half(entry, op, old & ~taken, err))
                return -1;
            e++;
        }
    }
    return ini_set(ini, section->kind, section->name, key, value, err);
}

/* Every sweep whose operator knows the axis. */
static int set_axis_everywhere(struct ini *ini, const char *key, const char *value, struct err *err)
{
    const struct op_model *op = NULL;
    size_t set = 0;

    for (size_t i = 0; i < ini->nr; i++) {
        if (strcmp(ini->sections[i].kind, "sweep"))
            continue;
        op = sweep_operator(ini, i, err);
        if (!op)
            return -1;
        if (!key_is_axis(op, key))
            continue;
        if (set_axis(ini, i, op, key, value, err))
            return -1;
        set++;
    }
    if (set)
        return 0;
    if (op)
        return axis_unknown(op, key, err);
    return err_set(err, ERR_CONFIG, "'--%s' sets an axis and there is no sweep", key);
}

/* Every section of a kind, or (with `vacant`) those that do not set the key. */
static int set_in_all(struct ini *ini, const char *kind, const char *key, const char *value,
                      bool vacant, struct err *err)
{
    const char *name = "NAME";
    size_t set = 0;

    for (size_t i = 0; i < ini->nr; i++) {
        const struct ini_section *section = &ini->sections[i];

        if (strcmp(section->kind, kind))
            continue;
        name = section->name;
        if (vacant && ini_section_find(section, key))
            continue;
        if (ini_set(ini, kind, name, key, value, err))
            return -1;
        set++;
    }
    if (set)
        return 0;
    return err_set(err, ERR_CONFIG, "'--%s' would change nothing: write '--%s.%s.%s'", key, kind,
                   name, key);
}

static int set_dotted(struct ini *ini, const char *dotted, const char *value, struct err *err)
{
    const char *key = strrchr(dotted, '.') + 1, *name = strchr(dotted, '.') + 1;

    if (text_starts_with(dotted, "sweep.") && name < key) {
        for (size_t i = 0; i < ini->nr; i++) {
            const struct ini_section *section = &ini->sections[i];
            const struct op_model *op;

            if (strcmp(section->kind, "sweep") ||
                strlen(section->name) != (size_t)(key - name - 1) ||
                memcmp(section->name, name, strlen(section->name)))
                continue;
            op = sweep_operator(ini, i, err);
            if (!op)
                return -1;
            if (key_is_axis(op, key))
                return set_axis(ini, i, op, key, value, err);
        }
    }
    if (text_starts_with(dotted, "global.") && key_is_axis(NULL, key))
        return err_set(err, ERR_CONFIG,
                       "'--%s' is only a default: write '--%s', which holds for every sweep",
                       dotted, key);
    return ini_set_flag(ini, dotted, value, err);
}

/* Arms and pipelines that name none. */
static int set_library(struct ini *ini, const char *value, struct err *err)
{
    struct err none = ERR_INIT;

    if (!set_in_all(ini, "pipeline", "library", value, true, &none)) {
        set_in_all(ini, "arm", "library", value, true, &none);
        return none.kind == ERR_MEMORY ? err_memory(err) : 0;
    }
    return set_in_all(ini, "arm", "library", value, true, err);
}

static int set_plain(struct ini *ini, const char *key, const char *value, struct err *err)
{
    if (plan_key_find("global", key))
        return ini_set(ini, "global", "", key, value, err);
    if (plan_key_find("gate", key))
        return ini_set(ini, "gate", "", key, value, err);
    if (key_is_axis(NULL, key))
        return set_axis_everywhere(ini, key, value, err);
    if (!strcmp(key, "where"))
        return set_in_all(ini, "sweep", key, value, false, err);
    if (!strcmp(key, "library"))
        return set_library(ini, value, err);
    if (!strcmp(key, "kernel"))
        return set_in_all(ini, "arm", key, value, true, err);
    return err_set(err, ERR_CONFIG, "'--%s' says not which section: write '--%s.NAME.%s'", key,
                   plan_key_find(NULL, key)->section, key);
}

int plan_override(struct ini *ini, const char *dotted, const char *value, struct err *err)
{
    const char *near;

    if (is_dotted(dotted))
        return set_dotted(ini, dotted, value, err);
    if (plan_is_key(dotted))
        return set_plain(ini, dotted, value, err);
    near = key_nearest(NULL, true, dotted);
    if (near)
        return err_set(err, ERR_CONFIG, "'--%s' is no flag, key or axis, did you mean '--%s'",
                       dotted, near);
    return err_set(err, ERR_CONFIG, "'--%s' is no flag, key or axis", dotted);
}
