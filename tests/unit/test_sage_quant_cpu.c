/*
 * The CPU quantisers: golden vectors bit for bit, the shapes of the contract against the oracle,
 * strided inputs, and what the bits must not depend on. Also the quotient of the CUDA kernels,
 * which runs here as on the device.
 */
#include <stdio.h>

#include "quotient.h"
#include "test_quant_rig.h"

#define KV(name) SAB_T_sage_quant_kv_##name
#define CHOICES  3

static bool served(const struct quant_rig *r, uint32_t choice)
{
    const struct rig_call call = {.choice = choice, .threads = 1};
    struct quant_rig copy = *r;
    char text[512];

    return rig_cpu(&copy, &call, text, sizeof(text)) != SAB_UNSUPPORTED;
}

static void hold_vector(const struct vector *v)
{
    struct op_problem p;
    struct quant_rig r;
    struct err read = ERR_INIT;

    rig_from_vector(&r, v, false);
    if (vector_to_problem(v, &p, NULL, &read) < 0)
        fail_msg("%s", read.text);
    for (uint32_t t = 0; t < p.spec->tensors_nr; t++)
        assert_int_equal(p.tensor[t].bytes, r.p.tensor[t].bytes);
    for (uint32_t choice = 0; choice < CHOICES; choice++) {
        struct vector_verdict verdict;
        struct err err = ERR_INIT;

        if (!served(&r, choice))
            continue;
        rig_run(&r, choice, 2, 0);
        if (vector_judge(v, (const void *const *)r.data, NULL, 0, &verdict, &err) < 0)
            fail_msg("%s", err.text);
        if (!verdict.pass)
            fail_msg("%s, choice %u: %s", v->title, choice, verdict.text);
        assert_int_equal(verdict.held, strcmp(v->op, "sage_quant_q") ? 4 : 2);
    }
    rig_release(&r);
}

static void golden_vectors(void **state)
{
    (void)state;
    rig_each_vector("sage_quant_q", 4, hold_vector);
    rig_each_vector("sage_quant_kv", 5, hold_vector);
}

static void hold_shape(const char *op, int64_t batch, int64_t heads, int64_t seqlen, int data)
{
    struct quant_rig r;
    struct judgement j;

    rig_init(&r, op, batch, heads, seqlen, data);
    rig_run(&r, 0, 2, 0);
    rig_oracle(&r);
    j = rig_judge(&r);
    if (!j.pass)
        fail_msg("%s, %lld tokens, data %d: %s", op, (long long)seqlen, data, j.text);
    rig_release(&r);
}

/* Section 8, tests. */
static void shapes(void **state)
{
    static const int64_t seqlens[] = {1, 31, 32, 33, 63, 64, 65, 255, 256, 257};

    (void)state;
    for (int data = 0; data < 3; data++)
        for (size_t i = 0; i < sizeof(seqlens) / sizeof(seqlens[0]); i++) {
            hold_shape("sage_quant_q", 1, 2, seqlens[i], data);
            hold_shape("sage_quant_kv", 1, 2, seqlens[i], data);
        }
    hold_shape("sage_quant_q", 1, 8, 256, 0);
    hold_shape("sage_quant_q", 2, 4, 1000, 0);
    hold_shape("sage_quant_q", 2, 6, 65, 0);
    hold_shape("sage_quant_kv", 1, 8, 256, 0);
    hold_shape("sage_quant_kv", 2, 1, 1500, 0);
    hold_shape("sage_quant_kv", 1, 1, 4000, 0);
}

/* A copy of all outputs, one behind the other. */
static char *outputs(const struct quant_rig *r)
{
    size_t bytes = 0;
    char *copy;

    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        bytes += rig_is_output(r, t) ? r->p.tensor[t].bytes : 0;
    copy = malloc(bytes);
    assert_non_null(copy);
    bytes = 0;
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (rig_is_output(r, t)) {
            memcpy(copy + bytes, r->data[t], r->p.tensor[t].bytes);
            bytes += r->p.tensor[t].bytes;
        }
    return copy;
}

static void expect_outputs(const struct quant_rig *r, const char *want)
{
    for (uint32_t t = 0; t < r->p.spec->tensors_nr; t++)
        if (rig_is_output(r, t)) {
            assert_memory_equal(r->data[t], want, r->p.tensor[t].bytes);
            want += r->p.tensor[t].bytes;
        }
}

