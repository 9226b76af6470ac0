/*
 * test_ceilings.c - rates from the rows of a run, what lies between them, the times that follow for
 * worked sizes, the machine profile, and rows that are faster than the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test_race.h"

#include "axis.h"
#include "ceilings.h"
#include "profile.h"
#include "summary.h"

static const struct device_info gpu = {.name = "A GPU", .uuid = "GPU-77", .driver = "580.1"};

/* ---- rows of a run ---- */

static const char *const axes[] = {"size", "footprint", "row_bytes", "dtype"};
enum { SIZE = 0, FOOTPRINT, ROW_BYTES, DTYPE };

struct made {
    const char *op, *arm, *status;
    const char *axis[4];
    double flops, bytes, span_ns;
};

static void table_make(struct case_table *t, const struct made *made, size_t nr)
{
    case_table_init(t);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(text_list_add(&t->axes, axes[i], NULL), 0);
    for (size_t i = 0; i < nr; i++) {
        struct case_row *row = case_table_add(t, NULL);

        assert_non_null(row);
        race_text(&row->operator, made[i].op);
        race_text(&row->arm, made[i].arm);
        race_text(&row->status, made[i].status);
        for (size_t a = 0; a < 4; a++)
            race_text(&row->axis[a], made[i].axis[a]);
        row->flops = made[i].flops;
        row->bytes = made[i].bytes;
        row->span_median_ns = made[i].span_ns;
        row->run_mhz = 1700;
    }
}

/* Rates of an H200 (performance.md, 3.2), as spans of made-up cases. */
static const struct made h200[] = {
    {"read", "read", "ok", {[SIZE] = "67108864"}, 0, 67108864, 67108864 / 3940.0},
    {"read", "read", "ok", {[SIZE] = "1073741824"}, 0, 1073741824, 1073741824 / 4630.0},
    {"copy", "copy", "ok", {[SIZE] = "67108864"}, 0, 2 * 67108864.0, 2 * 67108864 / 4330.0},
    {"copy", "copy", "ok", {[SIZE] = "1073741824"}, 0, 2147483648.0, 2147483648.0 / 4260},
    {"gather", "cp_async", "ok", {NULL, "8388608", "1024"}, 0, 1e9, 1e9 / 9200},
    {"gather", "bulk", "ok", {NULL, "8388608", "1024"}, 0, 1e9, 1e9 / 9100},
    {"gather", "cp_async", "ok", {NULL, "134217728", "1024"}, 0, 1e9, 1e9 / 5800},
    {"gather", "bulk", "ok", {NULL, "8388608", "16384"}, 0, 1e9, 1e9 / 9050},
    {"reduce", "red_v4", "ok", {NULL, "8388608", "2048"}, 0, 1e9, 1e9 / 3750},
    {"gather_reduce", "both", "ok", {NULL, "8388608", "1024"}, 0, 1e9, 1e9 / 5300},
    {"mma_peak", "mma", "ok", {[DTYPE] = "bf16"}, 1e12, 1e6, 1e12 / 630e3},
    {"mma_peak", "wgmma", "ok", {[DTYPE] = "bf16"}, 1e12, 1e6, 1e12 / 903e3},
    {"mma_peak", "wgmma", "wrong", {[DTYPE] = "fp16"}, 1e12, 1e6, 1e12 / 2000e3},
    {"mma_peak", "wgmma", "ok", {[DTYPE] = "i8"}, 1e12, 1e6, 1e12 / 1880e3},
    {"mma_peak", "wgmma", "ok", {[DTYPE] = "e4m3"}, 1e12, 1e6, 1e12 / 1768e3},
    {"exp2", "exp2", "ok", {NULL}, 1e9, 1e6, 1e9 / 4180},
    {"sage_fwd", "x", "ok", {NULL}, 1e9, 1e6, 1},
};

static void take_h200(struct ceilings *c)
{
    struct case_table t;

    table_make(&t, h200, sizeof(h200) / sizeof(h200[0]));
    ceilings_init(c);
    assert_int_equal(ceilings_take(c, &t, NULL), 0);
    case_table_release(&t);
}

