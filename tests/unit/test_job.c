#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "job.h"

static char *copy(const char *text)
{
    char *s = strdup(text);
    assert_non_null(s);
    return s;
}

static void fill(struct job *job)
{
    job_init(job);
    job->mode = JOB_CHECK;
    job->run_id = copy("r-1");
    job->config_name = copy("sage \"quoted\"");
    job->config_text = copy("[global]\nrounds = 5x24 ; \xc2\xb5s\n");
    job->plan_hash = copy("00ff");
    job->scratch = copy("/scratch");
    job->own_library = copy("/own.so");
    job->own_sha256 = copy("34");
    job->kind = SAB_DEVICE_CUDA;
    job->threads = 3;
    job->timer = DEVICE_TIMER_CUPTI;
    job->process = 4;
    job->arm = calloc(2, sizeof(*job->arm));
    assert_non_null(job->arm);
    job->arms_nr = 2;
    job->arm[0] =
        (struct job_arm){copy("base"), copy("/a.so"), copy("a.so"), copy("12"), copy("base"), 0};
    job->arm[1] =
        (struct job_arm){copy("base'"), copy("/b.so"), copy("a.so"), copy("12"), copy("base"), 1};
    job->item = calloc(1, sizeof(*job->item));
    assert_non_null(job->item);
    job->nr = 1;
    job->item[0].id = copy("sage.B8");
    job->item[0].rounds = 24;
    job->item[0].budget_s = 59.25;
    job->item[0].race = copy("head\tbase\n");
}

/* Through text, as on the pipe. */
static json_t *through_text(json_t *json)
{
    assert_non_null(json);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    json_t *back = json_loads(text, 0, NULL);
    free(text);
    json_decref(json);
    assert_non_null(back);
    return back;
}

static void job_round_trip(void **state)
{
    struct job a, b;
    struct err err = ERR_INIT;

    (void)state;
    fill(&a);
    job_init(&b);
    json_t *json = through_text(job_to_json(&a));
    assert_int_equal(job_from_json(&b, json, &err), 0);
    assert_int_equal(b.mode, JOB_CHECK);
    assert_string_equal(b.config_name, a.config_name);
    assert_string_equal(b.config_text, a.config_text);
    assert_string_equal(b.own_library, "/own.so");
    assert_string_equal(b.own_sha256, "34");
    assert_int_equal(b.kind, SAB_DEVICE_CUDA);
    assert_int_equal(b.timer, DEVICE_TIMER_CUPTI);
    assert_int_equal(b.threads, 3);
    assert_int_equal(b.process, 4);
    assert_int_equal(b.arms_nr, 2);
    assert_string_equal(b.arm[1].label, "base'");
    assert_string_equal(b.arm[1].library, "/b.so");
    assert_string_equal(b.arm[1].arm, "base");
    assert_true(!b.arm[0].duplicate);
    assert_true(b.arm[1].duplicate);
    assert_int_equal(b.nr, 1);
    assert_string_equal(b.item[0].id, "sage.B8");
    assert_int_equal(b.item[0].rounds, 24);
    assert_true(b.item[0].budget_s == 59.25);
    assert_string_equal(b.item[0].race, "head\tbase\n");
    json_decref(json);
    job_release(&a);
    job_release(&b);
}

static void a_job_without_a_field_is_refused(void **state)
{
    static const char *const fields[] = {"mode",  "plan_hash", "arms",
                                         "cases", "process",   "own_sha256"};
    struct job a;

    (void)state;
    fill(&a);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct job b;
        struct err err = ERR_INIT;
        json_t *json = job_to_json(&a);

        assert_non_null(json);
        assert_int_equal(json_object_del(json, fields[i]), 0);
        job_init(&b);
        assert_int_equal(job_from_json(&b, json, &err), -1);
        assert_int_equal(err.kind, ERR_BUG);
        json_decref(json);
        job_release(&b);
    }
    job_release(&a);
}

