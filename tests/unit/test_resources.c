#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "resources.h"

/* Names as nvcc mangles them; figures chosen by hand. */
static char text[] =
    "# a comment registers=999\n"
    "arch=90a registers=110 stack=8 spill=? shared=2048 constant=688 sha256=00 name="
    "_ZN45_GLOBAL__N__dd6f25d6_12_reference_cu_4657dc7316reference_kernelE9sage_call\n"
    "arch=90a registers=164 stack=0 spill=0 shared=1024 constant=1152 sha256=01 name="
    "_ZN4sage10mma_kernelINS_3keyILi0ELi0EEEEEv13sage_mma_args\n"
    "arch=90a registers=23 stack=16 spill=12 shared=0 constant=1152 sha256=02 name="
    "_ZN4sage10mma_kernelINS_3keyILi0ELi1EEEEEv13sage_mma_args\n"
    "arch=90a registers=255 stack=0 spill=0 shared=0 constant=1152 sha256=02 name="
    "_ZN4sage12wgmma_kernelINS_3keyILi0ELi1EEEEEv13sage_mma_args\n"
    "arch=120a registers=200 stack=0 spill=0 shared=1024 constant=1152 sha256=03 name="
    "_ZN4sage10mma_kernelINS_3keyILi0ELi0EEEEEv13sage_mma_args\n"
    "arch=90a registers=77 stack=0 spill=0 shared=0 constant=1 sha256=04 name="
    "_Z18dsa_fwd_mma_kernel4args\n"
    "arch=90 registers=88 stack=0 spill=0 shared=0 constant=1 sha256=05 name=dsa_bwd_mma_kernel\n"
    "arch=90a registers=254 stack=0 spill=0 shared=0 constant=1 sha256=06 name=_ZN999x\n"
    "arch=90a registers=253 stack=0 spill=0 shared=0 constant=1 sha256=07 name=\n"
    "arch=90a registers=252 name";

static struct case_row fill(const char *op, const char *name, int arch)
{
    struct sab_kernel kernel = {.op = op, .name = name};
    struct library lib = {.resources = text};
    struct case_row row;

    case_row_init(&row);
    resources_fill(&lib, &kernel, arch, &row, NULL);
    return row;
}

static void largest_of_a_kernels_functions(void **state)
{
    struct case_row row = fill("sage_fwd", "mma", 90);

    (void)state;
    assert_int_equal(row.registers, 164);
    assert_int_equal(row.spill_bytes, 12);
    assert_int_equal(row.shared_bytes, 1024);
    assert_int_equal(row.local_bytes, 16);
    assert_int_equal(fill("sage_fwd", "mma", 120).registers, 200);
    assert_int_equal(fill("sage_fwd", "wgmma", 90).registers, 255);
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
    assert_int_equal(fill("sage_fwd", "tma", 90).registers, -1);
    assert_int_equal(fill("bsa_fwd", "mma", 90).registers, -1);
    assert_int_equal(fill("sage_fwd", "cpu", 0).registers, -1);
    case_row_init(&row);
    resources_fill(&lib, &kernel, 90, &row, NULL);
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
