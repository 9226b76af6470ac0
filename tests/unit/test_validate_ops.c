/*
 * test_validate_ops.c - rows of the other contracts' validation tables, in both layouts.
 */
#include "test_validate_world.h"

static void test_quantisers(void **state)
{
    struct world w;
    struct sab_tensor *q;

    (void)state;
    world_init(&w, "sage_quant_q");
    q = give(&w, "q", SAB_BF16, "2 3 33 128");
    give(&w, "q_int8", SAB_I8, "2 3 33 128");
    give(&w, "q_scale", SAB_F32, "2 3 4");
    expect(&w, SAB_OK, "");
    q->stride[0] = 128; /* BSHD seen as BHSD */
    q->stride[1] = 256;
    q->stride[2] = 768;
    expect(&w, SAB_OK, "");
    q->stride[3] = 2;
    expect(&w, SAB_INVALID, "q");
    give(&w, "q", SAB_FP16, "2 3 33 128");
    expect(&w, SAB_INVALID, "q");
    give(&w, "q", SAB_BF16, "2 3 33 64");
    give(&w, "q_int8", SAB_I8, "2 3 33 64");
    expect(&w, SAB_INVALID, "q");

    world_init(&w, "sage_quant_kv");
    give(&w, "k", SAB_BF16, "1 2 20 128");
    give(&w, "v", SAB_BF16, "1 2 20 128");
    give(&w, "k_int8", SAB_I8, "1 2 20 128");
    give(&w, "k_scale", SAB_F32, "1 2 1");
    give(&w, "v_fp8", SAB_E4M3, "1 2 128 64");
    give(&w, "v_scale", SAB_F32, "1 2 128");
    expect(&w, SAB_OK, "");
    give(&w, "v", SAB_BF16, "1 2 21 128");
    expect(&w, SAB_INVALID, "v");
}

static void test_bsa(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, "bsa_fwd");
    give(&w, "q", SAB_FP16, "1 8 65 128");
    give(&w, "k", SAB_FP16, "1 2 100 128");
    give(&w, "v", SAB_FP16, "1 2 100 128");
    give(&w, "q2k_block_index", SAB_I32, "1 8 2 2");
    give(&w, "block_sizes", SAB_I32, "1 8 2");
    give(&w, "out", SAB_FP16, "1 8 65 128");
    defaults(&w);
    expect(&w, SAB_OK, "");
    give(&w, "lse", SAB_F32, "1 8 65");
    expect(&w, SAB_OK, "");
    give(&w, "lse", SAB_F32, "1 65 8");
    expect(&w, SAB_INVALID, "lse");
    give(&w, "lse", SAB_F32, "1 8 65");
    give(&w, "block_sizes", SAB_I32, "1 2 2"); /* head axis is the query head */
    expect(&w, SAB_INVALID, "block_sizes");
    give(&w, "block_sizes", SAB_I32, "2");
    give(&w, "v", SAB_BF16, "1 2 100 128");
    expect(&w, SAB_INVALID, "v");
    give(&w, "v", SAB_FP16, "1 2 100 128");
    give(&w, "out", SAB_BF16, "1 8 65 128");
    expect(&w, SAB_INVALID, "out");
    give(&w, "out", SAB_FP16, "1 8 65 128");
    give(&w, "k", SAB_FP16, "1 3 100 128");
    give(&w, "v", SAB_FP16, "1 3 100 128");
    expect(&w, SAB_INVALID, "k");
    give(&w, "k", SAB_FP16, "1 0 100 128");
    give(&w, "v", SAB_FP16, "1 0 100 128");
    expect(&w, SAB_INVALID, "k");
}

static void dsa(struct world *w)
{
    world_init(w, "dsa_fwd");
    give(w, "q", SAB_BF16, "3 2 512");
    give(w, "kv", SAB_BF16, "8 512");
    give(w, "topk_idxs", SAB_I32, "3 5");
    give(w, "out", SAB_BF16, "3 2 512");
    give(w, "max_logits", SAB_F32, "3 2");
    give(w, "lse", SAB_F32, "3 2");
    defaults(w);
}

