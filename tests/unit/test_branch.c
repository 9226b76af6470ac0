/* test_branch.c - labels of the sides of a comparison of branches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "branch.h"

static void hold(const char *const given[3], const char *const wanted[3])
{
    struct branch list[3];
    struct err err = ERR_INIT;

    memset(list, 0, sizeof(list));
    for (int i = 0; i < 3; i++)
        list[i].label = strdup(given[i]);
    assert_int_equal(branch_labels(list, 3, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(list[i].label, wanted[i]);
        free(list[i].label);
    }
}

static void equal_labels_are_numbered(void **state)
{
    (void)state;
    hold((const char *[]){"main", "main", "main"}, (const char *[]){"main", "main.2", "main.3"});
}

/* HEAD~1 is written HEAD-1: no copy of HEAD, nor is v1 one of v1.2b. */
static void longer_labels_are_others(void **state)
{
    (void)state;
    hold((const char *[]){"HEAD-1", "HEAD", "HEAD-12"},
         (const char *[]){"HEAD-1", "HEAD", "HEAD-12"});
    hold((const char *[]){"v1.2b", "v1", "v1"}, (const char *[]){"v1.2b", "v1", "v1.2"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_labels_are_numbered),
        cmocka_unit_test(longer_labels_are_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
