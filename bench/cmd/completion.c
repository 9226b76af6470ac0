#include "completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axis.h"
#include "exit.h"
#include "plan.h"
#include "words.h"

struct completion_args {
    bool help;
};

static const struct option_row options[] = {
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct completion_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *completion_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static const struct words words = {
    "usage: bench completion bash|zsh|fish|man\n\n"
    "Prints what a shell needs to complete the words of bench, or the manual page.\n"
    "An installed bench has brought them along; else:\n\n"
    "  eval \"$(bench completion bash)\"\n"
    "  bench completion zsh > ~/.zfunc/_bench\n"
    "  bench completion fish > ~/.config/fish/completions/bench.fish\n"
    "  bench completion man | man -l -\n\n",
    options, OPTIONS_NR};

static const struct {
    const char *name;
    int (*print)(struct strbuf *sb, struct err *err);
} kinds[] = {
    {"bash", completion_bash},
    {"zsh", completion_zsh},
    {"fish", completion_fish},
    {"man", completion_manual},
};
#define KINDS "bash zsh fish man"
#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* ---- flags ---- */

static int add_flag(struct completion_flags *out, const struct completion_flag *flag,
                    struct err *err)
{
    for (size_t i = 0; i < out->nr; i++)
        if (!strcmp(out->item[i].name, flag->name))
            return 0;
    if (out->nr == out->alloc) {
        size_t alloc = out->alloc ? 2 * out->alloc : 64;
        struct completion_flag *grown = realloc(out->item, alloc * sizeof(*grown));

        if (!grown)
            return err_memory(err);
        out->item = grown;
        out->alloc = alloc;
    }
    out->item[out->nr++] = *flag;
    return 0;
}

/* The words for a value by its name in the help. */
static enum completion_words words_of(const char *argument)
{
    if (!strcmp(argument, "FILE") || !strcmp(argument, "path"))
        return WORDS_FILES;
    return !strcmp(argument, "DIR") || !strcmp(argument, "folder") ? WORDS_FOLDERS : WORDS_NONE;
}

static int add_option(struct completion_flags *out, const struct option_row *row, struct err *err)
{
    const struct completion_flag flag = {
        .name = row->name,
        .letter = row->letter,
        .argument = row->argument,
        .help = row->help,
        .words = row->argument ? words_of(row->argument) : WORDS_NONE,
        .again = row->kind == OPTION_LIST,
    };

    return add_flag(out, &flag, err);
}

/* "cold dirty warm" is a list of words, "share or auto" describes. */
static bool is_choices(const char *kind)
{
    return strchr(kind, ' ') && !strstr(kind, " or ") &&
           kind[strspn(kind, "abcdefghijklmnopqrstuvwxyz ")] == '\0';
}

static int add_key(struct completion_flags *out, const struct plan_key *key, struct err *err)
{
    struct completion_flag flag = {.name = key->name, .argument = "VALUE", .help = key->help};

    if (!strcmp(key->name, "device")) {
        flag.words = WORDS_CHOICES;
        flag.choices = "auto cpu cuda cuda:all";
    } else if (is_choices(key->kind)) {
        flag.words = WORDS_CHOICES;
        flag.choices = key->kind;
    } else {
        flag.words = words_of(key->kind);
    }
    return add_flag(out, &flag, err);
}

/* Keys that are a flag by their bare name. */
static bool is_bare(const struct plan_key *key)
{
    return !strcmp(key->section, "global") || !strcmp(key->section, "gate") ||
           !strcmp(key->name, "where") ||
           (!strcmp(key->section, "arm") &&
            (!strcmp(key->name, "library") || !strcmp(key->name, "kernel")));
}

static int add_keys(struct completion_flags *out, struct err *err)
{
    static const struct completion_flag seqlen = {
        .name = AXIS_SEQLEN, .argument = "VALUES", .help = "both seqlen_q and seqlen_k"};

    if (add_flag(out, &seqlen, err))
        return -1;
    for (size_t i = 0; plan_key_at(i); i++)
        if (is_bare(plan_key_at(i)) && add_key(out, plan_key_at(i), err))
            return -1;
    for (size_t i = 0; op_model_at(i); i++) {
        const struct op_model *op = op_model_at(i);
        for (size_t a = 0; a < op->axes_nr; a++) {
            const struct completion_flag flag = {
                .name = op->axes[a].name,
                .argument = "VALUES",
                .help = op->axes[a].help,
                .words = op->axes[a].words ? WORDS_CHOICES : WORDS_NONE,
                .choices = op->axes[a].words,
            };
            if (add_flag(out, &flag, err))
                return -1;
        }
    }
    return 0;
}

int completion_flags_of(const struct command *c, struct completion_flags *out, struct err *err)
{
    static const struct completion_flag help = {
        .name = "help", .letter = 'h', .help = "print help"};

    *out = (struct completion_flags){0};
    for (size_t i = 0; i < command_options_nr(c); i++) {
        struct option_row row;
        if (command_option(c, i, &row) && add_option(out, &row, err))
            return -1;
    }
    if (!c->options && add_flag(out, &help, err))
        return -1;
    return command_takes_keys(c) ? add_keys(out, err) : 0;
}

void completion_flags_release(struct completion_flags *flags)
{
    free(flags->item);
    *flags = (struct completion_flags){0};
}

/* ---- arguments ---- */

enum completion_words completion_arguments(const struct command *c, const char **choices)
{
    static const struct {
        const char *begins;
        enum completion_words words;
    } by_usage[] = {
        {"--config", WORDS_FILES}, {"BASE", WORDS_REFS},   {"DIR", WORDS_FOLDERS},
        {"OLD", WORDS_FOLDERS},    {"OUT", WORDS_FOLDERS}, {"[TOPIC]", WORDS_TOPICS},
        {"bash", WORDS_CHOICES},
    };

    *choices = KINDS;
    for (size_t i = 0; i < NR(by_usage); i++)
        if (text_starts_with(c->usage, by_usage[i].begins))
            return by_usage[i].words;
    return WORDS_NONE;
}

int completion_add_topics(struct strbuf *sb, struct err *err)
{
    struct text_list topics = {0};
    int ret = help_topics(&topics, err);

    for (size_t i = 0; !ret && i < topics.nr; i++)
        strbuf_addf(sb, "%s%s", i ? " " : "", topics.items[i]);
    text_list_release(&topics);
    return ret;
}

/* ---- the command ---- */

static void print(const char *kind, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    const char *names[NR(kinds)], *near;

    for (size_t i = 0; i < NR(kinds); i++) {
        names[i] = kinds[i].name;
        if (strcmp(kind, kinds[i].name))
            continue;
        if (!kinds[i].print(&sb, err)) {
            if (sb.oom)
                err_memory(err);
            else
                fputs(sb.buf, stdout);
        }
        strbuf_release(&sb);
        return;
    }
    near = text_nearest(kind, names, NR(kinds));
    err_set(err, ERR_CONFIG, "'%.100s' is none of bash, zsh, fish and man%s%s%s", kind,
            near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
}

int cmd_completion(int argc, const char **argv)
{
    struct completion_args args = {0};
    struct option_result result;
    struct err err = ERR_INIT;
    int status;

    if (!words_parse(&words, &args, &args.help, argc, argv, &result, &status))
        return status;
    if (result.nr_args != 1)
        err_set(&err, ERR_CONFIG,
                "completion takes one word, %zu were given: bench completion bash|zsh|fish|man",
                result.nr_args);
    else
        print(result.args[0], &err);
    option_result_release(&result);
    return exit_report(&err);
}
