/*
 * test_crossover.c - where sparse meets dense: points and bounds worked out by hand, straight lines
 * between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "crossover.h"

#define HEADER                                                                                     \
    "schema,case_id,sweep,operator,arm,role,seqlen_k,density,status,baseline,problem,"             \
    "density_asked,density_realised,device,span_median_ns,ratio,ratio_lo,ratio_hi\n"

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static const double densities[] = {0.25, 0.5, 0.75, 1};

/* Time of `sparse` is `r` times that of `dense`, give or take `half`. 0: not paired. */
static void add_case(struct strbuf *sb, int seqlen, double density, double r, double half)
{
    char id[64];

    snprintf(id, sizeof(id), "s.S%d.d%g", seqlen, density);
    strbuf_addf(sb, "1,%s,s,bsa_fwd,sparse,baseline,%d,%g,ok,,same,%g,%g,G,%.17g,,,\n", id, seqlen,
                density, density, density, r * 1e5);
    strbuf_addf(sb, "1,%s,s,bsa_fwd,dense,context,%d,1,ok,sparse,%s,,1,G,100000,", id, seqlen,
                density < 1 ? "across" : "same");
    if (half > 0)
        strbuf_addf(sb, "%.17g,%.17g,%.17g\n", 1 / r, 1 / (r + half), 1 / (r - half));
    else
        strbuf_addstr(sb, ",,\n");
}

static void read_cases(struct case_table *t, struct strbuf *sb)
{
    struct err err = ERR_INIT;

    case_table_init(t);
    if (case_table_read_text(t, "cases.csv", sb->buf, &err))
        fail_msg("%s", err.text);
    strbuf_release(sb);
}

static void find(struct crossovers *c, const struct case_table *t)
{
    struct err err = ERR_INIT;

    if (crossovers_find(c, t, NULL, &err))
        fail_msg("%s", err.text);
}

static void near(double value, double want)
{
    if (!(fabs(value - want) < 1e-9))
        fail_msg("%.12g, not %.12g", value, want);
}

static void says(const struct crossover *c, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    crossover_words(c, &sb);
    assert_string_equal(sb.buf, want);
    strbuf_release(&sb);
}

/* r = 0.5, 0.9, 1.4, 1.7: 1 lies a fifth of the way from 0.5 to 0.75. r + 0.11 passes 1 at 0.975 of
 * the way from 0.25 to 0.5, r - 0.11 at 0.42 of the way from 0.5 to 0.75. */
static void worked_example(void **state)
{
    static const double r[] = {0.5, 0.9, 1.4, 1.7};
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct crossovers c;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    /* The order of the rows does not matter. */
    for (size_t i = NR(r); i > 0; i--)
        add_case(&sb, 1024, densities[i - 1], r[i - 1], 0.11);
    read_cases(&t, &sb);
    find(&c, &t);
    assert_int_equal(c.nr, 1);
    assert_int_equal(c.item[0].nr, 4);
    assert_int_equal(c.item[0].state, CROSSOVER_AT);
    near(c.item[0].at, 0.55);
    assert_true(c.item[0].interval);
    near(c.item[0].lo, 0.49375);
    near(c.item[0].hi, 0.605);
    assert_string_equal(c.item[0].setting, "");
    says(&c.item[0], "pays up to density 0.550 [0.494, 0.605]");

    strbuf_init(&sb);
    assert_int_equal(crossovers_csv(&c, &sb, NULL), 0);
    assert_non_null(strstr(sb.buf, "\nG,,sparse,dense,0.5,90000,100000,"));
    strbuf_release(&sb);
    crossovers_release(&c);
    case_table_release(&t);
}

/* A series for each length; ends of an interval that were not reached; no crossing at all. */
static void open_ends(void **state)
{
    static const double r[][4] = {
        {0.2, 0.5, 0.8, 0.97},    /* never above 1, though it may be */
        {1.05, 1.2, 1.4, 1.6},    /* never below */
        {0.4, 0.7, 0.95, 1.05},   /* crosses; the lower bound does not */
        {0.95, 1.1, 1.3, 1.5},    /* crosses; the upper bound is above from the start */
        {0.9, 1.1, 0.9, 0.8},     /* below again at the end, and sure of that one only */
        {0.2, 0.4, 0.6, 0.8},     /* surely below */
        {1.2, 1.4, 1.6, 1.8},     /* surely above */
        {0.5, 1.5, 0.5, 0.5},     /* surely below, above, below */
        {1.05, 0.95, 1.05, 1.0},  /* unsure everywhere */
        {0.95, 0.97, 1.03, 1.05}, /* crosses, but is unsure everywhere */
        {0.8, 1.05, 0.95, 1.2},   /* sure at both ends, and not between */
    };
    static const char *const words[] = {
        /* 0.9 to 1.07 passes 1 at 10 of 17 */
        "pays up to density 0.897, unsure beyond",
        /* 0.95 to 1.1 passes 1 at a third */
        "does not pay beyond density 0.333, unsure below",
        "pays up to density 0.875 [0.750, beyond 1.000]",
        "pays up to density 0.333 [below 0.250, 0.500]",
        "unsure: the interval of the ratio holds 1 at 3 of 4 densities measured",
        "pays at every density measured, up to 1.000",
        "pays at no density measured, from 0.250",
        "no single crossing: faster at a density above one where it is slower",
        "unsure: the interval of the ratio holds 1 at 4 of 4 densities measured",
        "unsure: the interval of the ratio holds 1 at 4 of 4 densities measured",
        /* 0.9 to 1.15 passes 1 at 0.4, 0.85 to 1.1 at 0.6 */
        "pays up to density 0.350, not beyond 0.900, unsure between",
    };
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct crossovers c;
    char setting[64];

    (void)state;
    strbuf_addstr(&sb, HEADER);
    for (size_t s = 0; s < NR(r); s++)
        for (size_t i = 0; i < 4; i++)
            add_case(&sb, 1024 << s, densities[i], r[s][i], s == 2 ? 0.05 + 1e-12 : 0.1 + 1e-12);
    read_cases(&t, &sb);
    find(&c, &t);
    assert_int_equal(c.nr, NR(r));
    for (size_t s = 0; s < NR(r); s++) {
        snprintf(setting, sizeof(setting), "seqlen_k=%d", 1024 << s);
        assert_string_equal(c.item[s].setting, setting);
        says(&c.item[s], words[s]);
    }
    crossovers_release(&c);
    case_table_release(&t);
}