static void test_dsa(void **state)
{
    struct world w;

    (void)state;
    dsa(&w);
    expect(&w, SAB_OK, "");
    param(&w, "lse_prefix")->i = 5;
    expect(&w, SAB_INVALID, "lse_indexer");
    give(&w, "lse_indexer", SAB_F32, "3 2");
    expect(&w, SAB_OK, "");
    param(&w, "lse_prefix")->i = 6;
    expect(&w, SAB_INVALID, "lse_prefix");
    param(&w, "lse_prefix")->i = -1;
    expect(&w, SAB_INVALID, "lse_prefix");
    param(&w, "lse_prefix")->i = 0;
    expect(&w, SAB_INVALID, "lse_indexer");
    dsa(&w);
    give(&w, "q", SAB_BF16, "3 2 128");
    give(&w, "kv", SAB_BF16, "8 128");
    expect(&w, SAB_INVALID, "q");
    dsa(&w);
    give(&w, "kv", SAB_FP16, "8 512");
    expect(&w, SAB_INVALID, "kv");
    dsa(&w);
    give(&w, "topk_idxs", SAB_I32, "2 5");
    expect(&w, SAB_INVALID, "topk_idxs");
    dsa(&w);
    give(&w, "topk_length", SAB_I32, "5");
    expect(&w, SAB_INVALID, "topk_length");
    dsa(&w);
    give(&w, "attn_sink", SAB_BF16, "2");
    expect(&w, SAB_INVALID, "attn_sink");
    /* Nothing to do is legal, and needs no addresses. */
    dsa(&w);
    give(&w, "topk_idxs", SAB_I32, "3 0")->data = NULL;
    expect(&w, SAB_OK, "");
    give(&w, "kv", SAB_BF16, "0 512")->data = NULL;
    expect(&w, SAB_OK, "");
}

static void test_dsa_backward(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, "dsa_bwd");
    give(&w, "q", SAB_FP16, "3 2 576");
    give(&w, "kv", SAB_FP16, "8 576");
    give(&w, "out", SAB_FP16, "3 2 512");
    give(&w, "dout", SAB_FP16, "3 2 512");
    give(&w, "lse", SAB_F32, "3 2")->alignment = 8;
    give(&w, "attn_sink", SAB_F32, "2");
    give(&w, "topk_idxs", SAB_I32, "3 4");
    give(&w, "dq", SAB_FP16, "3 2 576");
    give(&w, "dkv", SAB_FP16, "8 576");
    give(&w, "d_sink", SAB_F32, "2");
    defaults(&w);
    expect(&w, SAB_OK, "");
    param(&w, "deterministic")->i = 1;
    expect(&w, SAB_OK, "");
    give(&w, "dout", SAB_FP16, "2 3 512"); /* transposed: once ran silently */
    expect(&w, SAB_INVALID, "dout");
    give(&w, "dout", SAB_FP16, "3 2 512");
    give(&w, "lse", SAB_F32, "2 3");
    expect(&w, SAB_INVALID, "lse");
    give(&w, "lse", SAB_F32, "3 2");
    give(&w, "dkv", SAB_F32, "8 576");
    expect(&w, SAB_INVALID, "dkv");
    give(&w, "dkv", SAB_FP16, "8 576");
    tensor(&w, "attn_sink")->dtype = SAB_NONE;
    expect(&w, SAB_INVALID, "attn_sink");
}

static void indexer(struct world *w)
{
    world_init(w, "indexer_fwd");
    give(w, "q", SAB_BF16, "2 5 16 128");
    give(w, "k", SAB_BF16, "2 8 1 128");
    give(w, "w", SAB_BF16, "2 5 16");
    give(w, "scores", SAB_F32, "2 5 8");
    defaults(w);
}

static void test_indexer(void **state)
{
    struct world w;
    struct sab_tensor *scores;

    (void)state;
    indexer(&w);
    expect(&w, SAB_OK, "");
    scores = tensor(&w, "scores");
    scores->stride[1] = 12;
    scores->stride[0] = 60;
    expect(&w, SAB_OK, "");
    scores->stride[1] = 10;
    scores->stride[0] = 50;
    expect(&w, SAB_INVALID, "scores");
    scores->stride[1] = 4;
    scores->stride[0] = 20;
    expect(&w, SAB_INVALID, "scores");
    indexer(&w);
    give(&w, "q_causal_offset", SAB_I32, "2");
    give(&w, "w", SAB_F32, "2 5 16");
    expect(&w, SAB_OK, "");
    give(&w, "q_causal_offset", SAB_I32, "3");
    expect(&w, SAB_INVALID, "q_causal_offset");
    indexer(&w);
    give(&w, "cu_seqlens_q", SAB_I32, "3");
    expect(&w, SAB_INVALID, "cu_seqlens_q");
    indexer(&w);
    param(&w, "ratio")->i = 0;
    expect(&w, SAB_INVALID, "ratio");
    indexer(&w);
    give(&w, "k_scale", SAB_F32, "2 8");
    expect(&w, SAB_INVALID, "k_scale");
    indexer(&w);
    param(&w, "precision")->i = 3;
    expect(&w, SAB_INVALID, "precision");
    indexer(&w);
    give(&w, "q", SAB_BF16, "2 5 8 128");
    give(&w, "w", SAB_BF16, "2 5 8");
    expect(&w, SAB_UNSUPPORTED, "q");
    indexer(&w);
    give(&w, "k", SAB_BF16, "2 8 2 128");
    expect(&w, SAB_UNSUPPORTED, "k");
}

