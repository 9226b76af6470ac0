/*
 * The device code of indexer_fwd/wgmma and indexer_fwd/mma, run on the host by blocks of threads
 * that take turns (cuda_host.h), against sums in double (contracts/indexer.md, sections 1 and 2).
 */
#include "cuda_host_tensor.h"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

/* A guard against the assembler's order; the sums are those of 0. */
#define zero_behind zero_of_the_device
#include "wgmma_math.cuh"
#undef zero_behind

namespace indexer
{
static float zero_behind(uint64_t *, uint32_t)
{
    return 0.0f;
}
} // namespace indexer

#include "mma_kernel.cuh"
#include "wgmma_kernel.cuh"

namespace
{

struct shape {
    int64_t batch, seqlen_q, seqlen_k, ratio;
    int32_t offset;
    unsigned blocks, splits;
    bool packed; /* uneven segments, an empty one among them */
};

const int32_t ends_q[] = {0, 1, 6, 6, 8, 17}, ends_k[] = {0, 7, 147, 177, 178, 378};

uint32_t random_bits(uint64_t i, uint64_t stream)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ stream * 0xbf58476d1ce4e5b9u;

    x = (x ^ x >> 30) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 33);
}

float uniform(uint64_t i, uint64_t stream)
{
    return (float)random_bits(i, stream) * 0x1p-30f - 1.0f;
}

/* A problem with its memory; q and k of e4m3 or bf16. Keys that nobody sees are NaN. */
struct problem {
    indexer_wgmma_args args = {};
    std::vector<uint8_t> q, k, q_exponents, k_exponents;
    std::vector<float> w, q_scale, k_scale, scores;
    std::vector<int32_t> offsets;
    int32_t precision;

    problem(const shape &s, int32_t heads, int32_t kind) : precision(kind)
    {
        indexer_fwd_call &c = args.items.c;
        const int64_t batch = s.packed ? 5 : s.batch;

        c.batch = batch;
        c.rows = s.packed ? ends_q[5] : batch * s.seqlen_q;
        c.keys = s.packed ? ends_k[5] : batch * s.seqlen_k;
        c.seqlen_q = s.seqlen_q;
        c.seqlen_k = c.columns = s.packed ? 200 : s.seqlen_k;
        c.stride = (c.columns + 3) / 4 * 4 + 4;
        c.ratio = s.ratio;
        c.heads = heads;
        c.precision = kind;
        c.packed = s.packed;
        c.cu_q = s.packed ? ends_q : nullptr;
        c.cu_k = s.packed ? ends_k : nullptr;
        c.w_f32 = 1;
        c.factor = 0.088f;
        fill(c);
        offsets.assign((size_t)batch, s.offset);
        c.offsets = offsets.data();
        poison(c);
        point(c);
        indexer_items &items = args.items;
        items.tokens = (uint32_t)(INDEXER_COLUMNS / heads);
        items.blocks = (uint32_t)((c.rows + items.tokens - 1) / items.tokens);
        items.splits = s.splits;
        items.strip = items.blocks;
        if (!s.packed && s.seqlen_q % items.tokens == 0)
            items.strip = (uint32_t)s.seqlen_q / items.tokens;
    }

    void fill(const indexer_fwd_call &c)
    {
        const size_t bytes = precision == INDEXER_BF16 ? 2 : 1;

        q.resize((size_t)(c.rows * c.heads) * 128 * bytes);
        k.resize((size_t)c.keys * 128 * bytes);
        for (std::vector<uint8_t> *to : {&q, &k})
            for (size_t i = 0; i < to->size() / bytes; i++) {
                const uint32_t x = numfmt_encode(bytes == 2 ? SAB_BF16 : SAB_E4M3,
                                                 2 * uniform(i, to == &q ? 1 : 2));
                memcpy(to->data() + i * bytes, &x, bytes);
            }
        for (int64_t i = 0; i < c.rows * c.heads; i++) {
            w.push_back(uniform((uint64_t)i, 3));
            q_scale.push_back(1.0f + 0.5f * uniform((uint64_t)i, 4));
        }
        for (int64_t i = 0; i < c.keys; i++)
            k_scale.push_back(1.0f + 0.5f * uniform((uint64_t)i, 5));
        for (int64_t i = 0; i < c.rows * c.heads * 4; i++)
            q_exponents.push_back((uint8_t)(125 + random_bits((uint64_t)i, 6) % 6));
        for (int64_t i = 0; i < c.keys * 4; i++)
            k_exponents.push_back((uint8_t)(125 + random_bits((uint64_t)i, 7) % 6));
        scores.assign((size_t)(c.rows * c.stride), 7.0f);
    }

