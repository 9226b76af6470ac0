#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "strbuf.h"

static void empty_is_a_string(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    char *s;

    (void)state;
    assert_string_equal(sb.buf, "");
    strbuf_reset(&sb);
    strbuf_add(&sb, NULL, 0);
    strbuf_addstr(&sb, "");
    assert_string_equal(sb.buf, "");
    strbuf_release(&sb);
    s = strbuf_detach(&sb);
    assert_string_equal(s, "");
    free(s);
}

static void appends_and_grows(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    size_t i;
    char *s;

    (void)state;
    for (i = 0; i < 10000; i++)
        strbuf_addf(&sb, "%zu,", i % 10);
    assert_int_equal(sb.len, 20000);
    assert_int_equal(strlen(sb.buf), 20000);
    assert_memory_equal(sb.buf + 19996, "8,9,", 5);
    strbuf_reset(&sb);
    strbuf_addch(&sb, 'x');
    strbuf_add(&sb, "\0y", 2);
    assert_int_equal(sb.len, 3);
    assert_memory_equal(sb.buf, "x\0y", 4);
    s = strbuf_detach(&sb);
    assert_memory_equal(s, "x\0y", 4);
    free(s);
    assert_int_equal(sb.len, 0);
    assert_string_equal(sb.buf, "");
}

static void out_of_memory_is_sticky(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    strbuf_addstr(&sb, "kept");
    strbuf_add(&sb, "x", SIZE_MAX - 2);
    assert_true(sb.oom);
    strbuf_addstr(&sb, "more");
    assert_string_equal(sb.buf, "kept");
    assert_null(strbuf_detach(&sb));
    assert_false(sb.oom);
}

static void messages(void **state)
{
    struct err err = ERR_INIT;
    char long_text[3000];

    (void)state;
    assert_int_equal(err_set(&err, ERR_WRONG, "'%s' is %d", "x", 3), -1);
    assert_int_equal(err.kind, ERR_WRONG);
    assert_int_equal(err_prefix(&err, "%s:%d", "a.ini", 7), -1);
    assert_string_equal(err.text, "a.ini:7: 'x' is 3");
    assert_int_equal(err.kind, ERR_WRONG);
    memset(long_text, 'y', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    err_set(&err, ERR_BUG, "%s", long_text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_prefix(&err, "%s", long_text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    err_clear(&err);
    assert_int_equal(err.kind, ERR_NONE);
    assert_int_equal(err_set(NULL, ERR_BUG, "nobody listens"), -1);
    assert_int_equal(err_memory(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_a_string),
        cmocka_unit_test(appends_and_grows),
        cmocka_unit_test(out_of_memory_is_sticky),
        cmocka_unit_test(messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
