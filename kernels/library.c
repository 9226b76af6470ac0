/*
 * library.c - the table of this library: one row a kernel. To add a kernel: its row here, its file
 * beside the operator's others.
 */
#include "absent.h"
#include "ceiling/form_call.h"
#include "row.h"
#include "sab.h"
#include "sab_build.h"
#include "sage_fwd/descriptor_call.h"

extern const struct sab_kernel sage_fwd_cpu_row;
extern const struct sab_kernel sage_quant_q_cpu_row, sage_quant_kv_cpu_row;
extern const struct sab_kernel bsa_fwd_cpu_row;
extern const struct sab_kernel copy_cpu_row, read_cpu_row;
extern const struct sab_kernel dsa_fwd_cpu_row, dsa_bwd_cpu_row;
extern const struct sab_kernel indexer_fwd_cpu_row, indexer_topk_cpu_row;
extern const struct sab_kernel indexer_bwd_sparse_cpu_row, indexer_bwd_dense_cpu_row;
extern const struct sab_kernel score_sparse_indexer_cpu_row, score_sparse_attention_cpu_row;
extern const struct sab_kernel score_dense_indexer_cpu_row, score_dense_attention_cpu_row;
#ifdef SAB_HAVE_CUDA
extern const struct sab_kernel sage_fwd_reference_row;
extern const struct sab_kernel sage_fwd_mma_row;
extern const struct sab_kernel sage_fwd_wgmma_row;
extern const struct sab_kernel sage_quant_q_reference_row, sage_quant_kv_reference_row;
extern const struct sab_kernel sage_quant_q_vector_row, sage_quant_kv_vector_row;
extern const struct sab_kernel bsa_fwd_reference_row;
extern const struct sab_kernel bsa_fwd_mma_row, bsa_fwd_wgmma_row;
extern const struct sab_kernel copy_vector_row;
extern const struct sab_kernel read_vector_row, gather_vector_row, gather_bulk_row;
extern const struct sab_kernel reduce_vector_row, gather_reduce_vector_row, exp2_vector_row;
extern const struct sab_kernel mma_peak_mma_row, mma_peak_wgmma_row;
extern const struct sab_kernel dsa_fwd_reference_row, dsa_fwd_mma_row, dsa_fwd_wgmma_row;
extern const struct sab_kernel dsa_bwd_reference_row, dsa_bwd_mma_row, dsa_bwd_wgmma_row;
extern const struct sab_kernel indexer_fwd_reference_row, indexer_topk_reference_row;
extern const struct sab_kernel indexer_bwd_sparse_reference_row, indexer_bwd_dense_reference_row;
extern const struct sab_kernel indexer_bwd_sparse_mma_row, indexer_bwd_dense_mma_row;
extern const struct sab_kernel indexer_bwd_sparse_wgmma_row, indexer_bwd_dense_wgmma_row;
extern const struct sab_kernel score_sparse_indexer_reference_row,
    score_sparse_attention_reference_row;
extern const struct sab_kernel score_dense_indexer_reference_row,
    score_dense_attention_reference_row;
extern const struct sab_kernel score_sparse_indexer_mma_row, score_sparse_indexer_wgmma_row;
extern const struct sab_kernel score_sparse_attention_mma_row, score_sparse_attention_wgmma_row;
extern const struct sab_kernel score_dense_indexer_mma_row, score_dense_indexer_wgmma_row;
extern const struct sab_kernel score_dense_attention_mma_row, score_dense_attention_wgmma_row;
extern const struct sab_kernel indexer_topk_vector_row;
extern const struct sab_kernel indexer_fwd_mma_row, indexer_fwd_wgmma_row;
#else
/* Names stay known without CUDA, so that a sweep with arms for both devices still reads. */
static const struct sab_kernel sage_fwd_reference_row = SAB_ABSENT_ROW(sage_fwd, "reference");
static const struct sab_kernel sage_fwd_mma_row =
    SAB_ABSENT_ROW_OPTIONS(sage_fwd, "mma", sage_descriptor_options, SAGE_DESCRIPTOR_OPTIONS_NR);
static const struct sab_kernel sage_fwd_wgmma_row =
    SAB_ABSENT_ROW_OPTIONS(sage_fwd, "wgmma", sage_descriptor_options, SAGE_DESCRIPTOR_OPTIONS_NR);
static const struct sab_kernel sage_quant_q_reference_row =
    SAB_ABSENT_ROW(sage_quant_q, "reference");
