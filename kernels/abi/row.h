/*
 * row.h - what every row of a kernel table says about its operator, generated from ops.h:
 *
 *     const struct sab_kernel sage_fwd_cpu_row = {
 *         SAB_ROW(sage_fwd),
 *         .name = "cpu",
 *         ...
 *     };
 *
 * C only: C++17 has no designated initialisers, so rows stand in C files.
 */
#ifndef SAB_ROW_H
#define SAB_ROW_H

#include "ops_hash.h"
#include "schema.h"

#define SAB_ROW(name_of_op)                                                                        \
    .struct_size = sizeof(struct sab_kernel), .op = #name_of_op,                                   \
    .schema_hash = SAB_HASH_##name_of_op, .tensors_nr = SAB_TENSORS_NR_##name_of_op,               \
    .params_nr = SAB_PARAMS_NR_##name_of_op

/* The struct sizes of a library's table. */
#define SAB_LIBRARY_SIZES                                                                          \
    .abi_version = SAB_ABI_VERSION, .struct_size = sizeof(struct sab_library),                     \
    .kernel_size = sizeof(struct sab_kernel), .option_size = sizeof(struct sab_option),            \
    .choice_size = sizeof(struct sab_choice), .tensor_size = sizeof(struct sab_tensor),            \
    .problem_size = sizeof(struct sab_problem)

#endif
