/*
 * fuzz_json.c - run.json and a machine profile beside good tables, and the documents that parent
 * and worker exchange.
 */
#include "check.h"
#include "fuzz.h"
#include "folder.h"
#include "job.h"
#include "merge.h"
#include "profile.h"
#include "report.h"
#include "store.h"

static void add_row(struct case_table *t, const char *arm, const char *role, struct err *err)
{
    struct case_row *row = case_table_add(t, err);

    if (!row)
        abort();
    row->schema = ROWS_SCHEMA;
    row->rounds = row->processes = row->samples = 2;
    row->span_median_ns = 1000;
    row_set(&row->case_id, "s.B1", err);
    row_set(&row->sweep, "s", err);
    row_set(&row->operator, "copy", err);
    row_set(&row->kernel, "copy/cpu", err);
    row_set(&row->arm, arm, err);
    row_set(&row->role, role, err);
    row_set(&row->status, "ok", err);
    row_set(&row->problem, "same", err);
    if (strcmp(role, "baseline"))
        row_set(&row->baseline, "base", err);
}

static void report(const json_t *run)
{
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct case_table t;

    case_table_init(&t);
    add_row(&t, "base", "baseline", &err);
    add_row(&t, "head", "candidate", &err);
    fuzz_check_error(report_markdown(&t, run, &out, &err), &err);
    FUZZ_ASSERT(out.len <= REPORT_MAX_CHARS);
    strbuf_reset(&out);
    fuzz_check_error(report_terminal(&t, run, 100, true, &out, &err), &err);
    case_table_release(&t);
    strbuf_release(&out);
}

static void judge_run(json_t *run)
{
    static const char *const in[] = {"a", "b"};
    const struct merge_request request = {.out = "c", .in = in, .nr = 2};
    json_t *both[] = {run, run};
    struct noise_floors floors;
    struct text_list notes = {0};
    struct device_info info;
    struct err err = ERR_INIT;

    folder_noise_floors(run, &floors);
    fuzz_check_error(folder_check_hashes(".", run, &err), &err);
    fuzz_check_error(merge_check(&request, both, &notes, &err), &err);
    text_list_release(&notes);
    device_info_from_json(&info, json_object_get(run, "device"), NULL);
    device_info_from_json(&info, run, NULL);
}

static void read_profile(const char *text, size_t len)
{
    const struct device_info device = {.name = "x"};
    const struct profile_key key = {&device, 1, "cold", "none"};
    struct noise_floors floors;
    struct err err = ERR_INIT;
    char *path;

    setenv("XDG_DATA_HOME", "/nonexistent", 0);
    path = profile_path(&device, &err);
    if (!path)
        abort();
    fuzz_put(path, text, len);
    fuzz_check_error(profile_read(&key, &floors, &err), &err);
    free(path);
}

static void read_messages(const json_t *json, const char *text, size_t len)
{
    struct check_result result;
    struct err err = ERR_INIT;
    struct answer a;
    struct job job;

    fuzz_check_error(check_result_from_json(&result, json, &err), &err);
    job_init(&job);
    job_from_json(&job, json, NULL); /* not from files: a bad one is a bug */
    job_release(&job);
    answer_init(&a);
    answer_read(&a, text, len, NULL);
    answer_release(&a);
}

static void prepare(void)
{
    char dir[128];

    fuzz_enter_folder();
    if (getcwd(dir, sizeof(dir)) && setenv("XDG_DATA_HOME", dir, 1))
        abort();
    file_mkdirs("sab", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb((const char *)data, size, 0, NULL);

    prepare();
    read_profile((const char *)data, size);
    if (!json)
        return 0;
    report(json);
    judge_run(json);
    read_messages(json, (const char *)data, size);
    json_decref(json);
    return 0;
}
