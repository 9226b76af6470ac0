#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "reasons.h"

/* Every reason of harness.md 3.3 to 3.10 and 4.2, and what the rows of a run may carry besides. */
static const char *const expected[] = {
    "few",         "few_processes", "budget",    "multiple",        "a_prime",
    "drift",       "slot",          "carry",     "autocorr",        "halves",
    "discard",     "clock",         "same_sass", "activity_change", "no_baseline",
    "on_delta",    "across",        "unsafe",    "sampled_check",   "dropped",
    "env",         "timer_tick",    "aa_alarm",  "bimodal",         "keeps_workspace",
    "above_limit",
};

static void every_reason_is_explained(void **state)
{
    size_t nr = sizeof(expected) / sizeof(expected[0]);

    (void)state;
    for (size_t i = 0; i < nr; i++) {
        const struct reason *r = reason_find(expected[i]);
        assert_non_null(r);
        assert_string_equal(r->code, expected[i]);
    }
    for (size_t i = 0; reason_at(i); i++)
        assert_true(i < nr);
    assert_null(reason_at(nr));
}

/* They are printed between other words: no stop at the end, no separator of the column inside. */
static void sentences_can_be_embedded(void **state)
{
    (void)state;
    for (size_t i = 0; reason_at(i); i++) {
        const struct reason *r = reason_at(i);
        const char *const texts[] = {r->sentence, r->remedy};

        for (const char *c = r->code; *c; c++)
            assert_true(islower((unsigned char)*c) || *c == '_');
        for (size_t k = 0; k < 2; k++) {
            assert_true(strlen(texts[k]) > 10);
            assert_int_not_equal(texts[k][strlen(texts[k]) - 1], '.');
            assert_null(strchr(texts[k], '|'));
        }
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(reason_at(k)->code, r->code);
    }
}

static void unknown_codes(void **state)
{
    (void)state;
    assert_null(reason_find("nonsense"));
    assert_null(reason_find(""));
    assert_string_equal(reason_nearest("autocor"), "autocorr");
    assert_string_equal(reason_nearest("discrad"), "discard");
    assert_null(reason_nearest("xyzzyxyzzy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reason_is_explained),
        cmocka_unit_test(sentences_can_be_embedded),
        cmocka_unit_test(unknown_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
