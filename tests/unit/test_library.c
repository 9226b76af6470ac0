/*
 * test_library.c - the loader: what it accepts, and each refusal with the words that name the rule.
 * FIXTURE_DIR is the folder of the libraries that tests/fixtures builds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "file.h"
#include "library.h"

static const char *fixture(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/libfixture_%s.so", FIXTURE_DIR, name);
    return path;
}

static void test_refusals(void **state)
{
    static const struct {
        const char *name;
        const char *words;
    } rows[] = {
        {"newer_abi", "has ABI version 2, this program has 1"},
        {"struct_size", "struct sab_problem of 8 bytes"},
        {"row_size", "kernel row of 8 bytes at place 0"},
        {"no_table", "returns no table"},
        {"null_hook", "has no free in null/cpu"},
        {"null_row", "null kernel at place 1"},
        {"duplicate", "has the kernel null/cpu twice"},
        {"bad_name", "has the kernel name 'Not a name'"},
        {"no_default", "has 0 defaults in option 'way'"},
        {"two_defaults", "has 2 defaults in option 'way'"},
        {"unnamed_hazard",
         "has the unsafe choice 'slow' of option 'way' of null/cpu without a hazard"},
        {"safe_hazard",
         "has hazards in the choice 'slow' of option 'way' of null/cpu: flag it unsafe"},
        {"two_symbols", "exports 'fixture_helper_of_its_own' beside sab_library"},
        {"no_symbol", "does not export sab_library"},
        {"undefined", "does not load"},
        {"unique", "process-unique symbol"},
        {"needs_helper", "needs 'libfixture_helper.so'"},
        {"not_elf", "is not an ELF file"},
        {"of_no_one", "does not exist"},
    };
    char path[512];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct library lib;
        struct err err = ERR_INIT;

        assert_int_equal(library_open(&lib, fixture(rows[i].name, path, sizeof(path)), &err), -1);
        if (!strstr(err.text, rows[i].words))
            print_error("%s: %s\n", rows[i].name, err.text);
        assert_non_null(strstr(err.text, rows[i].words));
        assert_non_null(strstr(err.text, path));
        assert_int_equal(err.kind, ERR_CONFIG);
    }
}

static void test_paths(void **state)
{
    struct library lib;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_open(&lib, "build/lib/libsab_null.so", &err), -1);
    assert_non_null(strstr(err.text, "not an absolute path"));
    assert_int_equal(library_open(&lib, "/", &err), -1);
    assert_non_null(strstr(err.text, "is a folder"));
}

/* A good file cut short or with bytes changed is refused, never followed out of its end. */
static void test_damaged(void **state)
{
    char path[512], hurt[512];
    struct strbuf bytes = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct library lib;

    (void)state;
    assert_int_equal(file_read(fixture("good", path, sizeof(path)), &bytes, 1 << 26, &err), 0);
    snprintf(hurt, sizeof(hurt), "%s/hurt-%ld.so", FIXTURE_DIR, (long)getpid());
    for (size_t len = 0; len < bytes.len; len += bytes.len / 23 + 1) {
        assert_int_equal(file_write(hurt, bytes.buf, len, &err), 0);
        assert_int_equal(library_open(&lib, hurt, &err), -1);
    }
    bytes.buf[18] = 8; /* e_machine: MIPS */
    assert_int_equal(file_write(hurt, bytes.buf, bytes.len, &err), 0);
    assert_int_equal(library_open(&lib, hurt, &err), -1);
    assert_non_null(strstr(err.text, "another machine"));
    unlink(hurt);
    strbuf_release(&bytes);
}

static void test_good(void **state)
{
    char path[512];
    struct library lib;
    struct err err = ERR_INIT;
    const struct library_kernel *kernel;
    uint32_t choices[SAB_MAX_OPTIONS];

    (void)state;
    assert_int_equal(library_open(&lib, fixture("good", path, sizeof(path)), &err), 0);
    assert_int_equal(lib.kernels_nr, 1);
    assert_int_equal(lib.notes.nr, 0);
    assert_int_equal(strlen(lib.sha256), 64);
    assert_non_null(strstr(lib.resources, "registers=0"));
    kernel = library_find(&lib, "null/cpu", &err);
    assert_non_null(kernel);
    assert_ptr_equal(kernel, library_find_kernel(&lib, "null", "cpu", &err));
    assert_int_equal(library_find_option(kernel->row, "way", &err), 0);
    assert_int_equal(library_find_choice(&kernel->row->options[0], "slow", &err), 1);
    library_default_choices(kernel->row, choices);
    assert_int_equal(choices[0], 0);
    assert_true(library_kernel_knows(kernel, -1, -1));
    assert_false(library_kernel_knows(kernel, 0, -1));

    assert_null(library_find(&lib, "null/cpi", &err));
    assert_non_null(strstr(err.text, "'null/cpu'"));
    assert_null(library_find(&lib, "cpu", &err));
    assert_non_null(strstr(err.text, "operator/name"));
    assert_int_equal(library_find_option(kernel->row, "wy", &err), -1);
    assert_non_null(strstr(err.text, "'way'"));
    assert_int_equal(library_find_option(kernel->row, "descriptor", &err), -1);
    assert_non_null(strstr(err.text, "there are: way"));
    assert_int_equal(library_find_choice(&kernel->row->options[0], "fst", &err), -1);
    assert_non_null(strstr(err.text, "'fast'"));
    library_close(&lib);
}

