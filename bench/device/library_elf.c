/*
 * library_elf.c - judges a kernel library by its file alone, before any of its code runs.
 *
 * Every offset and count comes from the file and is held against its size before it is used.
 */
#include "library_check.h"

#include <elf.h>
#include <string.h>

#include "file.h"
#include "strbuf.h"

#if defined(__x86_64__)
#    define OWN_MACHINE      EM_X86_64
#    define OWN_MACHINE_NAME "x86-64"
#elif defined(__aarch64__)
#    define OWN_MACHINE      EM_AARCH64
#    define OWN_MACHINE_NAME "aarch64"
#else
#    error "unknown machine: name its ELF number here"
#endif

/* Larger than any library of kernels; keeps a wrong path from being read into memory. */
#define LIBRARY_LIMIT_BYTES ((size_t)4 << 30)

/* What a library may need, up to ".so". Sanitizers interpose on a whole process and are shared by
 * nature. */
static const char *const allowed[] = {
    "libc",       "libm",    "libstdc++", "libgcc_s", "libgomp",         "librt",           "libdl",
    "libpthread", "libasan", "libubsan",  "libtsan",  "ld-linux-x86-64", "ld-linux-aarch64"};

struct image {
    const char *path;
    const char *bytes;
    size_t size;
    Elf64_Ehdr header;
};

/* Copies `size` bytes at `offset`: the file promises no alignment. */
static bool take(const struct image *image, uint64_t offset, void *to, size_t size)
{
    if (offset > image->size || size > image->size - offset)
        return false;
    memcpy(to, image->bytes + offset, size);
    return true;
}

static bool section_at(const struct image *image, unsigned i, Elf64_Shdr *section)
{
    if (i >= image->header.e_shnum)
        return false;
    return take(image, image->header.e_shoff + (uint64_t)i * sizeof(*section), section,
                sizeof(*section));
}

static bool find_section(const struct image *image, unsigned type, Elf64_Shdr *section)
{
    for (unsigned i = 0; section_at(image, i, section); i++)
        if (section->sh_type == type)
            return true;
    return false;
}

/* A string of the table that `section` links to; NULL where it runs out of the file. */
static const char *linked_string(const struct image *image, const Elf64_Shdr *section,
                                 uint64_t offset)
{
    Elf64_Shdr strings;

    if (!section_at(image, section->sh_link, &strings) || strings.sh_type != SHT_STRTAB ||
        strings.sh_offset > image->size || strings.sh_size > image->size - strings.sh_offset ||
        offset >= strings.sh_size)
        return NULL;
    if (!memchr(image->bytes + strings.sh_offset + offset, '\0', strings.sh_size - offset))
        return NULL;
    return image->bytes + strings.sh_offset + offset;
}

static int damaged(const struct image *image, const char *what, struct err *err)
{
    return err_set(err, ERR_CONFIG, "library '%s' has %s: expected an undamaged shared object",
                   image->path, what);
}

static int check_header(struct image *image, struct err *err)
{
    const char *path = image->path;

    if (image->size < SELFMAG || memcmp(image->bytes, ELFMAG, SELFMAG) != 0)
        return err_set(err, ERR_CONFIG,
                       "library '%s' is not an ELF file: expected a shared object (.so)", path);
    if (!take(image, 0, &image->header, sizeof(image->header)))
        return damaged(image, "a cut header", err);
    if (image->header.e_ident[EI_CLASS] != ELFCLASS64 ||
        image->header.e_ident[EI_DATA] != ELFDATA2LSB || image->header.e_machine != OWN_MACHINE)
        return err_set(
            err, ERR_CONFIG,
            "library '%s' is built for another machine (ELF machine %u): build it for %s", path,
            image->header.e_machine, OWN_MACHINE_NAME);
    if (image->header.e_type != ET_DYN)
        return err_set(err, ERR_CONFIG,
                       "library '%s' has ELF type %u: link it with -shared (a MODULE library)",
                       path, image->header.e_type);
    if (image->header.e_shentsize != sizeof(Elf64_Shdr))
        return damaged(image, "no section table", err);
    return 0;
}

