/*
 * Number formats, held against their definitions: value = (-1)^s * 2^(e-bias) * (1 + m/2^M), and
 * against exact neighbours for the rounding.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "numfmt.h"

struct format {
    int32_t dtype;
    int bits, mantissa, bias;
    uint32_t largest; /* code of the largest finite value */
};

static const struct format formats[] = {
    {SAB_E4M3, 8, 3, 7, 0x7e},
    {SAB_BF16, 16, 7, 127, 0x7f7f},
    {SAB_FP16, 16, 10, 15, 0x7bff},
};
#define FORMATS_NR (sizeof(formats) / sizeof(formats[0]))

/* The definition, by ldexp. */
static double defined(const struct format *f, uint32_t magnitude)
{
    const int exponent = (int)(magnitude >> f->mantissa);
    const int fraction = (int)(magnitude & ((1u << f->mantissa) - 1));

    if (exponent == 0)
        return ldexp(fraction, 1 - f->bias - f->mantissa);
    return ldexp((1 << f->mantissa) + fraction, exponent - f->bias - f->mantissa);
}

static void every_code_round_trips(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMATS_NR; i++) {
        const struct format *f = &formats[i];
        const uint32_t sign = 1u << (f->bits - 1);

        for (uint32_t code = 0; code < 2 * sign; code++) {
            const uint32_t magnitude = code & (sign - 1);
            const double value = numfmt_decode(f->dtype, code);

            if (magnitude > f->largest) { /* infinities and NaN */
                const int infinite = f->dtype != SAB_E4M3 && magnitude == f->largest + 1;

                assert_true(infinite ? isinf(value) : isnan(value));
                if (infinite)
                    assert_int_equal(numfmt_encode(f->dtype, value), code);
                else
                    assert_true(isnan(numfmt_decode(f->dtype, numfmt_encode(f->dtype, value))));
                continue;
            }
            assert_true(value == (code & sign ? -1.0 : 1.0) * defined(f, magnitude));
            assert_true(!signbit(value) == !(code & sign));
            assert_int_equal(numfmt_encode(f->dtype, value), code);
        }
    }
}

static void ties_go_to_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMATS_NR; i++) {
        const struct format *f = &formats[i];

        for (uint32_t code = 0; code < f->largest; code++) {
            const double low = defined(f, code), high = defined(f, code + 1);
            const double middle = low + (high - low) / 2; /* exact in double */
            const uint32_t even = code & 1 ? code + 1 : code;

            assert_int_equal(numfmt_encode(f->dtype, middle), even);
            assert_int_equal(numfmt_encode(f->dtype, nextafter(middle, 0)), code);
            assert_int_equal(numfmt_encode(f->dtype, nextafter(middle, INFINITY)), code + 1);
        }
    }
}

static void overflow(void **state)
{
    (void)state;
    /* e4m3 saturates, 464 being half-way to the 480 that does not exist. */
    assert_int_equal(numfmt_encode_e4m3(448), 0x7e);
    assert_int_equal(numfmt_encode_e4m3(463.9), 0x7e);
    assert_int_equal(numfmt_encode_e4m3(464), 0x7e);
    assert_int_equal(numfmt_encode_e4m3(1e30), 0x7e);
    assert_int_equal(numfmt_encode_e4m3(-INFINITY), 0xfe);
    assert_int_equal(numfmt_encode_e4m3(NAN) & 0x7f, 0x7f);
    assert_int_equal(numfmt_encode_fp16(65504), 0x7bff);
    assert_int_equal(numfmt_encode_fp16(65519.99), 0x7bff);
    assert_int_equal(numfmt_encode_fp16(65520), 0x7c00);
    assert_int_equal(numfmt_encode_bf16(0x1.ffp127), 0x7f80);
    assert_int_equal(numfmt_encode_bf16(-1e300), 0xff80);
    assert_int_equal(numfmt_encode_bf16(1e-300), 0);
    assert_int_equal(numfmt_encode_bf16(-0x1p-1074), 0x8000);
    /* From the contract: 17 of 256 rounds to 16, 64.0 is the poison. */
    assert_true(numfmt_decode_e4m3(numfmt_encode_e4m3(17)) == 16);
    assert_int_equal(numfmt_encode_e4m3(64), 0x68);
}

/* One rounding from double, not two by way of float. */
static void one_rounding(void **state)
{
    const double value = 1 + 0x1p-8 + 0x1p-40; /* above the tie, on it as a float */

    (void)state;
    assert_int_equal(numfmt_encode_bf16(value), 0x3f81);
    assert_int_equal(numfmt_encode_bf16((double)(float)value), 0x3f80);
}

static void scale_bytes(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < 255; code++) {
        assert_true(numfmt_decode_e8m0(code) == (float)ldexp(1, (int)code - 127));
        assert_int_equal(numfmt_encode_e8m0(ldexp(1, (int)code - 127)), code);
    }
    assert_true(isnan(numfmt_decode_e8m0(255)));
    assert_int_equal(numfmt_encode_e8m0(NAN), 255);
}

static void integers_and_storage(void **state)
{
    unsigned char packed[16] = {0};

    (void)state;
    assert_int_equal(numfmt_encode(SAB_I8, -5), 0xfb);
    assert_true(numfmt_decode(SAB_I8, 0xfb) == -5);
    assert_true(numfmt_decode(SAB_I32, 0xffffffffu) == -1);
    assert_true(numfmt_decode(SAB_U8, 0xfb) == 251);
    numfmt_store(SAB_BF16, packed, 3, 0x1234);
    assert_int_equal(numfmt_load(SAB_BF16, packed, 3), 0x1234);
    assert_int_equal(numfmt_load(SAB_BF16, packed, 2), 0);
    assert_int_equal(numfmt_load(SAB_BF16, packed, 4), 0);
    numfmt_store(SAB_F32, packed, 1, 0x3f800000);
    assert_int_equal(numfmt_load(SAB_F32, packed, 1), 0x3f800000);
    assert_int_equal(numfmt_size(SAB_NONE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_round_trips),
        cmocka_unit_test(ties_go_to_even),
        cmocka_unit_test(overflow),
        cmocka_unit_test(one_rounding),
        cmocka_unit_test(scale_bytes),
        cmocka_unit_test(integers_and_storage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
