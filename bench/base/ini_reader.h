/*
 * ini_reader.h - the state of one file being read, shared by ini_read.c (lines) and ini_value.c
 * (values); nobody else includes it.
 */
#ifndef BENCH_BASE_INI_READER_H
#define BENCH_BASE_INI_READER_H

#include "ini.h"

/* Where a section of this file began, to refuse it a second time. */
struct ini_opened {
    size_t section;
    unsigned line;
};

struct ini_reader {
    struct ini *ini;
    const struct ini_reader *parent; /* the file that includes this one */
    const char *file;
    unsigned line;
    unsigned depth;
    struct ini_opened *opened; /* the last one is the current section */
    size_t nr, alloc;
    struct err *err;
};

/* Puts the place in front of the message in `err`. Returns -1. */
int ini_reader_place(const struct ini_reader *reader);
int ini_reader_error(const struct ini_reader *reader, const char *what);

const char *ini_skip_space(const char *p, const char *end);
const char *ini_trim_end(const char *begin, const char *end);
/* Where the comment of [begin, end) starts, `end` without one. It follows white space, which may
 * be begin[-1]: so `begin` is never the first byte of the text. */
const char *ini_find_comment(const char *begin, const char *end);
/* The value in [p, end), which stands behind a '=' or white space. */
int ini_read_value(const struct ini_reader *reader, const char *p, const char *end,
                   struct strbuf *out);

#endif
