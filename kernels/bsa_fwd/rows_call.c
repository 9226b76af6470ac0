#include "rows_call.h"

/* clang-format off */
/* Behind the key N, M, F, U, C stands how a list is read. F is no reading of its own: what Sk leaves
 * of a block is taken into account in any case. U saves a test that is made once a row. C without U
 * is derived for a count of 0 only, where no slot is read. */
#define BSA_ROWS_OF(M, F) \
    {1, M, F, 0, 0,  {1, M, 0}}, \
    {0, M, F, 0, 0,  {0, M, 0}}, \
    {0, M, F, 1, 0,  {0, M, 0}}, \
    {0, M, F, 1, 1,  {0, M, 1}}, \
    {0, M, F, 0, 1,  {0, M, 1}}

static const struct keyed_reading {
    uint8_t block_nums, sizes_mode, full_tiles, nonempty, contiguous;
    struct bsa_reading reading;
} readings[] = {
    BSA_ROWS_OF(0, 1),
    BSA_ROWS_OF(0, 0),
    BSA_ROWS_OF(1, 0),
    BSA_ROWS_OF(2, 0),
    BSA_ROWS_OF(3, 0),
};
#undef BSA_ROWS_OF
/* clang-format on */

static const struct keyed_reading *find_reading(const struct bsa_key *key)
{
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        const struct keyed_reading *r = &readings[i];

        if (r->block_nums == key->block_nums && r->sizes_mode == key->sizes_mode &&
            r->full_tiles == key->full_tiles && r->nonempty == key->nonempty &&
            r->contiguous == key->contiguous)
            return r;
    }
    return NULL;
}

int bsa_rows_init(struct bsa_rows *rows, const struct bsa_call *call, struct sab_message *msg)
{
    const struct bsa_key *key = &call->key;
    const struct keyed_reading *found = find_reading(key);

    if (!found)
        return sab_say(msg, SAB_FAILED, "no kernel for key %d%d%d%d%d", key->block_nums,
                       key->sizes_mode, key->full_tiles, key->nonempty, key->contiguous);
    *rows = (struct bsa_rows){
        .block_index = call->block_index,
        .block_nums = call->block_nums,
        .block_sizes = call->block_sizes,
        .cap = call->cap,
        .seqlen_k = (int32_t)call->seqlen_k,
        .key_blocks = (int32_t)call->key_blocks,
        .block_sparse_num = (int32_t)call->block_sparse_num,
        .query_tiles = (int32_t)call->query_tiles,
        .heads = (int32_t)call->heads,
        .group = (int32_t)call->group,
        .reading = found->reading,
    };
    return SAB_OK;
}

struct limit {
    const char *what;
    int64_t value, most;
};

int bsa_rows_check_limits(const struct bsa_call *call, struct sab_message *msg)
{
    const int64_t most = INT32_MAX, last_token = most - BSA_BLOCK;
    const struct limit limits[] = {
        {"heads", call->heads, most},
        {"batch", call->batch, most},
        {"capacity of q2k_block_index", call->cap, most / 2},
        {"queries of a sequence", call->seqlen_q, last_token},
        {"keys of a sequence", call->seqlen_k, last_token},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const struct limit *l = &limits[i];

        if (l->value > l->most)
            return sab_say(msg, SAB_UNSUPPORTED, "%s: at most %lld is served, given %lld", l->what,
                           (long long)l->most, (long long)l->value);
    }
    if (call->batch > most / 2 / call->heads / call->query_tiles)
        return sab_say(msg, SAB_UNSUPPORTED,
                       "grid: at most %lld query tiles are served, given %lld x %lld x %lld",
                       (long long)(most / 2), (long long)call->batch, (long long)call->heads,
                       (long long)call->query_tiles);
    return SAB_OK;
}
