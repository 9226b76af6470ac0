/*
 * rng.h - random numbers as a pure function of (seed, coordinates): no state, integer arithmetic
 * and exact conversions only, so that host and device agree bit for bit. Also compiled by nvcc.
 *
 * The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014, figure 10) with the increment 0x9e3779b97f4a7c15. Good enough for test
 * data and orders, not for secrets.
 */
#ifndef BENCH_BASE_RNG_H
#define BENCH_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#    define RNG_FN __host__ __device__ static inline
#else
#    define RNG_FN static inline
#endif

#define RNG_GOLDEN 0x9e3779b97f4a7c15u

/* A bijection of 64-bit words; rng_mix(0) is 0. */
RNG_FN uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Output `counter` (from 0) of SplitMix64 started at `seed`. */
RNG_FN uint64_t rng_at(uint64_t seed, uint64_t counter)
{
    return rng_mix(seed + (counter + 1u) * RNG_GOLDEN);
}

/* 64 random bits for a pair of coordinates. Chain it for more: rng_hash(rng_hash(s, a, b), c, d).
 */
RNG_FN uint64_t rng_hash(uint64_t seed, uint64_t a, uint64_t b)
{
    return rng_at(rng_at(seed, a), b);
}

/*
 * From 64 random bits to [0, n): the high word of the 96-bit product (Lemire, Fast Random Integer
 * Generation in an Interval, 2019, without rejection): off from uniform by less than n / 2^64 of
 * each probability. n = 0 gives 0.
 */
RNG_FN uint32_t rng_u32_below(uint64_t bits, uint32_t n)
{
    uint64_t high = (bits >> 32) * n;
    uint64_t low = ((bits & 0xffffffffu) * n) >> 32;

    return (uint32_t)((high + low) >> 32);
}

/* From 64 random bits to [0, 1): the top 53 as a fraction, exact. */
RNG_FN double rng_unit(uint64_t bits)
{
    return (double)(bits >> 11) * (1.0 / 9007199254740992.0);
}

/* Fisher-Yates; the same seed and number give the same order everywhere. `nr` below 2^32. */
RNG_FN void rng_shuffle_u32(uint32_t *items, uint32_t nr, uint64_t seed)
{
    uint32_t i;

    for (i = nr; i > 1; i--) {
        uint32_t j = rng_u32_below(rng_at(seed, i), i);
        uint32_t t = items[i - 1];

        items[i - 1] = items[j];
        items[j] = t;
    }
}

/* Fills with 0..nr-1 and shuffles. */
RNG_FN void rng_permutation_u32(uint32_t *items, uint32_t nr, uint64_t seed)
{
    uint32_t i;

    for (i = 0; i < nr; i++)
        items[i] = i;
    rng_shuffle_u32(items, nr, seed);
}

/* A seed from a name (FNV-1a, 64 bit, then mixed): the seed of a tensor, a sweep, an arm. */
RNG_FN uint64_t rng_seed_of(uint64_t seed, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return rng_hash(seed, h, 0);
}

#endif
