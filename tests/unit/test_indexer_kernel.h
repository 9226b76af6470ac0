/*
 * test_indexer_kernel.h - a rig run by a CPU kernel: scores get rows with gaps, workspace and
 * outputs other bytes before each launch.
 */
#ifndef TEST_INDEXER_KERNEL_H
#define TEST_INDEXER_KERNEL_H

#include "test_indexer_rig.h"

#define RIG_GUARD 64

struct rig_call {
    const struct sab_kernel *row;
    int threads;
    int64_t gap;        /* further elements between rows whose stride is free */
    int64_t less_bytes; /* of workspace than it asks for */
    const uint32_t *choices;
    uint32_t choices_nr;
};

/* Rows of "rows" and "rows4" tensors: to a multiple of four elements, and `gap` more. */
static inline void rig_strides(const struct ix_rig *r, uint32_t t, int64_t gap,
                               struct sab_tensor *to)
{
    const char *strided = r->p.spec->tensors[t].strided;
    const int64_t width = to->rank > 0 ? to->shape[to->rank - 1] : 1;
    int64_t stride = (width + 3) / 4 * 4 + gap;

    sab_contiguous(to);
    if (strncmp(strided, "rows", 4) != 0 || (gap == 0 && strcmp(strided, "rows") == 0))
        return;
    for (int32_t d = to->rank - 2; d >= 0; d--) {
        to->stride[d] = stride;
        stride *= to->shape[d];
    }
}

/* Packed rows to rows with gaps (`out` false) or back; what stands in the gaps stays. */
static inline void rig_move(const struct sab_tensor *t, void *packed, bool out)
{
    const size_t size = sab_dtype_size(t->dtype);
    const int64_t width = t->rank > 0 ? t->shape[t->rank - 1] : 1;
    const int64_t stride = t->rank > 1 ? t->stride[t->rank - 2] : width;
    int64_t rows = 1;

    for (int32_t d = 0; d + 1 < t->rank; d++)
        rows *= t->shape[d];
    for (int64_t i = 0; i < rows; i++) {
        char *far = (char *)t->data + (size_t)(i * stride) * size;
        char *near = (char *)packed + (size_t)(i * width) * size;

        memcpy(out ? near : far, out ? far : near, (size_t)width * size);
    }
}

static inline void rig_tensors(const struct ix_rig *r, int64_t gap, struct sab_tensor *tensor)
{
    memset(tensor, 0, SAB_MAX_TENSORS * sizeof(*tensor));
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &r->p.tensor[t];

        tensor[t].rank = o->rank;
        tensor[t].dtype = o->dtype;
        tensor[t].role = r->p.spec->tensors[t].role;
        tensor[t].alignment = 64;
        memcpy(tensor[t].shape, o->shape, sizeof(tensor[t].shape));
        if (!rig_has(r, t))
            continue;
        rig_strides(r, t, gap, &tensor[t]);
        const size_t bytes = (size_t)sab_tensor_bytes(&tensor[t]);
        assert_int_equal(posix_memalign(&tensor[t].data, 64, bytes + 1), 0);
        memset(tensor[t].data, 0x5c, bytes);
        if (!rig_is_output(r, t))
            rig_move(&tensor[t], r->data[t], false);
    }
}

static inline void rig_expect_gaps(const struct sab_tensor *t)
{
    const size_t size = sab_dtype_size(t->dtype);
    const int64_t width = t->shape[t->rank - 1], bytes = sab_tensor_bytes(t);

    if (t->rank < 2)
        return;
    for (int64_t i = 0; i < bytes / (int64_t)size; i++)
        if (i % t->stride[t->rank - 2] >= width)
            for (size_t k = 0; k < size; k++)
                assert_int_equal(((unsigned char *)t->data)[(size_t)i * size + k], 0x5c);
}

/* Plans once, launches twice over filled outputs and workspace; outputs go back to r->data. The
 * status, and the message in `text`. */
