#include "strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char strbuf_empty[1];

void strbuf_init(struct strbuf *sb)
{
    *sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_release(struct strbuf *sb)
{
    if (sb->alloc)
        free(sb->buf);
    strbuf_init(sb);
}

void strbuf_reset(struct strbuf *sb)
{
    sb->len = 0;
    sb->oom = false;
    if (sb->alloc)
        sb->buf[0] = '\0';
}

/* Room for `extra` bytes and the terminator. */
static bool strbuf_grow(struct strbuf *sb, size_t extra)
{
    size_t need, alloc;
    char *buf;

    if (sb->oom)
        return false;
    if (extra > SIZE_MAX / 2 - 1 || sb->len > SIZE_MAX / 2 - 1 - extra) {
        sb->oom = true;
        return false;
    }
    need = sb->len + extra + 1;
    if (need <= sb->alloc)
        return true;
    alloc = sb->alloc + sb->alloc / 2;
    if (alloc < need)
        alloc = need < 64 ? 64 : need;
    buf = realloc(sb->alloc ? sb->buf : NULL, alloc);
    if (!buf) {
        sb->oom = true;
        return false;
    }
    buf[sb->len] = '\0';
    sb->buf = buf;
    sb->alloc = alloc;
    return true;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
    if (!len || !strbuf_grow(sb, len))
        return;
    memcpy(sb->buf + sb->len, data, len);
    sb->len += len;
    sb->buf[sb->len] = '\0';
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
    strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
    strbuf_add(sb, &c, 1);
}

void strbuf_vaddf(struct strbuf *sb, const char *format, va_list args)
{
    va_list again;
    int len;

    va_copy(again, args);
    len = vsnprintf(NULL, 0, format, args);
    if (len < 0) {
        sb->oom = true;
    } else if (strbuf_grow(sb, (size_t)len)) {
        vsnprintf(sb->buf + sb->len, (size_t)len + 1, format, again);
        sb->len += (size_t)len;
    }
    va_end(again);
}

void strbuf_addf(struct strbuf *sb, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    strbuf_vaddf(sb, format, args);
    va_end(args);
}

char *strbuf_detach(struct strbuf *sb)
{
    char *s = NULL;

    if (!sb->oom && (sb->alloc || strbuf_grow(sb, 0))) {
        s = sb->buf;
        sb->alloc = 0;
    }
    strbuf_release(sb);
    return s;
}
