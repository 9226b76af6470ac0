/*
 * plan_pipeline.c - `steps = sage_quant_q/vector, sage_fwd/mma(descriptor=upload)`: the steps of a
 * pipeline.
 */
#include <stdlib.h>
#include <string.h>

#include "plan_parts.h"
#include "schema.h"

/* One KEY=VALUE of a step's parentheses: an axis of its operator, else an option of its kernel. */
static int read_setting(struct plan_step *step, const char *text, const struct ini_entry *entry,
                        struct err *err)
{
    const char *equals = strchr(text, '=');
    char *key;
    int rc;

    if (!equals || equals == text || !equals[1])
        return err_set(err, ERR_CONFIG,
                       "'%.200s' in the parentheses of step '%.100s/%.100s' is not KEY=VALUE", text,
                       step->op, step->kernel);
    key = strndup(text, (size_t)(equals - text));
    if (!key)
        return err_memory(err);
    if (op_axis_find(op_model_find(step->op), key) >= 0)
        rc = pair_add(&step->axis, &step->axes_nr, key, equals + 1, entry, err);
    else
        rc = pair_add(&step->option, &step->options_nr, key, equals + 1, entry, err);
    free(key);
    return rc;
}

/* What stands between the parentheses, separated by commas or blanks. */
static int read_settings(struct plan_step *step, const char *open, const struct ini_entry *entry,
                         struct err *err)
{
    size_t len = strlen(open);

    if (open[len - 1] != ')' || strchr(open + 1, '('))
        return err_set(err, ERR_CONFIG,
                       "step '%.100s/%.100s' is not OPERATOR/KERNEL(KEY=VALUE, KEY=VALUE)",
                       step->op, step->kernel);
    for (const char *at = open + 1, *end = open + len - 1; at < end;) {
        size_t word = strcspn(at, " \t,)");
        char *text;
        int rc;

        if (word == 0) {
            at++;
            continue;
        }
        text = strndup(at, word);
        if (!text)
            return err_memory(err);
        rc = read_setting(step, text, entry, err);
        free(text);
        if (rc)
            return -1;
        at += word;
    }
    return 0;
}

static int read_step(struct plan_step *step, const char *text, const struct ini_entry *entry,
                     struct err *err)
{
    const char *open = strchrnul(text, '('), *slash = strchr(text, '/'), *end = open;

    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (!slash || slash == text || slash + 1 >= end ||
        memchr(slash + 1, '/', (size_t)(end - slash - 1)))
        return err_set(err, ERR_CONFIG, "step '%.200s' is not OPERATOR/KERNEL", text);
    step->op = strndup(text, (size_t)(slash - text));
    step->kernel = strndup(slash + 1, (size_t)(end - slash - 1));
    if (!step->op || !step->kernel)
        return err_memory(err);
    if (op_model_find(step->op))
        return *open ? read_settings(step, open, entry, err) : 0;
    if (!sab_op_find(step->op) && operator_nearest(step->op))
        return operator_unknown(step->op, err);
    return err_set(
        err, ERR_CONFIG,
        "step '%.200s': pipelines need operators that this build can judge, '%.200s' is none", text,
        step->op);
}

/* Every step but the last feeds one behind it. */
static int check_steps(const struct plan_arm *arm, struct err *err)
{
    if (arm->steps_nr < 2)
        return err_set(err, ERR_CONFIG,
                       "pipeline '%.200s' has one step: two are the least, one is an arm",
                       arm->name);
    for (size_t i = 0; i + 1 < arm->steps_nr; i++) {
        bool feeds = false;

        for (size_t j = i + 1; j < arm->steps_nr; j++)
            feeds |= chain_feeds(arm->step[i].op, arm->step[j].op);
        if (!feeds)
            return err_set(err, ERR_CONFIG,
                           "pipeline '%.200s': no output of '%.200s' is an input of a step behind "
                           "it",
                           arm->name, arm->step[i].op);
    }
    return 0;
}

/* The arm runs the case of its last step: that step's axes are the arm's overrides. */
static int take_last(struct plan_arm *arm, struct err *err)
{
    struct plan_step *last = &arm->step[arm->steps_nr - 1];
    struct strbuf name = STRBUF_INIT;

    strbuf_addf(&name, "%s/%s", last->op, last->kernel);
    arm->kernel = strbuf_detach(&name);
    arm->axis = last->axis;
    arm->axes_nr = last->axes_nr;
    last->axis = NULL;
    last->axes_nr = 0;
    return arm->kernel ? 0 : err_memory(err);
}

int arm_read_steps(struct plan_arm *arm, const struct ini_entry *entry, struct err *err)
{
    struct text_list pieces = {0};
    int rc = text_split(&pieces, entry->value, ',', err);

    if (!rc && pieces.nr == 0)
        rc = err_set(err, ERR_CONFIG, "pipeline '%.200s' has no steps", arm->name);
    if (!rc && pieces.nr > CHAIN_MAX_STEPS)
        rc = err_set(err, ERR_CONFIG, "pipeline '%.200s' has %zu steps: %d are the most", arm->name,
                     pieces.nr, CHAIN_MAX_STEPS);
    if (!rc) {
        arm->step = calloc(pieces.nr, sizeof(*arm->step));
        if (!arm->step)
            rc = err_memory(err);
    }
    while (!rc && arm->steps_nr < pieces.nr) {
        size_t at = arm->steps_nr++;

        rc = read_step(&arm->step[at], pieces.items[at], entry, err);
    }
    if (!rc)
        rc = check_steps(arm, err);
    if (!rc)
        rc = take_last(arm, err);
    text_list_release(&pieces);
    return rc ? entry_prefix(err, entry) : 0;
}
