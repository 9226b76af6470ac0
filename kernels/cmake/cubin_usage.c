/*
 * cubin_usage LIBRARY OUTFILE SPILLS - registers, stack, shared memory and a hash of the machine
 * code of every kernel in a library, one line each in OUTFILE. Fails where a kernel has a stack
 * that SPILLS, a file of lines `PATTERN reason`, does not excuse: PATTERN is a shell glob held
 * against the mangled name, or against ARCH:NAME ("90a:*mma*").
 *
 * An ELF image does not tell spills from local arrays, so that `spill` is their sum, an upper
 * bound; a kernel without a stack spills nothing.
 */
#include "cubin_read.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

struct file {
    char *data; /* NUL behind its end */
    size_t len;
};

static int file_read(struct file *file, const char *path, struct cubin_error *err)
{
    FILE *stream = fopen(path, "rb");
    size_t alloc = 0, got = 1;
    int error;

    if (!stream)
        return cubin_fail(err, "cannot open: %s", strerror(errno));
    while (got) {
        if (alloc - file->len < 2) {
            char *data = realloc(file->data, alloc = alloc ? 2 * alloc : 1 << 20);

            if (!data)
                break;
            file->data = data;
        }
        got = fread(file->data + file->len, 1, alloc - file->len - 1, stream);
        file->len += got;
        file->data[file->len] = '\0';
    }
    error = ferror(stream) ? errno : got ? ENOMEM : 0;
    fclose(stream);
    return error ? cubin_fail(err, "cannot read: %s", strerror(error)) : 0;
}

static void write_functions(FILE *out, const struct cubin_functions *functions)
{
    if (!functions->nr) {
        fputs("# no CUDA code\n", out);
        return;
    }
    fputs("# bytes, but for registers; shared: static; spill: at most, the stack's size; sha256: "
          "of the machine code\n",
          out);
    for (size_t i = 0; i < functions->nr; i++) {
        const struct cubin_function *f = &functions->item[i];

        fprintf(out,
                "arch=%s registers=%u stack=%u spill=%u shared=%llu constant=%llu sha256=%s "
                "name=%s\n",
                f->arch, f->registers, f->stack, f->stack, (unsigned long long)f->shared,
                (unsigned long long)f->constant, f->sha256, f->name);
    }
}

/* Whole or not at all: a reader never sees a half. */
static int write_file(const char *path, const struct cubin_functions *functions,
                      struct cubin_error *err)
{
    size_t len = strlen(path) + sizeof(".new");
    char *temporary = malloc(len);
    FILE *out;
    int bad = 1;

    if (!temporary)
        return cubin_fail(err, "out of memory");
    snprintf(temporary, len, "%s.new", path);
    out = fopen(temporary, "w");
    if (out) {
        write_functions(out, functions);
        bad = ferror(out);
        bad |= fclose(out);
        bad = bad || rename(temporary, path);
    }
    if (bad) {
        cubin_fail(err, "cannot write %.300s: %s", path, strerror(errno));
        remove(temporary);
    }
    free(temporary);
    return bad ? -1 : 0;
}

/* Cuts the text into lines that hold a pattern; the reason stays behind it. 1, 0 at the end. */
static int next_excuse(char **text, unsigned *line, char **pattern, struct cubin_error *err)
{
    while (**text) {
        char *at = *text, *end = at + strcspn(at, "\n");

        *text = *end ? end + 1 : end;
        *end = '\0';
        (*line)++;
        at += strspn(at, BLANKS);
        if (!*at || *at == '#')
            continue;
        *pattern = at;
        at += strcspn(at, BLANKS);
        if (!at[strspn(at, BLANKS)])
            return cubin_fail(err, "line %u: %.*s has no reason behind it", *line,
                              (int)(at - *pattern), *pattern);
        *at = '\0';
        return 1;
    }
    return 0;
}

static bool matches(const struct cubin_function *f, const char *pattern)
{
    size_t arch = strlen(f->arch);

    if (!strncmp(pattern, f->arch, arch) && pattern[arch] == ':')
        pattern += arch + 1;
    return !fnmatch(pattern, f->name, 0);
}

/* Sets excused[i] of the functions that the list names. */
static int read_excuses(const char *path, const struct cubin_functions *functions, bool *excused,
                        struct cubin_error *err)
{
    struct file file = {0};
    char *text, *pattern;
    unsigned line = 0;
    int rc = file_read(&file, path, err);

    text = file.data;
    while (!rc && text && (rc = next_excuse(&text, &line, &pattern, err)) > 0) {
        for (size_t i = 0; i < functions->nr; i++)
            excused[i] |= matches(&functions->item[i], pattern);
        rc = 0;
    }
    free(file.data);
    return rc;
}

static int complain(const struct cubin_functions *functions, const bool *excused,
                    const char *spills)
{
    int rc = 0;

    for (size_t i = 0; i < functions->nr; i++) {
        const struct cubin_function *f = &functions->item[i];

        if (!f->stack || excused[i])
            continue;
        fprintf(stderr,
                "cubin_usage: %s keeps %u bytes of stack on sm_%s: make it fit its registers, or "
                "list it with a reason in %s\n",
                f->name, f->stack, f->arch, spills);
        rc++;
    }
    return rc;
}

/* Functions whose stack is not excused: how many, or -1. */
static int judge(const char *spills, const struct cubin_functions *functions,
                 struct cubin_error *err)
{
    bool *excused = calloc(functions->nr + 1, sizeof(*excused));
    int rc;

    if (!excused)
        return cubin_fail(err, "out of memory");
    rc = read_excuses(spills, functions, excused, err);
    if (!rc)
        rc = complain(functions, excused, spills);
    free(excused);
    return rc;
}

static int run(char *const argv[], struct cubin_functions *functions, struct file *library)
{
    struct cubin_error err = {{0}};
    const char *subject = argv[1];
    int rc = file_read(library, subject, &err);

    if (!rc)
        rc = cubin_find(functions,
                        (struct bytes){(const unsigned char *)library->data, library->len}, &err);
    if (!rc) {
        cubin_functions_sort(functions);
        rc = write_file(argv[2], functions, &err);
    }
    if (!rc) {
        subject = argv[3];
        rc = judge(subject, functions, &err);
    }
    if (rc < 0)
        fprintf(stderr, "cubin_usage: %s: %s\n", subject, err.text);
    return rc;
}

int main(int argc, char **argv)
{
    struct cubin_functions functions = {0};
    struct file library = {0};
    int rc;

    if (argc != 4) {
        fputs("usage: cubin_usage LIBRARY OUTFILE SPILLS\n", stderr);
        return 1;
    }
    rc = run(argv, &functions, &library);
    cubin_functions_release(&functions);
    free(library.data);
    return rc ? 1 : 0;
}
