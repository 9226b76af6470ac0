/*
 * cupti_api.c - finding CUPTI at run time, and putting its failures into words.
 */
#include "cupti_api.h"

#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "foreign.h"

/* Layout of records is that of the major version this was built with. */
#define VERSION_MAJOR(v) ((v) / 10000)

int cupti_api_explain(const struct cupti_api *api, CUptiResult rc, const char *what,
                      struct err *err)
{
    const char *text = NULL;

    if (rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return err_set(err, ERR_ENVIRONMENT,
                       DEVICE_CUPTI_TAKEN
                       ": CUPTI has one subscriber, and a profiler or "
                       "debugger (ncu, nsys, compute-sanitizer, cuda-gdb) holds it (error %d at "
                       "%s), run without it, or use 'bench ncu' to profile",
                       (int)rc, what);
    if (rc == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        rc == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        return err_set(err, ERR_ENVIRONMENT,
                       DEVICE_CUPTI_FORBIDDEN " (error %d at %s), the administrator "
                                              "can allow profiling to all users",
                       (int)rc, what);
    if (api->get_string(rc, &text) != CUPTI_SUCCESS || !text)
        text = "unknown error";
    return err_set(err, ERR_ENVIRONMENT, "timer 'cupti' failed at %s: %s (error %d)", what, text,
                   (int)rc);
}

#define PATHS_MAX 12
#define PATH_SIZE 512

struct paths {
    char text[PATHS_MAX][PATH_SIZE];
    const char *item[PATHS_MAX + 1];
    size_t nr;
};

static void path_add(struct paths *p, const char *dir, const char *tail)
{
    if (!dir || !*dir || p->nr == PATHS_MAX)
        return;
    snprintf(p->text[p->nr], PATH_SIZE, "%s%s", dir, tail);
    p->item[p->nr] = p->text[p->nr];
    p->item[++p->nr] = NULL;
}

static void paths_fill(struct paths *p)
{
    static const char *const tail[] = {"/extras/CUPTI/lib64/libcupti.so.13",
                                       "/lib64/libcupti.so.13"};
    static const char *const home[] = {"CUDA_HOME", "CUDA_PATH"};

    p->nr = 0;
    p->item[0] = NULL;
    path_add(p, "libcupti.so.13", "");
    path_add(p, "libcupti.so", "");
#ifdef SAB_CUPTI_DIR
    path_add(p, SAB_CUPTI_DIR, "/libcupti.so.13");
    path_add(p, SAB_CUPTI_DIR, "/libcupti.so");
#endif
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            path_add(p, getenv(home[i]), tail[k]);
}

int cupti_api_open(struct cupti_api *api, struct err *err)
{
    const struct foreign_symbol symbol[] = {
        {"cuptiGetVersion", NULL, false, &api->get_version},
        {"cuptiGetResultString", NULL, false, &api->get_string},
        {"cuptiActivityRegisterCallbacks", NULL, false, &api->register_callbacks},
        {"cuptiActivityEnable", NULL, false, &api->enable},
        {"cuptiActivityDisable", NULL, false, &api->disable},
        {"cuptiActivityFlushAll", NULL, false, &api->flush_all},
        {"cuptiActivityGetNextRecord", NULL, false, &api->next},
        {"cuptiActivityGetNumDroppedRecords", NULL, false, &api->dropped},
        {"cuptiActivityPushExternalCorrelationId", NULL, false, &api->push},
        {"cuptiActivityPopExternalCorrelationId", NULL, false, &api->pop},
        {"cuptiGetTimestamp", NULL, false, &api->timestamp},
    };
    struct paths paths;
    char why[512];
    CUptiResult rc;

    paths_fill(&paths);
    if (!foreign_open(paths.item, symbol, sizeof(symbol) / sizeof(symbol[0]), why, sizeof(why)))
        return err_set(err, ERR_ENVIRONMENT,
                       DEVICE_CUPTI_MISSING " (%s), install CUPTI of "
                                            "the CUDA toolkit or set CUDA_HOME",
                       why);
    rc = api->get_version(&api->version);
    if (rc != CUPTI_SUCCESS)
        return cupti_api_explain(api, rc, "cuptiGetVersion", err);
    if (VERSION_MAJOR(api->version) != VERSION_MAJOR(CUPTI_API_VERSION))
        return err_set(err, ERR_ENVIRONMENT,
                       DEVICE_CUPTI_VERSION " has API version %u, "
                                            "this program needs %u",
                       api->version, (unsigned)CUPTI_API_VERSION);
    return 0;
}
