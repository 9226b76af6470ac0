/*
 * cubin_read.h - what the machine code of a library uses, read from the CUDA ELF images (cubins)
 * inside it, since a toolkit may come without cuobjdump.
 *
 * The layout of these files is not documented by NVIDIA; what is used of it was compared with
 * `ptxas -v` and `cuobjdump -res-usage` of CUDA 13.0 for sm_80, 90a, 100a, 103a and 120a.
 */
#ifndef SAB_CUBIN_READ_H
#define SAB_CUBIN_READ_H

#include "cubin_elf.h"

#include <stdint.h>

/* One kernel (an entry function) of one image. */
struct cubin_function {
    char *name;    /* mangled */
    char arch[16]; /* "90a" */
    unsigned sm;   /* 90 */
    uint32_t registers;
    /* Bytes of stack per thread, called functions included: local arrays and spills together. A
     * recursive function's is not in the file. */
    uint32_t stack;
    uint64_t shared; /* static, bytes, without the 1 KiB that the hardware reserves from sm_90 on */
    uint64_t constant; /* bytes of bank 0: parameters and launch geometry */
    char sha256[65];   /* of the function's machine code */
};

struct cubin_functions {
    struct cubin_function *item;
    size_t nr, alloc;
};

/* Adds the functions of one cubin. */
int cubin_read(struct cubin_functions *functions, struct bytes cubin, struct cubin_error *err);
/* Adds those of every cubin in `file`: a shared object, an object file, or a cubin itself. A file
 * without CUDA code adds none. Compressed images are an error: silence would hide their spills. */
int cubin_find(struct cubin_functions *functions, struct bytes file, struct cubin_error *err);
/* By architecture, name, then hash. */
void cubin_functions_sort(struct cubin_functions *functions);
void cubin_functions_release(struct cubin_functions *functions);

#endif
