/* vector_fp16.cu - the kernels of indexer_topk/vector for fp16 elements. */
#include "vector_kernel.cuh"

TOPK_KERNELS(fp16)
