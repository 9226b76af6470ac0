#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "rng.h"
#include "strbuf.h"

/* The build's tool, from outside, on files made here by hand and on the library of this build. */
#define TOOL        LIBRARY_DIR "/../tools/cubin_usage"
#define LIBRARY     LIBRARY_DIR "/libsab_kernels.so"
#define LIMIT_BYTES ((size_t)1 << 30)

/* FIPS 180-4's examples, published with it: one block and two. */
#define CODE_A "abc"
#define HASH_A "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define CODE_B "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
#define HASH_B "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"

#define LINE_A                                                                                     \
    "arch=90a registers=40 stack=0 spill=0 shared=256 constant=528 sha256=" HASH_A " name=alpha\n"
#define LINE_B                                                                                     \
    "arch=90a registers=168 stack=48 spill=48 shared=0 constant=0 sha256=" HASH_B " name=beta\n"

/* ---- a small cubin ---- */

struct part {
    const char *name;
    uint32_t type, link;
    const void *data;
    uint64_t size;
};

/* Header, the parts, their names, the section table; part i is section i + 1. */
static void add_elf(struct strbuf *sb, uint16_t machine, uint32_t flags, const struct part *parts,
                    size_t nr)
{
    Elf64_Ehdr head = {.e_machine = machine, .e_flags = flags, .e_shentsize = sizeof(Elf64_Shdr)};
    Elf64_Shdr table[16] = {{0}};
    struct strbuf names = STRBUF_INIT;
    size_t begin = sb->len;

    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_ABIVERSION] = 8;
    head.e_shnum = (Elf64_Half)(nr + 2);
    head.e_shstrndx = (Elf64_Half)(nr + 1);
    strbuf_add(sb, &head, sizeof(head));
    strbuf_addch(&names, '\0');
    for (size_t i = 0; i <= nr; i++) {
        struct part p = i < nr ? parts[i] : (struct part){".shstrtab", SHT_STRTAB, 0, NULL, 0};

        table[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)names.len,
                                    .sh_type = p.type,
                                    .sh_link = p.link,
                                    .sh_offset = sb->len - begin,
                                    .sh_size = p.size};
        strbuf_add(&names, p.name, strlen(p.name) + 1);
        if (i == nr) {
            table[i + 1].sh_size = names.len;
            strbuf_add(sb, names.buf, names.len);
        } else if (p.type != SHT_NOBITS && p.size) {
            strbuf_add(sb, p.data, p.size);
        }
    }
    head.e_shoff = sb->len - begin;
    strbuf_add(sb, table, (nr + 2) * sizeof(table[0]));
    memcpy(sb->buf + begin, &head, sizeof(head));
    strbuf_release(&names);
}

/* Two kernels, alpha and beta, and a function that they call, which is none. */
static void add_cubin(struct strbuf *sb)
{
    static const char strings[] = "\0beta\0alpha\0callee";
    static const char note[] = "ptxas\0release 13.0\0-arch sm_90a -m 64 ";
    static const unsigned char zeros[528];
    static const uint32_t info[] = {
        0x00000901, 0x00082f04, 1,  168,        0x00082f04, 2,
        40,                                                    /* an unsized record, registers */
        0x00081104, 1,          16, 0x00081104, 2,          0, /* frame */
        0x00081204, 1,          48, 0x00081204, 2,          0, /* the least stack */
    };
    Elf64_Sym symbols[4] = {
        {0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10},
        {.st_name = 6, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_other = 0x10},
        {.st_name = 12, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC)},
    };
    const struct part parts[] = {
        {".strtab", SHT_STRTAB, 0, strings, sizeof(strings)},
        {".symtab", SHT_SYMTAB, 1, symbols, sizeof(symbols)},
        {".note.nv.tkinfo", SHT_NOTE, 0, note, sizeof(note)},
        {".nv.info", SHT_LOPROC, 2, info, sizeof(info)},
        {".text.beta", SHT_PROGBITS, 0, CODE_B, strlen(CODE_B)},
        {".text.alpha", SHT_PROGBITS, 0, CODE_A, strlen(CODE_A)},
        {".nv.shared.alpha", SHT_NOBITS, 0, NULL, 1024 + 256},
        {".nv.shared.beta", SHT_NOBITS, 0, NULL, 1024},
        {".nv.constant0.alpha", SHT_PROGBITS, 0, zeros, 528},
    };

    symbols[1].st_shndx = 5;
    symbols[2].st_shndx = 6;
    symbols[3].st_shndx = 6;
    add_elf(sb, EM_CUDA, 0x06005a04, parts, sizeof(parts) / sizeof(parts[0]));
}

