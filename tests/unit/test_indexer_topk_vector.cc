/*
 * The device code of indexer_topk/vector, run on the host by blocks of threads that take turns
 * (cuda_host.h), against a sort (contracts/indexer.md, sections 3.2 and 3.3). Buffers are small, so
 * that short rows go every way: keys that stay, values that pass, buffers that fill up, clusters.
 */
#include "cuda_host.h"

#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

#include "numfmt.h"

/* In the place of half_types.cuh and vector_cluster.cuh. */
#define SAB_HALF_TYPES_CUH
#define INDEXER_TOPK_VECTOR_CLUSTER_CUH

namespace sab
{

/* The only NaN that a GPU's arithmetic gives. */
static const uint32_t NOT_A_NUMBER = 0x7fffffffu;

template <int32_t DTYPE> struct half_format {
    static float2 unpack(uint32_t pair)
    {
        const double x = numfmt_decode(DTYPE, pair & 0xffff), y = numfmt_decode(DTYPE, pair >> 16);
        const float nan = __uint_as_float(NOT_A_NUMBER);

        return {std::isnan(x) ? nan : (float)x, std::isnan(y) ? nan : (float)y};
    }
    static uint32_t pack(float x, float y)
    {
        return numfmt_encode(DTYPE, x) | numfmt_encode(DTYPE, y) << 16;
    }
};
using bf16 = half_format<SAB_BF16>;
using fp16 = half_format<SAB_FP16>;

} // namespace sab

namespace topk
{

template <bool CLUSTER> void row_barrier()
{
    if (CLUSTER)
        host_wait(host.barrier);
    else
        __syncthreads();
}
template <bool CLUSTER> uint32_t row_rank()
{
    return CLUSTER ? host.current->rank : 0;
}
inline uint32_t peer_word(const uint32_t *mine, uint32_t rank)
{
    return *host_peer(mine, rank);
}
inline uint4 peer_words(const uint32_t *mine, uint32_t rank)
{
    return *reinterpret_cast<const uint4 *>(host_peer(mine, rank));
}
inline void peer_store(uint2 *mine, uint32_t rank, uint2 x)
{
    *const_cast<uint2 *>(host_peer(mine, rank)) = x;
}
inline void prefetch_line(const void *)
{
}
inline uint4 load_vector(const uint4 *from)
{
    return *from;
}
inline uint32_t anew(uint32_t x)
{
    return x;
}
inline uint32_t block_number()
{
    return host.first_block + host.current->rank;
}

} // namespace topk

#include "vector_kernel.cuh"

