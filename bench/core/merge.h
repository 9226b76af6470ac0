/*
 * merge.h - several sealed runs of one plan as one: `bench merge OUT IN IN...`.
 *
 * Processes are numbered through, samples joined, and everything else derived anew, so that the
 * result reads as one run with more replicates. Samples keep the run_id of the run that they come
 * from; `merged_from` of run.json says which processes those are.
 */
#ifndef BENCH_CORE_MERGE_H
#define BENCH_CORE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "store.h"
#include "text.h"

struct merge_request {
    const char *out;
    const char *const *in;
    size_t nr;
    bool across_gpus; /* other GPUs of the same model are fine */
    bool force;       /* replace an earlier run in `out` */
    int argc;         /* of the command line, for run.json */
    const char *const *argv;
};

/*
 * Writes the folder; `out` is initialised by the caller and holds the merged run afterwards.
 * ERR_CONFIG where an input is not sealed, was edited, is given twice, or differs from the first
 * one in schema, protocol, plan, device or libraries: both folders and both values are named.
 * `notes` gets a line for what differs and is let through.
 */
int merge_runs(const struct merge_request *request, struct store *out, struct text_list *notes,
               struct err *err);

/* merge_check.c: the refusals. `run` are the inputs' run.json, in their order. */
int merge_check(const struct merge_request *request, json_t *const *run, struct text_list *notes,
                struct err *err);

#endif
