/*
 * plan_sweeps.c - [sweep NAME] and the axes that [global] gives to the sweeps below it.
 */
#include <string.h>

#include "plan_parts.h"
#include "sweep.h"

const char *operator_nearest(const char *name)
{
    const char *names[64];
    size_t nr = 0;

    for (; nr < sizeof(names) / sizeof(names[0]) && op_model_at(nr); nr++)
        names[nr] = op_model_at(nr)->name;
    return text_nearest(name, names, nr);
}

int operator_unknown(const char *name, struct err *err)
{
    const char *near = operator_nearest(name);
    struct strbuf all = STRBUF_INIT;

    if (near)
        return err_set(err, ERR_CONFIG, "'%.200s' is no operator, did you mean '%.200s'", name,
                       near);
    for (size_t i = 0; op_model_at(i); i++)
        strbuf_addf(&all, "%s%s", i ? ", " : "", op_model_at(i)->name);
    err_set(err, ERR_CONFIG, "'%.200s' is no operator of this build, which knows %s", name,
            all.buf);
    strbuf_release(&all);
    return -1;
}

/* The entry of one section that names its operator, or NULL. */
static const struct ini_entry *operator_entry(const struct ini_section *section)
{
    const struct ini_entry *entry = ini_section_find(section, "operator");

    return entry ? entry : ini_section_find(section, "op");
}

const struct op_model *sweep_operator(const struct ini *ini, size_t at, struct err *err)
{
    const struct ini_section *section = &ini->sections[at];
    const struct ini_entry *entry = operator_entry(section);
    const struct op_model *op;

    if (!entry && (op = op_model_find(section->name)))
        return op;
    for (size_t i = at; !entry && i-- > 0;)
        if (!strcmp(ini->sections[i].kind, "global"))
            entry = operator_entry(&ini->sections[i]);
    if (!entry) {
        section_error(err, section, "sweep '%.200s' names no operator: write 'operator = NAME'",
                      section->name);
        return NULL;
    }
    op = op_model_find(entry->value);
    if (!op) {
        operator_unknown(entry->value, err);
        entry_prefix(err, entry);
    }
    return op;
}

/* Axes of the [global] sections above, as far as the operator has them. */
static int add_defaults(struct sweep *s, const struct ini *ini, size_t at, struct err *err)
{
    for (size_t i = 0; i < at; i++) {
        const struct ini_section *section = &ini->sections[i];

        if (strcmp(section->kind, "global"))
            continue;
        for (size_t e = 0; e < section->nr; e++) {
            const struct ini_entry *entry = &section->entries[e];

            if (key_is_axis(s->op, entry->key) &&
                sweep_add(s, entry->key, entry->value, entry->file, (int)entry->line, (int)i, err))
                return -1;
        }
    }
    return 0;
}

static int add_own(struct sweep *s, const struct ini *ini, size_t at, struct err *err)
{
    const struct ini_section *section = &ini->sections[at];

    for (size_t e = 0; e < section->nr; e++) {
        const struct ini_entry *entry = &section->entries[e];
        int line = (int)entry->line, rc;

        if (key_is_operator(entry->key)) {
            if (entry != operator_entry(section))
                return ini_error(err, entry, "'op' stands beside 'operator': give one of them");
            continue;
        }
        if (!strcmp(entry->key, "where"))
            rc = sweep_set_where(s, entry->value, entry->file, line, err);
        else if (plan_key_find(NULL, entry->key) && !key_is_axis(s->op, entry->key))
            rc = key_unknown(entry, "sweep", true, err);
        else
            rc = sweep_add(s, entry->key, entry->value, entry->file, line, (int)at, err);
        if (rc)
            return -1;
    }
    return 0;
}

static int read_sweep(const struct ini *ini, size_t at, struct plan *p, struct sweep_cases *cases,
                      struct err *err)
{
    const struct ini_section *section = &ini->sections[at];
    const struct op_model *op;
    struct sweep s;
    int rc;

    if (check_name(section, err) || !(op = sweep_operator(ini, at, err)))
        return -1;
    sweep_init(&s, op, section->name, section->file, (int)section->line);
    rc = add_defaults(&s, ini, at, err);
    if (!rc)
        rc = add_own(&s, ini, at, err);
    if (!rc)
        rc = sweep_expand(&s, p->set.seed, cases, &p->notes, err);
    sweep_release(&s);
    return rc;
}

int sweeps_read(struct plan *p, const struct ini *ini, struct err *err)
{
    struct sweep_cases cases = {0};
    int rc = 0;

    for (size_t i = 0; !rc && i < ini->nr; i++)
        if (!strcmp(ini->sections[i].kind, "sweep"))
            rc = read_sweep(ini, i, p, &cases, err);
    p->item = cases.item;
    p->nr = cases.nr;
    if (!rc && p->nr == 0)
        rc = err_set(err, ERR_CONFIG,
                     "'%.200s' has no sweep: write '[sweep NAME]' and below it 'operator = NAME'",
                     p->config_name);
    if (!rc && p->nr > SWEEP_MAX_CASES)
        rc = err_set(err, ERR_CONFIG, "'%.200s' has %zu cases, the most is %d", p->config_name,
                     p->nr, SWEEP_MAX_CASES);
    return rc;
}