/* A ratio above 1 is a sparse arm that is slower: of 10 and 20 us against 8 and 40 us it pays at
 * the second density only. The medians say the same as the pairs. */
static void direction(void **state)
{
    static const char rows[] =
        HEADER "1,a,s,o,sparse,baseline,8,0.25,ok,,same,0.25,0.25,G,10000,,,\n"
               "1,a,s,o,dense,context,8,1,ok,sparse,across,,1,G,8000,0.8,0.75,0.85\n"
               "1,b,s,o,sparse,baseline,8,0.5,ok,,same,0.5,0.5,G,20000,,,\n"
               "1,b,s,o,dense,context,8,1,ok,sparse,across,,1,G,40000,2,1.9,2.1\n";
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct crossovers c;

    (void)state;
    strbuf_addstr(&sb, rows);
    read_cases(&t, &sb);
    find(&c, &t);
    assert_int_equal(c.nr, 1);
    near(c.item[0].point[0].ratio, 1.25);
    near(c.item[0].point[1].ratio, 0.5);
    assert_int_equal(c.item[0].state, CROSSOVER_MIXED);
    crossovers_release(&c);
    case_table_release(&t);
}

/* Without pairs there is a crossing of medians, and no interval. */
static void unpaired(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct crossovers c;

    (void)state;
    strbuf_addstr(&sb, HEADER);
    add_case(&sb, 1024, 0.25, 0.5, 0.1);
    add_case(&sb, 1024, 0.75, 1.5, 0);
    read_cases(&t, &sb);
    find(&c, &t);
    assert_int_equal(c.nr, 1);
    near(c.item[0].at, 0.5);
    assert_false(c.item[0].interval);
    assert_true(isnan(c.item[0].lo) && isnan(c.item[0].hi));
    says(&c.item[0], "pays up to density 0.500");
    crossovers_release(&c);
    case_table_release(&t);
}

/* Against a common baseline the intervals add up in the logarithm: 2 [1.6, 2.5] over 4 [3.2, 5]. */
static void candidate(void **state)
{
    static const char rows[] =
        HEADER "1,a,s,o,base,baseline,8,0.25,ok,,same,0.25,0.25,G,100,,,\n"
               "1,a,s,o,cand,candidate,8,0.25,ok,base,same,0.25,0.25,G,200,2,1.6,2.5\n"
               "1,a,s,o,base',duplicate,8,0.25,ok,base,same,0.25,0.25,G,100,1,1,1\n"
               "1,a,s,o,dense,context,8,1,ok,base,across,,1,G,400,4,3.2,5\n"
               "1,b,s,o,base,baseline,8,0.5,ok,,same,0.5,0.5,G,200,,,\n"
               "1,b,s,o,cand,candidate,8,0.5,ok,base,same,0.5,0.5,G,400,2,1.6,2.5\n"
               "1,b,s,o,dense,context,8,1,ok,base,across,,1,G,400,2,1.6,2.5\n"
               /* Failed, of another device, not dense: no points. */
               "1,c,s,o,base,baseline,8,0.75,ok,,same,0.75,0.75,G,300,,,\n"
               "1,c,s,o,dense,context,8,1,oom,base,across,,1,G,,,,\n"
               "1,d,s,o,base,baseline,8,0.9,ok,,same,0.9,0.9,H,300,,,\n"
               "1,d,s,o,dense,context,8,1,ok,base,across,,1,G,400,1.3,1.2,1.4\n"
               "1,e,s,o,base,baseline,8,0.95,ok,,same,0.95,0.95,G,300,,,\n"
               "1,e,s,o,dense,context,8,0.5,ok,base,across,,0.5,G,400,1.3,1.2,1.4\n";
    struct strbuf sb = STRBUF_INIT;
    struct case_table t;
    struct crossovers c;

    (void)state;
    strbuf_addstr(&sb, rows);
    read_cases(&t, &sb);
    find(&c, &t);
    assert_int_equal(c.nr, 2);
    const struct crossover *s = &c.item[1];
    assert_string_equal(s->arm, "cand");
    assert_string_equal(s->dense, "dense");
    assert_int_equal(s->nr, 2);
    near(s->point[0].ratio, 0.5);
    near(s->point[0].lo, 1.6 / 5);
    near(s->point[0].hi, 2.5 / 3.2);
    near(s->point[1].ratio, 1);
    assert_int_equal(s->state, CROSSOVER_AT);
    near(s->at, 0.5);
    crossovers_release(&c);
    /* No dense arm, no crossing; one density is no series. */
    t.nr = 3;
    find(&c, &t);
    assert_int_equal(c.nr, 0);
    crossovers_release(&c);
    t.nr = 4;
    find(&c, &t);
    assert_int_equal(c.nr, 0);
    crossovers_release(&c);
    t.nr = 13;
    case_table_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example), cmocka_unit_test(open_ends), cmocka_unit_test(direction),
        cmocka_unit_test(unpaired),       cmocka_unit_test(candidate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
