/*
 * check_result.c - what a check came to: on its way from a worker to the parent, and in words.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *const status_words[] = {"n/a", "pass", "fail", "expected_failure",
                                           "unexpected_pass"};

const char *check_status_word(enum check_status status)
{
    return status_words[status];
}

void check_result_init(struct check_result *r)
{
    memset(r, 0, sizeof(*r));
    r->status = CHECK_PASS;
    r->at = -1;
    r->got = r->want = r->max_abs = r->rel_l2 = r->cosine = r->jitter = r->seconds = NAN;
}

/* Kernels write messages: what is no printable ASCII would be no JSON, no XML and no table. */
static void tidy(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = *text == '\n' || *text == '\t' ? ' ' : '?';
}

int check_fail(struct check_result *r, const char *format, ...)
{
    va_list args;

    r->status = CHECK_FAIL;
    va_start(args, format);
    vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
    tidy(r->text);
    return 1;
}

int check_na(struct check_result *r, const char *format, ...)
{
    va_list args;

    r->status = CHECK_NA;
    va_start(args, format);
    vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
    tidy(r->text);
    return 1;
}

/* Numbers travel as text: JSON has no NaN. */
static const struct {
    const char *name;
    size_t offset;
} reals[] = {
    {"got", offsetof(struct check_result, got)},
    {"want", offsetof(struct check_result, want)},
    {"max_abs", offsetof(struct check_result, max_abs)},
    {"rel_l2", offsetof(struct check_result, rel_l2)},
    {"cosine", offsetof(struct check_result, cosine)},
    {"jitter", offsetof(struct check_result, jitter)},
    {"seconds", offsetof(struct check_result, seconds)},
};

json_t *check_result_to_json(const struct check_result *r)
{
    json_t *j =
        json_pack("{s:i, s:i, s:s, s:s, s:s, s:I}", "status", (int)r->status, "end", (int)r->end,
                  "text", r->text, "tensor", r->tensor, "index", r->index, "at", (json_int_t)r->at);
    char buf[64];

    for (size_t i = 0; j && i < sizeof(reals) / sizeof(reals[0]); i++) {
        const double *value = (const void *)((const char *)r + reals[i].offset);

        snprintf(buf, sizeof(buf), "%.17g", *value);
        if (json_object_set_new(j, reals[i].name, json_string(buf))) {
            json_decref(j);
            return NULL;
        }
    }
    return j;
}

int check_result_from_json(struct check_result *r, const json_t *json, struct err *err)
{
    const char *text, *tensor, *index;
    json_int_t at;
    int status, end;

    check_result_init(r);
    if (json_unpack((json_t *)json, "{s:i, s:i, s:s, s:s, s:s, s:I}", "status", &status, "end",
                    &end, "text", &text, "tensor", &tensor, "index", &index, "at", &at) ||
        status < CHECK_NA || status > CHECK_UNEXPECTED || end < CHECK_ENDED || end > CHECK_UNUSABLE)
        return err_set(err, ERR_CRASH, "a worker's answer to a check cannot be read");
    r->status = (enum check_status)status;
    r->end = (enum check_end)end;
    r->at = at;
    snprintf(r->text, sizeof(r->text), "%s", text);
    snprintf(r->tensor, sizeof(r->tensor), "%s", tensor);
    snprintf(r->index, sizeof(r->index), "%s", index);
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        const char *word = json_string_value(json_object_get(json, reals[i].name));

        *(double *)(void *)((char *)r + reals[i].offset) = word ? strtod(word, NULL) : NAN;
    }
    return 0;
}