static void rates_of_rows(void **state)
{
    struct ceilings c;

    (void)state;
    take_h200(&c);
    assert_int_equal(c.nr, 13);
    assert_near(ceilings_rate(&c, OP_BF16, 0), 903e3, 1);     /* the better of two arms */
    assert_true(isnan(ceilings_rate(&c, OP_FP16, 0)));        /* it was wrong */
    assert_near(ceilings_rate(&c, OP_GATHER, 1e6), 9200, 1);  /* below the smallest */
    assert_near(ceilings_rate(&c, OP_GATHER, 1e10), 5800, 1); /* beyond the largest */
    /* 32 MiB lie half way between 8 and 128 by logarithm. */
    assert_near(ceilings_rate(&c, OP_GATHER, 33554432), 7500, 1);
    assert_near(ceilings_rate(&c, OP_FEED, 8388608), 9050, 1);
    assert_near(ceilings_rate(&c, OP_WRITE, 67108864), 2165, 1); /* a byte copied counts once */
    assert_near(ceilings_rate(&c, CEILING_BOTH, 1), 5300, 1);
    ceilings_release(&c);
}

/* ---- worked sizes: performance.md, 4.2 and 4.3 ---- */

static struct op_cost cost_of(const char *op, const char *const *set)
{
    const struct op_model *model = op_model_find(op);
    struct op_case c;
    struct op_cost cost;
    struct err err = ERR_INIT;

    memset(&cost, 0, sizeof(cost));
    assert_int_equal(op_case_default(model, 1, &c, &err), 0);
    for (size_t i = 0; set[i]; i += 2) {
        const int axis = op_axis_find(model, set[i]);

        assert_true(axis >= 0);
        assert_int_equal(axis_value_read(&model->axes[axis], set[i + 1], &c.axis[axis], &err), 0);
    }
    if (model->settle)
        assert_int_equal(model->settle(&c, &err), 0);
    assert_int_equal(model->cost(&c, &cost, &err), 0);
    return cost;
}

static void times_of_worked_sizes(void **state)
{
    static const char *const minimax[] = {"heads",    "7",      "kv_heads", "7",
                                          "seqlen_q", "109632", "seqlen_k", "109632",
                                          "topk",     "64",     NULL};
    static const char *const v4[] = {"heads", "64",  "seqlen_q", "4096", "seqlen_k", "4096",
                                     "topk",  "640", "head_dim", "512",  NULL};
    struct ceiling_bound b;
    struct op_cost cost;
    struct ceilings c;

    (void)state;
    take_h200(&c);
    cost = cost_of("bsa_fwd", minimax);
    ceilings_bound(&c, &cost, true, &b);
    assert_string_equal(b.name, "tile feed");
    assert_near(b.limit_ns, 2.78e6, 0.02e6);
    assert_near(b.bound_ns, 1.78e6, 0.01e6); /* tensor, 903 TFLOPS */
    cost = cost_of("sage_fwd", minimax);
    ceilings_bound(&c, &cost, true, &b);
    assert_near(b.limit_ns, 1.39e6, 0.01e6);
    assert_near(b.bound_ns, 0.88e6, 0.01e6);
    cost = cost_of("dsa_fwd", v4);
    ceilings_bound(&c, &cost, true, &b);
    assert_string_equal(b.name, "tensor");
    assert_near(b.bound_ns, 0.381e6, 0.001e6);
    /* 64 MiB each way at 4330 GB/s, and warm no limit at all. */
    memset(&cost, 0, sizeof(cost));
    cost.use[OP_READ].amount = cost.use[OP_WRITE].amount = 67108864;
    ceilings_bound(&c, &cost, true, &b);
    assert_string_equal(b.name, "memory");
    assert_near(b.limit_ns, 31000, 30);
    ceilings_bound(&c, &cost, false, &b);
    assert_true(isnan(b.limit_ns) && isnan(b.bound_ns) && !b.name);
    /* Little moved proves nothing. */
    cost.use[OP_READ].amount = cost.use[OP_WRITE].amount = 1048576;
    ceilings_bound(&c, &cost, true, &b);
    assert_true(b.limit_ns > 0 && isnan(b.bound_ns));
    ceilings_release(&c);
    ceilings_init(&c);
    ceilings_bound(&c, &cost, true, &b);
    assert_true(isnan(b.limit_ns) && isnan(b.bound_ns) && !b.name);
}

/* ---- the profile ---- */

