/*
 * plan_settings.c - [global] and [gate]: one setter a key, and the words of keys.c as defaults.
 */
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "plan_parts.h"

#define PROCESSES_MAX 1000
#define ROUNDS_MAX    1000000 /* the product of the two fits an int */

/* A setter says what is wrong, the caller where. */
typedef int (*set_fn)(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err);

static int refuse(const struct plan_key *key, const char *value, const char *right, struct err *err)
{
    return err_set(err, ERR_CONFIG, "'%.200s' is no value of '%.200s', which takes %s", value,
                   key->name, right);
}

static int read_count(const struct plan_key *key, const char *value, int64_t min, int64_t max,
                      int64_t *out, struct err *err)
{
    if (text_int(value, out, NULL) || *out < min || *out > max)
        return err_set(err, ERR_CONFIG,
                       "'%.200s' is no value of '%.200s', which takes an integer from %lld to %lld",
                       value, key->name, (long long)min, (long long)max);
    return 0;
}

/* One of the words in the key's kind: its place there. */
static int read_word(const struct plan_key *key, const char *value, int *out, struct err *err)
{
    struct text_list words = {0};
    const char *near = NULL;
    int64_t place = formula_word_find(key->kind, value);

    *out = (int)place;
    if (place >= 0)
        return 0;
    if (text_split(&words, key->kind, ' ', NULL) == 0)
        near = text_nearest(value, (const char *const *)words.items, words.nr);
    if (near)
        err_set(err, ERR_CONFIG, "'%.200s' is no value of '%.200s', did you mean '%.200s'", value,
                key->name, near);
    else
        err_set(err, ERR_CONFIG, "'%.200s' is no value of '%.200s', which takes one of: %s", value,
                key->name, key->kind);
    text_list_release(&words);
    return -1;
}

static int read_seconds(const struct plan_key *key, const char *value, double *out, struct err *err)
{
    if (text_seconds(value, out, NULL) || *out <= 0)
        return refuse(key, value, "a duration above 0 such as 90s or 2min", err);
    return 0;
}

/* 2% or 0.02 */
static int read_share(const struct plan_key *key, const char *value, double *out, struct err *err)
{
    size_t len = strlen(value);
    bool percent = len > 0 && value[len - 1] == '%';
    char *copy = strdup(value);
    int rc;

    if (!copy)
        return err_memory(err);
    if (percent)
        copy[len - 1] = '\0';
    rc = text_real(copy, out, NULL);
    free(copy);
    if (percent)
        *out /= 100;
    if (rc || !(*out >= 0 && *out < 1))
        return refuse(key, value, "a share below 1 such as 2% or 0.02", err);
    return 0;
}

static int replace(char **slot, const char *value, struct err *err)
{
    char *copy = strdup(value);

    if (!copy)
        return err_memory(err);
    free(*slot);
    *slot = copy;
    return 0;
}

static int set_rounds(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err)
{
    const char *x = strchr(value, 'x');
    char *first = x ? strndup(value, (size_t)(x - value)) : NULL;
    int64_t processes = 0, rounds = 0;
    bool bad = !first || text_int(first, &processes, NULL) || text_int(x + 1, &rounds, NULL) ||
               processes < 1 || processes > PROCESSES_MAX || rounds < 1 || rounds > ROUNDS_MAX;

    free(first);
    if (bad)
        return refuse(key, value, "processes x rounds such as 5x24", err);
    set->processes = (int)processes;
    set->rounds = (int)rounds;
    set->rounds_named = true;
    return 0;
}

static int set_max_rounds(struct plan_settings *set, const struct plan_key *key, const char *value,
                          struct err *err)
{
    int64_t out;

    if (read_count(key, value, 1, ROUNDS_MAX, &out, err))
        return -1;
    set->max_rounds = (int)out;
    set->max_rounds_named = true;
    return 0;
}

static int set_max_time(struct plan_settings *set, const struct plan_key *key, const char *value,
                        struct err *err)
{
    return read_seconds(key, value, &set->max_time_s, err);
}

static int set_timeout(struct plan_settings *set, const struct plan_key *key, const char *value,
                       struct err *err)
{
    set->timeout_s = 0;
    return strcmp(value, "auto") ? read_seconds(key, value, &set->timeout_s, err) : 0;
}

static int set_check_time(struct plan_settings *set, const struct plan_key *key, const char *value,
                          struct err *err)
{
    return read_seconds(key, value, &set->check_time_s, err);
}

static int set_cache(struct plan_settings *set, const struct plan_key *key, const char *value,
                     struct err *err)
{
    int place;

    if (read_word(key, value, &place, err))
        return -1;
    set->cache = (enum plan_cache)place;
    return 0;
}

static int set_pace(struct plan_settings *set, const struct plan_key *key, const char *value,
                    struct err *err)
{
    int place;

    if (read_word(key, value, &place, err))
        return -1;
    set->pace = (enum plan_pace)place;
    return 0;
}

static int set_timer(struct plan_settings *set, const struct plan_key *key, const char *value,
                     struct err *err)
{
    int place;

    if (read_word(key, value, &place, err))
        return -1;
    set->timer = (enum plan_timer)place;
    return 0;
}

static int set_seed(struct plan_settings *set, const struct plan_key *key, const char *value,
                    struct err *err)
{
    int64_t out;

    if (read_count(key, value, 0, INT64_MAX, &out, err))
        return -1;
    set->seed = (uint64_t)out;
    return 0;
}

/* N[,M...], each a number without a sign. */
static bool are_ordinals(const char *list)
{
    do {
        size_t digits = strspn(list, "0123456789");

        if (digits < 1 || digits > 4)
            return false;
        list += digits;
    } while (*list++ == ',');
    return list[-1] == '\0';
}

