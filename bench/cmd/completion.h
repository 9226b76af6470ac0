/*
 * completion.h - the command line as shells are told of it, from the tables that parse it.
 */
#ifndef BENCH_CMD_COMPLETION_H
#define BENCH_CMD_COMPLETION_H

#include "cmd.h"
#include "strbuf.h"

/* What may stand for a value, or for an argument of a command. */
enum completion_words {
    WORDS_NONE = 0, /* nothing can be offered */
    WORDS_CHOICES,  /* the words of `choices` */
    WORDS_FILES,
    WORDS_FOLDERS,
    WORDS_REFS,   /* of git, and files */
    WORDS_TOPICS, /* of help */
};

struct completion_flag {
    const char *name;     /* without dashes */
    char letter;          /* 0 for none */
    const char *argument; /* NULL: it takes no value */
    const char *help;
    enum completion_words words;
    const char *choices; /* separated by blanks */
    bool again;          /* it may be given several times */
};

struct completion_flags {
    struct completion_flag *item;
    size_t nr, alloc;
};

/* Its options, then (of a command that reads a configuration) every key and axis. */
int completion_flags_of(const struct command *c, struct completion_flags *out, struct err *err);
void completion_flags_release(struct completion_flags *flags);
/* What its arguments are; for WORDS_CHOICES the words come in *choices. */
enum completion_words completion_arguments(const struct command *c, const char **choices);
/* Every name that `bench help` explains, to a list that the caller releases; and separated by
 * blanks. */
int help_topics(struct text_list *list, struct err *err);
int completion_add_topics(struct strbuf *sb, struct err *err);

int completion_bash(struct strbuf *sb, struct err *err);
int completion_zsh(struct strbuf *sb, struct err *err);
int completion_fish(struct strbuf *sb, struct err *err);
/* manual.c: bench(1) as a roff source. */
int completion_manual(struct strbuf *sb, struct err *err);

#endif