namespace
{

/* ---- rows ---- */

enum data {
    NORMAL,
    EQUAL,
    EIGHT,
    RELU,
    ZEROS,
    RISING,
    FALLING,
    LEFT,
    RIGHT,
    FEW_FINITE,
    RANGE,
    NANS,
    STRETCHES,
    DATA_NR
};

const char *const data_names[DATA_NR] = {"normal", "equal",   "eight",    "relu",  "zeros",
                                         "rising", "falling", "left",     "right", "few finite",
                                         "range",  "nans",    "stretches"};

struct problem {
    int64_t rows, columns, stride, slots;
    int32_t tie_break;
    data what;
    unsigned seed;
    int64_t next_n = 1;
    bool ragged = false;
};

struct form {
    const char *name;
    uint32_t cluster, buffer_bytes;
};

uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

float value_at(const problem &p, int64_t row, int64_t i, int64_t length)
{
    const uint64_t h = scramble(scramble((uint64_t)(p.seed + row * 1000003 + i)) + (uint64_t)i);
    const float u = (float)(h >> 40) * 0x1p-24f, v = (float)(h >> 16 & 0xffffff) * 0x1p-24f;

    switch (p.what) {
    case EQUAL:
        return 0.75f;
    case EIGHT:
        return (float)(h >> 61) - 4;
    case RELU:
        return h % 50 == 0 ? u : 0.0f;
    case ZEROS:
        return h & 1 ? 0.0f : -0.0f;
    case RISING:
        return (float)i;
    case FALLING:
        return -(float)i;
    case LEFT:
        return i < 2 ? 1.0f : i < p.slots + 1 ? 2.0f : u / 2;
    case RIGHT:
        return i > length - 3 ? 1.0f : i >= length - p.slots - 1 ? 2.0f : u / 2;
    case FEW_FINITE:
        return h % 64 == 0 ? u : -INFINITY;
    case RANGE:
        return h % 5 == 0   ? (h & 64 ? 3.4e38f : -3.4e38f)
               : h % 5 == 1 ? (h & 64 ? 1e-41f : -1e-41f) * u
               : h % 5 == 2 ? INFINITY
                            : u - v;
    case NANS: /* more of them than slots; values down to where keys are lowest */
        return h % 3 ? __uint_as_float(sab::NOT_A_NUMBER) : h % 2 ? -INFINITY : u;
    case STRETCHES: /* no sample of pieces tells how many there are of the best */
        return (float)(scramble((uint64_t)(p.seed + row * 1000003 + i / 16)) >> 40) + u / 2;
    default:
        return u + v + (float)(h & 0xffff) * 0x1p-17f - 1.2f;
    }
}

/* Memory of a call. Ids and values have 16 more, which stay as they are. */
template <class T> struct tensors {
    using element = typename T::element;

    std::vector<element> memory, values;
    std::vector<int32_t> lengths, ids;
    element *in;
    topk_args args = {};

    tensors(const problem &p, const form &f)
        : memory((size_t)(p.rows * p.stride) + 64), values((size_t)(p.rows * p.slots) + 16, 0x5a5a),
          lengths((size_t)(p.rows / p.next_n)), ids((size_t)(p.rows * p.slots) + 16, 0x5a5a5a5a)
    {
        const int64_t c = p.columns, k = p.slots;
        const int64_t pool[] = {c, -3, 0, 1, k - 1, k, k + 1, c / 2, c + 9, INT32_MAX, k + 33};

        in = memory.data() + (16 - (uintptr_t)memory.data() % 16) % 16 / sizeof(element);
        for (size_t i = 0; i < lengths.size(); i++)
            lengths[i] = (int32_t)(p.ragged ? pool[i % 11] : c + p.next_n - 1);
        args.c.values_in = in;
        args.c.seq_lens = lengths.data();
        args.c.indices = ids.data();
        args.c.values = values.data();
        args.c.rows = p.rows;
        args.c.columns = c;
        args.c.stride = p.stride;
        args.c.slots = k;
        args.c.next_n = p.next_n;
        args.c.tie_break = p.tie_break;
        args.c.element_bytes = sizeof(element);
        args.c.with_values = 1;
        args.cluster = f.cluster;
        args.buffer_bytes = f.buffer_bytes;
        for (int64_t row = 0; row < p.rows; row++) {
            const int64_t length = indexer_topk_length(&args.c, row);

            for (int64_t i = 0; i < p.stride; i++) /* behind the length: NaN */
                in[row * p.stride + i] =
                    i < length ? T::bits(value_at(p, row, i, length)) : (element)0xffffffffu;
        }
    }
};

/* ---- what is right ---- */

/* A number that orders like the value; NaN above all. */
double order_of(float x)
{
    return std::isnan(x) ? 1e300 : std::isinf(x) ? (x > 0 ? 1e299 : -1e299) : (double)x;
}

struct place {
    double order;
    int64_t preferred, id; /* preferred: the larger one wins a tie */

