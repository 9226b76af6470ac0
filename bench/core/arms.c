#include "arms.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

void arm_set_init(struct arm_set *set)
{
    memset(set, 0, sizeof(*set));
    strbuf_init(&set->notes);
}

void arm_set_release(struct arm_set *set)
{
    for (size_t i = 0; i < set->nr; i++) {
        if (set->item[i].copied)
            library_close(&set->item[i].copy);
        free(set->item[i].label);
        free(set->item[i].origin);
        free(set->item[i].against);
        free(set->item[i].describe);
    }
    free(set->item);
    for (size_t i = 0; i < set->libraries_nr; i++) {
        library_close(set->library[i]);
        free(set->library[i]);
    }
    free(set->library);
    strbuf_release(&set->notes);
    arm_set_init(set);
}

int arms_axis_names(const struct plan *plan, struct text_list *names, struct err *err)
{
    const struct op_model *last = NULL;
    for (size_t i = 0; i < plan->nr; i++) {
        const struct op_model *op = plan->item[i].c.op;
        if (op == last)
            continue;
        last = op;
        for (size_t a = 0; a < op->axes_nr; a++) {
            size_t k = 0;
            while (k < names->nr && strcmp(names->items[k], op->axes[a].name))
                k++;
            if (k == names->nr && text_list_add(names, op->axes[a].name, err))
                return -1;
        }
    }
    return 0;
}

/* Relative paths are relative to the file that names them; those of flags to the working folder. */
static char *library_path(const struct plan_arm *arm, const char *own_library, struct err *err)
{
    struct strbuf sb = STRBUF_INIT, dir = STRBUF_INIT;
    char real[PATH_MAX];

    if (!arm->library) {
        strbuf_addstr(&sb, own_library);
    } else {
        if (arm->file)
            file_add_dir(&dir, arm->file);
        file_add_path(&sb, dir.buf, arm->library);
    }
    strbuf_release(&dir);
    if (sb.oom || !*sb.buf || !realpath(sb.buf, real)) {
        err_set(err, ERR_CONFIG, "%s:%d: arm '%s': no library '%s'%s", arm->file ? arm->file : "-",
                arm->line, arm->name, sb.buf,
                arm->library ? "; write the path of a file that exists"
                             : " beside this program; build it, or name one with library =");
        strbuf_release(&sb);
        return NULL;
    }
    strbuf_release(&sb);
    char *copy = strdup(real);
    if (!copy)
        err_memory(err);
    return copy;
}

static struct library *library_get(struct arm_set *set, const char *path, struct err *err)
{
    for (size_t i = 0; i < set->libraries_nr; i++)
        if (!strcmp(set->library[i]->path, path))
            return set->library[i];
    struct library **grown = realloc(set->library, (set->libraries_nr + 1) * sizeof(*grown));
    struct library *lib = calloc(1, sizeof(*lib));
    if (grown)
        set->library = grown;
    if (!grown || !lib) {
        free(lib);
        err_memory(err);
        return NULL;
    }
    if (library_open(lib, path, err)) {
        free(lib);
        return NULL;
    }
    set->library[set->libraries_nr++] = lib;
    for (size_t i = 0; i < lib->notes.nr; i++)
        strbuf_addf(&set->notes, "%s\n", lib->notes.items[i]);
    return lib;
}

/* Looks an arm's kernels and options up for every case it serves. *on_device: some of them run
 * there; *elsewhere names a device that they run on instead. */
static int arm_check(const struct plan *plan, const struct plan_arm *arm, const struct library *lib,
                     enum sab_device kind, bool *on_device, bool *serves, struct err *err)
{
    const struct op_model *last = NULL;
    struct arm_steps steps;

    *on_device = *serves = false;
    for (size_t i = 0; i < plan->nr; i++) {
        const struct plan_case *item = &plan->item[i];
        if (item->c.op == last || !plan_arm_serves(arm, item))
            continue;
        last = item->c.op;
        *serves = true;
        if (arms_steps(lib, arm, item, &steps, err))
            return -1;
        if (steps.item[0].kernel->device == (int32_t)kind)
            *on_device = true;
    }
    return 0;
}

