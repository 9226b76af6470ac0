#include "profile.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "sha256.h"
#include "strbuf.h"

/* ---- floors ---- */

void noise_floors_init(struct noise_floors *floors)
{
    memset(floors, 0, sizeof(*floors));
    for (int o = 0; o < PROFILE_OCTAVES; o++)
        floors->octave[o] = NAN;
}

int noise_floors_octave(double median_ns)
{
    int exponent;

    if (!(median_ns > 0) || !isfinite(median_ns))
        return -1;
    /* frexp() gives [0.5, 1): exact at the powers of two, where log2() may round. */
    frexp(median_ns, &exponent);
    exponent--;
    return exponent < 0 ? 0 : exponent >= PROFILE_OCTAVES ? PROFILE_OCTAVES - 1 : exponent;
}

bool noise_floors_at(const struct noise_floors *floors, double median_ns, double *floor)
{
    int own = noise_floors_octave(median_ns), o = own;

    if (!floors || !floors->nr || own < 0)
        return false;
    while (o >= 0 && isnan(floors->octave[o]))
        o--;
    if (o < 0)
        o = own + 1;
    if (o >= PROFILE_OCTAVES || isnan(floors->octave[o]))
        return false;
    *floor = floors->octave[o];
    return true;
}

/* ---- where ---- */

/* The XDG base directory specification: a relative path in the variable is to be ignored. */
static int add_data_home(struct strbuf *sb, struct err *err)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (xdg && *xdg == '/')
        strbuf_addstr(sb, xdg);
    else if (home && *home == '/')
        strbuf_addf(sb, "%s/.local/share", home);
    else
        return err_set(err, ERR_ENVIRONMENT,
                       "no place for a machine profile: neither XDG_DATA_HOME nor HOME names a "
                       "folder");
    return 0;
}

static void add_device_word(struct strbuf *sb, const struct device_info *device)
{
    char hex[65];

    if (*device->uuid) {
        for (const char *p = device->uuid; *p; p++)
            strbuf_addch(sb, isalnum((unsigned char)*p) || *p == '-' ? *p : '_');
        return;
    }
    sha256_of(device->name, strlen(device->name), hex);
    strbuf_addf(sb, "cpu-%.16s", hex);
}

char *profile_path(const struct device_info *device, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;

    if (add_data_home(&sb, err)) {
        strbuf_release(&sb);
        return NULL;
    }
    strbuf_addstr(&sb, "/sab/profile-");
    add_device_word(&sb, device);
    strbuf_addstr(&sb, ".json");
    char *path = strbuf_detach(&sb);
    if (!path)
        err_memory(err);
    return path;
}

/* ---- the file ---- */

/* A new reference; NULL with err->kind ERR_NONE where there is no file. */
static json_t *load(const char *path, struct err *err)
{
    json_error_t why;

    if (!file_exists(path))
        return NULL;
    json_t *all = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!all) {
        err_set(err, ERR_CONFIG, "machine profile %s:%d: %s", path, why.line, why.text);
        return NULL;
    }
    json_int_t schema = json_integer_value(json_object_get(all, "schema"));
    if (schema == PROFILE_SCHEMA && json_is_array(json_object_get(all, "regimes")))
        return all;
    err_set(err, ERR_CONFIG,
            "machine profile '%s' has schema %lld, this version reads %d; `bench aa` writes it "
            "anew once the file is gone",
            path, (long long)schema, PROFILE_SCHEMA);
    json_decref(all);
    return NULL;
}

static bool text_is(const json_t *o, const char *key, const char *want)
{
    const char *have = json_string_value(json_object_get(o, key));
    return have && !strcmp(have, want);
}

static bool integer_is(const json_t *o, const char *key, json_int_t want)
{
    const json_t *have = json_object_get(o, key);
    return json_is_integer(have) && json_integer_value(have) == want;
}

static json_t *find_regime(json_t *all, const struct profile_key *key)
{
    json_t *list = json_object_get(all, "regimes"), *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        if (text_is(o, "driver", key->device->driver) && text_is(o, "cache", key->cache) &&
            text_is(o, "pace", key->pace) && integer_is(o, "protocol", key->protocol) &&
            integer_is(o, "threads", key->device->threads))
            return o;
    }
    return NULL;
}

static void set_text(json_t *o, const char *key, const char *value)
{
    json_t *v = json_string(value);
    json_object_set_new(o, key, v ? v : json_string("(not UTF-8)"));
}

static json_t *regime_make(const struct profile_key *key)
{
    json_t *o = json_object();

    set_text(o, "driver", key->device->driver);
    json_object_set_new(o, "protocol", json_integer(key->protocol));
    set_text(o, "cache", key->cache);
    set_text(o, "pace", key->pace);
    json_object_set_new(o, "threads", json_integer(key->device->threads));
    return o;
}

static json_t *profile_make(const struct device_info *device)
{
    json_t *all = json_object();

    json_object_set_new(all, "schema", json_integer(PROFILE_SCHEMA));
    set_text(all, "device", device->name);
    set_text(all, "uuid", device->uuid);
    json_object_set_new(all, "regimes", json_array());
    return all;
}

