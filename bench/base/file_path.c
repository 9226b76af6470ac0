#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

bool file_exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int make_dir(const char *path, struct err *err)
{
    if (!mkdir(path, 0777) || file_is_dir(path))
        return 0;
    if (errno == EEXIST)
        return err_set(err, ERR_ENVIRONMENT, "cannot make the folder '%s': a file has that name",
                       path);
    if (errno == ENOSPC || errno == EDQUOT)
        return err_set(err, ERR_ENVIRONMENT, "cannot make the folder '%s': disk full", path);
    return err_errno(err, ERR_ENVIRONMENT, "cannot make the folder '%s'", path);
}

int file_mkdirs(const char *path, struct err *err)
{
    char *copy = strdup(path), *p;
    int ret = 0;

    if (!copy)
        return err_memory(err);
    for (p = copy; *p && !ret; p++) {
        if (*p != '/' || p == copy || p[-1] == '/')
            continue;
        *p = '\0';
        ret = make_dir(copy, err);
        *p = '/';
    }
    if (!ret)
        ret = make_dir(copy, err);
    free(copy);
    return ret;
}

int file_free_bytes(const char *path, uint64_t *bytes, struct err *err)
{
    struct strbuf at = STRBUF_INIT, up = STRBUF_INIT;
    struct statvfs st = {0};
    int ret = 0;

    strbuf_addstr(&at, *path ? path : ".");
    while (!at.oom && statvfs(at.buf, &st)) {
        if ((errno != ENOENT && errno != ENOTDIR) || !strcmp(at.buf, ".") || !strcmp(at.buf, "/")) {
            ret = err_errno(err, ERR_ENVIRONMENT, "cannot tell the free space at '%s'", path);
            break;
        }
        strbuf_reset(&up);
        file_add_dir(&up, at.buf);
        strbuf_reset(&at);
        strbuf_addstr(&at, up.len ? up.buf : ".");
    }
    if (at.oom)
        ret = err_memory(err);
    if (!ret)
        *bytes = (uint64_t)st.f_bavail * st.f_frsize;
    strbuf_release(&at);
    strbuf_release(&up);
    return ret;
}

void file_add_path(struct strbuf *sb, const char *dir, const char *name)
{
    if (*name != '/' && *dir) {
        strbuf_addstr(sb, dir);
        if (dir[strlen(dir) - 1] != '/')
            strbuf_addch(sb, '/');
    }
    strbuf_addstr(sb, name);
}

void file_add_dir(struct strbuf *sb, const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    while (len && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    strbuf_add(sb, path, len);
}

const char *file_base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const char *file_below(const char *path)
{
    char dir[4096];
    size_t len = getcwd(dir, sizeof(dir)) ? strlen(dir) : 0;

    return len > 1 && !strncmp(path, dir, len) && path[len] == '/' && path[len + 1] ? path + len + 1
                                                                                    : path;
}
