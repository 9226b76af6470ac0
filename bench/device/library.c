/*
 * library.c - opens, finds and closes; what is judged stands in library_elf.c and library_table.c.
 */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file.h"
#include "library_check.h"
#include "strbuf.h"

#define RESOURCES_LIMIT_BYTES ((size_t)16 << 20)

/* The text beside the file, where there is one and it can be read. */
static char *read_resources(const char *path)
{
    struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;

    strbuf_addf(&name, "%s.resources", path);
    if (name.oom || !file_exists(name.buf) ||
        file_read(name.buf, &text, RESOURCES_LIMIT_BYTES, NULL) < 0) {
        strbuf_release(&name);
        strbuf_release(&text);
        return NULL;
    }
    strbuf_release(&name);
    return strbuf_detach(&text);
}

static int check_path(const char *path, struct err *err)
{
    if (path[0] != '/')
        return err_set(err, ERR_CONFIG, "library '%s' is not an absolute path: resolve it first",
                       path);
    if (!file_exists(path))
        return err_set(err, ERR_CONFIG, "library '%s' does not exist: build it or name another",
                       path);
    if (file_is_dir(path))
        return err_set(err, ERR_CONFIG, "library '%s' is a folder: name the shared object in it",
                       path);
    return 0;
}

static int load(struct library *lib, const char *file, struct err *err)
{
    sab_library_fn entry;
    void *symbol;

    lib->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle)
        return err_set(err, ERR_CONFIG,
                       "library '%s' does not load (%s): link everything that it uses into it",
                       lib->path, dlerror());
    symbol = dlsym(lib->handle, SAB_LIBRARY_SYMBOL);
    if (!symbol)
        return err_set(err, ERR_CONFIG, "library '%s' does not export sab_library", lib->path);
    memcpy(&entry, &symbol, sizeof(entry)); /* ISO C has no cast from object to function pointer */
    lib->table = entry(SAB_ABI_VERSION);
    if (!lib->table)
        return err_set(err, ERR_CONFIG,
                       "library '%s' returns no table: sab_library() returns it for every version",
                       lib->path);
    return library_check_table(lib, err);
}

static int replaced(const char *path, struct err *err)
{
    return err_set(
        err, ERR_ENVIRONMENT,
        "library '%s' was replaced while the run went on: put the old file back, or start "
        "anew, since --resume refuses the new one",
        path);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Judges and loads `file`, which is lib->path or a copy of it. `sha256` is the hash that it has to
 * have, or NULL. */
static int open_file(struct library *lib, const char *file, const char *sha256, struct err *err)
{
    struct stat hashed, loaded;

    if (stat(file, &hashed))
        return err_errno(err, ERR_CONFIG, "cannot read library '%s'", file);
    if (file_sha256(file, lib->sha256, err) < 0)
        return -1;
    if (sha256 && strcmp(lib->sha256, sha256) != 0)
        return replaced(lib->path, err);
    if (library_check_elf(file, err) < 0 || load(lib, file, err) < 0)
        return -1;
    /* The loader went by the name: a file that came between has another hash. */
    if (stat(file, &loaded) || !same_file(&hashed, &loaded))
        return replaced(lib->path, err);
    lib->resources = read_resources(lib->path);
    return 0;
}

static int start(struct library *lib, const char *path, struct err *err)
{
    memset(lib, 0, sizeof(*lib));
    if (check_path(path, err) < 0)
        return -1;
    lib->path = strdup(path);
    return lib->path ? 0 : err_memory(err);
}

int library_open(struct library *lib, const char *path, struct err *err)
{
    return library_open_same(lib, path, NULL, err);
}

int library_open_same(struct library *lib, const char *path, const char *sha256, struct err *err)
{
    if (sha256 && !file_exists(path)) {
        memset(lib, 0, sizeof(*lib));
        return replaced(path, err);
    }
    if (start(lib, path, err) < 0 || open_file(lib, path, sha256, err) < 0) {
        library_close(lib);
        return -1;
    }
    return 0;
}

int library_open_copy(struct library *lib, const char *path, const char *sha256, const char *dir,
                      struct err *err)
{
    if (start(lib, path, err) < 0 || library_make_copy(&lib->copy_path, path, dir, err) < 0 ||
        open_file(lib, lib->copy_path, sha256, err) < 0) {
        library_close(lib);
        return -1;
    }
    return 0;
}

void library_close(struct library *lib)
{
    library_remove_copy(lib->copy_path);
    for (size_t i = 0; i < lib->kernels_nr; i++)
        free(lib->kernels[i].refusal);
    free(lib->kernels);
    text_list_release(&lib->notes);
    free(lib->resources);
    free(lib->copy_path);
    free(lib->path);
    memset(lib, 0, sizeof(*lib));
}

/* "option 'smd' does not exist; the nearest is 'simd'", or the list of what there is. */
static int no_such(const char *what, const char *word, const char *const *names, size_t nr,
                   struct err *err)
{
    const char *near = text_nearest(word, names, nr);
    struct strbuf text = STRBUF_INIT;

    strbuf_addf(&text, "%s '%s' does not exist; ", what, word);
    if (near)
        strbuf_addf(&text, "the nearest is '%s'", near);
    else
        strbuf_addstr(&text, nr == 0 ? "there are none" : "there are: ");
    for (size_t i = 0; !near && i < nr; i++)
        strbuf_addf(&text, "%s%s", i ? ", " : "", names[i]);
    if (text.oom)
        err_memory(err);
    else
        err_set(err, ERR_CONFIG, "%s", text.buf);
    strbuf_release(&text);
    return -1;
}

/* "sage_fwd/cpu" for every kernel of the operator, or of all where `op` is none of the library's.
 */
static int no_such_kernel(const struct library *lib, const char *op, const char *name,
                          struct err *err)
{
    struct text_list names = {0};
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < lib->kernels_nr; i++) {
        strbuf_reset(&text);
        strbuf_addf(&text, "%s/%s", lib->kernels[i].row->op, lib->kernels[i].row->name);
        if (text_list_add(&names, text.buf, err) < 0)
            goto done;
    }
    strbuf_reset(&text);
    strbuf_addf(&text, "%s/%s", op, name);
    no_such("kernel", text.buf, (const char *const *)names.items, names.nr, err);
    err_prefix(err, "library '%s'", lib->path);
done:
    text_list_release(&names);
    strbuf_release(&text);
    return -1;
}

