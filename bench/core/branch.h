/*
 * branch.h - from a git ref to a kernel library: a worktree in the build cache, built and kept
 * there.
 *
 * The user's checkout, index and branches are never touched. A worktree lies in the cache while it
 * is built and is removed afterwards, also when the build fails or is interrupted; the built
 * library stays, keyed by commit, toolkit and architectures.
 */
#ifndef BENCH_CORE_BRANCH_H
#define BENCH_CORE_BRANCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct branch {
    char *name;           /* as given: a ref, WORKTREE, or the path of a library */
    char *label;          /* short and unique among its neighbours: "main", "3f2a91c", "libold" */
    char *library;        /* absolute path */
    char *describe;       /* commit and state: "3f2a91c", "3f2a91c-dirty" ; "" for a path */
    char diff_sha256[65]; /* of what WORKTREE changes against HEAD; "" when clean or a ref */
    bool built;           /* by this call, not found in the cache */
};

struct branch_request {
    const char *dir;           /* somewhere in the repository; NULL: the working folder */
    const char *cache;         /* NULL: $XDG_CACHE_HOME/sab or ~/.cache/sab */
    bool cuda;                 /* build the CUDA kernels */
    const char *architectures; /* "90a" or "90a;120a"; used with cuda */
    int jobs;
    const char *exe; /* this program: builds end with it. NULL: they go on when it is killed */
    const volatile sig_atomic_t *interrupted;
    void (*note)(void *ctx, const char *text);
    void *ctx;
};

void branch_init(struct branch *b);
void branch_release(struct branch *b);

/*
 * Resolves one name. ERR_CONFIG: no such ref or file, a ref without kernels/, no repository here.
 * ERR_CRASH: it does not build; the message ends with the last lines of its log, whose path it
 * names. ERR_INTERRUPTED: Ctrl-C while it was built.
 */
int branch_resolve(struct branch *b, const char *name, const struct branch_request *request,
                   struct err *err);

/* Makes labels unique by numbering the later of two equal ones. */
int branch_labels(struct branch *list, size_t nr, struct err *err);

#endif
