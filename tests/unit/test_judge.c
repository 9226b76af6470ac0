/*
 * The judge: each bar on both sides, at each level, on small tensors worked out by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opmodel.h"

#define WIDTH 2
#define ROWS  40 /* two heads of a tile of 16 rows and one of 4 */

struct table {
    struct op_problem p;
    struct op_slices s;
    struct op_slice slice[4];
    float got[ROWS * WIDTH];
    double ref[ROWS * WIDTH], emulated[ROWS * WIDTH];
    bool broken_read;
};

static int read_got(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst, struct err *err)
{
    const struct table *t = ctx;

    (void)tensor;
    if (t->broken_read)
        return err_set(err, ERR_ENVIRONMENT, "the device is gone");
    memcpy(dst, t->got + at, (size_t)n * sizeof(float));
    return 0;
}

/* Everything right: values 1 and 2 in each row, row 3 empty. */
static void setup(struct table *t)
{
    static const int64_t begin[] = {0, 16, 20, 36}, rows[] = {16, 4, 16, 4};

    memset(t, 0, sizeof(*t));
    t->p.tensor[0].dtype = SAB_F32;
    t->p.tensor[0].rank = 3;
    t->p.tensor[0].shape[0] = 2;
    t->p.tensor[0].shape[1] = 20;
    t->p.tensor[0].shape[2] = WIDTH;
    t->p.tensor[0].elements = ROWS * WIDTH;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        t->ref[i] = i / WIDTH == 3 ? 0 : 1 + i % 2;
        t->got[i] = (float)t->ref[i];
    }
    for (int i = 0; i < 4; i++)
        t->slice[3 - i] = (struct op_slice){.at = begin[i] * WIDTH, /* any order is fine */
                                            .n = rows[i] * WIDTH,
                                            .head = i / 2,
                                            .tile = i % 2,
                                            .ref = t->ref + begin[i] * WIDTH};
    t->s.item = t->slice;
    t->s.nr = 4;
}

static struct judgement held(struct table *t, struct bar bar)
{
    struct judgement j;
    struct err err = ERR_INIT;

    assert_int_equal(judge(&t->p, &bar, 1, &t->s, read_got, t, &j, &err), 0);
    return j;
}

static void right_passes(void **state)
{
    struct table t;

    (void)state;
    setup(&t);
    for (int kind = BAR_ELEMENT; kind <= BAR_EMULATED; kind++)
        for (int level = BAR_WHOLE; level <= BAR_TILE; level++) {
            const struct judgement j =
                held(&t, (struct bar){0, (enum bar_kind)kind, (enum bar_level)level,
                                      kind == BAR_COSINE ? 1 - 1e-12 : 0, 0});

            assert_true(j.pass);
            assert_string_equal(j.text, "");
            assert_int_equal(j.compared, ROWS * WIDTH);
            assert_true(j.max_abs == 0 && j.rel_l2 == 0);
            assert_true(isnan(j.emulated_rel_l2));
        }
}

static void element_bar(void **state)
{
    struct table t;
    struct judgement j;

    (void)state;
    setup(&t);
    t.got[24 * WIDTH + 1] = 2.5f;
    j = held(&t, (struct bar){0, BAR_ELEMENT, BAR_WHOLE, 0.1, 0.2});
    assert_true(j.pass);
    assert_true(j.max_abs == 0.5);
    assert_int_equal(j.at, -1);
    j = held(&t, (struct bar){0, BAR_ELEMENT, BAR_WHOLE, 0.1, 0.19});
    assert_false(j.pass);
    assert_string_equal(j.text, "output[1,4,1] is 2.5, must be 2 within 0.1 + 0.19*|ref|");
    assert_int_equal(j.at, 24 * WIDTH + 1);
    assert_true(j.got == 2.5 && j.want == 2);
    /* The first at fault stays, though a later one is further off. */
    t.got[30 * WIDTH] = 9;
    assert_int_equal(held(&t, (struct bar){0, BAR_ELEMENT, BAR_WHOLE, 0.1, 0.19}).at,
                     24 * WIDTH + 1);
}