static void add_number(struct strbuf *sb, uint64_t value, size_t bytes)
{
    for (; bytes; bytes--, value >>= 8)
        strbuf_addch(sb, (char)(value & 0xff));
}

static void add_entry(struct strbuf *sb, unsigned kind, const char *data, size_t len)
{
    add_number(sb, kind, 2);
    add_number(sb, 0x101, 2);
    add_number(sb, 64, 4);
    add_number(sb, len, 8);
    add_number(sb, 0, 48);
    strbuf_add(sb, data, len);
}

/* A host object with two fat binaries, PTX and `image` in the first and nothing in the second. */
static void add_object(struct strbuf *sb, const char *image, size_t len)
{
    struct strbuf section = STRBUF_INIT, entries = STRBUF_INIT;

    add_entry(&entries, 1, "the text", 8);
    add_entry(&entries, 2, image, len);
    for (int i = 0; i < 2; i++) {
        add_number(&section, 0xba55ed50, 4);
        add_number(&section, 0x00100001, 4);
        add_number(&section, i ? 0 : entries.len, 8);
        if (!i)
            strbuf_add(&section, entries.buf, entries.len);
        add_number(&section, 0, 8);
    }
    const struct part part = {".nv_fatbin", SHT_PROGBITS, 0, section.buf, section.len};
    add_elf(sb, EM_X86_64, 0, &part, 1);
    strbuf_release(&section);
    strbuf_release(&entries);
}

/* ---- running the tool ---- */

static void put(const char *name, const void *data, size_t len)
{
    struct err err = {0};

    assert_int_equal(file_write(name, data, len, &err), 0);
}

