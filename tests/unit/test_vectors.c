/*
 * The reader of golden vectors: every file of the suite, hostile files, and every tolerance key on
 * both sides.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vectors.h"

#ifndef VECTORS_DIR
#    define VECTORS_DIR "tests/vectors"
#endif

static const char *const folders[] = {"sage_fwd",
                                      "sage_quant_q",
                                      "sage_quant_kv",
                                      "bsa_fwd",
                                      "dsa_fwd",
                                      "dsa_bwd",
                                      "indexer_fwd",
                                      "indexer_topk",
                                      "score_sparse_indexer",
                                      "score_dense_indexer",
                                      "score_sparse_attention",
                                      "score_dense_attention",
                                      "indexer_bwd_sparse",
                                      "indexer_bwd_dense"};

static void every_file_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct vector_paths paths;
        char dir[512];
        struct err err = ERR_INIT;

        snprintf(dir, sizeof(dir), "%s/%s", VECTORS_DIR, folders[i]);
        assert_int_equal(vector_paths_read(&paths, dir, &err), 0);
        assert_true(paths.nr > 0);
        for (size_t k = 0; k < paths.nr; k++) {
            struct vector v;

            vector_init(&v);
            if (vector_read_file(&v, paths.item[k], &err) < 0)
                fail_msg("%s", err.text);
            assert_string_equal(v.op, folders[i]);
            assert_true(v.tolerances_nr > 0);
            vector_release(&v);
        }
        vector_paths_release(&paths);
    }
}

static void a_small_file(void **state)
{
    static const char text[] = "# a remark,  with blanks\n"
                               "# tolerance out atol=1e-2 rel_l2=0.5 zero\n"
                               "# accept ids set\n"
                               "# accept ids order row 1\n"
                               "param batch -3\n"
                               "param scale 0x1.8p-1\n"
                               "param layout bshd\n"
                               "tensor x in bf16 2 1\n"
                               "3f80 c000\n"
                               "tensor none in i32 3 0\n"
                               "tensor one in f32\n"
                               "3f800000\n"
                               "tensor out out bf16 3\n"
                               "0x1.8p+0 -inf nan\n"
                               "tensor ids out i32 2 1\n"
                               "00000005 ffffffff\n";
    const struct vector_tensor *t;
    struct vector v;
    struct err err = ERR_INIT;

    (void)state;
    vector_init(&v);
    if (vector_read_text(&v, "a/op/case.txt", text, sizeof(text) - 1, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(v.op, "op");
    assert_string_equal(v.title, "case");
    assert_int_equal(vector_int(&v, "batch", 0), -3);
    assert_int_equal(vector_int(&v, "absent", 9), 9);
    assert_true(vector_real(&v, "scale", 0) == 0.75);
    assert_string_equal(vector_param_find(&v, "layout")->word, "bshd");
    t = vector_tensor_find(&v, "x");
    assert_true(t->value[0] == 1 && t->value[1] == -2 && !t->output && !t->real);
    assert_int_equal(((uint16_t *)t->raw)[1], 0xc000);
    assert_int_equal(vector_tensor_find(&v, "none")->elements, 0);
    assert_int_equal(vector_tensor_find(&v, "one")->rank, 0);
    t = vector_tensor_find(&v, "out");
    assert_true(t->real && t->value[0] == 1.5 && isinf(t->value[1]) && isnan(t->value[2]));
    assert_null(t->raw);
    assert_true(vector_tensor_find(&v, "ids")->value[1] == -1);
    assert_true(vector_tolerance_find(&v, "out")->zero);
    assert_true(isnan(vector_tolerance_find(&v, "out")->rtol));
    assert_int_equal(v.accepts_nr, 2);
    vector_release(&v);
}

#define X "tensor x in bf16 2\n"

static void hostile_files(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "no tensor in the file"},
        {"param a 1\n", "no tensor in the file"},
        {"\n", ":1: empty line"},
        {"param  a 1\n", ":1: empty field"},
        {"param a 1 \n", ":1: empty field"},
        {"param a 1\r\n", ":1: byte 0x0d"},
        {"param a\t1\n", ":1: byte 0x09"},
        {"param a\n", "must be 'param NAME VALUE'"},
        {"param a 1\nparam a 2\n", ":2: second param 'a'"},
        {"param a 12x\n", "param a = '12x'"},
        {"param a 0x1.8q\n", "param a = '0x1.8q'"},
        {"param a 99999999999999999999\n", "must be a decimal integer"},
        {"values 1\n", "'values' must be #, param or tensor"},
        {"tensor x in\n", "must be 'tensor NAME ROLE DTYPE'"},
        {"tensor x inout bf16 2\n", "role 'inout' must be in or out"},
        {"tensor x in fp4 2\n", "unknown dtype 'fp4'"},
        {"tensor x in none 2\n", "unknown dtype 'none'"},
        {"tensor x in bf16 -2\n", "dimension '-2'"},
        {"tensor x in bf16 1 1 1 1 1 1 1\n", "at most 6 dimensions"},
        {"tensor x in bf16 4294967296 4294967296\n", "more than"},
        {"tensor x in bf16 9223372036854775807 9\n", "more than"},
        {"tensor x in i8 100000000\n", "more than"},
        {X, ":1: tensor 'x' has 0 values where 2 are due"},
        {X "3f80\n", ":2: tensor 'x' has 1 values where 2 are due, 0 of 2 are read"},
        {X "3f80 3f80 3f80\n", "has 3 values where 2 are due"},
        {X "3f80\n3f80\n", "has 1 values where 2 are due"},
        {X "3f80 3f80\n3f80 3f80\n", ":3: '3f80' must be #, param or tensor"},
        {X "3f80 3F80\n", "'3F80' must have exactly 4 hexadecimal digits"},
        {X "3f80 3f8\n", "'3f8' must have exactly 4"},
        {X "3f80 +f80\n", "'+f80' must have exactly 4"},
        {X "0x1p+0 0x1p+0\n", "inputs hold bit patterns only"},
        {"tensor y out bf16 2\n0x1p+0 3f80\n", "'3f80' is no hex float"},
        {"tensor y out bf16 2\n3f80 0x1p+0\n", "'0x1p+0' must have exactly 4"},
        {"tensor y out bf16 2\n0x1p+0 0xzz\n", "'0xzz' is no hex float"},
        {"tensor y out bf16 1\n3f80\n" X "3f80 3f80\n", "input 'x' behind an output"},
        {X "3f80 3f80\n" X "3f80 3f80\n", "second tensor 'x'"},
        {X "3f80 3f80\nparam a 1\n", "params come first"},
        {"# tolerance out\n", "at least one bar"},
        {"# tolerance out atol\n", "unknown tolerance 'atol'"},
        {"# tolerance out atol=\n", "must be a number of at least 0"},
        {"# tolerance out atol=-1\n", "must be a number of at least 0"},
        {"# tolerance out atol=nan\n", "must be a number of at least 0"},
        {"# tolerance out size=1\n", "unknown tolerance 'size'"},
        {"# tolerance x bits\n" X "3f80 3f80\n", "'x', which is no output"},
        {"# tolerance y bits\ntensor y out bf16 1\n0x1p+0\n", "needs bit patterns"},
        {"# tolerance y bits\n# tolerance y zero\n", "second tolerance of 'y'"},
        {"# accept y any\n", "unknown rule 'any'"},
        {"# accept y set row x\n", "row 'x'"},
        {"# accept y set col 1\n", "must be '# accept NAME RULE'"},
        {"# accept z set\n" X "3f80 3f80\n", "'z', which is no tensor"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vector v;
        struct err err = ERR_INIT;

        vector_init(&v);
        if (vector_read_text(&v, "op/bad.txt", rows[i].text, strlen(rows[i].text), &err) != -1)
            fail_msg("read without complaint: %s", rows[i].text);
        assert_int_equal(err.kind, ERR_CONFIG);
        if (strncmp(err.text, "op/bad.txt:", 11) || !strstr(err.text, rows[i].error))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].error);
        assert_null(v.tensor);
        vector_release(&v);
    }
}

static void bytes_and_missing_files(void **state)
{
    static const char nul[] = "param a\0b 1\n";
    struct vector_paths paths;
    struct vector v;
    struct err err = ERR_INIT;

    (void)state;
    vector_init(&v);
    assert_int_equal(vector_read_text(&v, "x", nul, sizeof(nul) - 1, &err), -1);
    assert_non_null(strstr(err.text, "byte 0x00"));
    assert_int_equal(vector_read_file(&v, "/nowhere/a.txt", &err), -1);
    assert_int_equal(vector_paths_read(&paths, "/nowhere", &err), -1);
    assert_non_null(strstr(err.text, "'/nowhere'"));
    vector_release(&v);
}

static struct vector_verdict verdict_of(const char *tolerance, const void *got, const char *tensor)
{
    struct vector_verdict verdict = {.pass = true};
    struct vector v;
    char text[1024];
    struct err err = ERR_INIT;

    vector_init(&v);
    snprintf(text, sizeof(text), "%s%s", tolerance, tensor);
    if (vector_read_text(&v, "op/x.txt", text, strlen(text), &err) < 0 ||
        vector_judge_tensor(&v, &v.tensor[0], &v.tolerance[0], got, &verdict, &err) < 0)
        fail_msg("%s", err.text);
    vector_release(&v);
    return verdict;
}

static void tolerances(void **state)
{
    static const char y[] = "tensor y out f32 2 2\n0x1p+0 0x1p+1 0x0p+0 -inf\n";
    static const char sums[] = "tensor y out f32 3 2\n"
                               "0x1p-1 0x1p-1 0x0p+0 0x0p+0 0x1p-2 0x1.8p-1\n";
    const float got[] = {1.1f, 2, 0, -INFINITY}, moved[] = {1, 2, 1e-6f, -INFINITY};
    const float sign[] = {1, 2, -0.0f, INFINITY};
    const float rows[] = {0.5f, 0.5f, 0, 0.3f, 0.25f, 0.76f};

    (void)state;
    assert_true(verdict_of("# tolerance y atol=0.11\n", got, y).pass);
    assert_false(verdict_of("# tolerance y atol=0.09\n", got, y).pass);
    assert_true(verdict_of("# tolerance y rtol=0.11\n", got, y).pass);
    assert_false(verdict_of("# tolerance y rtol=0.09\n", got, y).pass);
    /* sqrt(0.01 / 5) = 0.0447 */
    assert_true(verdict_of("# tolerance y rel_l2=0.045\n", got, y).pass);
    assert_false(verdict_of("# tolerance y rel_l2=0.0445\n", got, y).pass);
    /* <got,ref> 5.1, |got|^2 5.21 */
    assert_true(verdict_of("# tolerance y cosine=0.9992\n", got, y).pass);
    assert_false(verdict_of("# tolerance y cosine=0.9993\n", got, y).pass);
    assert_true(verdict_of("# tolerance y diff=0.00098\n", got, y).pass);
    assert_false(verdict_of("# tolerance y diff=0.00097\n", got, y).pass);
    assert_true(verdict_of("# tolerance y atol=1 zero\n", got, y).pass);
    assert_false(verdict_of("# tolerance y atol=1 zero\n", moved, y).pass);
    /* Infinities keep their sign whatever the tolerance. */
    assert_false(verdict_of("# tolerance y atol=100\n", sign, y).pass);
    assert_true(verdict_of("# tolerance y row_sum=0.011\n", rows, sums).pass);
    assert_false(verdict_of("# tolerance y row_sum=0.009\n", rows, sums).pass);
}

