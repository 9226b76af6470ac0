#include "ini.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ini_store.h"

/* The kinds of section, and whether one has a name. */
static const struct {
    const char *kind;
    bool named;
} section_kinds[] = {
    {"global", false}, {"arm", true}, {"sweep", true}, {"pipeline", true}, {"gate", false},
};

#define NR_KINDS (sizeof(section_kinds) / sizeof(section_kinds[0]))

void ini_init(struct ini *ini)
{
    *ini = (struct ini){0};
}

void ini_release(struct ini *ini)
{
    size_t i, j;

    for (i = 0; i < ini->nr; i++) {
        struct ini_section *section = &ini->sections[i];

        for (j = 0; j < section->nr; j++) {
            free(section->entries[j].key);
            free(section->entries[j].value);
        }
        free(section->entries);
        free(section->kind);
        free(section->name);
    }
    free(ini->sections);
    text_list_release(&ini->files);
    text_list_release(&ini->paths);
    ini_init(ini);
}

static bool is_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

static int check_name(const char *kind, const char *name, struct err *err)
{
    const char *p;

    for (p = name; *p; p++)
        if (is_control(*p) || text_is_space(*p) || strchr("[]\",=", *p))
            return err_set(err, ERR_CONFIG,
                           "[%s %.100s] has a name with white space or one of '[ ] \" , =' in it",
                           kind, name);
    return 0;
}

int ini_check_header(const char *kind, const char *name, struct err *err)
{
    const char *kinds[NR_KINDS], *nearest;
    size_t i;

    for (i = 0; i < NR_KINDS; i++) {
        kinds[i] = section_kinds[i].kind;
        if (strcmp(kind, kinds[i]))
            continue;
        if (!section_kinds[i].named && *name)
            return err_set(err, ERR_CONFIG, "[%s] takes no name, found '%.100s'", kind, name);
        if (section_kinds[i].named && !*name)
            return err_set(err, ERR_CONFIG, "[%s] needs a name, as in [%s NAME]", kind, kind);
        return check_name(kind, name, err);
    }
    nearest = text_nearest(kind, kinds, NR_KINDS);
    if (nearest)
        return err_set(err, ERR_CONFIG, "no section is called '%.100s', did you mean '%s'", kind,
                       nearest);
    return err_set(err, ERR_CONFIG,
                   "no section is called '%.100s'; there are [global], [arm NAME], [sweep NAME], "
                   "[pipeline NAME] and [gate]",
                   kind);
}

int ini_check_key(const char *key, struct err *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-:";

    if (!*key)
        return err_set(err, ERR_CONFIG, "a value without a key, expected 'key = value'");
    if (key[strspn(key, allowed)])
        return err_set(
            err, ERR_CONFIG,
            "'%.100s' cannot be a key, which holds only letters, digits, '_', '-' and ':'", key);
    return 0;
}

int ini_check_value(const char *value, struct err *err)
{
    for (; *value; value++)
        if (is_control(*value))
            return err_set(err, ERR_CONFIG, "a value with the control byte 0x%02x in it",
                           (unsigned char)*value);
    return 0;
}

const char *ini_store_file(struct ini *ini, const char *name, const char *path, struct err *err)
{
    size_t i;

    for (i = 0; i < ini->paths.nr; i++)
        if (!strcmp(ini->paths.items[i], path))
            return ini->files.items[i];
    if (text_list_add(&ini->files, name, err) || text_list_add(&ini->paths, path, err))
        return NULL;
    return ini->files.items[ini->files.nr - 1];
}

static ptrdiff_t section_index(const struct ini *ini, const char *kind, const char *name)
{
    size_t i;

    for (i = 0; i < ini->nr; i++)
        if (!strcmp(ini->sections[i].kind, kind) && !strcmp(ini->sections[i].name, name))
            return (ptrdiff_t)i;
    return -1;
}

