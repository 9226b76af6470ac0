/*
 * library.h - loads a library of kernels and holds it against the rules of sab.h. The only owner of
 * dlopen() for kernel libraries.
 *
 * A refusal is ERR_CONFIG and names the file, the rule and the fix. A refused file is never left
 * behind half open; what can be read from the file is judged before any of its code runs. A file
 * that is replaced under a run is ERR_ENVIRONMENT: its kernels would be taken for the old ones. An
 * opened library stays mapped until the process ends, since profilers may still hold its names.
 */
#ifndef BENCH_DEVICE_LIBRARY_H
#define BENCH_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sab.h"
#include "schema.h"
#include "text.h"

/* A kernel of an operator that this program knows. */
struct library_kernel {
    const struct sab_kernel *row;
    const struct sab_op_spec *op;
    char *refusal; /* why it cannot be used, NULL where it can */
};

struct library {
    char *path;      /* the file that was named, absolute */
    char *copy_path; /* the private copy that was loaded, or NULL */
    char sha256[65]; /* of the file, lower-case hex */
    const struct sab_library *table;
    struct library_kernel *kernels;
    size_t kernels_nr;
    struct text_list notes; /* what a user should hear: kernels ignored or refused */
    char *resources;        /* text of `<path>.resources`, NULL where there is none */
    void *handle;
};

/* Fills `lib`, which library_close() releases; on failure there is nothing to release. `path` is
 * absolute. */
int library_open(struct library *lib, const char *path, struct err *err);
/* The same of a file that was opened before: it still has the hash `sha256`. */
int library_open_same(struct library *lib, const char *path, const char *sha256, struct err *err);
/* The same through a private copy in a new folder below `dir`, so that its variables are shared
 * with no other arm of the same file. The copy goes with library_close(). */
int library_open_copy(struct library *lib, const char *path, const char *sha256, const char *dir,
                      struct err *err);
/* Releases what the struct holds and removes its copy; the mapping stays. */
void library_close(struct library *lib);
/* Removes copies in `dir` whose process is gone. A missing `dir` is fine. Returns how many. */
int library_sweep_stale(const char *dir);

/* "op/name". NULL, with the nearest name, where there is none; NULL with the refusal of a refused
 * kernel. */
const struct library_kernel *library_find(const struct library *lib, const char *kernel,
                                          struct err *err);
const struct library_kernel *library_find_kernel(const struct library *lib, const char *op,
                                                 const char *name, struct err *err);
/* Places in the kernel's lists, or -1 with the nearest name. */
int library_find_option(const struct sab_kernel *row, const char *name, struct err *err);
int library_find_choice(const struct sab_option *option, const char *name, struct err *err);
/* choices[options_nr]: the default of every option. */
void library_default_choices(const struct sab_kernel *row, uint32_t *choices);

/* Is `used` within the lists that the kernel knows? Places of the last tensor present and the last
 * parameter that differs from its default, -1 where there are none: a case beyond is a `skip`. */
bool library_kernel_knows(const struct library_kernel *kernel, int last_tensor, int last_param);

#endif
