#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_internal.h"

void finding_list_init(struct finding_list *list)
{
    memset(list, 0, sizeof(*list));
}

void finding_list_release(struct finding_list *list)
{
    free(list->items);
    finding_list_init(list);
}

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[] = {"note", "warn", "bad"};
    return names[severity];
}

enum finding_severity finding_worst(const struct finding_list *list)
{
    enum finding_severity worst = FINDING_NOTE;

    for (size_t i = 0; i < list->nr; i++)
        if (list->items[i].severity > worst)
            worst = list->items[i].severity;
    return worst;
}

int doctor_add(struct finding_list *list, struct err *err, enum finding_severity severity,
               const char *code, const char *what, const char *effect, const char *remedy)
{
    if (list->nr == list->alloc) {
        size_t alloc = list->alloc ? 2 * list->alloc : 16;
        struct finding *grown = realloc(list->items, alloc * sizeof(*grown));

        if (!grown)
            return err_memory(err);
        list->items = grown;
        list->alloc = alloc;
    }
    struct finding *f = &list->items[list->nr++];
    f->severity = severity;
    snprintf(f->code, sizeof(f->code), "%s", code);
    snprintf(f->what, sizeof(f->what), "%s", what);
    snprintf(f->effect, sizeof(f->effect), "%s", effect);
    snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
    return 0;
}

/* ---- the build of this program ---- */

static int check_build(struct finding_list *list, struct err *err)
{
    (void)list; /* an optimised build with CUDA has nothing to say */
    (void)err;
#ifndef __OPTIMIZE__
    if (doctor_add(list, err, FINDING_WARN, "build", "bench was built without optimisation",
                   "host time around a launch grows, and arms on device cpu may be slow too",
                   "build with CMAKE_BUILD_TYPE=Release"))
        return -1;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (doctor_add(list, err, FINDING_BAD, "sanitizer", "bench was built with a sanitizer",
                   "every memory access of host code is several times slower",
                   "measure with the release preset"))
        return -1;
#endif
#ifndef SAB_HAVE_CUDA
    if (doctor_add(list, err, FINDING_NOTE, "no_cuda_build", "bench was built without CUDA",
                   "arms on device cuda cannot run",
                   "install the CUDA toolkit and configure with SAB_CUDA=ON"))
        return -1;
#endif
    return 0;
}

int doctor_run_at(const struct doctor_paths *paths, const struct device_info *info,
                  struct finding_list *list, struct err *err)
{
    if (check_build(list, err) || doctor_host(paths, list, err) ||
        doctor_tools(paths, info, list, err))
        return -1;
    return info ? doctor_device(info, list, err) : 0;
}

int doctor_run(const struct device_info *info, const char *results, struct finding_list *list,
               struct err *err)
{
    const struct doctor_paths here = {"/sys", "/proc", results ? results : "results"};
    return doctor_run_at(&here, info, list, err);
}
