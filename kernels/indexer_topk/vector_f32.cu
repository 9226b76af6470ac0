/* vector_f32.cu - the kernels of indexer_topk/vector for f32 elements. */
#include "vector_kernel.cuh"

TOPK_KERNELS(f32)
