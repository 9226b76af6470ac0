#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "report.h"

static const char *const own_files[] = {"cases.csv",  "samples.csv", "run.json", "report.md",
                                        "checks.csv", "checks.xml",  NULL};

void store_init(struct store *s)
{
    memset(s, 0, sizeof(*s));
    s->lock = -1;
    case_table_init(&s->cases);
    sample_table_init(&s->samples);
}

void store_release(struct store *s)
{
    free(s->dir);
    case_table_release(&s->cases);
    sample_table_release(&s->samples);
    text_list_release(&s->case_order);
    text_list_release(&s->arm_order);
    text_list_release(&s->notes);
    json_decref(s->run);
    json_decref(s->sealed);
    if (s->lock >= 0)
        close(s->lock);
    store_init(s);
}

char *store_path(const struct store *s, const char *name, struct err *err)
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

/* file_write() writes beside the file, as NAME.PID.NUMBER.tmp. */
static bool is_temporary(const char *name)
{
    for (size_t i = 0; own_files[i]; i++) {
        size_t len = strlen(own_files[i]);
        if (!strncmp(name, own_files[i], len) && name[len] == '.' && has_suffix(name, ".tmp"))
            return true;
    }
    return false;
}

static bool is_own_file(const char *name)
{
    for (size_t i = 0; own_files[i]; i++)
        if (!strcmp(name, own_files[i]))
            return true;
    return has_suffix(name, ".png") || has_suffix(name, ".svg") || is_temporary(name);
}

/* What a run that was killed while it wrote has left behind. */
static void sweep_temporaries(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (is_temporary(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
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

/* Held until the store is released, or the process ends in whatever way. File systems that cannot
 * lock a folder do without. */
static int lock_folder(struct store *s, const char *dir, struct err *err)
{
    s->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return err_set(
            err, ERR_ENVIRONMENT,
            "results folder '%s' is being written by another bench; wait for its end, or "
            "name another with --out",
            dir);
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
        if (lock_folder(s, dir, err) || remove_run(dir, err))
            return -1;
    }
    if (file_mkdirs(dir, err))
        return err_prefix(err, "results folder");
    if (s->lock < 0 && lock_folder(s, dir, err))
        return -1;
    s->dir = strdup(dir);
    if (!s->dir)
        return err_memory(err);
    struct strbuf sb = STRBUF_INIT;
    char *path = store_path(s, "samples.csv", err);
    int ret = path && !sample_table_write(&s->samples, 0, 1, &sb, err)
                  ? file_write(path, sb.buf, sb.len, err)
                  : -1;
    s->journal_bytes = sb.len;
    strbuf_release(&sb);
    free(path);
    return ret ? ret : store_journal_count(s, err);
}

static off_t header_bytes(void)
{
    struct strbuf sb = STRBUF_INIT;
    struct sample_table none;

    sample_table_init(&none);
    off_t len = sample_table_write(&none, 0, 1, &sb, NULL) ? 0 : (off_t)sb.len;
    strbuf_release(&sb);
    return len;
}

bool store_is_blank(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    bool blank = d != NULL;

    while (d && (e = readdir(d))) {
        bool is_journal = !strcmp(e->d_name, "samples.csv");
        struct stat st;

        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        blank &= is_journal ? !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_size <= header_bytes()
                            : is_temporary(e->d_name);
    }
    if (d)
        closedir(d);
    return blank;
}

int store_open(struct store *s, const char *dir, bool resume, struct err *err)
{
    json_error_t why;
    int ret = -1;
    char *cases = NULL, *samples = NULL, *run = NULL;

    if (resume && file_is_dir(dir) && lock_folder(s, dir, err))
        return -1;
    s->dir = strdup(dir);
    if (!s->dir)
        return err_memory(err);
    cases = store_path(s, "cases.csv", err);
    samples = store_path(s, "samples.csv", err);
    run = store_path(s, "run.json", err);
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
    store_journal_read(s);
    /* What was never counted may be anything, after a power cut. */
    if (file_exists(samples) &&
        sample_table_read(&s->samples, samples, resume ? s->journal_bytes : SIZE_MAX, err))
        goto out;
    if (resume)
        sweep_temporaries(dir);
    ret = 0;
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

/* ---- derived files ---- */

static int write_text(const struct store *s, const char *name, const struct strbuf *sb,
                      struct err *err)
{
    if (sb->oom)
        return err_memory(err);
    char *path = store_path(s, name, err);
    int ret = path ? file_write(path, sb->buf, sb->len, err) : -1;
    free(path);
    return ret;
}

static void hash_file(const struct store *s, json_t *files, const char *name)
{
    char hex[65];
    char *path = store_path(s, name, NULL);
    if (path && file_exists(path) && !file_sha256(path, hex, NULL))
        json_object_set_new(files, name, json_string(hex));
    free(path);
}

/* Hashes are for a sealed folder: of a growing journal they would cost more than the run. */
static int write_run(struct store *s, bool final, struct err *err)
{
    json_t *files = final ? json_object() : NULL;
    for (size_t i = 0; final && own_files[i]; i++)
        if (strcmp(own_files[i], "run.json"))
            hash_file(s, files, own_files[i]);
    if (final)
        json_object_set_new(s->run, "files", files);
    else
        json_object_del(s->run, "files");
    if (store_journal_write(s, err))
        return -1;
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

static size_t place_of(const struct text_list *list, const char *name)
{
    size_t i = 0;
    while (i < list->nr && strcmp(list->items[i], name))
        i++;
    return i;
}

static int by_place(const void *a, const void *b)
{
    size_t x = ((const struct case_row *)a)->place, y = ((const struct case_row *)b)->place;
    return (x > y) - (x < y);
}

/* Cases in the order of the plan, arms in theirs, whatever order they ran in. */
static void sort_rows(struct store *s)
{
    bool added = false;
    for (size_t i = 0; i < s->cases.nr; i++) {
        struct case_row *row = &s->cases.row[i];
        if (row->place != SIZE_MAX)
            continue;
        row->place = place_of(&s->case_order, row->case_id) * (s->arm_order.nr + 1) +
                     place_of(&s->arm_order, row->arm);
        added = true;
    }
    if (added)
        qsort(s->cases.row, s->cases.nr, sizeof(*s->cases.row), by_place);
}

/* The summary of everything, and the report, are worth a twentieth of the time, and the end. */
#define SUMMARY_EVERY_S 2.0
#define SUMMARY_SHARE   20

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int store_write(struct store *s, bool final, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    double begin_s = now_s();
    bool due = final || begin_s >= s->summary_due_s;
    int ret = -1;

    if (s->case_order.nr)
        sort_rows(s);
    if (due && summary_run(&s->cases, &s->samples, &s->set, &s->summary, err))
        return -1;
    if (!s->dir)
        return 0;
    if (case_table_write(&s->cases, &sb, err) || write_text(s, "cases.csv", &sb, err))
        goto out;
    strbuf_reset(&sb);
    if (due)
        store_summary_json(s);
    if (due &&
        (report_markdown(&s->cases, s->run, &sb, err) || write_text(s, "report.md", &sb, err)))
        goto out;
    ret = write_run(s, final, err);
    if (due) {
        double end_s = now_s();
        s->summary_due_s = end_s + fmax(SUMMARY_EVERY_S, SUMMARY_SHARE * (end_s - begin_s));
    }
out:
    strbuf_release(&sb);
    return ret;
}
