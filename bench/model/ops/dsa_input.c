#include "dsa_input.h"

#include <math.h>
#include <string.h>

#include "numfmt.h"

#define PART 1024

void dsa_input_init(struct dsa_input *in, const struct op_problem *p, const struct op_source *src,
                    const struct dsa_places *at, double scale)
{
    const struct op_tensor *q = &p->tensor[at->q];

    in->p = p;
    in->src = src;
    in->at = *at;
    in->rows = q->shape[0];
    in->heads = q->shape[1];
    in->width = q->shape[2];
    in->keys = p->tensor[at->kv].shape[0];
    in->slots = p->tensor[at->topk_idxs].shape[1];
    in->scale = scale;
}

int dsa_read(const struct dsa_input *in, uint32_t tensor, int64_t at, int64_t n, double *dst)
{
    const int32_t dtype = in->p->tensor[tensor].dtype;
    uint32_t raw[PART]; /* elements have four bytes at most */

    while (n > 0) {
        const int64_t part = n < PART ? n : PART;

        if (in->src->read(in->src->ctx, tensor, at, part, raw) < 0)
            return -1;
        for (int64_t i = 0; i < part; i++)
            dst[i] = numfmt_decode(dtype, numfmt_load(dtype, raw, i));
        at += part;
        dst += part;
        n -= part;
    }
    return 0;
}

int64_t dsa_read_length(const struct dsa_input *in, int64_t row)
{
    int32_t length;

    if (in->p->tensor[in->at.topk_length].dtype == SAB_NONE)
        return in->slots;
    if (in->src->read(in->src->ctx, in->at.topk_length, row, 1, &length) < 0)
        return -1;
    if (length < 0)
        return 0;
    return length > in->slots ? in->slots : length;
}

int dsa_read_ids(const struct dsa_input *in, int64_t row, int64_t n, int32_t *ids)
{
    return n > 0 ? in->src->read(in->src->ctx, in->at.topk_idxs, row * in->slots, n, ids) : 0;
}

int dsa_read_sinks(const struct dsa_input *in, double *sinks)
{
    if (in->p->tensor[in->at.attn_sink].dtype != SAB_NONE)
        return dsa_read(in, in->at.attn_sink, 0, in->heads, sinks);
    for (int64_t h = 0; h < in->heads; h++)
        sinks[h] = -INFINITY;
    return 0;
}
