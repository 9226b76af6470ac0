#include "mma_table.h"

#include <stdlib.h>
#include <string.h>

struct sage_table_entry {
    struct sage_table_entry *next;
    uint64_t address;
    uint64_t buffer_id;
    int32_t device;
    uint8_t maps[SAGE_DESCRIPTOR_BYTES];
};

static uint32_t bucket_of(const struct sage_table_upload *upload)
{
    /* Fibonacci hashing: workspaces lie at multiples of 128, often in a row. */
    return (uint32_t)((upload->address + (uint64_t)upload->device) * 0x9e3779b97f4a7c15u >> 52) %
           SAGE_TABLE_BUCKETS;
}

static struct sage_table_entry *find(const struct sage_table *table,
                                     const struct sage_table_upload *upload)
{
    struct sage_table_entry *e = table->bucket[bucket_of(upload)];

    while (e && (e->address != upload->address || e->device != upload->device))
        e = e->next;
    return e;
}

int sage_table_knows(const struct sage_table *table, const struct sage_table_upload *upload)
{
    const struct sage_table_entry *e = find(table, upload);

    return e && e->buffer_id == upload->buffer_id &&
           memcmp(e->maps, upload->maps, sizeof(e->maps)) == 0;
}

int sage_table_note(struct sage_table *table, const struct sage_table_upload *upload,
                    struct sab_message *msg)
{
    struct sage_table_entry **head = &table->bucket[bucket_of(upload)];
    struct sage_table_entry *e = find(table, upload);

    if (!e) {
        e = malloc(sizeof(*e));
        if (!e)
            return sab_say(msg, SAB_FAILED, "no memory for a table entry of %zu bytes", sizeof(*e));
        e->next = *head;
        e->address = upload->address;
        e->device = upload->device;
        *head = e;
        table->nr++;
    }
    e->buffer_id = upload->buffer_id;
    memcpy(e->maps, upload->maps, sizeof(e->maps));
    return SAB_OK;
}

void sage_table_release(struct sage_table *table)
{
    for (uint32_t i = 0; i < SAGE_TABLE_BUCKETS; i++)
        for (struct sage_table_entry *e = table->bucket[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    memset(table, 0, sizeof(*table));
}
