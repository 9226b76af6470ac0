/*
 * vector_call.h - which calls indexer_topk/vector serves, and the forms that a call may have. No
 * CUDA here.
 */
#ifndef INDEXER_TOPK_VECTOR_CALL_H
#define INDEXER_TOPK_VECTOR_CALL_H

#include "indexer_topk_call.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TOPK_FORMS = 9 }; /* the most that a call has */

struct topk_form {
    uint32_t cluster;      /* blocks of a row */
    uint32_t threads;      /* of a block */
    uint32_t buffer_bytes; /* of a block's elements; all of its share where that fits */
    uint32_t shared_bytes; /* of a block */
};

/* As indexer_topk_call_init(), and SAB_UNSUPPORTED for what this kernel does not serve. */
int indexer_topk_vector_call_init(struct indexer_topk_call *call, const struct sab_problem *problem,
                                  unsigned flags, struct sab_message *msg);

/*
 * The forms that are worth a try, best first; each but the last one only where the device holds the
 * clusters of all rows at once, the last one, a block a row, always. A block has at most
 * `shared_most` bytes. Returns how many there are.
 */
int topk_forms(const struct indexer_topk_call *call, int64_t multiprocessors, int64_t shared_most,
               struct topk_form forms[TOPK_FORMS]);

#ifdef __cplusplus
}
#endif
#endif
