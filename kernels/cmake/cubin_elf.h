/*
 * cubin_elf.h - the sections of a 64-bit little-endian ELF file in memory. Nothing in a file is
 * believed: every offset and length is held against the file's size.
 */
#ifndef SAB_CUBIN_ELF_H
#define SAB_CUBIN_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

struct bytes {
    const unsigned char *at;
    size_t len;
};

struct cubin_error {
    char text[512];
};

struct elf {
    struct bytes file; /* not owned */
    Elf64_Ehdr head;
    struct bytes names; /* of sections; ends in NUL */
};

struct elf_section {
    Elf64_Shdr head;
    const char *name; /* inside the file */
};

/* Always -1, with a message: one sentence without a full stop. */
int cubin_fail(struct cubin_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether all of [offset, offset + len) lies in `all`; `part` is then that span. */
bool bytes_part(struct bytes all, Elf64_Xword offset, Elf64_Xword len, struct bytes *part);
/* The string at `offset` of a table that ends in NUL; NULL where it lies outside. */
const char *bytes_string(struct bytes table, size_t offset);

bool elf_is(struct bytes file);
int elf_open(struct elf *elf, struct bytes file, struct cubin_error *err);
/* i < elf->head.e_shnum. */
int elf_section(const struct elf *elf, size_t i, struct elf_section *section,
                struct cubin_error *err);
/* The section named `prefix` + `name`: 1, or 0 where there is none, or -1. */
int elf_find(const struct elf *elf, const char *prefix, const char *name,
             struct elf_section *section, struct cubin_error *err);
/* A section's bytes; an error for a section that has none in the file. */
int elf_bytes(const struct elf *elf, const struct elf_section *section, struct bytes *bytes,
              struct cubin_error *err);

#endif
