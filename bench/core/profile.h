/*
 * profile.h - what `bench aa` measured on this machine, and what later runs take from it.
 *
 * One file a device, ${XDG_DATA_HOME:-~/.local/share}/sab/profile-<GPU's uuid, or a hash of the
 * CPU's name>.json. It holds one set of noise floors a regime: driver, measurement protocol, cache,
 * pace and (on cpu) number of threads. Replaced whole, so that a reader never sees half of it.
 */
#ifndef BENCH_CORE_PROFILE_H
#define BENCH_CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"
#include "err.h"
#include "json.h"

#define PROFILE_SCHEMA  1
#define PROFILE_OCTAVES 64

/* The noise floor by duration: octave o holds medians of [2^o, 2^(o+1)) ns, harness.md 3.9. */
struct noise_floors {
    double octave[PROFILE_OCTAVES]; /* relative, 0.01 for 1 %; NAN: not measured */
    size_t values[PROFILE_OCTAVES]; /* trials times cases behind it */
    size_t nr;                      /* octaves measured */
};

/* Under which conditions floors hold. Strings are the caller's. */
struct profile_key {
    const struct device_info *device;
    int protocol;
    const char *cache; /* "cold", "dirty", "warm" */
    const char *pace;  /* as used: "burst", "sustained", "none" on cpu */
};

void noise_floors_init(struct noise_floors *floors);
/* floor(log2(median_ns)), clamped to the octaves there are; -1 where it is not positive. */
int noise_floors_octave(double median_ns);
/*
 * The floor for a call of this duration: of its own octave, else of the nearest shorter one that
 * was measured (a shorter call is at least as noisy), else of the next longer one (a median near an
 * octave's end falls to either side of it). False where there is none.
 */
bool noise_floors_at(const struct noise_floors *floors, double median_ns, double *floor);

/* A list of the measured octaves: bounds in ns, floor, values behind it. */
json_t *noise_floors_json(const struct noise_floors *floors);

/* The caller frees it. ERR_ENVIRONMENT where neither XDG_DATA_HOME nor HOME names a folder. */
char *profile_path(const struct device_info *device, struct err *err);
/* Floors of one regime; none (nr = 0) where nothing was measured, which is no error. A file that
 * is no profile is ERR_CONFIG. */
int profile_read(const struct profile_key *key, struct noise_floors *floors, struct err *err);
/* Puts the measured octaves of `floors` into the regime, leaving its others as they are. `about`
 * (may be NULL) is kept beside them: when, by how many trials. */
int profile_write(const struct profile_key *key, const struct noise_floors *floors, json_t *about,
                  struct err *err);

/* One further member of the file by its name, a new reference; NULL where there is none. */
int profile_get(const struct device_info *device, const char *name, json_t **value,
                struct err *err);
/* Replaces it, leaving all else as it is. */
int profile_put(const struct device_info *device, const char *name, json_t *value, struct err *err);

#endif