static const struct sab_kernel sage_quant_q_vector_row = SAB_ABSENT_ROW(sage_quant_q, "vector");
static const struct sab_kernel sage_quant_kv_reference_row =
    SAB_ABSENT_ROW(sage_quant_kv, "reference");
static const struct sab_kernel sage_quant_kv_vector_row = SAB_ABSENT_ROW(sage_quant_kv, "vector");
static const struct sab_kernel bsa_fwd_reference_row = SAB_ABSENT_ROW(bsa_fwd, "reference");
static const struct sab_kernel bsa_fwd_mma_row = SAB_ABSENT_ROW(bsa_fwd, "mma");
static const struct sab_kernel bsa_fwd_wgmma_row = SAB_ABSENT_ROW(bsa_fwd, "wgmma");
static const struct sab_kernel copy_vector_row = SAB_ABSENT_ROW(copy, "vector");
static const struct sab_kernel read_vector_row = SAB_ABSENT_ROW(read, "vector");
static const struct sab_kernel gather_vector_row = SAB_ABSENT_ROW(gather, "vector");
static const struct sab_kernel gather_bulk_row = SAB_ABSENT_ROW(gather, "bulk");
static const struct sab_kernel gather_reduce_vector_row = SAB_ABSENT_ROW(gather_reduce, "vector");
static const struct sab_kernel exp2_vector_row = SAB_ABSENT_ROW(exp2, "vector");
static const struct sab_kernel mma_peak_mma_row = SAB_ABSENT_ROW(mma_peak, "mma");
static const struct sab_kernel mma_peak_wgmma_row = SAB_ABSENT_ROW(mma_peak, "wgmma");
static const struct sab_kernel reduce_vector_row =
    SAB_ABSENT_ROW_OPTIONS(reduce, "vector", ceiling_form_options, CEILING_FORM_OPTIONS_NR);
static const struct sab_kernel dsa_fwd_reference_row = SAB_ABSENT_ROW(dsa_fwd, "reference");
static const struct sab_kernel dsa_fwd_mma_row = SAB_ABSENT_ROW(dsa_fwd, "mma");
static const struct sab_kernel dsa_fwd_wgmma_row = SAB_ABSENT_ROW(dsa_fwd, "wgmma");
static const struct sab_kernel dsa_bwd_reference_row = SAB_ABSENT_ROW(dsa_bwd, "reference");
static const struct sab_kernel dsa_bwd_mma_row = SAB_ABSENT_ROW(dsa_bwd, "mma");
static const struct sab_kernel dsa_bwd_wgmma_row = SAB_ABSENT_ROW(dsa_bwd, "wgmma");
static const struct sab_kernel indexer_fwd_reference_row = SAB_ABSENT_ROW(indexer_fwd, "reference");
static const struct sab_kernel indexer_topk_reference_row =
    SAB_ABSENT_ROW(indexer_topk, "reference");
static const struct sab_kernel indexer_bwd_sparse_reference_row =
    SAB_ABSENT_ROW(indexer_bwd_sparse, "reference");
static const struct sab_kernel indexer_bwd_dense_reference_row =
    SAB_ABSENT_ROW(indexer_bwd_dense, "reference");
static const struct sab_kernel score_sparse_indexer_reference_row =
    SAB_ABSENT_ROW(score_sparse_indexer, "reference");
static const struct sab_kernel score_sparse_attention_reference_row =
    SAB_ABSENT_ROW(score_sparse_attention, "reference");
static const struct sab_kernel score_dense_indexer_reference_row =
    SAB_ABSENT_ROW(score_dense_indexer, "reference");
static const struct sab_kernel score_dense_attention_reference_row =
    SAB_ABSENT_ROW(score_dense_attention, "reference");
static const struct sab_kernel score_sparse_indexer_mma_row =
    SAB_ABSENT_ROW(score_sparse_indexer, "mma");
static const struct sab_kernel score_sparse_indexer_wgmma_row =
    SAB_ABSENT_ROW(score_sparse_indexer, "wgmma");
static const struct sab_kernel score_sparse_attention_mma_row =
    SAB_ABSENT_ROW(score_sparse_attention, "mma");
static const struct sab_kernel score_sparse_attention_wgmma_row =
    SAB_ABSENT_ROW(score_sparse_attention, "wgmma");
static const struct sab_kernel score_dense_indexer_mma_row =
    SAB_ABSENT_ROW(score_dense_indexer, "mma");
static const struct sab_kernel score_dense_indexer_wgmma_row =
    SAB_ABSENT_ROW(score_dense_indexer, "wgmma");
