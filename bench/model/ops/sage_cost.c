/*
 * sage_cost.c - work and traffic of sage_fwd (sage contract, section 10.1), the choice of what is
 * checked, and the bars (section 9.4).
 */
#include "sage_model.h"

/*
 * The contract relaxes the bar of a query tile with fewer than 16 rows. The same few rows may be
 * all of a head or of the tensor; the bars for those were set on more rows and refuse a right
 * kernel there (one row, rounded as declared: 3.7e-2 in a head, 3.6e-2 in the tensor, over 200
 * seeds). So the short tile's bar holds for every group that short, and its cosine, 1 - x^2/2.
 */
#define SHORT_RELATIVE 5e-2
#define SHORT_COSINE   0.99875

int sage_cost(const struct op_case *c, struct op_cost *cost, struct err *err)
{
    struct blocks_sizes s;

    (void)err;
    blocks_sizes(c, &s);
    blocks_cost(c, 2.0 * BLOCKS_TILE * (double)s.dim, cost);
    const double heads = (double)s.batch * (double)s.heads, dim = (double)s.dim;
    cost->bytes_min += heads * ((double)s.seqlen_q * dim * 3 + (double)s.seqlen_k * dim +
                                dim * (double)sage_k_padded(&s)) +
                       4 * heads * ((double)(sage_q_scales(&s) + s.k_blocks) + dim);
    cost->use[OP_WRITE].amount = 2 * heads * (double)s.seqlen_q * dim;
    cost->use[OP_READ].amount = cost->bytes_min - cost->use[OP_WRITE].amount;
    cost->use[OP_S8].amount = cost->use[OP_E4M3].amount = cost->flops_valid / 2;
    return 0;
}

static int add_tile(const struct op_case *c, const struct blocks_sizes *s, int64_t head,
                    int64_t tile, struct op_slices *out, struct err *err)
{
    (void)c;
    return blocks_add_slice(s, SAB_T_sage_fwd_out, s->dim, head, tile, out, err);
}

int sage_slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    return blocks_slices(c, flops, out, add_tile, err);
}

static void put(struct bar *bars, size_t *nr, enum bar_kind kind, enum bar_level level, double a,
                double b)
{
    bars[(*nr)++] = (struct bar){SAB_T_sage_fwd_out, kind, level, a, b};
}

size_t sage_bars(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS])
{
    struct blocks_sizes s;
    bool many;
    size_t nr = 0;

    blocks_sizes(c, &s);
    many = !sampled && s.batch * s.heads * s.seqlen_q >= 10000;
    put(bars, &nr, BAR_ZERO, BAR_WHOLE, 0, 1);
    put(bars, &nr, BAR_ELEMENT, BAR_WHOLE, 1e-2, 1e-2);
    put(bars, &nr, BAR_COSINE, BAR_WHOLE, many ? 0.9997 : 0.9996, SHORT_COSINE);
    put(bars, &nr, BAR_REL_L2, BAR_WHOLE, many ? 2.5e-2 : 2.7e-2, SHORT_RELATIVE);
    put(bars, &nr, BAR_REL_L1, BAR_WHOLE, many ? 2.5e-2 : 2.7e-2, SHORT_RELATIVE);
    /* A sampled head may be known by one short tile, which the bars of a head do not allow for. */
    if (!sampled) {
        put(bars, &nr, BAR_COSINE, BAR_HEAD, 0.9994, SHORT_COSINE);
        put(bars, &nr, BAR_REL_L2, BAR_HEAD, 3.5e-2, SHORT_RELATIVE);
        put(bars, &nr, BAR_REL_L1, BAR_HEAD, 3.5e-2, SHORT_RELATIVE);
    }
    put(bars, &nr, BAR_REL_L2, BAR_TILE, 4e-2, SHORT_RELATIVE);
    put(bars, &nr, BAR_EMULATED, BAR_WHOLE, 3e-3, 0);
    return nr;
}

/* Behind a quantiser of N(0,1) V is six times as wide as the data of section 9.2, 0.25*N(0,1) times
 * U*0.75+0.25, whose standard deviation is 0.165; and so is what an element may be off. Rounding P
 * of such data gives a relative L2 of 2.4e-2 to 2.5e-2 over a whole tensor: of the two bars there,
 * that for few rows holds for many too. */
size_t sage_bars_fed(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS])
{
    const size_t nr = sage_bars(c, sampled, bars);

    for (size_t i = 0; i < nr; i++) {
        if (bars[i].kind == BAR_ELEMENT)
            bars[i].a *= 6;
        if (bars[i].level == BAR_WHOLE && bars[i].kind == BAR_COSINE)
            bars[i].a = 0.9996;
        if (bars[i].level == BAR_WHOLE &&
            (bars[i].kind == BAR_REL_L2 || bars[i].kind == BAR_REL_L1))
            bars[i].a = 2.7e-2;
    }
    return nr;
}
