/*
 * file.h - files that survive a crash. Failures are ERR_ENVIRONMENT ("disk full" for ENOSPC and
 * EDQUOT), except reading, which is ERR_CONFIG: the file was named by the user.
 */
#ifndef BENCH_BASE_FILE_H
#define BENCH_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

/* Appends the whole file to `sb`. A folder, or more than `limit_bytes`, is an error. */
int file_read(const char *path, struct strbuf *sb, size_t limit_bytes, struct err *err);
/* Replaces the file whole: a temporary beside it, fsync, rename, fsync of the folder. At every
 * moment the name holds either the old bytes or the new. */
int file_write(const char *path, const void *data, size_t len, struct err *err);
/* Appends and fsyncs, making the file where it is missing. After a failure the file has its old
 * length again, as far as the system lets it. */
int file_append(const char *path, const void *data, size_t len, struct err *err);
/* Cuts the file to `len` bytes and fsyncs: the way to drop a torn last line. */
int file_truncate(const char *path, size_t len, struct err *err);
/* Byte for byte copy through file_write()'s temporary, with the permissions of `from`. */
int file_copy(const char *from, const char *to, struct err *err);

/* Makes the folder and its missing parents; one that exists is fine. */
int file_mkdirs(const char *path, struct err *err);
bool file_exists(const char *path); /* anything of that name, a dangling link too */
bool file_is_dir(const char *path);
/* Bytes that an ordinary user can still write at `path`, or at the nearest parent that exists. */
int file_free_bytes(const char *path, uint64_t *bytes, struct err *err);

/* Appends `name` if it is absolute, else `dir`/`name` ("" is the working directory). */
void file_add_path(struct strbuf *sb, const char *dir, const char *name);
/* Appends the folder part of `path`: "" where there is none, "/" for the root. */
void file_add_dir(struct strbuf *sb, const char *path);
/* The part behind the last slash, inside `path`. */
const char *file_base(const char *path);

/* The part of an absolute path that lies below the working folder, inside `path`; else `path`: what
 * is published names no folder of one machine where that can be helped. */
const char *file_below(const char *path);
/* Lower-case hex of the SHA-256 (sha256.h) of a file, terminated. */
int file_sha256(const char *path, char hex[65], struct err *err);

#endif
