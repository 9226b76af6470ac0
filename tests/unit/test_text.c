#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static void whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"4k", 4096},
        {"4000", 4000},
        {" 1m\t", 1048576},
        {"3G", 3221225472},
        {"-2K", -2048},
        {"+7", 7},
        {"007", 7},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"8589934591g", 9223372035781033984},
    };
    static const char *const bad[] = {
        "",
        " ",
        "k",
        "-",
        "4kk",
        "4 k",
        "0x10",
        "1.5",
        "1e3",
        "4q",
        "12abc",
        "--3",
        "9223372036854775808",
        "-9223372036854775809",
        "8589934592g",
        "99999999999999999999999",
    };
    struct err err = ERR_INIT;
    int64_t value = 0;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(text_int(good[i].text, &value, &err), 0);
        assert_true(value == good[i].value);
    }
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err_clear(&err);
        value = 42;
        assert_int_equal(text_int(bad[i], &value, &err), -1);
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_non_null(strstr(err.text, bad[i]));
        assert_true(value == 42);
    }
}

static void reals(void **state)
{
    static const char *const bad[] = {
        "",  "nan",   "inf", "-inf", "0x1p3", "1e",       "1e400",
        ".", "1.2.3", "1,5", "4k",   "e5",    "infinity",
    };
    struct err err = ERR_INIT;
    char *digits = calloc(5001, 1);
    double value = 0;
    size_t i;

    (void)state;
    assert_int_equal(text_real(" 0.25 ", &value, &err), 0);
    assert_true(value == 0.25);
    assert_int_equal(text_real("-.5e-3", &value, &err), 0);
    assert_true(value == -0.0005);
    assert_int_equal(text_real("5.", &value, &err), 0);
    assert_true(value == 5);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(text_real(bad[i], &value, &err), -1);
    assert_non_null(digits);
    memset(digits, '1', 5000);
    assert_int_equal(text_real(digits, &value, &err), -1);
    free(digits);
}

static void truth_and_durations(void **state)
{
    static const char *const bad[] = {"", "-1", "5x", "s", "1 2", "1e308h", "ms", "1min2"};
    struct err err = ERR_INIT;
    bool flag = false;
    double seconds = 0;
    size_t i;

    (void)state;
    assert_int_equal(text_bool(" Yes", &flag, &err), 0);
    assert_true(flag);
    assert_int_equal(text_bool("off ", &flag, &err), 0);
    assert_false(flag);
    assert_int_equal(text_bool("yesno", &flag, &err), -1);
    assert_int_equal(text_bool("", &flag, &err), -1);
    assert_string_equal(err.text, "'' is not yes or no");
    assert_int_equal(text_seconds("60", &seconds, &err), 0);
    assert_true(seconds == 60);
    assert_int_equal(text_seconds("500 ms", &seconds, &err), 0);
    assert_true(seconds == 0.5);
    assert_int_equal(text_seconds("2min", &seconds, &err), 0);
    assert_true(seconds == 120);
    assert_int_equal(text_seconds("1.5h", &seconds, &err), 0);
    assert_true(seconds == 5400);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(text_seconds(bad[i], &seconds, &err), -1);
}

static void trims(void **state)
{
    char both[] = " \t a b\r\n", blank[] = " \t ", empty[] = "";

    (void)state;
    assert_string_equal(text_trim(both), "a b");
    assert_string_equal(text_trim(blank), "");
    assert_string_equal(text_trim(empty), "");
    assert_true(text_starts_with("cuda:1", "cuda"));
    assert_false(text_starts_with("cu", "cuda"));
}

static void splits(void **state)
{
    struct text_list list = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(text_split(&list, "1, (2, (3,4)) ,64:512", ',', &err), 0);
    assert_int_equal(list.nr, 3);
    assert_string_equal(list.items[0], "1");
    assert_string_equal(list.items[1], "(2, (3,4))");
    assert_string_equal(list.items[2], "64:512");
    assert_int_equal(text_split(&list, "  ", ',', &err), 0);
    assert_int_equal(list.nr, 3);
    assert_int_equal(text_split(&list, "1,,2", ',', &err), -1);
    assert_string_equal(err.text, "'1,,2' has an empty item in its list");
    assert_int_equal(text_split(&list, "1,", ',', &err), -1);
    assert_int_equal(text_split(&list, ",", ',', &err), -1);
    assert_int_equal(text_split(&list, "(1,2", ',', &err), -1);
    assert_string_equal(err.text, "'(1,2' has a '(' without its ')'");
    assert_int_equal(text_split(&list, "1)", ',', &err), -1);
    text_list_release(&list);
    assert_int_equal(list.nr, 0);
}

