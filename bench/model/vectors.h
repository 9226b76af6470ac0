/*
 * vectors.h - golden vectors: small problems with known answers, one text file a case.
 *
 * The format and the meaning of every tolerance are those of tests/vectors/README.md. Reading
 * checks everything: a file that does not say exactly what it must is ERR_CONFIG with
 * "PATH:LINE: ".
 */
#ifndef BENCH_MODEL_VECTORS_H
#define BENCH_MODEL_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "opmodel.h"
#include "sab.h"

enum vector_value { VECTOR_INT = 0, VECTOR_REAL, VECTOR_WORD };

struct vector_param {
    char *name;
    enum vector_value kind;
    int64_t i;  /* VECTOR_INT */
    double f;   /* VECTOR_INT and VECTOR_REAL */
    char *word; /* as it stands in the file, whatever the kind */
};

struct vector_tensor {
    char *name;
    bool output;
    int32_t dtype;
    int32_t rank; /* 0: one element */
    int64_t shape[SAB_MAX_RANK];
    int64_t elements;
    bool real;     /* values are reals, not bit patterns; then raw is NULL */
    void *raw;     /* packed elements of dtype, 64-byte aligned; NULL for reals */
    double *value; /* each element as a number, always there (elements long, at least one) */
};

/* One `# tolerance` line: every bar that is set holds at once. A bar that is absent is NAN. */
struct vector_tolerance {
    char *tensor;
    double atol, rtol; /* both NAN, or a missing one 0 */
    double rel_l2, cosine, diff, row_sum;
    bool zero, bits, selection;
};

enum vector_rule { VECTOR_SET = 0, VECTOR_TIES, VECTOR_ORDER };

struct vector_accept {
    char *tensor;
    enum vector_rule rule;
    int64_t row; /* -1: every row that has no line of its own */
};

struct vector {
    char *path;
    char *op;    /* name of the folder that the file lies in, "" where there is none */
    char *title; /* file name without ".txt" */
    struct vector_param *param;
    size_t params_nr, params_alloc;
    struct vector_tensor *tensor;
    size_t tensors_nr, tensors_alloc;
    struct vector_tolerance *tolerance;
    size_t tolerances_nr, tolerances_alloc;
    struct vector_accept *accept;
    size_t accepts_nr, accepts_alloc;
};

void vector_init(struct vector *v);
void vector_release(struct vector *v);
int vector_read_file(struct vector *v, const char *path, struct err *err);
/* The same from memory; `path` is what messages, op and title come from. */
int vector_read_text(struct vector *v, const char *path, const char *text, size_t len,
                     struct err *err);

/* NULL where there is none of that name. */
const struct vector_param *vector_param_find(const struct vector *v, const char *name);
const struct vector_tensor *vector_tensor_find(const struct vector *v, const char *name);
const struct vector_tolerance *vector_tolerance_find(const struct vector *v, const char *name);
/* Value of an integer parameter, or `otherwise`. */
int64_t vector_int(const struct vector *v, const char *name, int64_t otherwise);
double vector_real(const struct vector *v, const char *name, double otherwise);

/* Paths of all *.txt files in DIR, sorted by name. Freed with vector_paths_release(). */
struct vector_paths {
    char **item;
    size_t nr, alloc;
};
int vector_paths_read(struct vector_paths *paths, const char *dir, struct err *err);
void vector_paths_release(struct vector_paths *paths);

/*
 * The problem that a vector holds, by the names of ops.h: shapes, dtypes, parameters (a missing
 * one takes the catalogue's default). Inputs are at buffers->data[i], borrowed
 * from the vector; an output has shape and dtype and no data. buffers may be NULL.
 */
int vector_to_problem(const struct vector *v, struct op_problem *p, struct op_buffers *buffers,
                      struct err *err);

struct vector_verdict {
    bool pass;
    int held;               /* tolerance lines that were looked at */
    char text[512];         /* the first broken bar; "" when it passed */
    double rel_l2, max_abs; /* worst over the lines; emulated references included */
};

/*
 * Holds outputs against the tolerance lines. out[i] is output tensor i of ops.h, packed raw bits of
 * its dtype, or NULL where the caller has none: its lines are then left out. `NAME_emulated`
 * references are held only where the attributes say fold = last_to_first, p_scale = 256,
 * rescale = lazy. A broken bar is not an error: verdict->pass says it.
 */
int vector_judge(const struct vector *v, const void *const out[SAB_MAX_TENSORS],
                 const struct sab_attribute *attributes, uint32_t attributes_nr,
                 struct vector_verdict *verdict, struct err *err);

/* One tensor against one reference tensor of the file, by one tolerance line. `got` holds raw bits
 * of ref->dtype. Fills pass, text, rel_l2 and max_abs. */
int vector_judge_tensor(const struct vector *v, const struct vector_tensor *ref,
                        const struct vector_tolerance *tolerance, const void *got,
                        struct vector_verdict *verdict, struct err *err);

#endif
