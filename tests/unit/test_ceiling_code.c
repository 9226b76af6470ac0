/*
 * The machine code of the kernels that measure rates, by cuobjdump: one turn of the innermost loop
 * holds exactly the instructions that the operators count, for sm_90a. Skipped where there is no
 * CUDA build or no cuobjdump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OBJECTS LIBRARY_DIR "/../kernels/CMakeFiles/sab_kernels.dir/ceiling/"

struct line {
    unsigned long at;
    char text[120];
};

/* Code of one function. */
struct code {
    struct line *line;
    size_t nr;
};

static const char *tool(void)
{
    static const char *const places[] = {"/usr/local/cuda/bin/cuobjdump", "/usr/bin/cuobjdump"};

    if (system("command -v cuobjdump > /dev/null 2>&1") == 0)
        return "cuobjdump";
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* An address between comment marks, then the instruction. Lines of encodings alone do not count. */
static int parse(const char *text, struct line *out)
{
    const char *p = text + strspn(text, " \t");
    char *end;

    if (strncmp(p, "/*", 2))
        return 0;
    out->at = strtoul(p + 2, &end, 16);
    if (end == p + 2 || strncmp(end, "*/", 2))
        return 0;
    p = end + 2 + strspn(end + 2, " \t");
    snprintf(out->text, sizeof(out->text), "%s", p);
    return *p != '/' && *p != '\n';
}

/* Turns of the innermost loop that holds `word`: its first and last line. Fails where there is
 * none. */
static void find_loop(const struct code *c, const char *word, size_t *first, size_t *last)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < c->nr; i++) {
        const char *branch = strstr(c->line[i].text, "BRA ");
        const char *target = branch ? strstr(branch, "0x") : NULL;
        size_t from = i, hits = 0;

        if (!target || strtoul(target, NULL, 16) >= c->line[i].at)
            continue;
        while (from > 0 && c->line[from].at > strtoul(target, NULL, 16))
            from--;
        for (size_t k = from; k <= i; k++)
            hits += strstr(c->line[k].text, word) != NULL;
        if (hits && i - from < best) {
            best = i - from;
            *first = from;
            *last = i;
        }
    }
    if (best == SIZE_MAX)
        fail_msg("no loop holds %s", word);
}

static size_t count(const struct code *c, size_t first, size_t last, const char *word)
{
    size_t nr = 0;

    for (size_t i = first; i <= last; i++)
        nr += strstr(c->line[i].text, word) != NULL;
    return nr;
}

static void hold(const char *name, const struct code *c)
{
    static const struct {
        const char *function, *word;
        size_t nr;
    } want[] = {
        {"peak_mma_kernelINS_7of_bf16", "HMMA.16816.F32.BF16", 32},
        {"peak_mma_kernelINS_7of_fp16", "HMMA.16816.F32 ", 32},
        {"peak_mma_kernelINS_5of_s8", "IMMA.16832.S8.S8", 32},
        {"peak_wgmma_kernelIN3sab4bf16", "HGMMA.64x128x16.F32.BF16", 4},
        {"peak_wgmma_kernelIN3sab4fp16", "HGMMA.64x128x16.F32 ", 4},
        {"peak_wgmma_kernelINS_4e4m3", "QGMMA.64x128x32.F32.E4M3.E4M3", 4},
        {"peak_wgmma_kernelINS_2s8", "IGMMA.64x128x32.S8.S8", 4},
    };
    size_t first = 0, last = 0;

    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        if (!strstr(name, want[i].function))
            continue;
        find_loop(c, want[i].word, &first, &last);
        if (count(c, first, last, want[i].word) != want[i].nr)
            fail_msg("%s: a turn has %zu %s, must be %zu", name,
                     count(c, first, last, want[i].word), want[i].word, want[i].nr);
        assert_int_equal(count(c, first, last, "MMA."), want[i].nr);
    }
    if (strstr(name, "exp2_kernel")) {
        find_loop(c, "MUFU.EX2", &first, &last);
        const size_t nr = count(c, first, last, "MUFU.EX2");
        /* Eight sums a turn, beside an addition and a step of each. */
        assert_true(nr > 0 && nr % 8 == 0);
        assert_int_equal(count(c, first, last, "FADD"), 2 * nr);
    }
}

/* Calls hold() for every function of an object, and returns how many there were. */
static size_t hold_object(const char *object)
{
    char command[1024], text[4096], name[512] = "";
    struct code c = {calloc(65536, sizeof(*c.line)), 0};
    size_t functions = 0;

    assert_non_null(c.line);
    snprintf(command, sizeof(command), "'%s' -sass -arch sm_90a '" OBJECTS "%s' 2>/dev/null",
             tool(), object);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    while (fgets(text, sizeof(text), out)) {
        const char *at = strstr(text, "Function : ");

        if (at) {
            hold(name, &c);
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 11, "\n"), at + 11);
            functions++;
            c.nr = 0;
        } else if (c.nr < 65536) {
            c.nr += (size_t)parse(text, &c.line[c.nr]);
        }
    }
    hold(name, &c);
    pclose(out);
    free(c.line);
    return functions;
}

static void loops_hold_what_is_counted(void **state)
{
    (void)state;
#ifndef SAB_HAVE_CUDA
    skip();
#endif
    if (!tool() || access(OBJECTS "mma_peak.cu.o", R_OK))
        skip();
    if (!hold_object("vector_read.cu.o"))
        skip(); /* built for other targets */
    assert_true(hold_object("mma_peak.cu.o") >= 4);
    assert_true(hold_object("wgmma_peak.cu.o") >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_hold_what_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
