/*
 * test_validate.c - legal problems pass, and every row of the Sage contract's validation table is
 * refused with the right class; addresses, memory and the problem itself.
 */
#include "test_validate_world.h"

/* B2 H3 Sq100 Sk257 cap 5: Qb 2, Kb 5. */
static void sage(struct world *w)
{
    world_init(w, "sage_fwd");
    give(w, "q_int8", SAB_I8, "2 3 100 128");
    give(w, "k_int8", SAB_I8, "2 3 257 128");
    give(w, "v_fp8", SAB_E4M3, "2 3 128 320");
    give(w, "q_scale", SAB_F32, "2 3 4");
    give(w, "k_scale", SAB_F32, "2 3 5");
    give(w, "v_scale", SAB_F32, "2 3 128");
    give(w, "q2k_block_index", SAB_I32, "2 3 2 5");
    give(w, "out", SAB_BF16, "2 3 100 128");
    defaults(w);
}

static void test_sage_legal(void **state)
{
    struct world w;

    (void)state;
    sage(&w);
    assert_int_equal(param(&w, "block_sparse_num")->i, 5);
    assert_float_equal(param(&w, "softmax_scale")->f, 1.0 / sqrt(128.0), 1e-15);
    expect(&w, SAB_OK, "");
    assert_int_equal(sab_dimension(w.op, &w.problem, "cap"), 5);
    assert_int_equal(sab_dimension(w.op, &w.problem, "4*ceil(Sq/128)"), 4);
    assert_int_equal(sab_dimension(w.op, &w.problem, "nothing"), -1);
    give(&w, "q2k_block_nums", SAB_I32, "2 3 2");
    expect(&w, SAB_OK, "");
    give(&w, "block_sizes", SAB_I32, "5");
    expect(&w, SAB_OK, "");
    give(&w, "block_sizes", SAB_I32, "2 5");
    expect(&w, SAB_OK, "");
    give(&w, "block_sizes", SAB_I32, "2 3 5");
    param(&w, "block_sparse_num")->i = 0;
    param(&w, "uniform_block_count")->i = 1;
    param(&w, "contiguous_block_indices")->i = 1;
    expect(&w, SAB_OK, "");
    /* cap may exceed the blocks; what the struct gained later does not disturb. */
    give(&w, "q2k_block_index", SAB_I32, "2 3 2 9");
    w.problem.struct_size += 8;
    w.problem.tensors_nr++;
    expect(&w, SAB_OK, "");
}

/* One wrong size, rank or dtype in each tensor of the table. */
static void test_sage_tensors(void **state)
{
    static const struct {
        const char *name;
        int32_t dtype;
        const char *shape;
        int status;
    } rows[] = {
        {"q_int8", SAB_I8, "2 3 128", SAB_INVALID},
        {"q_int8", SAB_U8, "2 3 100 128", SAB_INVALID},
        {"k_int8", SAB_I8, "2 257 128", SAB_INVALID},
        {"k_int8", SAB_BF16, "2 3 257 128", SAB_INVALID},
        {"k_int8", SAB_I8, "1 3 257 128", SAB_INVALID},
        {"k_int8", SAB_I8, "2 3 257 64", SAB_INVALID},
        {"v_fp8", SAB_I8, "2 3 128 320", SAB_INVALID},
        {"v_fp8", SAB_E4M3, "2 3 128 257", SAB_INVALID},
        {"v_fp8", SAB_E4M3, "2 3 320 128", SAB_INVALID},
        {"q_scale", SAB_BF16, "2 3 4", SAB_INVALID},
        {"q_scale", SAB_F32, "2 3 2", SAB_INVALID},
        {"k_scale", SAB_F32, "2 3 4", SAB_INVALID},
        {"k_scale", SAB_F32, "2 3 5 1", SAB_INVALID},
        {"v_scale", SAB_F32, "2 128", SAB_INVALID},
        {"v_scale", SAB_I32, "2 3 128", SAB_INVALID},
        {"q2k_block_index", SAB_I8, "2 3 2 5", SAB_INVALID},
        {"q2k_block_index", SAB_I32, "2 3 10", SAB_INVALID},
        {"q2k_block_index", SAB_I32, "2 3 1 5", SAB_INVALID},
        {"q2k_block_nums", SAB_F32, "2 3 2", SAB_INVALID},
        {"q2k_block_nums", SAB_I32, "2 3 3", SAB_INVALID},
        {"block_sizes", SAB_F32, "5", SAB_INVALID},
        {"block_sizes", SAB_I32, "4", SAB_INVALID},
        {"block_sizes", SAB_I32, "3 5", SAB_INVALID},
        {"block_sizes", SAB_I32, "2 1 5", SAB_INVALID},
        {"block_sizes", SAB_I32, "2 3 1 5", SAB_INVALID},
        {"block_sizes", SAB_I32, "", SAB_INVALID},
        {"out", SAB_FP16, "2 3 100 128", SAB_INVALID},
        {"out", SAB_BF16, "2 3 128 128", SAB_INVALID},
    };
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sage(&w);
        give(&w, rows[i].name, rows[i].dtype, rows[i].shape);
        expect(&w, rows[i].status, rows[i].name);
    }
}

