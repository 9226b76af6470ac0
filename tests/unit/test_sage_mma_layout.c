/*
 * The index arithmetic of sage_fwd/mma against the definitions of the instructions that use it: TMA
 * swizzles (CUDA driver API, tensor maps), ldmatrix and the fragments of mma (PTX ISA).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mma_layout.h"

enum { ROWS = 64, KEYS = 64, CHANNELS = 128 };

struct tiles {
    int8_t q[ROWS][CHANNELS], k[KEYS][CHANNELS];
    uint8_t v[CHANNELS][KEYS]; /* physical token order */
    uint8_t q_shared[8192], k_shared[8192], v_shared[8192];
};

/* 128-byte swizzle: address bits 4-6 are xored with bits 7-9; 64-byte: bits 4-5 with bits 7-8. */
static uint32_t swizzle(uint32_t offset, uint32_t mask)
{
    return offset ^ ((offset >> 7 & mask) << 4);
}

static void fill(struct tiles *t)
{
    srand(4711);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            t->q[r][c] = (int8_t)(rand() % 255 - 127);
            t->k[r][c] = (int8_t)(rand() % 255 - 127);
            t->v[c][r] = (uint8_t)(rand() % 256);
            t->q_shared[swizzle(r * 128 + c, 7)] = (uint8_t)t->q[r][c];
            t->k_shared[swizzle(r * 128 + c, 7)] = (uint8_t)t->k[r][c];
            t->v_shared[swizzle(c * 64 + r, 3)] = t->v[c][r];
        }
    }
}

/* ldmatrix .x4: lane l names row l % 8 of matrix l / 8, lane l receives bytes 4t.. of row g of
 * each. */
static void ldmatrix(uint32_t r[4], const uint8_t *shared, const uint32_t address[32],
                     uint32_t lane)
{
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(address[8 * i + lane / 4] % 16, 0);
        memcpy(&r[i], shared + address[8 * i + lane / 4] + 4 * (lane % 4), 4);
    }
}

static int byte_of(uint32_t word, uint32_t i)
{
    return (int8_t)(word >> 8 * i & 0xff);
}

/* One element of an m16n8k32 product from the registers of all lanes. */
static int product(uint32_t a[32][4], uint32_t b[32][2], uint32_t row, uint32_t column)
{
    int sum = 0;

    for (uint32_t t = 0; t < 4; t++) {
        for (uint32_t half = 0; half < 2; half++) {
            uint32_t left = a[4 * (row % 8) + t][row / 8 + 2 * half];
            uint32_t right = b[4 * column + t][half];
            for (uint32_t i = 0; i < 4; i++)
                sum += byte_of(left, i) * byte_of(right, i);
        }
    }
    return sum;
}

static void qk_product(void **state)
{
    static struct tiles t;

    (void)state;
    fill(&t);
    for (uint32_t warp = 0; warp < 4; warp++) {
        static int s[16][KEYS];
        memset(s, 0, sizeof(s));
        for (uint32_t step = 0; step < 4; step++) {
            uint32_t q_at[32], k_at[32], a[32][4], b[2][32][2];
            for (uint32_t l = 0; l < 32; l++)
                q_at[l] = sage_mma_q_address(l, warp, step);
            for (uint32_t l = 0; l < 32; l++)
                ldmatrix(a[l], t.q_shared, q_at, l);
            for (uint32_t pair = 0; pair < 4; pair++) {
                for (uint32_t l = 0; l < 32; l++)
                    k_at[l] = sage_mma_k_at(sage_mma_k_address(l), pair, step);
                for (uint32_t l = 0; l < 32; l++) {
                    uint32_t r[4];
                    ldmatrix(r, t.k_shared, k_at, l);
                    for (uint32_t i = 0; i < 4; i++)
                        b[i / 2][l][i % 2] = r[i];
                }
                for (uint32_t row = 0; row < 16; row++) {
                    for (uint32_t c = 0; c < 16; c++)
                        s[row][16 * pair + c] += product(a, b[c / 8], row, c % 8);
                }
            }
        }
        for (uint32_t row = 0; row < 16; row++) {
            for (uint32_t key = 0; key < KEYS; key++) {
                int right = 0;
                for (uint32_t c = 0; c < CHANNELS; c++)
                    right += t.q[16 * warp + row][c] * t.k[key][c];
                assert_int_equal(s[row][key], right);
            }
        }
    }
}

/* Section 3 of the contract: where logical token r of a group of 16 is stored. */
static uint32_t physical(uint32_t r)
{
    return 2 * (r / 8) + 4 * (r / 2 % 4) + r % 2;
}

