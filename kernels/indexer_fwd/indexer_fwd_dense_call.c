#include "indexer_fwd_dense_call.h"

#include <string.h>

void indexer_fwd_dense(const struct indexer_fwd_call *c, struct indexer_dense *d)
{
    const int mx = c->precision == INDEXER_MXFP8, e4m3 = c->precision != INDEXER_BF16;

    memset(d, 0, sizeof(*d));
    d->q.data = c->q;
    d->k.data = c->k;
    d->q.e4m3 = d->k.e4m3 = e4m3;
    d->q.width = d->k.width = INDEXER_WIDTH;
    if (mx) {
        d->q.exponents = c->q_scale;
        d->k.exponents = c->k_scale;
    } else {
        d->q_scale = c->q_scale;
        d->k_scale = c->k_scale;
    }
    d->heads = c->heads;
    d->kv_heads = 1;
    d->w = c->w;
    d->w_f32 = c->w_f32;
    d->scale = c->factor;
    d->offsets = c->offsets;
    d->cu_q = c->cu_q;
    d->cu_k = c->cu_k;
    d->batch = c->batch;
    d->rows = c->rows;
    d->seqlen_q = c->seqlen_q;
    d->seqlen_k = c->seqlen_k;
    d->ratio = c->ratio;
    d->columns = c->columns;
    d->stride = c->stride;
    d->out = c->scores;
    d->sums = c->lse;
}