static void test_notes(void **state)
{
    char path[512];
    struct library lib;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_open(&lib, fixture("unknown_op", path, sizeof(path)), &err), 0);
    assert_int_equal(lib.kernels_nr, 1);
    assert_int_equal(lib.notes.nr, 1);
    assert_non_null(strstr(lib.notes.items[0], "from_the_future/cpu"));
    library_close(&lib);

    assert_int_equal(library_open(&lib, fixture("wrong_hash", path, sizeof(path)), &err), 0);
    assert_non_null(library_find(&lib, "null/cpu", &err));
    assert_null(library_find(&lib, "null/strange", &err));
    assert_non_null(strstr(err.text, "0000000000001234"));
    library_close(&lib);

    assert_int_equal(library_open(&lib, fixture("longer_lists", path, sizeof(path)), &err), 0);
    assert_null(library_find(&lib, "null/strange", &err));
    assert_non_null(strstr(err.text, "1 tensors"));
    library_close(&lib);
}

static const char *launched(const struct library *lib, char *text, size_t size)
{
    struct sab_message msg = {text, size};

    assert_int_equal(lib->kernels[0].row->launch(NULL, NULL, &msg), SAB_OK);
    return text;
}

static void test_copies(void **state)
{
    char path[512], dir[512], text[32], stale[600];
    struct library a, b, c;
    struct err err = ERR_INIT;
    pid_t gone;

    (void)state;
    fixture("good", path, sizeof(path));
    snprintf(dir, sizeof(dir), "%s/copies-%ld", FIXTURE_DIR, (long)getpid());
    assert_int_equal(library_open(&a, path, &err), 0);
    assert_int_equal(library_open_copy(&b, path, NULL, dir, &err), 0);
    assert_int_equal(library_open_copy(&c, path, a.sha256, dir, &err), 0);
    assert_string_equal(a.sha256, b.sha256);
    assert_string_equal(b.path, path);
    assert_true(file_exists(b.copy_path));
    assert_non_null(b.resources);
    launched(&a, text, sizeof(text));
    launched(&b, text, sizeof(text));
    assert_string_equal(launched(&b, text, sizeof(text)), "2");
    assert_string_equal(launched(&c, text, sizeof(text)), "1");
    assert_int_equal(library_sweep_stale(dir), 0); /* this process lives */
    library_close(&a);
    library_close(&b);
    library_close(&c);

    /* A child that is gone has left a copy. */
    gone = fork();
    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    snprintf(stale, sizeof(stale), "%s/sab-copy-%ld-abcdef", dir, (long)gone);
    assert_int_equal(mkdir(stale, 0700), 0);
    snprintf(stale + strlen(stale), sizeof(stale) - strlen(stale), "/lib.so");
    assert_int_equal(file_write(stale, "x", 1, &err), 0);
    assert_int_equal(library_sweep_stale(dir), 1);
    assert_false(file_exists(stale));
    assert_int_equal(rmdir(dir), 0); /* nothing is left */
    assert_int_equal(library_sweep_stale(dir), 0);
}

static void assert_replaced(const char *path, const char *sha256)
{
    struct library lib;
    struct err err = ERR_INIT;

    assert_int_equal(library_open_same(&lib, path, sha256, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "was replaced while the run went on"));
    assert_null(lib.path);
}

static void test_replaced(void **state)
{
    char good[512], own[600], dir[600], hash[65];
    struct library lib;
    struct err err = ERR_INIT;

    (void)state;
    fixture("good", good, sizeof(good));
    snprintf(own, sizeof(own), "%s/own-%ld.so", FIXTURE_DIR, (long)getpid());
    snprintf(dir, sizeof(dir), "%s/own-%ld", FIXTURE_DIR, (long)getpid());
    assert_int_equal(file_copy(good, own, &err), 0);
    assert_int_equal(file_sha256(own, hash, &err), 0);
    /* Another file with the same bytes is the same library. */
    assert_int_equal(file_copy(good, own, &err), 0);
    assert_int_equal(library_open_same(&lib, own, hash, &err), 0);
    assert_string_equal(lib.sha256, hash);
    library_close(&lib);
    /* Half of one, as while it is linked; and none. */
    assert_int_equal(file_write(own, "\177ELF", 4, &err), 0);
    assert_replaced(own, hash);
    assert_int_equal(library_open_copy(&lib, own, hash, dir, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_int_equal(rmdir(dir), 0); /* nothing is left */
    assert_int_equal(unlink(own), 0);
    assert_replaced(own, hash);
}

static void test_behaviour(void **state)
{
    char path[512];
    struct library lib;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_open(&lib, fixture("behaviour", path, sizeof(path)), &err), 0);
    assert_int_equal(lib.notes.nr, 0);
    assert_non_null(library_find(&lib, "sage_fwd/misses_tile", &err));
    library_close(&lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_damaged),  cmocka_unit_test(test_good),
        cmocka_unit_test(test_notes),    cmocka_unit_test(test_copies),
        cmocka_unit_test(test_replaced), cmocka_unit_test(test_behaviour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