static int set_device(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err)
{
    bool fine = !strcmp(value, "auto") || !strcmp(value, "cpu") || !strcmp(value, "cuda") ||
                !strcmp(value, "cuda:all") ||
                (text_starts_with(value, "cuda:") && are_ordinals(value + strlen("cuda:")));

    return fine ? replace(&set->device, value, err) : refuse(key, value, key->kind, err);
}

static int set_threads(struct plan_settings *set, const struct plan_key *key, const char *value,
                       struct err *err)
{
    int64_t out;

    if (read_count(key, value, 0, 4096, &out, err))
        return -1;
    set->threads = (int)out;
    return 0;
}

static int set_delta(struct plan_settings *set, const struct plan_key *key, const char *value,
                     struct err *err)
{
    return read_share(key, value, &set->delta, err);
}

static int set_noise_floor(struct plan_settings *set, const struct plan_key *key, const char *value,
                           struct err *err)
{
    set->noise_floor = -1;
    return strcmp(value, "auto") ? read_share(key, value, &set->noise_floor, err) : 0;
}

static int set_duplicate(struct plan_settings *set, const struct plan_key *key, const char *value,
                         struct err *err)
{
    return text_bool(value, &set->duplicate, NULL) ? refuse(key, value, "yes or no", err) : 0;
}

static int set_out(struct plan_settings *set, const struct plan_key *key, const char *value,
                   struct err *err)
{
    (void)key;
    if (*value)
        return replace(&set->out, value, err);
    free(set->out);
    set->out = NULL;
    return 0;
}

static int set_slower(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err)
{
    set->gate_slower = -1;
    return strcmp(value, "off") ? read_share(key, value, &set->gate_slower, err) : 0;
}

static int set_unsure(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err)
{
    int place;

    if (read_word(key, value, &place, err))
        return -1;
    set->gate_unsure_fails = place == 1; /* "pass fail" */
    return 0;
}

static int set_failed(struct plan_settings *set, const struct plan_key *key, const char *value,
                      struct err *err)
{
    int place;

    if (read_word(key, value, &place, err))
        return -1;
    set->gate_failed_fails = place == 0; /* "fail pass" */
    return 0;
}

static const struct {
    const char *section, *name;
    set_fn set;
} setters[] = {
    {"global", "rounds", set_rounds},
    {"global", "max_rounds", set_max_rounds},
    {"global", "max_time", set_max_time},
    {"global", "timeout", set_timeout},
    {"global", "check_time", set_check_time},
    {"global", "cache", set_cache},
    {"global", "pace", set_pace},
    {"global", "timer", set_timer},
    {"global", "seed", set_seed},
    {"global", "device", set_device},
    {"global", "threads", set_threads},
    {"global", "delta", set_delta},
    {"global", "noise_floor", set_noise_floor},
    {"global", "duplicate", set_duplicate},
    {"global", "out", set_out},
    {"gate", "slower", set_slower},
    {"gate", "unsure", set_unsure},
    {"gate", "failed", set_failed},
};

#define SETTERS_NR (sizeof(setters) / sizeof(setters[0]))

int settings_init(struct plan_settings *set, struct err *err)
{
    *set = (struct plan_settings){0};
    for (size_t i = 0; i < SETTERS_NR; i++) {
        const struct plan_key *key = plan_key_find(setters[i].section, setters[i].name);

        if (!key)
            return err_set(err, ERR_BUG, "key '%.200s' has a setter and no row", setters[i].name);
        if (setters[i].set(set, key, key->initial, err))
            return err_prefix(err, "default of '%.200s'", key->name);
    }
    set->rounds_named = false;
    set->max_rounds_named = false;
    return 0;
}

static int apply(struct plan_settings *set, const char *section, const struct ini_entry *entry,
                 struct err *err)
{
    for (size_t i = 0; i < SETTERS_NR; i++) {
        if (strcmp(section, setters[i].section) || strcmp(entry->key, setters[i].name))
            continue;
        if (setters[i].set(set, plan_key_find(section, entry->key), entry->value, err))
            return entry_prefix(err, entry);
        return 0;
    }
    return key_unknown(entry, section, !strcmp(section, "global"), err);
}

/* Keys that [global] only keeps for the sections below it. */
static bool is_default(const struct ini_section *section, const struct ini_entry *entry)
{
    return !strcmp(section->kind, "global") &&
           (!strcmp(entry->key, "library") || !strcmp(entry->key, "kernel") ||
            key_is_operator(entry->key) || key_is_axis(NULL, entry->key));
}

static int check_budget(struct plan_settings *set, const struct ini_entry *max_rounds,
                        struct err *err)
{
    int64_t planned = (int64_t)set->processes * set->rounds;

    if (set->max_rounds >= planned)
        return 0;
    if (set->max_rounds_named)
        return ini_error(err, max_rounds, "max_rounds %d is below the %lld of rounds %dx%d",
                         set->max_rounds, (long long)planned, set->processes, set->rounds);
    set->max_rounds = (int)planned;
    return 0;
}

int settings_read(struct plan_settings *set, const struct ini *ini, struct err *err)
{
    const struct ini_entry *max_rounds = NULL;

    for (size_t i = 0; i < ini->nr; i++) {
        const struct ini_section *section = &ini->sections[i];

        if (strcmp(section->kind, "global") && strcmp(section->kind, "gate"))
            continue;
        for (size_t e = 0; e < section->nr; e++) {
            const struct ini_entry *entry = &section->entries[e];

            if (!strcmp(entry->key, "max_rounds"))
                max_rounds = entry;
            if (!is_default(section, entry) && apply(set, section->kind, entry, err))
                return -1;
        }
    }
    return check_budget(set, max_rounds, err);
}
