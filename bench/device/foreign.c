/*
 * foreign.c - see foreign.h.
 */
#include "foreign.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool resolve(void *handle, const struct foreign_symbol *symbol)
{
    void *found = dlsym(handle, symbol->name);

    if (!found && symbol->older)
        found = dlsym(handle, symbol->older);
    /* The place is a function pointer of whatever type; POSIX gives both kinds one size. */
    memcpy(symbol->place, &found, sizeof(found));
    return found || symbol->optional;
}

void *foreign_open(const char *const *paths, const struct foreign_symbol *symbols, size_t nr,
                   char *why, size_t why_size)
{
    void *handle = NULL;
    size_t used = 0;

    why[0] = '\0';
    for (size_t i = 0; paths[i] && !handle; i++) {
        handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle && used < why_size)
            used += (size_t)snprintf(why + used, why_size - used, "%s'%s'", used ? ", " : "tried ",
                                     paths[i]);
    }
    if (!handle)
        return NULL;
    for (size_t i = 0; i < nr; i++) {
        if (!resolve(handle, &symbols[i])) {
            snprintf(why, why_size, "it lacks the function '%s'", symbols[i].name);
            return NULL;
        }
    }
    return handle;
}
