#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
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

static void reads_sections(void **state)
{
    static const char text[] = "\xef\xbb\xbf; a comment\r\n"
                               "  [global] ; behind\r\n"
                               "rounds = 2x40\t# note\r\n"
                               "empty =\r\n"
                               "hash = a#b;c\r\n"
                               "\r\n"
                               "[ sweep  my-sage.2 ]\r\n"
                               "heads : head_dim = 64:512, 128:576\r\n"
                               "where = seqlen * batch <= 1m\r\n"
                               "[gate]\r\n"
                               "unsure=fail";
    const struct ini_entry *entry;
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    assert_int_equal(read_text(&ini, text, &err), 0);
    assert_int_equal(ini.nr, 3);
    assert_string_equal(value_of(&ini, "global", NULL, "rounds"), "2x40");
    assert_string_equal(value_of(&ini, "global", "", "empty"), "");
    assert_string_equal(value_of(&ini, "global", "", "hash"), "a#b;c");
    assert_string_equal(value_of(&ini, "sweep", "my-sage.2", "heads:head_dim"), "64:512, 128:576");
    assert_string_equal(value_of(&ini, "sweep", "my-sage.2", "where"), "seqlen * batch <= 1m");
    assert_string_equal(value_of(&ini, "gate", "", "unsure"), "fail");
    assert_null(value_of(&ini, "gate", "", "slower"));
    assert_null(value_of(&ini, "arm", "x", "slower"));
    entry = ini_lookup(&ini, "sweep", "my-sage.2", "where");
    assert_string_equal(entry->file, "x.ini");
    assert_int_equal(entry->line, 9);
    assert_int_equal(ini_find(&ini, "sweep", "my-sage.2")->line, 7);
    ini_error(&err, entry, "the value '%s' is no good", entry->value);
    assert_string_equal(err.text, "x.ini:9: the value 'seqlen * batch <= 1m' is no good");
    ini_release(&ini);
}

static void expands_and_quotes(void **state)
{
    static const char text[] = "[arm a]\n"
                               "library = ${SAB_TEST_DIR}/lib/${SAB_TEST_DIR}.so ; c\n"
                               "odd = ${SAB_TEST_ODD}\n"
                               "price = 5$ $x\n"
                               "quoted = \"a ; b \\\"c\\\" \\${X} ${SAB_TEST_DIR} \\\\ \" # c\n";
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    setenv("SAB_TEST_DIR", "/b", 1);
    setenv("SAB_TEST_ODD", " # ${HOME} \"", 1);
    assert_int_equal(read_text(&ini, text, &err), 0);
    assert_string_equal(value_of(&ini, "arm", "a", "library"), "/b/lib//b.so");
    assert_string_equal(value_of(&ini, "arm", "a", "odd"), " # ${HOME} \"");
    assert_string_equal(value_of(&ini, "arm", "a", "price"), "5$ $x");
    assert_string_equal(value_of(&ini, "arm", "a", "quoted"), "a ; b \"c\" ${X} /b \\ ");
    ini_release(&ini);
}

