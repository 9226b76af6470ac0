#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "completion.h"
#include "exit.h"
#include "option.h"
#include "plan.h"
#include "reasons.h"

static int overview(void)
{
    printf("usage: bench help [TOPIC]\n\nA topic is a command, a configuration key, an axis or a "
           "reason.\n\nCommands:\n");
    for (size_t i = 0; command_at(i); i++)
        printf("  %-14s %s\n", command_at(i)->name, command_at(i)->summary);
    printf("\nConfiguration keys:\n");
    for (size_t i = 0; plan_key_at(i); i++)
        printf("  %-9s %-14s %s\n", plan_key_at(i)->section, plan_key_at(i)->name,
               plan_key_at(i)->help);
    printf("\nReasons:\n");
    for (size_t i = 0; reason_at(i); i++)
        printf("  %-16s %s\n", reason_at(i)->code, reason_at(i)->sentence);
    printf("\n`bench list --operators` prints the axes of every operator.\n");
    return EXIT_OK;
}

static bool help_command(const char *topic)
{
    const struct command *c = command_find(topic);

    if (!c)
        return false;
    printf("bench %s %s\n  %s\n  `bench %s --help` prints its options\n", c->name, c->usage,
           c->summary, c->name);
    return true;
}

/* `topic` may be "sweep.batch": a section and a key. */
static bool help_key(const char *topic)
{
    const char *dot = strrchr(topic, '.'), *name = dot ? dot + 1 : topic;
    size_t section = dot ? strcspn(topic, ".") : 0;
    bool found = false;

    for (size_t i = 0; plan_key_at(i); i++) {
        const struct plan_key *k = plan_key_at(i);
        bool same_section =
            !dot || (strlen(k->section) == section && !strncmp(k->section, topic, section));

        if (strcmp(k->name, name) != 0 || !same_section)
            continue;
        printf("[%s] %s = %s\n  %s\n", k->section, k->name, k->kind ? k->kind : "", k->help);
        if (k->initial && *k->initial)
            printf("  default: %s\n", k->initial);
        found = true;
    }
    return found;
}

static bool help_axis(const char *topic)
{
    bool found = false;

    for (size_t i = 0; op_model_at(i); i++) {
        const struct op_model *op = op_model_at(i);
        for (size_t a = 0; a < op->axes_nr; a++) {
            const struct axis_spec *x = &op->axes[a];
            if (strcmp(x->name, topic) != 0)
                continue;
            printf("axis %s of %s = %s%s%s\n  %s\n", x->name, op->name, x->initial,
                   x->words ? ", one of: " : "", x->words ? x->words : "", x->help);
            found = true;
        }
    }
    return found;
}

static bool help_reason(const char *topic)
{
    const struct reason *r = reason_find(topic);

    if (!r)
        return false;
    printf("reason %s\n  %s\n  what to do: %s\n", r->code, r->sentence, r->remedy);
    return true;
}

int help_topics(struct text_list *list, struct err *err)
{
    for (size_t i = 0; command_at(i); i++)
        if (text_list_add(list, command_at(i)->name, err))
            return -1;
    for (size_t i = 0; plan_key_at(i); i++)
        if (text_list_add(list, plan_key_at(i)->name, err))
            return -1;
    for (size_t i = 0; reason_at(i); i++)
        if (text_list_add(list, reason_at(i)->code, err))
            return -1;
    for (size_t i = 0; op_model_at(i); i++)
        for (size_t a = 0; a < op_model_at(i)->axes_nr; a++)
            if (text_list_add(list, op_model_at(i)->axes[a].name, err))
                return -1;
    return 0;
}

static void unknown_topic(const char *topic, struct err *err)
{
    struct text_list names = {0};

    if (!help_topics(&names, err)) {
        const char *near = text_nearest(topic, (const char *const *)names.items, names.nr);
        if (near)
            err_set(err, ERR_CONFIG, "no help topic '%.100s', did you mean '%s'", topic, near);
        else
            err_set(err, ERR_CONFIG, "no help topic '%.100s', `bench help` lists them", topic);
    }
    text_list_release(&names);
}

int cmd_help(int argc, const char **argv)
{
    struct err err = ERR_INIT;

    if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
        return overview();
    for (int i = 0; i < argc; i++) {
        const char *topic = argv[i];
        while (*topic == '-')
            topic++;
        /* Every kind of topic has its say: `clock` may be a reason and a key. */
        bool known = help_command(topic);
        known |= help_key(topic);
        known |= help_axis(topic);
        known |= help_reason(topic);
        if (!known) {
            unknown_topic(argv[i], &err);
            return exit_report(&err);
        }
    }
    return EXIT_OK;
}
