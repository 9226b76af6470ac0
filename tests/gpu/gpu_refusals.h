/*
 * gpu_refusals.h - the validation table of the DSA contract (section 4) on device memory: each
 * malformed companion of a legal call is refused by `supports` and by `plan` in the same words, by
 * name, and no output byte is written. What only addresses can tell is for `plan` alone.
 */
#ifndef TESTS_GPU_GPU_REFUSALS_H
#define TESTS_GPU_GPU_REFUSALS_H

#include "gpu_case.h"

#define REFUSE_LEGAL                                                                               \
    "heads=3 seqlen_q=4 seqlen_k=8 topk=5 lengths=full sink=linspace head_dim=512 dtype=bf16"

struct refuse {
    struct rig *rig;
    const struct sab_kernel *row;
    struct rig_problem rp; /* the legal call */
    struct sab_tensor tensor[SAB_MAX_TENSORS];
    union sab_value param[SAB_MAX_PARAMS];
    uint32_t choices[SAB_MAX_OPTIONS];
    struct sab_buffer workspace;
    struct sab_problem problem; /* of the copies above, which a check changes */
    int asked, wrong;
};

/* A tensor with another type or shape, or gone (SAB_NONE). Letters: T, H, D, N and K of the legal
 * call, V 512, W 576; small ones: one less. */
static const struct refuse_row {
    const char *op; /* NULL: both */
    const char *tensor;
    int32_t dtype;
    const char *shape;
    const char *named; /* NULL: the tensor itself */
} refuse_rows[] = {
    {NULL, "q", SAB_NONE, "", NULL},
    {NULL, "q", SAB_F32, "THD", NULL},
    {NULL, "q", SAB_E4M3, "THD", NULL},
    {NULL, "q", SAB_BF16, "HD", NULL},
    {NULL, "q", SAB_BF16, "1THD", NULL},
    {NULL, "q", SAB_FP16, "THD", "kv"},
    {NULL, "kv", SAB_NONE, "", NULL},
    {NULL, "kv", SAB_FP16, "ND", NULL},
    {NULL, "kv", SAB_BF16, "NW", NULL},
    {NULL, "kv", SAB_BF16, "N1D", NULL},
    {NULL, "attn_sink", SAB_F32, "h", NULL},
    {NULL, "attn_sink", SAB_F32, "1H", NULL},
    {NULL, "attn_sink", SAB_BF16, "H", NULL},
    {NULL, "topk_idxs", SAB_NONE, "", NULL},
    {NULL, "topk_idxs", SAB_F32, "TK", NULL},
    {NULL, "topk_idxs", SAB_I32, "KT", NULL},
    {NULL, "topk_idxs", SAB_I32, "tK", NULL},
    {NULL, "topk_idxs", SAB_I32, "T1K", NULL},
    {NULL, "topk_length", SAB_F32, "T", NULL},
    {NULL, "topk_length", SAB_I32, "t", NULL},
    {NULL, "topk_length", SAB_I32, "T1", NULL},
    {NULL, "out", SAB_NONE, "", NULL},
    {NULL, "out", SAB_BF16, "HTV", NULL},
    {NULL, "out", SAB_BF16, "tHV", NULL},
    {NULL, "out", SAB_BF16, "THW", NULL},
    {NULL, "out", SAB_FP16, "THV", NULL},
    {NULL, "lse", SAB_NONE, "", NULL},
    {NULL, "lse", SAB_F32, "HT", NULL},
    {NULL, "lse", SAB_BF16, "TH", NULL},
    {"dsa_fwd", "max_logits", SAB_NONE, "", NULL},
    {"dsa_fwd", "max_logits", SAB_F32, "HT", NULL},
    {"dsa_fwd", "lse_indexer", SAB_NONE, "", NULL},
    {"dsa_fwd", "lse_indexer", SAB_F32, "HT", NULL},
    {"dsa_bwd", "attn_sink", SAB_NONE, "", NULL},
    {"dsa_bwd", "dout", SAB_NONE, "", NULL},
    {"dsa_bwd", "dout", SAB_BF16, "HTV", NULL},
    {"dsa_bwd", "dout", SAB_BF16, "THW", NULL},
    {"dsa_bwd", "dout", SAB_FP16, "THV", NULL},
    {"dsa_bwd", "dq", SAB_NONE, "", NULL},
    {"dsa_bwd", "dq", SAB_BF16, "HTD", NULL},
    {"dsa_bwd", "dq", SAB_F32, "THD", NULL},
    {"dsa_bwd", "dkv", SAB_NONE, "", NULL},
    {"dsa_bwd", "dkv", SAB_BF16, "nD", NULL},
    {"dsa_bwd", "dkv", SAB_F32, "ND", NULL},
    {"dsa_bwd", "d_sink", SAB_NONE, "", NULL},
    {"dsa_bwd", "d_sink", SAB_F32, "h", NULL},
    {"dsa_bwd", "d_sink", SAB_BF16, "H", NULL},
};

