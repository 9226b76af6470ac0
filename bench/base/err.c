#include "err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int err_vset(struct err *err, enum err_kind kind, const char *format, va_list args)
{
    if (!err)
        return -1;
    err->kind = kind;
    vsnprintf(err->text, sizeof(err->text), format, args);
    return -1;
}

int err_set(struct err *err, enum err_kind kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_vset(err, kind, format, args);
    va_end(args);
    return -1;
}

int err_errno(struct err *err, enum err_kind kind, const char *format, ...)
{
    int number = errno;
    va_list args;
    size_t len;
    char reason[128];

    if (!err)
        return -1;
    va_start(args, format);
    err_vset(err, kind, format, args);
    va_end(args);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof(err->text) - len, ": %s",
             strerror_r(number, reason, sizeof(reason)));
    errno = number;
    return -1;
}

int err_memory(struct err *err)
{
    return err_set(err, ERR_MEMORY, "out of host memory");
}

int err_prefix(struct err *err, const char *format, ...)
{
    char old[sizeof(err->text)];
    va_list args;
    size_t len;

    if (!err)
        return -1;
    memcpy(old, err->text, sizeof(old));
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof(err->text) - len, ": %s", old);
    return -1;
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->kind = ERR_NONE;
    err->text[0] = '\0';
}
