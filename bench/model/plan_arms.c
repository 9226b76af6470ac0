/*
 * plan_arms.c - [arm NAME] and [pipeline NAME].
 */
#include <stdlib.h>
#include <string.h>

#include "plan_parts.h"

void pairs_release(struct plan_pair *pair, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        free(pair[i].key);
        free(pair[i].value);
    }
    free(pair);
}

void arm_release(struct plan_arm *arm)
{
    for (size_t i = 0; i < arm->steps_nr; i++) {
        free(arm->step[i].op);
        free(arm->step[i].kernel);
        pairs_release(arm->step[i].option, arm->step[i].options_nr);
        pairs_release(arm->step[i].axis, arm->step[i].axes_nr);
    }
    free(arm->step);
    pairs_release(arm->option, arm->options_nr);
    pairs_release(arm->axis, arm->axes_nr);
    free(arm->name);
    free(arm->library);
    free(arm->kernel);
    free(arm->op);
    *arm = (struct plan_arm){0};
}

static int set_text(char **slot, const char *value, struct err *err)
{
    char *copy = strdup(value);

    if (!copy)
        return err_memory(err);
    free(*slot);
    *slot = copy;
    return 0;
}

int pair_add(struct plan_pair **pair, size_t *nr, const char *key, const char *value,
             const struct ini_entry *at, struct err *err)
{
    struct plan_pair *grown = realloc(*pair, (*nr + 1) * sizeof(*grown));
    struct plan_pair fresh = {.file = at->file, .line = (int)at->line};

    if (!grown)
        return err_memory(err);
    *pair = grown;
    fresh.key = strdup(key);
    fresh.value = strdup(value);
    if (!fresh.key || !fresh.value) {
        free(fresh.key);
        free(fresh.value);
        return err_memory(err);
    }
    grown[(*nr)++] = fresh;
    return 0;
}

static int set_role(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    static const struct {
        const char *word;
        enum plan_role role;
    } roles[] = {
        {"candidate", ROLE_CANDIDATE}, {"baseline", ROLE_BASELINE}, {"context", ROLE_CONTEXT}};
    const char *names[3];
    const char *near;

    for (size_t i = 0; i < 3; i++) {
        names[i] = roles[i].word;
        if (!strcmp(entry->value, roles[i].word)) {
            arm->role = roles[i].role;
            return 0;
        }
    }
    near = text_nearest(entry->value, names, 3);
    return ini_error(err, entry, "'%.200s' is no role, %s%s%s", entry->value,
                     near ? "did you mean '" : "an arm is baseline, candidate or context",
                     near ? near : "", near ? "'" : "");
}

static int set_operator(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    if (arm->op)
        return ini_error(err, entry,
                         "'%.200s' stands beside the operator '%.200s': give one of them",
                         entry->key, arm->op);
    if (!op_model_find(entry->value)) {
        operator_unknown(entry->value, err);
        return entry_prefix(err, entry);
    }
    return set_text(&arm->op, entry->value, err);
}

/* OPERATOR/KERNEL or KERNEL. */
static int set_kernel(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    const char *value = entry->value, *slash = strchr(value, '/');
    char *op;

    if (!*value || slash == value || (slash && (!slash[1] || strchr(slash + 1, '/'))))
        return ini_error(err, entry, "'%.200s' is no kernel: write NAME or OPERATOR/NAME", value);
    if (slash) {
        op = strndup(value, (size_t)(slash - value));
        if (!op)
            return err_memory(err);
        if (!op_model_find(op)) {
            operator_unknown(op, err);
            free(op);
            return entry_prefix(err, entry);
        }
        free(op);
    }
    return set_text(&arm->kernel, value, err);
}

static int set_library(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    if (!*entry->value)
        return ini_error(err, entry, "library is empty: give the path of a shared object");
    return set_text(&arm->library, entry->value, err);
}

static int read_arm_entry(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    if (!strcmp(entry->key, "library"))
        return set_library(arm, entry, err);
    if (!strcmp(entry->key, "kernel"))
        return set_kernel(arm, entry, err);
    if (!strcmp(entry->key, "role"))
        return set_role(arm, entry, err);
    if (key_is_operator(entry->key))
        return set_operator(arm, entry, err);
    if (key_is_axis(NULL, entry->key))
        return pair_add(&arm->axis, &arm->axes_nr, entry->key, entry->value, entry, err);
    if (plan_key_find(NULL, entry->key))
        return key_unknown(entry, "arm", true, err);
    return pair_add(&arm->option, &arm->options_nr, entry->key, entry->value, entry, err);
}

static int read_pipeline_entry(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    if (!strcmp(entry->key, "steps"))
        return arm_read_steps(arm, entry, err);
    if (!strcmp(entry->key, "library"))
        return set_library(arm, entry, err);
    if (!strcmp(entry->key, "role"))
        return set_role(arm, entry, err);
    return key_unknown(entry, "pipeline", false, err);
}

/* Without a kernel nothing runs; a key that is nearly one was meant. */
static int lacks_kernel(const struct plan_arm *arm, const struct ini_section *section,
                        struct err *err)
{
    static const char *const kernel[] = {"kernel"};

