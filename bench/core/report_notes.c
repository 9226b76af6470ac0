/*
 * report_notes.c - what a reader must know beside the table: rows that failed, what reasons mean,
 * ratios across problems; and the folded block that lets others repeat the run.
 */
#include "report_internal.h"

#include <math.h>
#include <string.h>

#include "reasons.h"
#include "repro.h"

#define NAMED_CASES   6   /* of a reason, before "and N more" */
#define MAX_ROW_NOTES 100 /* lines about single rows */

/* "case `X`, arm Y". A code span shows every character as it is. */
static void add_row_name(struct strbuf *out, const struct case_row *row)
{
    strbuf_addf(out, "`%s` ", row->case_id ? row->case_id : "?");
    add_escaped(out, row->arm);
}

static void add_problem(const struct case_row *row, struct strbuf *out)
{
    strbuf_addstr(out, "- ");
    add_row_name(out, row);
    strbuf_addf(out, ": %s", row->status ? row->status : "?");
    if (row->status_text) {
        strbuf_addstr(out, ": ");
        add_escaped(out, row->status_text);
    }
    strbuf_addch(out, '\n');
}

static void add_across(const struct case_row *row, const struct case_row *base, struct strbuf *out)
{
    strbuf_addstr(out, "- ");
    add_row_name(out, row);
    strbuf_addstr(out, ": across problems, no verdict: ");
    if (isnan(row->ratio))
        strbuf_addstr(out, "no ratio");
    else
        strbuf_addf(out, "%.3f times ", row->ratio);
    if (!isnan(row->ratio))
        add_escaped(out, base && base->arm ? base->arm : "the baseline");
    if (!isnan(row->ratio_lo))
        strbuf_addf(out, " [%.3f, %.3f]", row->ratio_lo, row->ratio_hi);
    strbuf_addch(out, '\n');
}

static void add_unsure(const struct case_row *row, struct strbuf *out)
{
    strbuf_addstr(out, "- ");
    add_row_name(out, row);
    strbuf_addf(out, ": UNSURE, about %lld rounds would settle it\n",
                (long long)row->rounds_to_settle);
}

/* Lines about single rows; returns how many did not fit. */
static size_t add_single_rows(const struct report_view *view, struct strbuf *out)
{
    size_t begin = out->len, lines = 0, left_out = 0;

    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];
        bool problem = row->status && !report_is_ok(row);
        bool across = !problem && cell_is(row->problem, "across");
        bool unsure = !problem && !across && report_is_compared(row) && row->rounds_to_settle > 0 &&
                      cell_is(row->verdict, "UNSURE");

        if (!problem && !across && !unsure)
            continue;
        if (lines >= MAX_ROW_NOTES || out->len - begin > REPORT_EXCEPTION_CHARS / 2) {
            left_out++;
            continue;
        }
        lines++;
        if (problem)
            add_problem(row, out);
        else if (across)
            add_across(row, view->entry[i].base, out);
        else
            add_unsure(row, out);
    }
    return left_out;
}

static bool has_reason(const struct case_row *row, const char *code)
{
    return report_is_ok(row) && row_has_reason(row, code);
}

/* One line a reason: what it means, and which rows have it. */
static void add_reason(const struct report_view *view, const struct reason *reason,
                       struct strbuf *out)
{
    size_t nr = 0, all = 0, named = 0;

    for (size_t i = 0; i < view->cases->nr; i++) {
        const struct case_row *row = &view->cases->row[i];
        nr += has_reason(row, reason->code);
        all += report_is_ok(row) && !report_is_role(row, "baseline");
    }
    if (!nr)
        return;
    strbuf_addf(out, "- `%s`: %s. ", reason->code, reason->sentence);
    if (nr == all && nr > NAMED_CASES) {
        strbuf_addf(out, "All %zu rows beside the baseline's.\n", nr);
        return;
    }
    strbuf_addstr(out, "Rows: ");
    for (size_t i = 0; i < view->cases->nr && named < NAMED_CASES; i++) {
        if (!has_reason(&view->cases->row[i], reason->code))
            continue;
        strbuf_addstr(out, named++ ? ", " : "");
        add_row_name(out, &view->cases->row[i]);
    }
    if (nr > named)
        strbuf_addf(out, " and %zu more", nr - named);
    strbuf_addstr(out, ".\n");
}

static void add_warnings(const struct report_view *view, struct strbuf *out)
{
    const json_t *list = run_at(view->run, NULL, "warnings");
    size_t begin = out->len;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        if (!text || out->len - begin > REPORT_EXCEPTION_CHARS / 4)
            continue;
        strbuf_addstr(out, "- ");
        add_escaped(out, text);
        strbuf_addch(out, '\n');
    }
}

int report_exceptions(const struct report_view *view, struct strbuf *out, struct err *err)
{
    struct strbuf list = STRBUF_INIT;
    const struct reason *reason;
    size_t left_out = add_single_rows(view, &list);

    if (left_out)
        strbuf_addf(&list, "- %zu more such rows stand in cases.csv\n", left_out);
    for (size_t i = 0; (reason = reason_at(i)) && list.len < REPORT_EXCEPTION_CHARS; i++)
        if (strcmp(reason->code, "across") != 0)
            add_reason(view, reason, &list);
    add_warnings(view, &list);
    if (list.len)
        strbuf_addf(out, "Exceptions:\n\n%s\n", list.buf);
    bool oom = list.oom;
    strbuf_release(&list);
    return oom ? err_memory(err) : 0;
}