static bool is_allowed(const char *needed)
{
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        size_t len = strlen(allowed[i]);

        if (strncmp(needed, allowed[i], len) == 0 && strncmp(needed + len, ".so", 3) == 0)
            return true;
    }
    return false;
}

static int check_needed(const struct image *image, struct err *err)
{
    Elf64_Shdr dynamic;
    Elf64_Dyn entry;

    if (!find_section(image, SHT_DYNAMIC, &dynamic))
        return damaged(image, "no dynamic section", err);
    for (uint64_t at = 0; at + sizeof(entry) <= dynamic.sh_size; at += sizeof(entry)) {
        const char *needed;

        if (!take(image, dynamic.sh_offset + at, &entry, sizeof(entry)))
            return damaged(image, "a cut dynamic section", err);
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag != DT_NEEDED)
            continue;
        needed = linked_string(image, &dynamic, entry.d_un.d_val);
        if (!needed)
            return damaged(image, "a bad needed name", err);
        if (!is_allowed(needed))
            return err_set(
                err, ERR_CONFIG,
                "library '%s' needs '%s', which two builds would share: link it statically "
                "(the CUDA runtime too); only libc, libm, libstdc++, libgcc_s, libgomp and "
                "the loader may be needed",
                image->path, needed);
    }
    return 0;
}

/* What is wrong with one exported symbol. `exported` counts them. */
static int check_symbol(const struct image *image, const char *name, const Elf64_Sym *symbol,
                        int *found, struct err *err)
{
    unsigned bind = ELF64_ST_BIND(symbol->st_info), seen = ELF64_ST_VISIBILITY(symbol->st_other);

    if (symbol->st_shndx == SHN_UNDEF || bind == STB_LOCAL)
        return 0;
    if (bind == STB_GNU_UNIQUE)
        return err_set(
            err, ERR_CONFIG,
            "library '%s' has the process-unique symbol '%s', which two builds would share: "
            "compile with -fno-gnu-unique and -fvisibility=hidden",
            image->path, name);
    if (seen != STV_DEFAULT && seen != STV_PROTECTED)
        return 0;
    if (strcmp(name, SAB_LIBRARY_SYMBOL) != 0)
        return err_set(err, ERR_CONFIG,
                       "library '%s' exports '%s' beside sab_library: compile with "
                       "-fvisibility=hidden and link with a version script that exports "
                       "sab_library alone",
                       image->path, name);
    *found += 1;
    return 0;
}

static int check_symbols(const struct image *image, struct err *err)
{
    Elf64_Shdr table;
    Elf64_Sym symbol;
    int found = 0;

    if (!find_section(image, SHT_DYNSYM, &table))
        return damaged(image, "no dynamic symbols", err);
    for (uint64_t at = 0; at + sizeof(symbol) <= table.sh_size; at += sizeof(symbol)) {
        const char *name;

        if (!take(image, table.sh_offset + at, &symbol, sizeof(symbol)))
            return damaged(image, "a cut symbol table", err);
        name = linked_string(image, &table, symbol.st_name);
        if (!name)
            return damaged(image, "a bad symbol name", err);
        if (check_symbol(image, name, &symbol, &found, err) < 0)
            return -1;
    }
    if (found != 1)
        return err_set(
            err, ERR_CONFIG,
            "library '%s' does not export sab_library: define it as sab.h declares it, with "
            "SAB_EXPORT",
            image->path);
    return 0;
}

int library_check_elf(const char *path, struct err *err)
{
    struct image image = {.path = path};
    struct strbuf bytes = STRBUF_INIT;
    int rc = file_read(path, &bytes, LIBRARY_LIMIT_BYTES, err);

    image.bytes = bytes.buf;
    image.size = bytes.len;
    if (rc == 0)
        rc = check_header(&image, err);
    if (rc == 0)
        rc = check_needed(&image, err);
    if (rc == 0)
        rc = check_symbols(&image, err);
    strbuf_release(&bytes);
    return rc;
}
