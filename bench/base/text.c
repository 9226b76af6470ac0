#include "text.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NUMBER_MAX_CHARS 256

static const struct {
    const char *word;
    bool value;
} bool_words[] = {
    {"yes", true}, {"no", false},  {"true", true}, {"false", false},
    {"on", true},  {"off", false}, {"1", true},    {"0", false},
};

static const struct {
    const char *unit;
    double seconds;
} time_units[] = {
    {"", 1.0},  {"ns", 1e-9}, {"us", 1e-6},  {"ms", 1e-3},
    {"s", 1.0}, {"m", 60.0},  {"min", 60.0}, {"h", 3600.0},
};

bool text_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_space(const char *s)
{
    while (text_is_space(*s))
        s++;
    return s;
}

char *text_trim(char *s)
{
    size_t len;

    while (text_is_space(*s))
        s++;
    len = strlen(s);
    while (len && text_is_space(s[len - 1]))
        len--;
    s[len] = '\0';
    return s;
}

bool text_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int bad_value(struct err *err, const char *s, const char *wanted)
{
    return err_set(err, ERR_CONFIG, "'%.200s' is not %s", s, wanted);
}

static unsigned suffix_shift(char c)
{
    switch (c) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    default:
        return 0;
    }
}

int text_int(const char *s, int64_t *out, struct err *err)
{
    static const char wanted[] = "a whole number such as 8, 4k (4096) or 1m";
    const char *p = skip_space(s);
    bool minus = *p == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + minus;
    unsigned shift;

    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return bad_value(err, s, wanted);
    for (; is_digit(*p); p++) {
        unsigned digit = (unsigned)(*p - '0');

        if (value > (limit - digit) / 10)
            return err_set(err, ERR_CONFIG, "'%.200s' does not fit 64 bits", s);
        value = value * 10 + digit;
    }
    shift = suffix_shift(*p);
    if (shift)
        p++;
    if (*skip_space(p))
        return bad_value(err, s, wanted);
    if (value > limit >> shift)
        return err_set(err, ERR_CONFIG, "'%.200s' does not fit 64 bits", s);
    value <<= shift;
    *out = minus ? (int64_t)(0 - value) : (int64_t)value;
    return 0;
}

/* The length of a plain decimal at `s`, 0 for none: keeps strtod() from hex, inf and nan. */
static size_t real_length(const char *s)
{
    const char *p = s;
    size_t digits = 0;

    if (*p == '-' || *p == '+')
        p++;
    for (; is_digit(*p); p++)
        digits++;
    if (*p == '.')
        for (p++; is_digit(*p); p++)
            digits++;
    if (!digits)
        return 0;
    if (*p == 'e' || *p == 'E') {
        const char *e = p + 1;

        if (*e == '-' || *e == '+')
            e++;
        if (is_digit(*e)) {
            while (is_digit(*e))
                e++;
            p = e;
        }
    }
    return (size_t)(p - s);
}

/* 1: read, *end behind it; 0: no number there; -1: too long or too large. */
static int read_real(const char *s, double *out, const char **end)
{
    size_t len = real_length(s);
    char number[NUMBER_MAX_CHARS];

    if (!len)
        return 0;
    if (len >= sizeof(number))
        return -1;
    memcpy(number, s, len);
    number[len] = '\0';
    *out = strtod(number, NULL);
    *end = s + len;
    return isfinite(*out) ? 1 : -1;
}

int text_real(const char *s, double *out, struct err *err)
{
    const char *end = NULL;
    double value;
    int got = read_real(skip_space(s), &value, &end);

    if (got < 0)
        return err_set(err, ERR_CONFIG, "'%.200s' does not fit a double", s);
    if (!got || *skip_space(end))
        return bad_value(err, s, "a number such as 0.25 or 1e-3");
    *out = value;
    return 0;
}

int text_bool(const char *s, bool *out, struct err *err)
{
    const char *p = skip_space(s);
    size_t i;

    for (i = 0; i < sizeof(bool_words) / sizeof(bool_words[0]); i++) {
        size_t len = strlen(bool_words[i].word);

        if (!strncasecmp(p, bool_words[i].word, len) && !*skip_space(p + len)) {
            *out = bool_words[i].value;
            return 0;
        }
    }
    return bad_value(err, s, "yes or no");
}

int text_seconds(const char *s, double *seconds, struct err *err)
{
    const char *end = NULL;
    double value;
    size_t i;
    int got = read_real(skip_space(s), &value, &end);

    if (got < 0)
        return err_set(err, ERR_CONFIG, "'%.200s' does not fit a double", s);
    for (i = 0; got && i < sizeof(time_units) / sizeof(time_units[0]); i++) {
        size_t len = strlen(time_units[i].unit);
        const char *unit = skip_space(end);

        if (strncmp(unit, time_units[i].unit, len) || *skip_space(unit + len))
            continue;
        if (value < 0 || !isfinite(value * time_units[i].seconds))
            break;
        *seconds = value * time_units[i].seconds;
        return 0;
    }
    return bad_value(err, s, "a duration such as 60, 500ms, 1.5s, 2min or 1h");
}

bool text_glob(const char *pattern, const char *s)
{
    return fnmatch(pattern, s, 0) == 0;
}
