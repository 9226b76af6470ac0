/*
 * test_bsa_rig.h - a problem of bsa_fwd on the rig of test_dsa_rig.h: from a golden vector, and
 * changes to it.
 */
#ifndef TEST_BSA_RIG_H
#define TEST_BSA_RIG_H

#include "test_dsa_cpu.h"

#define BSA(name)       SAB_T_bsa_fwd_##name
#define BSA_PARAM(name) SAB_P_bsa_fwd_##name

/* A case of the vector's sizes, with the vector's contents. */
static inline void bsa_from_vector(struct dsa_rig *r, const struct vector *v)
{
    struct op_buffers buffers;
    char axes[256];
    struct err err = ERR_INIT;

    snprintf(axes, sizeof(axes), "batch=%d heads=%d kv_heads=%d seqlen_q=%d seqlen_k=%d dtype=%s",
             (int)vector_int(v, "batch", 0), (int)vector_int(v, "heads", 0),
             (int)vector_int(v, "kv_heads", 0), (int)vector_int(v, "seqlen_q", 0),
             (int)vector_int(v, "seqlen_k", 0), vector_param_find(v, "dtype")->word);
    memset(r, 0, sizeof(*r));
    op_slices_init(&r->s);
    if (rig_case(&r->c, v->op, axes, &err) || vector_to_problem(v, &r->p, &buffers, &err))
        fail_msg("%s", err.text);
    rig_allocate(r);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (buffers.data[t] && r->p.tensor[t].bytes)
            memcpy(r->data[t], buffers.data[t], r->p.tensor[t].bytes);
}

/* Takes an optional tensor out of the call. */
static inline void bsa_drop(struct dsa_rig *r, uint32_t t)
{
    free(r->data[t]);
    r->data[t] = NULL;
    memset(&r->p.tensor[t], 0, sizeof(r->p.tensor[t]));
}

#endif