static void test_indexer_precision(void **state)
{
    struct world w;

    (void)state;
    indexer(&w);
    param(&w, "precision")->i = 1; /* fp8 */
    give(&w, "q", SAB_E4M3, "2 5 16 128");
    give(&w, "k", SAB_E4M3, "2 8 1 128");
    expect(&w, SAB_INVALID, "q_scale");
    give(&w, "q_scale", SAB_F32, "2 5 16");
    expect(&w, SAB_INVALID, "k_scale");
    give(&w, "k_scale", SAB_F32, "2 8");
    expect(&w, SAB_OK, "");
    give(&w, "w", SAB_F32, "2 5 16"); /* f32 w is prescaled w */
    expect(&w, SAB_INVALID, "w_prescaled");
    param(&w, "w_prescaled")->i = 1;
    expect(&w, SAB_INVALID, "q_scale");
    tensor(&w, "q_scale")->dtype = SAB_NONE;
    expect(&w, SAB_OK, "");

    indexer(&w);
    param(&w, "precision")->i = 2; /* mxfp8 */
    give(&w, "q", SAB_E4M3, "2 5 16 128");
    give(&w, "k", SAB_E4M3, "2 8 1 128");
    give(&w, "q_scale", SAB_E8M0, "2 5 16 4");
    give(&w, "k_scale", SAB_E8M0, "2 8 4");
    expect(&w, SAB_OK, "");
    give(&w, "k_scale", SAB_F32, "2 8");
    expect(&w, SAB_INVALID, "k_scale");
    give(&w, "k_scale", SAB_E8M0, "2 8 3");
    expect(&w, SAB_INVALID, "k_scale");
}

static void thd(struct world *w)
{
    world_init(w, "indexer_fwd");
    param(w, "layout")->i = 1;
    give(w, "q", SAB_BF16, "8 16 128");
    give(w, "k", SAB_BF16, "9 1 128");
    give(w, "w", SAB_BF16, "8 16");
    give(w, "cu_seqlens_q", SAB_I32, "4");
    give(w, "cu_seqlens_k", SAB_I32, "4");
    give(w, "scores", SAB_F32, "8 8");
    give(w, "lse", SAB_F32, "8");
    defaults(w);
    param(w, "layout")->i = 1;
    param(w, "max_seqlen_q")->i = 5;
    param(w, "max_seqlen_k")->i = 8;
}

static void test_thd(void **state)
{
    struct world w;

    (void)state;
    thd(&w);
    expect(&w, SAB_OK, "");
    assert_int_equal(sab_dimension(w.op, &w.problem, "B"), 3);
    give(&w, "q_causal_offset", SAB_I32, "3");
    expect(&w, SAB_OK, "");
    give(&w, "cu_seqlens_k", SAB_I32, "5");
    expect(&w, SAB_INVALID, "cu_seqlens_k");
    tensor(&w, "cu_seqlens_k")->dtype = SAB_NONE; /* one without the other */
    expect(&w, SAB_INVALID, "cu_seqlens_k");
    thd(&w);
    give(&w, "cu_seqlens_q", SAB_F32, "4");
    expect(&w, SAB_INVALID, "cu_seqlens_q");
    thd(&w);
    param(&w, "max_seqlen_q")->i = 0;
    expect(&w, SAB_INVALID, "max_seqlen_q");
    thd(&w);
    give(&w, "scores", SAB_F32, "8 9");
    expect(&w, SAB_INVALID, "scores");
    thd(&w);
    give(&w, "q", SAB_BF16, "1 8 16 128");
    expect(&w, SAB_INVALID, "q");
    /* A slice that is only 4-byte aligned. */
    thd(&w);
    give(&w, "q_causal_offset", SAB_I32, "3")->alignment = 4;
    expect(&w, SAB_INVALID, "q_causal_offset");
    thd(&w);
    give(&w, "q_causal_offset", SAB_I32, "3")->data = (void *)(uintptr_t)0x10004;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_INVALID);
}

