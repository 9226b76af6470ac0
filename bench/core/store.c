#include "store.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "report.h"

static const char *const own_files[] = {"cases.csv", "samples.csv", "run.json",
                                        "report.md", "checks.csv",  NULL};

void store_init(struct store *s)
{
    memset(s, 0, sizeof(*s));
    case_table_init(&s->cases);
    sample_table_init(&s->samples);
}

void store_release(struct store *s)
{
    free(s->dir);
    case_table_release(&s->cases);
    sample_table_release(&s->samples);
    json_decref(s->run);
    store_init(s);
}

static char *path_in(const struct store *s, const char *name, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    file_add_path(&sb, s->dir, name);
    char *path = strbuf_detach(&sb);
    if (!path)
        err_memory(err);
    return path;
}

static bool dir_empty(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    bool empty = true;
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            empty = false;
    if (d)
        closedir(d);
    return empty;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), k = strlen(suffix);
    return n >= k && !strcmp(name + n - k, suffix);
}

static bool is_own_file(const char *name)
{
    for (size_t i = 0; own_files[i]; i++)
        if (!strcmp(name, own_files[i]))
            return true;
    return has_suffix(name, ".png") || has_suffix(name, ".svg");
}

/* --force: the files of an earlier run go, anything else stops us. */
static int remove_run(const char *dir, struct err *err)
{
    for (int pass = 0; pass < 2; pass++) {
        DIR *d = opendir(dir);
        struct dirent *e;
        if (!d)
            return err_errno(err, ERR_ENVIRONMENT, "cannot look into '%s'", dir);
        while ((e = readdir(d))) {
            if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                continue;
            if (!is_own_file(e->d_name)) {
                err_set(err, ERR_ENVIRONMENT,
                        "'%s' holds '%s', which no run wrote; name another folder with --out", dir,
                        e->d_name);
                closedir(d);
                return -1;
            }
            if (pass && unlinkat(dirfd(d), e->d_name, 0)) {
                err_errno(err, ERR_ENVIRONMENT, "cannot remove '%s/%s'", dir, e->d_name);
                closedir(d);
                return -1;
            }
        }
        closedir(d);
    }
    return 0;
}

int store_create(struct store *s, const char *dir, bool force, struct err *err)
{
    if (file_exists(dir) && !(file_is_dir(dir) && dir_empty(dir))) {
        if (!force || !file_is_dir(dir))
            return err_set(err, ERR_ENVIRONMENT,
                           "results folder '%s' exists; go on with --resume, write it anew with "
                           "--force, or name another with --out",
                           dir);
        if (remove_run(dir, err))
            return -1;
    }
    if (file_mkdirs(dir, err))
        return err_prefix(err, "results folder");
    s->dir = strdup(dir);
    if (!s->dir)
        return err_memory(err);
    struct strbuf sb = STRBUF_INIT;
    char *path = path_in(s, "samples.csv", err);
    int ret = path && !sample_table_write(&s->samples, 0, 1, &sb, err)
                  ? file_write(path, sb.buf, sb.len, err)
                  : -1;
    strbuf_release(&sb);
    free(path);
    s->open = ret == 0;
    return ret;
}

/* Drops samples of replicates that cases.csv does not count, on disk too. */
static int drop_unsealed(struct store *s, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    size_t kept = 0;

    /* A replicate that Ctrl-C cut short is not sealed either. */
    for (size_t i = 0; i < s->cases.nr; i++) {
        struct case_row *row = &s->cases.row[i];
        int partial = store_partial_process(s, row->case_id);
        if (partial >= 0 && row->processes > partial)
            row->processes = partial;
    }
    json_object_del(s->run, "partial");
    for (size_t i = 0; i < s->samples.nr; i++) {
        struct sample_row *row = &s->samples.row[i];
        if (row->process < store_sealed(s, row->case_id))
            s->samples.row[kept++] = *row;
        else
            sample_row_release(row);
    }
    s->samples.nr = kept;
    char *path = path_in(s, "samples.csv", err);
    int ret = path && !sample_table_write(&s->samples, 0, 1, &sb, err)
                  ? file_write(path, sb.buf, sb.len, err)
                  : -1;
    strbuf_release(&sb);
    free(path);
    return ret;
}