static void refuses(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } bad[] = {
        {"a = 1\n", "x.ini:1: 'a' is set before any section, expected [global]"},
        {"[global]\nfoo bar\n", "x.ini:2: expected 'key = value' or a section, found 'foo bar'"},
        {"[global]\nfoo ; a = b\n", "x.ini:2: expected 'key = value' or a section, found 'foo'"},
        {"[global]\na = 1\n\na = 2\n", "x.ini:4: 'a' is set in this section already, at line 2"},
        {"[arm x]\n[gate]\n[arm x]\n", "x.ini:3: [arm x] stands in this file already, at line 1"},
        {"[]\n", "x.ini:1: an empty section name, expected one such as [sweep NAME]"},
        {"[  ]\n", "x.ini:1: an empty section name, expected one such as [sweep NAME]"},
        {"[arm]\n", "x.ini:1: [arm] needs a name, as in [arm NAME]"},
        {"[global x]\n", "x.ini:1: [global] takes no name, found 'x'"},
        {"[swep x]\n", "x.ini:1: no section is called 'swep', did you mean 'sweep'"},
        {"[arm a b]\n",
         "x.ini:1: [arm a b] has a name with white space or one of '[ ] \" , =' in it"},
        {"[arm a\n", "x.ini:1: a section header without its ']'"},
        {"[arm a] b\n", "x.ini:1: text behind a section header"},
        {"[global]\n= 1\n", "x.ini:2: a value without a key, expected 'key = value'"},
        {"[global]\na b = 1\n", "x.ini:2: 'a b' cannot be a key, which holds only letters, "
                                "digits, '_', '-' and ':'"},
        {"[global]\na = ${SAB_TEST_UNSET}\n",
         "x.ini:2: the environment variable 'SAB_TEST_UNSET' is not set"},
        {"[global]\na = ${SAB\n", "x.ini:2: '${' without its '}'"},
        {"[global]\na = ${}\n", "x.ini:2: '${}' is not the name of a variable"},
        {"[global]\na = ${1 x}\n", "x.ini:2: '${1 x}' is not the name of a variable"},
        {"[global]\na = ${SAB_TEST_BELL}\n", "x.ini:2: the environment variable 'SAB_TEST_BELL': "
                                             "a value with the control byte 0x0a in it"},
        {"[global]\na = \"b\n", "x.ini:2: a quote without its end"},
        {"[global]\na = \"b\" c\n", "x.ini:2: text behind the closing quote"},
        {"[global]\na = \"\\n\"\n", "x.ini:2: a '\\' in quotes that is not \\\", \\\\ or \\$"},
        {"[global]\na = \"\\", "x.ini:2: a '\\' in quotes that is not \\\", \\\\ or \\$"},
        {"[global]\na = b\rc\n", "x.ini:2: the control byte 0x0d: not a text file"},
        {"\177ELF\n", "x.ini:1: the control byte 0x7f: not a text file"},
        {"include\n", "x.ini:1: include without a file"},
        {"include = ; nothing\n", "x.ini:1: include without a file"},
        {"include no/such.ini\n", "x.ini:1: cannot read 'no/such.ini': No such file or directory"},
        {"include /\n", "x.ini:1: cannot read '/': it is a folder"},
    };
    struct err err = ERR_INIT;
    struct ini ini;
    size_t i;

    (void)state;
    unsetenv("SAB_TEST_UNSET");
    setenv("SAB_TEST_BELL", "a\nb", 1);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err_clear(&err);
        assert_int_equal(read_text(&ini, bad[i].text, &err), -1);
        assert_string_equal(err.text, bad[i].message);
        assert_int_equal(err.kind, ERR_CONFIG);
        ini_release(&ini);
    }
    ini_init(&ini);
    assert_int_equal(ini_read_text(&ini, "n", "[global]\na = \0b\n", 17, &err), -1);
    assert_string_equal(err.text, "n:2: the control byte 0x00: not a text file");
    ini_release(&ini);
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "no-such.ini", &err), -1);
    assert_string_equal(err.text, "cannot read 'no-such.ini': No such file or directory");
    assert_int_equal(ini_read_file(&ini, ".", &err), -1);
    assert_string_equal(err.text, "cannot read '.': it is a folder");
    ini_release(&ini);
}

static void empty_texts(void **state)
{
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    assert_int_equal(read_text(&ini, "", &err), 0);
    assert_int_equal(ini.nr, 0);
    ini_release(&ini);
    assert_int_equal(read_text(&ini, "\n  \n;\n#", &err), 0);
    ini_release(&ini);
    assert_int_equal(read_text(&ini, "\xef\xbb\xbf", &err), 0);
    ini_release(&ini);
}

