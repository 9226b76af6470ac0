/*
 * vectors.c - golden vectors as data: look-ups, files, and the problem that one holds.
 */
#include "vectors.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numfmt.h"

void vector_init(struct vector *v)
{
    memset(v, 0, sizeof(*v));
}

void vector_release(struct vector *v)
{
    for (size_t i = 0; i < v->params_nr; i++) {
        free(v->param[i].name);
        free(v->param[i].word);
    }
    for (size_t i = 0; i < v->tensors_nr; i++) {
        free(v->tensor[i].name);
        free(v->tensor[i].raw);
        free(v->tensor[i].value);
    }
    for (size_t i = 0; i < v->tolerances_nr; i++)
        free(v->tolerance[i].tensor);
    for (size_t i = 0; i < v->accepts_nr; i++)
        free(v->accept[i].tensor);
    free(v->param);
    free(v->tensor);
    free(v->tolerance);
    free(v->accept);
    free(v->path);
    free(v->op);
    free(v->title);
    vector_init(v);
}

const struct vector_param *vector_param_find(const struct vector *v, const char *name)
{
    for (size_t i = 0; i < v->params_nr; i++)
        if (!strcmp(v->param[i].name, name))
            return &v->param[i];
    return NULL;
}

const struct vector_tensor *vector_tensor_find(const struct vector *v, const char *name)
{
    for (size_t i = 0; i < v->tensors_nr; i++)
        if (!strcmp(v->tensor[i].name, name))
            return &v->tensor[i];
    return NULL;
}

const struct vector_tolerance *vector_tolerance_find(const struct vector *v, const char *name)
{
    for (size_t i = 0; i < v->tolerances_nr; i++)
        if (!strcmp(v->tolerance[i].tensor, name))
            return &v->tolerance[i];
    return NULL;
}

int64_t vector_int(const struct vector *v, const char *name, int64_t otherwise)
{
    const struct vector_param *p = vector_param_find(v, name);

    return p && p->kind == VECTOR_INT ? p->i : otherwise;
}

double vector_real(const struct vector *v, const char *name, double otherwise)
{
    const struct vector_param *p = vector_param_find(v, name);

    return p && p->kind != VECTOR_WORD ? p->f : otherwise;
}

