/*
 * link.h - the parent's end of a worker process.
 */
#ifndef BENCH_CORE_LINK_H
#define BENCH_CORE_LINK_H

#include <stdbool.h>

#include "child.h"
#include "err.h"
#include "job.h"
#include "strbuf.h"

struct link {
    struct child child;
    int from; /* answers; -1: closed */
    struct strbuf pending;
};

/* Starts `exe --worker` in a process group of its own, sees one GPU by `uuid` ("" on cpu), and
 * hands it the job. */
int link_start(struct link *l, const char *exe, const char *uuid, const struct job *job,
               struct err *err);
/*
 * The next answer. 1: it is in *a (which the caller releases); 0: none within timeout_ms, or a
 * signal came; -1: the worker is gone, with how it ended in err->text.
 */
int link_next(struct link *l, int timeout_ms, struct answer *a, struct err *err);
/* Waits until one of them has something to say, for at most timeout_ms or until a signal comes. */
void link_wait(struct link *const *list, size_t nr, int timeout_ms);
/* Asks the worker to finish the round and answer. */
void link_ask_stop(struct link *l);
/* Kills what is left of it and releases everything. */
void link_close(struct link *l);

#endif
