/*
 * merge_check.c - what keeps two runs from being one.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "merge.h"
#include "report_internal.h"

/* What must be equal, what may differ on request, and what only deserves a note. */
enum weight { MUST, ACROSS_GPUS, NOTE };

static const struct {
    const char *group, *name, *word;
    enum weight weight;
} members[] = {
    {NULL, "plan_hash", "plan", MUST},       {"device", "name", "device", MUST},
    {"settings", "timer", "timer", MUST},    {"device", "uuid", "GPU", ACROSS_GPUS},
    {"device", "driver", "driver", NOTE},    {"device", "cuda_runtime", "CUDA", NOTE},
    {"host", "kernel", "host kernel", NOTE}, {"bench", "describe", "bench", NOTE},
};

static int differ(const struct merge_request *r, size_t at, const char *word, const char *first,
                  const char *here, enum weight weight, struct text_list *notes, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret;

    strbuf_addf(&sb, "'%s' has another %s than '%s': %.80s, not %.80s", r->in[at], word, r->in[0],
                here, first);
    if (sb.oom)
        ret = err_memory(err);
    else if (weight == MUST)
        ret = err_set(err, ERR_CONFIG, "%s", sb.buf);
    else if (weight == ACROSS_GPUS && !r->across_gpus)
        ret = err_set(err, ERR_CONFIG, "%s; --across-gpus joins them all the same", sb.buf);
    else
        ret = text_list_add(notes, sb.buf, err);
    strbuf_release(&sb);
    return ret;
}

/* Libraries are listed in the order of the arms, which the plan fixes. */
static int check_libraries(const struct merge_request *r, json_t *const *run, size_t at,
                           struct text_list *notes, struct err *err)
{
    const json_t *first = json_object_get(run[0], "libraries");
    const json_t *here = json_object_get(run[at], "libraries");

    if (json_array_size(first) != json_array_size(here))
        return err_set(err, ERR_CONFIG, "'%s' has %zu kernel libraries, '%s' has %zu", r->in[at],
                       json_array_size(here), r->in[0], json_array_size(first));
    for (size_t i = 0; i < json_array_size(first); i++) {
        const json_t *a = json_array_get(first, i), *b = json_array_get(here, i);
        const char *sha_a = run_text(a, NULL, "sha256"), *sha_b = run_text(b, NULL, "sha256");

        if (strcmp(sha_a, sha_b) &&
            differ(r, at, "build of a kernel library", sha_a, sha_b, MUST, notes, err))
            return -1;
    }
    return 0;
}

static int check_one(const struct merge_request *r, json_t *const *run, size_t at,
                     struct text_list *notes, struct err *err)
{
    if (folder_same_version("schema", r->in[0], run[0], r->in[at], run[at], err) ||
        folder_same_version("protocol", r->in[0], run[0], r->in[at], run[at], err))
        return -1;
    for (size_t i = 0; i < at; i++)
        if (!strcmp(run_text(run[i], NULL, "run_id"), run_text(run[at], NULL, "run_id")))
            return err_set(err, ERR_CONFIG, "'%s' and '%s' are the same run, %s", r->in[i],
                           r->in[at], run_text(run[at], NULL, "run_id"));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *first = run_text(run[0], members[i].group, members[i].name);
        const char *here = run_text(run[at], members[i].group, members[i].name);

        if (strcmp(first, here) &&
            differ(r, at, members[i].word, first, here, members[i].weight, notes, err))
            return -1;
    }
    return check_libraries(r, run, at, notes, err);
}

/* With --force the output would replace what it is made of. */
static int check_output(const struct merge_request *r, struct err *err)
{
    char out[PATH_MAX], in[PATH_MAX];

    if (!realpath(r->out, out))
        return 0; /* not there yet */
    for (size_t i = 0; i < r->nr; i++)
        if (realpath(r->in[i], in) && !strcmp(in, out))
            return err_set(err, ERR_CONFIG,
                           "'%s' is both a run to merge and the folder to write; name a new one",
                           r->out);
    return 0;
}

int merge_check(const struct merge_request *r, json_t *const *run, struct text_list *notes,
                struct err *err)
{
    if (r->nr < 2)
        return err_set(err, ERR_CONFIG, "merge takes at least two runs, %zu were given", r->nr);
    if (check_output(r, err))
        return -1;
    for (size_t i = 1; i < r->nr; i++)
        if (check_one(r, run, i, notes, err))
            return -1;
    /* Reading hashes takes longest, so it comes last. */
    for (size_t i = 0; i < r->nr; i++)
        if (folder_check_hashes(r->in[i], run[i], err))
            return -1;
    return 0;
}
