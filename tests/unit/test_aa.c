/*
 * test_aa.c - rates, noise floors and twins of A/A trials (harness.md 3.9), and the machine profile
 * that keeps the floors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_race.h"

#include "aa_result.h"
#include "file.h"
#include "profile.h"
#include "summary.h"

static const struct summary_settings settings = {
    .delta = 0.005, .gate_slower = -1, .rounds_named = true};

/* ---- rates ---- */

static void add_value(struct aa_result *r, size_t at, int trial, double theta, double half)
{
    r->value = realloc(r->value, (r->values_nr + 1) * sizeof(*r->value));
    assert_non_null(r->value);
    struct aa_value *v = &r->value[r->values_nr++];
    memset(v, 0, sizeof(*v));
    v->trial = trial;
    v->at = at;
    v->theta = theta;
    v->lo = theta - half;
    v->hi = theta + half;
    v->delta = log(1.005);
    v->median_ns = 20000 + trial;
    v->verdict = verdict_of(v->lo, v->hi, v->delta);
    for (size_t t = 0; t < AA_TWINS; t++) {
        v->twin[t].lo = v->lo + log1p(aa_effect[t]);
        v->twin[t].hi = v->hi + log1p(aa_effect[t]);
        v->twin[t].verdict = verdict_of(v->twin[t].lo, v->twin[t].hi, v->delta);
    }
}

/* Forty trials, |theta| of 0.0001 to 0.0040 with signs in turn; `beyond` of them far off. */
static void forty(struct aa_result *r, int beyond)
{
    aa_result_init(r);
    assert_int_equal(aa_result_add_case(r, "s.B1", NULL), 0);
    for (int i = 0; i < 40; i++) {
        double theta = (i % 2 ? -1e-4 : 1e-4) * (i + 1);
        add_value(r, 0, i, i < beyond ? 0.05 : theta, 0.0045);
    }
    r->trials = 40;
}

static void the_interval_of_two_in_forty(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 2);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    assert_int_equal(rates.false_alarm.nr, 40);
    assert_int_equal(rates.false_alarm.hits, 2);
    assert_near(rates.false_alarm.lo, .0061, 5e-5);
    assert_near(rates.false_alarm.hi, .1692, 5e-5);
    assert_int_equal(rates.excluded_zero.hits, 2);
    assert_int_equal(rates.same.hits + rates.unsure.hits, 38);
    assert_nan(rates.median_ns);
    aa_result_release(&r);
}

static void the_floor_is_the_thirty_eighth_of_forty(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 0);
    assert_int_equal(aa_result_rates(&r, 0, &rates, NULL), 0);
    assert_near(rates.floor, expm1(.0038), 1e-12);
    assert_near(rates.median_ns, 20019.5, 1e-9);
    assert_int_equal(rates.false_alarm.hits, 0);
    assert_near(rates.false_alarm.hi, .0881, 5e-5);
    aa_result_release(&r);
}

static void power_and_coverage_of_a_twin(void **state)
{
    struct aa_result r;
    struct aa_rates rates;

    (void)state;
    forty(&r, 2);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    for (size_t t = 0; t < AA_TWINS; t++) {
        assert_int_equal(rates.covers[t].nr, 40);
        assert_int_equal(rates.covers[t].hits, 38); /* all but the two that were off */
    }
    assert_int_equal(rates.power[2].hits, 40);
    assert_true(rates.power[0].hits < rates.power[1].hits);
    aa_result_release(&r);
}

static void no_value_has_no_rate(void **state)
{
    struct aa_result r;
    struct aa_rates rates;
    struct noise_floors floors;

    (void)state;
    aa_result_init(&r);
    assert_int_equal(aa_result_rates(&r, AA_POOLED, &rates, NULL), 0);
    assert_nan(rates.false_alarm.share);
    assert_near(rates.false_alarm.lo, 0, 0);
    assert_near(rates.false_alarm.hi, 1, 0);
    assert_nan(rates.floor);
    assert_int_equal(aa_result_floors(&r, &floors, NULL), 0);
    assert_int_equal(floors.nr, 0);
    aa_result_release(&r);
}

