#include "stats_paired.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stats_quantile.h"

static bool usable(double t)
{
    return isfinite(t) && t > 0.0;
}

int paired_means(const struct paired_round *rounds, size_t nr, size_t per_super_round, double *d,
                 size_t *nr_d, struct err *err)
{
    size_t start = 0;

    *nr_d = 0;
    if (!per_super_round)
        return err_set(err, ERR_BUG, "a super-round of no rounds");
    while (start < nr) {
        size_t end = start;
        double sum = 0.0;

        while (end < nr && rounds[end].super_round == rounds[start].super_round) {
            if (!usable(rounds[end].base) || !usable(rounds[end].arm))
                return err_set(err, ERR_BUG,
                               "round %zu has times %g and %g, both must be above zero", end,
                               rounds[end].base, rounds[end].arm);
            sum += log(rounds[end].arm / rounds[end].base);
            end++;
        }
        if (end < nr && rounds[end].super_round < rounds[start].super_round)
            return err_set(err, ERR_BUG, "super-round %zu follows super-round %zu",
                           rounds[end].super_round, rounds[start].super_round);
        if (end - start > per_super_round)
            return err_set(err, ERR_BUG, "super-round %zu has %zu rounds, %zu are right",
                           rounds[start].super_round, end - start, per_super_round);
        if (end - start == per_super_round)
            d[(*nr_d)++] = sum / (double)per_super_round;
        start = end;
    }
    return 0;
}

/*
 * The distribution of a sum in which each rank counts with probability 1/2, rank by rank:
 * chance[w] = P(sum = w), 0 <= w <= the sum of all ranks. NULL when memory runs out.
 */
static double *half_sums(const size_t *rank, size_t nr)
{
    size_t top = 0;
    double *chance;

    for (size_t i = 0; i < nr; i++)
        top += rank[i];
    chance = calloc(top + 1, sizeof(*chance));
    if (!chance)
        return NULL;
    chance[0] = 1.0;
    top = 0;
    for (size_t i = 0; i < nr; i++) {
        top += rank[i];
        for (size_t w = top; w >= rank[i]; w--)
            chance[w] = 0.5 * (chance[w] + chance[w - rank[i]]);
        for (size_t w = 0; w < rank[i]; w++)
            chance[w] *= 0.5;
    }
    return chance;
}

long signed_rank_k(size_t m, double level, double *actual, struct err *err)
{
    size_t *rank = calloc(m + 1, sizeof(*rank));
    double *chance = NULL;
    double tail = 0.0;
    long k = 0;

    if (actual)
        *actual = NAN;
    for (size_t i = 0; rank && i < m; i++)
        rank[i] = i + 1;
    if (rank)
        chance = half_sums(rank, m);
    free(rank);
    if (!chance)
        return err_memory(err);
    /* Past the middle of the distribution no k can fit, whatever the level. */
    while (2 * (size_t)k <= m * (m + 1) / 2 && tail + chance[k] <= 0.5 * (1.0 - level))
        tail += chance[k++];
    free(chance);
    if (k && actual)
        *actual = 1.0 - 2.0 * tail;
    return k;
}

/* All (D_i + D_j) / 2, i <= j, sorted; the caller frees. */
static double *walsh_averages(const double *d, size_t nr, size_t *nr_walsh)
{
    double *walsh;
    size_t at = 0;

    *nr_walsh = nr * (nr + 1) / 2;
    walsh = calloc(*nr_walsh + 1, sizeof(*walsh));
    if (!walsh)
        return NULL;
    for (size_t i = 0; i < nr; i++) {
        for (size_t j = i; j < nr; j++)
            walsh[at++] = 0.5 * (d[i] + d[j]);
    }
    stats_sort(walsh, at);
    return walsh;
}

