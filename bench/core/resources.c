#include "resources.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sha256.h"

/* The rules that resources.h states, the strictest first. */
enum match { MATCH_OP, MATCH_FAMILY, MATCH_ARGUMENTS, MATCH_NR };

struct part {
    const char *at, *end;
};

/* A mangled name (Itanium C++ ABI, 5.1): its source names, and what follows them, the template's
 * and the call's arguments. */
struct function_name {
    struct part words[8];
    size_t words_nr;
    struct part rest;
};

struct usage {
    long long registers, spill, shared, local;
    char sass[65]; /* over the hashes of the functions, in the file's order */
};

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* "4sage10mma_kernel..." holds "sage" and "mma_kernel". A name that is not mangled is one part. */
static void function_name_split(struct function_name *name, const char *at, const char *end)
{
    static const char anonymous[] = "_GLOBAL__N_";

    *name = (struct function_name){.rest = {end, end}};
    if (end - at < 2 || strncmp(at, "_Z", 2)) {
        name->words[name->words_nr++] = (struct part){at, end};
        return;
    }
    for (at += 2; at < end && strchr("NLKVr", *at); at++)
        ;
    while (at < end && isdigit((unsigned char)*at) && name->words_nr < 8) {
        char *begin;
        unsigned long len = strtoul(at, &begin, 10);

        if (begin > end || len > (unsigned long)(end - begin))
            break;
        at = begin + len;
        /* The compiler's own name holds the file's, which says nothing of the function. */
        if (strncmp(begin, anonymous, sizeof(anonymous) - 1))
            name->words[name->words_nr++] = (struct part){begin, at};
    }
    name->rest = (struct part){at, end};
}

/* Whether `part` has `word` between characters that belong to none. In front of a mangled name
 * stands its length, so that there a digit ends a word too. */
static bool has_word(struct part part, const char *word, size_t len, bool mangled)
{
    for (const char *p = part.at; p + len <= part.end; p++) {
        bool begins =
            p == part.at || !is_word_char(p[-1]) || (mangled && isdigit((unsigned char)p[-1]));
        bool ends = p + len == part.end || !is_word_char(p[len]);
        if (begins && ends && !memcmp(p, word, len))
            return true;
    }
    return false;
}

static bool name_has(const struct function_name *name, const char *word, size_t len, bool rest)
{
    for (size_t i = 0; i < name->words_nr; i++)
        if (has_word(name->words[i], word, len, false))
            return true;
    return rest && has_word(name->rest, word, len, true);
}

/* Whether every word of `words`, or only the first one, is there. */
static bool has_words(const struct function_name *name, const char *words, bool first_only,
                      bool rest)
{
    while (*words) {
        size_t len = 0;
        while (is_word_char(words[len]))
            len++;
        if (len && !name_has(name, words, len, rest))
            return false;
        if (len && first_only)
            return true;
        words += len + (words[len] != '\0');
    }
    return true;
}

static bool belongs(struct part text, const struct sab_kernel *kernel, enum match match)
{
    struct function_name name;

    function_name_split(&name, text.at, text.end);
    return has_words(&name, kernel->name, false, false) &&
           has_words(&name, kernel->op, match != MATCH_OP, match == MATCH_ARGUMENTS);
}

/* The value of `key=` on a line; at == NULL where there is none. */
static struct part field(struct part line, const char *key)
{
    size_t len = strlen(key);

    for (const char *p = line.at; p < line.end;) {
        const char *end = p;
        while (end < line.end && *end != ' ')
            end++;
        if ((size_t)(end - p) > len && !memcmp(p, key, len) && p[len] == '=')
            return (struct part){p + len + 1, end};
        p = end < line.end ? end + 1 : end;
    }
    return (struct part){NULL, NULL};
}

/* Keeps the largest. */
static void take(struct part line, const char *key, long long *most)
{
    struct part value = field(line, key);

    if (!value.at || value.at == value.end || !isdigit((unsigned char)*value.at))
        return;
    long long number = strtoll(value.at, NULL, 10);
    if (number > *most)
        *most = number;
}

/* "90a" is 90. */
static bool is_arch(struct part text, int arch)
{
    char *end;

    return text.at && text.at < text.end && strtol(text.at, &end, 10) == arch && end > text.at &&
           (end == text.end || (end + 1 == text.end && isalpha((unsigned char)*end)));
}

/* The largest over the matching functions; false where there is none. */
static bool scan(const char *text, const struct sab_kernel *kernel, int arch, enum match match,
                 struct usage *out)
{
    struct sha256 sass;
    bool found = false;

    *out = (struct usage){-1, -1, -1, -1, ""};
    sha256_init(&sass);
    while (*text) {
        struct part line = {text, strchrnul(text, '\n')};
        struct part name = field(line, "name");

        if (*text != '#' && name.at && is_arch(field(line, "arch"), arch) &&
            belongs(name, kernel, match)) {
            found = true;
            take(line, "registers", &out->registers);
            take(line, "spill", &out->spill);
            take(line, "shared", &out->shared);
            take(line, "stack", &out->local);
            struct part hash = field(line, "sha256");
            if (hash.at)
                sha256_add(&sass, hash.at, (size_t)(hash.end - hash.at));
        }
        text = *line.end ? line.end + 1 : line.end;
    }
    sha256_hex(&sass, out->sass);
    return found;
}

int resources_fill(const struct library *lib, const struct sab_kernel *kernel, int arch,
                   struct case_row *row, struct err *err)
{
    struct usage usage;

    if (!lib->resources || !arch)
        return 0;
    int match = MATCH_OP;
    while (match < MATCH_NR && !scan(lib->resources, kernel, arch, (enum match)match, &usage))
        match++;
    if (match == MATCH_NR)
        return 0;
    row->registers = usage.registers;
    row->spill_bytes = usage.spill;
    row->shared_bytes = usage.shared;
    row->local_bytes = usage.local;
    return row_set(&row->sass_sha256, usage.sass, err);
}
