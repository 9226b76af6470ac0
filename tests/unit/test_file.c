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
#include "sha256.h"

static int enter_folder(void **state)
{
    char *dir = strdup("/tmp/sab-test-file-XXXXXX");

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

static void expect_content(const char *path, const char *text)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(file_read(path, &sb, 1 << 20, &err), 0);
    assert_string_equal(sb.buf, text);
    strbuf_release(&sb);
}

static void writes_and_reads(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct stat st;

    (void)state;
    umask(022);
    assert_int_equal(file_write("a", "one", 3, &err), 0);
    expect_content("a", "one");
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(file_write("a", "", 0, &err), 0);
    expect_content("a", "");
    assert_int_equal(file_append("a", "x\n", 2, &err), 0);
    assert_int_equal(file_append("new", "y", 1, &err), 0);
    assert_int_equal(file_append("a", "yy", 2, &err), 0);
    expect_content("a", "x\nyy");
    assert_int_equal(file_truncate("a", 2, &err), 0);
    expect_content("a", "x\n");
    assert_int_equal(chmod("a", 0755), 0);
    assert_int_equal(file_copy("a", "b", &err), 0);
    expect_content("b", "x\n");
    assert_int_equal(stat("b", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_int_equal(file_read("a", &sb, 1, &err), -1);
    assert_string_equal(err.text, "cannot read 'a': it is larger than 1 bytes");
    strbuf_release(&sb);
}

static void refuses(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    char hex[65];

    (void)state;
    assert_int_equal(file_read("none", &sb, 10, &err), -1);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, "cannot read 'none': No such file or directory");
    assert_int_equal(file_read(".", &sb, 10, &err), -1);
    assert_string_equal(err.text, "cannot read '.': it is a folder");
    assert_int_equal(file_sha256(".", hex, &err), -1);
    assert_int_equal(file_write("no/such/file", "x", 1, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_string_equal(err.text, "cannot write 'no/such/file': No such file or directory");
    assert_int_equal(mkdir("dir", 0777), 0);
    assert_int_equal(file_write("dir", "x", 1, &err), -1);
    assert_int_equal(file_append("dir", "x", 1, &err), -1);
    assert_int_equal(file_truncate("none", 0, &err), -1);
    assert_int_equal(file_copy("none", "x", &err), -1);
    assert_false(file_exists("x"));
    assert_int_equal(system("test \"$(ls)\" = dir"), 0);
    strbuf_release(&sb);
}

static void says_disk_full(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    if (!file_exists("/dev/full"))
        skip();
    assert_int_equal(file_append("/dev/full", "x", 1, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_string_equal(err.text, "cannot append to '/dev/full': disk full");
}

static void folders(void **state)
{
    struct err err = ERR_INIT;
    uint64_t bytes = 0;

    (void)state;
    assert_int_equal(file_mkdirs("a//b/c/", &err), 0);
    assert_true(file_is_dir("a/b/c"));
    assert_int_equal(file_mkdirs("a/b", &err), 0);
    assert_int_equal(file_mkdirs("/", &err), 0);
    assert_int_equal(file_mkdirs(".", &err), 0);
    assert_int_equal(file_mkdirs("", &err), -1);
    assert_int_equal(file_write("a/f", "x", 1, &err), 0);
    assert_int_equal(file_mkdirs("a/f", &err), -1);
    assert_string_equal(err.text, "cannot make the folder 'a/f': a file has that name");
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    assert_int_equal(file_mkdirs("a/f/g", &err), -1);
    assert_true(file_exists("a/f"));
    assert_false(file_is_dir("a/f"));
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_true(file_exists("link"));
    assert_int_equal(file_free_bytes("not/there/yet", &bytes, &err), 0);
    assert_true(bytes > 0);
    assert_int_equal(file_free_bytes("", &bytes, &err), 0);
    assert_int_equal(file_free_bytes("/not/there", &bytes, &err), 0);
}

static void check_dir(const char *path, const char *dir, const char *base)
{
    struct strbuf sb = STRBUF_INIT;

    file_add_dir(&sb, path);
    assert_string_equal(sb.buf, dir);
    assert_string_equal(file_base(path), base);
    strbuf_release(&sb);
}

static void check_path(const char *dir, const char *name, const char *path)
{
    struct strbuf sb = STRBUF_INIT;

    file_add_path(&sb, dir, name);
    assert_string_equal(sb.buf, path);
    strbuf_release(&sb);
}

static void paths(void **state)
{
    (void)state;
    check_dir("a/b/c", "a/b", "c");
    check_dir("a", "", "a");
    check_dir("/a", "/", "a");
    check_dir("a//b", "a", "b");
    check_dir("", "", "");
    check_path("a", "b", "a/b");
    check_path("a/", "b", "a/b");
    check_path("", "b", "b");
    check_path("a", "/b", "/b");
}

/* The examples that NIST publishes for FIPS 180-4, and the empty message. */
static void sha256_vectors(void **state)
{
    static const struct {
        const char *message, *hash;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    struct sha256 sha;
    char hex[65];
    int i;

    (void)state;
    for (i = 0; i < 4; i++) {
        sha256_of(vectors[i].message, strlen(vectors[i].message), hex);
        assert_string_equal(hex, vectors[i].hash);
    }
    sha256_init(&sha);
    for (i = 0; i < 1000000; i++)
        sha256_add(&sha, "a", 1);
    sha256_hex(&sha, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The parts in which a message arrives do not matter. */
static void sha256_in_parts(void **state)
{
    char data[300], whole[65], parts[65];
    struct err err = ERR_INIT;
    struct sha256 sha;
    size_t len, cut;

    (void)state;
    memset(data, 'z', sizeof(data));
    for (len = 0; len <= sizeof(data); len += 7) {
        sha256_of(data, len, whole);
        for (cut = 0; cut <= len; cut += 13) {
            sha256_init(&sha);
            sha256_add(&sha, data, cut);
            sha256_add(&sha, data + cut, len - cut);
            sha256_hex(&sha, parts);
            assert_string_equal(parts, whole);
        }
        assert_int_equal(file_write("data", data, len, &err), 0);
        assert_int_equal(file_sha256("data", parts, &err), 0);
        assert_string_equal(parts, whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_reads, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(refuses, enter_folder, leave_folder),
        cmocka_unit_test(says_disk_full),
        cmocka_unit_test_setup_teardown(folders, enter_folder, leave_folder),
        cmocka_unit_test(paths),
        cmocka_unit_test(sha256_vectors),
        cmocka_unit_test_setup_teardown(sha256_in_parts, enter_folder, leave_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
