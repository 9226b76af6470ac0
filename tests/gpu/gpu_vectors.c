/*
 * gpu_vectors.c - every CUDA kernel of a library, with every choice of its options, on every golden
 * vector of its operator; where the strides of a tensor are free, also with gaps between its rows,
 * aligned and not.
 *
 *   gpu_vectors [--quick] [--only GLOB] [LIBRARY]
 *
 * SAB_VECTORS names the folder of vectors where it is not that of the source tree.
 */
#include "gpu_rig.h"
#include "vectors.h"

/* Uploads packed rows to rows with gaps, which hold NaN. */
static int upload_padded(struct rig *rig, const struct sab_tensor *t, const void *from,
                         struct err *err)
{
    const size_t size = sab_dtype_size(t->dtype), row = (size_t)t->shape[t->rank - 1] * size;
    const size_t stride = (size_t)t->stride[t->rank - 2] * size;
    const size_t bytes = (size_t)sab_tensor_bytes(t);
    char *host = malloc(bytes + 1);
    int rc;

    if (!host)
        return err_memory(err);
    memset(host, 0xff, bytes);
    for (size_t at = 0, i = 0; at < bytes; at += stride, i++)
        memcpy(host + at, (const char *)from + i * row, row);
    rc = device_upload(rig->dev, t->data, host, bytes, err);
    free(host);
    return rc;
}

static int fill_inputs(struct rig *rig, struct rig_problem *rp, void *ctx, struct err *err)
{
    const struct op_buffers *buffers = ctx;

    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++) {
        if (!rp->base[t] || !buffers->data[t])
            continue;
        if (rig_gap(rp, t) > 0) {
            if (upload_padded(rig, &rp->tensor[t], buffers->data[t], err) < 0)
                return -1;
        } else if (device_upload(rig->dev, rp->tensor[t].data, buffers->data[t],
                                 rp->p.tensor[t].bytes, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void run_vector(struct rig *rig, const struct sab_kernel *row, const uint32_t *choices,
                       const struct vector *v, int64_t pad)
{
    struct rig_problem rp = {.pad = pad, .choices = choices};
    struct op_buffers buffers;
    struct vector_verdict verdict;
    struct err err = ERR_INIT;
    char name[256], arm[128];
    int rc;

    rig_arm_name(row, choices, arm, sizeof(arm));
    snprintf(name, sizeof(name), "%s %s", arm, v->title);
    if (pad)
        snprintf(name, sizeof(name), "%s %s_gap%d", arm, v->title, (int)pad);
    if (!rig_wants(rig, name))
        return;
    rc = vector_to_problem(v, &rp.p, &buffers, &err);
    if (rc == 0)
        rc = rig_run(rig, &rp, row, fill_inputs, &buffers, &err);
    if (rc == 0)
        rc = vector_judge(v, (const void *const *)rp.out, row->attributes, row->attributes_nr,
                          &verdict, &err);
    if (rc == 0)
        tap_ok(&rig->tap, verdict.pass && verdict.held > 0,
               "%s: %d bars, max abs %.3g, relative L2 %.3g%s%s", name, verdict.held,
               verdict.max_abs, verdict.rel_l2, verdict.pass ? "" : ": ", verdict.text);
    else if (rc > 0)
        printf("# %s: not served: %s\n", name, err.text);
    else
        tap_ok(&rig->tap, false, "%s: %s", name, err.text);
    rig->skipped += rc > 0;
    rig_problem_close(rig, &rp);
    err_clear(&err);
}

static void run_kernel(struct rig *rig, const struct sab_kernel *row, const uint32_t *choices,
                       int64_t pad)
{
    const char *root = getenv("SAB_VECTORS");
    struct vector_paths paths;
    struct err err = ERR_INIT;
    char dir[PATH_MAX];

    snprintf(dir, sizeof(dir), "%s/%s", root ? root : VECTOR_DIR, row->op);
    if (access(dir, R_OK) != 0) {
        printf("# %s/%s: no vectors in %s\n", row->op, row->name, dir);
        return;
    }
    if (!tap_try(&rig->tap, vector_paths_read(&paths, dir, &err), dir, &err))
        return;
    for (size_t i = 0; i < paths.nr; i++) {
        struct vector v;

        vector_init(&v);
        if (tap_try(&rig->tap, vector_read_file(&v, paths.item[i], &err), "vector", &err))
            run_vector(rig, row, choices, &v, pad);
        vector_release(&v);
    }
    vector_paths_release(&paths);
}

static bool has_free_strides(const struct sab_kernel *row)
{
    const struct sab_op_spec *spec = sab_op_find(row->op);

    for (uint32_t t = 0; spec && t < spec->tensors_nr; t++)
        if (spec->tensors[t].strided[0] != '\0')
            return true;
    return false;
}

int main(int argc, char **argv)
{
    const struct sab_kernel *row;
    uint32_t choices[SAB_MAX_OPTIONS];
    struct rig rig;
    size_t at = 0;
    int rc = rig_open(&rig, argc, argv);

    if (rc != 0)
        return rc;
    while ((row = rig_kernel(&rig, NULL, &at))) {
        for (uint32_t step = 0; rig_choose(row, step, choices); step++)
            run_kernel(&rig, row, choices, 0);
        if (!has_free_strides(row))
            continue;
        run_kernel(&rig, row, NULL, 8);
        run_kernel(&rig, row, NULL, 3);
    }
    if (rig.tap.nr == 0)
        tap_ok(&rig.tap, false, "nothing was run");
    return rig_close(&rig);
}