static const struct sab_kernel score_dense_attention_mma_row =
    SAB_ABSENT_ROW(score_dense_attention, "mma");
static const struct sab_kernel score_dense_attention_wgmma_row =
    SAB_ABSENT_ROW(score_dense_attention, "wgmma");
static const struct sab_kernel indexer_topk_vector_row = SAB_ABSENT_ROW(indexer_topk, "vector");
static const struct sab_kernel indexer_bwd_sparse_mma_row =
    SAB_ABSENT_ROW(indexer_bwd_sparse, "mma");
static const struct sab_kernel indexer_bwd_dense_mma_row = SAB_ABSENT_ROW(indexer_bwd_dense, "mma");
static const struct sab_kernel indexer_bwd_sparse_wgmma_row =
    SAB_ABSENT_ROW(indexer_bwd_sparse, "wgmma");
static const struct sab_kernel indexer_bwd_dense_wgmma_row =
    SAB_ABSENT_ROW(indexer_bwd_dense, "wgmma");
static const struct sab_kernel indexer_fwd_mma_row = SAB_ABSENT_ROW(indexer_fwd, "mma");
static const struct sab_kernel indexer_fwd_wgmma_row = SAB_ABSENT_ROW(indexer_fwd, "wgmma");
#endif

/* clang-format off */
static const struct sab_kernel *const kernels[] = {
    &sage_fwd_cpu_row,
    &sage_fwd_reference_row,
    &sage_fwd_mma_row,
    &sage_fwd_wgmma_row,
    &sage_quant_q_cpu_row,
    &sage_quant_q_reference_row,
    &sage_quant_q_vector_row,
    &sage_quant_kv_cpu_row,
    &sage_quant_kv_reference_row,
    &sage_quant_kv_vector_row,
    &bsa_fwd_cpu_row,
    &bsa_fwd_reference_row,
    &bsa_fwd_mma_row,
    &bsa_fwd_wgmma_row,
    &copy_cpu_row,
    &copy_vector_row,
    &read_cpu_row,
    &read_vector_row,
    &gather_vector_row,
    &gather_bulk_row,
    &reduce_vector_row,
    &gather_reduce_vector_row,
    &exp2_vector_row,
    &mma_peak_mma_row,
    &mma_peak_wgmma_row,
    &dsa_fwd_cpu_row,
    &dsa_fwd_reference_row,
    &dsa_fwd_mma_row,
    &dsa_fwd_wgmma_row,
    &dsa_bwd_cpu_row,
    &dsa_bwd_reference_row,
    &dsa_bwd_mma_row,
    &dsa_bwd_wgmma_row,
    &indexer_fwd_cpu_row,
    &indexer_fwd_reference_row,
    &indexer_fwd_mma_row,
    &indexer_fwd_wgmma_row,
    &indexer_topk_cpu_row,
    &indexer_topk_reference_row,
    &indexer_topk_vector_row,
    &score_sparse_indexer_cpu_row,
    &score_sparse_indexer_reference_row,
    &score_sparse_indexer_mma_row,
    &score_sparse_indexer_wgmma_row,
    &score_sparse_attention_cpu_row,
    &score_sparse_attention_reference_row,
    &score_sparse_attention_mma_row,
    &score_sparse_attention_wgmma_row,
    &score_dense_indexer_cpu_row,
    &score_dense_indexer_reference_row,
    &score_dense_indexer_mma_row,
    &score_dense_indexer_wgmma_row,
    &score_dense_attention_cpu_row,
    &score_dense_attention_reference_row,
    &score_dense_attention_mma_row,
    &score_dense_attention_wgmma_row,
    &indexer_bwd_sparse_cpu_row,
    &indexer_bwd_sparse_reference_row,
    &indexer_bwd_sparse_mma_row,
    &indexer_bwd_sparse_wgmma_row,
    &indexer_bwd_dense_cpu_row,
    &indexer_bwd_dense_reference_row,
    &indexer_bwd_dense_mma_row,
    &indexer_bwd_dense_wgmma_row,
};
/* clang-format on */

static const struct sab_library library = {
    SAB_LIBRARY_SIZES,
    .kernels_nr = sizeof(kernels) / sizeof(kernels[0]),
    .name = "sab_kernels",
    .describe = SAB_BUILD_DESCRIBE,
    .toolkit = SAB_BUILD_TOOLKIT,
    .targets = SAB_BUILD_TARGETS,
    .kernels = kernels,
};

/* The version asked for does not matter: the caller compares and names both. */
const struct sab_library *sab_library(uint32_t abi_version)
{
    (void)abi_version;
    return &library;
}
