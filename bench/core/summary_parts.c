/*
 * summary_parts.c - what each step of a pipeline takes: medians over the kept samples.
 */
#include <stdlib.h>
#include <string.h>

#include "arms.h"
#include "stats_quantile.h"
#include "strbuf.h"
#include "summary_internal.h"
#include "text.h"

static const char *text_of(const struct sample_row *s, size_t offset)
{
    const char *text = *(char *const *)((const char *)s + offset);
    return text ? text : "";
}

/* Number `place` of a list "1;2;3"; false where there is none. */
static bool number_at(const char *list, size_t place, double *out)
{
    char *end;

    while (place-- > 0) {
        list = strchr(list, ';');
        if (!list)
            return false;
        list++;
    }
    *out = strtod(list, &end);
    return end != list;
}

static size_t gather_part(const struct case_samples *cs, const char *arm, size_t offset,
                          size_t place, double *values)
{
    size_t nr = 0;

    for (size_t i = 0; i < cs->nr; i++) {
        const struct sample_row *s = cs->sample[i];
        if (!s->drop_reason && !strcmp(s->arm, arm) &&
            number_at(text_of(s, offset), place, &values[nr]))
            nr++;
    }
    return nr;
}

/* "a/x=1;b/y=2": the names are those of the row's kernels. */
static int add_medians(const struct case_samples *cs, const struct case_row *row, size_t offset,
                       double *values, char **member, struct err *err)
{
    const char *name = row->kernel ? row->kernel : "";
    struct strbuf sb = STRBUF_INIT;
    int ret;

    for (size_t place = 0;; place++) {
        const char *join = strstr(name, ARM_STEP_JOIN);
        size_t nr = gather_part(cs, row->arm, offset, place, values);

        if (!nr)
            break;
        strbuf_addf(&sb, "%s%.*s=", place ? ";" : "",
                    (int)(join ? (size_t)(join - name) : strlen(name)), name);
        text_add_real(&sb, stats_median(values, nr));
        name = join ? join + strlen(ARM_STEP_JOIN) : "";
    }
    ret = sb.oom ? err_memory(err) : row_set(member, sb.len ? sb.buf : NULL, err);
    strbuf_release(&sb);
    return ret;
}

int parts_of(const struct case_samples *cs, struct case_row *row, struct err *err)
{
    double *values = malloc((cs->nr + 1) * sizeof(*values));
    int ret;

    if (!values)
        return err_memory(err);
    ret = add_medians(cs, row, offsetof(struct sample_row, parts_span_ns), values,
                      &row->parts_span_ns, err) ||
                  add_medians(cs, row, offsetof(struct sample_row, parts_busy_ns), values,
                              &row->parts_busy_ns, err)
              ? -1
              : 0;
    free(values);
    return ret;
}
