/*
 * gen_hash.c - a build-time tool: writes ops_hash.h, the hash of every operator's lists, so that a
 * kernel table can hold them as constants.
 */
#include "schema.h"

#include <stdio.h>

int main(void)
{
    const struct sab_op_spec *op;

    printf("/* ops_hash.h - written by gen_hash at build time from ops.h. */\n");
    printf("#ifndef SAB_OPS_HASH_H\n#define SAB_OPS_HASH_H\n\n");
    for (uint32_t i = 0; (op = sab_op_at(i)) != NULL; i++)
        printf("#define SAB_HASH_%s 0x%016llxull\n", op->name,
               (unsigned long long)sab_schema_hash(op, op->tensors_nr, op->params_nr));
    printf("\n#endif\n");
    return ferror(stdout) || fflush(stdout) != 0;
}
