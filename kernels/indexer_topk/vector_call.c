#include "vector_call.h"

#include "vector.h"
#include "vector_args.h"

int indexer_topk_vector_call_init(struct indexer_topk_call *call, const struct sab_problem *problem,
                                  unsigned flags, struct sab_message *msg)
{
    const int status = indexer_topk_call_init(call, problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    if (call->rows > INT32_MAX)
        return sab_say(msg, SAB_UNSUPPORTED, "values_in: at most %d rows are served, given %lld",
                       INT32_MAX, (long long)call->rows);
    return indexer_topk_call_check_arch(problem, INDEXER_TOPK_VECTOR_TARGETS, msg);
}

/* Bytes of a block's elements: what its share needs where all of it may stay; in a cluster as much
 * as there is, because one block takes what passes of the whole row. */
static struct topk_form form_of(const struct indexer_topk_call *c, uint32_t cluster,
                                uint32_t threads, int64_t most)
{
    const int64_t keys = (c->columns + 128) * (int64_t)sizeof(uint32_t);
    const int64_t share = cluster > 1 ? most : keys;
    struct topk_form form = {cluster, threads, 0, 0};

    form.buffer_bytes = (uint32_t)(share < most ? (share + 15) / 16 * 16 : most / 16 * 16);
    form.shared_bytes = TOPK_ROOM + form.buffer_bytes;
    return form;
}

int topk_forms(const struct indexer_topk_call *call, int64_t multiprocessors, int64_t shared_most,
               struct topk_form forms[TOPK_FORMS])
{
    const int64_t room = shared_most - TOPK_ROOM;
    const int64_t wide = room < TOPK_GATHERED ? room : TOPK_GATHERED;
    int nr = 0;

    for (uint32_t cluster = TOPK_CLUSTER; cluster > 1; cluster /= 2) {
        if (call->columns / cluster < TOPK_SHARE || call->rows > multiprocessors * 4)
            continue;
        forms[nr++] = form_of(call, cluster, TOPK_WIDE, wide);
        forms[nr++] = form_of(call, cluster, TOPK_NARROW, TOPK_PASSING);
    }
    forms[nr++] = form_of(call, 1, TOPK_NARROW, TOPK_PASSING);
    return nr;
}