int ini_store_section(struct ini *ini, const char *kind, const char *name, const char *file,
                      unsigned line, size_t *index, struct err *err)
{
    struct ini_section section = {.file = file, .line = line};
    ptrdiff_t at = section_index(ini, kind, name);

    if (at >= 0) {
        *index = (size_t)at;
        return 0;
    }
    if (ini->nr == ini->alloc) {
        size_t alloc = ini->alloc ? ini->alloc * 2 : 8;
        struct ini_section *sections = realloc(ini->sections, alloc * sizeof(*sections));

        if (!sections)
            return err_memory(err);
        ini->sections = sections;
        ini->alloc = alloc;
    }
    section.kind = strdup(kind);
    section.name = strdup(name);
    if (!section.kind || !section.name) {
        free(section.kind);
        free(section.name);
        return err_memory(err);
    }
    *index = ini->nr;
    ini->sections[ini->nr++] = section;
    return 0;
}

static struct ini_entry *find_entry(const struct ini_section *section, const char *key)
{
    size_t i;

    for (i = 0; i < section->nr; i++)
        if (!strcmp(section->entries[i].key, key))
            return &section->entries[i];
    return NULL;
}

int ini_store_entry(struct ini_section *section, const char *key, const char *value,
                    const char *file, unsigned line, struct err *err)
{
    struct ini_entry *old = find_entry(section, key);
    struct ini_entry entry = {.file = file, .line = line};

    entry.value = strdup(value);
    if (!entry.value)
        return err_memory(err);
    if (old) {
        free(old->value);
        entry.key = old->key;
        *old = entry;
        return 0;
    }
    entry.key = strdup(key);
    if (entry.key && section->nr == section->alloc) {
        size_t alloc = section->alloc ? section->alloc * 2 : 8;
        struct ini_entry *entries = realloc(section->entries, alloc * sizeof(*entries));

        if (entries) {
            section->entries = entries;
            section->alloc = alloc;
        }
    }
    if (!entry.key || section->nr == section->alloc) {
        free(entry.key);
        free(entry.value);
        return err_memory(err);
    }
    section->entries[section->nr++] = entry;
    return 0;
}

const struct ini_section *ini_find(const struct ini *ini, const char *kind, const char *name)
{
    ptrdiff_t at = section_index(ini, kind, name ? name : "");

    return at < 0 ? NULL : &ini->sections[at];
}

const struct ini_entry *ini_section_find(const struct ini_section *section, const char *key)
{
    return find_entry(section, key);
}

const struct ini_entry *ini_lookup(const struct ini *ini, const char *kind, const char *name,
                                   const char *key)
{
    const struct ini_section *section = ini_find(ini, kind, name);

    return section ? find_entry(section, key) : NULL;
}

void ini_add_origin(struct strbuf *sb, const struct ini_entry *entry)
{
    strbuf_addstr(sb, entry->file);
    if (entry->line)
        strbuf_addf(sb, ":%u", entry->line);
}

int ini_error(struct err *err, const struct ini_entry *entry, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_vset(err, ERR_CONFIG, format, args);
    va_end(args);
    if (entry->line)
        return err_prefix(err, "%s:%u", entry->file, entry->line);
    return err_prefix(err, "%s", entry->file);
}

/* What the reader would take for something else if it stood bare. */
static bool needs_quotes(const char *value)
{
    const char *p;

    if (!*value || *value == '"' || text_is_space(*value) ||
        text_is_space(value[strlen(value) - 1]) || strstr(value, "${"))
        return true;
    for (p = value; *p; p++)
        if ((*p == ';' || *p == '#') && (p == value || text_is_space(p[-1])))
            return true;
    return false;
}

static void write_value(struct strbuf *sb, const char *value)
{
    if (!needs_quotes(value)) {
        strbuf_addstr(sb, value);
        return;
    }
    strbuf_addch(sb, '"');
    for (; *value; value++) {
        if (strchr("\"\\$", *value))
            strbuf_addch(sb, '\\');
        strbuf_addch(sb, *value);
    }
    strbuf_addch(sb, '"');
}

void ini_write(const struct ini *ini, struct strbuf *sb)
{
    size_t i, j;

    for (i = 0; i < ini->nr; i++) {
        const struct ini_section *section = &ini->sections[i];

        strbuf_addf(sb, "%s[%s%s%s]\n", i ? "\n" : "", section->kind, *section->name ? " " : "",
                    section->name);
        for (j = 0; j < section->nr; j++) {
            strbuf_addf(sb, "%s = ", section->entries[j].key);
            write_value(sb, section->entries[j].value);
            strbuf_addch(sb, '\n');
        }
    }
}
