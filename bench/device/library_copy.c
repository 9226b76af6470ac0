/*
 * library_copy.c - private copies of library files: <dir>/sab-copy-<pid>-XXXXXX/<name>. The loader
 * answers the same handle for the same file, so that two arms of one file would share its
 * variables.
 */
#include "library_check.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "strbuf.h"

#define PREFIX "sab-copy-"

int library_make_copy(char **copy, const char *path, const char *dir, struct err *err)
{
    struct strbuf name = STRBUF_INIT;
    int rc = -1;

    *copy = NULL;
    if (file_mkdirs(dir, err) < 0)
        return -1;
    strbuf_addf(&name, "%s/%s%ld-XXXXXX", dir, PREFIX, (long)getpid());
    if (name.oom) {
        err_memory(err);
    } else if (!mkdtemp(name.buf)) {
        err_errno(err, ERR_ENVIRONMENT, "a folder for the copy of library '%s' in '%s'", path, dir);
    } else {
        strbuf_addf(&name, "/%s", file_base(path));
        *copy = strbuf_detach(&name);
        rc = *copy ? file_copy(path, *copy, err) : err_memory(err);
    }
    strbuf_release(&name);
    return rc;
}

void library_remove_copy(const char *copy)
{
    char *folder = copy ? strdup(copy) : NULL;

    if (!folder)
        return;
    unlink(copy);
    *strrchr(folder, '/') = '\0';
    rmdir(folder);
    free(folder);
}

/* Removes a folder of plain files; a copy has no others. */
static void remove_folder(const char *path)
{
    struct strbuf name = STRBUF_INIT;
    DIR *folder = opendir(path);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        strbuf_reset(&name);
        strbuf_addf(&name, "%s/%s", path, entry->d_name);
        unlink(name.buf);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
    strbuf_release(&name);
}

static bool is_stale(const char *name)
{
    char *end;
    long pid;

    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    errno = 0;
    pid = strtol(name + strlen(PREFIX), &end, 10);
    if (errno != 0 || pid <= 0 || *end != '-')
        return false;
    return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

int library_sweep_stale(const char *dir)
{
    struct strbuf name = STRBUF_INIT;
    DIR *folder = opendir(dir);
    const struct dirent *entry;
    int removed = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        if (!is_stale(entry->d_name))
            continue;
        strbuf_reset(&name);
        strbuf_addf(&name, "%s/%s", dir, entry->d_name);
        remove_folder(name.buf);
        removed++;
    }
    if (folder)
        closedir(folder);
    strbuf_release(&name);
    return removed;
}
