/* vector_bf16.cu - the kernels of indexer_topk/vector for bf16 elements. */
#include "vector_kernel.cuh"

TOPK_KERNELS(bf16)