static int entry_add(struct arm_set *set, size_t plan_arm, const char *label,
                     const struct library *lib, struct err *err)
{
    struct arm_entry *grown = realloc(set->item, (set->nr + 1) * sizeof(*grown));
    if (!grown)
        return err_memory(err);
    set->item = grown;
    struct arm_entry *e = &set->item[set->nr];
    memset(e, 0, sizeof(*e));
    e->plan_arm = plan_arm;
    e->label = strdup(label);
    e->origin = strdup(lib->path);
    e->lib = lib;
    set->nr++;
    return e->label && e->origin ? 0 : err_memory(err);
}

static const struct arm_entry *entry_find(const struct arm_set *set, const char *label)
{
    for (size_t i = 0; i < set->nr; i++)
        if (!strcmp(set->item[i].label, label))
            return &set->item[i];
    return NULL;
}

static const struct arm_entry *case_baseline(const struct arm_set *set, const struct plan *plan,
                                             const struct plan_case *item)
{
    const struct arm_entry *first = NULL, *any = NULL;
    for (size_t i = 0; i < set->nr; i++) {
        const struct arm_entry *e = &set->item[i];
        const struct plan_arm *arm = &plan->arm[e->plan_arm];
        if (e->duplicate || e->against || !plan_arm_serves(arm, item))
            continue;
        if (arm->role == ROLE_BASELINE)
            return e;
        if (!any)
            any = e;
        if (!first && arm->role != ROLE_CONTEXT)
            first = e;
    }
    return first ? first : any;
}

const struct arm_entry *arm_set_against(const struct arm_set *set, const struct plan *plan,
                                        const struct plan_case *item, const struct arm_entry *entry)
{
    if (!plan_arm_serves(&plan->arm[entry->plan_arm], item))
        return NULL;
    if (entry->base)
        return entry;
    const struct arm_entry *other =
        entry->against ? entry_find(set, entry->against) : case_baseline(set, plan, item);
    if (entry->duplicate && other && arm_set_against(set, plan, item, other) != other)
        return NULL;
    return other;
}

static int duplicate_add(struct arm_set *set, size_t of, struct err *err)
{
    struct strbuf label = STRBUF_INIT;

    for (size_t i = 0; i < set->nr; i++)
        if (set->item[i].duplicate && !strcmp(set->item[i].against, set->item[of].label))
            return 0;
    strbuf_addf(&label, "%s'", set->item[of].label);
    int ret = entry_add(set, set->item[of].plan_arm, label.buf, set->item[of].lib, err);
    strbuf_release(&label);
    if (ret)
        return -1;
    struct arm_entry *e = &set->item[set->nr - 1];
    e->duplicate = true;
    e->against = strdup(set->item[of].label);
    return e->against ? 0 : err_memory(err);
}

/* Every arm that is the baseline of some case gets its A'; of the arms of `bench ab` the first. */
static int duplicates_add(struct arm_set *set, const struct plan *plan, struct err *err)
{
    const struct op_model *last = NULL;

    for (size_t i = 0; plan->set.duplicate && i < plan->nr; i++) {
        if (plan->item[i].c.op == last)
            continue;
        last = plan->item[i].c.op;
        for (size_t k = 0; k < set->nr; k++) {
            if (set->item[k].duplicate ||
                arm_set_against(set, plan, &plan->item[i], &set->item[k]) != &set->item[k])
                continue;
            if (duplicate_add(set, k, err))
                return -1;
            break;
        }
    }
    return 0;
}

static int resolve_arm(struct arm_set *set, const struct plan *plan, size_t i, enum sab_device kind,
                       const char *own_library, struct err *err)
{
    const struct plan_arm *arm = &plan->arm[i];
    bool on_device, serves;
    char *path = library_path(arm, own_library, err);
    struct library *lib = path ? library_get(set, path, err) : NULL;
    /* A path that is none was named with its line already. */
    bool refused = path && !lib;

    free(path);
    if (refused)
        return err_prefix(err, "%s:%d: arm '%s'", arm->file ? arm->file : "-", arm->line,
                          arm->name);
    if (!lib || arm_check(plan, arm, lib, kind, &on_device, &serves, err))
        return -1;
    if (!serves)
        strbuf_addf(&set->notes, "arm '%s' is left out: no case of this run is for '%s'\n",
                    arm->name, arm->kernel);
    else if (!on_device)
        strbuf_addf(&set->notes, "arm '%s' is left out: its kernel does not run on device %s\n",
                    arm->name, device_kind_name(kind));
    else
        return entry_add(set, i, arm->name, lib, err);
    return 0;
}