/* P as the kernel builds it: lane (g, t) holds columns 2t, 2t+1 of each 8-key tile, rows g and g +
 * 8; register 2 * (group % 2) + r of step group / 2 takes tiles 2 * group and 2 * group + 1. */
static void left_of_pv(uint32_t p[32][2][4], int8_t w[16][KEYS])
{
    for (uint32_t lane = 0; lane < 32; lane++) {
        for (uint32_t group = 0; group < 4; group++) {
            for (uint32_t r = 0; r < 2; r++) {
                uint32_t word = 0;
                for (uint32_t i = 0; i < 4; i++) {
                    uint32_t key = 8 * (2 * group + i / 2) + 2 * (lane % 4) + i % 2;
                    word |= (uint32_t)(uint8_t)w[lane / 4 + 8 * r][key] << 8 * i;
                }
                p[lane][group / 2][2 * (group % 2) + r] = word;
            }
        }
    }
}

static void pv_product(void **state)
{
    static struct tiles t;
    static int8_t w[16][KEYS];
    static uint32_t p[32][2][4];
    static int o[16][CHANNELS];

    (void)state;
    fill(&t);
    for (uint32_t row = 0; row < 16; row++) {
        for (uint32_t key = 0; key < KEYS; key++)
            w[row][key] = (int8_t)(rand() % 255 - 127);
    }
    left_of_pv(p, w);
    for (uint32_t step = 0; step < 2; step++) {
        uint32_t a[32][4];
        for (uint32_t l = 0; l < 32; l++)
            memcpy(a[l], p[l][step], sizeof(a[l]));
        for (uint32_t pair = 0; pair < 8; pair++) {
            uint32_t v_at[32], b[2][32][2];
            for (uint32_t l = 0; l < 32; l++)
                v_at[l] = sage_mma_v_at(sage_mma_v_address(l), pair, step);
            for (uint32_t l = 0; l < 32; l++) {
                uint32_t r[4];
                ldmatrix(r, t.v_shared, v_at, l);
                for (uint32_t i = 0; i < 4; i++)
                    b[i / 2][l][i % 2] = r[i];
            }
            for (uint32_t row = 0; row < 16; row++) {
                for (uint32_t c = 0; c < 16; c++)
                    o[row][16 * pair + c] += product(a, b[c / 8], row, c % 8);
            }
        }
    }
    for (uint32_t row = 0; row < 16; row++) {
        for (uint32_t c = 0; c < CHANNELS; c++) {
            int right = 0;
            for (uint32_t key = 0; key < KEYS; key++)
                right += w[row][key] * (int8_t)t.v[c][key / 16 * 16 + physical(key % 16)];
            assert_int_equal(o[row][c], right);
        }
    }
}

/* Eight lanes of an ldmatrix phase, or the 32 lanes of a 4-byte store, must use different banks. */
static void no_bank_conflicts(void **state)
{
    (void)state;
    for (uint32_t phase = 0; phase < 4; phase++) {
        uint32_t q = 0, k = 0, v = 0;
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t lane = 8 * phase + i;
            q |= 1u << sage_mma_q_address(lane, 1, 2) / 16 % 8;
            k |= 1u << sage_mma_k_at(sage_mma_k_address(lane), 1, 2) / 16 % 8;
            v |= 1u << sage_mma_v_at(sage_mma_v_address(lane), 3, 1) / 16 % 8;
        }
        assert_int_equal(q, 0xff);
        assert_int_equal(k, 0xff);
        assert_int_equal(v, 0xff);
    }
    for (uint32_t n = 0; n < 16; n++) {
        uint64_t banks = 0;
        for (uint32_t lane = 0; lane < 32; lane++)
            banks |= 1ull << (sage_mma_out_offset(lane / 4, n) + 4 * (lane % 4)) / 4 % 32;
        assert_int_equal(banks, 0xffffffffull);
    }
}

/* The result tile holds each (row, chunk) once. */
static void out_is_one_to_one(void **state)
{
    static uint8_t seen[256];

    (void)state;
    for (uint32_t row = 0; row < 16; row++) {
        for (uint32_t chunk = 0; chunk < 16; chunk++) {
            uint32_t at = sage_mma_out_offset(row, chunk);
            assert_int_equal(at % 16, 0);
            assert_true(at < 4096);
            assert_int_equal(seen[at / 16]++, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qk_product),
        cmocka_unit_test(pv_product),
        cmocka_unit_test(no_bank_conflicts),
        cmocka_unit_test(out_is_one_to_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