static void test_topk(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, "indexer_topk");
    give(&w, "values_in", SAB_FP16, "10 13");
    give(&w, "seq_lens", SAB_I32, "5");
    give(&w, "indices", SAB_I32, "10 4");
    defaults(&w);
    expect(&w, SAB_INVALID, "seq_lens");
    param(&w, "next_n")->i = 2;
    expect(&w, SAB_OK, "");
    give(&w, "values", SAB_FP16, "10 4");
    expect(&w, SAB_OK, "");
    give(&w, "values", SAB_F32, "10 4");
    expect(&w, SAB_INVALID, "values");
    give(&w, "values", SAB_FP16, "10 4");
    tensor(&w, "values_in")->stride[0] = 16;
    expect(&w, SAB_OK, "");
    tensor(&w, "values_in")->stride[0] = 14;
    expect(&w, SAB_INVALID, "values_in");
    tensor(&w, "values_in")->stride[0] = 13;
    param(&w, "tie_break")->i = 3;
    expect(&w, SAB_INVALID, "tie_break");
    param(&w, "tie_break")->i = 2;
    param(&w, "next_n")->i = INT64_MAX;
    expect(&w, SAB_INVALID, "seq_lens");
    param(&w, "next_n")->i = 2;
    tensor(&w, "values")->dtype = SAB_NONE;
    give(&w, "indices", SAB_I32, "10 0");
    expect(&w, SAB_INVALID, "indices");
    give(&w, "indices", SAB_I32, "10 2049");
    expect(&w, SAB_UNSUPPORTED, "indices");
}

static void test_scores(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, "score_sparse_indexer");
    give(&w, "q", SAB_BF16, "2 2 3 128");
    give(&w, "k", SAB_BF16, "2 7 128");
    give(&w, "w", SAB_BF16, "2 2 3");
    give(&w, "ids", SAB_I32, "2 2 5");
    give(&w, "predict", SAB_F32, "2 2 5");
    defaults(&w);
    param(&w, "id_space")->i = -1; /* what a caller without the flag says */
    expect(&w, SAB_INVALID, "id_space");
    param(&w, "id_space")->i = 1;
    expect(&w, SAB_OK, "");
    give(&w, "length", SAB_I32, "2 3");
    expect(&w, SAB_INVALID, "length");

    world_init(&w, "score_dense_attention");
    give(&w, "q", SAB_BF16, "1 2 4 512");
    give(&w, "k", SAB_BF16, "1 6 2 512");
    give(&w, "lse", SAB_F32, "1 2 4");
    give(&w, "out", SAB_F32, "1 2 6");
    give(&w, "denom", SAB_F32, "1 2");
    defaults(&w);
    expect(&w, SAB_OK, "");
    give(&w, "k", SAB_BF16, "1 6 3 512");
    expect(&w, SAB_INVALID, "k");
    give(&w, "k", SAB_BF16, "1 6 2 512");
    give(&w, "denom", SAB_F32, "1 6");
    expect(&w, SAB_INVALID, "denom");
}

static void test_indexer_backward(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, "indexer_bwd_dense");
    give(&w, "index_q", SAB_BF16, "4 16 128");
    give(&w, "weights", SAB_BF16, "4 16");
    give(&w, "index_k", SAB_BF16, "6 128");
    give(&w, "attn_raw", SAB_F32, "4 5");
    give(&w, "attn_l1norm", SAB_F32, "4");
    give(&w, "index_raw", SAB_F32, "4 5");
    give(&w, "index_lse", SAB_F32, "4");
    give(&w, "grad_loss", SAB_F32, "1");
    give(&w, "cu_seqlens_q", SAB_I32, "3");
    give(&w, "cu_seqlens_k", SAB_I32, "3");
    give(&w, "d_index_q", SAB_BF16, "4 16 128");
    give(&w, "d_weights", SAB_BF16, "4 16");
    give(&w, "d_index_k", SAB_F32, "6 128");
    param(&w, "layout")->i = 1;
    defaults(&w);
    param(&w, "layout")->i = 1;
    param(&w, "max_seqlen_q")->i = 3;
    param(&w, "max_seqlen_k")->i = 5;
    expect(&w, SAB_OK, "");
    give(&w, "d_weights", SAB_F32, "4 16");
    expect(&w, SAB_INVALID, "d_weights");
    give(&w, "d_weights", SAB_BF16, "4 16");
    give(&w, "index_raw", SAB_F32, "4 6");
    expect(&w, SAB_INVALID, "index_raw");
    give(&w, "index_raw", SAB_F32, "4 5");
    tensor(&w, "attn_raw")->stride[0] = 8;
    expect(&w, SAB_INVALID, "attn_raw");
    tensor(&w, "attn_raw")->stride[0] = 5;
    give(&w, "grad_loss", SAB_F32, "2");
    expect(&w, SAB_INVALID, "grad_loss");
    give(&w, "grad_loss", SAB_F32, "1");
    param(&w, "sm_scale")->f = 0.0;
    expect(&w, SAB_INVALID, "sm_scale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantisers), cmocka_unit_test(test_bsa),
        cmocka_unit_test(test_dsa),        cmocka_unit_test(test_dsa_backward),
        cmocka_unit_test(test_indexer),    cmocka_unit_test(test_indexer_precision),
        cmocka_unit_test(test_thd),        cmocka_unit_test(test_topk),
        cmocka_unit_test(test_scores),     cmocka_unit_test(test_indexer_backward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