static inline void refuse_reset(struct refuse *r)
{
    memcpy(r->tensor, r->rp.tensor, sizeof(r->tensor));
    memcpy(r->param, r->rp.p.param, sizeof(r->param));
    r->workspace = r->rp.workspace;
    rig_sab_problem(r->rig, &r->rp, r->row, r->choices, &r->problem);
    r->problem.tensors = r->tensor;
    r->problem.params = r->param;
}

static inline struct sab_tensor *refuse_tensor(struct refuse *r, const char *name)
{
    const int32_t t = sab_tensor_find(r->rp.p.spec, name);

    return t < 0 || r->tensor[t].dtype == SAB_NONE ? NULL : &r->tensor[t];
}

static inline int64_t refuse_size(const struct refuse *r, char letter)
{
    const struct sab_op_spec *spec = r->rp.p.spec;
    const int64_t *q = r->rp.tensor[sab_tensor_find(spec, "q")].shape;
    const int64_t *kv = r->rp.tensor[sab_tensor_find(spec, "kv")].shape;
    const int64_t *ids = r->rp.tensor[sab_tensor_find(spec, "topk_idxs")].shape;
    const struct {
        char letter;
        int64_t size;
    } sizes[] = {{'T', q[0]},     {'H', q[1]},     {'D', q[2]},     {'N', kv[0]},
                 {'K', ids[1]},   {'V', 512},      {'W', 576},      {'X', 128},
                 {'t', q[0] - 1}, {'h', q[1] - 1}, {'n', kv[0] - 1}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].letter == letter)
            return sizes[i].size;
    return 1;
}

static inline void refuse_shape(const struct refuse *r, struct sab_tensor *t, int32_t dtype,
                                const char *shape)
{
    t->dtype = dtype;
    for (t->rank = 0; shape[t->rank]; t->rank++)
        t->shape[t->rank] = refuse_size(r, shape[t->rank]);
    sab_contiguous(t);
}

/* The status that one of the two hooks gives, and its words; a plan that was made is freed. */
static inline int refuse_ask(struct refuse *r, bool plan, char *text, size_t size)
{
    struct sab_message msg = {text, size};
    void *made = NULL;
    int status;

    text[0] = '\0';
    if (!plan)
        return r->row->supports(&r->problem, &msg);
    status = r->row->plan(&r->problem, &r->workspace, &made, &msg);
    if (made)
        r->row->free(made);
    if (status != SAB_OK && made)
        snprintf(text, size, "a plan was given with the refusal");
    return status;
}

static inline void refuse_say(struct refuse *r, const char *what, const char *named, int status,
                              const char *text)
{
    r->wrong++;
    printf("#   %s/%s: %s for '%s' is answered %s: %s\n", r->row->op, r->row->name, what, named,
           sab_status_name(status), text);
}

/* What `supports` (where metadata shows it) and `plan` answer: `due`, naming the argument, in the
 * same words. Then the legal call again. */
static inline void refuse_expect(struct refuse *r, int due, bool metadata, const char *named)
{
    char text[2][512];
    int status[2];

    for (int plan = 0; plan < 2; plan++) {
        const bool refused = plan || metadata;

        status[plan] = refuse_ask(r, plan, text[plan], sizeof(text[plan]));
        if (status[plan] != (refused ? due : SAB_OK) || (refused && !strstr(text[plan], named)))
            refuse_say(r, plan ? "plan" : "supports", named, status[plan], text[plan]);
    }
    if (metadata && strcmp(text[0], text[1]) != 0)
        refuse_say(r, "plan, not as supports", named, status[1], text[1]);
    r->asked++;
    refuse_reset(r);
}

static inline void refuse_types_and_shapes(struct refuse *r)
{
    char quoted[64];

    for (size_t i = 0; i < sizeof(refuse_rows) / sizeof(refuse_rows[0]); i++) {
        const struct refuse_row *row = &refuse_rows[i];
        struct sab_tensor *t = refuse_tensor(r, row->tensor);

        if (!t || (row->op && strcmp(row->op, r->row->op) != 0))
            continue;
        refuse_shape(r, t, row->dtype, row->shape);
        snprintf(quoted, sizeof(quoted), "'%s'", row->named ? row->named : row->tensor);
        refuse_expect(r, SAB_INVALID, true, quoted);
    }
}

/* Every tensor of the width has it, so that nothing but the width is wrong. */
static inline void refuse_width(struct refuse *r)
{
    static const char *const tensors[][2] = {
        {"q", "THX"}, {"kv", "NX"}, {"dq", "THX"}, {"dkv", "NX"}};

    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++) {
        struct sab_tensor *t = refuse_tensor(r, tensors[i][0]);

        if (t)
            refuse_shape(r, t, t->dtype, tensors[i][1]);
    }
    refuse_expect(r, SAB_INVALID, true, "'q'");
}

