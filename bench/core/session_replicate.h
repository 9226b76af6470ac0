/*
 * session_replicate.h - one lane at work, shared by session_run.c (workers and lanes) and
 * session_answer.c (what workers say).
 */
#ifndef BENCH_CORE_SESSION_REPLICATE_H
#define BENCH_CORE_SESSION_REPLICATE_H

#include "link.h"
#include "session.h"

/* Between its cases a worker opens devices and libraries, and closes what it used: seconds. */
#define SILENCE_S 60

/* One lane, and the replicate that is in progress on it. */
struct replicate {
    struct session *s;
    size_t lane;
    int process;       /* -1: none yet */
    uint32_t *waiting; /* indices of cases, in shuffled order */
    size_t waiting_nr;
    struct link link;
    bool linked; /* a worker is there */
    int current; /* index into plan.item, -1 between cases */
    char phase[256];
    double deadline_s;
    bool asked_stop;
};

double session_now_s(void);
/* Returns 1 when the worker has said its last word. */
int replicate_answer(struct replicate *rep, const struct answer *a, struct err *err);
/* The case that was running ends as crash or timeout. With a culprit the others get their turn. */
int replicate_case_failed(struct replicate *rep, const char *status, const char *text,
                          struct err *err);

#endif
