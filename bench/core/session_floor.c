/*
 * session_floor.c - the noise floors that a run is held against: what `bench aa` measured here.
 */
#include "session.h"

struct profile_key session_profile_key(const struct session *s)
{
    return (struct profile_key){
        .device = &s->info,
        .protocol = ROWS_PROTOCOL,
        .cache = plan_cache_name(s->plan.set.cache),
        .pace = s->kind == SAB_DEVICE_CPU ? "none" : plan_pace_name(s->plan.set.pace),
    };
}

int session_floors(struct session *s, struct err *err)
{
    struct profile_key key = session_profile_key(s);
    struct err why = ERR_INIT;

    s->store.set.floors = NULL;
    if (s->plan.set.noise_floor >= 0)
        return 0;
    if (profile_read(&key, &s->floors, &why)) {
        if (why.kind == ERR_MEMORY)
            return err_memory(err);
        session_note(s, "%s; the noise floor is the device's default", why.text);
    } else if (s->floors.nr) {
        s->store.set.floors = &s->floors;
    }
    return 0;
}