/* ---- the folded block ---- */

static void add_value(struct strbuf *out, const char *name, const json_t *v)
{
    if (json_is_string(v) && *json_string_value(v)) {
        strbuf_addf(out, "- %s: ", name);
        add_escaped(out, json_string_value(v));
        strbuf_addch(out, '\n');
    } else if (json_is_integer(v)) {
        strbuf_addf(out, "- %s: %lld\n", name, (long long)json_integer_value(v));
    } else if (json_is_real(v)) {
        strbuf_addf(out, "- %s: %.6g\n", name, json_real_value(v));
    } else if (json_is_boolean(v)) {
        strbuf_addf(out, "- %s: %s\n", name, json_is_true(v) ? "yes" : "no");
    }
}

/* In a device's description -1 means unknown, and only a switch has a meaning for 0. */
static bool is_unknown(const char *group, const char *name, const json_t *v)
{
    static const char *const switches[] = {"ecc", "persistence", "mig", "display"};
    double value = json_number_value(v);

    if (strcmp(group, "device") != 0 || !json_is_number(v) || value > 0)
        return false;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (!strcmp(name, switches[i]))
            return value < 0;
    return true;
}

static void add_group(const struct report_view *view, const char *group, struct strbuf *out)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)run_at(view->run, NULL, group), name, v)
    {
        char full[128];
        if (is_unknown(group, name, v))
            continue;
        snprintf(full, sizeof(full), "%s.%s", group, name);
        add_value(out, full, v);
    }
}

static void add_libraries(const struct report_view *view, struct strbuf *out)
{
    const json_t *list = run_at(view->run, NULL, "libraries");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *lib = json_array_get(list, i);
        static const char *const names[] = {"describe", "toolkit", "targets", "sha256"};

        strbuf_addstr(out, "- library ");
        add_escaped(out, run_text(lib, NULL, "path"));
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            const char *text = run_text(lib, NULL, names[k]);
            if (*text) {
                strbuf_addf(out, ", %s ", names[k]);
                add_escaped(out, text);
            }
        }
        strbuf_addch(out, '\n');
    }
}

static void add_environment(const struct report_view *view, struct strbuf *out)
{
    static const char *const single[] = {"run_id", "started_utc", "ended_utc",
                                         "status", "seed",        "plan_hash"};
    static const char *const groups[] = {"device", "host", "bench", "settings"};
    struct strbuf list = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        add_value(&list, single[i], run_at(view->run, NULL, single[i]));
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        add_group(view, groups[i], &list);
    add_libraries(view, &list);
    if (list.len > REPORT_ENVIRONMENT_CHARS) {
        list.len = REPORT_ENVIRONMENT_CHARS;
        while (list.len && list.buf[list.len - 1] != '\n')
            list.len--;
        list.buf[list.len] = '\0';
    }
    if (list.len)
        strbuf_addf(out, "Environment:\n\n%s\n", list.buf);
    out->oom = out->oom || list.oom;
    strbuf_release(&list);
}

/* A fence longer than any run of backticks in the text. */
static void add_fence(struct strbuf *out, const char *text)
{
    size_t longest = 2, run = 0;

    for (; *text; text++) {
        run = *text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        strbuf_addch(out, '`');
}

static void add_config(const struct report_view *view, struct strbuf *out)
{
    const char *text = run_text(view->run, NULL, "config_text");
    size_t len = strlen(text);
    bool cut = len > REPORT_CONFIG_CHARS;

    if (!len)
        return;
    for (len = cut ? REPORT_CONFIG_CHARS : len; cut && len && text[len - 1] != '\n'; len--)
        ;
    strbuf_addstr(out, "Configuration:\n\n");
    add_fence(out, text);
    strbuf_addstr(out, "ini\n");
    strbuf_add(out, text, len);
    strbuf_addstr(out, len && text[len - 1] == '\n' ? "" : "\n");
    add_fence(out, text);
    strbuf_addstr(out, cut ? "\n\nThe rest stands in run.json.\n\n" : "\n\n");
}

/* The command of each case, as long as there is room; a run of many flags may have none. */
static int add_commands(const struct report_view *view, struct strbuf *out, struct err *err)
{
    const struct case_table *t = view->cases;
    struct strbuf line = STRBUF_INIT;
    const char *last = "";
    size_t begin = out->len;
    int ret = 0;

    if (!t->nr)
        return 0;
    strbuf_addstr(out, "One case again:\n\n```sh\n");
    for (size_t i = 0; !ret && i < t->nr; i++) {
        const char *id = t->row[i].case_id;
        if (!id || !strcmp(id, last))
            continue;
        strbuf_reset(&line);
        ret = repro_command(view->run, id, &line, err);
        if (!ret && out->len - begin + line.len > REPORT_COMMAND_CHARS) {
            strbuf_addstr(out, "# bench repro DIR CASE prints the others; cases.csv names them\n");
            break;
        }
        strbuf_addstr(out, ret ? "" : line.buf);
        last = id;
    }
    strbuf_addstr(out, "```\n\n");
    strbuf_release(&line);
    return ret;
}

int report_details(const struct report_view *view, struct strbuf *out, struct err *err)
{
    strbuf_addstr(
        out, "<details><summary>Environment, configuration and one command a case</summary>\n\n");
    add_environment(view, out);
    add_config(view, out);
    if (add_commands(view, out, err))
        return -1;
    strbuf_addstr(out, "</details>\n");
    return out->oom ? err_memory(err) : 0;
}
