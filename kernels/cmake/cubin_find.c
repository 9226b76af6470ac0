#include "cubin_read.h"

#include <string.h>

/*
 * A fat binary: this header, then entries, each a header of its own followed by an image.
 */
enum { FATBIN_MAGIC = 0xba55ed50 };
enum { FATBIN_PTX = 1, FATBIN_ELF = 2 };

struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t payload_bytes; /* of all entries */
};

/* The beginning of an entry; more follows up to header_bytes. */
struct fatbin_entry {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
};

static int read_entries(struct cubin_functions *functions, struct bytes payload,
                        struct cubin_error *err)
{
    struct fatbin_entry entry;
    struct bytes image;

    while (payload.len) {
        if (payload.len < sizeof(entry))
            return cubin_fail(err, "a fat binary that ends inside an entry");
        memcpy(&entry, payload.at, sizeof(entry));
        if (entry.header_bytes < sizeof(entry) ||
            !bytes_part(payload, entry.header_bytes, entry.payload_bytes, &image))
            return cubin_fail(err, "a fat binary whose entry of %llu bytes lies outside of it",
                              (unsigned long long)entry.payload_bytes);
        if (entry.kind == FATBIN_ELF) {
            if (!elf_is(image))
                return cubin_fail(err,
                                  "a compressed device image: compile with nvcc --no-compress");
            if (cubin_read(functions, image, err))
                return -1;
        } else if (entry.kind != FATBIN_PTX) {
            return cubin_fail(err, "a fat binary with an entry of unknown kind %u", entry.kind);
        }
        payload.len -= (size_t)(image.at + image.len - payload.at);
        payload.at = image.at + image.len;
    }
    return 0;
}

/* One fat binary a translation unit, one behind the other, with zeros for alignment between. */
static int read_fatbins(struct cubin_functions *functions, struct bytes section,
                        struct cubin_error *err)
{
    struct fatbin_header header;
    struct bytes payload;

    for (;;) {
        while (section.len && !*section.at) {
            section.at++;
            section.len--;
        }
        if (!section.len)
            return 0;
        if (section.len < sizeof(header))
            return cubin_fail(err, "a device section that ends inside a fat binary's header");
        memcpy(&header, section.at, sizeof(header));
        if (header.magic != FATBIN_MAGIC || header.header_bytes < sizeof(header))
            return cubin_fail(err,
                              "a device section with 0x%08x where a fat binary begins "
                              "(0x%08x)",
                              header.magic, FATBIN_MAGIC);
        if (!bytes_part(section, header.header_bytes, header.payload_bytes, &payload))
            return cubin_fail(err, "a fat binary of %llu bytes that lies outside its section",
                              (unsigned long long)header.payload_bytes);
        if (read_entries(functions, payload, err))
            return -1;
        section.len -= (size_t)(payload.at + payload.len - section.at);
        section.at = payload.at + payload.len;
    }
}

int cubin_find(struct cubin_functions *functions, struct bytes file, struct cubin_error *err)
{
    struct elf elf;
    struct elf_section section;
    struct bytes bytes;

    if (elf_open(&elf, file, err))
        return -1;
    if (elf.head.e_machine == EM_CUDA)
        return cubin_read(functions, file, err);
    for (size_t i = 0; i < elf.head.e_shnum; i++) {
        if (elf_section(&elf, i, &section, err))
            return -1;
        /* The second holds relocatable device code. */
        if (strcmp(section.name, ".nv_fatbin") && strcmp(section.name, "__nv_relfatbin"))
            continue;
        if (elf_bytes(&elf, &section, &bytes, err) || read_fatbins(functions, bytes, err))
            return -1;
    }
    return 0;
}
