#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check_session.h"
#include "cmd.h"
#include "config_args.h"
#include "exit.h"
#include "ui.h"

#define COLUMNS_WIDE 5  /* arms beside each other in the table */
#define CELL_WIDE    18 /* characters of one */
#define DETAILS_MAX  40 /* failures that are spelt out */

/* ---- one line an arm and case ---- */

/* Of ids there is no cosine. */
static void print_errors(const struct check_result *r)
{
    if (!isfinite(r->max_abs))
        return;
    printf(", max abs %.2g, relative L2 %.2g", r->max_abs, r->rel_l2);
    if (isfinite(r->cosine))
        printf(", cosine %.6f", r->cosine);
    if (r->status == CHECK_PASS)
        printf(", %s", r->text);
}

static void print_case(const struct check_row *first, size_t nr)
{
    /* The first check that is wanted: `oracle`, which alone has errors, unless others were named.
     */
    const struct check_result *oracle = &first->res;
    const struct check_row *bad = NULL;
    size_t counts[CHECK_UNEXPECTED + 1] = {0};

    for (size_t i = 0; i < nr; i++) {
        counts[first[i].res.status]++;
        if (!bad && check_row_is_bad(&first[i]))
            bad = &first[i];
    }
    printf("%-8s %-36s %-12s ",
           bad                      ? "fail"
           : counts[CHECK_NA] == nr ? "skip"
                                    : "pass",
           first->item->id, first->arm->label);
    if (!bad && counts[CHECK_NA] == nr) {
        printf("%s\n", oracle->text);
        return;
    }
    printf("%zu pass", counts[CHECK_PASS]);
    if (counts[CHECK_FAIL])
        printf(", %zu fail", counts[CHECK_FAIL]);
    if (counts[CHECK_UNEXPECTED])
        printf(", %zu pass though flagged unsafe", counts[CHECK_UNEXPECTED]);
    if (counts[CHECK_EXPECTED])
        printf(", %zu fail as flagged", counts[CHECK_EXPECTED]);
    print_errors(oracle);
    putchar('\n');
}

/* ---- the table: checks down, arms across ---- */

struct tally {
    int nr[CHECK_UNEXPECTED + 1];
    int all;
};

static struct tally count(const struct check_rows *rows, const struct arm_entry *arm,
                          const struct check *check)
{
    struct tally t = {{0}, 0};

    for (size_t i = 0; i < rows->nr; i++)
        if (rows->row[i].arm == arm && rows->row[i].check == check) {
            t.nr[rows->row[i].res.status]++;
            t.all++;
        }
    return t;
}

static void print_cell(const struct tally *t)
{
    char cell[64];

    if (t->nr[CHECK_FAIL])
        (void)snprintf(cell, sizeof(cell), "FAIL %d of %d", t->nr[CHECK_FAIL], t->all);
    else if (t->nr[CHECK_UNEXPECTED])
        (void)snprintf(cell, sizeof(cell), "UNEXPECTED PASS");
    else if (t->nr[CHECK_EXPECTED])
        (void)snprintf(cell, sizeof(cell), "expected failure");
    else if (t->nr[CHECK_PASS] && t->nr[CHECK_NA])
        (void)snprintf(cell, sizeof(cell), "pass %d, n/a %d", t->nr[CHECK_PASS], t->nr[CHECK_NA]);
    else
        (void)snprintf(cell, sizeof(cell), "%s", t->nr[CHECK_PASS] ? "pass" : "n/a");
    printf(" %-*s", CELL_WIDE, cell);
}

static void print_block(const struct session *s, const struct check_rows *rows, size_t from,
                        size_t to)
{
    printf("\n%-16s", "check");
    for (size_t k = from; k < to; k++)
        if (!s->arms.item[k].duplicate)
            printf(" %-*.*s", CELL_WIDE, CELL_WIDE, s->arms.item[k].label);
    putchar('\n');
    for (size_t i = 0; check_at(i); i++) {
        if (!rows->wanted[i])
            continue;
        printf("%-16s", check_at(i)->name);
        for (size_t k = from; k < to; k++) {
            const struct tally t = count(rows, &s->arms.item[k], check_at(i));

            if (!s->arms.item[k].duplicate)
                print_cell(&t);
        }
        putchar('\n');
    }
}

static void print_table(const struct session *s, const struct check_rows *rows)
{
    for (size_t k = 0; k < s->arms.nr; k += COLUMNS_WIDE)
        print_block(s, rows, k, k + COLUMNS_WIDE < s->arms.nr ? k + COLUMNS_WIDE : s->arms.nr);
}

/* ---- what failed ---- */

