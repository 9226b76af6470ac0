/*
 * mma_table.h - what the choice `descriptor = cached` remembers of the maps that it copied to
 * workspaces. It does what FlashInfer #4951 did, faults and all, so that they can be shown and
 * measured: an entry is believed although nothing says that its bytes are still there, and none is
 * ever dropped, so that the table grows by one entry (there by four, one a map) with every new
 * workspace address (contracts/sage.md section 7.2).
 */
#ifndef SAGE_MMA_TABLE_H
#define SAGE_MMA_TABLE_H

#include <stdint.h>

#include "descriptor_call.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAGE_TABLE_BUCKETS 4096

struct sage_table_entry;

/* All zeros is an empty table. */
struct sage_table {
    struct sage_table_entry *bucket[SAGE_TABLE_BUCKETS];
    uint64_t nr;
};

/* One copy of maps to a workspace. */
struct sage_table_upload {
    int32_t device;     /* stands for its context: the runtime has one a device */
    uint64_t address;   /* of the workspace */
    uint64_t buffer_id; /* the driver's, of the allocation around it */
    const void *maps;   /* SAGE_DESCRIPTOR_BYTES */
};

/* Is this address remembered with this buffer and these maps? Then #4951 copies nothing. */
int sage_table_knows(const struct sage_table *table, const struct sage_table_upload *upload);
/* Remembers the upload in place of what the address had before. SAB_FAILED without memory. */
int sage_table_note(struct sage_table *table, const struct sage_table_upload *upload,
                    struct sab_message *msg);
/* For tests: the library's own table lives as long as the process. */
void sage_table_release(struct sage_table *table);

#ifdef __cplusplus
}
#endif
#endif