static void bits_do_not_depend_on(void **state)
{
    static const char *const ops[] = {"sage_quant_q", "sage_quant_kv"};
    static const int threads[] = {1, 2, 3, 7};
    static const int64_t pads[] = {8, 3, 128};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct quant_rig r;
        char *bits;

        rig_init(&r, ops[i], 2, 3, 600, 0);
        rig_run(&r, 1, 1, 0);
        bits = outputs(&r);
        for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
            rig_run(&r, 0, threads[k], 0);
            expect_outputs(&r, bits);
        }
        for (size_t k = 0; k < sizeof(pads) / sizeof(pads[0]); k++) {
            rig_run(&r, 0, 2, pads[k]);
            expect_outputs(&r, bits);
        }
        for (uint32_t choice = 0; choice < CHOICES; choice++)
            if (served(&r, choice)) {
                rig_run(&r, choice, 2, 5);
                expect_outputs(&r, bits);
            }
        free(bits);
        rig_release(&r);
    }
}

/* A tie of e4m3 in [0.5, 1) times t, or 0 where bf16 does not hold it. */
static float tie_times(int token, int t)
{
    const float x = (float)((15 + 2 * token) * t) / 32;

    return numfmt_decode_bf16(numfmt_encode_bf16((double)x)) == x ? x : 0;
}

/*
 * Ties of e4m3 under scales that are no powers of two: v = tie * t, where the largest v of a
 * channel is 2.25 * t. A division finds the tie and rounds it to even; multiplication by 1/t misses
 * some. One channel for each t, one token for each tie.
 */
static void divides(void **state)
{
    static const int place[9] = {0, 1, 4, 5, 8, 9, 12, 13, 2};
    int held = 0, missed = 0;
    struct quant_rig r;
    uint16_t *v;

    (void)state;
    rig_init(&r, "sage_quant_kv", 1, 1, 16, 2);
    v = r.data[KV(v)];
    for (int t = 1; t <= 28; t++) {
        v[t] = (uint16_t)numfmt_encode_bf16(2.25 * t);
        for (int token = 1; token <= 8; token++)
            v[token * 128 + t] = (uint16_t)numfmt_encode_bf16((double)tie_times(token, t));
    }
    rig_run(&r, 0, 1, 0);
    for (int t = 1; t <= 28; t++)
        for (int token = 1; token <= 8; token++) {
            const uint8_t *row = (const uint8_t *)r.data[KV(v_fp8)] + (size_t)t * 64;
            const float x = tie_times(token, t), product = x * (1 / (float)t);
            const uint32_t want = numfmt_encode_e4m3((double)(x / (float)t));

            if (x == 0)
                continue;
            assert_true(((float *)r.data[KV(v_scale)])[t] == (float)t);
            assert_int_equal(row[place[token]], want);
            held++;
            missed += numfmt_encode_e4m3((double)product) != want;
        }
    assert_true(held > 60 && missed > 0);
    rig_release(&r);
}

/* The largest finite values: the scale's reciprocal is subnormal. */
static void largest_values(void **state)
{
    struct quant_rig r;

    (void)state;
    rig_init(&r, "sage_quant_kv", 1, 1, 65, 0);
    for (int64_t i = 0; i < r.p.tensor[KV(v)].elements; i++)
        ((uint16_t *)r.data[KV(v)])[i] =
            (uint16_t)((((uint16_t *)r.data[KV(v)])[i] & 0x807f) | (i % 3 ? 0x7f00 : 0x7e80));
    rig_run(&r, 0, 1, 0);
    rig_oracle(&r);
    if (!rig_judge(&r).pass)
        fail_msg("%s", rig_judge(&r).text);
    rig_release(&r);
}

static void refusals(void **state)
{
    struct rig_call call = {.threads = 1, .less_bytes = 4};
    struct quant_rig r;
    char text[512] = "";

    (void)state;
    rig_init(&r, "sage_quant_kv", 1, 1, 300, 0);
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    call = (struct rig_call){.threads = 0};
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    assert_non_null(strstr(text, "threads is 0"));
    call = (struct rig_call){.threads = 1, .choice = 9};
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    r.p.tensor[KV(v)].shape[2] = 299;
    call.choice = 0;
    assert_int_equal(rig_cpu(&r, &call, text, sizeof(text)), SAB_INVALID);
    rig_release(&r);
}

