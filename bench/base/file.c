#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sha256.h"

#define CHUNK_BYTES ((size_t)64 << 10)

/* A failed write, where a full disk is the one cause that the user can do something about. */
static int write_error(struct err *err, const char *verb, const char *path)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return err_set(err, ERR_ENVIRONMENT, "cannot %s '%s': disk full", verb, path);
    return err_errno(err, ERR_ENVIRONMENT, "cannot %s '%s'", verb, path);
}

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;

    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

static ssize_t read_retry(int fd, void *buf, size_t len)
{
    ssize_t got;

    do {
        got = read(fd, buf, len);
    } while (got < 0 && errno == EINTR);
    return got;
}

static int write_all(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t put = write(fd, p, len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        p += put;
        len -= (size_t)put;
    }
    return 0;
}

static int open_to_read(const char *path, struct err *err)
{
    struct stat st;
    int fd = open_retry(path, O_RDONLY, 0);

    if (fd < 0)
        return err_errno(err, ERR_CONFIG, "cannot read '%s'", path);
    if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
        close(fd);
        return err_set(err, ERR_CONFIG, "cannot read '%s': it is a folder", path);
    }
    return fd;
}

int file_read(const char *path, struct strbuf *sb, size_t limit_bytes, struct err *err)
{
    int fd = open_to_read(path, err), ret = 0;
    size_t total = 0;
    ssize_t got;
    char *chunk;

    if (fd < 0)
        return -1;
    chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        ret = err_memory(err);
    while (!ret && (got = read_retry(fd, chunk, CHUNK_BYTES)) != 0) {
        if (got < 0) {
            ret = err_errno(err, ERR_CONFIG, "cannot read '%s'", path);
            break;
        }
        total += (size_t)got;
        if (total > limit_bytes) {
            ret = err_set(err, ERR_CONFIG, "cannot read '%s': it is larger than %zu bytes", path,
                          limit_bytes);
            break;
        }
        strbuf_add(sb, chunk, (size_t)got);
        if (sb->oom)
            ret = err_memory(err);
    }
    free(chunk);
    close(fd);
    return ret;
}

static int sync_dir(const char *path, struct err *err)
{
    struct strbuf dir = STRBUF_INIT;
    int fd, ret = 0;

    file_add_dir(&dir, path);
    if (dir.oom)
        ret = err_memory(err);
    else {
        fd = open_retry(dir.len ? dir.buf : ".", O_RDONLY | O_DIRECTORY, 0);
        /* Some file systems cannot sync a folder and say EINVAL: then there is nothing to do. */
        if (fd < 0 || (fsync(fd) && errno != EINVAL))
            ret = write_error(err, "sync the folder of", path);
        if (fd >= 0)
            close(fd);
    }
    strbuf_release(&dir);
    return ret;
}

/* Beside `path`, so that rename() stays inside one file system; open() applies the umask. */
static int open_temporary(const char *path, struct strbuf *name)
{
    unsigned attempt;

    for (attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        int fd;

        clock_gettime(CLOCK_MONOTONIC, &now);
        strbuf_reset(name);
        strbuf_addf(name, "%s.%ld.%ld.tmp", path, (long)getpid(), now.tv_nsec + (long)attempt);
        if (name->oom) {
            errno = ENOMEM;
            return -1;
        }
        fd = open_retry(name->buf, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int write_with_mode(const char *path, const void *data, size_t len, const mode_t *mode,
                           struct err *err)
{
    struct strbuf temporary = STRBUF_INIT;
    int fd = open_temporary(path, &temporary), ret = 0;

    if (fd < 0) {
        ret = write_error(err, "write", path);
        strbuf_release(&temporary);
        return ret;
    }
    if ((mode && fchmod(fd, *mode & 0777)) || write_all(fd, data, len) || fsync(fd))
        ret = write_error(err, "write", path);
    if (close(fd) && !ret)
        ret = write_error(err, "write", path);
    if (!ret && rename(temporary.buf, path))
        ret = write_error(err, "write", path);
    if (ret)
        unlink(temporary.buf);
    else
        ret = sync_dir(path, err);
    strbuf_release(&temporary);
    return ret;
}

int file_write(const char *path, const void *data, size_t len, struct err *err)
{
    return write_with_mode(path, data, len, NULL, err);
}

int file_copy(const char *from, const char *to, struct err *err)
{
    struct strbuf bytes = STRBUF_INIT;
    struct stat st;
    int ret = file_read(from, &bytes, (size_t)1 << 32, err);

    if (!ret && stat(from, &st))
        ret = err_errno(err, ERR_CONFIG, "cannot read '%s'", from);
    if (!ret)
        ret = write_with_mode(to, bytes.buf, bytes.len, &st.st_mode, err);
    strbuf_release(&bytes);
    return ret;
}

int file_append(const char *path, const void *data, size_t len, struct err *err)
{
    bool is_new = !file_exists(path);
    int fd = open_retry(path, O_WRONLY | O_CREAT | O_APPEND, 0666), ret = 0;
    struct stat st;

    if (fd < 0)
        return write_error(err, "append to", path);
    if (fstat(fd, &st)) {
        ret = write_error(err, "append to", path);
    } else if (write_all(fd, data, len) || fsync(fd)) {
        ret = write_error(err, "append to", path);
        if (S_ISREG(st.st_mode) && ftruncate(fd, st.st_size))
            ret = -1; /* the reader tolerates a torn last line */
    }
    if (close(fd) && !ret)
        ret = write_error(err, "append to", path);
    if (!ret && is_new)
        ret = sync_dir(path, err);
    return ret;
}

int file_truncate(const char *path, size_t len, struct err *err)
{
    int fd = open_retry(path, O_WRONLY, 0), ret = 0;

    if (fd < 0)
        return write_error(err, "truncate", path);
    if (ftruncate(fd, (off_t)len) || fsync(fd))
        ret = write_error(err, "truncate", path);
    close(fd);
    return ret;
}

int file_sha256(const char *path, char hex[65], struct err *err)
{
    int fd = open_to_read(path, err), ret = 0;
    struct sha256 sha;
    ssize_t got;
    char *chunk;

    if (fd < 0)
        return -1;
    chunk = malloc(CHUNK_BYTES);
    if (!chunk) {
        close(fd);
        return err_memory(err);
    }
    sha256_init(&sha);
    while ((got = read_retry(fd, chunk, CHUNK_BYTES)) > 0)
        sha256_add(&sha, chunk, (size_t)got);
    if (got < 0)
        ret = err_errno(err, ERR_CONFIG, "cannot read '%s'", path);
    else
        sha256_hex(&sha, hex);
    free(chunk);
    close(fd);
    return ret;
}
