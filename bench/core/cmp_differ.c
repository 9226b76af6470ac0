/*
 * cmp_differ.c - what else than the kernels differs between two runs.
 */
#include <math.h>
#include <string.h>

#include "cmp.h"
#include "report_internal.h"

/* Loud: may explain every difference of the table. Rows are members of run.json. */
static const struct {
    const char *group, *name, *word;
    bool loud;
} members[] = {
    {"device", "name", "device", true},
    {"settings", "cache", "cache", true},
    {"settings", "pace", "pace", true},
    {"settings", "timer", "timer", true},
    {"settings", "threads", "number of threads", true},
    {"device", "power_limit_w", "power limit (W)", true},
    {"device", "uuid", "GPU (of the same model)", false},
    {"device", "driver", "driver", false},
    {"device", "cuda_runtime", "CUDA", false},
    {"device", "cupti", "CUPTI", false},
    {"device", "ecc", "ECC", false},
    {"device", "mig", "MIG", false},
    {"device", "scrub", "scrub", false},
    {"host", "kernel", "host kernel", false},
    {"host", "cores", "number of cores", false},
    {"bench", "describe", "bench", false},
    {"bench", "build_type", "build of bench", false},
    {NULL, "seed", "seed", false},
    {NULL, "status", "status", false},
};

static void add_json(struct strbuf *sb, const json_t *v)
{
    if (json_is_string(v) && *json_string_value(v))
        strbuf_addstr(sb, json_string_value(v));
    else if (json_is_integer(v))
        strbuf_addf(sb, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        strbuf_addf(sb, "%.6g", json_real_value(v));
    else
        strbuf_addstr(sb, "unknown");
}

static int add_line(struct text_list *list, const struct strbuf *sb, struct err *err)
{
    return sb->oom ? err_memory(err) : text_list_add(list, sb->buf, err);
}

/* The rows know what was used, where run.json only knows what was asked for. */
static const char *cache_used(const struct case_table *t)
{
    for (size_t i = 0; i < t->nr; i++)
        if (report_is_ok(&t->row[i]) && t->row[i].cache_used)
            return t->row[i].cache_used;
    return "";
}

static int differ_cache(struct cmp *c, struct err *err)
{
    const char *before = cache_used(&c->before.cases), *after = cache_used(&c->after.cases);
    struct strbuf sb = STRBUF_INIT;
    int ret = 0;

    if (*before && *after && strcmp(before, after)) {
        strbuf_addf(&sb, "another cache was used: %s in the old run, %s in the new", before, after);
        ret = add_line(&c->warnings, &sb, err);
    }
    strbuf_release(&sb);
    return ret;
}

static int differ_members(struct cmp *c, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret = 0;

    for (size_t i = 0; !ret && i < sizeof(members) / sizeof(members[0]); i++) {
        const json_t *b = run_at(c->before.run, members[i].group, members[i].name);
        const json_t *a = run_at(c->after.run, members[i].group, members[i].name);

        /* Members that neither has are equal. */
        if ((!a && !b) || json_equal(a, b))
            continue;
        strbuf_reset(&sb);
        strbuf_addf(&sb, "another %s: ", members[i].word);
        add_json(&sb, b);
        strbuf_addstr(&sb, " in the old run, ");
        add_json(&sb, a);
        strbuf_addstr(&sb, " in the new");
        ret = add_line(members[i].loud ? &c->warnings : &c->notes, &sb, err);
    }
    strbuf_release(&sb);
    return ret;
}

static void add_library(struct strbuf *sb, const struct case_row *row)
{
    strbuf_addf(sb, "%s (%.12s)", row->library_describe ? row->library_describe : "unknown",
                row->library_sha256 ? row->library_sha256 : "no hash");
}

/* Whether an earlier pair has the same arms. */
static bool told(const struct cmp *c, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (cell_is(c->row[i].before->arm, c->row[at].before->arm) &&
            cell_is(c->row[i].after->arm, c->row[at].after->arm))
            return true;
    return false;
}

static int differ_libraries(struct cmp *c, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret = 0;

    for (size_t i = 0; !ret && i < c->match.nr; i++) {
        const struct case_row *b = c->row[i].before, *a = c->row[i].after;

        if (!b->arm || !a->arm || told(c, i))
            continue;
        strbuf_reset(&sb);
        strbuf_addf(&sb, "library of arm '%s': ", a->arm);
        add_library(&sb, b);
        if (b->library_sha256 && cell_is(a->library_sha256, b->library_sha256)) {
            strbuf_addstr(&sb, " in both runs");
        } else {
            strbuf_addstr(&sb, " -> ");
            add_library(&sb, a);
        }
        ret = add_line(&c->notes, &sb, err);
    }
    strbuf_release(&sb);
    return ret;
}

int cmp_differ(struct cmp *c, struct err *err)
{
    return differ_members(c, err) || differ_cache(c, err) || differ_libraries(c, err) ? -1 : 0;
}
