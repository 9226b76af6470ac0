#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ini.h"

static const char *value_of(const struct ini *ini, const char *kind, const char *name,
                            const char *key)
{
    const struct ini_entry *entry = ini_lookup(ini, kind, name, key);

    return entry ? entry->value : NULL;
}

static int read_text(struct ini *ini, const char *text, struct err *err)
{
    ini_init(ini);
    return ini_read_text(ini, "x.ini", text, strlen(text), err);
}

static void flags(void **state)
{
    static const char text[] =
        "[global]\nrounds = 5x24\n[arm a]\nkernel = x\ndensity = 1\n[arm b]\n"
        "kernel = y\n[sweep s.1]\ndensity = 0.2\nrounds = 1x1\n";
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    assert_int_equal(read_text(&ini, text, &err), 0);
    assert_int_equal(ini_set_flag(&ini, "rounds", "2x40", &err), 0);
    assert_string_equal(value_of(&ini, "global", "", "rounds"), "2x40");
    assert_string_equal(value_of(&ini, "sweep", "s.1", "rounds"), "2x40");
    assert_string_equal(ini_lookup(&ini, "sweep", "s.1", "rounds")->file, "command line");
    assert_int_equal(ini_set_flag(&ini, "density", "0.5", &err), 0);
    assert_string_equal(value_of(&ini, "sweep", "s.1", "density"), "0.5");
    assert_string_equal(value_of(&ini, "arm", "a", "density"), "1");
    assert_int_equal(ini_set_flag(&ini, "sweep.s.1.batch", "1,8", &err), 0);
    assert_string_equal(value_of(&ini, "sweep", "s.1", "batch"), "1,8");
    assert_int_equal(ini_set_flag(&ini, "gate.slower", "2%", &err), 0);
    assert_string_equal(value_of(&ini, "gate", "", "slower"), "2%");
    assert_int_equal(ini_set(&ini, "arm", "new", "kernel", "z", &err), 0);
    assert_int_equal(ini_set_flag(&ini, "kernel", "q", &err), -1);
    assert_string_equal(err.text, "'--kernel' would change nothing: every arm sets it; use "
                                  "'--arm.new.kernel'");
    assert_int_equal(ini_set_flag(&ini, "sweep.s1.batch", "1", &err), -1);
    assert_string_equal(err.text, "'--sweep.s1.batch': no section [sweep s1], did you mean "
                                  "[sweep s.1]");
    assert_int_equal(ini_set_flag(&ini, "pipeline.p.steps", "1", &err), -1);
    assert_string_equal(err.text, "'--pipeline.p.steps': no section [pipeline p] in the "
                                  "configuration");
    assert_int_equal(ini_set_flag(&ini, "arm.kernel", "1", &err), -1);
    assert_string_equal(err.text, "'--arm.kernel': [arm] needs a name, as in [arm NAME]");
    assert_int_equal(ini_set_flag(&ini, "swep.s.x", "1", &err), -1);
    assert_int_equal(ini_set_flag(&ini, ".", "1", &err), -1);
    assert_int_equal(ini_set_flag(&ini, "gate.", "1", &err), -1);
    assert_int_equal(ini_set_flag(&ini, "gate.slower", "1\n2", &err), -1);
    assert_string_equal(err.text, "a value with the control byte 0x0a in it");
    ini_error(&err, ini_lookup(&ini, "gate", "", "slower"), "%s", "bad");
    assert_string_equal(err.text, "command line: bad");
    ini_release(&ini);
}

static void writes_what_it_reads(void **state)
{
    static const char *const values[] = {
        "",     "plain", " ; ",    "a ;b",  ";x", "#",     "a;b",          "\"q\"",
        "${X}", "\\",    "\\ ${Y", "  sp ", "\t", "a=b=c", "\xc3\xa9\xff", "a \"b\" \\c #d",
    };
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct ini a, b;
    char key[16];
    size_t i;

    (void)state;
    ini_init(&a);
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        assert_int_equal(
            ini_set(&a, i % 2 ? "global" : "arm", i % 2 ? "" : "x;y.#", key, values[i], &err), 0);
    }
    assert_int_equal(ini_set(&a, "gate", NULL, "heads:head_dim", "1", &err), 0);
    ini_write(&a, &first);
    assert_int_equal(read_text(&b, first.buf, &err), 0);
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        snprintf(key, sizeof(key), "k%zu", i);
        assert_string_equal(value_of(&b, i % 2 ? "global" : "arm", i % 2 ? "" : "x;y.#", key),
                            values[i]);
    }
    ini_write(&b, &second);
    assert_string_equal(first.buf, second.buf);
    strbuf_release(&first);
    strbuf_release(&second);
    ini_release(&a);
    ini_release(&b);
}

/* Mutations of a valid text: whatever happens, no crash, and what is accepted round-trips. */
static void survives_noise(void **state)
{
    static const char base[] = "[global]\na = \"x\\\"${HOME}\" ; c\n[arm b]\nk:l = 1 # c\n";
    uint64_t bits = 1;
    int i;

    (void)state;
    for (i = 0; i < 20000; i++) {
        char text[sizeof(base)];
        struct err err = ERR_INIT;
        struct ini a, b;
        int j;

        memcpy(text, base, sizeof(base));
        for (j = 0; j < 3; j++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            text[(bits >> 33) % (sizeof(base) - 1)] = "[]\"\\${}=;# \n\tx:\xff"[(bits >> 50) % 16];
        }
        ini_init(&a);
        if (!ini_read_text(&a, "a", text, sizeof(base) - 1, &err)) {
            struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;

            ini_write(&a, &first);
            ini_init(&b);
            assert_int_equal(ini_read_text(&b, "b", first.buf, first.len, &err), 0);
            ini_write(&b, &second);
            assert_string_equal(first.buf, second.buf);
            strbuf_release(&first);
            strbuf_release(&second);
            ini_release(&b);
        } else {
            assert_int_equal(err.kind, ERR_CONFIG);
        }
        ini_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(survives_noise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
