/*
 * difference.h - the arithmetic of device_compare(), one formula for host and device.
 *
 * Part sums are merged in a fixed order by the caller, so that a result depends on the device's
 * grid, never on scheduling. On equal max_abs the lowest index wins.
 */
#ifndef BENCH_DEVICE_DIFFERENCE_H
#define BENCH_DEVICE_DIFFERENCE_H

#include <stdint.h>

#include "device.h"

RECIPE_FN void difference_init(struct device_difference *d)
{
    d->max_abs = d->mixed = 0;
    d->sum_err2 = d->sum_ref2 = d->sum_got2 = d->sum_dot = 0;
    d->max_at = d->pattern_first = -1;
    d->pattern = d->bits = 0;
}

/* 0 finite, 1 +inf, 2 -inf, 3 NaN. */
RECIPE_FN int difference_state(double x)
{
    const uint64_t magnitude = numfmt_bits_of_f64(x) & 0x7fffffffffffffffull;

    if (magnitude < 0x7ff0000000000000ull)
        return 0;
    if (magnitude > 0x7ff0000000000000ull)
        return 3;
    return x > 0 ? 1 : 2;
}

RECIPE_FN void difference_add(struct device_difference *d, int32_t dtype, int64_t at,
                              uint32_t got_bits, uint32_t ref_bits)
{
    const double got = numfmt_decode(dtype, got_bits);
    const double ref = numfmt_decode(dtype, ref_bits);
    const int got_state = difference_state(got), ref_state = difference_state(ref);
    double e;

    if (got_bits != ref_bits)
        d->bits++;
    if (got_state != ref_state) {
        d->pattern++;
        if (d->pattern_first < 0 || at < d->pattern_first)
            d->pattern_first = at;
    }
    if (got_state != 0 || ref_state != 0)
        return;
    e = got > ref ? got - ref : ref - got;
    if (d->max_at < 0 || e > d->max_abs || (e == d->max_abs && at < d->max_at)) {
        d->max_abs = e;
        d->max_at = at;
    }
    if (e / (1 + (ref < 0 ? -ref : ref)) > d->mixed)
        d->mixed = e / (1 + (ref < 0 ? -ref : ref));
    d->sum_err2 += e * e;
    d->sum_ref2 += ref * ref;
    d->sum_got2 += got * got;
    d->sum_dot += got * ref;
}

RECIPE_FN void difference_merge(struct device_difference *d, const struct device_difference *part)
{
    if (part->max_at >= 0 && (d->max_at < 0 || part->max_abs > d->max_abs ||
                              (part->max_abs == d->max_abs && part->max_at < d->max_at))) {
        d->max_abs = part->max_abs;
        d->max_at = part->max_at;
    }
    if (part->mixed > d->mixed)
        d->mixed = part->mixed;
    if (part->pattern_first >= 0 &&
        (d->pattern_first < 0 || part->pattern_first < d->pattern_first))
        d->pattern_first = part->pattern_first;
    d->pattern += part->pattern;
    d->bits += part->bits;
    d->sum_err2 += part->sum_err2;
    d->sum_ref2 += part->sum_ref2;
    d->sum_got2 += part->sum_got2;
    d->sum_dot += part->sum_dot;
}

#endif