static void print_element(const struct check_result *r)
{
    if (r->at < 0)
        return;
    printf("    element %s%s, number %lld", r->tensor, r->index, (long long)r->at);
    if (!isnan(r->got) || !isnan(r->want))
        printf(": %.9g, must be %.9g", r->got, r->want);
    putchar('\n');
}

static void print_failure(const struct check_row *row)
{
    printf("\nFAIL  %s  %s (%s%s%s)  %s\n    %s\n", row->item->id, row->arm->label, row->kernel,
           row->options[0] ? " " : "", row->options, row->check->name, row->res.text);
    print_element(&row->res);
    printf("    repro: %s\n", row->repro);
    if (!row->small)
        return;
    if (!strcmp(row->small, row->item->id)) {
        printf("    no smaller case was found that fails\n");
        return;
    }
    printf("    smallest that fails: %s\n    %s\n", row->small, row->small_res.text);
    print_element(&row->small_res);
    printf("    repro: %s\n", row->small_repro);
}

static void print_failures(const struct check_rows *rows)
{
    size_t shown = 0, hidden = 0;

    for (size_t i = 0; i < rows->nr; i++) {
        if (!check_row_is_bad(&rows->row[i]))
            continue;
        if (shown == DETAILS_MAX) {
            hidden++;
            continue;
        }
        shown++;
        print_failure(&rows->row[i]);
    }
    if (hidden)
        printf("\n%zu more failures are in checks.csv (--out DIR)\n", hidden);
}

/* Once an arm and check: that it failed is what proves the check. */
static void print_expected(const struct check_rows *rows)
{
    for (size_t i = 0; i < rows->nr; i++) {
        const struct check_row *row = &rows->row[i];
        bool again = false;

        if (row->res.status != CHECK_EXPECTED)
            continue;
        for (size_t k = 0; k < i; k++)
            again |= rows->row[k].res.status == CHECK_EXPECTED && rows->row[k].arm == row->arm &&
                     rows->row[k].check == row->check;
        if (!again)
            printf("\nexpected failure: %s  %s, as %s is flagged\n    %s\n", row->arm->label,
                   row->check->name, row->options, row->res.text);
    }
}

static void print_all(const struct session *s, const struct check_rows *rows)
{
    size_t bad = 0, expected = 0;

    for (size_t i = 0; i < rows->nr; i += rows->each)
        print_case(&rows->row[i], rows->each);
    print_table(s, rows);
    print_expected(rows);
    print_failures(rows);
    for (size_t i = 0; i < rows->nr; i++) {
        bad += check_row_is_bad(&rows->row[i]);
        expected += rows->row[i].res.status == CHECK_EXPECTED;
    }
    printf("\n%zu checks of %zu arms in cases: %zu failed, %zu failed as flagged\n", rows->nr,
           rows->nr / rows->each, bad, expected);
}

/* ---- the command ---- */

static int check_args(const struct config_args *args, struct err *err)
{
    if (args->resume)
        return err_set(err, ERR_CONFIG,
                       "`bench check` begins anew each time; --force replaces the checks in that "
                       "folder, --only and --check leave out what is known");
    if (args->apart && args->together)
        return err_set(err, ERR_CONFIG, "--apart and --together exclude each other");
    return 0;
}

static enum check_share share_of(const struct config_args *args)
{
    return args->apart ? CHECK_SHARE_NONE : args->together ? CHECK_SHARE_ARM : CHECK_SHARE_CASE;
}

int cmd_check(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct check_rows rows;
    struct session s;
    struct ui ui;
    struct err err = ERR_INIT;
    char exe[4096];
    int status;

    if (config_args_parse(&args, &result, "check", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    config_args_request(&args, &result, JOB_CHECK, &request);
    ui_init(&ui, args.quiet);
    ui_fill_request(&ui, &request, exe, sizeof(exe), argc, argv);
    session_init(&s);
    check_rows_init(&rows);
    rows.shrink = !args.no_shrink;
    if (check_args(&args, &err) ||
        check_rows_select(&rows, (const char *const *)args.check.items, args.check.nr, &err) ||
        session_open(&s, &request, &err) || session_device(&s, &err) || session_store(&s, &err) ||
        session_warn(&s, &err) || check_session_run(&s, &rows, share_of(&args), &err)) {
        ui_end(&ui);
        if (rows.nr)
            print_all(&s, &rows); /* what was found before */
        status = exit_report(&err);
    } else {
        ui_end(&ui);
        print_all(&s, &rows);
        status = check_session_status(&s, &rows);
    }
    check_rows_release(&rows);
    session_release(&s);
    config_args_release(&args, &result);
    return status;
}
