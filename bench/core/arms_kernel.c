/*
 * arms_kernel.c - the kernels behind the names of an arm or pipeline, and what they are called.
 */
#include <string.h>

#include "arms.h"

/* What the plan says of one step: of a plain arm, the arm itself. */
struct named_step {
    const char *op, *kernel;
    const struct plan_pair *option;
    size_t options_nr;
};

static struct named_step named_step(const struct plan_arm *arm, size_t i,
                                    const struct plan_case *item)
{
    const char *slash = strchr(arm->kernel, '/');

    if (arm->steps_nr)
        return (struct named_step){arm->step[i].op, arm->step[i].kernel, arm->step[i].option,
                                   arm->step[i].options_nr};
    return (struct named_step){arm->op ? arm->op : item->c.op->name,
                               slash ? slash + 1 : arm->kernel, arm->option, arm->options_nr};
}

static int choose(const struct plan_arm *arm, const struct named_step *named,
                  const struct sab_kernel *kernel, uint32_t *choices, struct err *err)
{
    library_default_choices(kernel, choices);
    for (size_t i = 0; i < named->options_nr; i++) {
        const struct plan_pair *pair = &named->option[i];
        int option = library_find_option(kernel, pair->key, err);
        int choice =
            option < 0 ? -1 : library_find_choice(&kernel->options[option], pair->value, err);
        if (choice < 0)
            return err_prefix(err, "%s:%d: arm '%s'", pair->file, pair->line, arm->name);
        choices[option] = (uint32_t)choice;
    }
    return 0;
}

static int check_device(const struct plan_arm *arm, const struct sab_kernel *a,
                        const struct sab_kernel *b, struct err *err)
{
    if (a->device == b->device)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "%s:%d: arm '%s': '%s/%s' runs on device %s and '%s/%s' on device %s, the steps "
                   "of a pipeline run on one",
                   arm->file, arm->line, arm->name, a->op, a->name,
                   device_kind_name((enum sab_device)a->device), b->op, b->name,
                   device_kind_name((enum sab_device)b->device));
}

int arms_steps(const struct library *lib, const struct plan_arm *arm, const struct plan_case *item,
               struct arm_steps *out, struct err *err)
{
    size_t nr = arm->steps_nr ? arm->steps_nr : 1;

    out->nr = 0;
    for (size_t i = 0; i < nr; i++) {
        struct named_step named = named_step(arm, i, item);
        struct arm_step *step = &out->item[i];
        const struct library_kernel *k = library_find_kernel(lib, named.op, named.kernel, err);

        if (!k)
            return err_prefix(err, "%s:%d: arm '%s'", arm->file, arm->line, arm->name);
        step->kernel = k->row;
        if (choose(arm, &named, k->row, step->choices, err) ||
            check_device(arm, out->item[0].kernel, k->row, err))
            return -1;
    }
    out->nr = nr;
    return 0;
}

void arm_entry_steps(const struct arm_entry *entry, const struct plan *plan,
                     const struct plan_case *item, struct arm_steps *out)
{
    const struct plan_arm *arm = &plan->arm[entry->plan_arm];

    out->nr = 0;
    if (plan_arm_serves(arm, item))
        arms_steps(entry->lib, arm, item, out, NULL);
}

void arm_steps_add_name(const struct arm_steps *steps, struct strbuf *sb)
{
    for (size_t i = 0; i < steps->nr; i++)
        strbuf_addf(sb, "%s%s/%s", i ? ARM_STEP_JOIN : "", steps->item[i].kernel->op,
                    steps->item[i].kernel->name);
}

void arm_steps_add_options(const struct arm_steps *steps, struct strbuf *sb)
{
    for (size_t i = 0; i < steps->nr; i++) {
        const struct sab_kernel *k = steps->item[i].kernel;

        for (uint32_t o = 0; o < k->options_nr; o++)
            strbuf_addf(sb, "%s%s%s%s=%s", sb->len ? " " : "", steps->nr > 1 ? k->op : "",
                        steps->nr > 1 ? "." : "", k->options[o].name,
                        k->options[o].choices[steps->item[i].choices[o]].name);
    }
}

void arm_steps_add_hazards(const struct arm_steps *steps, struct strbuf *sb)
{
    static const char *const names[] = {"zeroed",       "stale_valid", "recycled_view",
                                        "graph_replay", "no_growth",   "ordered_streams",
                                        "empty",        "degenerate"};
    uint32_t hazards = 0;

    for (size_t i = 0; i < steps->nr; i++)
        for (uint32_t o = 0; o < steps->item[i].kernel->options_nr; o++)
            hazards |= steps->item[i].kernel->options[o].choices[steps->item[i].choices[o]].hazards;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (hazards & (1u << i))
            strbuf_addf(sb, "%s%s", sb->len ? " " : "", names[i]);
}
