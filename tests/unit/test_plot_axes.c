/*
 * test_plot_axes.c - which two axes of a sweep span a picture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plot_axes.h"

#define HEADER                                                                                     \
    "schema,case_id,sweep,arm,role,batch,heads,kv_heads,seqlen_q,seqlen_k,pattern,promise,status," \
    "problem,density_asked\n"

static bool accepts_baselines(const void *ctx, const struct case_row *row)
{
    (void)ctx;
    return !strcmp(row->role, "baseline");
}

static void add(struct strbuf *sb, int batch, int heads, int seqlen, const char *promise,
                double density)
{
    char id[96];
    const char *pattern = strcmp(promise, "uniform_contiguous") ? "topk" : "contiguous";

    snprintf(id, sizeof(id), "s.B%d.H%d.S%d.%s.d%g", batch, heads, seqlen, promise, density);
    static const char *const arms[] = {"a,baseline", "b,candidate"};
    for (int k = 0; k < 2; k++)
        strbuf_addf(sb, "1,%s,s,%s,%d,%d,%d,%d,%d,%s,%s,ok,same,%g\n", id, arms[k], batch, heads,
                    heads, seqlen, seqlen, pattern, promise, density);
}

static void read_axes(struct case_table *t, struct plot_axes *axes, struct strbuf *sb,
                      bool distinct)
{
    struct err err = ERR_INIT;

    case_table_init(t);
    if (case_table_read_text(t, "cases.csv", sb->buf, &err) ||
        plot_axes_init(axes, t, accepts_baselines, NULL, distinct, &err))
        fail_msg("%s", err.text);
    strbuf_release(sb);
}

/* Constant axes go, and those that only repeat another one. */
static void distinct_axes(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct plot_axes axes;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    add(&sb, 8, 4, 1024, "uniform", 0.1);
    add(&sb, 8, 4, 1024, "uniform", 0.5);
    add(&sb, 8, 8, 2048, "uniform", 0.1);
    add(&sb, 8, 8, 2048, "uniform", 0.5);
    read_axes(&t, &axes, &sb, true);
    assert_int_equal(axes.points, 4);
    assert_int_equal(axes.nr, 2);
    assert_string_equal(axes.axis[0].name, "seqlen_k");
    assert_string_equal(axes.axis[1].name, "density_asked");
    assert_int_equal(plot_axes_find(&axes, "heads"), -1);
    assert_int_equal(axes.axis[1].id[2], axes.axis[1].id[0]);
    assert_int_not_equal(axes.axis[1].id[1], axes.axis[1].id[0]);
    plot_axes_release(&axes);
    assert_int_equal(plot_axes_init(&axes, &t, accepts_baselines, NULL, false, NULL), 0);
    assert_true(plot_axes_find(&axes, "heads") >= 0);
    plot_axes_release(&axes);
    case_table_release(&t);
}

/* 3 lengths by 2 densities by 2 numbers of heads: two layers of six, told apart by the heads. */
static void layers(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct plot_axes axes;
    struct plot_grid g;
    bool found;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    for (int h = 4; h <= 8; h += 4)
        for (int s = 1024; s <= 4096; s *= 2) {
            add(&sb, 1, h, s, "uniform", 0.1);
            add(&sb, 1, h, s, "uniform", 0.5);
        }
    read_axes(&t, &axes, &sb, true);
    assert_int_equal(plot_grid_choose(&axes, -1, &g, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(axes.axis[g.x].name, "seqlen_k");
    assert_string_equal(axes.axis[g.y].name, "density_asked");
    assert_int_equal(g.layers, 2);
    assert_int_equal(g.cells, 12);
    assert_int_equal(g.places, 12);
    assert_true(g.rest[plot_axes_find(&axes, "heads")]);
    assert_false(g.rest[g.x] || g.rest[g.y]);
    plot_axes_release(&axes);
    case_table_release(&t);
}

/* The sweep of configs/sage_sweep.ini: length and density are zipped, so their grid is mostly
 * empty; length by promise is full. */
static void zipped(void **state)
{
    static const struct {
        int seqlen;
        double density;
    } shape[] = {{1024, 0.9}, {2048, 0.5}, {4096, 0.1}, {8192, 0.9}, {16384, 0.5}, {32768, 0.1}};
    static const char *const promise[] = {"uniform_contiguous", "uniform", "per_row"};
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct plot_axes axes;
    struct plot_grid g;
    bool found;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 3; k++)
            add(&sb, 8, 32, shape[i].seqlen, promise[k], shape[i].density);
    read_axes(&t, &axes, &sb, true);
    assert_int_equal(plot_grid_choose(&axes, -1, &g, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(axes.axis[g.x].name, "seqlen_k");
    assert_string_equal(axes.axis[g.y].name, "promise");
    assert_int_equal(g.layers, 1);
    assert_int_equal(g.cells, 18);
    plot_axes_release(&axes);
    case_table_release(&t);
}

/* A list of shapes without a grid in it, and a grid that is too small. */
static void none(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct plot_axes axes;
    struct plot_grid g;
    bool found = true;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    for (int i = 0; i < 8; i++)
        add(&sb, 1, 1, 1024 << i, "uniform", 0.1 + 0.1 * i);
    read_axes(&t, &axes, &sb, true);
    assert_int_equal(plot_grid_choose(&axes, -1, &g, &found, NULL), 0);
    assert_false(found);
    plot_axes_release(&axes);
    case_table_release(&t);

    strbuf_init(&sb);
    strbuf_addstr(&sb, HEADER);
    for (int i = 0; i < 4; i++)
        add(&sb, 1, 1, i < 2 ? 1024 : 2048, "uniform", i % 2 ? 0.1 : 0.2);
    read_axes(&t, &axes, &sb, true);
    assert_int_equal(plot_grid_choose(&axes, -1, &g, &found, NULL), 0);
    assert_false(found);
    plot_axes_release(&axes);
    case_table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_axes),
        cmocka_unit_test(layers),
        cmocka_unit_test(zipped),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
