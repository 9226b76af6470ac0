/*
 * completion_fish.c - one `complete` a flag and command.
 */
#include <string.h>

#include "completion.h"

static void add_quoted(struct strbuf *sb, const char *text)
{
    strbuf_addch(sb, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            strbuf_addch(sb, '\\');
        strbuf_addch(sb, *text);
    }
    strbuf_addch(sb, '\'');
}

/* What `complete` is told of the words: -f keeps files out, -F lets them in. */
static int add_words(struct strbuf *sb, enum completion_words kind, const char *choices,
                     struct err *err)
{
    switch (kind) {
    case WORDS_NONE:
        strbuf_addstr(sb, " -f");
        return 0;
    case WORDS_CHOICES:
        strbuf_addf(sb, " -f -a '%s'", choices);
        return 0;
    case WORDS_FILES:
        strbuf_addstr(sb, " -F");
        return 0;
    case WORDS_FOLDERS:
        strbuf_addstr(sb, " -f -a '(__fish_complete_directories)'");
        return 0;
    case WORDS_REFS:
        strbuf_addstr(sb, " -F -a 'WORKTREE (git for-each-ref --format=\"%(refname:short)\" "
                          "2> /dev/null)'");
        return 0;
    case WORDS_TOPICS:
        break;
    }
    strbuf_addstr(sb, " -f -a '");
    int ret = completion_add_topics(sb, err);
    strbuf_addstr(sb, "'");
    return ret;
}

/* Flags alone mean run. */
static void add_condition(struct strbuf *sb, const struct command *c)
{
    if (!strcmp(c->name, "run"))
        strbuf_addstr(sb, "complete -c bench -n '__bench_runs'");
    else
        strbuf_addf(sb, "complete -c bench -n '__bench_command %s'", c->name);
}

static int add_command(struct strbuf *sb, const struct command *c, struct err *err)
{
    struct completion_flags flags;
    const char *choices;
    enum completion_words kind = completion_arguments(c, &choices);
    int ret = completion_flags_of(c, &flags, err);

    for (size_t k = 0; k < flags.nr && !ret; k++) {
        const struct completion_flag *f = &flags.item[k];

        add_condition(sb, c);
        strbuf_addf(sb, " -l %s", f->name);
        if (f->letter)
            strbuf_addf(sb, " -s %c", f->letter);
        if (f->argument) {
            strbuf_addstr(sb, " -r");
            ret = add_words(sb, f->words, f->choices, err);
        }
        strbuf_addstr(sb, " -d ");
        add_quoted(sb, f->help);
        strbuf_addch(sb, '\n');
    }
    completion_flags_release(&flags);
    if (ret)
        return -1;
    strbuf_addf(sb, "complete -c bench -n '__bench_command %s'", c->name);
    ret = add_words(sb, kind, choices, err);
    strbuf_addch(sb, '\n');
    return ret;
}

int completion_fish(struct strbuf *sb, struct err *err)
{
    int ret = 0;

    strbuf_addstr(sb, "# fish completion for bench, made by `bench completion fish`\n"
                      "function __bench_command\n"
                      "    set -l words (commandline -opc)\n"
                      "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
                      "end\n"
                      "function __bench_none\n"
                      "    test (count (commandline -opc)) -eq 1\n"
                      "end\n"
                      "function __bench_runs\n"
                      "    set -l words (commandline -opc)\n"
                      "    test (count $words) -eq 1; and return 0\n"
                      "    string match -qr '^(-.*|run)$' -- $words[2]\n"
                      "end\n");
    for (size_t i = 0; command_at(i); i++) {
        strbuf_addf(sb, "complete -c bench -n __bench_none -f -a %s -d ", command_at(i)->name);
        add_quoted(sb, command_at(i)->summary);
        strbuf_addch(sb, '\n');
    }
    for (size_t i = 0; command_at(i) && !ret; i++)
        ret = add_command(sb, command_at(i), err);
    return ret;
}