static inline void refuse_scalars(struct refuse *r)
{
    static const double scales[] = {0, -1, INFINITY, -INFINITY, NAN};
    const int32_t scale = sab_param_find(r->rp.p.spec, "softmax_scale");
    const int32_t prefix = sab_param_find(r->rp.p.spec, "lse_prefix");

    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        r->param[scale].f = scales[i];
        refuse_expect(r, SAB_INVALID, true, "'softmax_scale'");
    }
    if (prefix < 0)
        return;
    r->param[prefix].i = -1;
    refuse_expect(r, SAB_INVALID, true, "'lse_prefix'");
    r->param[prefix].i = refuse_size(r, 'K') + 1;
    refuse_expect(r, SAB_INVALID, true, "'lse_prefix'");
    r->param[prefix].i = 0; /* the tensor is still there */
    refuse_expect(r, SAB_INVALID, true, "'lse_indexer'");
}

/* Strides, memory, device and known alignment of tensor t. */
static inline void refuse_metadata_of(struct refuse *r, uint32_t t, const char *quoted)
{
    for (int32_t d = 0; d < r->rp.tensor[t].rank; d++) {
        r->tensor[t].stride[d] *= 2;
        refuse_expect(r, SAB_INVALID, true, quoted);
    }
    r->tensor[t].memory = SAB_MEMORY_HOST;
    refuse_expect(r, SAB_INVALID, true, quoted);
    r->tensor[t].device = 1;
    refuse_expect(r, SAB_INVALID, true, quoted);
    r->tensor[t].alignment = 4;
    refuse_expect(r, SAB_INVALID, true, quoted);
}

static inline void refuse_addresses_of(struct refuse *r, uint32_t t, const char *quoted)
{
    r->tensor[t].data = NULL;
    refuse_expect(r, SAB_INVALID, false, quoted);
    r->tensor[t].data = (char *)r->tensor[t].data + 4;
    refuse_expect(r, SAB_INVALID, false, quoted);
    /* An 8-byte base is enough for the backward's lse alone. */
    if (r->rp.p.spec->tensors[t].alignment > 8) {
        r->tensor[t].data = (char *)r->tensor[t].data + 8;
        refuse_expect(r, SAB_INVALID, false, quoted);
    }
    if (r->tensor[t].role == SAB_IN)
        return;
    r->tensor[t].data = refuse_tensor(r, "q")->data;
    refuse_expect(r, SAB_INVALID, false, quoted);
}

static inline void refuse_workspaces(struct refuse *r)
{
    const char *named = "workspace";

    if (r->rp.workspace.bytes == 0)
        return;
    r->workspace.data = NULL;
    refuse_expect(r, SAB_INVALID, false, named);
    r->workspace.bytes--;
    refuse_expect(r, SAB_INVALID, false, named);
    r->workspace.data = (char *)r->workspace.data + 16;
    refuse_expect(r, SAB_INVALID, false, named);
    r->workspace.memory = SAB_MEMORY_HOST;
    refuse_expect(r, SAB_INVALID, false, named);
    r->workspace.device = 1;
    refuse_expect(r, SAB_INVALID, false, named);
    r->workspace.data = refuse_tensor(r, "kv")->data;
    refuse_expect(r, SAB_INVALID, false, named);
}

static inline void refuse_everything(struct refuse *r)
{
    char quoted[64];

    refuse_types_and_shapes(r);
    refuse_width(r);
    refuse_scalars(r);
    for (uint32_t t = 0; t < r->rp.p.spec->tensors_nr; t++) {
        snprintf(quoted, sizeof(quoted), "'%s'", r->rp.p.spec->tensors[t].name);
        refuse_metadata_of(r, t, quoted);
        refuse_addresses_of(r, t, quoted);
    }
    refuse_workspaces(r);
    r->problem.arch = 80;
    refuse_expect(r, SAB_UNSUPPORTED, true, "device");
}

/* One line of the protocol for a kernel. */
static inline void refuse_all(struct rig *rig, const struct sab_kernel *row)
{
    static struct refuse r;
    const bool forward = strcmp(row->op, "dsa_fwd") == 0;
    const struct op_model *op = op_model_find(row->op);
    struct op_case c;
    struct err err = ERR_INIT;
    char name[128];
    void *plan = NULL;
    int rc;

    snprintf(name, sizeof(name), "%s/%s refusals", row->op, row->name);
    if (!rig_wants(rig, name))
        return;
    r = (struct refuse){.rig = rig, .row = row};
    library_default_choices(row, r.choices);
    rc = case_make(op, forward ? REFUSE_LEGAL " lse_prefix=5" : REFUSE_LEGAL, &c, &err);
    if (rc == 0)
        rc = op->describe(&c, &r.rp.p, &err);
    if (rc == 0)
        rc = rig_plan(rig, &r.rp, row, &plan, &err);
    if (rc == 0) {
        refuse_reset(&r);
        refuse_everything(&r);
        rc = rig_untouched(rig, &r.rp, 0xa5, &err);
        if (rc == 0)
            rc = rig_guards(rig, &r.rp, &err);
        row->free(plan);
    }
    tap_ok(&rig->tap, rc == 0 && r.wrong == 0, "%s: %d malformed calls, %d wrong answers%s%s", name,
           r.asked, r.wrong, rc == 0 ? "" : ": ", rc == 0 ? "" : err.text);
    rig_problem_close(rig, &r.rp);
    err_clear(&err);
}

#endif
