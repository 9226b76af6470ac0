/*
 * How the work of indexer_fwd/mma and indexer_fwd/wgmma is cut: the device code that deals out
 * items, run on the host (cuda_host.h). Every element of the scores is written once, by a tile or
 * by the fill, and every visible column by a tile, against the mask of contracts/indexer.md,
 * section 1.
 */
#include "cuda_host.h"

#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

#include "mma_items.cuh"

namespace
{

struct segments {
    std::vector<int32_t> q, k; /* sizes; none: padded batches */
};

struct cut {
    int64_t batch, seqlen_q, seqlen_k, ratio;
    int32_t heads;
    std::vector<int32_t> offsets; /* of the batches, in turn; none: 0 */
    segments packed;
    unsigned workers;
    int64_t gap = 0;
};

/* A call that points at its own memory. */
struct made {
    indexer_fwd_call c = {};
    std::vector<int32_t> offsets, cu_q, cu_k;
    std::vector<float> scores;
    std::vector<uint8_t> tiles; /* times that a tile wrote an element */

    explicit made(const cut &s)
    {
        c.batch = s.batch;
        c.rows = s.batch * s.seqlen_q;
        c.keys = s.batch * s.seqlen_k;
        c.seqlen_q = s.seqlen_q;
        c.seqlen_k = c.columns = s.seqlen_k;
        c.ratio = s.ratio;
        c.heads = s.heads;
        c.packed = !s.packed.q.empty();
        if (c.packed) {
            cu_q = cu_k = {0};
            c.columns = 0;
            for (size_t i = 0; i < s.packed.q.size(); i++) {
                cu_q.push_back(cu_q.back() + s.packed.q[i]);
                cu_k.push_back(cu_k.back() + s.packed.k[i]);
                c.columns = max(c.columns, (int64_t)s.packed.k[i]);
            }
            c.batch = (int64_t)s.packed.q.size();
            c.rows = cu_q.back();
            c.keys = cu_k.back();
            c.cu_q = cu_q.data();
            c.cu_k = cu_k.data();
        }
        for (int64_t b = 0; b < c.batch && !s.offsets.empty(); b++)
            offsets.push_back(s.offsets[(size_t)b % s.offsets.size()]);
        c.offsets = offsets.empty() ? nullptr : offsets.data();
        c.stride = (c.columns + 3) / 4 * 4 + s.gap;
        scores.assign((size_t)(c.rows * c.stride), 7.0f);
        tiles.assign(scores.size(), 0);
        c.scores = scores.data();
    }
};

/* What one block of threads does: its tiles as the kernels score them, the rest as they fill it. */
void run_block(made &m, const indexer_items &items)
{
    indexer::for_runs(items, [&](const indexer::row_run &run, const indexer::key_share &share) {
        const indexer::tile_range range(items, run, share);

        for (uint32_t thread = 0; thread < 96; thread++)
            indexer::fill_run(items, run, share, thread, 96);
        for (uint32_t row = run.begin; row < run.end; row++) {
            const int32_t limit = indexer::limit_at(items.c, run, row);
            const int64_t end = min((int64_t)range.to * INDEXER_KEYS, m.c.columns);

            for (int64_t i = (int64_t)range.from * INDEXER_KEYS; i < end; i++) {
                const size_t at = (size_t)(row * m.c.stride + i);
                m.scores[at] = i < limit ? (float)(run.first_key + i) : -INFINITY;
                m.tiles[at]++;
            }
        }
    });
}

/* Elements that are not what the mask says, written by tiles more than once, or not at all. */
int64_t faults(const made &m)
{
    int64_t nr = 0;

    for (int64_t row = 0; row < m.c.rows; row++) {
        int64_t b = row / (m.c.packed ? 1 : m.c.seqlen_q), first_row = b * m.c.seqlen_q;
        int64_t first_key = b * m.c.seqlen_k, keys = m.c.seqlen_k;

        if (m.c.packed) {
            for (b = 0; m.cu_q[(size_t)b + 1] <= row;)
                b++;
            first_row = m.cu_q[(size_t)b];
            first_key = m.cu_k[(size_t)b];
            keys = m.cu_k[(size_t)b + 1] - first_key;
        }
        const int64_t offset = m.offsets.empty() ? 0 : m.offsets[(size_t)b];
        const double seen = std::floor((double)(offset + row - first_row + 1) / (double)m.c.ratio);
        const double limit = std::fmin(std::fmax(seen, 0), (double)keys);

        for (int64_t i = 0; i < m.c.stride; i++) {
            const size_t at = (size_t)(row * m.c.stride + i);
            const float want = i >= m.c.columns    ? 7.0f
                               : (double)i < limit ? (float)(first_key + i)
                                                   : -INFINITY;

            nr += m.scores[at] != want || m.tiles[at] > 1 ||
                  (want >= 0 && i < m.c.columns && !m.tiles[at]);
        }
    }
    return nr;
}

/* `dropped`: blocks of threads that do not run. */
int64_t run(const cut &s, unsigned dropped)
{
    made m(s);
    indexer_items items;

    gridDim.x = indexer_items_init(&items, &m.c, s.workers);
    assert_true(gridDim.x >= 1 && gridDim.x <= max(s.workers, 1u));
    for (blockIdx.x = 0; blockIdx.x + dropped < gridDim.x; blockIdx.x++)
        run_block(m, items);
    return faults(m);
}

const cut cuts[] = {
    {1, 8, 700, 1, 64, {690}, {}, 5},
    {1, 40, 150, 4, 64, {500}, {}, 3},
    {2, 12, 37, 1, 64, {}, {}, 3},
    {3, 10, 270, 2, 32, {530, -3, 0}, {}, 2}, /* blocks hold rows of two batches */
    {2, 32, 300, 1, 16, {260, 100}, {}, 3},
    {5, 1, 129, 1, 64, {0, 127, 128, 129, -1}, {}, 4},
    {2, 70, 260, 128, 16, {INT32_MIN, INT32_MAX}, {}, 7},
    {1, 130, 1, 1, 32, {}, {}, 1},
    {1, 1, 5000, 1, 64, {4999}, {}, 132, 8}, /* keys split among blocks */
    {0, 0, 0, 1, 64, {3}, {{1, 5, 0, 2, 9, 1}, {7, 140, 30, 1, 300, 2}}, 2},
    {0, 0, 0, 4, 32, {400, 0}, {{3, 1, 1, 12, 20}, {70, 1, 129, 260, 5}}, 3, 4},
    {0, 0, 0, 1, 16, {}, {{1, 1, 1, 1, 1, 40}, {1, 0, 2, 3, 0, 4}}, 132},
};

void every_element_once(void **)
{
    for (const cut &s : cuts)
        if (run(s, 0) != 0)
            fail_msg("%lld x %lld x %lld of %d heads is not covered", (long long)s.batch,
                     (long long)s.seqlen_q, (long long)s.seqlen_k, s.heads);
}

void a_missing_block_shows(void **)
{
    for (const cut &s : cuts)
        assert_true(run(s, 1) > 0);
}

/* Shares of the longest of 132 workers, in tiles, by hand. */
void splits(void **)
{
    const auto items_of = [](int64_t rows, int64_t columns, int32_t heads, unsigned workers) {
        indexer_fwd_call c = {};
        indexer_items items;

        c.batch = 1;
        c.rows = c.seqlen_q = rows;
        c.columns = c.seqlen_k = c.keys = columns;
        c.heads = heads;
        (void)indexer_items_init(&items, &c, workers);
        return items;
    };

    /* one block of rows: its 32 tiles go to 32 workers, and no further */
    assert_int_equal(items_of(4, 4096, 64, 132).splits, 32);
    assert_int_equal(items_of(4, 4096, 64, 132).blocks, 1);
    assert_int_equal(items_of(4, 4096, 64, 132).tokens, 4);
    assert_int_equal(items_of(5, 4096, 64, 132).blocks, 2);
    assert_int_equal(items_of(16, 4096, 16, 132).tokens, 16);
    /* 132 blocks on 132 workers: nothing is gained by a cut; on 264 it is */
    assert_int_equal(items_of(528, 4096, 64, 132).splits, 1);
    assert_int_equal(items_of(528, 4096, 64, 264).splits, 2);
    /* one tile cannot be cut */
    assert_int_equal(items_of(4, 128, 64, 132).splits, 1);
    /* without workers: as for one */
    assert_int_equal(items_of(4, 4096, 64, 0).splits, 1);
}

/* 5 blocks of rows of 12 tiles on 3 workers: one each, then 2 * 12 tiles by thirds. */
void shares(void **)
{
    const cut s = {1, 20, 1536, 1, 64, {1535}, {}, 3};
    made m(s);
    indexer_items items;
    const unsigned blocks = indexer_items_init(&items, &m.c, s.workers);

    assert_int_equal(blocks, 3);
    assert_int_equal(items.splits, 1);
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        uint32_t tiles = 0;

        indexer::for_runs(items, [&](const indexer::row_run &run, const indexer::key_share &share) {
            const indexer::tile_range range(items, run, share);

            tiles += range.to - range.from;
        });
        assert_int_equal(tiles, 12 + 8);
    }
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_once),
        cmocka_unit_test(a_missing_block_shows),
        cmocka_unit_test(splits),
        cmocka_unit_test(shares),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
