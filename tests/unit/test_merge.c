/*
 * test_merge.c - made-up sealed runs joined: processes, samples, rows, and every refusal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_race.h"

#include "file.h"
#include "merge.h"

#define CASE   "s.H1"
#define SUPERS 6
#define A_RUN  (SUPERS * 2 * 2) /* samples a process: two rounds of two arms a super-round */

static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-merge-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

/* What of run.json a test changes. */
struct run {
    const char *dir;
    const char *plan, *gpu, *uuid, *sha;
    int protocol;
    double theta[2];
    const char *case_gpu; /* of the rows; NULL: they do not say */
};

static json_t *run_json(const struct run *r)
{
    return json_pack("{s:i, s:i, s:s, s:s, s:s, s:{s:s, s:s}, s:[{s:s}], s:{s:f, s:f, s:i}, "
                     "s:{s:b}, s:{s:f}, s:s, s:s}",
                     "schema", 1, "protocol", r->protocol, "plan_hash", r->plan, "run_id", r->dir,
                     "status", "complete", "device", "name", r->gpu, "uuid", r->uuid, "libraries",
                     "sha256", r->sha, "settings", "delta", 0.005, "noise_floor", 0.0, "processes",
                     2, "finished", CASE, 1, "wall_s", CASE, 1.5, "started_utc",
                     "2026-01-01T00:00:00Z", "ended_utc", "2026-01-01T00:01:00Z");
}

static void write_run(const struct run *r)
{
    const struct race_arm arms[] = {{"base", "baseline", NULL}, {"head", "candidate", r->theta}};
    struct err err = ERR_INIT;
    struct store s;

    store_init(&s);
    s.set = (struct summary_settings){.delta = 0.005, .gate_slower = -1, .rounds_named = true};
    s.run = run_json(r);
    assert_non_null(s.run);
    for (size_t i = 0; i < 2; i++) {
        struct case_row *row = race_row(&s.cases, CASE, &arms[i]);
        race_text(&row->kernel, "sage_fwd/cpu");
        race_text(&row->device_uuid, r->case_gpu);
    }
    race_text(&race_find(&s.cases, CASE, "head")->baseline, "base");
    for (int p = 0; p < 2; p++)
        race_process(&s.samples, CASE, arms, 2, p, SUPERS);
    if (summary_case(&s.cases, &s.samples, CASE, &s.set, &err) ||
        store_create(&s, r->dir, false, &err) || store_write(&s, true, &err))
        fail_msg("%s", err.text);
    store_release(&s);
}

static const struct run first = {"a", "p1", "GPU", "u1", "l1", 1, {0.01, 0.02}, NULL};

static int merge(const char *other, bool across, struct store *out, struct text_list *notes,
                 struct err *err)
{
    const char *in[] = {"a", other};
    char dir[64];

    snprintf(dir, sizeof(dir), "out-%s-%d", other, across);
    const struct merge_request request = {.out = dir, .in = in, .nr = 2, .across_gpus = across};
    store_init(out);
    return merge_runs(&request, out, notes, err);
}

