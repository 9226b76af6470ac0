/*
 * replay.c - main() of a fuzz target that is built without libFuzzer: runs the files named, and
 * those in the folders named, once each.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t replay_file(const char *path)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;

    if (file_read(path, &sb, (size_t)64 << 20, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    /* A copy of its exact size, so that a read behind it is seen. */
    uint8_t *copy = malloc(sb.len ? sb.len : 1);
    if (!copy)
        abort();
    memcpy(copy, sb.buf, sb.len);
    LLVMFuzzerTestOneInput(copy, sb.len);
    free(copy);
    strbuf_release(&sb);
    return 1;
}

static size_t replay_folder(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    size_t nr = 0;

    while (d && (e = readdir(d))) {
        struct strbuf path = STRBUF_INIT;
        file_add_path(&path, dir, e->d_name);
        if (!file_is_dir(path.buf))
            nr += replay_file(path.buf);
        strbuf_release(&path);
    }
    if (d)
        closedir(d);
    return nr;
}

int main(int argc, char **argv)
{
    size_t nr = 0;

    for (int i = 1; i < argc; i++) {
        /* A target may enter a folder of its own. */
        char *path = realpath(argv[i], NULL);
        if (!path) {
            fprintf(stderr, "%s is not there\n", argv[i]);
            return 1;
        }
        argv[i] = path;
    }
    for (int i = 1; i < argc; i++)
        nr += file_is_dir(argv[i]) ? replay_folder(argv[i]) : replay_file(argv[i]);
    for (int i = 1; i < argc; i++)
        free(argv[i]);
    printf("%zu files\n", nr);
    return nr ? 0 : 1;
}
