/*
 * err.h - how everything below bench/cmd reports a failure.
 *
 * A function that can fail takes a `struct err *` as its last argument and returns 0, or a negative
 * value after filling it. The message is one sentence: lower case, no final stop, what failed
 * first, the subject in single quotes, what would be right at the end. Nobody below bench/cmd
 * prints it.
 */
#ifndef BENCH_BASE_ERR_H
#define BENCH_BASE_ERR_H

#include <stdarg.h>

/* What kind of failure; bench/cmd maps it to an exit status. */
enum err_kind {
    ERR_NONE = 0,
    ERR_CONFIG,      /* usage or configuration: exit 2 */
    ERR_ENVIRONMENT, /* a device, timer, folder or disk that is not to be had: exit 6 */
    ERR_WRONG,       /* a wrong result: exit 3 */
    ERR_CRASH,       /* a case crashed or timed out: exit 4 */
    ERR_INTERRUPTED, /* exit 130 */
    ERR_MEMORY,      /* out of host memory */
    ERR_BUG,         /* a broken promise of our own */
};

struct err {
    enum err_kind kind;
    char text[1024];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        ERR_NONE, ""                                                                               \
    }

/* Fills `err` (which may be NULL) and returns -1, so that a caller can write `return err_set(...)`.
 */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int err_vset(struct err *err, enum err_kind kind, const char *format, va_list args);
/* err_set() with ": " and strerror(errno) behind it. */
int err_errno(struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int err_memory(struct err *err);
/* Puts "PREFIX: " before the text. Returns -1. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void err_clear(struct err *err);

#endif