/* theta = .01, .02, .03, .04: mean .025, s = .0129099, SE = .00645497, t(.975, 3) = 3.182446. */
static void processes_are_numbered_through(void **state)
{
    static const struct run second = {"b", "p1", "GPU", "u1", "l1", 1, {0.03, 0.04}, NULL};
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out, back;

    (void)state;
    write_run(&first);
    write_run(&second);
    if (merge("b", false, &out, &notes, &err))
        fail_msg("%s", err.text);
    store_release(&out);
    store_init(&back);
    if (store_open(&back, "out-b-0", false, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.samples.nr, 4 * A_RUN);
    assert_int_equal(back.cases.nr, 2);
    for (size_t i = 0; i < back.samples.nr; i++) {
        const struct sample_row *s = &back.samples.row[i];
        assert_int_equal(s->process, i / A_RUN);
    }
    const struct case_row *head = race_find(&back.cases, CASE, "head");
    assert_int_equal(head->processes, 4);
    assert_near(log(head->ratio), 0.025, 1e-9);
    assert_near(log(head->ratio_hi), 0.025 + 3.182446 * 0.00645497, 1e-7);
    assert_string_equal(head->ci_kind, "cluster_t");
    assert_int_equal(json_array_size(json_object_get(back.run, "merged_from")), 2);
    assert_near(json_number_value(json_object_get(json_object_get(back.run, "wall_s"), CASE)), 3,
                1e-12);
    assert_true(file_exists("out-b-0/report.md"));
    assert_int_equal(notes.nr, 0);
    store_release(&back);
}

static void expect_refusal(const struct run *r, const char *one, const char *other)
{
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out;

    write_run(r);
    assert_int_equal(merge(r->dir, false, &out, &notes, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    if (!strstr(err.text, one) || !strstr(err.text, other))
        fail_msg("'%s' names not both of %s and %s", err.text, one, other);
    store_release(&out);
    assert_false(file_exists("out-c-0"));
}

/* Two runs on the same pair of GPUs that dealt their cases out otherwise. */
static void a_case_on_two_gpus(void **state)
{
    static const char *const in[] = {"dealt", "otherwise"};
    struct merge_request request = {.out = "dealt-out", .in = in, .nr = 2};
    struct run a = first, b = first;
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out;

    (void)state;
    a.dir = in[0];
    b.dir = in[1];
    a.uuid = b.uuid = "u1,u2";
    a.case_gpu = "u1";
    b.case_gpu = "u2";
    write_run(&a);
    write_run(&b);
    store_init(&out);
    assert_int_equal(merge_runs(&request, &out, &notes, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, "case '" CASE "' ran on GPU u2 in 'otherwise', on u1"));
    store_release(&out);
    request.across_gpus = true;
    if (merge_runs(&request, &out, &notes, &err))
        fail_msg("%s", err.text);
    assert_int_equal(out.samples.nr, 4 * A_RUN);
    store_release(&out);
}

static void what_differs_is_named(void **state)
{
    struct run r = first;

    (void)state;
    r.dir = "plan";
    r.plan = "p2";
    expect_refusal(&r, "another plan", "p2, not p1");
    r = first;
    r.dir = "protocol";
    r.protocol = 2;
    expect_refusal(&r, "'a' has protocol 1", "'protocol' has protocol 2");
    r = first;
    r.dir = "gpu";
    r.gpu = "Other";
    expect_refusal(&r, "another device", "Other, not GPU");
    r = first;
    r.dir = "library";
    r.sha = "l2";
    expect_refusal(&r, "kernel library", "l2, not l1");
}

static void another_gpu_on_request(void **state)
{
    struct run r = first;
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out;

    (void)state;
    r.dir = "uuid";
    r.uuid = "u2";
    expect_refusal(&r, "--across-gpus", "u2, not u1");
    if (merge("uuid", true, &out, &notes, &err))
        fail_msg("%s", err.text);
    assert_int_equal(notes.nr, 1);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(out.run, "device"), "uuid")), "several");
    text_list_release(&notes);
    store_release(&out);
}

static void not_sealed_edited_or_twice(void **state)
{
    struct run r = first;
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out;

    (void)state;
    assert_int_equal(merge("a", false, &out, &notes, &err), -1);
    assert_non_null(strstr(err.text, "the same run"));
    store_release(&out);
    r.dir = "edited";
    write_run(&r);
    assert_int_equal(file_append("edited/samples.csv", "x", 1, NULL), 0);
    assert_int_equal(merge("edited", false, &out, &notes, &err), -1);
    assert_non_null(strstr(err.text, "samples.csv' was changed after its run"));
    store_release(&out);
    r.dir = "open";
    write_run(&r);
    json_t *run = json_load_file("open/run.json", 0, NULL);
    json_object_del(run, "files");
    assert_int_equal(json_dump_file(run, "open/run.json", 0), 0);
    json_decref(run);
    assert_int_equal(merge("open", false, &out, &notes, &err), -1);
    assert_non_null(strstr(err.text, "not sealed"));
    store_release(&out);
}

/* With --force the output would be emptied before it is read. */
static void output_is_no_input(void **state)
{
    const char *in[] = {"a", "b"};
    const struct merge_request request = {.out = "./b", .in = in, .nr = 2, .force = true};
    struct text_list notes = {0};
    struct err err = ERR_INIT;
    struct store out;

    (void)state;
    store_init(&out);
    assert_int_equal(merge_runs(&request, &out, &notes, &err), -1);
    assert_non_null(strstr(err.text, "both a run to merge and the folder to write"));
    assert_true(file_exists("b/samples.csv"));
    store_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_numbered_through), cmocka_unit_test(a_case_on_two_gpus),
        cmocka_unit_test(what_differs_is_named),          cmocka_unit_test(another_gpu_on_request),
        cmocka_unit_test(not_sealed_edited_or_twice),     cmocka_unit_test(output_is_no_input),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
