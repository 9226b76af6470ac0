/*
 * check_files.c - checks.csv, and the same as a JUnit report.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_session.h"
#include "csv.h"
#include "file.h"
#include "rows.h"

static const char *const columns[] = {"schema",
                                      "run_id",
                                      "plan_hash",
                                      "case_id",
                                      "sweep",
                                      "operator",
                                      "kernel",
                                      "arm",
                                      "options",
                                      "hazards",
                                      "device",
                                      "check",
                                      "status",
                                      "ended",
                                      "text",
                                      "tensor",
                                      "element",
                                      "element_index",
                                      "got",
                                      "want",
                                      "max_abs_err",
                                      "rel_l2",
                                      "cosine",
                                      "jitter_rel_l2",
                                      "check_s",
                                      "repro",
                                      "smallest_case",
                                      "smallest_repro",
                                      "library",
                                      "library_sha256",
                                      "library_describe"};

static const char *end_word(enum check_end end)
{
    static const char *const words[] = {"", "crash", "timeout", "unusable"};

    return words[end];
}

static const char *hazard_names(const struct check_row *row, char *buf, size_t size)
{
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; check_at(i) && len < size; i++)
        if (check_at(i)->hazard & row->hazards)
            len +=
                (size_t)snprintf(buf + len, size - len, "%s%s", len ? " " : "", check_at(i)->name);
    return buf;
}

/* A value at fault is written even where it is NaN: that is what is wrong with it. */
static void csv_value(struct csv_writer *w, bool known, double value)
{
    if (known && isnan(value))
        csv_text(w, "nan");
    else
        csv_real(w, known ? value : NAN);
}

static void add_result(struct csv_writer *w, const struct check_result *r)
{
    const bool known = r->at >= 0;

    csv_text(w, check_status_word(r->status));
    csv_text(w, end_word(r->end));
    csv_text(w, r->text);
    csv_text(w, r->tensor);
    if (known)
        csv_int(w, r->at);
    else
        csv_empty(w, 1);
    csv_text(w, r->index);
    csv_value(w, known, r->got);
    csv_value(w, known, r->want);
    csv_real(w, r->max_abs);
    csv_real(w, r->rel_l2);
    csv_real(w, r->cosine);
    csv_real(w, r->jitter);
    csv_real(w, r->seconds);
}

int check_csv(const struct session *s, const struct check_rows *rows, struct strbuf *sb,
              struct err *err)
{
    const char *run_id = json_string_value(json_object_get(s->store.run, "run_id"));
    struct csv_writer w;
    char hazards[256];

    csv_writer_init(&w, sb, 0);
    if (csv_header(&w, columns, sizeof(columns) / sizeof(columns[0]), err))
        return -1;
    for (size_t i = 0; i < rows->nr; i++) {
        const struct check_row *row = &rows->row[i];

        csv_int(&w, ROWS_SCHEMA);
        csv_text(&w, run_id);
        csv_text(&w, s->plan_hash);
        csv_text(&w, row->item->id);
        csv_text(&w, row->item->sweep);
        csv_text(&w, row->item->c.op->name);
        csv_text(&w, row->kernel);
        csv_text(&w, row->arm->label);
        csv_text(&w, row->options);
        csv_text(&w, hazard_names(row, hazards, sizeof(hazards)));
        csv_text(&w, s->info.name);
        csv_text(&w, row->check->name);
        add_result(&w, &row->res);
        csv_text(&w, row->repro);
        csv_text(&w, row->small);
        csv_text(&w, row->small_repro);
        csv_text(&w, file_below(row->arm->origin));
        csv_text(&w, row->arm->lib->sha256);
        csv_text(&w, row->arm->lib->table->describe);
        if (csv_end_row(&w, err))
            return -1;
    }
    return 0;
}

/* ---- JUnit ---- */

/* Of an attribute or of text; what XML 1.0 cannot hold is a question mark. */
static void add_xml(struct strbuf *sb, const char *text)
{
    for (; text && *text; text++)
        switch (*text) {
        case '&':
            strbuf_addstr(sb, "&amp;");
            break;
        case '<':
            strbuf_addstr(sb, "&lt;");
            break;
        case '>':
            strbuf_addstr(sb, "&gt;");
            break;
        case '"':
            strbuf_addstr(sb, "&quot;");
            break;
        default:
            strbuf_addch(sb, *text < ' ' || *text > '~' ? '?' : *text);
        }
}

static void add_attribute(struct strbuf *sb, const char *name, const char *value)
{
    strbuf_addf(sb, " %s=\"", name);
    add_xml(sb, value);
    strbuf_addch(sb, '"');
}

