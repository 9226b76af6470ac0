#include "branch_disk.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "file.h"

/* Less than this is none: tools remove what they could not finish before they say that they failed.
 */
#define FULL_BYTES ((uint64_t)64 << 10)
#define OPEN_DIRS  16

static bool is_full(const char *dir, const char *said)
{
    static const char *const words[] = {"No space left on device", "Disk quota exceeded"};
    uint64_t bytes;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(said, words[i]))
            return true;
    return !file_free_bytes(dir, &bytes, NULL) && bytes < FULL_BYTES;
}

int branch_disk_check(const char *dir, const char *said, const char *name, struct err *err)
{
    if (!is_full(dir, said))
        return 0;
    return err_set(err, ERR_ENVIRONMENT,
                   "cannot build '%s' in '%s': disk full; make room there, or name another folder "
                   "for the build cache with XDG_CACHE_HOME",
                   name, dir);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    remove(path);
    return 0;
}

void branch_disk_remove(const char *path)
{
    nftw(path, remove_one, OPEN_DIRS, FTW_DEPTH | FTW_PHYS);
}
