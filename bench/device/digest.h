/*
 * digest.h - the digest of device_digest(), one formula for host and device.
 *
 * The bytes are read as little-endian words of 8, the last one padded with zeros. The digest is the
 * sum modulo 2^64 of a hash of (place, word) over all words, plus a hash of the number of bytes:
 * independent of the order of summation, sensitive to the place of every byte.
 */
#ifndef BENCH_DEVICE_DIGEST_H
#define BENCH_DEVICE_DIGEST_H

#include <stdint.h>

#include "recipe.h"

#define DIGEST_SEED 0x6469676573740001ull

RECIPE_FN uint64_t digest_word(uint64_t place, uint64_t word)
{
    return recipe_hash(recipe_hash(DIGEST_SEED, place), word);
}

RECIPE_FN uint64_t digest_length(uint64_t bytes)
{
    return recipe_hash(~DIGEST_SEED, bytes);
}

/* Word `place` of a run of bytes at any alignment. */
RECIPE_FN uint64_t digest_load(const unsigned char *data, uint64_t bytes, uint64_t place)
{
    uint64_t word = 0;
    uint64_t left = bytes - 8 * place;

    for (uint64_t i = 0; i < (left < 8 ? left : 8); i++)
        word |= (uint64_t)data[8 * place + i] << (8 * i);
    return word;
}

#endif
