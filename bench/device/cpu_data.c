/*
 * cpu_data.c - filling, digesting and comparing host memory. Work is cut into chunks of a fixed
 * size, whose results are merged in order: the number of threads changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu_internal.h"
#include "difference.h"
#include "digest.h"

#define CHUNK_ELEMENTS 65536
#define CHUNK_ROWS     64
#define CHUNK_WORDS    16384

static int64_t chunks_of(int64_t n, int64_t chunk)
{
    return n / chunk + (n % chunk != 0);
}

static int64_t chunk_end(int64_t i, int64_t chunk, int64_t n)
{
    return (i + 1) * chunk < n ? (i + 1) * chunk : n;
}

static void generate_elements(const struct recipe *r, void *dst, int64_t n, int threads)
{
    const int64_t chunks = chunks_of(n, CHUNK_ELEMENTS);

    (void)threads;
    CPU_OMP("omp parallel for num_threads(threads) if (chunks > 1)")
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t end = chunk_end(i, CHUNK_ELEMENTS, n);

        for (int64_t at = i * CHUNK_ELEMENTS; at < end; at++)
            numfmt_store(r->dtype, dst, at, recipe_element(r, at));
    }
}

static void generate_rows(const struct recipe *r, int32_t *dst, int64_t n, int threads)
{
    const int64_t width = r->shape[r->rank - 1];
    const int64_t rows = n / width;
    const int64_t chunks = chunks_of(rows, CHUNK_ROWS);

    (void)threads;
    CPU_OMP("omp parallel for num_threads(threads) if (chunks > 1)")
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t end = chunk_end(i, CHUNK_ROWS, rows);

        for (int64_t row = i * CHUNK_ROWS; row < end; row++)
            recipe_row(r, row, dst + row * width);
    }
}

int cpu_generate(struct device *dev, const struct recipe *r, void *dst, struct err *err)
{
    const int64_t n = device_recipe_elements(r);

    (void)err;
    if (recipe_by_row(r))
        generate_rows(r, dst, n, dev->info.threads);
    else
        generate_elements(r, dst, n, dev->info.threads);
    return 0;
}

int cpu_shift_ids(struct device *dev, int32_t *dst, const int32_t *src, int64_t n, int64_t group,
                  int64_t add, struct err *err)
{
    (void)dev;
    (void)err;
    CPU_OMP("omp parallel for num_threads(dev->info.threads) if (n > CHUNK_ELEMENTS)")
    for (int64_t i = 0; i < n; i++)
        dst[i] = src[i] < 0 ? src[i] : (int32_t)(src[i] + i / group * add);
    return 0;
}

int cpu_count_other(struct device *dev, const void *ptr, int byte, uint64_t bytes, uint64_t *count,
                    int64_t *first, struct err *err)
{
    const unsigned char *at = ptr;

    (void)dev;
    (void)err;
    for (uint64_t i = 0; i < bytes; i++) {
        if (at[i] == byte)
            continue;
        if (*count == 0)
            *first = (int64_t)i;
        ++*count;
    }
    return 0;
}

int cpu_digest(struct device *dev, const void *ptr, uint64_t bytes, uint64_t *digest,
               struct err *err)
{
    const int64_t words = (int64_t)(bytes / 8 + (bytes % 8 != 0));
    const int64_t chunks = chunks_of(words, CHUNK_WORDS);
    uint64_t sum = digest_length(bytes);

    (void)dev;
    (void)err;
    CPU_OMP("omp parallel for num_threads(dev->info.threads) reduction(+ : sum) if (chunks > 1)")
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t end = chunk_end(i, CHUNK_WORDS, words);

        for (int64_t at = i * CHUNK_WORDS; at < end; at++)
            sum += digest_word((uint64_t)at, digest_load(ptr, bytes, (uint64_t)at));
    }
    *digest = sum;
    return 0;
}

int cpu_compare(struct device *dev, int32_t dtype, const void *got, const void *ref, int64_t n,
                struct device_difference *out, struct err *err)
{
    const int64_t chunks = chunks_of(n, CHUNK_ELEMENTS);
    struct device_difference *part;

    (void)dev;
    difference_init(out);
    if (n <= 0)
        return 0;
    part = malloc((size_t)chunks * sizeof(*part));
    if (!part)
        return err_memory(err);
    CPU_OMP("omp parallel for num_threads(dev->info.threads) if (chunks > 1)")
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t end = chunk_end(i, CHUNK_ELEMENTS, n);

        difference_init(&part[i]);
        for (int64_t at = i * CHUNK_ELEMENTS; at < end; at++)
            difference_add(&part[i], dtype, at, numfmt_load(dtype, got, at),
                           numfmt_load(dtype, ref, at));
    }
    for (int64_t i = 0; i < chunks; i++)
        difference_merge(out, &part[i]);
    free(part);
    return 0;
}
