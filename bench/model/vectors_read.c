/*
 * vectors_read.c - the parser of golden vectors (format: tests/vectors/README.md).
 */
#include "vectors_reader.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "numfmt.h"
#include "strbuf.h"

#define LINE_VALUES    16
#define FILE_BYTES_MAX ((size_t)1 << 28)
#define ELEMENTS_MAX   (INT64_C(1) << 26)

static int is_field_byte(unsigned char c)
{
    return c > 0x20 && c < 0x7f;
}

/* Cuts the copy of the line into fields that single blanks separate. */
static int cut(struct vector_reader *r)
{
    char *at = r->copy;

    r->fields = 0;
    for (;;) {
        char *const begin = at;

        while (is_field_byte((unsigned char)*at))
            at++;
        if (at == begin)
            return VECTOR_BAD(r, "empty field, single blanks must separate fields");
        if (*at && *at != ' ')
            return VECTOR_BAD(
                r, "byte 0x%02x, only printable ASCII and single blanks may stand in a line",
                (unsigned)(unsigned char)*at);
        if (r->fields == VECTOR_FIELDS_MAX)
            return VECTOR_BAD(r, "more than %d fields in a line", VECTOR_FIELDS_MAX);
        r->field[r->fields++] = begin;
        if (!*at)
            return 0;
        *at++ = '\0';
    }
}

/* 1 with a line in fields, 0 at the end, negative on error. */
static int next_line(struct vector_reader *r)
{
    const char *newline;
    size_t len;

    if (r->text == r->end)
        return 0;
    r->line++;
    newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
    len = (size_t)((newline ? newline : r->end) - r->text);
    if (!r->copy || len + 1 > r->copy_alloc) {
        char *more = realloc(r->copy, 2 * len + 64);

        if (!more)
            return err_memory(r->err);
        r->copy = more;
        r->copy_alloc = 2 * len + 64;
    }
    memcpy(r->copy, r->text, len);
    r->copy[len] = '\0';
    r->text = newline ? newline + 1 : r->end;
    if (len == 0)
        return VECTOR_BAD(r, "empty line");
    if (memchr(r->copy, '\0', len))
        return VECTOR_BAD(r,
                          "byte 0x00, only printable ASCII and single blanks may stand in a line");
    if (r->copy[0] == '#' && strncmp(r->copy, "# tolerance ", 12) &&
        strncmp(r->copy, "# accept ", 9)) {
        r->fields = 1; /* a remark: its blanks mean nothing */
        r->field[0] = r->copy;
        r->copy[1] = '\0';
        return 1;
    }
    return cut(r) < 0 ? -1 : 1;
}

/* tensor NAME ROLE DTYPE [DIM ...], without its values */
static int read_tensor_line(struct vector_reader *r, struct vector_tensor *t)
{
    if (r->fields < 4 || r->fields > 4 + SAB_MAX_RANK)
        return VECTOR_BAD(r, "must be 'tensor NAME ROLE DTYPE' and at most %d dimensions",
                          SAB_MAX_RANK);
    if (strcmp(r->field[2], "in") && strcmp(r->field[2], "out"))
        return VECTOR_BAD(r, "role '%s' must be in or out", r->field[2]);
    if (vector_tensor_find(r->v, r->field[1]))
        return VECTOR_BAD(r, "second tensor '%s'", r->field[1]);
    t->output = r->field[2][0] == 'o';
    if (!t->output && r->v->tensors_nr && r->v->tensor[r->v->tensors_nr - 1].output)
        return VECTOR_BAD(r, "input '%s' behind an output, inputs come first", r->field[1]);
    t->dtype = sab_dtype_find(r->field[3]);
    if (t->dtype <= SAB_NONE)
        return VECTOR_BAD(r, "unknown dtype '%s'", r->field[3]);
    t->rank = r->fields - 4;
    t->elements = 1;
    for (int i = 0; i < t->rank; i++) {
        if (vector_whole(r->field[4 + i], 0, &t->shape[i]) < 0)
            return VECTOR_BAD(r, "dimension '%s' must be a whole number of at least 0",
                              r->field[4 + i]);
        if (__builtin_mul_overflow(t->elements, t->shape[i], &t->elements) ||
            t->elements > ELEMENTS_MAX)
            return VECTOR_BAD(r, "tensor '%s' has more than %lld elements", r->field[1],
                              (long long)ELEMENTS_MAX);
    }
    return 0;
}

static bool looks_real(const char *s)
{
    s += *s == '-';
    return (s[0] == '0' && s[1] == 'x') || !strcmp(s, "inf") || !strcmp(s, "nan");
}

static int read_value(struct vector_reader *r, struct vector_tensor *t, int64_t i, const char *s)
{
    const uint32_t digits = 2 * numfmt_size(t->dtype);
    uint32_t bits = 0;

    if (i == 0)
        t->real = looks_real(s);
    if (t->real && !t->output)
        return VECTOR_BAD(r, "'%s' is no bit pattern, inputs hold bit patterns only", s);
    if (t->real) {
        if (!looks_real(s) || vector_number(s, &t->value[i]) < 0)
            return VECTOR_BAD(r, "'%s' is no hex float, inf, -inf or nan", s);
        return 0;
    }
    if (strlen(s) != digits || strspn(s, "0123456789abcdef") != digits)
        return VECTOR_BAD(r, "'%s' must have exactly %u hexadecimal digits", s, (unsigned)digits);
    bits = (uint32_t)strtoul(s, NULL, 16);
    numfmt_store(t->dtype, t->raw, i, bits);
    t->value[i] = numfmt_decode(t->dtype, bits);
    return 0;
}

