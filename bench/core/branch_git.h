/*
 * branch_git.h - what branch.c asks of git, by running it.
 */
#ifndef BENCH_CORE_BRANCH_GIT_H
#define BENCH_CORE_BRANCH_GIT_H

#include <stdbool.h>

#include "err.h"
#include "strbuf.h"

struct branch_git {
    char *name;   /* as given */
    char *label;  /* the ref without its folders, or the short commit */
    char *top;    /* root of the user's checkout */
    char sha[65]; /* commit */
    char *describe;
    bool worktree;        /* WORKTREE: the checkout as it is */
    char diff_sha256[65]; /* "" when clean */
};

void branch_git_init(struct branch_git *git);
void branch_git_release(struct branch_git *git);
int branch_git_resolve(struct branch_git *git, const char *name, const char *dir, struct err *err);
/* Appends the root of the sources to build: a worktree DIR/src made for the commit, or the checkout
 * itself. */
int branch_git_source(const struct branch_git *git, const char *dir, struct strbuf *out,
                      struct err *err);
/* Removes that worktree again, whatever state it is in. */
void branch_git_drop(const struct branch_git *git, const char *dir);

#endif