/* The exit status; 128 and more: a signal. `said`: standard error. */
static int tool(const char *library, struct strbuf *said)
{
    struct strbuf command = STRBUF_INIT;
    char part[4096];
    size_t got;

    strbuf_addf(&command, "'" TOOL "' '%s' out spills 2>&1", library);
    FILE *pipe = popen(command.buf, "r");
    assert_non_null(pipe);
    strbuf_reset(said);
    while ((got = fread(part, 1, sizeof(part), pipe)))
        strbuf_add(said, part, got);
    int status = pclose(pipe);
    strbuf_release(&command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void expect(const char *library, int status, const char *message)
{
    struct strbuf said = STRBUF_INIT;
    int got = tool(library, &said);

    if (got != status || (message ? !strstr(said.buf, message) : said.len != 0))
        fail_msg("exit %d, expected %d; said: %s; expected: %s", got, status, said.buf,
                 message ? message : "nothing");
    strbuf_release(&said);
}

static void expect_out(const char *text)
{
    struct strbuf out = STRBUF_INIT;
    struct err err = {0};

    assert_int_equal(file_read("out", &out, LIMIT_BYTES, &err), 0);
    /* Behind the line of comment. */
    const char *line = strchr(out.buf, '\n');
    assert_non_null(line);
    assert_int_equal(out.buf[0], '#');
    assert_string_equal(line + 1, text);
    strbuf_release(&out);
}

static int make_files(void **state)
{
    static char dir[] = "/tmp/test_cubin_usage.XXXXXX";
    struct strbuf cubin = STRBUF_INIT, object = STRBUF_INIT;

    if (!mkdtemp(dir) || chdir(dir))
        return -1;
    *state = dir;
    add_cubin(&cubin);
    add_object(&object, cubin.buf, cubin.len);
    put("cubin", cubin.buf, cubin.len);
    put("object", object.buf, object.len);
    strbuf_release(&cubin);
    strbuf_release(&object);
    return 0;
}

static int remove_files(void **state)
{
    static const char *const names[] = {"cubin", "object", "broken", "spills", "out"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(names[i]);
    return chdir("/") || rmdir(*state) ? -1 : 0;
}

static int excuse_beta(void **state)
{
    static const char text[] = "# comment\n\n  90a:b*ta  it keeps an array\n";

    (void)state;
    put("spills", text, strlen(text));
    return 0;
}

/* ---- the tests ---- */

static void numbers_of_two_kernels(void **state)
{
    (void)state;
    expect("cubin", 0, NULL);
    expect_out(LINE_A LINE_B);
}

static void images_inside_an_object(void **state)
{
    (void)state;
    expect("object", 0, NULL);
    expect_out(LINE_A LINE_B);
}

static void no_cuda_code(void **state)
{
    (void)state;
    expect("/proc/self/exe", 0, NULL);
    expect_out("");
}

static void a_stack_needs_a_reason(void **state)
{
    (void)state;
    put("spills", "", 0);
    expect("object", 1, "beta keeps 48 bytes of stack on sm_90a");
    expect_out(LINE_A LINE_B);
    put("spills", "120a:beta too wide\n", 19);
    expect("object", 1, "beta keeps 48 bytes");
    put("spills", "alpha for the other\n", 20);
    expect("object", 1, "beta keeps 48 bytes");
    put("spills", "beta one\n", 9);
    expect("object", 0, NULL);
    put("spills", "#\nbeta \n", 8);
    expect("object", 1, "spills: line 2: beta has no reason");
    unlink("spills");
    expect("object", 1, "spills: cannot open");
}

static void files_that_cannot_be_read(void **state)
{
    struct strbuf object = STRBUF_INIT;

    (void)state;
    add_object(&object, "(\xb5/\xfd compressed", 15);
    put("broken", object.buf, object.len);
    expect("broken", 1, "--no-compress");
    put("broken", "no ELF", 6);
    expect("broken", 1, "broken: not an ELF file");
    put("broken", "", 0);
    expect("broken", 1, "not an ELF file");
    expect("absent", 1, "cannot open");
    expect("/", 1, "cannot read");
    strbuf_release(&object);
}

/* Whatever the damage: an answer or one line, never a crash. */
static void damaged_files(void **state)
{
    struct strbuf object = STRBUF_INIT, said = STRBUF_INIT;
    struct err err = {0};
    uint64_t counter = 0;

    (void)state;
    assert_int_equal(file_read("object", &object, LIMIT_BYTES, &err), 0);
    for (int i = 0; i < 60; i++) {
        char *copy = malloc(object.len);
        size_t len =
            i % 2 ? object.len : rng_u32_below(rng_at(11, counter++), (uint32_t)object.len);

        assert_non_null(copy);
        memcpy(copy, object.buf, object.len);
        for (int k = 0; i % 2 && k < 4; k++) {
            uint32_t at = rng_u32_below(rng_at(11, counter++), (uint32_t)object.len);

            copy[at] = (char)rng_u32_below(rng_at(11, counter++), 256);
        }
        put("broken", copy, len);
        int status = tool("broken", &said);
        if (status > 1 || strstr(said.buf, "ERROR"))
            fail_msg("damage %d: exit %d: %s", i, status, said.buf);
        free(copy);
    }
    strbuf_release(&object);
    strbuf_release(&said);
}

static size_t count_lines(const char *text, const char *begin)
{
    size_t nr = 0;

    for (const char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : p)
        nr += !strncmp(p, begin, strlen(begin));
    return nr;
}

/* The file beside the library tells of this library, the same again, and alike for all targets. */
static void library_of_this_build(void **state)
{
    struct strbuf beside = STRBUF_INIT, again = STRBUF_INIT;
    struct err err = {0};
    char arch[32], name[512], hash[72];
    unsigned numbers[5];
    size_t nr;

    (void)state;
    put("spills", "* any\n", 6);
    expect(LIBRARY, 0, NULL);
    assert_int_equal(file_read(LIBRARY ".resources", &beside, LIMIT_BYTES, &err), 0);
    assert_int_equal(file_read("out", &again, LIMIT_BYTES, &err), 0);
    assert_string_equal(beside.buf, again.buf);
    nr = count_lines(beside.buf, "arch=");
#ifdef SAB_HAVE_CUDA
    size_t per_arch = 0;

    assert_true(nr > 0);
    for (const char *p = strstr(beside.buf, "arch="); p && *p;) {
        assert_int_equal(sscanf(p,
                                "arch=%24[0-9a-z] registers=%u stack=%u spill=%u shared=%u "
                                "constant=%u sha256=%64[0-9a-f] name=%511s",
                                arch, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                                &numbers[4], hash, name),
                         8);
        assert_true(numbers[0] > 0 && numbers[0] <= 255);
        assert_int_equal(strlen(hash), 64);
        char begin[40];
        snprintf(begin, sizeof(begin), "arch=%s ", arch);
        size_t same = count_lines(beside.buf, begin);
        assert_true(!per_arch || per_arch == same);
        per_arch = same;
        p = strchr(p, '\n');
        p = p ? p + 1 : p;
    }
#else
    (void)arch, (void)name, (void)hash, (void)numbers;
    assert_int_equal(nr, 0);
    assert_string_equal(beside.buf, "# no CUDA code\n");
#endif
    strbuf_release(&beside);
    strbuf_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(numbers_of_two_kernels, excuse_beta),
        cmocka_unit_test_setup(images_inside_an_object, excuse_beta),
        cmocka_unit_test_setup(no_cuda_code, excuse_beta),
        cmocka_unit_test(a_stack_needs_a_reason),
        cmocka_unit_test_setup(files_that_cannot_be_read, excuse_beta),
        cmocka_unit_test_setup(damaged_files, excuse_beta),
        cmocka_unit_test(library_of_this_build),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
