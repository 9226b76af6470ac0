/*
 * gpu_vectors.c - every CUDA kernel of a library on every golden vector of its operator.
 *
 *   gpu_vectors [--quick] [--only GLOB] [LIBRARY]
 *
 * SAB_VECTORS names the folder of vectors where it is not that of the source tree.
 */
#include "gpu_rig.h"
#include "vectors.h"

static int fill_inputs(struct rig *rig, struct rig_problem *rp, void *ctx, struct err *err)
{
    const struct op_buffers *buffers = ctx;

    for (uint32_t t = 0; t < rp->p.spec->tensors_nr; t++)
        if (rp->base[t] && buffers->data[t] &&
            device_upload(rig->dev, rp->tensor[t].data, buffers->data[t], rp->p.tensor[t].bytes,
                          err) < 0)
            return -1;
    return 0;
}

static void run_vector(struct rig *rig, const struct sab_kernel *row, const struct vector *v)
{
    struct rig_problem rp = {.guard = 0};
    struct op_buffers buffers;
    struct vector_verdict verdict;
    struct err err = ERR_INIT;
    char name[256];
    int rc;

    snprintf(name, sizeof(name), "%s/%s %s", row->op, row->name, v->title);
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

static void run_kernel(struct rig *rig, const struct sab_kernel *row)
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
            run_vector(rig, row, &v);
        vector_release(&v);
    }
    vector_paths_release(&paths);
}

int main(int argc, char **argv)
{
    const struct sab_kernel *row;
    struct rig rig;
    size_t at = 0;
    int rc = rig_open(&rig, argc, argv);

    if (rc != 0)
        return rc;
    while ((row = rig_kernel(&rig, NULL, &at)))
        run_kernel(&rig, row);
    if (rig.tap.nr == 0)
        tap_ok(&rig.tap, false, "nothing was run");
    return rig_close(&rig);
}