    if (!strcmp(section->kind, "pipeline"))
        return section_error(err, section,
                             "pipeline '%.200s' has no steps: write 'steps = "
                             "OPERATOR/KERNEL, OPERATOR/KERNEL'",
                             arm->name);
    for (size_t i = 0; i < arm->options_nr; i++)
        if (text_nearest(arm->option[i].key, kernel, 1))
            return err_set(err, ERR_CONFIG,
                           "%s:%d: '%.200s' is no key of [arm], did you mean 'kernel'",
                           arm->option[i].file, arm->option[i].line, arm->option[i].key);
    return section_error(err, section,
                         "arm '%.200s' names no kernel: write 'kernel = NAME' or 'kernel = "
                         "OPERATOR/NAME'",
                         arm->name);
}

static int check_operator(const struct plan_arm *arm, const struct ini_section *section,
                          struct err *err)
{
    const char *slash = strchr(arm->kernel, '/');
    size_t len = slash ? (size_t)(slash - arm->kernel) : 0;

    if (!slash || !arm->op || (strlen(arm->op) == len && !memcmp(arm->op, arm->kernel, len)))
        return 0;
    return section_error(err, section,
                         "arm '%.200s' runs operator '%.200s' with kernel '%.200s' of another",
                         arm->name, arm->op, arm->kernel);
}

/* What [global] sections above say of `key`, or NULL. */
static const struct ini_entry *global_above(const struct ini *ini, size_t at, const char *key)
{
    const struct ini_entry *found = NULL;

    for (size_t i = 0; i < at; i++) {
        const struct ini_entry *entry;

        if (strcmp(ini->sections[i].kind, "global"))
            continue;
        entry = ini_section_find(&ini->sections[i], key);
        found = entry ? entry : found;
    }
    return found;
}

static int read_defaults(struct plan_arm *arm, const struct ini *ini, size_t at, struct err *err)
{
    const struct ini_entry *library = global_above(ini, at, "library");
    const struct ini_entry *kernel = global_above(ini, at, "kernel");
    bool pipeline = !strcmp(ini->sections[at].kind, "pipeline");

    if (library && !arm->library && set_library(arm, library, err))
        return -1;
    if (kernel && !arm->kernel && !pipeline && set_kernel(arm, kernel, err))
        return -1;
    return 0;
}

static int read_arm(struct plan_arm *arm, const struct ini *ini, size_t at, struct err *err)
{
    const struct ini_section *section = &ini->sections[at];
    bool pipeline = !strcmp(section->kind, "pipeline");

    arm->file = section->file;
    arm->line = (int)section->line;
    if (check_name(section, err) || set_text(&arm->name, section->name, err))
        return -1;
    for (size_t e = 0; e < section->nr; e++) {
        const struct ini_entry *entry = &section->entries[e];

        if (pipeline ? read_pipeline_entry(arm, entry, err) : read_arm_entry(arm, entry, err))
            return -1;
    }
    if (read_defaults(arm, ini, at, err))
        return -1;
    if (!arm->kernel)
        return lacks_kernel(arm, section, err);
    return check_operator(arm, section, err);
}

static int check_roles(struct plan *p, struct err *err)
{
    const struct plan_arm *baseline = NULL, *fit = NULL;

    for (size_t i = 0; i < p->arms_nr; i++) {
        const struct plan_arm *arm = &p->arm[i];

        if (arm->role == ROLE_BASELINE && baseline)
            return err_set(
                err, ERR_CONFIG,
                "%s:%d: arm '%.200s' is a second baseline beside '%.200s': one is the most",
                arm->file, arm->line, arm->name, baseline->name);
        if (arm->role == ROLE_BASELINE)
            baseline = arm;
        if (arm->role != ROLE_CONTEXT)
            fit = arm;
    }
    if (!fit)
        return err_set(err, ERR_CONFIG, "%s:%d: every arm is context: one must be the baseline",
                       p->arm[0].file, p->arm[0].line);
    arms_promote(p);
    return 0;
}

void arms_promote(struct plan *p)
{
    struct plan_arm *first = NULL;

    for (size_t i = 0; i < p->arms_nr; i++) {
        if (p->arm[i].role == ROLE_BASELINE)
            return;
        if (p->arm[i].role == ROLE_CANDIDATE && !first)
            first = &p->arm[i];
    }
    if (!first && p->arms_nr)
        first = &p->arm[0];
    if (first)
        first->role = ROLE_BASELINE;
}

static int check_twin(const struct plan *p, const struct ini_section *section, struct err *err)
{
    for (size_t i = 0; i < p->arms_nr; i++)
        if (!strcmp(p->arm[i].name, section->name))
            return section_error(err, section, "'%.200s' is the name of the arm in line %d already",
                                 section->name, p->arm[i].line);
    return 0;
}

int arms_read(struct plan *p, const struct ini *ini, struct err *err)
{
    p->arm = calloc(ini->nr ? ini->nr : 1, sizeof(*p->arm));
    if (!p->arm)
        return err_memory(err);
    for (size_t i = 0; i < ini->nr; i++) {
        const struct ini_section *section = &ini->sections[i];

        if (strcmp(section->kind, "arm") && strcmp(section->kind, "pipeline"))
            continue;
        if (check_twin(p, section, err) || read_arm(&p->arm[p->arms_nr++], ini, i, err))
            return -1;
    }
    if (p->arms_nr == 0)
        return err_set(err, ERR_CONFIG,
                       "'%.200s' has no arm: write '[arm NAME]' and below it 'kernel = NAME'",
                       p->config_name);
    return check_roles(p, err);
}
