#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "option.h"

struct flags {
    bool quiet;
    const char *config;
    struct text_list only;
    int64_t seed;
    double limit;
};

static const struct option_row rows[] = {
    {"quiet", NULL, "no progress", OPTION_FLAG, offsetof(struct flags, quiet), 'q'},
    {"config", "FILE", "the sweep to run", OPTION_STRING, offsetof(struct flags, config), 0},
    {"only", "GLOB", "only the cases whose identity matches; may be given more than once",
     OPTION_LIST, offsetof(struct flags, only), 0},
    {"seed", "N", "of inputs and orders", OPTION_INT, offsetof(struct flags, seed), 0},
    {"limit-of-patience", "SECONDS", "stop", OPTION_REAL, offsetof(struct flags, limit), 0},
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static bool is_key(const void *ctx, const char *name)
{
    (void)ctx;
    return !strcmp(name, "max_time") || !strcmp(name, "rounds") || !strcmp(name, "heads:head_dim");
}

static const char *nearest(const void *ctx, const char *name)
{
    static const char *const names[] = {"max_time", "rounds"};

    (void)ctx;
    return text_nearest(name, names, 2);
}

static const struct option_keys keys = {is_key, nearest, NULL};

static int parse(struct flags *flags, struct option_result *result, struct err *err, int argc,
                 const char *const *argv)
{
    *flags = (struct flags){0};
    option_result_init(result);
    return option_parse(rows, NR_ROWS, flags, &keys, argc, argv, result, err);
}

#define PARSE(...)                                                                                 \
    parse(&flags, &result, &err,                                                                   \
          (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)),                      \
          (const char *const[]){__VA_ARGS__})

static void release(struct flags *flags, struct option_result *result)
{
    text_list_release(&flags->only);
    option_result_release(result);
}

static void reads_all_kinds(void **state)
{
    struct option_result result;
    struct flags flags;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(PARSE("-q", "--config", "a=b.ini", "run", "--only=x", "--only", "y", "--seed",
                           "-4k", "--limit_of_patience=1.5", "-", "--", "--seed"),
                     0);
    assert_true(flags.quiet);
    assert_string_equal(flags.config, "a=b.ini");
    assert_int_equal(flags.only.nr, 2);
    assert_string_equal(flags.only.items[1], "y");
    assert_true(flags.seed == -4096);
    assert_true(flags.limit == 1.5);
    assert_int_equal(result.nr_args, 3);
    assert_string_equal(result.args[0], "run");
    assert_string_equal(result.args[1], "-");
    assert_string_equal(result.args[2], "--seed");
    assert_int_equal(result.nr_overrides, 0);
    release(&flags, &result);
    assert_int_equal(PARSE("--quiet", "--quiet=no", "--config="), 0);
    assert_false(flags.quiet);
    assert_string_equal(flags.config, "");
    release(&flags, &result);
}

static void collects_configuration(void **state)
{
    struct option_result result;
    struct flags flags;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(PARSE("--rounds", "2x40", "--max-time=5", "--sweep.my-sage.seqlen-q=1,8",
                           "--heads:head_dim", "64:512", "--arm.v1.2.label", "a=b", "rest"),
                     0);
    assert_int_equal(result.nr_overrides, 5);
    assert_string_equal(result.overrides[0].key, "rounds");
    assert_string_equal(result.overrides[0].value, "2x40");
    assert_string_equal(result.overrides[1].key, "max_time");
    assert_string_equal(result.overrides[2].key, "sweep.my-sage.seqlen_q");
    assert_string_equal(result.overrides[2].value, "1,8");
    assert_string_equal(result.overrides[3].key, "heads:head_dim");
    assert_string_equal(result.overrides[4].key, "arm.v1.2.label");
    assert_string_equal(result.overrides[4].value, "a=b");
    assert_int_equal(result.nr_args, 1);
    release(&flags, &result);
}

static void refuses(void **state)
{
    static const struct {
        const char *argv[2];
        int argc;
        const char *text;
    } bad[] = {
        {{"--confg", "x"}, 2, "no option is called '--confg', did you mean '--config'"},
        {{"--ronds", "x"}, 2, "no option is called '--ronds', did you mean '--rounds'"},
        {{"--zebra=1", ""}, 1, "no option is called '--zebra'"},
        {{"--=1", ""}, 1, "no option is called '--'"},
        {{"--config", ""}, 1, "'--config' needs a value, as in '--config=FILE'"},
        {{"--config", "--quiet"}, 2, "'--config' needs a value, as in '--config=FILE'"},
        {{"--rounds", ""}, 1, "'--rounds' needs a value, as in '--rounds=VALUE'"},
        {{"--seed", "x"}, 2, "'--seed': 'x' is not a whole number such as 8, 4k (4096) or 1m"},
        {{"--quiet=maybe", ""}, 1, "'--quiet': 'maybe' is not yes or no"},
        {{"-x", ""}, 1, "no option is called '-x'; options start with '--'"},
        {{"-quiet", ""}, 1, "no option is called '-quiet'; options start with '--'"},
    };
    struct option_result result;
    struct flags flags;
    struct err err = ERR_INIT;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(&flags, &result, &err, bad[i].argc, bad[i].argv), -1);
        assert_string_equal(err.text, bad[i].text);
        assert_int_equal(err.kind, ERR_CONFIG);
        release(&flags, &result);
    }
    option_result_init(&result);
    assert_int_equal(option_parse(rows, NR_ROWS, &flags, NULL, 1,
                                  (const char *const[]){"--sweep.x.y=1"}, &result, &err),
                     -1);
    release(&flags, &result);
}

static void prints_help(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    option_add_help(&sb, rows, NR_ROWS);
    assert_string_equal(
        sb.buf, "  -q, --quiet             no progress\n"
                "      --config FILE       the sweep to run\n"
                "      --only GLOB         only the cases whose identity matches; may be given\n"
                "                          more than once\n"
                "      --seed N            of inputs and orders\n"
                "      --limit-of-patience SECONDS\n"
                "                          stop\n");
    strbuf_release(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_kinds),
        cmocka_unit_test(collects_configuration),
        cmocka_unit_test(refuses),
        cmocka_unit_test(prints_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
