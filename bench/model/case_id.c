#include <math.h>
#include <string.h>

#include "case_build.h"

/* Axes that every name shows, if only by leaving out what the one shown replaces. */
static const char *const always[] = {"batch", "heads", "seqlen_q", "seqlen_k", "density", "topk"};

/* How further axes are written where "NAME-" would only be longer. */
static const struct {
    const char *axis;
    const char *tag;
} tags[] = {{"kv_heads", "Hk"}, {"head_dim", "D"}, {"dtype", ""}};

static bool is_always_shown(const char *axis)
{
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        if (!strcmp(always[i], axis))
            return true;
    return false;
}

static void add_tag(struct strbuf *sb, const char *axis)
{
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        if (!strcmp(tags[i].axis, axis)) {
            strbuf_addf(sb, ".%s", tags[i].tag);
            return;
        }
    strbuf_addf(sb, ".%s-", axis);
}

static void add_axis(struct strbuf *sb, const char *letter, const struct op_case *c, int place)
{
    strbuf_addf(sb, ".%s", letter);
    axis_value_add(sb, &c->op->axes[place], &c->axis[place]);
}

static void add_lengths(struct strbuf *sb, const struct op_case *c)
{
    int q = op_axis_find(c->op, "seqlen_q"), k = op_axis_find(c->op, "seqlen_k");

    if (q >= 0 && k >= 0 && c->axis[q].i == c->axis[k].i) {
        add_axis(sb, "S", c, q);
        return;
    }
    if (q >= 0)
        add_axis(sb, "Sq", c, q);
    if (k >= 0)
        add_axis(sb, "Sk", c, k);
}

/* What the defaults give where everything that add_head() shows is as in `c`. */
static int at_defaults(const struct op_case *c, struct op_case *out, struct err *err)
{
    struct case_builder b;

    if (case_builder_init(&b, c->op, c->seed, err))
        return -1;
    for (size_t i = 0; i < c->op->axes_nr; i++) {
        const char *name = c->op->axes[i].name;
        struct axis_element e = {.value = c->axis[i]};

        if (is_always_shown(name))
            case_builder_set(&b, i, &e, NULL, 0);
    }
    if (case_builder_resolve(&b, err))
        return -1;
    *out = b.c;
    return 0;
}

static void add_head(struct strbuf *sb, const struct op_case *c)
{
    int batch = op_axis_find(c->op, "batch"), heads = op_axis_find(c->op, "heads");
    int density = op_axis_find(c->op, "density"), topk = op_axis_find(c->op, "topk");

    if (batch >= 0)
        add_axis(sb, "B", c, batch);
    if (heads >= 0)
        add_axis(sb, "H", c, heads);
    add_lengths(sb, c);
    if (!isnan(case_density(c)))
        add_axis(sb, "d", c, density);
    else if (topk >= 0)
        add_axis(sb, "k", c, topk);
}

int case_add_id(struct strbuf *sb, const char *sweep, const struct op_case *asked, struct err *err)
{
    struct op_case plain;

    if (at_defaults(asked, &plain, err))
        return -1;
    strbuf_addstr(sb, sweep);
    add_head(sb, asked);
    for (size_t i = 0; i < asked->op->axes_nr; i++) {
        const struct axis_spec *spec = &asked->op->axes[i];

        if (axis_value_equal(spec, &asked->axis[i], &plain.axis[i]))
            continue;
        add_tag(sb, spec->name);
        axis_value_add(sb, spec, &asked->axis[i]);
    }
    return sb->oom ? err_memory(err) : 0;
}