    /* Each key that the last row of its batch does not see. */
    void poison(const indexer_fwd_call &c)
    {
        for (int64_t row = 0; row < c.rows; row++) {
            const indexer_place at = indexer_fwd_place(&c, row),
                                next = indexer_fwd_place(&c, row + 1);
            const size_t bytes = precision == INDEXER_BF16 ? 256 : 128;

            if (row + 1 < c.rows && next.batch == at.batch)
                continue;
            for (int64_t i = indexer_fwd_limit(&c, &at); i < at.keys; i++)
                memset(k.data() + (size_t)(at.first_k + i) * bytes, 0xff, bytes);
        }
    }

    void point(indexer_fwd_call &c)
    {
        const bool mx = precision == INDEXER_MXFP8, fp8 = precision == INDEXER_FP8;
        const int32_t bytes = precision == INDEXER_BF16 ? 2 : 1;

        c.q = q.data();
        c.k = k.data();
        c.w = w.data();
        c.q_scale = mx ? (const void *)q_exponents.data() : fp8 ? q_scale.data() : nullptr;
        c.k_scale = mx ? (const void *)k_exponents.data() : fp8 ? k_scale.data() : nullptr;
        c.scores = scores.data();
        args.q = {q.data(), c.rows * c.heads, bytes, INDEXER_COLUMNS};
        args.k = {k.data(), c.keys, bytes, INDEXER_KEYS};
    }
};

double element(const problem &p, const std::vector<uint8_t> &from, const std::vector<uint8_t> &mx,
               int64_t row, int64_t i)
{
    const uint8_t *at =
        from.data() + (size_t)(row * 128 + i) * (p.precision == INDEXER_BF16 ? 2 : 1);

    if (p.precision == INDEXER_BF16)
        return (double)sab::bf16::one((uint32_t)at[0] | (uint32_t)at[1] << 8);
    const double x = numfmt_decode(SAB_E4M3, *at);
    return p.precision == INDEXER_MXFP8 ? ldexp(x, mx[(size_t)(row * 4 + i / 32)] - 127) : x;
}

double score(const problem &p, int64_t row, int64_t key)
{
    const indexer_fwd_call &c = p.args.items.c;
    const bool fp8 = p.precision == INDEXER_FP8;
    double sum = 0;

    for (int64_t at = row * c.heads; at < (row + 1) * c.heads; at++) {
        double x = 0;

        for (int64_t i = 0; i < 128; i++)
            x += element(p, p.q, p.q_exponents, at, i) * element(p, p.k, p.k_exponents, key, i);
        sum += fmax(x, 0) * (double)p.w[(size_t)at] * (fp8 ? (double)p.q_scale[(size_t)at] : 1);
    }
    return sum * 0.088 * (fp8 ? (double)p.k_scale[(size_t)key] : 1);
}

/* Elements that are wrong: the mask and what lies between rows everywhere, values at some. */
int64_t faults(const problem &p)
{
    const indexer_fwd_call &c = p.args.items.c;
    int64_t nr = 0;

    for (int64_t row = 0; row < c.rows; row++) {
        const indexer_place place = indexer_fwd_place(&c, row);
        const int64_t limit = indexer_fwd_limit(&c, &place);

        for (int64_t i = 0; i < c.stride; i++) {
            const float got = p.scores[(size_t)(row * c.stride + i)];

            if (i >= limit)
                nr += got != (i < c.columns ? -INFINITY : 7.0f);
            else if (random_bits((uint64_t)(row * c.stride + i), 8) % 16 && i + 2 < limit)
                nr += !std::isfinite(got) || got == 7.0f;
            else {
                const double want = score(p, row, place.first_k + i);
                nr += !(fabs((double)got - want) <= 1e-4 + 1e-4 * fabs(want));
            }
        }
    }
    return nr;
}

/* Roles as in the kernel itself, which the host cannot compile. */
template <class P, int HEADS> void wgmma_block(const indexer_wgmma_args &args, uint8_t *shared)
{
    indexer::wgmma_shared<P> &s = *reinterpret_cast<indexer::wgmma_shared<P> *>(shared);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, thread = threadIdx.x;

    if (thread == 0)
        indexer::open_barriers(s);
    __syncthreads();
    if (warp == 8) {
        indexer::loader<P, HEADS>{args, s, {}, {}, lane}.run_all();
    } else if (warp > 8) {
        indexer::for_runs(
            args.items, [&](const indexer::row_run &run, const indexer::key_share &share) {
                indexer::fill_run(args.items, run, share, thread - 9 * 32, INDEXER_WGMMA_FILLING);
            });
    } else {
        const uint32_t key = 16 * (warp % 4) + lane / 4 + 8 * (lane % 2);
        indexer::scorer<P, HEADS> group = {args, s, warp / 4, key, {}, {}, {}, {}, {}, {}, {}};

        group.run_all();
    }
}

