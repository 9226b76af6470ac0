#include "resources.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * One line a function and architecture, as kernels/cmake/resource_usage.sh writes it:
 *     ARCH NAME registers=N stack=N spill=N shared=N local=N constant=N sha256=HEX
 * NAME may hold blanks. `#` begins a comment. A function belongs to kernel OP/NAME where its
 * identifier has the words of NAME and of OP among its own, split at everything that is neither
 * letter nor digit: `sage_fwd_mma_kernel`, `sage_fwd::mma`. Where no function has all words of OP
 * its first word is enough (`sage::mma_kernel<...>`), and where that finds nothing either, that
 * word among the types of its arguments (`reference_kernel(sage_call)`).
 */
enum match { MATCH_OP, MATCH_FAMILY, MATCH_ARGUMENTS, MATCH_NR };

#define FIELDS " registers="

struct usage {
    long long registers, spill, shared, local;
};

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Whether [text, end) has `word` between characters that belong to no word. */
static bool has_word(const char *text, const char *end, const char *word, size_t len)
{
    for (const char *p = text; p + len <= end; p++) {
        bool begins = p == text || !is_word_char(p[-1]);
        bool ends = p + len == end || !is_word_char(p[len]);
        if (begins && ends && !memcmp(p, word, len))
            return true;
    }
    return false;
}

/* Whether every word of `words`, or only the first one, is there. */
static bool has_words(const char *text, const char *end, const char *words, bool first_only)
{
    while (*words) {
        size_t len = 0;
        while (is_word_char(words[len]))
            len++;
        if (len && !has_word(text, end, words, len))
            return false;
        if (len && first_only)
            return true;
        words += len + (words[len] != '\0');
    }
    return true;
}

static long long field(const char *line, const char *end, const char *name)
{
    size_t len = strlen(name);

    for (const char *p = line; p + len < end; p++)
        if (*p == ' ' && !memcmp(p + 1, name, len) && p[len + 1] == '=')
            return isdigit((unsigned char)p[len + 2]) ? strtoll(p + len + 2, NULL, 10) : -1;
    return -1;
}

static void take_most(long long *most, long long value)
{
    if (value > *most)
        *most = value;
}

static bool is_arch(const char *line, int arch)
{
    char *end;

    if (!strncmp(line, "sm_", 3))
        line += 3;
    long value = strtol(line, &end, 10);
    return value == arch && end != line && (*end == ' ' || (isalpha((unsigned char)*end)));
}

/* The end of an identifier in [name, end): its template and call arguments begin there. */
static const char *identifier_end(const char *name, const char *end)
{
    static const char anonymous[] = "(anonymous namespace)";

    for (const char *p = name; p < end; p++) {
        if (*p == '(' && !strncmp(p, anonymous, sizeof(anonymous) - 1))
            p += sizeof(anonymous) - 2;
        else if (*p == '(' || *p == '<')
            return p;
    }
    return end;
}

static bool belongs(const char *name, const char *end, const struct sab_kernel *kernel,
                    enum match match)
{
    const char *stop = identifier_end(name, end);

    if (!has_words(name, stop, kernel->name, false))
        return false;
    return has_words(name, match == MATCH_ARGUMENTS ? end : stop, kernel->op, match != MATCH_OP);
}

/* The largest over the matching functions; false where there is none. */
static bool scan(const char *text, const struct sab_kernel *kernel, int arch, enum match match,
                 struct usage *out)
{
    bool found = false;

    *out = (struct usage){-1, -1, -1, -1};
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n'), *name = memchr(line, ' ', (size_t)(end - line));
        const char *fields = name ? strstr(name, FIELDS) : NULL;

        if (*line != '#' && fields && fields < end && is_arch(line, arch) &&
            belongs(name, fields, kernel, match)) {
            found = true;
            take_most(&out->registers, field(fields, end, "registers"));
            take_most(&out->spill, field(fields, end, "spill"));
            take_most(&out->shared, field(fields, end, "shared"));
            take_most(&out->local, field(fields, end, "local"));
        }
        line = *end ? end + 1 : end;
    }
    return found;
}

void resources_fill(const struct library *lib, const struct sab_kernel *kernel, int arch,
                    struct case_row *row)
{
    struct usage usage;

    if (!lib->resources || !arch)
        return;
    int match = MATCH_OP;
    while (match < MATCH_NR && !scan(lib->resources, kernel, arch, (enum match)match, &usage))
        match++;
    if (match == MATCH_NR)
        return;
    row->registers = usage.registers;
    row->spill_bytes = usage.spill;
    row->shared_bytes = usage.shared;
    row->local_bytes = usage.local;
}
