#include "score_sparse_call.h"

#include <string.h>

/* Where an operator has its tensors and parameters. */
struct places {
    const char *op;
    uint32_t q, k, heads, ids, length, out;
    uint32_t id_space, scale;
};

#define PLACES(op_, heads_, out_, scale_)                                                          \
    {                                                                                              \
        .op = #op_, .q = SAB_T_##op_##_q, .k = SAB_T_##op_##_k, .heads = SAB_T_##op_##_##heads_,   \
        .ids = SAB_T_##op_##_ids, .length = SAB_T_##op_##_length, .out = SAB_T_##op_##_##out_,     \
        .id_space = SAB_P_##op_##_id_space, .scale = SAB_P_##op_##_##scale_                        \
    }

static const struct places indexer_places = PLACES(score_sparse_indexer, w, predict, sm_scale);
static const struct places attention_places =
    PLACES(score_sparse_attention, lse, target, softmax_scale);

static void take_pointers(struct indexer_sparse *s, const struct sab_problem *problem,
                          const struct places *at)
{
    s->q.data = sab_data(problem, at->q);
    s->k.data = sab_data(problem, at->k);
    if (s->attention)
        s->lse = sab_data(problem, at->heads);
    else
        s->w = sab_data(problem, at->heads);
    s->slots.ids = sab_data(problem, at->ids);
    s->slots.lengths = sab_data(problem, at->length);
    s->out = sab_data(problem, at->out);
}

int score_sparse_call_init(struct indexer_sparse *sparse, const struct sab_problem *problem,
                           int attention, enum sab_device device, unsigned flags,
                           struct sab_message *msg)
{
    const struct places *at = attention ? &attention_places : &indexer_places;
    const int status = sab_validate(sab_op_find(at->op), problem, device, flags, msg);

    if (status != SAB_OK)
        return status;
    const struct sab_tensor *q = &problem->tensors[at->q];

    memset(sparse, 0, sizeof(*sparse));
    sparse->attention = attention;
    take_pointers(sparse, problem, at);
    sparse->heads = q->shape[2];
    sparse->q.width = sparse->k.width = q->shape[3];
    sparse->rows = q->shape[0] * q->shape[1];
    sparse->seqlen_q = q->shape[1];
    sparse->seqlen_k = problem->tensors[at->k].shape[1];
    sparse->slots.slots = problem->tensors[at->ids].shape[2];
    sparse->slots.global = problem->params[at->id_space].i != 0;
    sparse->scale = (float)problem->params[at->scale].f;
    return SAB_OK;
}

int score_sparse_call_check_arch(const struct sab_problem *problem, const char *targets,
                                 struct sab_message *msg)
{
    if (sab_target_served(targets, problem->arch))
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for the targets %s, the device has compute "
                   "capability %d.%d",
                   targets, problem->arch / 10, problem->arch % 10);
}

int score_sparse_call_check_limits(const struct indexer_sparse *sparse, struct sab_message *msg)
{
    const int64_t most = INT32_MAX - (1 << 16);

    if (sparse->rows > most)
        return sab_say(msg, SAB_UNSUPPORTED, "q: at most %lld rows are served, given %lld",
                       (long long)most, (long long)sparse->rows);
    if (sparse->slots.slots > most)
        return sab_say(msg, SAB_UNSUPPORTED, "ids: at most %lld slots are served, given %lld",
                       (long long)most, (long long)sparse->slots.slots);
    if (sparse->seqlen_k > most)
        return sab_say(msg, SAB_UNSUPPORTED, "k: at most %lld columns are served, given %lld",
                       (long long)most, (long long)sparse->seqlen_k);
    return SAB_OK;
}