static uint64_t random_bits(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void hold_quotient(float a, float b, bool bf16)
{
    const float got = bf16 ? quotient_bf16(a, b, 1 / b) : quotient(a, b, 1 / b);

    if (fabsf(a / b) >= 0x1p-40f || a == 0)
        if (numfmt_bits_of_f32(got) != numfmt_bits_of_f32(a / b))
            fail_msg("%a / %a is %a, must be %a", (double)a, (double)b, (double)got,
                     (double)(a / b));
}

/* Two steps against a division: any float over any scale, many near a half-way quotient. */
static void quotients(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int i = 0; i < 1000000; i++) {
        const float b = ldexpf(1 + (float)(random_bits(&seed) & 0x7fffff) * 0x1p-23f,
                               (int)(random_bits(&seed) % 150) - 30);
        const uint32_t mask = i % 2 ? 0xffff0000u : 0xffffffffu;
        const float n = (float)(random_bits(&seed) % 255) / 2;
        const float a =
            numfmt_f32_of_bits(numfmt_bits_of_f32((n + (float)(i % 7) * 1e-3f) * b) & mask);

        if (isfinite(a))
            hold_quotient(i % 3 ? a : -a, b, false);
    }
}

/* One step: every bf16 down to 2^-24 of a scale, over every scale. Scales of another exponent only
 * move the point. */
static void quotients_of_bf16(void **state)
{
    static const float divisors[] = {127, 2.25f};

    (void)state;
    for (int k = 0; k < 2; k++)
        for (uint32_t amax = 0; amax <= 128; amax++) {
            const float largest = amax < 128 ? numfmt_decode_bf16(0x3f80 + amax) : 1e-7f;
            const float b = largest / divisors[k];

            hold_quotient(0.0f, b, true);
            hold_quotient(-0.0f, b, true);
            for (uint32_t down = 0; down < 25; down++)
                for (uint32_t x = 0; x < 128; x++) {
                    const float a =
                        numfmt_decode_bf16((numfmt_encode_bf16((double)largest) & 0x7f80) + x) *
                        ldexpf(1, -(int)down);

                    hold_quotient(a, b, true);
                    hold_quotient(-a, b, true);
                }
        }
}

/* One operation against a division and a rounding, most of all about half-way points. Where it is
 * not sure it may be wrong; it must be sure nearly always away from them, and never on them. */
static void nearest_integers(void **state)
{
    uint64_t seed = 7;
    int unsure = 0, halves = 0;

    (void)state;
    for (int i = 0; i < 2000000; i++) {
        const float b = ldexpf(1 + (float)(random_bits(&seed) & 0x7fffff) * 0x1p-23f,
                               (int)(random_bits(&seed) % 140) - 30);
        const float n = (float)(random_bits(&seed) % 254) / 2;
        const float far = (float)(random_bits(&seed) % 2001) * 0x1p-11f;
        float a = i % 2 ? n * b : (n + ldexpf(far, -(int)(random_bits(&seed) % 20))) * b;
        float remainder;

        for (uint64_t step = random_bits(&seed) % 3; i % 2 && step > 0; step--)
            a = nextafterf(a, i % 4 == 1 ? 0 : INFINITY);
        if (fabsf(a / b) > 127)
            continue;
        a = i % 3 ? a : -a;
        const int8_t got = (int8_t)(nearest(a, b, 1 / b, &remainder) & 0xff);
        const bool sure = fabsf(remainder) < b * NEAREST_SURE;
        const float due = rintf(a / b);

        if (sure && (float)got != due)
            fail_msg("%a / %a rounds to %d, must be %g", (double)a, (double)b, got, (double)due);
        unsure += !sure && i % 2 == 0;
        if (fabsf(a / b - due) == 0.5f) {
            halves++;
            assert_false(sure);
        }
    }
    assert_true(halves > 100000);
    assert_true(unsure < 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_integers),
        cmocka_unit_test(golden_vectors),
        cmocka_unit_test(shapes),
        cmocka_unit_test(bits_do_not_depend_on),
        cmocka_unit_test(divides),
        cmocka_unit_test(largest_values),
        cmocka_unit_test(refusals),
        cmocka_unit_test(quotients),
        cmocka_unit_test(quotients_of_bf16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
