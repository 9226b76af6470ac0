/*
 * foreign.h - libraries of the driver and the toolkit, found at run time: none is needed to start.
 */
#ifndef BENCH_DEVICE_FOREIGN_H
#define BENCH_DEVICE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

struct foreign_symbol {
    const char *name;
    const char *older; /* name in older releases, or NULL */
    bool optional;     /* its pointer is NULL where it is missing */
    void *place;       /* where the function pointer is written */
};

/*
 * Opens the first of `paths` that loads (a NULL-terminated list; a name without a slash is searched
 * for by the loader) and resolves every symbol. Returns the handle, or NULL with the reason in
 * `why`: what was tried, or what is missing. The handle is never closed: records and callbacks may
 * outlive every user.
 */
void *foreign_open(const char *const *paths, const struct foreign_symbol *symbols, size_t nr,
                   char *why, size_t why_size);

#endif
