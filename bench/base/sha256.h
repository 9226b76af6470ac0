/*
 * sha256.h - SHA-256 of FIPS 180-4, sections 4.1.2, 5.3.3 and 6.2: for the hashes of plans,
 * libraries and result files.
 */
#ifndef BENCH_BASE_SHA256_H
#define BENCH_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t total_bytes;
    uint8_t block[64];
    size_t at; /* bytes waiting in `block` */
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t len);
/* 64 lower-case hex digits and a terminator. The struct is used up. */
void sha256_hex(struct sha256 *sha, char hex[65]);
/* All three in one. */
void sha256_of(const void *data, size_t len, char hex[65]);

#endif
