/*
 * test_dsa_cpu.h - a call of dsa_fwd/cpu, dsa_bwd/cpu or bsa_fwd/cpu on a rig.
 */
#ifndef TEST_DSA_CPU_H
#define TEST_DSA_CPU_H

#include "test_dsa_rig.h"

extern const struct sab_kernel dsa_fwd_cpu_row, dsa_bwd_cpu_row, bsa_fwd_cpu_row;

#define RIG_GUARD 64

struct rig_call {
    uint32_t choice;
    int threads;
    int fill;           /* byte in outputs and workspace before the launch */
    int64_t less_bytes; /* of workspace than it asks for */
};

static inline const struct sab_kernel *rig_row(const struct dsa_rig *r)
{
    static const struct sab_kernel *const rows[] = {&dsa_fwd_cpu_row, &dsa_bwd_cpu_row,
                                                    &bsa_fwd_cpu_row};
    size_t i = 0;

    while (strcmp(r->p.spec->name, rows[i]->op))
        i++;
    return rows[i];
}

static inline void rig_tensors(const struct dsa_rig *r, struct sab_tensor *tensor)
{
    memset(tensor, 0, SAB_MAX_TENSORS * sizeof(*tensor));
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++) {
        const struct op_tensor *o = &r->p.tensor[t];

        tensor[t].data = r->data[t];
        tensor[t].rank = o->rank;
        tensor[t].dtype = o->dtype;
        tensor[t].role = r->p.spec->tensors[t].role;
        tensor[t].alignment = 64;
        memcpy(tensor[t].shape, o->shape, sizeof(tensor[t].shape));
        sab_contiguous(&tensor[t]);
    }
}

/* Plans and launches twice over filled outputs, the workspace between guards; the status, and the
 * message in `text`. */
static inline int rig_cpu(struct dsa_rig *r, const struct rig_call *call, char *text, size_t size)
{
    const struct sab_kernel *row = rig_row(r);
    struct sab_message msg = {text, size};
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    struct sab_problem problem = {.struct_size = sizeof(problem),
                                  .tensors_nr = r->p.spec->tensors_nr,
                                  .params_nr = r->p.spec->params_nr,
                                  .choices_nr = 1,
                                  .tensors = tensor,
                                  .params = r->p.param,
                                  .choices = &call->choice,
                                  .threads = call->threads};
    struct sab_buffer workspace = {0};
    void *plan = NULL, *memory = NULL;
    size_t bytes = 0;
    int status;

    rig_tensors(r, tensor);
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
            if (rig_has(r, t) && rig_is_output(r, t) && r->p.tensor[t].bytes)
                memset(r->data[t], call->fill ? call->fill : 0xff, r->p.tensor[t].bytes);
        if (memory)
            memset(memory, call->fill ? call->fill : 0xa5, bytes);
        status = row->launch(plan, NULL, &msg);
    }
    if (plan)
        row->free(plan);
    for (size_t i = bytes; memory && i < bytes + RIG_GUARD; i++)
        assert_int_equal(((unsigned char *)memory)[i], 0x5c);
    free(memory);
    return status;
}

static inline void rig_run(struct dsa_rig *r, uint32_t choice, int threads)
{
    const struct rig_call call = {.choice = choice, .threads = threads};
    char text[512] = "";

    if (rig_cpu(r, &call, text, sizeof(text)) != SAB_OK)
        fail_msg("%s", text);
}

static inline void rig_by_cpu(struct dsa_rig *r)
{
    rig_run(r, 0, 2);
}

static inline bool rig_serves(struct dsa_rig *r, uint32_t choice)
{
    const struct rig_call call = {.choice = choice, .threads = 1};
    char text[512] = "";

    return rig_cpu(r, &call, text, sizeof(text)) != SAB_UNSUPPORTED;
}

/* A copy of an output, to be freed. */
static inline void *rig_copy(const struct dsa_rig *r, uint32_t t)
{
    void *copy = malloc(r->p.tensor[t].bytes + 1);

    assert_non_null(copy);
    memcpy(copy, r->data[t], r->p.tensor[t].bytes);
    return copy;
}

#endif
