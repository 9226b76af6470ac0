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

const char *arms_kernel_name(const struct plan_arm *arm)
{
    const char *slash = strchr(arm->kernel, '/');
    return slash ? slash + 1 : arm->kernel;
}

int arms_choices(const struct plan_arm *arm, const struct sab_kernel *kernel, uint32_t *choices,
                 struct err *err)
{
    library_default_choices(kernel, choices);
    for (size_t i = 0; i < arm->options_nr; i++) {
        const struct plan_pair *pair = &arm->option[i];
        int option = library_find_option(kernel, pair->key, err);
        int choice =
            option < 0 ? -1 : library_find_choice(&kernel->options[option], pair->value, err);
        if (choice < 0)
            return err_prefix(err, "%s:%d: arm '%s'", pair->file, pair->line, arm->name);
        choices[option] = (uint32_t)choice;
    }
    return 0;
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

static const struct library_kernel *kernel_of(const struct library *lib, const struct plan_arm *arm,
                                              const struct plan_case *item, struct err *err)
{
    const char *op = arm->op ? arm->op : item->c.op->name;
    return library_find_kernel(lib, op, arms_kernel_name(arm), err);
}

const struct sab_kernel *arm_entry_kernel(const struct arm_entry *entry, const struct plan *plan,
                                          const struct plan_case *item)
{
    const struct plan_arm *arm = &plan->arm[entry->plan_arm];
    if (!plan_arm_serves(arm, item))
        return NULL;
    const struct library_kernel *k = kernel_of(entry->lib, arm, item, NULL);
    return k ? k->row : NULL;
}

/* Looks an arm's kernels and options up for every case it serves. *on_device: some of them run
 * there; *elsewhere names a device that they run on instead. */
static int arm_check(const struct plan *plan, const struct plan_arm *arm, const struct library *lib,
                     enum sab_device kind, bool *on_device, bool *serves, struct err *err)
{
    const struct op_model *last = NULL;
    uint32_t choices[SAB_MAX_OPTIONS];

    *on_device = *serves = false;
    for (size_t i = 0; i < plan->nr; i++) {
        const struct plan_case *item = &plan->item[i];
        if (item->c.op == last || !plan_arm_serves(arm, item))
            continue;
        last = item->c.op;
        *serves = true;
        const struct library_kernel *k = kernel_of(lib, arm, item, err);
        if (!k)
            return err_prefix(err, "%s:%d: arm '%s'", arm->file, arm->line, arm->name);
        if (arms_choices(arm, k->row, choices, err))
            return -1;
        if (k->row->device == (int32_t)kind)
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

/* The named baseline, or the first arm that is left and is no context. */
static struct arm_entry *baseline_choose(struct arm_set *set, const struct plan *plan)
{
    struct arm_entry *first = NULL;
    for (size_t i = 0; i < set->nr; i++) {
        enum plan_role role = plan->arm[set->item[i].plan_arm].role;
        if (role == ROLE_BASELINE)
            return &set->item[i];
        if (!first && role != ROLE_CONTEXT)
            first = &set->item[i];
    }
    return first ? first : set->nr ? &set->item[0] : NULL;
}

static int duplicate_add(struct arm_set *set, const struct plan *plan, struct err *err)
{
    struct arm_entry *base = baseline_choose(set, plan);
    struct strbuf label = STRBUF_INIT;
    int ret;

    if (!base)
        return 0;
    base->baseline = true;
    if (!plan->set.duplicate)
        return 0;
    strbuf_addf(&label, "%s'", base->label);
    ret = entry_add(set, base->plan_arm, label.buf, base->lib, err);
    strbuf_release(&label);
    if (!ret)
        set->item[set->nr - 1].duplicate = true;
    return ret;
}

int arm_set_resolve(struct arm_set *set, const struct plan *plan, enum sab_device kind,
                    const char *own_library, struct err *err)
{
    for (size_t i = 0; i < plan->arms_nr; i++) {
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
        if (!lib)
            return -1;
        if (arm_check(plan, arm, lib, kind, &on_device, &serves, err))
            return -1;
        if (!serves)
            strbuf_addf(&set->notes, "arm '%s' is left out: no case of this run is for '%s'\n",
                        arm->name, arm->kernel);
        else if (!on_device)
            strbuf_addf(&set->notes, "arm '%s' is left out: its kernel does not run on device %s\n",
                        arm->name, device_kind_name(kind));
        else if (entry_add(set, i, arm->name, lib, err))
            return -1;
    }
    if (!set->nr)
        return err_set(err, ERR_ENVIRONMENT,
                       "no arm of this configuration has a kernel for device %s",
                       device_kind_name(kind));
    return duplicate_add(set, plan, err);
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
        if (library_open_copy(&e->copy, e->origin, copies_dir(), err))
            return err_prefix(err, "arm '%s'", e->label);
        e->copied = true;
    }
    return 0;
}

const char *arm_entry_file(const struct arm_entry *entry)
{
    return entry->copied ? entry->copy.copy_path : entry->origin;
}