static inline int rig_call(struct ix_rig *r, const struct rig_call *call, char *text, size_t size)
{
    const struct sab_kernel *row = call->row;
    struct sab_message msg = {text, size};
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    struct sab_problem problem = {.struct_size = sizeof(problem),
                                  .tensors_nr = r->p.spec->tensors_nr,
                                  .params_nr = r->p.spec->params_nr,
                                  .tensors = tensor,
                                  .params = r->p.param,
                                  .choices = call->choices,
                                  .choices_nr = call->choices_nr,
                                  .threads = call->threads};
    struct sab_buffer workspace = {0};
    void *plan = NULL, *memory = NULL;
    size_t bytes = 0;
    int status;

    rig_tensors(r, call->gap, tensor);
    status = row->supports(&problem, &msg);
    if (status == SAB_OK)
        status = row->workspace_size(&problem, &workspace.bytes, &msg);
    if (status == SAB_OK && workspace.bytes) {
        bytes = workspace.bytes;
        assert_int_equal(posix_memalign(&memory, 256, bytes + RIG_GUARD), 0);
        memset(memory, 0x5c, bytes + RIG_GUARD);
        workspace.data = memory;
        workspace.bytes -= (uint64_t)call->less_bytes;
    }
    if (status == SAB_OK)
        status = row->plan(&problem, &workspace, &plan, &msg);
    for (int launch = 0; status == SAB_OK && launch < 2; launch++) {
        for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
            if (rig_is_output(r, t)) {
                memset(r->data[t], launch ? 0xff : 0x11, r->p.tensor[t].bytes);
                rig_move(&tensor[t], r->data[t], false);
            }
        if (memory)
            memset(memory, launch ? 0xff : 0xa5, bytes);
        status = row->launch(plan, NULL, &msg);
    }
    if (plan)
        row->free(plan);
    for (size_t i = bytes; memory && i < bytes + RIG_GUARD; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0x5c);
    free(memory);
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        if (rig_is_output(r, t) && status == SAB_OK) {
            rig_move(&tensor[t], r->data[t], true);
            rig_expect_gaps(&tensor[t]);
        }
        free(tensor[t].data);
    }
    return status;
}

static inline void rig_run(struct ix_rig *r, const struct sab_kernel *row, int threads, int64_t gap)
{
    const struct rig_call call = {.row = row, .threads = threads, .gap = gap};
    char text[512] = "";

    if (rig_call(r, &call, text, sizeof(text)) != SAB_OK)
        fail_msg("%s", text);
}

/* A case by a kernel, against the oracle. */
static inline void rig_hold(const char *op, const char *axes, const struct sab_kernel *row)
{
    struct ix_rig r;

    rig_init(&r, op, axes);
    rig_oracle(&r, 2);
    rig_run(&r, row, 1, 0);
    rig_expect_pass(&r, axes);
    rig_run(&r, row, 3, 8);
    rig_expect_pass(&r, axes);
    rig_release(&r);
}

/* The kernel refuses the rig with this status, and says why. */
static inline void rig_expect_refused(struct ix_rig *r, const struct sab_kernel *row, int status,
                                      const char *why)
{
    const struct rig_call call = {.row = row, .threads = 1};
    char text[512] = "";

    assert_int_equal(rig_call(r, &call, text, sizeof(text)), status);
    if (!strstr(text, why))
        fail_msg("'%s' does not name '%s'", text, why);
}

/* Oracle, then a kernel, against a vector. Both slices and answers of the file must be there. */
static inline void rig_vector(const struct vector *v, int64_t rows, int64_t keys,
                              const struct sab_kernel *row)
{
    struct ix_rig r;

    rig_from_vector(&r, v);
    rig_slice_rows(&r, rows, keys);
    rig_vector_oracle(&r, v->op, 2);
    rig_answer(&r);
    rig_hold_vector(&r, v);
    for (int threads = 1; threads < 4; threads += 2) {
        rig_run(&r, row, threads, threads == 3 ? 4 : 0);
        rig_hold_vector(&r, v);
    }
    rig_release(&r);
}

#endif