static void add_failure(struct strbuf *sb, const struct check_row *row)
{
    strbuf_addstr(sb, "\n      <failure");
    add_attribute(sb, "type",
                  row->res.end != CHECK_ENDED ? end_word(row->res.end)
                                              : check_status_word(row->res.status));
    add_attribute(sb, "message", row->res.text);
    strbuf_addch(sb, '>');
    add_xml(sb, row->res.text);
    strbuf_addf(sb, "\nrepro: ");
    add_xml(sb, row->repro);
    if (row->small) {
        strbuf_addstr(sb, "\nsmallest case that fails: ");
        add_xml(sb, row->small);
        strbuf_addstr(sb, "\nrepro: ");
        add_xml(sb, row->small_repro);
    }
    strbuf_addstr(sb, "</failure>\n    ");
}

static void add_case(struct strbuf *sb, const struct check_row *row)
{
    strbuf_addstr(sb, "    <testcase");
    add_attribute(sb, "classname", row->item->id);
    add_attribute(sb, "name", row->check->name);
    strbuf_addf(sb, " time=\"%.3f\">", isfinite(row->res.seconds) ? row->res.seconds : 0);
    switch (row->res.status) {
    case CHECK_NA:
        strbuf_addstr(sb, "<skipped");
        add_attribute(sb, "message", row->res.text);
        strbuf_addstr(sb, "/>");
        break;
    case CHECK_FAIL:
    case CHECK_UNEXPECTED:
        add_failure(sb, row);
        break;
    case CHECK_EXPECTED:
        strbuf_addstr(sb, "<system-out>failed, as its choice is flagged: ");
        add_xml(sb, row->res.text);
        strbuf_addstr(sb, "</system-out>");
        break;
    case CHECK_PASS:
        break;
    }
    strbuf_addstr(sb, "</testcase>\n");
}

struct tally {
    size_t tests, failures, skipped;
    double seconds;
};

/* One suite an arm; rows of an arm are not next to each other. */
static struct tally count(const struct check_rows *rows, const struct arm_entry *arm)
{
    struct tally t = {0, 0, 0, 0};

    for (size_t i = 0; i < rows->nr; i++) {
        const struct check_row *row = &rows->row[i];

        if (arm && row->arm != arm)
            continue;
        t.tests++;
        t.failures += check_row_is_bad(row);
        t.skipped += row->res.status == CHECK_NA;
        t.seconds += isfinite(row->res.seconds) ? row->res.seconds : 0;
    }
    return t;
}

static void add_tally(struct strbuf *sb, const struct tally *t)
{
    strbuf_addf(sb, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\">\n",
                t->tests, t->failures, t->skipped, t->seconds);
}

int check_junit(const struct session *s, const struct check_rows *rows, struct strbuf *sb,
                struct err *err)
{
    struct tally all = count(rows, NULL);

    strbuf_addstr(sb, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    add_attribute(sb, "name", "bench check");
    add_tally(sb, &all);
    for (size_t k = 0; k < s->arms.nr; k++) {
        const struct arm_entry *arm = &s->arms.item[k];
        struct tally own = count(rows, arm);

        if (!own.tests)
            continue;
        strbuf_addstr(sb, "  <testsuite");
        add_attribute(sb, "name", arm->label);
        add_tally(sb, &own);
        for (size_t i = 0; i < rows->nr; i++)
            if (rows->row[i].arm == arm)
                add_case(sb, &rows->row[i]);
        strbuf_addstr(sb, "  </testsuite>\n");
    }
    strbuf_addstr(sb, "</testsuites>\n");
    return sb->oom ? err_memory(err) : 0;
}

typedef int text_fn(const struct session *s, const struct check_rows *rows, struct strbuf *sb,
                    struct err *err);

static int write_one(const struct session *s, const struct check_rows *rows, const char *name,
                     text_fn *text, struct err *err)
{
    struct strbuf sb = STRBUF_INIT, path = STRBUF_INIT;
    int ret = text(s, rows, &sb, err);

    file_add_path(&path, s->store.dir, name);
    if (!ret && (sb.oom || path.oom))
        ret = err_memory(err);
    if (!ret)
        ret = file_write(path.buf, sb.buf, sb.len, err);
    strbuf_release(&sb);
    strbuf_release(&path);
    return ret;
}

int check_write(const struct session *s, const struct check_rows *rows, struct err *err)
{
    if (!s->store.dir)
        return 0;
    if (write_one(s, rows, "checks.csv", check_csv, err))
        return -1;
    return write_one(s, rows, "checks.xml", check_junit, err);
}
