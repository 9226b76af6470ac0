#include "check_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text.h"

/* A run that fails everywhere is not held up for longer to say how little it takes. */
#define SHRINK_ALL_S  180.0
#define SHRINK_CHECKS 3 /* of one arm */
/* Who is killed loses no more than this. */
#define WRITE_S 2.0

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

void check_rows_init(struct check_rows *rows)
{
    memset(rows, 0, sizeof(*rows));
    rows->shrink = true;
    check_rows_select(rows, NULL, 0, NULL);
}

static int no_check(const char *name, struct err *err)
{
    const char *names[CHECKS_MAX], *near;

    for (size_t i = 0; i < checks_nr(); i++)
        names[i] = check_at(i)->name;
    near = text_nearest(name, names, checks_nr());
    return err_set(err, ERR_CONFIG, "'%.200s' is no check, %s '%s'", name,
                   near ? "did you mean" : "the first of them is", near ? near : names[0]);
}

int check_rows_select(struct check_rows *rows, const char *const *names, size_t nr, struct err *err)
{
    for (size_t i = 0; i < checks_nr(); i++)
        rows->wanted[i] = !nr;
    for (size_t i = 0; i < nr; i++) {
        const int at = check_find(names[i]);

        if (at < 0)
            return no_check(names[i], err);
        rows->wanted[at] = true;
    }
    rows->each = 0;
    for (size_t i = 0; i < checks_nr(); i++)
        rows->each += rows->wanted[i];
    return 0;
}

void check_rows_release(struct check_rows *rows)
{
    for (size_t i = 0; i < rows->nr; i++) {
        free(rows->row[i].kernel);
        free(rows->row[i].options);
        free(rows->row[i].repro);
        free(rows->row[i].small);
        free(rows->row[i].small_repro);
    }
    free(rows->row);
    check_rows_init(rows);
}

bool check_row_is_bad(const struct check_row *row)
{
    return row->res.status == CHECK_FAIL || row->res.status == CHECK_UNEXPECTED;
}

static struct check_row *row_add(struct check_rows *rows, struct err *err)
{
    struct check_row *row;

    if (rows->nr == rows->alloc) {
        const size_t alloc = rows->alloc ? 2 * rows->alloc : 64;
        struct check_row *grown = realloc(rows->row, alloc * sizeof(*grown));

        if (!grown) {
            err_memory(err);
            return NULL;
        }
        rows->row = grown;
        rows->alloc = alloc;
    }
    row = &rows->row[rows->nr++];
    memset(row, 0, sizeof(*row));
    check_result_init(&row->res);
    check_result_init(&row->small_res);
    return row;
}

static int name_row(struct check_row *row, const struct arm_steps *steps, struct err *err)
{
    struct strbuf kernel = STRBUF_INIT, options = STRBUF_INIT;

    arm_steps_add_name(steps, &kernel);
    arm_steps_add_options(steps, &options);
    row->kernel = strbuf_detach(&kernel);
    row->options = strbuf_detach(&options);
    return row->kernel && row->options ? 0 : err_memory(err);
}

/* ---- what cases.csv says of an arm and case ---- */

static int seal_case(struct session *s, const struct check_row *first, size_t nr, struct err *err)
{
    const struct check_row *bad = NULL;
    bool any = false;

    for (size_t i = 0; i < nr; i++) {
        if (!bad && check_row_is_bad(&first[i]))
            bad = &first[i];
        any |= first[i].res.status != CHECK_NA;
    }
    if (bad) {
        char text[CHECK_TEXT_MAX + 64];

        (void)snprintf(text, sizeof(text), "%s: %s", bad->check->name, bad->res.text);
        return session_fail_rows(s, first->item, first->arm->label,
                                 bad->res.end == CHECK_CRASHED     ? "crash"
                                 : bad->res.end == CHECK_TIMED_OUT ? "timeout"
                                                                   : "wrong",
                                 text, err);
    }
    return session_fail_rows(s, first->item, first->arm->label,
                             any                                          ? "ok"
                             : text_starts_with(first->res.text, "oom: ") ? "oom"
                                                                          : "skip",
                             any ? NULL : first->res.text, err);
}

/* Once an arm and check: the first case that fails is reduced, others fail for the same reason; and
 * so do many checks of one arm. */
static bool is_to_shrink(const struct check_rows *rows, const struct check_row *row)
{
    int shrunk = 0;

    for (const struct check_row *r = rows->row; r < row; r++) {
        if (r->arm != row->arm || r->res.status != CHECK_FAIL)
            continue;
        if (r->check == row->check)
            return false;
        shrunk += r->small != NULL;
    }
    return row->res.status == CHECK_FAIL && shrunk < SHRINK_CHECKS && rows->shrink_s < SHRINK_ALL_S;
}

static int finish_row(struct session *s, struct check_rows *rows, struct check_row *row,
                      struct err *err)
{
    check_expect(row->check, row->hazards, &row->res);
    if (!check_row_is_bad(row))
        return 0;
    if (check_repro(s, row, NULL, row->item->id, &row->repro, err))
        return -1;
    if (!rows->shrink || !is_to_shrink(rows, row))
        return 0;
    const double begin_s = now_s();
    int ret = check_shrink(s, row, err);
    rows->shrink_s += now_s() - begin_s;
    return ret;
}

