#include "cubin_read.h"
#include "cubin_sha256.h"

#include <ctype.h>
#include <stdlib.h>

enum {
    SYMBOL_ENTRY = 0x10, /* in st_other: a kernel, not a function that kernels call */
    ABI_SM_SECOND = 8,   /* from this e_ident[EI_ABIVERSION] on, e_flags holds the SM in byte 1 */
    RESERVED_SHARED_BYTES = 1024,
    RESERVED_SHARED_SM = 90,
};

/* Records of .nv.info: a format byte, an attribute byte, then 16 bits that are the value or, in the
 * last format, the length of what follows. */
enum { INFO_SIZED = 4 };
enum { INFO_FRAME_SIZE = 0x11, INFO_MIN_STACK_SIZE = 0x12, INFO_REGCOUNT = 0x2f };

struct cubin {
    struct elf elf;
    struct bytes symbols, strings;
    struct bytes info; /* of all functions, by symbol number */
    unsigned sm;
    char arch[16];
};

static int open_section(const struct cubin *cubin, const char *name, struct bytes *bytes,
                        struct cubin_error *err)
{
    struct elf_section section;
    int found = elf_find(&cubin->elf, "", name, &section, err);

    if (found > 0 && elf_bytes(&cubin->elf, &section, bytes, err))
        return -1;
    return found;
}

/* e_flags are equal for sm_90 and sm_90a; the note of the assembler's command line tells. */
static int find_arch(struct cubin *cubin, struct cubin_error *err)
{
    const Elf64_Ehdr *head = &cubin->elf.head;
    struct bytes note = {0};
    char target[16];
    size_t len, i;

    cubin->sm = head->e_flags >> (head->e_ident[EI_ABIVERSION] >= ABI_SM_SECOND ? 8 : 0) & 0xff;
    snprintf(cubin->arch, sizeof(cubin->arch), "%u", cubin->sm);
    len = (size_t)snprintf(target, sizeof(target), "sm_%u", cubin->sm);
    if (open_section(cubin, ".note.nv.tkinfo", &note, err) < 0)
        return -1;
    for (i = 0; i + len + 1 < note.len; i++) {
        int suffix = note.at[i + len];

        if (memcmp(note.at + i, target, len) || !islower(suffix) || isalnum(note.at[i + len + 1]))
            continue;
        snprintf(cubin->arch, sizeof(cubin->arch), "%u%c", cubin->sm, suffix);
        break;
    }
    return 0;
}

static int cubin_open(struct cubin *cubin, struct bytes file, struct cubin_error *err)
{
    *cubin = (struct cubin){0};
    if (elf_open(&cubin->elf, file, err))
        return -1;
    if (cubin->elf.head.e_machine != EM_CUDA)
        return cubin_fail(err, "a device image for machine %u, not %u (CUDA)",
                          cubin->elf.head.e_machine, EM_CUDA);
    if (find_arch(cubin, err) || open_section(cubin, ".symtab", &cubin->symbols, err) < 0 ||
        open_section(cubin, ".strtab", &cubin->strings, err) < 0 ||
        open_section(cubin, ".nv.info", &cubin->info, err) < 0)
        return -1;
    if (cubin->strings.len && cubin->strings.at[cubin->strings.len - 1])
        return cubin_fail(err, "a cubin whose symbol names do not end");
    return 0;
}

/* One number that .nv.info holds for a symbol; `value` stays as it is where there is none. */
static int read_info(const struct cubin *cubin, unsigned attribute, uint32_t symbol,
                     uint32_t *value, struct cubin_error *err)
{
    struct bytes info = cubin->info, record;
    uint32_t pair[2];

    while (info.len) {
        size_t len = 4;

        if (info.len >= 4 && info.at[0] == INFO_SIZED)
            len += info.at[2] | (size_t)info.at[3] << 8;
        if (!bytes_part(info, 0, len, &record))
            return cubin_fail(err, "a cubin whose .nv.info ends inside a record");
        if (record.at[0] == INFO_SIZED && record.at[1] == attribute && len >= 4 + sizeof(pair)) {
            memcpy(pair, record.at + 4, sizeof(pair));
            if (pair[0] == symbol)
                *value = pair[1];
        }
        info = (struct bytes){info.at + len, info.len - len};
    }
    return 0;
}