int store_open(struct store *s, const char *dir, bool resume, struct err *err)
{
    size_t whole;
    json_error_t why;
    int ret = -1;
    char *cases = NULL, *samples = NULL, *run = NULL;

    s->dir = strdup(dir);
    if (!s->dir)
        return err_memory(err);
    cases = path_in(s, "cases.csv", err);
    samples = path_in(s, "samples.csv", err);
    run = path_in(s, "run.json", err);
    if (!cases || !samples || !run)
        goto out;
    if (!file_exists(run)) {
        err_set(err, ERR_CONFIG, "'%s' is no results folder: it has no run.json", dir);
        goto out;
    }
    s->run = json_load_file(run, 0, &why);
    if (!s->run) {
        err_set(err, ERR_CONFIG, "%s:%d: %s", run, why.line, why.text);
        goto out;
    }
    if (file_exists(cases) && case_table_read(&s->cases, cases, err))
        goto out;
    if (file_exists(samples) && sample_table_read(&s->samples, samples, &whole, err))
        goto out;
    ret = resume ? drop_unsealed(s, err) : 0;
    s->open = ret == 0;
out:
    free(cases);
    free(samples);
    free(run);
    return ret;
}

int store_sealed(const struct store *s, const char *case_id)
{
    int64_t sealed = -1;
    for (size_t i = 0; i < s->cases.nr; i++) {
        const struct case_row *row = &s->cases.row[i];
        if (strcmp(row->case_id, case_id) || row->processes <= 0)
            continue;
        if (sealed < 0 || row->processes > sealed)
            sealed = row->processes;
    }
    return sealed < 0 ? 0 : (int)sealed;
}

bool store_knows(const struct store *s, const char *case_id)
{
    for (size_t i = 0; i < s->cases.nr; i++)
        if (!strcmp(s->cases.row[i].case_id, case_id))
            return true;
    return false;
}

/* ---- merging what a worker said ---- */

static struct case_row *row_find(struct case_table *t, const char *case_id, const char *arm)
{
    for (size_t i = 0; i < t->nr; i++)
        if (!strcmp(t->row[i].case_id, case_id) && !strcmp(t->row[i].arm, arm))
            return &t->row[i];
    return NULL;
}

/* Statuses from best to worst: what one replicate found, the case keeps. */
static int badness(const char *status)
{
    static const char *const order[] = {"ok", "skip", "oom", "env", "timeout", "crash", "wrong"};
    for (int i = 0; i < (int)(sizeof(order) / sizeof(order[0])); i++)
        if (status && !strcmp(status, order[i]))
            return i;
    return 0;
}

static double larger(double a, double b)
{
    return !(a >= b) ? b : a;
}

static int row_merge(struct case_row *have, const struct case_row *got, struct err *err)
{
    have->max_abs_err = larger(have->max_abs_err, got->max_abs_err);
    have->rel_l2 = larger(have->rel_l2, got->rel_l2);
    have->emulated_rel_l2 = larger(have->emulated_rel_l2, got->emulated_rel_l2);
    if (got->cosine < have->cosine)
        have->cosine = got->cosine;
    if (got->bits_equal && !strcmp(got->bits_equal, "no") && row_set(&have->bits_equal, "no", err))
        return -1;
    if (badness(got->status) <= badness(have->status))
        return 0;
    if (row_set(&have->status, got->status, err) ||
        row_set(&have->status_text, got->status_text, err))
        return -1;
    if (got->check_before && row_set(&have->check_before, got->check_before, err))
        return -1;
    return got->check_after ? row_set(&have->check_after, got->check_after, err) : 0;
}

static int row_take(struct case_table *t, struct case_row *from, struct err *err)
{
    struct case_row *row = case_table_add(t, err);
    if (!row)
        return -1;
    free(row->axis);
    *row = *from;
    case_row_init(from);
    return 0;
}

