/*
 * sage_fwd/cpu against the golden vectors, with every choice of `simd` that this processor has; and
 * the bits that must not depend on choice, threads or repetition.
 */
#include "test_sage_case.h"

#include "vectors.h"

#ifndef VECTORS_DIR
#    define VECTORS_DIR "tests/vectors"
#endif

static const struct sab_option *simd_option(void)
{
    return &sage_fwd_cpu_row.options[0];
}

static void case_from_vector(struct sage_case *c, const struct vector *v)
{
    struct op_buffers buffers;
    struct op_problem p;
    struct err err = ERR_INIT;
    int i;

    memset(c, 0, sizeof(*c));
    c->threads = 1;
    if (vector_to_problem(v, &p, &buffers, &err) < 0)
        fail_msg("%s", err.text);
    for (i = 0; i < SAB_TENSORS_NR_sage_fwd; i++) {
        if (p.tensor[i].dtype == SAB_NONE)
            continue;
        case_tensor(c, i, p.tensor[i].dtype, p.tensor[i].rank, p.tensor[i].shape);
        if (buffers.data[i])
            memcpy(c->tensor[i].data, buffers.data[i], case_bytes(&c->tensor[i]));
    }
    memcpy(c->param, p.param, sizeof(c->param));
}

static void judge_case(const struct vector *v, const struct sage_case *c, const char *choice)
{
    const void *out[SAB_MAX_TENSORS] = {[SAB_T_sage_fwd_out] = TENSOR(c, out).data};
    struct vector_verdict verdict;
    struct err err = ERR_INIT;

    if (vector_judge(v, out, sage_fwd_cpu_row.attributes, sage_fwd_cpu_row.attributes_nr, &verdict,
                     &err) < 0)
        fail_msg("%s", err.text);
    if (!verdict.pass)
        fail_msg("%s, simd = %s: %s", v->title, choice, verdict.text);
    assert_true(verdict.held >= 1);
}

/* Each choice is judged; all of them give the bits of the first. */
static void hold_vector(const char *path)
{
    struct sage_case c;
    struct vector v;
    struct err err = ERR_INIT;
    void *bits = NULL;
    uint32_t i;

    vector_init(&v);
    if (vector_read_file(&v, path, &err) < 0)
        fail_msg("%s", err.text);
    case_from_vector(&c, &v);
    for (i = 0; i < simd_option()->choices_nr; i++) {
        c.choice = i;
        if (case_supports(&c) == SAB_UNSUPPORTED)
            continue;
        if (!bits)
            bits = case_output(&c);
        else
            case_expect(&c, bits);
        judge_case(&v, &c, simd_option()->choices[i].name);
    }
    assert_non_null(bits);
    free(bits);
    case_release(&c);
    vector_release(&v);
}

static void test_vectors(void **state)
{
    struct vector_paths paths = {0};
    struct err err = ERR_INIT;
    size_t i;

    (void)state;
    if (vector_paths_read(&paths, VECTORS_DIR "/sage_fwd", &err) < 0)
        fail_msg("%s", err.text);
    assert_true(paths.nr >= 15);
    for (i = 0; i < paths.nr; i++)
        hold_vector(paths.item[i]);
    vector_paths_release(&paths);
}

/* The judge itself must see a fault: one channel shifted by one is enough. */
static void test_vectors_see_a_fault(void **state)
{
    const void *out[SAB_MAX_TENSORS] = {NULL};
    struct vector_verdict verdict;
    struct sage_case c;
    struct vector v;
    struct err err = ERR_INIT;
    uint16_t *bits;

    (void)state;
    vector_init(&v);
    if (vector_read_file(&v, VECTORS_DIR "/sage_fwd/sk65.txt", &err) < 0)
        fail_msg("%s", err.text);
    case_from_vector(&c, &v);
    bits = case_output(&c);
    memmove(bits + 1, bits, 127 * sizeof(*bits));
    out[SAB_T_sage_fwd_out] = bits;
    assert_int_equal(vector_judge(&v, out, sage_fwd_cpu_row.attributes,
                                  sage_fwd_cpu_row.attributes_nr, &verdict, &err),
                     0);
    assert_false(verdict.pass);
    free(bits);
    case_release(&c);
    vector_release(&v);
}

static void test_bits_do_not_depend_on(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    struct sage_case c;
    void *bits;
    uint32_t i;

    (void)state;
    case_init(&c, 2, 3, 200, 450, 5, 5, 0);
    c.threads = 1;
    bits = case_output(&c);
    for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        c.threads = threads[i];
        case_expect(&c, bits);
    }
    for (i = 0; i < simd_option()->choices_nr; i++) {
        c.choice = i;
        if (case_supports(&c) == SAB_OK)
            case_expect(&c, bits);
    }
    c.choice = 0;
    assert_int_equal(case_run(&c, 4), SAB_OK);
    assert_memory_equal(TENSOR(&c, out).data, bits, case_bytes(&TENSOR(&c, out)));
    free(bits);
    case_release(&c);
}

/* Scores of any int8, -128 included, are exact: a saturating product would be seen. */
static void test_extreme_scores(void **state)
{
    struct sage_case c;
    void *bits;
    uint32_t i;

    (void)state;
    case_init(&c, 1, 1, 64, 128, 2, 2, 0);
    memset(TENSOR(&c, q_int8).data, -128, 64 * 128);
    memset(TENSOR(&c, k_int8).data, -128, 64 * 128);
    memset((int8_t *)TENSOR(&c, k_int8).data + 64 * 128, 127, 64 * 128);
    c.choice = 1;
    bits = case_output(&c);
    for (i = 0; i < simd_option()->choices_nr; i++) {
        c.choice = i;
        if (case_supports(&c) == SAB_OK)
            case_expect(&c, bits);
    }
    free(bits);
    case_release(&c);
}

static void test_row(void **state)
{
    const struct sab_op_spec *op = sab_op_find("sage_fwd");
    uint32_t i, defaults = 0;

    (void)state;
    assert_string_equal(sage_fwd_cpu_row.op, "sage_fwd");
    assert_string_equal(sage_fwd_cpu_row.name, "cpu");
    assert_true(sage_fwd_cpu_row.schema_hash == sab_schema_hash(op, op->tensors_nr, op->params_nr));
    assert_string_equal(simd_option()->name, "simd");
    assert_string_equal(simd_option()->choices[0].name, "auto");
    assert_string_equal(simd_option()->choices[1].name, "off");
    for (i = 0; i < simd_option()->choices_nr; i++)
        defaults += simd_option()->choices[i].flags & SAB_CHOICE_DEFAULT;
    assert_int_equal(defaults, 1);
    assert_int_equal(sage_fwd_cpu_row.attributes_nr, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_vectors_see_a_fault),
        cmocka_unit_test(test_bits_do_not_depend_on),
        cmocka_unit_test(test_extreme_scores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