/* Sizes below 1, other widths and fewer heads, in a problem that agrees with itself. */
static void test_sage_sizes(void **state)
{
    struct world w;

    (void)state;
    sage(&w);
    give(&w, "q_int8", SAB_I8, "2 3 0 128");
    give(&w, "q_scale", SAB_F32, "2 3 0");
    give(&w, "q2k_block_index", SAB_I32, "2 3 0 5");
    give(&w, "out", SAB_BF16, "2 3 0 128");
    expect(&w, SAB_INVALID, "q_int8");
    sage(&w);
    give(&w, "k_int8", SAB_I8, "2 3 0 128");
    give(&w, "v_fp8", SAB_E4M3, "2 3 128 0");
    give(&w, "k_scale", SAB_F32, "2 3 0");
    expect(&w, SAB_INVALID, "k_int8");
    sage(&w);
    give(&w, "q2k_block_index", SAB_I32, "2 3 2 0");
    param(&w, "block_sparse_num")->i = 0;
    expect(&w, SAB_INVALID, "q2k_block_index");
    sage(&w);
    tensor(&w, "q_int8")->shape[0] = -2;
    expect(&w, SAB_INVALID, "q_int8");

    sage(&w);
    give(&w, "q_int8", SAB_I8, "2 3 100 64");
    give(&w, "k_int8", SAB_I8, "2 3 257 64");
    give(&w, "v_fp8", SAB_E4M3, "2 3 64 320");
    give(&w, "v_scale", SAB_F32, "2 3 64");
    give(&w, "out", SAB_BF16, "2 3 100 64");
    expect(&w, SAB_UNSUPPORTED, "q_int8");
    /* Invalid wins over unsupported. */
    param(&w, "softmax_scale")->f = -1.0;
    expect(&w, SAB_INVALID, "softmax_scale");

    sage(&w);
    give(&w, "k_int8", SAB_I8, "2 1 257 128");
    give(&w, "v_fp8", SAB_E4M3, "2 1 128 320");
    give(&w, "k_scale", SAB_F32, "2 1 5");
    give(&w, "v_scale", SAB_F32, "2 1 128");
    expect(&w, SAB_UNSUPPORTED, "k_int8");
    give(&w, "k_int8", SAB_I8, "2 4 257 128");
    give(&w, "v_fp8", SAB_E4M3, "2 4 128 320");
    give(&w, "k_scale", SAB_F32, "2 4 5");
    give(&w, "v_scale", SAB_F32, "2 4 128");
    expect(&w, SAB_INVALID, "k_int8");
}

static void test_sage_scalars(void **state)
{
    static const double bad[] = {0.0, -0.1, NAN, INFINITY, -INFINITY, 1e300, 1e-300};
    struct world w;

    (void)state;
    sage(&w);
    param(&w, "block_sparse_num")->i = -1;
    expect(&w, SAB_INVALID, "block_sparse_num");
    param(&w, "block_sparse_num")->i = 6;
    expect(&w, SAB_INVALID, "block_sparse_num");
    assert_non_null(strstr(w.text, "cap = 5"));
    give(&w, "q2k_block_nums", SAB_I32, "2 3 2"); /* also when counts are given */
    expect(&w, SAB_INVALID, "block_sparse_num");
    sage(&w);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        param(&w, "softmax_scale")->f = bad[i];
        expect(&w, SAB_INVALID, "softmax_scale");
    }
    sage(&w);
    param(&w, "contiguous_block_indices")->i = 1;
    expect(&w, SAB_INVALID, "contiguous_block_indices");
    param(&w, "uniform_block_count")->i = 2;
    expect(&w, SAB_INVALID, "uniform_block_count");
    param(&w, "uniform_block_count")->i = 1;
    expect(&w, SAB_OK, "");
    param(&w, "contiguous_block_indices")->i = -1;
    expect(&w, SAB_INVALID, "contiguous_block_indices");
}

static void test_sage_any_tensor(void **state)
{
    struct world w;

    (void)state;
    for (uint32_t i = 0; i < SAB_TENSORS_NR_sage_fwd; i++) {
        const char *name = sab_op_find("sage_fwd")->tensors[i].name;
        int big = i != SAB_T_sage_fwd_q2k_block_nums && i != SAB_T_sage_fwd_block_sizes;

        if (!big)
            continue;
        sage(&w);
        w.t[i].dtype = SAB_NONE;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].dtype = SAB_DTYPE_NR;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].role = SAB_INOUT;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].memory = SAB_MEMORY_DEVICE;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].device = 1;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].stride[0]++;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].stride[w.t[i].rank - 1] = 2;
        expect(&w, SAB_INVALID, name);
        sage(&w);
        w.t[i].alignment = 8;
        expect(&w, SAB_INVALID, name);
    }
    sage(&w);
    w.t[0].rank = SAB_MAX_RANK + 1;
    expect(&w, SAB_INVALID, "q_int8");
    sage(&w);
    w.t[0].shape[0] = INT64_MAX;
    sab_contiguous(&w.t[0]);
    assert_int_equal(judge(&w, 0), SAB_INVALID);
}