int store_rows(struct store *s, const char *rows, struct err *err)
{
    struct case_table got;
    int ret = -1;

    case_table_init(&got);
    if (case_table_read_text(&got, "a worker's rows", rows, err))
        goto out;
    if (!s->cases.axes.nr)
        for (size_t i = 0; i < got.axes.nr; i++)
            if (text_list_add(&s->cases.axes, got.axes.items[i], err))
                goto out;
    for (size_t i = 0; i < got.nr; i++) {
        struct case_row *have = row_find(&s->cases, got.row[i].case_id, got.row[i].arm);
        if (have ? row_merge(have, &got.row[i], err) : row_take(&s->cases, &got.row[i], err))
            goto out;
    }
    ret = 0;
out:
    case_table_release(&got);
    return ret;
}

int store_status(struct store *s, const char *case_id, const char *arm, const char *status,
                 const char *text, struct err *err)
{
    struct case_row *row = row_find(&s->cases, case_id, arm);
    if (!row)
        return err_set(err, ERR_BUG, "no row for arm '%s' of case '%s'", arm, case_id);
    if (badness(status) < badness(row->status))
        return 0;
    return row_set(&row->status, status, err) || row_set(&row->status_text, text, err) ? -1 : 0;
}

static int append_samples(struct store *s, const char *text, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    struct sample_table got;
    int ret = -1;

    sample_table_init(&got);
    char *path = path_in(s, "samples.csv", err);
    /* Parse before anything is written: what cannot be read back must not get into the journal. */
    if (!path || sample_table_read_text(&got, "a worker's samples", text, err) ||
        file_append(path, text, strlen(text), err))
        goto out;
    for (size_t i = 0; i < got.nr; i++) {
        struct sample_row *row = sample_table_add(&s->samples, err);
        if (!row)
            goto out;
        *row = got.row[i];
        sample_row_init(&got.row[i]);
    }
    ret = 0;
out:
    free(path);
    strbuf_release(&sb);
    sample_table_release(&got);
    return ret;
}

int store_seal(struct store *s, const char *rows, const char *samples, struct err *err)
{
    struct case_table got;
    int ret = -1;

    case_table_init(&got);
    if (append_samples(s, samples, err) || store_rows(s, rows, err) ||
        case_table_read_text(&got, "a worker's rows", rows, err))
        goto out;
    if (got.nr && (summary_case(&s->cases, &s->samples, got.row[0].case_id, &s->set, err) ||
                   store_budget_reasons(s, got.row[0].case_id, err)))
        goto out;
    ret = store_write(s, err);
out:
    case_table_release(&got);
    return ret;
}

/* ---- derived files ---- */

static int write_text(const struct store *s, const char *name, const struct strbuf *sb,
                      struct err *err)
{
    if (sb->oom)
        return err_memory(err);
    char *path = path_in(s, name, err);
    int ret = path ? file_write(path, sb->buf, sb->len, err) : -1;
    free(path);
    return ret;
}

static void hash_file(const struct store *s, json_t *files, const char *name)
{
    char hex[65];
    char *path = path_in(s, name, NULL);
    if (path && file_exists(path) && !file_sha256(path, hex, NULL))
        json_object_set_new(files, name, json_string(hex));
    free(path);
}

static int write_run(struct store *s, struct err *err)
{
    json_t *files = json_object();
    for (size_t i = 0; own_files[i]; i++)
        if (strcmp(own_files[i], "run.json"))
            hash_file(s, files, own_files[i]);
    json_object_set_new(s->run, "files", files);
    char *text = json_dumps(s->run, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    if (!text)
        return err_memory(err);
    struct strbuf sb = STRBUF_INIT;
    strbuf_addf(&sb, "%s\n", text);
    free(text);
    int ret = write_text(s, "run.json", &sb, err);
    strbuf_release(&sb);
    return ret;
}

int store_write(struct store *s, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    int ret = -1;

    if (!s->dir)
        return summary_run(&s->cases, &s->samples, &s->set, &s->summary, err);
    if (summary_run(&s->cases, &s->samples, &s->set, &s->summary, err) ||
        case_table_write(&s->cases, &sb, err) || write_text(s, "cases.csv", &sb, err))
        goto out;
    strbuf_reset(&sb);
    store_summary_json(s);
    if (report_markdown(&s->cases, s->run, &sb, err) || write_text(s, "report.md", &sb, err))
        goto out;
    ret = write_run(s, err);
out:
    strbuf_release(&sb);
    return ret;
}