static int read_numbers(const struct cubin *cubin, uint32_t symbol, struct cubin_function *f,
                        struct cubin_error *err)
{
    uint32_t frame = 0;
    struct elf_section section;
    int found;

    if (read_info(cubin, INFO_REGCOUNT, symbol, &f->registers, err) ||
        read_info(cubin, INFO_FRAME_SIZE, symbol, &frame, err) ||
        read_info(cubin, INFO_MIN_STACK_SIZE, symbol, &f->stack, err))
        return -1;
    if (frame > f->stack)
        f->stack = frame;

    found = elf_find(&cubin->elf, ".nv.shared.", f->name, &section, err);
    if (found > 0)
        f->shared = section.head.sh_size;
    if (f->sm >= RESERVED_SHARED_SM && f->shared >= RESERVED_SHARED_BYTES)
        f->shared -= RESERVED_SHARED_BYTES;
    if (found >= 0)
        found = elf_find(&cubin->elf, ".nv.constant0.", f->name, &section, err);
    if (found > 0)
        f->constant = section.head.sh_size;
    return found < 0 ? -1 : 0;
}

static int read_function(const struct cubin *cubin, uint32_t number, const Elf64_Sym *symbol,
                         struct cubin_function *f, struct cubin_error *err)
{
    const char *name = bytes_string(cubin->strings, symbol->st_name);
    struct elf_section section;
    struct bytes code;

    if (!name || !*name)
        return cubin_fail(err, "a cubin whose kernel symbol %u has no name", number);
    if (symbol->st_shndx >= cubin->elf.head.e_shnum)
        return cubin_fail(err, "a cubin whose kernel %.80s lies in section %u of %u", name,
                          symbol->st_shndx, cubin->elf.head.e_shnum);
    if (elf_section(&cubin->elf, symbol->st_shndx, &section, err) ||
        elf_bytes(&cubin->elf, &section, &code, err))
        return -1;

    /* Older assemblers write the count here and nowhere else. */
    *f = (struct cubin_function){.sm = cubin->sm, .registers = section.head.sh_info >> 24};
    f->name = strdup(name);
    if (!f->name)
        return cubin_fail(err, "out of memory");
    memcpy(f->arch, cubin->arch, sizeof(f->arch));
    cubin_sha256(code.at, code.len, f->sha256);
    return read_numbers(cubin, number, f, err);
}

static struct cubin_function *functions_grow(struct cubin_functions *functions)
{
    if (functions->nr == functions->alloc) {
        size_t alloc = functions->alloc ? 2 * functions->alloc : 64;
        struct cubin_function *item = realloc(functions->item, alloc * sizeof(*item));

        if (!item)
            return NULL;
        functions->item = item;
        functions->alloc = alloc;
    }
    return &functions->item[functions->nr];
}

int cubin_read(struct cubin_functions *functions, struct bytes file, struct cubin_error *err)
{
    struct cubin cubin;
    Elf64_Sym symbol;

    if (cubin_open(&cubin, file, err))
        return -1;
    for (size_t i = 0; i < cubin.symbols.len / sizeof(symbol); i++) {
        struct cubin_function *f;

        memcpy(&symbol, cubin.symbols.at + i * sizeof(symbol), sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & SYMBOL_ENTRY))
            continue;
        f = functions_grow(functions);
        if (!f)
            return cubin_fail(err, "out of memory");
        *f = (struct cubin_function){0};
        functions->nr++;
        if (read_function(&cubin, (uint32_t)i, &symbol, f, err))
            return -1;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct cubin_function *x = a, *y = b;
    int order = (x->sm > y->sm) - (x->sm < y->sm);

    if (!order)
        order = strcmp(x->arch, y->arch);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->sha256, y->sha256);
}

void cubin_functions_sort(struct cubin_functions *functions)
{
    if (functions->nr)
        qsort(functions->item, functions->nr, sizeof(functions->item[0]), compare);
}

void cubin_functions_release(struct cubin_functions *functions)
{
    for (size_t i = 0; i < functions->nr; i++)
        free(functions->item[i].name);
    free(functions->item);
    *functions = (struct cubin_functions){0};
}
