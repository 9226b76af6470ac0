/*
 * plan_hash.c - the fingerprint that --resume and the workers hold a plan against.
 */
#include <string.h>

#include "axis.h"
#include "plan_parts.h"
#include "sha256.h"

/* Raised when the text below changes its meaning, so that no old run is resumed by a new plan. */
#define PLAN_HASH_VERSION 1

static void add_settings(struct strbuf *sb, const struct plan_settings *set)
{
    strbuf_addf(sb, "plan %d\nrounds %d %d %d\nmax_rounds %d %d\n", PLAN_HASH_VERSION,
                set->processes, set->rounds, set->rounds_named, set->max_rounds,
                set->max_rounds_named);
    strbuf_addstr(sb, "max_time ");
    text_add_real(sb, set->max_time_s);
    strbuf_addstr(sb, "\ncheck_time ");
    text_add_real(sb, set->check_time_s);
    strbuf_addf(sb, "\ncache %d\npace %d\ntimer %d\nseed %llu\nthreads %d\nduplicate %d\n",
                (int)set->cache, (int)set->pace, (int)set->timer, (unsigned long long)set->seed,
                set->threads, set->duplicate);
}

/* With its length in front, so that no two lists of strings give the same text. */
static void add_text(struct strbuf *sb, const char *name, const char *value)
{
    strbuf_addf(sb, "%s %zu %s\n", name, value ? strlen(value) : 0, value ? value : "");
}

static void add_pairs(struct strbuf *sb, const char *kind, const struct plan_pair *pair, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        add_text(sb, kind, pair[i].key);
        add_text(sb, "=", pair[i].value);
    }
}

static void add_arm(struct strbuf *sb, const struct plan_arm *arm)
{
    add_text(sb, "arm", arm->name);
    add_text(sb, "library", arm->library);
    add_text(sb, "kernel", arm->kernel);
    add_text(sb, "operator", arm->op);
    strbuf_addf(sb, "role %d\n", (int)arm->role);
    add_pairs(sb, "option", arm->option, arm->options_nr);
    add_pairs(sb, "axis", arm->axis, arm->axes_nr);
    for (size_t i = 0; i < arm->steps_nr; i++) {
        add_text(sb, "step", arm->step[i].op);
        add_text(sb, "/", arm->step[i].kernel);
        add_pairs(sb, "option", arm->step[i].option, arm->step[i].options_nr);
        add_pairs(sb, "axis", arm->step[i].axis, arm->step[i].axes_nr);
    }
}

static void add_case(struct strbuf *sb, const struct plan_case *item)
{
    add_text(sb, "case", item->id);
    add_text(sb, "operator", item->c.op->name);
    for (size_t i = 0; i < item->c.op->axes_nr; i++) {
        strbuf_addf(sb, "%s ", item->c.op->axes[i].name);
        axis_value_add(sb, &item->c.op->axes[i], &item->c.axis[i]);
        strbuf_addch(sb, '\n');
    }
}

int plan_make_hash(struct plan *p, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int rc = 0;

    add_settings(&sb, &p->set);
    for (size_t i = 0; i < p->arms_nr; i++)
        add_arm(&sb, &p->arm[i]);
    for (size_t i = 0; i < p->nr; i++)
        add_case(&sb, &p->item[i]);
    if (sb.oom)
        rc = err_memory(err);
    else
        sha256_of(sb.buf, sb.len, p->hash);
    strbuf_release(&sb);
    return rc;
}

int plan_hash(const struct plan *p, char hex[65], struct err *err)
{
    if (!p->hash[0])
        return err_set(err, ERR_BUG, "the plan was not read");
    memcpy(hex, p->hash, sizeof(p->hash));
    return 0;
}
