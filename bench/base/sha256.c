#include "sha256.h"

#include <string.h>

/* FIPS 180-4, 4.2.2: the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    unsigned t;

    for (t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (; t < 64; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];

        w[t] = (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10) + w[t - 7] +
               (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) + w[t - 16];
    }
    for (t = 0; t < 64; t++) {
        const uint32_t choose = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        const uint32_t t1 =
            h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choose + round_constants[t] + w[t];
        const uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;

        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
    for (t = 0; t < 8; t++)
        state[t] += sum[t];
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                  0x1f83d9ab, 0x5be0cd19},
    };
}

void sha256_add(struct sha256 *sha, const void *data, size_t len)
{
    const uint8_t *p = data;

    sha->total_bytes += len;
    while (len) {
        size_t part = sizeof(sha->block) - sha->at;

        if (!sha->at && len >= sizeof(sha->block)) {
            sha256_block(sha->state, p);
            part = sizeof(sha->block);
        } else {
            part = part < len ? part : len;
            memcpy(sha->block + sha->at, p, part);
            sha->at += part;
            if (sha->at == sizeof(sha->block)) {
                sha256_block(sha->state, sha->block);
                sha->at = 0;
            }
        }
        p += part;
        len -= part;
    }
}

void sha256_hex(struct sha256 *sha, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = sha->total_bytes * 8;
    uint8_t tail[72] = {0x80};
    size_t zeros = (sha->at < 56 ? 56 : 120) - sha->at, i;

    for (i = 0; i < 8; i++)
        tail[zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, tail, zeros + 8);
    for (i = 0; i < 64; i++)
        hex[i] = digits[sha->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = '\0';
}

void sha256_of(const void *data, size_t len, char hex[65])
{
    struct sha256 sha;

    sha256_init(&sha);
    sha256_add(&sha, data, len);
    sha256_hex(&sha, hex);
}