/* One row of head 1, tile 1 (4 rows, squares 20) is off by 1 in its second value. */
static void levels(void **state)
{
    struct table t;
    struct judgement j;
    const double tile = sqrt(1 / 20.0), head = sqrt(1 / 100.0), whole = sqrt(1 / 195.0);

    (void)state;
    setup(&t);
    t.got[37 * WIDTH + 1] = 3;
    assert_true(held(&t, (struct bar){0, BAR_REL_L2, BAR_TILE, tile + 1e-9, 0}).pass);
    j = held(&t, (struct bar){0, BAR_REL_L2, BAR_TILE, tile - 1e-9, 0});
    assert_non_null(strstr(j.text, "in head 1, tile 1 is 0.2236"));
    /* No element has a bar of its own: the one that is off the furthest. */
    assert_int_equal(j.at, 37 * WIDTH + 1);
    assert_true(j.got == 3 && j.want == 2);
    assert_true(fabs(j.rel_l2 - whole) < 1e-12);
    assert_true(held(&t, (struct bar){0, BAR_REL_L2, BAR_HEAD, head + 1e-9, 0}).pass);
    j = held(&t, (struct bar){0, BAR_REL_L2, BAR_HEAD, head - 1e-9, 0});
    assert_non_null(strstr(j.text, "in head 1 is 0.1"));
    assert_true(held(&t, (struct bar){0, BAR_REL_L2, BAR_WHOLE, whole + 1e-9, 0}).pass);
    assert_false(held(&t, (struct bar){0, BAR_REL_L2, BAR_WHOLE, whole - 1e-9, 0}).pass);
    /* sum |ref| of the tile is 12 */
    assert_true(held(&t, (struct bar){0, BAR_REL_L1, BAR_TILE, 1 / 12.0 + 1e-9, 0}).pass);
    assert_false(held(&t, (struct bar){0, BAR_REL_L1, BAR_TILE, 1 / 12.0 - 1e-9, 0}).pass);
    /* <got,ref> 22, |got|^2 25, |ref|^2 20 */
    assert_true(held(&t, (struct bar){0, BAR_COSINE, BAR_TILE, 22 / sqrt(500) - 1e-9, 0}).pass);
    assert_false(held(&t, (struct bar){0, BAR_COSINE, BAR_TILE, 22 / sqrt(500) + 1e-9, 0}).pass);
    assert_true(held(&t, (struct bar){0, BAR_DIFF, BAR_TILE, 1 - 44 / 45.0 + 1e-9, 0}).pass);
    assert_false(held(&t, (struct bar){0, BAR_DIFF, BAR_TILE, 1 - 44 / 45.0 - 1e-9, 0}).pass);
}

static void short_groups_have_their_own_bar(void **state)
{
    struct table t;

    (void)state;
    setup(&t);
    t.got[37 * WIDTH + 1] = 3; /* tile of 4 rows */
    assert_true(held(&t, (struct bar){0, BAR_REL_L2, BAR_TILE, 0.01, 0.25}).pass);
    assert_true(held(&t, (struct bar){0, BAR_COSINE, BAR_TILE, 1 - 1e-12, 0.98}).pass);
    t.got[20 * WIDTH + 1] = 3; /* tile of 16 rows */
    assert_false(held(&t, (struct bar){0, BAR_REL_L2, BAR_TILE, 0.01, 0.25}).pass);
}

static void empty_rows(void **state)
{
    struct table t;

    (void)state;
    setup(&t);
    t.got[3 * WIDTH] = -0.0f;
    assert_true(held(&t, (struct bar){0, BAR_ZERO, BAR_WHOLE, 0, 0}).pass);
    assert_false(held(&t, (struct bar){0, BAR_ZERO, BAR_WHOLE, 0, 1}).pass);
    t.got[3 * WIDTH] = 1e-30f;
    assert_non_null(strstr(held(&t, (struct bar){0, BAR_ZERO, BAR_WHOLE, 0, 0}).text,
                           "output[0,3,0] of an empty row is 1e-30"));
}

/* NaN must fail whatever the bars are, and even without any. */
static void non_finite(void **state)
{
    struct table t;
    struct judgement j;
    struct err err = ERR_INIT;

    (void)state;
    setup(&t);
    t.got[5] = NAN;
    assert_int_equal(judge(&t.p, NULL, 0, &t.s, read_got, &t, &j, &err), 0);
    assert_string_equal(j.text, "output[0,2,1] is nan, must be 2");
    t.ref[5] = NAN;
    assert_true(held(&t, (struct bar){0, BAR_REL_L2, BAR_WHOLE, 0, 0}).pass);
    t.ref[5] = INFINITY;
    t.got[5] = INFINITY;
    assert_true(held(&t, (struct bar){0, BAR_ELEMENT, BAR_WHOLE, 0, 0}).pass);
    t.got[5] = -INFINITY;
    assert_false(held(&t, (struct bar){0, BAR_ELEMENT, BAR_WHOLE, 1, 1}).pass);
}

