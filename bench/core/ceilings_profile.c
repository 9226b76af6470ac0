/*
 * ceilings_profile.c - ceilings in the machine profile: {driver, threads, about, rates}.
 */
#include <string.h>

#include "ceilings.h"
#include "profile.h"

#define KEY "ceilings"

int ceilings_read(struct ceilings *c, const struct device_info *device, struct err *err)
{
    json_t *all;

    if (profile_get(device, KEY, &all, err))
        return -1;
    const char *driver = json_string_value(json_object_get(all, "driver"));
    int ret = 0;
    if (driver && !strcmp(driver, device->driver) &&
        json_integer_value(json_object_get(all, "threads")) == device->threads)
        ret = ceilings_from_json(c, json_object_get(all, "rates"), err);
    json_decref(all);
    return ret;
}

int ceilings_keep(struct ceilings *c, const struct device_info *device, struct err *err)
{
    struct ceilings old;

    ceilings_init(&old);
    int ret = ceilings_read(&old, device, err) || ceilings_add_missing(c, &old, err) ? -1 : 0;
    ceilings_release(&old);
    return ret;
}

int ceilings_write(const struct ceilings *c, const struct device_info *device, json_t *about,
                   struct err *err)
{
    json_t *all = json_object();

    json_object_set_new(all, "driver", json_string(device->driver));
    json_object_set_new(all, "threads", json_integer(device->threads));
    if (about)
        json_object_set(all, "about", about);
    json_object_set_new(all, "rates", ceilings_json(c));
    int ret = profile_put(device, KEY, all, err);
    json_decref(all);
    return ret;
}