/* The rows of one case that a task has been through. */
static int take_case(struct session *s, struct check_rows *rows, const struct check_task *task,
                     size_t k, const struct plan_case *item, struct err *err)
{
    const size_t first = rows->nr;
    struct arm_steps steps;

    arm_entry_steps(task->arm, &s->plan, item, &steps);
    for (size_t i = 0; i < checks_nr(); i++) {
        struct check_row *row = rows->wanted[i] ? row_add(rows, err) : NULL;

        if (!rows->wanted[i])
            continue;
        if (!row || name_row(row, &steps, err))
            return -1;
        row->item = item;
        row->arm = task->arm;
        row->check = check_at(i);
        row->hazards = task->hazards;
        row->res = task->item[k].result[i];
    }
    for (size_t i = first; i < rows->nr; i++)
        if (finish_row(s, rows, &rows->row[i], err))
            return -1;
    return seal_case(s, &rows->row[first], rows->nr - first, err);
}

static int write_all(struct session *s, const struct check_rows *rows, const char *status,
                     bool final, struct err *err)
{
    /* Before run.json, which holds their hashes in the end. */
    if (check_write(s, rows, err) || session_run_json(s, status, err))
        return -1;
    return store_write(&s->store, final, err);
}

static int write_when_due(struct session *s, struct check_rows *rows, struct err *err)
{
    if (now_s() < rows->write_due_s)
        return 0;
    if (write_all(s, rows, "running", false, err))
        return -1;
    rows->write_due_s = now_s() + WRITE_S;
    return 0;
}

/* One arm in some cases of the plan; all of them have the arm's kernels and choices. */
static int run_arm(struct session *s, struct check_rows *rows, const struct plan_case *const *items,
                   size_t nr, const struct arm_entry *arm, bool apart, struct err *err)
{
    struct check_task task = {.s = s, .arm = arm, .nr = nr, .apart = apart};
    struct arm_steps steps;
    int ret;

    task.item = calloc(nr + 1, sizeof(*task.item));
    if (!task.item)
        return err_memory(err);
    for (size_t k = 0; k < nr; k++) {
        task.item[k].id = items[k]->id;
        memcpy(task.item[k].wanted, rows->wanted, sizeof(rows->wanted));
        arm_entry_steps(arm, &s->plan, items[k], &steps);
        task.hazards |= check_hazards(&steps);
    }
    ret = check_task_run(&task, err);
    for (size_t k = 0; !ret && !s->stopped && k < nr; k++)
        ret = take_case(s, rows, &task, k, items[k], err);
    free(task.item);
    return ret ? ret : write_when_due(s, rows, err);
}

static void say_progress(const struct session *s, int done, int all, double begin_s,
                         const char *case_id, const char *arm)
{
    const struct session_events *ev = &s->request->events;
    char phase[256];

    if (!ev->progress)
        return;
    const double took_s = now_s() - begin_s;
    (void)snprintf(phase, sizeof(phase), "check %s", arm);
    ev->progress(ev->ctx, done, all, done ? took_s / done * (all - done) : NAN, case_id, phase);
}

/* A' is the same kernel again. */
static bool runs(const struct session *s, size_t arm, size_t item)
{
    const struct arm_entry *e = &s->arms.item[arm];

    return !e->duplicate && arm_set_against(&s->arms, &s->plan, &s->plan.item[item], e);
}

/* Case after case, each arm in processes of its own. */
static int run_cases(struct session *s, struct check_rows *rows, bool apart, struct err *err)
{
    const double begin_s = now_s();
    int all = 0, done = 0;

    for (size_t i = 0; i < s->plan.nr; i++)
        for (size_t k = 0; k < s->arms.nr; k++)
            all += runs(s, k, i);
    for (size_t i = 0; i < s->plan.nr && !s->stopped; i++)
        for (size_t k = 0; k < s->arms.nr && !s->stopped; k++) {
            const struct plan_case *item = &s->plan.item[i];

            if (!runs(s, k, i))
                continue;
            say_progress(s, done++, all, begin_s, item->id, s->arms.item[k].label);
            if (run_arm(s, rows, &item, 1, &s->arms.item[k], apart, err))
                return -1;
        }
    return 0;
}

/* Arm after arm, all its cases in as few processes as fail. */
static int run_arms(struct session *s, struct check_rows *rows, struct err *err)
{
    const struct plan_case **items = calloc(s->plan.nr + 1, sizeof(*items));
    const double begin_s = now_s();
    int ret = items ? 0 : err_memory(err);

    for (size_t k = 0; !ret && k < s->arms.nr && !s->stopped; k++) {
        size_t nr = 0;

        for (size_t i = 0; i < s->plan.nr; i++)
            if (runs(s, k, i))
                items[nr++] = &s->plan.item[i];
        if (!nr)
            continue;
        say_progress(s, (int)k, (int)s->arms.nr, begin_s, "all cases", s->arms.item[k].label);
        ret = run_arm(s, rows, items, nr, &s->arms.item[k], false, err);
    }
    free(items);
    return ret;
}

int check_session_run(struct session *s, struct check_rows *rows, enum check_share share,
                      struct err *err)
{
    if (share == CHECK_SHARE_ARM ? run_arms(s, rows, err)
                                 : run_cases(s, rows, share == CHECK_SHARE_NONE, err)) {
        /* What was found stays; the files say that it did not end well. */
        write_all(s, rows, "failed", true, NULL);
        return -1;
    }
    return write_all(s, rows, s->stopped ? "interrupted" : "complete", true, err);
}

int check_session_status(const struct session *s, const struct check_rows *rows)
{
    if (s->stopped)
        return 130;
    for (size_t i = 0; i < rows->nr; i++)
        if (check_row_is_bad(&rows->row[i]))
            return 3;
    return 0;
}
