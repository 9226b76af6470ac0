/*
 * vectors_reader.h - the parser of golden vectors, shared by its two files.
 */
#ifndef BENCH_MODEL_VECTORS_READER_H
#define BENCH_MODEL_VECTORS_READER_H

#include "vectors.h"

#define VECTOR_FIELDS_MAX 32

struct vector_reader {
    struct vector *v;
    const char *text, *end; /* what is still to be read */
    int line;
    char *copy; /* the current line, cut into fields */
    size_t copy_alloc;
    char *field[VECTOR_FIELDS_MAX];
    int fields;
    struct err *err;
};

/* An ERR_CONFIG message with "PATH:LINE: " before it; -1. */
#define VECTOR_BAD(r, ...)                                                                         \
    (err_set((r)->err, ERR_CONFIG, __VA_ARGS__),                                                   \
     err_prefix((r)->err, "%s:%d", (r)->v->path, (r)->line))

/* Room for one more zeroed item at the end of a list, NULL without memory. */
void *vector_grow(void **list, size_t nr, size_t *alloc, size_t size, struct err *err);
char *vector_strdup(const char *s, struct err *err);
/* A number, or a whole number of at least `least`, that is the whole field. */
int vector_number(const char *s, double *out);
int vector_whole(const char *s, int64_t least, int64_t *out);

/* `# tolerance`, `# accept` and `param` lines, cut into fields. */
int vector_read_tolerance(struct vector_reader *r);
int vector_read_accept(struct vector_reader *r);
int vector_read_param(struct vector_reader *r);

#endif
