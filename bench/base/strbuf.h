/*
 * strbuf.h - a growing string. `buf` is always terminated, never NULL. Out of memory is sticky:
 * `oom` is set, later appends do nothing, and the owner checks once at the end.
 */
#ifndef BENCH_BASE_STRBUF_H
#define BENCH_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    size_t alloc;
    size_t len;
    char *buf;
    bool oom;
};

extern char strbuf_empty[];
#define STRBUF_INIT                                                                                \
    {                                                                                              \
        0, 0, strbuf_empty, false                                                                  \
    }

void strbuf_init(struct strbuf *sb);
void strbuf_release(struct strbuf *sb);
void strbuf_reset(struct strbuf *sb); /* empties, keeps the memory */
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *format, va_list args);
/* Hands the string to the caller, who frees it; NULL when out of memory. */
char *strbuf_detach(struct strbuf *sb);

#endif