static void bits_and_selections(void **state)
{
    static const char y[] = "tensor y out bf16 2\n0000 3f80\n";
    static const char set[] = "# tolerance y selection\n# accept y set\n# accept y order row 1\n";
    static const char ids[] = "tensor y out i32 2 3\n"
                              "00000004 00000002 ffffffff 00000001 00000000 ffffffff\n";
    const uint16_t same[] = {0, 0x3f80}, minus[] = {0x8000, 0x3f80};
    const int32_t swapped[] = {2, 4, -1, 1, 0, -1}, order[] = {4, 2, -1, 0, 1, -1};
    const int32_t other[] = {4, 3, -1, 1, 0, -1}, padding[] = {-1, 4, 2, 1, 0, -1};

    (void)state;
    assert_true(verdict_of("# tolerance y bits\n", same, y).pass);
    assert_false(verdict_of("# tolerance y bits\n", minus, y).pass);
    assert_true(verdict_of("# tolerance y zero\n", minus, y).pass);
    assert_true(verdict_of(set, swapped, ids).pass);
    assert_false(verdict_of(set, order, ids).pass);
    assert_false(verdict_of(set, other, ids).pass);
    assert_false(verdict_of(set, padding, ids).pass);
}

static void a_problem_of_sage(void **state)
{
    static const struct sab_attribute lazy256[] = {
        {"fold", "last_to_first"}, {"p_scale", "256"}, {"rescale", "lazy"}};
    const void *out[SAB_MAX_TENSORS] = {NULL};
    struct vector_verdict verdict;
    struct op_buffers buffers;
    struct op_problem p;
    struct vector v;
    uint16_t got[256] = {0};
    struct err err = ERR_INIT;

    (void)state;
    vector_init(&v);
    assert_int_equal(vector_read_file(&v, VECTORS_DIR "/sage_fwd/uniform_gap.txt", &err), 0);
    assert_int_equal(vector_to_problem(&v, &p, &buffers, &err), 0);
    assert_int_equal(p.tensor[SAB_T_sage_fwd_k_int8].shape[2], 130);
    assert_int_equal(p.tensor[SAB_T_sage_fwd_q2k_block_nums].dtype, SAB_NONE);
    assert_int_equal(p.tensor[SAB_T_sage_fwd_out].bytes, sizeof(got));
    assert_int_equal(p.param[SAB_P_sage_fwd_block_sparse_num].i, 2);
    assert_int_equal(p.param[SAB_P_sage_fwd_uniform_block_count].i, 1);
    assert_true(fabs(p.param[SAB_P_sage_fwd_softmax_scale].f - 1 / sqrt(128)) < 1e-8);
    assert_non_null(buffers.data[SAB_T_sage_fwd_v_fp8]);
    assert_null(buffers.data[SAB_T_sage_fwd_out]);
    out[SAB_T_sage_fwd_out] = got;
    assert_int_equal(vector_judge(&v, out, lazy256, 3, &verdict, &err), 0);
    assert_int_equal(verdict.held, 2);
    assert_false(verdict.pass);
    /* Other attributes: judged by the exact reference alone. */
    assert_int_equal(vector_judge(&v, out, lazy256, 2, &verdict, &err), 0);
    assert_int_equal(verdict.held, 1);
    vector_release(&v);
    assert_int_equal(
        vector_read_text(&v, "nothing/x.txt", X "3f80 3f80\n", strlen(X "3f80 3f80\n"), &err), 0);
    assert_int_equal(vector_to_problem(&v, &p, NULL, &err), -1);
    assert_non_null(strstr(err.text, "no operator 'nothing'"));
    vector_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_read), cmocka_unit_test(a_small_file),
        cmocka_unit_test(hostile_files),      cmocka_unit_test(bytes_and_missing_files),
        cmocka_unit_test(tolerances),         cmocka_unit_test(bits_and_selections),
        cmocka_unit_test(a_problem_of_sage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