static int read_values(struct vector_reader *r, struct vector_tensor *t)
{
    for (int64_t i = 0; i < t->elements;) {
        const int64_t left = t->elements - i;
        const int wanted = (int)(left < LINE_VALUES ? left : LINE_VALUES);
        const int got = next_line(r);

        if (got < 0)
            return -1;
        if (got == 0 || r->fields != wanted)
            return VECTOR_BAD(
                r, "tensor '%s' has %d values where %d are due, %lld of %lld are read", t->name,
                got ? r->fields : 0, wanted, (long long)i, (long long)t->elements);
        for (int k = 0; k < wanted; k++, i++)
            if (read_value(r, t, i, r->field[k]) < 0)
                return -1;
    }
    return 0;
}

static int read_tensor(struct vector_reader *r)
{
    struct vector *v = r->v;
    struct vector_tensor shape = {0}, *t;
    size_t bytes;

    if (read_tensor_line(r, &shape) < 0)
        return -1;
    t = vector_grow((void **)&v->tensor, v->tensors_nr, &v->tensors_alloc, sizeof(*t), r->err);
    if (!t)
        return -1;
    *t = shape;
    v->tensors_nr++;
    bytes = ((size_t)t->elements * numfmt_size(t->dtype) + 63) / 64 * 64;
    t->name = vector_strdup(r->field[1], r->err);
    if (!t->name)
        return -1;
    t->raw = aligned_alloc(64, bytes ? bytes : 64);
    t->value = calloc((size_t)t->elements + 1, sizeof(*t->value));
    if (!t->raw || !t->value)
        return err_memory(r->err);
    memset(t->raw, 0, bytes ? bytes : 64);
    if (read_values(r, t) < 0)
        return -1;
    if (t->real) {
        free(t->raw);
        t->raw = NULL;
    }
    return 0;
}

static int read_line(struct vector_reader *r)
{
    const char *word = r->field[0];

    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a line that gets here has a field */
    if (!strcmp(word, "#") && r->fields > 1)
        return !strcmp(r->field[1], "accept") ? vector_read_accept(r) : vector_read_tolerance(r);
    if (word[0] == '#')
        return 0;
    if (!strcmp(word, "param"))
        return vector_read_param(r);
    if (!strcmp(word, "tensor"))
        return read_tensor(r);
    return VECTOR_BAD(
        r, "'%s' must be #, param or tensor, or the tensor before it has too many values", word);
}

/* What only the whole file can tell. */
static int check_names(struct vector_reader *r)
{
    const struct vector *v = r->v;

    if (!v->tensors_nr)
        return VECTOR_BAD(r, "no tensor in the file");
    for (size_t i = 0; i < v->tolerances_nr; i++) {
        const struct vector_tensor *t = vector_tensor_find(v, v->tolerance[i].tensor);

        if (!t || !t->output)
            return VECTOR_BAD(r, "a tolerance names '%s', which is no output of the file",
                              v->tolerance[i].tensor);
        if (v->tolerance[i].bits && t->real)
            return VECTOR_BAD(r, "tolerance 'bits' of '%s' needs bit patterns", t->name);
    }
    for (size_t i = 0; i < v->accepts_nr; i++)
        if (!vector_tensor_find(v, v->accept[i].tensor))
            return VECTOR_BAD(r, "a rule names '%s', which is no tensor of the file",
                              v->accept[i].tensor);
    return 0;
}

static int set_path(struct vector *v, const char *path, struct err *err)
{
    const char *name = strrchr(path, '/'), *folder = name;
    size_t len;

    while (folder && folder > path && folder[-1] != '/')
        folder--;
    v->path = vector_strdup(path, err);
    v->op = folder ? strndup(folder, (size_t)(name - folder)) : strdup("");
    name = name ? name + 1 : path;
    len = strlen(name);
    if (len > 4 && !strcmp(name + len - 4, ".txt"))
        len -= 4;
    v->title = strndup(name, len);
    return v->path && v->op && v->title ? 0 : err_memory(err);
}

int vector_read_text(struct vector *v, const char *path, const char *text, size_t len,
                     struct err *err)
{
    struct vector_reader r = {.v = v, .text = text, .end = text + len, .err = err};
    int got;

    vector_release(v);
    if (set_path(v, path, err) < 0)
        return -1;
    while ((got = next_line(&r)) > 0)
        if (read_line(&r) < 0)
            break;
    if (got == 0)
        got = check_names(&r);
    else
        got = -1;
    free(r.copy);
    if (got < 0)
        vector_release(v);
    return got;
}

int vector_read_file(struct vector *v, const char *path, struct err *err)
{
    struct strbuf text = STRBUF_INIT;
    int ret = file_read(path, &text, FILE_BYTES_MAX, err);

    if (!ret)
        ret = vector_read_text(v, path, text.buf, text.len, err);
    strbuf_release(&text);
    return ret;
}