int hodges_lehmann(const double *d, size_t nr, double *estimate, struct err *err)
{
    size_t nr_walsh;
    double *walsh;

    *estimate = NAN;
    if (!nr)
        return err_set(err, ERR_BUG, "no super-round to estimate from");
    walsh = walsh_averages(d, nr, &nr_walsh);
    if (!walsh)
        return err_memory(err);
    *estimate = stats_median_sorted(walsh, nr_walsh);
    free(walsh);
    return 0;
}

int signed_rank_interval(const double *d, size_t nr, double level, struct signed_rank *out,
                         struct err *err)
{
    size_t nr_walsh;
    double *walsh;

    *out = (struct signed_rank){.estimate = NAN, .lo = NAN, .hi = NAN, .level = NAN, .k = 0};
    if (!nr)
        return err_set(err, ERR_BUG, "no super-round to estimate from");
    out->k = signed_rank_k(nr, level, &out->level, err);
    if (out->k < 0)
        return -1;
    walsh = walsh_averages(d, nr, &nr_walsh);
    if (!walsh)
        return err_memory(err);
    out->estimate = stats_median_sorted(walsh, nr_walsh);
    if (out->k) {
        out->lo = walsh[out->k - 1];
        out->hi = walsh[nr_walsh - (size_t)out->k];
    }
    free(walsh);
    return 0;
}

struct ranked {
    double size;
    bool positive;
};

static int by_size(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return (a->size > b->size) - (a->size < b->size);
}

/*
 * Doubled mid-ranks of the non-zero values: members of a tie at positions i..j-1 (from 0) have the
 * mean rank (i + 1 + j) / 2. Returns their number, adds those of positive values to `w_plus`.
 */
static size_t doubled_ranks(struct ranked *values, size_t nr, size_t *rank, size_t *w_plus)
{
    size_t kept = 0, i = 0;

    qsort(values, nr, sizeof(*values), by_size);
    while (i < nr) {
        size_t j = i;

        while (j < nr && values[j].size <= values[i].size)
            j++;
        for (size_t at = i; at < j; at++) {
            if (values[at].size <= 0.0)
                continue;
            rank[kept++] = i + 1 + j;
            *w_plus += values[at].positive ? i + 1 + j : 0;
        }
        i = j;
    }
    return kept;
}

static void shares(const double *chance, size_t sum, size_t w_plus, struct signed_rank_test *out)
{
    size_t off = 2 * w_plus > sum ? 2 * w_plus - sum : sum - 2 * w_plus;

    out->p_two_sided = 0.0;
    out->p_upper = 0.0;
    for (size_t w = 0; w <= sum; w++) {
        if ((2 * w > sum ? 2 * w - sum : sum - 2 * w) >= off)
            out->p_two_sided += chance[w];
        if (w >= w_plus)
            out->p_upper += chance[w];
    }
    out->p_two_sided = fmin(out->p_two_sided, 1.0);
    out->p_upper = fmin(out->p_upper, 1.0);
}

int signed_rank_p(const double *d, size_t nr, struct signed_rank_test *out, struct err *err)
{
    struct ranked *values = calloc(nr + 1, sizeof(*values));
    size_t *rank = calloc(nr + 1, sizeof(*rank));
    size_t kept, sum = 0, w_plus = 0;
    double *chance = NULL;
    int ret = -1;

    *out = (struct signed_rank_test){.p_two_sided = 1.0, .p_upper = 1.0};
    if (!values || !rank) {
        err_memory(err);
        goto out;
    }
    for (size_t i = 0; i < nr; i++)
        values[i] = (struct ranked){.size = fabs(d[i]), .positive = d[i] > 0.0};
    kept = doubled_ranks(values, nr, rank, &w_plus);
    for (size_t i = 0; i < kept; i++)
        sum += rank[i];
    chance = half_sums(rank, kept);
    if (!chance) {
        err_memory(err);
        goto out;
    }
    out->w_plus = 0.5 * (double)w_plus;
    out->rank_sum = 0.5 * (double)sum;
    shares(chance, sum, w_plus, out);
    ret = 0;
out:
    free(chance);
    free(rank);
    free(values);
    return ret;
}