static int home_make(void **state)
{
    char *dir = strdup("/tmp/sab-test-ceilings-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !setenv("XDG_DATA_HOME", dir, 1) ? 0 : -1;
}

static int home_remove(void **state)
{
    char *dir = *state, path[256];
    char *file = profile_path(&gpu, NULL);

    unlink(file ? file : "");
    snprintf(path, sizeof(path), "%s/sab", dir);
    rmdir(path);
    int ret = rmdir(dir);
    free(file);
    free(dir);
    return ret;
}

static void profile_keeps_them(void **state)
{
    struct device_info other = gpu;
    struct profile_key key = {&gpu, 1, "cold", "burst"};
    struct noise_floors floors;
    struct ceilings c, back;

    (void)state;
    take_h200(&c);
    noise_floors_init(&floors);
    floors.octave[14] = 0.01;
    floors.nr = 1;
    assert_int_equal(profile_write(&key, &floors, NULL, NULL), 0);
    assert_int_equal(ceilings_write(&c, &gpu, NULL, NULL), 0);
    ceilings_init(&back);
    assert_int_equal(ceilings_read(&back, &gpu, NULL), 0);
    assert_int_equal(back.nr, c.nr);
    for (size_t i = 0; i < c.nr; i++) {
        assert_int_equal(back.item[i].kind, c.item[i].kind);
        assert_near(back.item[i].size, c.item[i].size, 0);
        assert_near(back.item[i].per_ns, c.item[i].per_ns, 1e-6 * c.item[i].per_ns);
        assert_near(back.item[i].run_mhz, 1700, 0);
        assert_string_equal(back.item[i].arm, c.item[i].arm);
    }
    ceilings_release(&back);
    /* The noise floors stand beside them. */
    noise_floors_init(&floors);
    assert_int_equal(profile_read(&key, &floors, NULL), 0);
    assert_int_equal(floors.nr, 1);
    /* Another driver may be faster or slower. */
    snprintf(other.driver, sizeof(other.driver), "590.2");
    assert_int_equal(ceilings_read(&back, &other, NULL), 0);
    assert_int_equal(back.nr, 0);
    /* A part that is measured again replaces its own sizes alone. */
    back.nr = 0;
    ceilings_release(&c);
    static const struct made again[] = {
        {"mma_peak", "wgmma", "ok", {[DTYPE] = "bf16"}, 1e12, 1e6, 1e12 / 880e3}};
    struct case_table t;
    table_make(&t, again, 1);
    assert_int_equal(ceilings_take(&c, &t, NULL), 0);
    case_table_release(&t);
    assert_int_equal(ceilings_keep(&c, &gpu, NULL), 0);
    assert_int_equal(c.nr, 13);
    assert_near(ceilings_rate(&c, OP_BF16, 0), 880e3, 1);
    ceilings_release(&c);
}

static void broken_rates_are_refused(void **state)
{
    struct ceilings c;
    struct err err = ERR_INIT;
    json_t *list =
        json_pack("[{s:s,s:f,s:f}]", "kind", "gather", "size_bytes", 1.0, "per_ns", -2.0);

    (void)state;
    ceilings_init(&c);
    assert_int_equal(ceilings_from_json(&c, list, &err), -1);
    assert_string_equal(err.text, "the ceiling 'gather' is -2 a ns at 1 bytes, must be above 0");
    json_decref(list);
    list = json_pack("[{s:s,s:f,s:f}]", "kind", "of tomorrow", "size_bytes", 1.0, "per_ns", 2.0);
    assert_int_equal(ceilings_from_json(&c, list, &err), 0);
    assert_int_equal(c.nr, 0);
    json_decref(list);
}

/* ---- rows ---- */

/* Median 100 us against a limit of 80 us, and a bound of 104 and of 106 us. */
static void rows_show_their_limit(void **state)
{
    static const double bounds[] = {NAN, 104000, 106000};
    const struct summary_settings set = {.delta = 0.005, .gate_slower = -1};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct case_table cases;
        struct sample_table samples;
        struct summary_run run;
        struct race_arm arm = {"base", "baseline", NULL};

        case_table_init(&cases);
        sample_table_init(&samples);
        struct case_row *row = race_row(&cases, "c", &arm);
        row->limit_ns = 80000;
        row->bound_ns = bounds[i];
        for (int k = 0; k < 8; k++)
            race_sample(&samples, "c", "base", RACE_BASE_NS);
        assert_int_equal(summary_case(&cases, &samples, "c", &set, NULL), 0);
        assert_near(cases.row[0].limit_pct, 80, 1e-9);
        assert_int_equal(row_has_reason(&cases.row[0], "above_limit") != 0, i == 2);
        assert_int_equal(summary_run(&cases, &samples, &set, &run, NULL), 0);
        assert_int_equal(run.above_limit, i == 2);
        sample_table_release(&samples);
        case_table_release(&cases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_rows),
        cmocka_unit_test(times_of_worked_sizes),
        cmocka_unit_test_setup_teardown(profile_keeps_them, home_make, home_remove),
        cmocka_unit_test(broken_rates_are_refused),
        cmocka_unit_test(rows_show_their_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