static void floors_by_octave_need_enough_values(void **state)
{
    struct aa_result r;
    struct noise_floors floors;

    (void)state;
    forty(&r, 0);
    assert_int_equal(aa_result_add_case(&r, "s.B2", NULL), 0);
    for (int i = 0; i < AA_PROFILE_MIN - 1; i++) {
        add_value(&r, 1, i, 0.1, 0.01);
        r.value[r.values_nr - 1].median_ns = 1e6;
    }
    assert_int_equal(aa_result_floors(&r, &floors, NULL), 0);
    assert_int_equal(floors.nr, 1);
    assert_near(floors.octave[14], expm1(.0038), 1e-12); /* 2^14 = 16384 ns */
    assert_int_equal(floors.values[14], 40);
    assert_nan(floors.octave[19]);
    aa_result_release(&r);
}

/* ---- a trial ---- */

static void a_trial_is_taken_with_its_twins(void **state)
{
    static const double theta[5] = {.0001, -.0001, .0002, -.0002, 0};
    const struct race_arm arm[] = {{"base", "baseline", NULL}, {"base'", "duplicate", theta}};
    struct case_table cases;
    struct sample_table samples;
    struct aa_result r;

    (void)state;
    case_table_init(&cases);
    sample_table_init(&samples);
    aa_result_init(&r);
    assert_int_equal(aa_result_add_case(&r, "s.B1", NULL), 0);
    assert_int_equal(aa_result_add_case(&r, "s.B2", NULL), 0);
    race_row(&cases, "s.B1", &arm[0]);
    race_text(&race_row(&cases, "s.B1", &arm[1])->baseline, "base");
    race_text(&race_row(&cases, "s.B2", &arm[1])->status, "skip");
    race_text(&cases.row[2].status_text, "no room");
    for (int p = 0; p < 5; p++)
        race_process(&samples, "s.B1", arm, 2, p, 6);
    double before = samples.row[1].span_ns;
    assert_int_equal(summary_case(&cases, &samples, "s.B1", &settings, NULL), 0);
    assert_int_equal(aa_result_take(&r, 7, &cases, &samples, &settings, NULL), 0);
    assert_int_equal(r.trials, 1);
    assert_int_equal(r.values_nr, 1);
    assert_near(samples.row[1].span_ns, before, 0);
    assert_near(r.value[0].theta, 0, 1e-9);
    assert_int_equal(r.value[0].verdict, VERDICT_SAME);
    assert_true(r.value[0].seed == 7);
    for (size_t t = 0; t < AA_TWINS; t++) {
        const struct aa_twin *twin = &r.value[0].twin[t];
        assert_true(twin->lo < log1p(aa_effect[t]) && twin->hi > log1p(aa_effect[t]));
        assert_int_equal(twin->verdict, t ? VERDICT_SLOWER : VERDICT_UNSURE);
    }
    assert_null(r.item[0].failed);
    assert_string_equal(r.item[1].failed, "skip: no room");
    aa_result_release(&r);
    case_table_release(&cases);
    sample_table_release(&samples);
}

/* ---- the profile ---- */

static const struct device_info gpu = {
    .name = "A GPU", .uuid = "GPU-12/34", .driver = "580.1", .threads = 0};
static const struct device_info cpu = {.name = "A CPU", .threads = 2};

static struct profile_key key_of(const struct device_info *device)
{
    return (struct profile_key){device, 1, "cold", "burst"};
}

