/*
 * plot_folder.c - what of a results folder the charts need, and the files that only they read.
 */
#include "plot_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "json.h"
#include "text.h"

#define CASES_ALL     "cases.csv"
#define CASES_CHOSEN  ".cases.tmp"
#define CROSSINGS     "crossover.csv"
#define CROSSINGS_TMP ".crossover.tmp"

static bool is_selected(const struct plotter *p)
{
    return p->choice && p->choice->only_nr;
}

const char *plotter_cases_csv(const struct plotter *p)
{
    return is_selected(p) ? CASES_CHOSEN : CASES_ALL;
}

const char *plotter_crossover_csv(const struct plotter *p)
{
    return is_selected(p) ? CROSSINGS_TMP : CROSSINGS;
}

static int write_file(const struct plotter *p, const char *name, const struct strbuf *sb,
                      struct err *err)
{
    struct strbuf path = STRBUF_INIT;

    file_add_path(&path, p->dir, name);
    int ret = path.oom || sb->oom ? err_memory(err) : file_write(path.buf, sb->buf, sb->len, err);
    strbuf_release(&path);
    return ret;
}

static void remove_file(const struct plotter *p, const char *name)
{
    struct strbuf path = STRBUF_INIT;

    file_add_path(&path, p->dir, name);
    if (!path.oom)
        unlink(path.buf);
    strbuf_release(&path);
}

/* ---- --only ---- */

static bool matches(const struct plot_choice *choice, const char *id)
{
    for (size_t i = 0; i < choice->only_nr; i++)
        if (text_glob(choice->only[i], id))
            return true;
    return false;
}

static int select_rows(struct plotter *p, struct err *err)
{
    struct case_table *t = &p->cases;
    struct strbuf sb = STRBUF_INIT;
    size_t to = 0;

    for (size_t i = 0; i < t->nr; i++) {
        if (matches(p->choice, t->row[i].case_id))
            t->row[to++] = t->row[i];
        else
            case_row_release(&t->row[i]);
    }
    t->nr = to;
    if (!to)
        return err_set(err, ERR_CONFIG, "no case of '%s' matches '%s'", p->dir, p->choice->only[0]);
    int ret = case_table_write(t, &sb, err) || write_file(p, CASES_CHOSEN, &sb, err) ? -1 : 0;
    strbuf_release(&sb);
    return ret;
}

/* ---- run.json ---- */

static bool has_ceilings(const json_t *run)
{
    const json_t *list = json_object_get(run, "ceilings"), *one;
    bool memory = false, tensor = false;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const char *kind = json_string_value(json_object_get(one, "kind"));
        memory |= kind && !strcmp(kind, "memory read");
        tensor |= kind && text_starts_with(kind, "tensor ");
    }
    return memory && tensor;
}

static int read_run(struct plotter *p, struct err *err)
{
    struct strbuf path = STRBUF_INIT;

    file_add_path(&path, p->dir, "run.json");
    if (path.oom)
        return err_memory(err);
    json_t *run = json_load_file(path.buf, 0, NULL);
    const json_t *protocol = json_object_get(run, "protocol");
    if (json_is_integer(protocol))
        p->protocol = json_integer_value(protocol);
    p->ceilings = has_ceilings(run);
    json_decref(run);
    strbuf_release(&path);
    return 0;
}

static int read_cases(struct plotter *p, struct err *err)
{
    struct strbuf path = STRBUF_INIT;

    file_add_path(&path, p->dir, CASES_ALL);
    int ret = path.oom ? err_memory(err) : case_table_read(&p->cases, path.buf, err);
    strbuf_release(&path);
    return ret || !is_selected(p) ? ret : select_rows(p, err);
}

/* Of every device: scripts pass over the rows of others. */
static int write_crossings(const struct plotter *p, struct err *err)
{
    struct crossovers c;
    struct strbuf sb = STRBUF_INIT;

    if (crossovers_find(&c, &p->cases, NULL, err))
        return -1;
    int ret =
        c.nr && (crossovers_csv(&c, &sb, err) || write_file(p, plotter_crossover_csv(p), &sb, err))
            ? -1
            : 0;
    strbuf_release(&sb);
    crossovers_release(&c);
    return ret;
}

int plotter_init(struct plotter *p, const char *dir, const struct plot_choice *choice,
                 struct err *err)
{
    *p = (struct plotter){.dir = dir, .choice = choice, .protocol = -1};
    strbuf_init(&p->by);
    strbuf_init(&p->heat.by);
    strbuf_init(&p->multiple.by);
    case_table_init(&p->cases);
    if (read_cases(p, err) || read_run(p, err) || write_crossings(p, err))
        return -1;
    p->scripts = realpath(plot_scripts(), NULL);
    if (!p->scripts)
        return err_errno(err, ERR_ENVIRONMENT, "the chart scripts are not in '%s', set SAB_PLOTS",
                         plot_scripts());
    return 0;
}

void plotter_release(struct plotter *p)
{
    if (is_selected(p)) {
        remove_file(p, CASES_CHOSEN);
        remove_file(p, CROSSINGS_TMP);
    }
    free(p->scripts);
    strbuf_release(&p->by);
    strbuf_release(&p->heat.by);
    strbuf_release(&p->multiple.by);
    crossovers_release(&p->crossovers);
    case_table_release(&p->cases);
}
