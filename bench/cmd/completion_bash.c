/*
 * completion_bash.c - a function for `complete -F`. Bash gives `--key=value` as three words, and
 * has nothing to say of what a word means: names only.
 */
#include <stdio.h>
#include <string.h>

#include "completion.h"

static const char head[] =
    "# bash completion for bench, made by `bench completion bash`\n"
    "_bench()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= flags= i\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == '=' && $COMP_CWORD -gt 1 ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD > 1)); then\n"
    "        command=${COMP_WORDS[1]}\n"
    "        [[ $command != -* ]] || command=run\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        command=run\n"
    "    fi\n"
    "    _bench_words()\n"
    "    {\n"
    "        COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
    "    }\n"
    "    _bench_files()\n"
    "    {\n"
    "        compopt -o filenames 2> /dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "    }\n";

static const char tail[] = "    esac\n"
                           "    if [[ $cur == -* ]]; then\n"
                           "        _bench_words \"$flags\"\n"
                           "        return\n"
                           "    fi\n"
                           "    case $command in\n";

/* How the words of a kind are offered. */
static int add_offer(struct strbuf *sb, enum completion_words kind, const char *choices,
                     struct err *err)
{
    switch (kind) {
    case WORDS_NONE:
        strbuf_addstr(sb, ":");
        return 0;
    case WORDS_CHOICES:
        strbuf_addf(sb, "_bench_words '%s'", choices);
        return 0;
    case WORDS_FILES:
        strbuf_addstr(sb, "_bench_files -f");
        return 0;
    case WORDS_FOLDERS:
        strbuf_addstr(sb, "_bench_files -d");
        return 0;
    case WORDS_REFS:
        strbuf_addstr(sb, "_bench_words \"WORKTREE $(git for-each-ref "
                          "--format='%(refname:short)' 2> /dev/null) $(compgen -f -- \"$cur\")\"");
        return 0;
    case WORDS_TOPICS:
        break;
    }
    strbuf_addstr(sb, "_bench_words '");
    int ret = completion_add_topics(sb, err);
    strbuf_addstr(sb, "'");
    return ret;
}

/* Values behind a flag: one case for every flag of any command that takes one. */
static int add_values(struct strbuf *sb, struct err *err)
{
    struct strbuf done = STRBUF_INIT;
    int ret = 0;

    strbuf_addstr(sb, "    case $prev in\n");
    for (size_t i = 0; command_at(i) && !ret; i++) {
        struct completion_flags flags;

        ret = completion_flags_of(command_at(i), &flags, err);
        for (size_t k = 0; k < flags.nr && !ret; k++) {
            const struct completion_flag *f = &flags.item[k];
            char word[128];

            snprintf(word, sizeof(word), " --%s ", f->name);
            if (!f->argument || strstr(done.buf, word))
                continue;
            strbuf_addstr(&done, word);
            strbuf_addf(sb, "    --%s", f->name);
            if (f->letter)
                strbuf_addf(sb, " | -%c", f->letter);
            strbuf_addstr(sb, ") ");
            ret = add_offer(sb, f->words, f->choices, err);
            strbuf_addstr(sb, "; return ;;\n");
        }
        completion_flags_release(&flags);
    }
    strbuf_addstr(sb, "    esac\n");
    strbuf_release(&done);
    return ret;
}

static int add_flags(struct strbuf *sb, const struct command *c, struct err *err)
{
    struct completion_flags flags;
    int ret = completion_flags_of(c, &flags, err);

    strbuf_addf(sb, "    %s) flags='", c->name);
    for (size_t k = 0; k < flags.nr; k++)
        strbuf_addf(sb, "%s--%s", k ? " " : "", flags.item[k].name);
    strbuf_addstr(sb, !strcmp(c->name, "run") ? " --version' ;;\n" : "' ;;\n");
    completion_flags_release(&flags);
    return ret;
}

int completion_bash(struct strbuf *sb, struct err *err)
{
    int ret;

    strbuf_addstr(sb, head);
    ret = add_values(sb, err);
    strbuf_addstr(sb, "    case $command in\n");
    for (size_t i = 0; command_at(i) && !ret; i++)
        ret = add_flags(sb, command_at(i), err);
    strbuf_addstr(sb, tail);
    strbuf_addstr(sb, "    '') _bench_words '");
    for (size_t i = 0; command_at(i); i++)
        strbuf_addf(sb, "%s%s", i ? " " : "", command_at(i)->name);
    strbuf_addstr(sb, "' ;;\n");
    for (size_t i = 0; command_at(i) && !ret; i++) {
        const char *choices;
        enum completion_words kind = completion_arguments(command_at(i), &choices);

        if (kind == WORDS_NONE)
            continue;
        strbuf_addf(sb, "    %s) ", command_at(i)->name);
        ret = add_offer(sb, kind, choices, err);
        strbuf_addstr(sb, " ;;\n");
    }
    strbuf_addstr(sb, "    esac\n}\ncomplete -F _bench bench\n");
    return ret;
}
