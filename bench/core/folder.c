#include "folder.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "strbuf.h"

int folder_read_run(const char *dir, json_t **run, struct err *err)
{
    struct strbuf path = STRBUF_INIT;
    json_error_t why;
    int ret = -1;

    file_add_path(&path, dir, "run.json");
    if (path.oom) {
        err_memory(err);
    } else if (!file_exists(path.buf)) {
        err_set(err, ERR_CONFIG, "'%s' is no results folder: it has no run.json", dir);
    } else {
        *run = json_load_file(path.buf, 0, &why);
        ret = *run ? 0 : err_set(err, ERR_CONFIG, "%s:%d: %s", path.buf, why.line, why.text);
    }
    strbuf_release(&path);
    return ret;
}

/* ERR_CONFIG where the file is another than the hash (NULL: none) says. */
static int check_hash(const char *path, const char *hash, struct err *err)
{
    char hex[65];

    if (file_sha256(path, hex, err))
        return -1;
    if (hash && !strcmp(hash, hex))
        return 0;
    return err_set(err, ERR_CONFIG,
                   "'%s' was changed after its run: its hash is %.12s, run.json says %.12s", path,
                   hex, hash ? hash : "nothing");
}

int folder_check_hash(const char *dir, const json_t *run, const char *name, struct err *err)
{
    const json_t *hash = json_object_get(json_object_get(run, "files"), name);
    struct strbuf path = STRBUF_INIT;
    int ret = 0;

    file_add_path(&path, dir, name);
    if (path.oom)
        ret = err_memory(err);
    else if (hash && file_exists(path.buf))
        ret = check_hash(path.buf, json_string_value(hash), err);
    strbuf_release(&path);
    return ret;
}

int folder_check_hashes(const char *dir, const json_t *run, struct err *err)
{
    json_t *files = json_object_get(run, "files"), *want;
    struct strbuf path = STRBUF_INIT;
    const char *name;
    int ret = 0;

    if (!json_object_size(files))
        return err_set(err, ERR_CONFIG,
                       "'%s' is not sealed: its run.json lists no file hashes, let the run end or "
                       "go on with it by --resume",
                       dir);
    json_object_foreach(files, name, want)
    {
        strbuf_reset(&path);
        file_add_path(&path, dir, name);
        /* What is written anew by hand (report.md) is not what was measured. */
        if (ret || !strcmp(name, "report.md"))
            continue;
        ret = path.oom ? err_memory(err) : check_hash(path.buf, json_string_value(want), err);
    }
    strbuf_release(&path);
    return ret;
}

void folder_noise_floors(const json_t *run, struct noise_floors *floors)
{
    json_t *list = json_object_get(json_object_get(run, "settings"), "noise_floor_octaves"), *v;
    const char *octave;

    noise_floors_init(floors);
    json_object_foreach(list, octave, v)
    {
        int at = atoi(octave);
        if (at < 0 || at >= PROFILE_OCTAVES || !json_is_number(v))
            continue;
        floors->octave[at] = json_number_value(v);
        floors->nr++;
    }
}

int folder_same_version(const char *name, const char *dir_a, const json_t *a, const char *dir_b,
                        const json_t *b, struct err *err)
{
    json_int_t va = json_integer_value(json_object_get(a, name));
    json_int_t vb = json_integer_value(json_object_get(b, name));

    if (va == vb)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "'%s' has %s %lld and '%s' has %s %lld: numbers of different %ss do not compare",
                   dir_a, name, (long long)va, dir_b, name, (long long)vb, name);
}
