/*
 * keys.c - every key of a configuration, and what to say of one that is none.
 */
#include <string.h>

#include "axis.h"
#include "plan_parts.h"

static const struct plan_key keys[] = {
    {"global", "rounds", "PxR", "5x24",
     "processes x rounds; R is rounded up to whole super-rounds. Named, exactly that runs; left "
     "out, processes are added until the interval is narrow enough"},
    {"global", "max_rounds", "integer", "240",
     "most rounds of a case, over all processes; named beside rounds, it lets the run be extended"},
    {"global", "max_time", "duration", "60s",
     "wall time of a case, scrubs and pauses counted; start-up, plan and checks not"},
    {"global", "timeout", "duration or auto", "auto",
     "of one case in one worker; auto: 30 s or ten times the estimate, whichever is more"},
    {"global", "check_time", "duration", "20s", "time for checking a case, outside max_time"},
    {"global", "cache", "cold dirty warm", "cold", "what the cache holds when a launch begins"},
    {"global", "pace", "burst sustained", "burst",
     "burst pauses between short runs of rounds, sustained does not"},
    {"global", "timer", "auto cupti monotonic", "auto", "what takes the times"},
    {"global", "seed", "integer", "1", "of all inputs and of the order of launches"},
    {"global", "device", "auto, cpu, cuda[:N[,M...]] or cuda:all", "auto",
     "auto takes a usable GPU, else the CPU"},
    {"global", "threads", "integer", "0", "on device cpu; 0: all that the process may use"},
    {"global", "delta", "share", "0.5%", "the smallest change that counts"},
    {"global", "noise_floor", "share or auto", "auto", "auto: what bench aa measured here"},
    {"global", "duplicate", "yes no", "yes", "time a copy of the baseline as the run's own check"},
    {"global", "out", "folder", "", "results folder; left out: results/CONFIG-DEVICE-TIME"},
    {"arm", "library", "path", "", "shared object; left out: the one built with bench"},
    {"arm", "kernel", "[OPERATOR/]KERNEL", "", "without an operator it serves every sweep"},
    {"arm", "role", "candidate baseline context", "candidate",
     "one arm is the baseline, the first where none says so; context arms get no verdict"},
    {"arm", "operator", "operator", "",
     "another operator than the sweep's: a problem of the arm's own, without a verdict"},
    {"arm", "op", "operator", "", "short for operator"},
    {"sweep", "operator", "operator", "", "left out: the sweep's name"},
    {"sweep", "op", "operator", "", "short for operator"},
    {"sweep", "where", "expression", "", "keeps the combinations for which it is not 0"},
    {"pipeline", "steps", "OPERATOR/KERNEL[(KEY=VALUE, ...)], ...", "",
     "enqueued back to back as one arm of the sweeps whose operator is the last step's. In "
     "parentheses: options of that step's kernel, axes of its operator. A step's inputs are "
     "outputs "
     "of the steps before it, where they feed it, else its own; its axes are those of the step "
     "that "
     "it feeds. parts_span_ns and parts_busy_ns of cases.csv hold the medians of each step, "
     "accuracy_rel_l2 and accuracy_cosine the last output against the operator on unquantised "
     "inputs"},
    {"pipeline", "library", "path", "", "as of an arm"},
    {"pipeline", "role", "candidate baseline context", "candidate", "as of an arm"},
    {"gate", "slower", "share or off", "off",
     "exit status 1 where an arm is slower than the baseline by more than this"},
    {"gate", "unsure", "pass fail", "pass", "exit status 5 where a verdict is UNSURE"},
    {"gate", "failed", "fail pass", "fail",
     "exit status 4 where a case crashed or timed out; pass: such rows are only listed"},
};

#define KEYS_NR   (sizeof(keys) / sizeof(keys[0]))
#define NAMES_MAX 512

const struct plan_key *plan_key_at(size_t i)
{
    return i < KEYS_NR ? &keys[i] : NULL;
}

const struct plan_key *plan_key_find(const char *section, const char *name)
{
    for (size_t i = 0; i < KEYS_NR; i++)
        if ((!section || !strcmp(section, keys[i].section)) && !strcmp(name, keys[i].name))
            return &keys[i];
    return NULL;
}

bool key_is_operator(const char *key)
{
    return !strcmp(key, "operator") || !strcmp(key, "op");
}

static bool all_axes(const struct op_model *op, const struct text_list *names)
{
    int places[2];

    for (size_t i = 0; i < names->nr; i++)
        if (!axis_targets(op, names->items[i], places))
            return false;
    return names->nr > 0;
}

bool key_is_axis(const struct op_model *op, const char *key)
{
    struct text_list names = {0};
    bool found = false;

    if (text_split(&names, key, ':', NULL) == 0) {
        if (op)
            found = all_axes(op, &names);
        for (size_t i = 0; !op && !found && op_model_at(i); i++)
            found = all_axes(op_model_at(i), &names);
    }
    text_list_release(&names);
    return found;
}

/* Whether [global] may hold it as a default of the sections below. */
static bool is_default_key(const char *name)
{
    return !strcmp(name, "library") || !strcmp(name, "kernel") || key_is_operator(name);
}

const char *key_nearest(const char *section, bool axes, const char *word)
{
    const char *names[NAMES_MAX];
    size_t nr = 0;

    for (size_t i = 0; i < KEYS_NR; i++)
        if (!section || !strcmp(keys[i].section, section) ||
            (!strcmp(section, "global") && is_default_key(keys[i].name)))
            names[nr++] = keys[i].name;
    if (axes)
        names[nr++] = AXIS_SEQLEN;
    for (size_t i = 0; axes && op_model_at(i); i++) {
        const struct op_model *op = op_model_at(i);

        for (size_t a = 0; a < op->axes_nr && nr < NAMES_MAX; a++)
            names[nr++] = op->axes[a].name;
    }
    return text_nearest(word, names, nr);
}

int key_unknown(const struct ini_entry *entry, const char *section, bool axes, struct err *err)
{
    const struct plan_key *elsewhere = plan_key_find(NULL, entry->key);
    const char *near;

    if (elsewhere)
        return ini_error(err, entry, "'%.200s' is no key of [%s]: it belongs in [%s]", entry->key,
                         section, elsewhere->section);
    near = key_nearest(section, axes, entry->key);
    if (near)
        return ini_error(err, entry, "'%.200s' is no key of [%s], did you mean '%.200s'",
                         entry->key, section, near);
    return ini_error(err, entry, "'%.200s' is no key of [%s]%s: 'bench help KEY' knows all",
                     entry->key, section, axes ? " and no axis of an operator" : "");
}