static void emulated_bar(void **state)
{
    struct table t;
    struct judgement j;

    (void)state;
    setup(&t);
    for (int i = 0; i < ROWS * WIDTH; i++)
        t.emulated[i] = 1.01 * t.ref[i];
    for (int i = 0; i < 4; i++)
        t.slice[i].emulated = t.emulated + t.slice[i].at;
    j = held(&t, (struct bar){0, BAR_EMULATED, BAR_WHOLE, 0.00991, 0});
    assert_true(j.pass);
    assert_true(fabs(j.emulated_rel_l2 - 0.01 / 1.01) < 1e-9);
    j = held(&t, (struct bar){0, BAR_EMULATED, BAR_WHOLE, 0.0099, 0});
    assert_non_null(strstr(j.text, "against its declared arithmetic"));
}

static void a_failed_read_is_an_error(void **state)
{
    struct table t;
    struct judgement j;
    struct err err = ERR_INIT;

    (void)state;
    setup(&t);
    t.broken_read = true;
    assert_int_equal(judge(&t.p, NULL, 0, &t.s, read_got, &t, &j, &err), -1);
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    setup(&t);
    t.slice[0].ref = NULL;
    assert_int_equal(judge(&t.p, NULL, 0, &t.s, read_got, &t, &j, &err), -1);
}

static void copy_is_judged_bit_by_bit(void **state)
{
    const struct op_model *op = op_model_find("copy");
    struct op_slices s;
    struct op_source src;
    struct op_problem p;
    struct op_case c;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(op_case_default(op, 1, &c, &err), 0);
    c.axis[0].i = 200000;
    assert_int_equal(op->describe(&c, &p, &err), 0);
    op_source_recipes(&src, &p);
    op_slices_init(&s);
    assert_int_equal(op->slices(&c, 1e12, &s, &err), 0);
    assert_true(s.complete);
    assert_int_equal(s.nr, 4);
    assert_int_equal(op->oracle(&p, &src, NULL, 0, 1, &s, &err), 0);
    assert_true(s.item[3].ref[3391] ==
                (double)recipe_element(&p.tensor[SAB_T_copy_src].recipe, 199999));
    op_slices_release(&s);
}

static void catalogue(void **state)
{
    struct op_case c;
    char text[32];
    struct err err = ERR_INIT;

    (void)state;
    assert_null(op_model_find("nothing"));
    for (size_t i = 0; op_model_at(i); i++) {
        const struct op_model *op = op_model_at(i);
        struct op_problem p;
        struct op_cost cost;

        assert_int_equal(op_case_default(op, 1, &c, &err), 0);
        assert_int_equal(op->describe(&c, &p, &err), 0);
        assert_int_equal(op->cost(&c, &cost, &err), 0);
        assert_non_null(p.spec);
        assert_string_equal(p.spec->name, op->name);
    }
    assert_int_equal(op_case_default(op_model_find("sage_fwd"), 1, &c, &err), 0);
    assert_int_equal(op_case_int(&c, "kv_heads"), op_case_int(&c, "heads"));
    assert_int_equal(op_case_int(&c, "seqlen_k"), op_case_int(&c, "seqlen_q"));
    assert_true(op_case_is(&c, "pattern", "contiguous"));
    assert_false(op_case_is(&c, "pattern", "topk"));
    assert_string_equal(op_case_text(&c, (size_t)op_axis_find(c.op, "data"), text, sizeof(text)),
                        "strong");
    c.axis[op_axis_find(c.op, "density")].f = 0.1;
    assert_string_equal(op_case_text(&c, (size_t)op_axis_find(c.op, "density"), text, sizeof(text)),
                        "0.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_passes),
        cmocka_unit_test(element_bar),
        cmocka_unit_test(levels),
        cmocka_unit_test(short_groups_have_their_own_bar),
        cmocka_unit_test(empty_rows),
        cmocka_unit_test(non_finite),
        cmocka_unit_test(emulated_bar),
        cmocka_unit_test(a_failed_read_is_an_error),
        cmocka_unit_test(copy_is_judged_bit_by_bit),
        cmocka_unit_test(catalogue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