static void test_pointers(void **state)
{
    struct world w;
    char *out;

    (void)state;
    sage(&w);
    tensor(&w, "k_int8")->data = NULL; /* says nothing without the flag */
    assert_int_equal(judge(&w, SAB_VALIDATE_METADATA), SAB_OK);
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    assert_non_null(strstr(w.text, "'k_int8'"));
    sage(&w);
    tensor(&w, "v_scale")->data = (char *)tensor(&w, "v_scale")->data + 8;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    assert_non_null(strstr(w.text, "'v_scale'"));

    /* One shared byte at either end, then none. */
    sage(&w);
    out = tensor(&w, "out")->data;
    tensor(&w, "v_scale")->data = out + (int64_t)2 * 2 * 3 * 100 * 128 - 16;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    assert_non_null(strstr(w.text, "'out' shares bytes with 'v_scale'"));
    tensor(&w, "v_scale")->data = out + (int64_t)2 * 2 * 3 * 100 * 128;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_OK);
    tensor(&w, "v_scale")->data = out - 3072 + 16;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_INVALID);
    tensor(&w, "v_scale")->data = out - 3072;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_OK);
    /* Inputs may share: K as Q. */
    tensor(&w, "k_scale")->data = tensor(&w, "q_scale")->data;
    assert_int_equal(judge(&w, SAB_VALIDATE_POINTERS), SAB_OK);
}

static void test_cuda_memory(void **state)
{
    struct world w;
    struct sab_message msg = {w.text, sizeof(w.text)};

    (void)state;
    sage(&w);
    w.problem.device = 1;
    for (uint32_t i = 0; i < w.problem.tensors_nr; i++) {
        w.t[i].memory = SAB_MEMORY_DEVICE;
        w.t[i].device = 1;
    }
    assert_int_equal(sab_validate(w.op, &w.problem, SAB_DEVICE_CUDA, 0, &msg), SAB_OK);
    w.t[3].device = 0;
    assert_int_equal(sab_validate(w.op, &w.problem, SAB_DEVICE_CUDA, 0, &msg), SAB_INVALID);
    w.t[3].device = 1;
    w.t[4].memory = SAB_MEMORY_HOST;
    assert_int_equal(sab_validate(w.op, &w.problem, SAB_DEVICE_CUDA, 0, &msg), SAB_INVALID);
}

static void test_problem(void **state)
{
    struct world w;

    (void)state;
    sage(&w);
    w.problem.struct_size--;
    assert_int_equal(judge(&w, 0), SAB_INVALID);
    sage(&w);
    w.problem.tensors_nr--;
    assert_int_equal(judge(&w, 0), SAB_INVALID);
    sage(&w);
    w.problem.params = NULL;
    assert_int_equal(judge(&w, 0), SAB_INVALID);
    sage(&w);
    w.problem.tensors_nr++;
    w.t[w.op->tensors_nr].dtype = SAB_F32;
    assert_int_equal(judge(&w, 0), SAB_UNSUPPORTED);
    assert_int_equal(sab_validate(w.op, NULL, SAB_DEVICE_CPU, 0, NULL), SAB_INVALID);
    assert_int_equal(sab_validate(NULL, &w.problem, SAB_DEVICE_CPU, 0, NULL), SAB_INVALID);
}

static void test_workspace(void **state)
{
    struct world w;
    struct sab_buffer buffer = {(void *)(uintptr_t)0x1000, 4096, SAB_MEMORY_HOST, 0};
    struct sab_message msg = {w.text, sizeof(w.text)};

    (void)state;
    sage(&w);
#define WORKSPACE(bytes, alignment)                                                                \
    sab_validate_workspace(w.op, &w.problem, &buffer, bytes, alignment, SAB_DEVICE_CPU, &msg)
    assert_int_equal(WORKSPACE(4096, 256), SAB_OK);
    assert_int_equal(WORKSPACE(4097, 256), SAB_INVALID);
    assert_int_equal(WORKSPACE(4096, 8192), SAB_INVALID);
    buffer.memory = SAB_MEMORY_DEVICE;
    assert_int_equal(WORKSPACE(4096, 256), SAB_INVALID);
    buffer.memory = SAB_MEMORY_HOST;
    buffer.data = tensor(&w, "k_scale")->data;
    assert_int_equal(WORKSPACE(4096, 256), SAB_INVALID);
    assert_non_null(strstr(w.text, "'k_scale'"));
    buffer.data = NULL;
    assert_int_equal(WORKSPACE(1, 16), SAB_INVALID);
    assert_int_equal(WORKSPACE(0, 16), SAB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sage_legal),      cmocka_unit_test(test_sage_tensors),
        cmocka_unit_test(test_sage_sizes),      cmocka_unit_test(test_sage_scalars),
        cmocka_unit_test(test_sage_any_tensor), cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_cuda_memory),     cmocka_unit_test(test_problem),
        cmocka_unit_test(test_workspace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