static int home_make(void **state)
{
    char *dir = strdup("/tmp/sab-test-profile-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !setenv("XDG_DATA_HOME", dir, 1) ? 0 : -1;
}

static int home_remove(void **state)
{
    char *dir = *state, path[256];
    char *gpu_path = profile_path(&gpu, NULL), *cpu_path = profile_path(&cpu, NULL);

    unlink(gpu_path ? gpu_path : "");
    unlink(cpu_path ? cpu_path : "");
    snprintf(path, sizeof(path), "%s/sab", dir);
    rmdir(path);
    int ret = rmdir(dir);
    free(gpu_path);
    free(cpu_path);
    free(dir);
    return ret;
}

static void octaves_of_durations(void **state)
{
    (void)state;
    assert_int_equal(noise_floors_octave(1), 0);
    assert_int_equal(noise_floors_octave(16383.9), 13);
    assert_int_equal(noise_floors_octave(16384), 14);
    assert_int_equal(noise_floors_octave(0.25), 0);
    assert_int_equal(noise_floors_octave(1e300), PROFILE_OCTAVES - 1);
    assert_int_equal(noise_floors_octave(0), -1);
    assert_int_equal(noise_floors_octave(NAN), -1);
}

static void a_missing_octave_takes_the_shorter_one(void **state)
{
    struct noise_floors floors;
    double floor = -1;

    (void)state;
    noise_floors_init(&floors);
    assert_false(noise_floors_at(&floors, 20000, &floor));
    assert_false(noise_floors_at(NULL, 20000, &floor));
    floors.octave[14] = 0.02;
    floors.octave[20] = 0.001;
    floors.nr = 2;
    assert_true(noise_floors_at(&floors, 20000, &floor));
    assert_near(floor, 0.02, 0);
    assert_true(noise_floors_at(&floors, 900000, &floor)); /* octave 19 */
    assert_near(floor, 0.02, 0);
    assert_true(noise_floors_at(&floors, 5e7, &floor));
    assert_near(floor, 0.001, 0);
    floor = -1;
    assert_false(noise_floors_at(&floors, 10000, &floor));
    assert_near(floor, -1, 0);
}

static void a_profile_comes_back(void **state)
{
    struct profile_key key = key_of(&gpu), other = key;
    struct noise_floors floors, got;
    char *path = profile_path(&gpu, NULL);

    assert_non_null(path);
    assert_non_null(strstr(path, *state));
    assert_string_equal(file_base(path), "profile-GPU-12_34.json");
    noise_floors_init(&floors);
    floors.octave[14] = 0.0123;
    floors.values[14] = 40;
    floors.nr = 1;
    assert_int_equal(profile_read(&key, &got, NULL), 0);
    assert_int_equal(got.nr, 0);
    assert_int_equal(profile_write(&key, &floors, NULL, NULL), 0);
    /* What a later measurement did not see stays; what it did is replaced. */
    floors.octave[20] = 0.004;
    floors.octave[14] = 0.01;
    assert_int_equal(profile_write(&key, &floors, NULL, NULL), 0);
    floors.octave[14] = NAN;
    floors.octave[20] = 0.005;
    assert_int_equal(profile_write(&key, &floors, NULL, NULL), 0);
    assert_int_equal(profile_read(&key, &got, NULL), 0);
    assert_int_equal(got.nr, 2);
    assert_near(got.octave[14], 0.01, 1e-12);
    assert_int_equal(got.values[14], 40);
    assert_near(got.octave[20], 0.005, 1e-12);
    /* Another regime of the same device. */
    other.pace = "sustained";
    assert_int_equal(profile_read(&other, &got, NULL), 0);
    assert_int_equal(got.nr, 0);
    other = key;
    other.protocol = 2;
    assert_int_equal(profile_read(&other, &got, NULL), 0);
    assert_int_equal(got.nr, 0);
    other = key_of(&cpu);
    assert_int_equal(profile_read(&other, &got, NULL), 0);
    assert_int_equal(got.nr, 0);
    free(path);
}

static void refuse(const char *path, const char *text, const char *word)
{
    struct profile_key key = key_of(&gpu);
    struct noise_floors got;
    struct err err = ERR_INIT;

    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    assert_int_not_equal(profile_read(&key, &got, &err), 0);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_non_null(strstr(err.text, word));
    assert_int_equal(got.nr, 0);
    assert_int_not_equal(profile_write(&key, &got, NULL, &err), 0);
}

static void a_spoilt_profile_is_refused(void **state)
{
    char *path = profile_path(&gpu, NULL);
    struct strbuf dir = STRBUF_INIT;

    (void)state;
    file_add_dir(&dir, path);
    assert_int_equal(file_mkdirs(dir.buf, NULL), 0);
    refuse(path, "{\"schema\": 1, ", ":1: ");
    refuse(path, "{\"schema\": 99, \"regimes\": []}", "schema 99");
    refuse(path, "{\"schema\": 1}", "schema 1");
    refuse(path,
           "{\"schema\": 1, \"regimes\": [{\"driver\": \"580.1\", \"protocol\": 1, \"cache\": "
           "\"cold\", \"pace\": \"burst\", \"threads\": 0, \"octaves\": [{\"octave\": 64, "
           "\"floor\": 0.1}]}]}",
           "octave 64");
    refuse(path,
           "{\"schema\": 1, \"regimes\": [{\"driver\": \"580.1\", \"protocol\": 1, \"cache\": "
           "\"cold\", \"pace\": \"burst\", \"threads\": 0, \"octaves\": [{\"octave\": 3, "
           "\"floor\": -0.1}]}]}",
           "octave 3");
    strbuf_release(&dir);
    free(path);
}

static void without_a_home_there_is_no_profile(void **state)
{
    struct profile_key key = key_of(&gpu);
    struct noise_floors got;
    struct err err = ERR_INIT;
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

    unsetenv("HOME");
    setenv("XDG_DATA_HOME", "relative", 1); /* to be ignored, says the specification */
    assert_int_equal(profile_read(&key, &got, NULL), 0);
    assert_int_equal(got.nr, 0);
    assert_int_not_equal(profile_write(&key, &got, NULL, &err), 0);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    setenv("XDG_DATA_HOME", *state, 1);
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

/* ---- and what a run does with it ---- */

static void a_measured_floor_is_the_delta_of_its_octave(void **state)
{
    static const double theta[5] = {.0102, .0098, .0101, .0099, .0100};
    const struct race_arm arm[] = {{"base", "baseline", NULL}, {"head", "candidate", theta}};
    struct summary_settings set = settings;
    struct noise_floors floors;
    struct case_table cases;
    struct sample_table samples;

    (void)state;
    case_table_init(&cases);
    sample_table_init(&samples);
    race_row(&cases, "s.B1", &arm[0]);
    race_text(&race_row(&cases, "s.B1", &arm[1])->baseline, "base");
    for (int p = 0; p < 5; p++)
        race_process(&samples, "s.B1", arm, 2, p, 6);
    noise_floors_init(&floors);
    floors.octave[16] = 0.02; /* RACE_BASE_NS is 1e5 */
    floors.nr = 1;
    set.noise_floor = 0.03;
    set.floors = &floors;
    assert_int_equal(summary_case(&cases, &samples, "s.B1", &set, NULL), 0);
    assert_near(cases.row[1].floor_pct, 2, 1e-9);
    assert_near(cases.row[1].delta_pct, 2, 1e-9);
    assert_string_equal(cases.row[1].verdict, "SAME");
    /* Nothing was measured for calls so short: the default. */
    floors.octave[16] = NAN;
    floors.octave[20] = 0.001;
    assert_int_equal(summary_case(&cases, &samples, "s.B1", &set, NULL), 0);
    assert_near(cases.row[1].floor_pct, 3, 1e-9);
    /* A floor below delta changes nothing. */
    floors.octave[16] = 0.001;
    assert_int_equal(summary_case(&cases, &samples, "s.B1", &set, NULL), 0);
    assert_near(cases.row[1].floor_pct, 0.1, 1e-9);
    assert_near(cases.row[1].delta_pct, 0.5, 1e-9);
    assert_string_equal(cases.row[1].verdict, "SLOWER");
    case_table_release(&cases);
    sample_table_release(&samples);
}

#define HOME_TEST(fn) cmocka_unit_test_setup_teardown(fn, home_make, home_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_of_two_in_forty),
        cmocka_unit_test(the_floor_is_the_thirty_eighth_of_forty),
        cmocka_unit_test(power_and_coverage_of_a_twin),
        cmocka_unit_test(no_value_has_no_rate),
        cmocka_unit_test(floors_by_octave_need_enough_values),
        cmocka_unit_test(a_trial_is_taken_with_its_twins),
        cmocka_unit_test(octaves_of_durations),
        cmocka_unit_test(a_missing_octave_takes_the_shorter_one),
        HOME_TEST(a_profile_comes_back),
        HOME_TEST(a_spoilt_profile_is_refused),
        HOME_TEST(without_a_home_there_is_no_profile),
        cmocka_unit_test(a_measured_floor_is_the_delta_of_its_octave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