static int paths_add(struct vector_paths *paths, const char *dir, const char *name, struct err *err)
{
    const size_t size = strlen(dir) + strlen(name) + 2;

    if (paths->nr == paths->alloc) {
        const size_t alloc = paths->alloc ? 2 * paths->alloc : 32;
        char **more = realloc(paths->item, alloc * sizeof(*more));

        if (!more)
            return err_memory(err);
        paths->item = more;
        paths->alloc = alloc;
    }
    paths->item[paths->nr] = malloc(size);
    if (!paths->item[paths->nr])
        return err_memory(err);
    snprintf(paths->item[paths->nr++], size, "%s/%s", dir, name);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int vector_paths_read(struct vector_paths *paths, const char *dir, struct err *err)
{
    DIR *handle = opendir(dir);
    int ret = 0;

    memset(paths, 0, sizeof(*paths));
    if (!handle)
        return err_errno(err, ERR_CONFIG, "cannot read the folder of vectors '%s'", dir);
    for (const struct dirent *entry; !ret && (entry = readdir(handle));) {
        const size_t len = strlen(entry->d_name);

        if (len > 4 && !strcmp(entry->d_name + len - 4, ".txt"))
            ret = paths_add(paths, dir, entry->d_name, err);
    }
    closedir(handle);
    if (ret < 0)
        vector_paths_release(paths);
    else if (paths->nr)
        qsort(paths->item, paths->nr, sizeof(*paths->item), by_name);
    return ret;
}

void vector_paths_release(struct vector_paths *paths)
{
    for (size_t i = 0; i < paths->nr; i++)
        free(paths->item[i]);
    free(paths->item);
    memset(paths, 0, sizeof(*paths));
}

static int problem_tensor(const struct vector *v, const struct sab_tensor_spec *spec,
                          struct op_tensor *to, const void **data, struct err *err)
{
    const struct vector_tensor *from = vector_tensor_find(v, spec->name);

    *data = NULL;
    if (!from && spec->optional)
        return 0;
    if (!from)
        return err_set(err, ERR_CONFIG, "%s: tensor '%s' of %s is missing", v->path, spec->name,
                       v->op);
    if (from->output != (spec->role == SAB_OUT))
        return err_set(err, ERR_CONFIG, "%s: tensor '%s' must be %s", v->path, spec->name,
                       spec->role == SAB_OUT ? "an output" : "an input");
    to->dtype = from->dtype;
    to->rank = from->rank;
    memcpy(to->shape, from->shape, sizeof(to->shape));
    to->elements = from->elements;
    to->bytes = (uint64_t)from->elements * numfmt_size(from->dtype);
    if (!from->output)
        *data = from->raw;
    return 0;
}

/* Place of a word in the parameter's list, or -1. */
static int64_t word_place(const char *words, const char *word)
{
    const size_t len = strlen(word);
    int64_t place = 0;

    for (const char *at = words; *at; place++) {
        const size_t span = strcspn(at, " ");

        if (span == len && !memcmp(at, word, len))
            return place;
        at += span;
        at += strspn(at, " ");
    }
    return -1;
}

/* The catalogue's default, from the shapes that are there and the earlier parameters. */
static int default_param(const struct vector *v, const struct op_problem *p, uint32_t i,
                         union sab_value *to, struct err *err)
{
    struct sab_tensor tensor[SAB_MAX_TENSORS] = {{0}};
    const struct sab_problem problem = {.struct_size = sizeof(problem),
                                        .tensors_nr = p->spec->tensors_nr,
                                        .params_nr = p->spec->params_nr,
                                        .tensors = tensor,
                                        .params = p->param};
    char text[256] = "";
    struct sab_message msg = {text, sizeof(text)};

    for (uint32_t t = 0; t < p->spec->tensors_nr; t++) {
        tensor[t].dtype = p->tensor[t].dtype;
        tensor[t].rank = p->tensor[t].rank;
        memcpy(tensor[t].shape, p->tensor[t].shape, sizeof(tensor[t].shape));
    }
    if (!*p->spec->params[i].initial || sab_default(p->spec, &problem, i, to, &msg) != SAB_OK)
        return err_set(err, ERR_CONFIG, "%s: param '%s' of %s is missing", v->path,
                       p->spec->params[i].name, v->op);
    return 0;
}

static int problem_param(const struct vector *v, const struct op_problem *p, uint32_t i,
                         union sab_value *to, struct err *err)
{
    const struct sab_param_spec *spec = &p->spec->params[i];
    const struct vector_param *from = vector_param_find(v, spec->name);

    if (!from)
        return default_param(v, p, i, to, err);
    if (spec->kind == SAB_WORD)
        to->i = word_place(spec->words, from->word);
    else if (spec->kind == SAB_REAL)
        to->f = from->f;
    else
        to->i = from->i;
    if (spec->kind == SAB_WORD
            ? to->i < 0
            : from->kind == VECTOR_WORD || (spec->kind != SAB_REAL && from->kind != VECTOR_INT))
        return err_set(err, ERR_CONFIG, "%s: param %s = '%s' has the wrong kind", v->path,
                       spec->name, from->word);
    return 0;
}

int vector_to_problem(const struct vector *v, struct op_problem *p, struct op_buffers *buffers,
                      struct err *err)
{
    const struct sab_op_spec *spec = sab_op_find(v->op);
    const void *data[SAB_MAX_TENSORS] = {NULL};

    if (!spec)
        return err_set(err, ERR_CONFIG, "%s: there is no operator '%s'", v->path, v->op);
    memset(p, 0, sizeof(*p));
    p->spec = spec;
    for (uint32_t i = 0; i < spec->tensors_nr; i++)
        if (problem_tensor(v, &spec->tensors[i], &p->tensor[i], &data[i], err) < 0)
            return -1;
    for (uint32_t i = 0; i < spec->params_nr; i++)
        if (problem_param(v, p, i, &p->param[i], err) < 0)
            return -1;
    if (buffers) {
        buffers->problem = p;
        memcpy(buffers->data, data, sizeof(data));
    }
    return 0;
}
