#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "plan_parts.h"

#define NAME_MAX_CHARS 64

void plan_init(struct plan *p)
{
    *p = (struct plan){0};
    strbuf_init(&p->notes);
}

void plan_release(struct plan *p)
{
    for (size_t i = 0; i < p->arms_nr; i++)
        arm_release(&p->arm[i]);
    for (size_t i = 0; i < p->nr; i++)
        free(p->item[i].id);
    free(p->arm);
    free(p->item);
    free(p->config_name);
    free(p->set.device);
    free(p->set.out);
    strbuf_release(&p->notes);
    plan_init(p);
}

int section_error(struct err *err, const struct ini_section *section, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_vset(err, ERR_CONFIG, format, args);
    va_end(args);
    return section->line ? err_prefix(err, "%s:%u", section->file, section->line)
                         : err_prefix(err, "%s", section->file);
}

int entry_prefix(struct err *err, const struct ini_entry *entry)
{
    return entry->line ? err_prefix(err, "%s:%u", entry->file, entry->line)
                       : err_prefix(err, "%s", entry->file);
}

int check_name(const struct ini_section *section, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    const char *dot = strcmp(section->kind, "sweep") ? " and '.'" : "";
    size_t len = strlen(section->name);

    if (len > 0 && len <= NAME_MAX_CHARS && strspn(section->name, letters) == len &&
        (*dot || !strchr(section->name, '.')))
        return 0;
    return section_error(err, section,
                         "'%.100s' is no name for [%s]: letters, digits, '_', '-'%s, at most "
                         "%d",
                         section->name, section->kind, dot, NAME_MAX_CHARS);
}

/* "configs/sage.ini" gives "sage". */
static int name_config(struct plan *p, const struct ini *ini, struct err *err)
{
    const char *base = "config";
    const char *dot;

    for (size_t i = 0; i < ini->files.nr; i++)
        if (strcmp(ini->files.items[i], INI_COMMAND_LINE)) {
            base = file_base(ini->files.items[i]);
            break;
        }
    dot = strrchr(base, '.');
    p->config_name = dot && dot != base ? strndup(base, (size_t)(dot - base)) : strdup(base);
    return p->config_name ? 0 : err_memory(err);
}

int plan_read(struct plan *p, const struct ini *ini, struct err *err)
{
    if (name_config(p, ini, err) || settings_init(&p->set, err) ||
        settings_read(&p->set, ini, err) || arms_read(p, ini, err) || sweeps_read(p, ini, err) ||
        plan_check_arms(p, err))
        return -1;
    if (p->notes.oom)
        return err_memory(err);
    return plan_make_hash(p, err);
}

static bool matches(const char *id, const char *const *only, size_t only_nr)
{
    for (size_t i = 0; i < only_nr; i++)
        if (text_glob(only[i], id))
            return true;
    return only_nr == 0;
}

static int select_cases(struct plan *p, const char *const *only, size_t only_nr, struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->nr; i++)
        kept += matches(p->item[i].id, only, only_nr);
    if (kept == 0)
        return err_set(err, ERR_CONFIG,
                       "'%.200s' matches none of the %zu cases, the first of which is '%.200s'",
                       only_nr ? only[0] : "", p->nr, p->nr ? p->item[0].id : "");
    kept = 0;
    for (size_t i = 0; i < p->nr; i++) {
        if (matches(p->item[i].id, only, only_nr))
            p->item[kept++] = p->item[i];
        else
            free(p->item[i].id);
    }
    p->nr = kept;
    return 0;
}

static int arm_missing(const struct plan *p, const char *name, struct err *err)
{
    struct strbuf all = STRBUF_INIT;
    const char *near = NULL;

    for (size_t i = 0; i < p->arms_nr; i++) {
        const char *names[2] = {near, p->arm[i].name};

        near = text_nearest(name, names, 2);
        strbuf_addf(&all, "%s%s", i ? ", " : "", p->arm[i].name);
    }
    if (near)
        err_set(err, ERR_CONFIG, "'%.200s' is no arm, did you mean '%.200s'", name, near);
    else
        err_set(err, ERR_CONFIG, "'%.200s' is no arm, the arms are %s", name, all.buf);
    strbuf_release(&all);
    return -1;
}

static bool is_named(const char *const *arms, size_t arms_nr, const char *name)
{
    for (size_t i = 0; i < arms_nr; i++)
        if (!strcmp(arms[i], name))
            return true;
    return false;
}

static int select_arms(struct plan *p, const char *const *arms, size_t arms_nr, struct err *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < arms_nr; i++) {
        bool found = false;

        for (size_t a = 0; a < p->arms_nr; a++)
            found |= !strcmp(arms[i], p->arm[a].name);
        if (!found)
            return arm_missing(p, arms[i], err);
    }
    for (size_t a = 0; arms_nr && a < p->arms_nr; a++) {
        if (is_named(arms, arms_nr, p->arm[a].name))
            p->arm[kept++] = p->arm[a];
        else
            arm_release(&p->arm[a]);
    }
    p->arms_nr = arms_nr ? kept : p->arms_nr;
    arms_promote(p);
    return 0;
}

int plan_select(struct plan *p, const char *const *only, size_t only_nr, const char *const *arms,
                size_t arms_nr, struct err *err)
{
    return select_cases(p, only, only_nr, err) ? -1 : select_arms(p, arms, arms_nr, err);
}