static void nearest_names(void **state)
{
    static const char *const names[] = {"rounds", NULL, "seqlen", "seqlen_q", "density", "k"};
    char *very_long = calloc(100001, 1);

    (void)state;
    assert_string_equal(text_nearest("ruonds", names, 6), "rounds");
    assert_string_equal(text_nearest("seqlenq", names, 6), "seqlen");
    assert_string_equal(text_nearest("densty", names, 6), "density");
    assert_string_equal(text_nearest("seqlen_q", names, 6), "seqlen_q");
    assert_null(text_nearest("library", names, 6));
    assert_null(text_nearest("x", names, 6));
    assert_null(text_nearest("", names, 6));
    assert_null(text_nearest("rounds", names, 0));
    assert_non_null(very_long);
    memset(very_long, 'a', 100000);
    assert_null(text_nearest(very_long, names, 6));
    free(very_long);
}

static void globs(void **state)
{
    (void)state;
    assert_true(text_glob("sage/*", "sage/seqlen=1024/batch=2"));
    assert_true(text_glob("*[12]", "case2"));
    assert_false(text_glob("sage", "sage2"));
    assert_false(text_glob("[", "x"));
}

static void check_text(void (*add)(struct strbuf *, double), double value, const char *expected)
{
    struct strbuf sb = STRBUF_INIT;

    add(&sb, value);
    assert_string_equal(sb.buf, expected);
    strbuf_release(&sb);
}

static void for_people(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    check_text(text_add_duration, 870, "870 ns");
    check_text(text_add_duration, 12.5, "12.5 ns");
    check_text(text_add_duration, 12400, "12.4 us");
    check_text(text_add_duration, 999600, "1.00 ms");
    check_text(text_add_duration, 3.5e6, "3.50 ms");
    check_text(text_add_duration, 1.25e9, "1.25 s");
    check_text(text_add_duration, 125e9, "2 min 05 s");
    check_text(text_add_duration, 3599.7e9, "1 h 00 min");
    check_text(text_add_duration, 3780e9, "1 h 03 min");
    check_text(text_add_duration, -5000, "-5.00 us");
    check_text(text_add_duration, NAN, "?");
    text_add_bytes(&sb, 512);
    strbuf_addch(&sb, ' ');
    text_add_bytes(&sb, 1536);
    strbuf_addch(&sb, ' ');
    text_add_bytes(&sb, 3221225472u);
    strbuf_addch(&sb, ' ');
    text_add_bytes(&sb, UINT64_MAX);
    assert_string_equal(sb.buf, "512 B 1.50 KiB 3.00 GiB 16.0 EiB");
    strbuf_release(&sb);
}

static void shortest_reals(void **state)
{
    uint64_t bits = 1;
    int i;

    (void)state;
    check_text(text_add_real, 0.1, "0.1");
    check_text(text_add_real, 1.0 / 3, "0.3333333333333333");
    check_text(text_add_real, 131072, "131072");
    check_text(text_add_real, 1e300, "1e+300");
    check_text(text_add_real, 0.1 + 0.2, "0.30000000000000004");
    check_text(text_add_real, 5e-324, "5e-324");
    check_text(text_add_real, -INFINITY, "-inf");
    check_text(text_add_real, NAN, "nan");
    for (i = 0; i < 20000; i++) {
        struct strbuf sb = STRBUF_INIT;
        double value, back;

        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&value, &bits, sizeof(value));
        if (!isfinite(value))
            continue;
        text_add_real(&sb, value);
        back = strtod(sb.buf, NULL);
        assert_memory_equal(&value, &back, sizeof(value));
        strbuf_release(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(reals),
        cmocka_unit_test(truth_and_durations),
        cmocka_unit_test(trims),
        cmocka_unit_test(splits),
        cmocka_unit_test(nearest_names),
        cmocka_unit_test(globs),
        cmocka_unit_test(for_people),
        cmocka_unit_test(shortest_reals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
