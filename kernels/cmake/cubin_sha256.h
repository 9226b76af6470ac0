/*
 * cubin_sha256.h - SHA-256 (FIPS 180-4) of one span of bytes, for the build's own tool. kernels/
 * stands alone, so it cannot borrow the program's.
 */
#ifndef SAB_CUBIN_SHA256_H
#define SAB_CUBIN_SHA256_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t cubin_rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void cubin_sha256_block(uint32_t state[8], const unsigned char *block)
{
    /* 4.2.2: fractions of the cube roots of the first 64 primes. */
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t w[64], s[8];

    for (unsigned t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (unsigned t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];

        w[t] = w[t - 16] + (cubin_rotate(a, 7) ^ cubin_rotate(a, 18) ^ a >> 3) + w[t - 7] +
               (cubin_rotate(b, 17) ^ cubin_rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof(s));
    for (unsigned t = 0; t < 64; t++) {
        uint32_t e = cubin_rotate(s[4], 6) ^ cubin_rotate(s[4], 11) ^ cubin_rotate(s[4], 25);
        uint32_t a = cubin_rotate(s[0], 2) ^ cubin_rotate(s[0], 13) ^ cubin_rotate(s[0], 22);
        uint32_t t1 = s[7] + e + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[t] + w[t];
        uint32_t t2 = a + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

static void cubin_sha256(const unsigned char *data, size_t len, char hex[65])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char tail[128] = {0};
    uint64_t bits = (uint64_t)len * 8;
    size_t rest = len % 64, end = rest < 56 ? 64 : 128;

    for (size_t i = 0; i + 64 <= len; i += 64)
        cubin_sha256_block(state, data + i);
    if (rest)
        memcpy(tail, data + len - rest, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        tail[end - 1 - i] = (unsigned char)(bits >> (8 * i));
    for (size_t i = 0; i < end; i += 64)
        cubin_sha256_block(state, tail + i);
    for (size_t i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)state[i]);
}

#endif
