#include "indexer_bwd_rows_call.h"

struct limit {
    const char *what;
    int64_t value, most;
};

int indexer_bwd_rows_check(const struct indexer_bwd_call *call, struct sab_message *msg)
{
    /* threads step through a row by blocks, and look two tiles ahead */
    const int64_t columns_most = INT32_MAX - 4 * INDEXER_BWD_ROWS_THREADS;
    const struct limit limits[] = {
        {"rows of index_q", call->rows, INT32_MAX},
        {"rows of index_k", call->keys, INT32_MAX},
        {call->sparse ? "slots of a row of ids" : "columns of index_raw", call->columns,
         columns_most},
    };

    if (call->deterministic)
        return sab_say(
            msg, SAB_UNSUPPORTED,
            "deterministic: this kernel adds up d_index_k by atomics, in no fixed order");
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].value > limits[i].most)
            return sab_say(msg, SAB_UNSUPPORTED, "%s: at most %lld are served, given %lld",
                           limits[i].what, (long long)limits[i].most, (long long)limits[i].value);
    }
    return SAB_OK;
}

int indexer_bwd_rows_init(struct indexer_bwd_call *call, const struct sab_problem *problem,
                          int sparse, const char *targets, unsigned flags, struct sab_message *msg)
{
    int status = indexer_bwd_call_init(call, problem, sparse, SAB_DEVICE_CUDA, flags, msg);

    if (status == SAB_OK)
        status = indexer_bwd_call_check_arch(problem, targets, msg);
    return status == SAB_OK ? indexer_bwd_rows_check(call, msg) : status;
}

uint64_t indexer_bwd_rows_workspace_bytes(const struct indexer_bwd_call *call)
{
    const uint64_t bytes = (uint64_t)call->keys * INDEXER_BWD_WIDTH * sizeof(float);

    return call->dk_f32 ? 0 : (bytes + 255) / 256 * 256;
}