    bool operator<(const place &other) const
    {
        return order != other.order ? order > other.order : preferred > other.preferred;
    }
};

/* NULL, or what is wrong with a row. */
template <class T> const char *wrong_row(const tensors<T> &t, const problem &p, int64_t row)
{
    const int64_t length = indexer_topk_length(&t.args.c, row), n = min(length, p.slots);
    const int32_t *ids = t.ids.data() + row * p.slots;
    std::vector<place> all;
    std::vector<double> got;
    std::vector<char> taken((size_t)length);

    for (int64_t i = 0; i < length; i++)
        all.push_back({order_of(T::value(t.in[row * p.stride + i])), p.tie_break == 1 ? -i : i, i});
    std::sort(all.begin(), all.end());
    for (int64_t j = 0; j < p.slots; j++) {
        const auto value = t.values[(size_t)(row * p.slots + j)];

        if (j >= n) {
            if (ids[j] != -1 || value != T::bits(-INFINITY))
                return "padding";
            continue;
        }
        if (ids[j] < 0 || ids[j] >= length)
            return "an id that does not exist";
        if (taken[(size_t)ids[j]]++)
            return "an id twice";
        if (value != t.in[row * p.stride + ids[j]])
            return "a value";
        if (length <= p.slots && ids[j] != j)
            return "the order of a short row";
        got.push_back(order_of(T::value(t.in[row * p.stride + ids[j]])));
    }
    std::sort(got.begin(), got.end(), [](double a, double b) { return a > b; });
    for (int64_t j = 0; j < n; j++)
        if (got[(size_t)j] != all[(size_t)j].order)
            return "the selected values";
    for (int64_t j = 0; p.tie_break != 0 && j < n; j++)
        if (!taken[(size_t)all[(size_t)j].id])
            return "a tie";
    return nullptr;
}

template <class T> const char *wrong(const tensors<T> &t, const problem &p)
{
    const char *why = nullptr;

    for (int64_t row = 0; row < p.rows && !why; row++)
        why = wrong_row(t, p, row);
    for (size_t i = 0; i < 16 && !why; i++)
        if (t.ids[(size_t)(p.rows * p.slots) + i] != 0x5a5a5a5a ||
            t.values[(size_t)(p.rows * p.slots) + i] != 0x5a5a)
            why = "bytes behind the outputs";
    return why;
}

template <class T, int THREADS, bool CLUSTER> bool run(tensors<T> &t, const problem &p)
{
    const topk_args &args = t.args;

    return host_launch(
        (uint32_t)(p.rows * args.cluster), THREADS, args.cluster, TOPK_ROOM + args.buffer_bytes,
        p.seed, [&](uint8_t *shared) { topk::serve_block<T, THREADS, CLUSTER>(args, shared); });
}

template <class T, int THREADS, bool CLUSTER> void hold(const form &f, const problem &p)
{
    tensors<T> t(p, f);
    const char *why = run<T, THREADS, CLUSTER>(t, p) ? wrong(t, p) : "the barriers: it hangs";

    if (why)
        fail_msg("%s, %s, tie_break %d, %lld of %lld columns: wrong is %s", f.name,
                 data_names[p.what], p.tie_break, (long long)p.slots, (long long)p.columns, why);
}

/* ---- tests ---- */

const form stays = {"a block, keys stay", 1, 16384}, passes = {"a block, values pass", 1, 16384};
const form few_stay = {"a cluster, all pass", 4, 24000};
const form few_pass = {"a cluster, values pass", 2, 16384};
const form wide_stay = {"wide blocks, all pass", 2, 24000};
const form wide_pass = {"wide blocks, values pass", 2, 20480};
const form gathered = {"a cluster, values pass to one block", 4, 24000};
const form wide_gathered = {"wide blocks, values pass to one", 4, 24000};

void all_data(void **)
{
    for (int what = 0; what < DATA_NR; what++)
        for (int tie = 0; tie < 3; tie++) {
            const data d = (data)what;

            hold<topk::f32, TOPK_NARROW, false>(stays, {1, 3001, 3001, 500, tie, d, 5});
            hold<topk::f32, TOPK_NARROW, false>(passes, {1, 12011, 12011, 600, tie, d, 7});
            hold<topk::f32, TOPK_NARROW, true>(few_stay, {1, 13001, 13001, 2048, tie, d, 15});
            hold<topk::f32, TOPK_NARROW, true>(few_pass, {1, 17003, 17003, 900, tie, d, 17});
        }
}

/* Rows of which a small sample tells what passes; in a cluster, to one block. */
void samples(void **)
{
    for (int what = 0; what < DATA_NR; what++)
        for (int tie = 0; tie < 3; tie++) {
            const data d = (data)what;

            hold<topk::f32, TOPK_NARROW, false>(passes, {2, 4099, 4100, 300, tie, d, 41});
            hold<topk::f32, TOPK_NARROW, true>(gathered, {1, 14003, 14003, 700, tie, d, 43});
        }
    for (int what = 0; what < DATA_NR; what++) {
        const data d = (data)what;

        hold<topk::f32, TOPK_WIDE, true>(wide_gathered, {1, 16001, 16001, 900, what % 3, d, 47});
        hold<topk::fp16, TOPK_NARROW, true>(gathered, {1, 14003, 14003, 700, what % 3, d, 53});
    }
}

/* Samples that are wrong by much, on both sides. */
void misled(void **)
{
    for (unsigned seed = 0; seed < 3; seed++) {
        hold<topk::f32, TOPK_NARROW, false>(passes, {6, 8192, 8192, 100, 1, STRETCHES, seed});
        hold<topk::f32, TOPK_NARROW, true>(gathered, {6, 9000, 9000, 100, 2, STRETCHES, seed});
    }
}

void types(void **)
{
    for (int what = 0; what < DATA_NR; what++) {
        const data d = (data)what;
        const int tie = what % 3;

        hold<topk::fp16, TOPK_NARROW, false>(passes, {2, 9003, 9003, 301, tie, d, 11});
        hold<topk::bf16, TOPK_NARROW, false>(stays, {1, 2999, 2999, 700, tie, d, 12});
        hold<topk::bf16, TOPK_NARROW, true>(few_stay, {1, 9004, 9004, 700, tie, d, 13});
    }
}

void wide(void **)
{
    for (int what = 0; what < DATA_NR; what += 2) {
        hold<topk::f32, TOPK_WIDE, true>(wide_stay, {1, 7001, 7001, 600, what % 3, (data)what, 19});
        hold<topk::f32, TOPK_WIDE, true>(wide_pass,
                                         {1, 30001, 30001, 1000, what % 3, (data)what, 23});
    }
}

/* Lengths at the edges of section 3.4, strided rows, groups of next_n rows. */
void lengths(void **)
{
    for (int i = 0; i < 6; i++) {
        problem p = {11 * (1 + i % 3), 700 + i, 700 + i, i % 2 ? 33 : 300, i % 3,
                     (data)(i % 4),    31u};

        p.next_n = 1 + i % 3;
        p.ragged = true;
        p.stride = i % 2 ? p.columns : (p.columns + 3) / 4 * 4 + 8;
        hold<topk::f32, TOPK_NARROW, false>(stays, p);
        hold<topk::bf16, TOPK_NARROW, true>(few_stay, p);
    }
}

void smallest(void **)
{
    hold<topk::f32, TOPK_NARROW, false>(stays, {3, 1, 1, 1, 1, NORMAL, 3});
    hold<topk::f32, TOPK_NARROW, false>(stays, {3, 5, 5, 64, 2, NORMAL, 3});
    hold<topk::fp16, TOPK_NARROW, false>(stays, {3, 777, 777, 777, 1, NORMAL, 3});
    hold<topk::f32, TOPK_NARROW, false>(stays, {3, 2, 2, 1, 2, EQUAL, 3});
    hold<topk::f32, TOPK_NARROW, false>(stays, {2, 778, 780, 777, 1, EQUAL, 3});
}

/* The comparison sees what it has to. */
void wrong_answers(void **)
{
    const problem p = {2, 600, 600, 40, 1, EIGHT, 9};
    tensors<topk::f32> t(p, stays);
    const auto expect = [&](size_t slot, int32_t id, const char *why) {
        tensors<topk::f32> other = t;

        other.in = t.in;
        other.ids[slot] = id;
        if (id >= 0 && id < 600 && slot < 80)
            other.values[slot] = t.in[(int64_t)slot / 40 * 600 + id];
        const char *found = wrong(other, p);
        assert_non_null(found);
        assert_string_equal(found, why);
    };

    assert_true((run<topk::f32, TOPK_NARROW, false>(t, p)));
    assert_null(wrong(t, p));
    int32_t low = 0, tie = 599; /* the least value; the last of the largest, which loses the tie */
    while (value_at(p, 1, low, 600) > -4)
        low++;
    while (value_at(p, 1, tie, 600) < 3)
        tie--;
    expect(41, -1, "an id that does not exist");
    expect(41, 600, "an id that does not exist");
    expect(41, t.ids[40], "an id twice");
    expect(41, low, "the selected values");
    expect(41, tie, "a tie");
    expect(80, 0, "bytes behind the outputs");
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_data), cmocka_unit_test(samples),       cmocka_unit_test(misled),
        cmocka_unit_test(types),    cmocka_unit_test(wide),          cmocka_unit_test(lengths),
        cmocka_unit_test(smallest), cmocka_unit_test(wrong_answers),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