/* Writes an answer as a worker does and reads the line back. */
static int answer_through_line(const struct answer *a, struct answer *back, struct err *err)
{
    char *line = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&line, &len);

    assert_non_null(out);
    assert_int_equal(answer_write(out, a, err), 0);
    fclose(out);
    assert_int_equal(line[len - 1], '\n');
    assert_ptr_equal(strchr(line, '\n'), line + len - 1);
    answer_init(back);
    int ret = answer_read(back, line, len, err);
    free(line);
    return ret;
}

static void answers_round_trip(void **state)
{
    struct answer a, b;
    struct err err = ERR_INIT;

    (void)state;
    answer_init(&a);
    a.kind = ANSWER_DONE;
    a.case_id = copy("sage.B8");
    a.rows = copy("schema,arm\n1,\"a, \"\"b\"\"\"\n");
    a.samples = copy("");
    a.wall_s = 1.5;
    a.check_s = 0.25;
    assert_int_equal(answer_through_line(&a, &b, &err), 0);
    assert_int_equal(b.kind, ANSWER_DONE);
    assert_string_equal(b.case_id, a.case_id);
    assert_string_equal(b.rows, a.rows);
    assert_string_equal(b.samples, "");
    assert_null(b.text);
    assert_true(b.wall_s == 1.5 && b.check_s == 0.25);
    answer_release(&b);
    answer_release(&a);
    a.kind = ANSWER_FATAL;
    a.error_kind = ERR_ENVIRONMENT;
    a.text = copy("no GPU is there");
    assert_int_equal(answer_through_line(&a, &b, &err), 0);
    assert_int_equal(b.kind, ANSWER_FATAL);
    assert_int_equal(b.error_kind, ERR_ENVIRONMENT);
    assert_string_equal(b.text, "no GPU is there");
    answer_release(&b);
    answer_release(&a);
}

static void device_description_round_trip(void **state)
{
    struct answer a, b;
    struct err err = ERR_INIT;

    (void)state;
    answer_init(&a);
    a.kind = ANSWER_INFO;
    a.info = (struct device_info){
        .kind = SAB_DEVICE_CUDA,
        .name = "NVIDIA H200",
        .uuid = "GPU-1",
        .arch = 90,
        .memory_bytes = UINT64_C(150754820096),
        .driver = "580.159",
        .timer = DEVICE_TIMER_CUPTI,
        .tick_ns = 32,
        .ecc = 1,
        .mig = -1,
        .scrub = "rmw 120 MiB + read 120 MiB",
    };
    assert_int_equal(answer_through_line(&a, &b, &err), 0);
    assert_int_equal(b.info.kind, SAB_DEVICE_CUDA);
    assert_string_equal(b.info.name, "NVIDIA H200");
    assert_string_equal(b.info.uuid, "GPU-1");
    assert_int_equal(b.info.arch, 90);
    assert_true(b.info.memory_bytes == UINT64_C(150754820096));
    assert_int_equal(b.info.timer, DEVICE_TIMER_CUPTI);
    assert_true(b.info.tick_ns == 32);
    assert_int_equal(b.info.ecc, 1);
    assert_int_equal(b.info.mig, -1);
    assert_string_equal(b.info.scrub, "rmw 120 MiB + read 120 MiB");
    answer_release(&b);
    answer_release(&a);
}

static void what_is_no_answer_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "hello from a kernel\n",
        "{\"kind\": \"done\"",
        "{\"kind\": \"done\"}\n",
        "[]\n",
        "{\"kind\":\"nonsense\",\"timeout_s\":0.0,\"wall_s\":0.0,\"check_s\":0.0,\"error_kind\":0}"
        "\n",
        "{\"kind\":\"info\",\"timeout_s\":0.0,\"wall_s\":0.0,\"check_s\":0.0,\"error_kind\":0}\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct answer a;
        struct err err = ERR_INIT;

        answer_init(&a);
        assert_int_equal(answer_read(&a, lines[i], strlen(lines[i]), &err), -1);
        assert_true(err.kind == ERR_CRASH || err.kind == ERR_BUG);
        answer_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_round_trip),
        cmocka_unit_test(a_job_without_a_field_is_refused),
        cmocka_unit_test(answers_round_trip),
        cmocka_unit_test(device_description_round_trip),
        cmocka_unit_test(what_is_no_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