const struct library_kernel *library_find_kernel(const struct library *lib, const char *op,
                                                 const char *name, struct err *err)
{
    for (size_t i = 0; i < lib->kernels_nr; i++) {
        const struct library_kernel *kernel = &lib->kernels[i];

        if (strcmp(kernel->row->op, op) != 0 || strcmp(kernel->row->name, name) != 0)
            continue;
        if (!kernel->refusal)
            return kernel;
        err_set(err, ERR_CONFIG, "library '%s': %s", lib->path, kernel->refusal);
        return NULL;
    }
    no_such_kernel(lib, op, name, err);
    return NULL;
}

const struct library_kernel *library_find(const struct library *lib, const char *kernel,
                                          struct err *err)
{
    const char *slash = strchr(kernel, '/');
    const struct library_kernel *found = NULL;
    char *op;

    if (!slash || slash == kernel || slash[1] == '\0') {
        err_set(err, ERR_CONFIG, "kernel '%s' is not of the form operator/name, as in sage_fwd/cpu",
                kernel);
        return NULL;
    }
    op = strndup(kernel, (size_t)(slash - kernel));
    if (!op) {
        err_memory(err);
        return NULL;
    }
    found = library_find_kernel(lib, op, slash + 1, err);
    free(op);
    return found;
}

int library_find_option(const struct sab_kernel *row, const char *name, struct err *err)
{
    const char *names[SAB_MAX_OPTIONS];

    for (uint32_t i = 0; i < row->options_nr; i++) {
        names[i] = row->options[i].name;
        if (strcmp(names[i], name) == 0)
            return (int)i;
    }
    no_such("option", name, names, row->options_nr, err);
    return err_prefix(err, "kernel %s/%s", row->op, row->name);
}

int library_find_choice(const struct sab_option *option, const char *name, struct err *err)
{
    const char **names = calloc((size_t)option->choices_nr + 1, sizeof(*names));

    if (!names)
        return err_memory(err);
    for (uint32_t i = 0; i < option->choices_nr; i++) {
        names[i] = option->choices[i].name;
        if (strcmp(names[i], name) == 0) {
            free(names);
            return (int)i;
        }
    }
    no_such("choice", name, names, option->choices_nr, err);
    free(names);
    return err_prefix(err, "option '%s'", option->name);
}

void library_default_choices(const struct sab_kernel *row, uint32_t *choices)
{
    for (uint32_t i = 0; i < row->options_nr; i++) {
        choices[i] = 0;
        for (uint32_t j = 0; j < row->options[i].choices_nr; j++)
            if ((row->options[i].choices[j].flags & SAB_CHOICE_DEFAULT) != 0)
                choices[i] = j;
    }
}

bool library_kernel_knows(const struct library_kernel *kernel, int last_tensor, int last_param)
{
    return last_tensor < (int)kernel->row->tensors_nr && last_param < (int)kernel->row->params_nr;
}