static void long_lines(void **state)
{
    size_t len = 1 << 20;
    char *text = malloc(len + 1);
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    assert_non_null(text);
    memset(text, 'v', len);
    text[len] = '\0';
    memcpy(text, "[global]\nk=", 11);
    assert_int_equal(read_text(&ini, text, &err), 0);
    assert_int_equal(strlen(value_of(&ini, "global", "", "k")), len - 11);
    ini_release(&ini);
    memset(text, '[', len);
    assert_int_equal(read_text(&ini, text, &err), -1);
    ini_release(&ini);
    text[len - 1] = ']';
    assert_int_equal(read_text(&ini, text, &err), -1);
    ini_release(&ini);
    free(text);
}

/* Work happens in a folder of its own. */
static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-ini-XXXXXX");

    *state = dir;
    return dir && mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[100];

    snprintf(command, sizeof(command), "rm -r '%s'", (char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

static void put(const char *path, const char *text)
{
    struct err err = ERR_INIT;

    assert_int_equal(file_write(path, text, strlen(text), &err), 0);
}

static void includes(void **state)
{
    const struct ini_entry *entry;
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    mkdir("sub", 0777);
    put("main.ini", "include = sub/arms.ini\n[global]\nrounds = 2x4\ninclude sub/arms.ini\n"
                    "max_time = 5\n[sweep s]\nbatch = 1\n");
    put("sub/arms.ini", "include \"../common.ini\" ; quotes are fine\n[arm a]\nkernel = k\n");
    put("common.ini", "[global]\nrounds = 1x1\npace = burst\n");
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "main.ini", &err), 0);
    assert_string_equal(value_of(&ini, "global", "", "rounds"), "2x4");
    assert_string_equal(value_of(&ini, "global", "", "max_time"), "5");
    entry = ini_lookup(&ini, "global", "", "rounds");
    assert_string_equal(entry->file, "main.ini");
    assert_int_equal(entry->line, 3);
    entry = ini_lookup(&ini, "global", "", "pace");
    assert_string_equal(entry->file, "sub/../common.ini");
    assert_int_equal(entry->line, 3);
    assert_int_equal(ini_lookup(&ini, "arm", "a", "kernel")->line, 3);
    ini_release(&ini);
}

static void include_loops(void **state)
{
    struct err err = ERR_INIT;
    struct ini ini;

    (void)state;
    put("a.ini", "\ninclude b.ini\n");
    put("b.ini", "include = ./a.ini\n");
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "a.ini", &err), -1);
    assert_string_equal(err.text, "b.ini:1: an include loop: a.ini -> b.ini -> a.ini");
    ini_release(&ini);
    put("self.ini", "include self.ini\n");
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "self.ini", &err), -1);
    assert_string_equal(err.text, "self.ini:1: an include loop: self.ini -> self.ini");
    ini_release(&ini);
    put("c.ini", "[global]\ninclude d.ini\n");
    put("d.ini", "[gate]\nnonsense\n");
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "c.ini", &err), -1);
    assert_string_equal(err.text, "d.ini:2: expected 'key = value' or a section, found 'nonsense'");
    ini_release(&ini);
}

static void too_deep(void **state)
{
    struct err err = ERR_INIT;
    char name[32], text[64];
    struct ini ini;
    int i;

    (void)state;
    for (i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "n%d.ini", i);
        snprintf(text, sizeof(text), "include n%d.ini\n", i + 1);
        put(name, text);
    }
    ini_init(&ini);
    assert_int_equal(ini_read_file(&ini, "n0.ini", &err), -1);
    assert_non_null(strstr(err.text, "n64.ini:1: includes nested more than 64 deep"));
    ini_release(&ini);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_sections),
        cmocka_unit_test(expands_and_quotes),
        cmocka_unit_test(refuses),
        cmocka_unit_test(empty_texts),
        cmocka_unit_test(long_lines),
        cmocka_unit_test_setup_teardown(includes, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(include_loops, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(too_deep, enter_folder, leave_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