static int read_octaves(const char *path, const json_t *regime, struct noise_floors *floors,
                        struct err *err)
{
    json_t *list = json_object_get(regime, "octaves"), *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        json_int_t at = json_integer_value(json_object_get(o, "octave"));
        const json_t *floor = json_object_get(o, "floor");
        double value = json_number_value(floor);

        if (at < 0 || at >= PROFILE_OCTAVES || !json_is_number(floor) || !(value >= 0))
            return err_set(err, ERR_CONFIG,
                           "machine profile '%s' has a noise floor of %g in octave %lld, which is "
                           "not possible",
                           path, value, (long long)at);
        floors->nr += isnan(floors->octave[at]);
        floors->octave[at] = value;
        floors->values[at] = (size_t)json_integer_value(json_object_get(o, "values"));
    }
    return 0;
}

int profile_read(const struct profile_key *key, struct noise_floors *floors, struct err *err)
{
    struct err why = ERR_INIT;
    int ret = 0;

    noise_floors_init(floors);
    char *path = profile_path(key->device, &why);
    if (!path) /* no home, no profile */
        return why.kind == ERR_MEMORY ? err_memory(err) : 0;
    json_t *all = load(path, &why);
    if (why.kind != ERR_NONE)
        ret = err_set(err, why.kind, "%s", why.text);
    json_t *regime = all ? find_regime(all, key) : NULL;
    if (regime)
        ret = read_octaves(path, regime, floors, err);
    if (ret)
        noise_floors_init(floors);
    json_decref(all);
    free(path);
    return ret;
}

json_t *noise_floors_json(const struct noise_floors *floors)
{
    json_t *list = json_array();

    for (int o = 0; o < PROFILE_OCTAVES; o++) {
        if (isnan(floors->octave[o]))
            continue;
        json_t *item = json_object();
        json_object_set_new(item, "octave", json_integer(o));
        json_object_set_new(item, "from_ns", json_real(ldexp(1, o)));
        json_object_set_new(item, "below_ns", json_real(ldexp(1, o + 1)));
        json_object_set_new(item, "floor", json_real(floors->octave[o]));
        json_object_set_new(item, "values", json_integer((json_int_t)floors->values[o]));
        json_array_append_new(list, item);
    }
    return list;
}

static int save(const char *path, const json_t *all, struct err *err)
{
    struct strbuf dir = STRBUF_INIT, text = STRBUF_INIT;
    char *dump = json_dumps(all, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    int ret = -1;

    file_add_dir(&dir, path);
    strbuf_addf(&text, "%s\n", dump ? dump : "");
    if (!dump || dir.oom || text.oom)
        err_memory(err);
    else if (file_mkdirs(dir.buf, err) || file_write(path, text.buf, text.len, err))
        err_prefix(err, "machine profile");
    else
        ret = 0;
    free(dump);
    strbuf_release(&dir);
    strbuf_release(&text);
    return ret;
}

int profile_write(const struct profile_key *key, const struct noise_floors *floors, json_t *about,
                  struct err *err)
{
    struct noise_floors merged;
    struct err why = ERR_INIT;
    int ret = -1;

    noise_floors_init(&merged);
    char *path = profile_path(key->device, err);
    if (!path)
        return -1;
    json_t *all = load(path, &why);
    if (!all && why.kind != ERR_NONE) {
        err_set(err, why.kind, "%s", why.text);
        goto out;
    }
    if (!all)
        all = profile_make(key->device);
    json_t *regime = find_regime(all, key);
    if (!regime) {
        regime = regime_make(key);
        json_array_append_new(json_object_get(all, "regimes"), regime);
    }
    if (read_octaves(path, regime, &merged, err))
        goto out;
    for (int o = 0; o < PROFILE_OCTAVES; o++)
        if (!isnan(floors->octave[o])) {
            merged.octave[o] = floors->octave[o];
            merged.values[o] = floors->values[o];
        }
    json_object_set_new(regime, "octaves", noise_floors_json(&merged));
    if (about)
        json_object_set(regime, "about", about);
    ret = save(path, all, err);
out:
    json_decref(all);
    free(path);
    return ret;
}

/* ---- other members ---- */

int profile_get(const struct device_info *device, const char *name, json_t **value, struct err *err)
{
    struct err why = ERR_INIT;
    char *path = profile_path(device, &why);

    *value = NULL;
    if (!path)
        return why.kind == ERR_MEMORY ? err_memory(err) : 0;
    json_t *all = load(path, &why);
    free(path);
    if (why.kind != ERR_NONE)
        return err_set(err, why.kind, "%s", why.text);
    *value = json_incref(json_object_get(all, name));
    json_decref(all);
    return 0;
}

int profile_put(const struct device_info *device, const char *name, json_t *value, struct err *err)
{
    struct err why = ERR_INIT;
    char *path = profile_path(device, err);
    int ret = -1;

    if (!path)
        return -1;
    json_t *all = load(path, &why);
    if (why.kind != ERR_NONE) {
        err_set(err, why.kind, "%s", why.text);
    } else {
        if (!all)
            all = profile_make(device);
        json_object_set(all, name, value);
        ret = save(path, all, err);
    }
    json_decref(all);
    free(path);
    return ret;
}