void expect(const problem &p, bool ended, const char *kernel, const shape &s)
{
    const int64_t nr = ended ? faults(p) : -1;

    if (nr != 0)
        fail_msg("%s, %d heads, precision %d, %lld x %lld: %lld elements are wrong (-1: it hangs)",
                 kernel, p.args.items.c.heads, p.precision, (long long)s.seqlen_q,
                 (long long)s.seqlen_k, (long long)nr);
}

template <class P, int HEADS> void hold_wgmma(const shape &s)
{
    problem p(s, HEADS, P::SCALED ? INDEXER_FP8 : INDEXER_BF16);
    const auto body = [&](uint8_t *shared) { wgmma_block<P, HEADS>(p.args, shared); };

    expect(
        p,
        host_launch(s.blocks, INDEXER_WGMMA_THREADS, 1, sizeof(indexer::wgmma_shared<P>), 11, body),
        "wgmma", s);
}

template <class P, int HEADS> void hold_mma(const shape &s, int32_t precision)
{
    problem p(s, HEADS, precision);
    const auto body = [&](uint8_t *shared) {
        indexer::serve_items<P, HEADS>(p.args.items, shared);
    };

    expect(p, host_launch(s.blocks, INDEXER_MMA_THREADS, 1, INDEXER_MMA_SHARED_BYTES, 12, body),
           "mma", s);
}

const shape one = {1, 4, 128, 1, 1000, 1, 1, false};
const shape tail = {1, 9, 131, 1, 125, 1, 1, false};    /* a ragged last block and tile */
const shape causal = {2, 20, 150, 4, 500, 3, 2, false}; /* splits of few tiles */
const shape first = {2, 12, 37, 1, 0, 3, 1, false};
const shape none = {1, 8, 140, 1, -20, 2, 1, false};
const shape packed = {0, 0, 0, 1, 3, 2, 1, true};

void wgmma_fp8(void **)
{
    hold_wgmma<indexer::fp8, 64>(one);
    hold_wgmma<indexer::fp8, 64>(tail);
    hold_wgmma<indexer::fp8, 64>(none);
    hold_wgmma<indexer::fp8, 32>(causal);
    hold_wgmma<indexer::fp8, 16>(first);
    hold_wgmma<indexer::fp8, 64>(packed);
    hold_wgmma<indexer::fp8, 64>({1, 4, 1300, 1, 1290, 1, 1, false}); /* round the ring of stages */
}

void wgmma_bf16(void **)
{
    hold_wgmma<indexer::bf16, 64>(tail);
    hold_wgmma<indexer::bf16, 32>(packed);
    hold_wgmma<indexer::bf16, 16>(causal);
    hold_wgmma<indexer::bf16, 64>({1, 4, 520, 1, 515, 1, 1, false});
}

void mma(void **)
{
    hold_mma<indexer::mma_fp8, 64>(one, INDEXER_FP8);
    hold_mma<indexer::mma_bf16, 64>(tail, INDEXER_BF16);
    hold_mma<indexer::mma_fp8, 32>(causal, INDEXER_FP8);
    hold_mma<indexer::mma_mxfp8, 16>(causal, INDEXER_MXFP8);
    hold_mma<indexer::mma_bf16, 16>(first, INDEXER_BF16);
    hold_mma<indexer::mma_mxfp8, 64>(packed, INDEXER_MXFP8);
    hold_mma<indexer::mma_fp8, 64>(none, INDEXER_FP8);
}

/* The comparison sees a lost head, a shifted mask, a written gap. */
void wrong_answers(void **)
{
    problem p(tail, 64, INDEXER_BF16);
    const auto body = [&](uint8_t *shared) {
        indexer::serve_items<indexer::mma_bf16, 64>(p.args.items, shared);
    };

    assert_true(host_launch(1, INDEXER_MMA_THREADS, 1, INDEXER_MMA_SHARED_BYTES, 12, body));
    assert_int_equal(faults(p), 0);
    std::swap(p.scores[130],
              p.scores[131]); /* row 0 sees 126 of 131 columns, 136 lie between rows */
    assert_int_equal(faults(p), 2);
    std::swap(p.scores[130], p.scores[131]);
    p.w[64 * 3 + 5] += 1;
    assert_true(faults(p) > 0);
    p.w[64 * 3 + 5] -= 1;
    p.args.items.c.ratio = 2;
    assert_true(faults(p) > 0);
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wgmma_fp8),
        cmocka_unit_test(wgmma_bf16),
        cmocka_unit_test(mma),
        cmocka_unit_test(wrong_answers),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