/* One arm at one variant. *base is the label of the arm at the first variant, once it is there. */
static int resolve_variant(struct arm_set *set, const struct plan *plan, size_t i,
                           enum sab_device kind, const struct arm_variant *v, char **base,
                           struct err *err)
{
    const struct plan_arm *arm = &plan->arm[i];
    struct strbuf label = STRBUF_INIT;
    struct err why = ERR_INIT;
    bool on_device = false, serves = false;
    struct library *lib = library_get(set, v->library, err);
    int ret = -1;

    if (!lib)
        return -1;
    strbuf_addf(&label, "%s@%s", arm->name, v->label);
    if (arm_check(plan, arm, lib, kind, &on_device, &serves, &why)) {
        strbuf_addf(&set->notes, "arm '%s' is left out: %s\n", label.buf, why.text);
        ret = 0;
    } else if (!serves || !on_device) {
        strbuf_addf(&set->notes, "arm '%s' is left out: it has no case or no kernel on device %s\n",
                    label.buf, device_kind_name(kind));
        ret = 0;
    } else if (!entry_add(set, i, label.buf, lib, err)) {
        struct arm_entry *e = &set->item[set->nr - 1];
        e->base = !*base;
        e->describe = strdup(v->describe);
        if (*base)
            e->against = strdup(*base);
        else
            *base = strdup(label.buf);
        ret = e->describe && *base && (e->base || e->against) ? 0 : err_memory(err);
    }
    strbuf_release(&label);
    return ret;
}

int arm_set_resolve(struct arm_set *set, const struct plan *plan, enum sab_device kind,
                    const char *own_library, const struct arm_variant *variants, size_t variants_nr,
                    struct err *err)
{
    for (size_t i = 0; i < plan->arms_nr; i++) {
        const struct plan_arm *arm = &plan->arm[i];
        char *base = NULL;
        int ret = 0;
        if (!variants_nr || arm->library || arm->role == ROLE_CONTEXT)
            ret = resolve_arm(set, plan, i, kind, own_library, err);
        else
            for (size_t v = 0; v < variants_nr && !ret; v++)
                ret = resolve_variant(set, plan, i, kind, &variants[v], &base, err);
        free(base);
        if (ret)
            return -1;
    }
    if (!set->nr)
        return err_set(err, ERR_ENVIRONMENT,
                       "no arm of this configuration has a kernel for device %s",
                       device_kind_name(kind));
    if (duplicates_add(set, plan, err))
        return -1;
    if (set->nr > ARM_SET_MAX)
        return err_set(err, ERR_CONFIG,
                       "%zu arms, with copies of baselines, are too many: at most %d", set->nr,
                       ARM_SET_MAX);
    return 0;
}

bool arm_set_serves(const struct plan *plan, enum sab_device kind, const char *own_library)
{
    struct arm_set set;
    bool serves = false;

    arm_set_init(&set);
    for (size_t i = 0; i < plan->arms_nr && !serves; i++) {
        const struct plan_arm *arm = &plan->arm[i];
        bool on_device = false, any;
        char *path = library_path(arm, own_library, NULL);
        struct library *lib = path ? library_get(&set, path, NULL) : NULL;
        free(path);
        if (lib && !arm_check(plan, arm, lib, kind, &on_device, &any, NULL) && on_device &&
            arm->role != ROLE_CONTEXT)
            serves = true;
    }
    arm_set_release(&set);
    return serves;
}

/* Where private copies lie while a run lasts. */
static const char *copies_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

int arm_set_copy(struct arm_set *set, struct err *err)
{
    library_sweep_stale(copies_dir());
    for (size_t i = 0; i < set->nr; i++) {
        struct arm_entry *e = &set->item[i];
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= !strcmp(set->item[k].origin, e->origin);
        if (!again)
            continue;
        if (library_open_copy(&e->copy, e->origin, e->lib->sha256, copies_dir(), err))
            return err_prefix(err, "arm '%s'", e->label);
        e->copied = true;
    }
    return 0;
}

const char *arm_entry_file(const struct arm_entry *entry)
{
    return entry->copied ? entry->copy.copy_path : entry->origin;
}
