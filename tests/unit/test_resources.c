#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "resources.h"

/* Lines as c++filt leaves them; figures chosen by hand. */
static char text[] =
    "# a comment registers=999\n"
    "90a (anonymous namespace)::reference_kernel(sage_call) registers=110 stack=8 spill=? "
    "shared=2048 local=0 constant=688 sha256=00\n"
    "90a void sage::mma_kernel<sage::key<0, 0> >(sage_mma_args) registers=164 stack=0 spill=0 "
    "shared=1024 local=0 constant=1152 sha256=01\n"
    "90a void sage::mma_kernel<sage::key<0, 1> >(sage_mma_args) registers=23 stack=0 spill=12 "
    "shared=1024 local=4 constant=1152 sha256=02\n"
    "120a void sage::mma_kernel<sage::key<0, 0> >(sage_mma_args) registers=200 stack=0 spill=0 "
    "shared=1024 local=0 constant=1152 sha256=03\n"
    "90a dsa_fwd_mma_kernel(args) registers=77 stack=0 spill=0 shared=0 local=0 constant=1 "
    "sha256=04\n"
    "90a dsa_bwd_mma_kernel(args) registers=88 stack=0 spill=0 shared=0 local=0 constant=1 "
    "sha256=05";

static struct case_row fill(const char *op, const char *name, int arch)
{
    struct sab_kernel kernel = {.op = op, .name = name};
    struct library lib = {.resources = text};
    struct case_row row;

    case_row_init(&row);
    resources_fill(&lib, &kernel, arch, &row);
    return row;
}

static void largest_of_a_kernels_functions(void **state)
{
    struct case_row row = fill("sage_fwd", "mma", 90);

    (void)state;
    assert_int_equal(row.registers, 164);
    assert_int_equal(row.spill_bytes, 12);
    assert_int_equal(row.shared_bytes, 1024);
    assert_int_equal(row.local_bytes, 4);
    assert_int_equal(fill("sage_fwd", "mma", 120).registers, 200);
}

/* The words of the operator decide where both carry them. */
static void operators_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(fill("dsa_fwd", "mma", 90).registers, 77);
    assert_int_equal(fill("dsa_bwd", "mma", 90).registers, 88);
}

static void arguments_tell_where_names_do_not(void **state)
{
    struct case_row row = fill("sage_fwd", "reference", 90);

    (void)state;
    assert_int_equal(row.registers, 110);
    assert_int_equal(row.spill_bytes, -1);
}

static void nothing_known(void **state)
{
    struct sab_kernel kernel = {.op = "sage_fwd", .name = "mma"};
    struct library lib = {0};
    struct case_row row;

    (void)state;
    assert_int_equal(fill("sage_fwd", "mma", 100).registers, -1);
    assert_int_equal(fill("sage_fwd", "mma", 9).registers, -1);
    assert_int_equal(fill("sage_fwd", "wgmma", 90).registers, -1);
    assert_int_equal(fill("bsa_fwd", "mma", 90).registers, -1);
    assert_int_equal(fill("sage_fwd", "cpu", 0).registers, -1);
    case_row_init(&row);
    resources_fill(&lib, &kernel, 90, &row);
    assert_int_equal(row.registers, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_of_a_kernels_functions),
        cmocka_unit_test(operators_are_told_apart),
        cmocka_unit_test(arguments_tell_where_names_do_not),
        cmocka_unit_test(nothing_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
