/*
 * ini.h - the configuration reader. It knows the five kinds of section and no key.
 *
 *   include = defaults.ini          ; relative to this file; `include FILE` is the same
 *   [global]
 *   rounds = 2x40                   # comments open a line or follow white space
 *   [arm head]
 *   library = ${BUILD}/lib/libsab_kernels.so
 *   note = "a ; b, \"quoted\", \${not a variable}, \\"
 *
 * - Kinds: `[global]` and `[gate]` have no name, `[arm NAME]`, `[sweep NAME]` and `[pipeline NAME]`
 *   need one (no white space, no control bytes, none of `[ ] " , =`).
 * - A key holds letters, digits, `_`, `-` and `:`; white space around a `:` is dropped
 *   (`heads : head_dim`). Everything is case-sensitive.
 * - A value runs to the end of the line or to a comment. In double quotes it may hold anything but
 *   control bytes, with the escapes \" \\ and \$. `${VAR}` is the environment's, wherever it stands
 *   in a value, not expanded again; an unset variable is an error.
 * - A section may stand once in a file, a key once in a section of one file. Another file may open
 *   the same section again: its keys are added, or replace those of the file read before.
 * - `include` may stand anywhere; the section of the including file goes on after it. A file is
 *   read once, however often it is included; a loop is an error that names the chain.
 * - A UTF-8 byte order mark and CRLF are accepted; NUL and other control bytes are not.
 *
 * Errors are ERR_CONFIG and start with "FILE:LINE: " where there is a line.
 */
#ifndef BENCH_BASE_INI_H
#define BENCH_BASE_INI_H

#include <stddef.h>

#include "err.h"
#include "strbuf.h"
#include "text.h"

#define INI_COMMAND_LINE "command line"

struct ini_entry {
    char *key;
    char *value;
    const char *file; /* owned by the struct ini; INI_COMMAND_LINE for a flag */
    unsigned line;    /* from 1; 0 for a flag */
};

struct ini_section {
    char *kind; /* global, arm, sweep, pipeline, gate */
    char *name; /* "" for global and gate */
    const char *file;
    unsigned line;
    struct ini_entry *entries;
    size_t nr, alloc;
};

struct ini {
    struct ini_section *sections; /* in the order in which they first appeared */
    size_t nr, alloc;
    struct text_list files; /* names as given; files read so far and INI_COMMAND_LINE */
    struct text_list paths; /* the same files, resolved: what makes a file the same file */
};

void ini_init(struct ini *ini);
void ini_release(struct ini *ini);

/* Both add to what is there. After an error `ini` may hold a part and is good for ini_release()
 * only. `name` stands for the text in messages, and includes are relative to its folder. */
int ini_read_file(struct ini *ini, const char *path, struct err *err);
int ini_read_text(struct ini *ini, const char *name, const char *text, size_t len, struct err *err);

/* NULL where there is none. `name` is "" (or NULL) for global and gate. Valid until the next read
 * or set. */
const struct ini_section *ini_find(const struct ini *ini, const char *kind, const char *name);
const struct ini_entry *ini_section_find(const struct ini_section *section, const char *key);
/* ini_find() and ini_section_find() in one; NULL where either is missing. */
const struct ini_entry *ini_lookup(const struct ini *ini, const char *kind, const char *name,
                                   const char *key);

/* Sets or replaces one key (origin INI_COMMAND_LINE), making the section where it is missing. */
int ini_set(struct ini *ini, const char *kind, const char *name, const char *key, const char *value,
            struct err *err);
/*
 * One flag of the command line, without its dashes.
 * `KIND.NAME.KEY`, `global.KEY`, `gate.KEY`: that key of that section, which must exist (global and
 * gate are made). A plain `KEY`: set in [global] and replaced in each sweep, pipeline and gate that
 * sets it; an arm keeps its own value, which is what makes it that arm. A plain key that every arm
 * sets for itself and nobody else sets would change nothing: an error.
 */
int ini_set_flag(struct ini *ini, const char *flag, const char *value, struct err *err);

/* "FILE:LINE" or "command line", the start of every message about a key. */
void ini_add_origin(struct strbuf *sb, const struct ini_entry *entry);
/* err_set(ERR_CONFIG) with that origin in front. Returns -1. */
int ini_error(struct err *err, const struct ini_entry *entry, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The resolved text: one file, no includes, no variables. Reads back to the same sections, keys
 * and values in the same order (origins become those of the text). */
void ini_write(const struct ini *ini, struct strbuf *sb);

#endif
