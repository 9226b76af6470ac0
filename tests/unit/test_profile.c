/*
 * test_profile.c - the machine profile that keeps the noise floors of `bench aa`, and what a run
 * makes of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_race.h"

#include "file.h"
#include "profile.h"
#include "summary.h"

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

static void a_missing_octave_takes_a_neighbour(void **state)
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
    assert_true(noise_floors_at(&floors, 10000, &floor)); /* octave 13, next to 14 */
    assert_near(floor, 0.02, 0);
    floor = -1;
    assert_false(noise_floors_at(&floors, 8000, &floor));
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
    assert_non_null(path);
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
    const char *was = getenv("HOME");
    char *home = was ? strdup(was) : NULL;

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
    struct summary_settings set = {.delta = 0.005, .gate_slower = -1, .rounds_named = true};
    struct noise_floors floors;
    struct case_table cases;
    struct sample_table samples;

    (void)state;
    case_table_init(&cases);
    sample_table_init(&samples);
    for (size_t i = 0; i < 2; i++) {
        struct case_row *row = race_row(&cases, "s.B1", &arm[i]);
        race_text(&row->kernel, "op/kernel");
        race_text(&row->baseline, i ? arm[0].name : NULL);
    }
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
        cmocka_unit_test(octaves_of_durations),
        cmocka_unit_test(a_missing_octave_takes_a_neighbour),
        HOME_TEST(a_profile_comes_back),
        HOME_TEST(a_spoilt_profile_is_refused),
        HOME_TEST(without_a_home_there_is_no_profile),
        cmocka_unit_test(a_measured_floor_is_the_delta_of_its_octave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
