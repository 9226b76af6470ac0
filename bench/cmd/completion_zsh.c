/*
 * completion_zsh.c - a function for $fpath, by _arguments and _describe.
 */
#include <stdio.h>
#include <string.h>

#include "completion.h"

/* Inside '...' of a specification: brackets and colons are its own. */
static void add_text(struct strbuf *sb, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_addstr(sb, "'\\''");
        else if (strchr("[]:\\", *text))
            strbuf_addf(sb, "\\%c", *text);
        else
            strbuf_addch(sb, *text);
    }
}

/* The action of a specification. */
static int add_action(struct strbuf *sb, enum completion_words kind, const char *choices,
                      struct err *err)
{
    switch (kind) {
    case WORDS_NONE:
        strbuf_addstr(sb, " ");
        return 0;
    case WORDS_CHOICES:
        strbuf_addf(sb, "(%s)", choices);
        return 0;
    case WORDS_FILES:
        strbuf_addstr(sb, "_files");
        return 0;
    case WORDS_FOLDERS:
        strbuf_addstr(sb, "_files -/");
        return 0;
    case WORDS_REFS:
        strbuf_addstr(sb, "_bench_refs");
        return 0;
    case WORDS_TOPICS:
        break;
    }
    strbuf_addch(sb, '(');
    int ret = completion_add_topics(sb, err);
    strbuf_addch(sb, ')');
    return ret;
}

static int add_spec(struct strbuf *sb, const struct completion_flag *f, const char *dashed,
                    struct err *err)
{
    int ret = 0;

    strbuf_addf(sb, " \\\n            '%s%s%s[", f->again ? "*" : "", dashed,
                f->argument && dashed[1] == '-' ? "=" : "");
    add_text(sb, f->help);
    strbuf_addch(sb, ']');
    if (f->argument) {
        strbuf_addch(sb, ':');
        add_text(sb, f->argument);
        strbuf_addch(sb, ':');
        ret = add_action(sb, f->words, f->choices, err);
    }
    strbuf_addch(sb, '\'');
    return ret;
}

static int add_command(struct strbuf *sb, const struct command *c, struct err *err)
{
    struct completion_flags flags;
    const char *choices;
    enum completion_words kind = completion_arguments(c, &choices);
    int ret = completion_flags_of(c, &flags, err);
    char dashed[128];

    strbuf_addf(sb, "    %s)\n        _arguments", c->name);
    for (size_t k = 0; k < flags.nr && !ret; k++) {
        snprintf(dashed, sizeof(dashed), "--%s", flags.item[k].name);
        ret = add_spec(sb, &flags.item[k], dashed, err);
        snprintf(dashed, sizeof(dashed), "-%c", flags.item[k].letter);
        if (!ret && flags.item[k].letter)
            ret = add_spec(sb, &flags.item[k], dashed, err);
    }
    completion_flags_release(&flags);
    if (!ret && kind != WORDS_NONE) {
        strbuf_addstr(sb, " \\\n            '*:argument:");
        ret = add_action(sb, kind, choices, err);
        strbuf_addch(sb, '\'');
    }
    strbuf_addstr(sb, "\n        ;;\n");
    return ret;
}

int completion_zsh(struct strbuf *sb, struct err *err)
{
    int ret = 0;

    strbuf_addstr(sb, "#compdef bench\n# made by `bench completion zsh`\n\n_bench_refs() {\n"
                      "    compadd WORKTREE ${(f)\"$(git for-each-ref "
                      "--format='%(refname:short)' 2> /dev/null)\"}\n    _files\n}\n\n"
                      "_bench() {\n    local -a commands\n    commands=(");
    for (size_t i = 0; command_at(i); i++) {
        strbuf_addf(sb, "\n        '%s:", command_at(i)->name);
        add_text(sb, command_at(i)->summary);
        strbuf_addch(sb, '\'');
    }
    strbuf_addstr(sb, "\n    )\n    if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
                      "        _describe command commands\n        return\n    fi\n"
                      "    local command=run\n    if [[ $words[2] != -* ]]; then\n"
                      "        command=$words[2]\n        shift words\n        ((CURRENT--))\n"
                      "    fi\n    case $command in\n");
    for (size_t i = 0; command_at(i) && !ret; i++)
        ret = add_command(sb, command_at(i), err);
    strbuf_addstr(sb, "    esac\n}\n\nif [[ $zsh_eval_context[-1] == eval ]]; then\n"
                      "    compdef _bench bench\nelse\n    _bench \"$@\"\nfi\n");
    return ret;
}
