/*
 * session_warn.c - what on this machine would spoil the numbers, said before a run.
 */
#include <string.h>

#include "doctor.h"
#include "session.h"

/* Checks take no times. They feel who else holds memory or is between them and the device, and what
 * ends a process or a file early. */
static bool concerns(const struct session *s, const struct finding *f)
{
    static const char *const checked[] = {"gpu_shared", "mig",      "mps",  "driver_old",
                                          "no_gpu",     "profiler", "swap", "disk"};

    if (f->severity == FINDING_NOTE)
        return false; /* notes are for `bench doctor` */
    if (s->request->mode != JOB_CHECK)
        return true;
    for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++)
        if (!strcmp(f->code, checked[i]))
            return true;
    return false;
}

/* Of several GPUs each finding says which. */
static int warn_findings(const struct session *s, const struct finding_list *list, const char *gpu,
                         json_t *warnings, struct err *err)
{
    for (size_t i = 0; i < list->nr; i++) {
        const struct finding *f = &list->items[i];
        char text[1024];

        if (!concerns(s, f))
            continue;
        snprintf(text, sizeof(text), "%s: %s%s%s; %s", finding_severity_name(f->severity), gpu,
                 *gpu ? ": " : "", f->what, f->effect);
        session_note(s, "%s", text);
        if (json_array_append_new(warnings, json_string(text)))
            return err_memory(err);
    }
    return 0;
}

int session_warnings(const struct session *s, json_t **warnings, struct err *err)
{
    struct finding_list list;
    int ret;

    *warnings = json_array();
    if (!*warnings)
        return err_memory(err);
    finding_list_init(&list);
    ret = doctor_run(s->lanes_nr > 1 ? NULL : &s->info, s->store.dir, &list, err) ||
          warn_findings(s, &list, "", *warnings, err);
    finding_list_release(&list);
    for (size_t k = 0; s->lanes_nr > 1 && k < s->lanes_nr && !ret; k++) {
        finding_list_init(&list);
        ret = doctor_device(&s->lane[k].info, &list, err) ||
              warn_findings(s, &list, s->lane[k].info.uuid, *warnings, err);
        finding_list_release(&list);
    }
    return ret ? -1 : 0;
}

/* A resumed run keeps what was said of its beginning. */
int session_warn(struct session *s, struct err *err)
{
    json_t *fresh = NULL, *all = json_object_get(s->store.run, "warnings"), *text, *have;
    int ret = session_warnings(s, &fresh, err);
    size_t i, k;

    if (!json_is_array(all)) {
        all = json_array();
        json_object_set_new(s->store.run, "warnings", all);
    }
    json_array_foreach(fresh, i, text)
    {
        bool known = false;
        json_array_foreach(all, k, have) known |= json_equal(have, text);
        if (!known)
            json_array_append(all, text);
    }
    json_decref(fresh);
    return ret;
}
