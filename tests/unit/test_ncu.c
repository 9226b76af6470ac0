/* test_ncu.c - the profiler's command line, and where the profiler is looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "ncu.h"

static void words_of_the_command_line(void **state)
{
    static const char *const want[] = {"/x/ncu",
                                       "--clock-control",
                                       "none",
                                       "--target-processes",
                                       "all",
                                       "--nvtx",
                                       "--nvtx-include",
                                       "bench@sample 0/",
                                       "--nvtx-include",
                                       "bench@sample 1/",
                                       "--nvtx-include",
                                       "bench@sample 2/",
                                       "--set",
                                       "full",
                                       "/y/bench",
                                       "ncu",
                                       "--inside",
                                       "--config",
                                       "a b.ini",
                                       NULL};
    static const char *const extra[] = {"--set", "full"}, *const args[] = {"--config", "a b.ini"};
    struct text_list argv = {0};
    size_t i = 0;

    (void)state;
    assert_int_equal(ncu_argv(&argv, "/x/ncu", "/y/bench", extra, 2, args, 2, NULL), 0);
    for (; want[i]; i++) {
        assert_true(i < argv.nr);
        assert_string_equal(argv.items[i], want[i]);
    }
    assert_int_equal(argv.nr, i);
    text_list_release(&argv);
}

static void make_program(const char *dir, mode_t mode)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/ncu", dir);
    assert_int_equal(file_mkdirs(dir, NULL), 0);
    assert_int_equal(file_write(path, "#!/bin/sh\n", 10, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void expect_found(const char *want)
{
    struct text_list path = {0};
    struct err err = ERR_INIT;

    if (ncu_find(&path, &err))
        fail_msg("%s", err.text);
    assert_string_equal(path.items[0], want);
    text_list_release(&path);
}

static void path_first_then_the_toolkit(void **state)
{
    char dir[] = "/tmp/sab-test-ncu-XXXXXX", plain[100], good[100], home[100], want[300];
    char command[400];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(plain, sizeof(plain), "%s/plain", dir);
    snprintf(good, sizeof(good), "%s/good", dir);
    snprintf(home, sizeof(home), "%s/home", dir);
    make_program(plain, 0644); /* a file that is no program is passed over */
    make_program(good, 0755);
    snprintf(want, sizeof(want), "%s/bin", home);
    make_program(want, 0755);
    snprintf(want, sizeof(want), "/nowhere:%s:%s", plain, good);
    assert_int_equal(setenv("PATH", want, 1), 0);
    assert_int_equal(setenv("CUDA_HOME", home, 1), 0);
    snprintf(want, sizeof(want), "%s/ncu", good);
    expect_found(want);
    assert_int_equal(setenv("PATH", plain, 1), 0);
    snprintf(want, sizeof(want), "%s/bin/ncu", home);
    expect_found(want);
    assert_int_equal(setenv("PATH", "/usr/bin:/bin", 1), 0);
    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_command_line),
        cmocka_unit_test(path_first_then_the_toolkit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
