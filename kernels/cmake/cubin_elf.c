#include "cubin_elf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cubin_fail(struct cubin_error *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    return -1;
}

bool bytes_part(struct bytes all, Elf64_Xword offset, Elf64_Xword len, struct bytes *part)
{
    if (offset > all.len || len > all.len - offset)
        return false;
    *part = (struct bytes){all.at + offset, len};
    return true;
}

const char *bytes_string(struct bytes table, size_t offset)
{
    return offset < table.len ? (const char *)table.at + offset : NULL;
}

bool elf_is(struct bytes file)
{
    return file.len >= SELFMAG && !memcmp(file.at, ELFMAG, SELFMAG);
}

int elf_open(struct elf *elf, struct bytes file, struct cubin_error *err)
{
    struct elf_section names;
    struct bytes table;

    *elf = (struct elf){.file = file};
    if (!elf_is(file) || file.len < sizeof(elf->head))
        return cubin_fail(err, "not an ELF file");
    memcpy(&elf->head, file.at, sizeof(elf->head));
    if (elf->head.e_ident[EI_CLASS] != ELFCLASS64 || elf->head.e_ident[EI_DATA] != ELFDATA2LSB)
        return cubin_fail(err, "not a 64-bit little-endian ELF file");
    if (!elf->head.e_shnum || elf->head.e_shentsize != sizeof(names.head) ||
        !bytes_part(file, elf->head.e_shoff, (Elf64_Xword)elf->head.e_shnum * sizeof(names.head),
                    &table))
        return cubin_fail(err,
                          "an ELF file whose section table of %u entries is missing or lies "
                          "outside the file",
                          elf->head.e_shnum);
    if (elf->head.e_shstrndx >= elf->head.e_shnum)
        return cubin_fail(err, "an ELF file whose section names are in section %u of %u",
                          elf->head.e_shstrndx, elf->head.e_shnum);
    memcpy(&names.head, table.at + elf->head.e_shstrndx * sizeof(names.head), sizeof(names.head));
    names.name = "section names";
    if (elf_bytes(elf, &names, &elf->names, err))
        return -1;
    if (!elf->names.len || elf->names.at[elf->names.len - 1])
        return cubin_fail(err, "an ELF file whose section names do not end");
    return 0;
}

int elf_section(const struct elf *elf, size_t i, struct elf_section *section,
                struct cubin_error *err)
{
    memcpy(&section->head, elf->file.at + elf->head.e_shoff + i * sizeof(section->head),
           sizeof(section->head));
    section->name = bytes_string(elf->names, section->head.sh_name);
    if (!section->name)
        return cubin_fail(err, "the name of section %zu lies outside the file", i);
    return 0;
}

int elf_find(const struct elf *elf, const char *prefix, const char *name,
             struct elf_section *section, struct cubin_error *err)
{
    size_t len = strlen(prefix);

    for (size_t i = 0; i < elf->head.e_shnum; i++) {
        if (elf_section(elf, i, section, err))
            return -1;
        if (!strncmp(section->name, prefix, len) && !strcmp(section->name + len, name))
            return 1;
    }
    return 0;
}

int elf_bytes(const struct elf *elf, const struct elf_section *section, struct bytes *bytes,
              struct cubin_error *err)
{
    const Elf64_Shdr *head = &section->head;

    if (head->sh_type == SHT_NOBITS ||
        !bytes_part(elf->file, head->sh_offset, head->sh_size, bytes))
        return cubin_fail(err, "section %.80s (offset %llu, %llu bytes) lies outside the file",
                          section->name, (unsigned long long)head->sh_offset,
                          (unsigned long long)head->sh_size);
    return 0;
}
