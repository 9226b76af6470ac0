#include "dsa_math.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LOG2E 1.44269504088896340736
#define LANES 8
#define LAG   30.0

double dsa_dot(const double *a, const double *b, int64_t n)
{
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

void dsa_fold_init(struct dsa_fold *f)
{
    memset(f, 0, sizeof(*f));
    f->max = f->m = -INFINITY;
}

static void raise_m(struct dsa_fold *f, double s)
{
    const double factor = f->nr ? exp(f->m - s) : 0;

    f->m = s;
    f->l *= factor;
    for (int d = 0; d < DSA_V; d++)
        f->o[d] *= factor;
}

void dsa_fold_add(struct dsa_fold *f, double s, const double *v, bool in_prefix)
{
    double p;

    if (f->nr == 0 || s > f->m + LAG)
        raise_m(f, s);
    p = exp(s - f->m);
    f->l += p;
    f->nr++;
    if (in_prefix) {
        f->prefix_m = f->m;
        f->prefix_l = f->l;
        f->prefix_nr++;
    }
    if (!(s <= f->max))
        f->max = s;
    for (int d = 0; d < DSA_V; d++)
        f->o[d] += p * v[d];
}

double dsa_fold_lse(const struct dsa_fold *f)
{
    return f->nr ? f->m + log(f->l) : INFINITY;
}

double dsa_fold_prefix_lse(const struct dsa_fold *f)
{
    return f->prefix_nr ? f->prefix_m + log(f->prefix_l) : INFINITY;
}

void dsa_fold_out(const struct dsa_fold *f, double sink, double *out)
{
    /* sigmoid(lse - sink); the exponential of anything large is infinite, which gives 0. */
    const double share = f->nr ? 1 / (1 + exp(sink - dsa_fold_lse(f))) : 0;

    for (int d = 0; d < DSA_V; d++)
        out[d] = share > 0 ? f->o[d] / f->l * share : 0;
}

/* x * log2(e), infinite where the product is in float. */
static double in_log2(double x)
{
    const double product = x * LOG2E;

    if (product > FLT_MAX)
        return INFINITY;
    return product < -FLT_MAX ? -INFINITY : product;
}

void dsa_norm_init(struct dsa_norm *n, double lse, double sink)
{
    const double l2 = in_log2(lse), k2 = in_log2(sink), mx = l2 > k2 ? l2 : k2;

    if (l2 == INFINITY || k2 == INFINITY || mx == -INFINITY)
        n->nl = -INFINITY;
    else
        n->nl = -(mx + log2(exp2(l2 - mx) + exp2(k2 - mx)));
    if (lse == INFINITY || sink == -INFINITY)
        n->p_sink = 0;
    else
        n->p_sink = k2 == INFINITY ? 1 : exp2(k2 + n->nl);
}

void dsa_grad_add(const struct dsa_grad *g, const double *kv, double times, double *dq, double *dkv)
{
    double p, ds;

    if (g->nl == -INFINITY)
        return;
    p = times * exp2(g->scale * LOG2E * dsa_dot(g->q, kv, g->width) + g->nl);
    ds = g->scale * p * (dsa_dot(g->dout, kv, DSA_V) - g->delta);
    for (int64_t d = 0; dq && d < g->width; d++)
        dq[d] += ds * kv[d];
    for (int64_t d = 0; dkv && d < g->width; d++)
        dkv[d] += ds * g->q[d];
    for (int64_t d = 0; dkv && d < DSA_V; d++)
        dkv[d] += p * g->dout[d];
}
