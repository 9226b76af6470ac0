/*
 * fuzz.h - what the fuzz targets share. Each is one file that reads one kind of input and calls
 * what a user's files would go through: built by clang it is a libFuzzer program, and with replay.c
 * a test that runs every file of a corpus once.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise of ours that an input broke. */
#define FUZZ_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* An error has a kind and words; a bug of our own is none that a file may cause. */
static inline void fuzz_check_error(int ret, const struct err *err)
{
    if (!ret)
        return;
    if (err->kind == ERR_BUG)
        fprintf(stderr, "%s\n", err->text);
    FUZZ_ASSERT(err->kind != ERR_NONE && err->kind != ERR_BUG && err->text[0]);
}

static inline int fuzz_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

static char fuzz_dir[64] __attribute__((unused));

static inline void fuzz_leave_folder(void)
{
    nftw(fuzz_dir, fuzz_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Enters a folder of this process in memory, once: the target may write there by relative names. */
static inline void fuzz_enter_folder(void)
{

    if (fuzz_dir[0])
        return;
    snprintf(fuzz_dir, sizeof(fuzz_dir), "%s/sab-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(fuzz_dir) || chdir(fuzz_dir) || atexit(fuzz_leave_folder))
        abort();
}

/* Without an fsync, unlike file_write(). */
static inline void fuzz_put(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
}

/* The input as several texts, which "\n====\n" separates; the last takes the rest. */
static inline void fuzz_split(const uint8_t *data, size_t size, const char **part, size_t *len,
                              size_t nr)
{
    static const char mark[] = "\n====\n";
    const char *at = (const char *)data, *end = at + size;

    for (size_t i = 0; i < nr; i++) {
        const char *next =
            i + 1 < nr ? memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1) : NULL;
        part[i] = at;
        len[i] = (size_t)((next ? next : end) - at);
        at = next ? next + sizeof(mark) - 1 : end;
    }
}

#endif
