/*
 * sage_oracle.c - the right answers of sage_fwd, in double, one query tile at a time (sage
 * contract: 9.1 "exact", and "emulated", which is section 5 by the kernel's attributes). Also plain
 * attention of the unquantised q, k and v over the same blocks (section 8, "end to end").
 */
#include <math.h>
#include <stdlib.h>

#include "blocks_list.h"
#include "numfmt.h"
#include "sage_fold.h"
#include "sage_model.h"

#define LOG2E 1.44269504088896340736

struct sage_run {
    const struct op_problem *p;
    const struct op_source *src;
    const struct op_source *raw; /* q, k and v in bf16, in place of the quantised ones; or NULL */
    struct blocks_list list;
    int64_t seqlen_q, seqlen_k, k_blocks, k_padded, q_scales;
    struct sage_rounding rounding;
};

struct sage_tile {
    int64_t qb, rows;
    int64_t lead; /* batch * heads + head */
    int16_t q[BLOCKS_TILE][BLOCKS_DIM];
    double q_raw[BLOCKS_TILE][BLOCKS_DIM];
    double q_scale[BLOCKS_TILE]; /* q_scale * softmax_scale * log2(e) */
    /* The step that is being gathered: `tokens` of `blocks` key blocks. */
    int64_t tokens;
    int blocks;
    double k_scale[SAGE_STEP_TOKENS];
    int16_t k[SAGE_STEP_TOKENS][BLOCKS_DIM];
    double k_raw[SAGE_STEP_TOKENS][BLOCKS_DIM];
    double v[SAGE_STEP_TOKENS][BLOCKS_DIM];
    struct sage_fold exact, emulated;
};

static int get(const struct sage_run *run, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    return run->src->read(run->src->ctx, tensor, at, n, dst);
}

/* One token of a head, [B,H,S,128] in bf16. */
static int get_raw(const struct sage_run *run, uint32_t tensor, int64_t token,
                   double row[BLOCKS_DIM])
{
    uint16_t line[BLOCKS_DIM];

    if (run->raw->read(run->raw->ctx, tensor, token * BLOCKS_DIM, BLOCKS_DIM, line) < 0)
        return -1;
    for (int d = 0; d < BLOCKS_DIM; d++)
        row[d] = (double)numfmt_decode_bf16(line[d]);
    return 0;
}

static int tile_load_q(const struct sage_run *run, struct sage_tile *t)
{
    const double scale = run->p->param[SAB_P_sage_fwd_softmax_scale].f * LOG2E;
    const int64_t first = t->qb * BLOCKS_TILE;
    int8_t line[BLOCKS_DIM];

    for (int64_t r = 0; run->raw && r < t->rows; r++) {
        t->q_scale[r] = scale;
        if (get_raw(run, SAB_T_sage_fwd_q_int8, t->lead * run->seqlen_q + first + r, t->q_raw[r]) <
            0)
            return -1;
    }
    if (run->raw)
        return 0;
    for (int64_t r = 0; r < t->rows; r++) {
        float q_scale;

        if (get(run, SAB_T_sage_fwd_q_int8, (t->lead * run->seqlen_q + first + r) * BLOCKS_DIM,
                BLOCKS_DIM, line) < 0 ||
            get(run, SAB_T_sage_fwd_q_scale, t->lead * run->q_scales + (first + r) / 32, 1,
                &q_scale) < 0)
            return -1;
        for (int d = 0; d < BLOCKS_DIM; d++)
            t->q[r][d] = line[d];
        t->q_scale[r] = (double)q_scale * scale;
    }
    return 0;
}

static int tile_load_raw_kv(const struct sage_run *run, struct sage_tile *t, int64_t block,
                            int64_t valid)
{
    for (int64_t c = 0; c < valid; c++) {
        const int64_t token = t->lead * run->seqlen_k + block * BLOCKS_TILE + c, at = t->tokens + c;

        t->k_scale[at] = 1;
        if (get_raw(run, SAB_T_sage_fwd_k_int8, token, t->k_raw[at]) < 0 ||
            get_raw(run, SAB_T_sage_fwd_v_fp8, token, t->v[at]) < 0)
            return -1;
    }
    t->tokens += valid;
    t->blocks++;
    return 0;
}

/* Adds tokens [0, valid) of a block to the step; what the others hold is never looked at. */
static int tile_load_kv(const struct sage_run *run, struct sage_tile *t, int64_t block,
                        int64_t valid)
{
    int8_t line[BLOCKS_DIM];
    uint8_t codes[BLOCKS_TILE];
    float k_scale;

    if (run->raw)
        return tile_load_raw_kv(run, t, block, valid);
    if (get(run, SAB_T_sage_fwd_k_scale, t->lead * run->k_blocks + block, 1, &k_scale) < 0)
        return -1;
    for (int64_t c = 0; c < valid; c++) {
        if (get(run, SAB_T_sage_fwd_k_int8,
                (t->lead * run->seqlen_k + block * BLOCKS_TILE + c) * BLOCKS_DIM, BLOCKS_DIM,
                line) < 0)
            return -1;
        for (int d = 0; d < BLOCKS_DIM; d++)
            t->k[t->tokens + c][d] = line[d];
        t->k_scale[t->tokens + c] = (double)k_scale;
    }
    for (int64_t d = 0; d < BLOCKS_DIM; d++) {
        if (get(run, SAB_T_sage_fwd_v_fp8,
                (t->lead * BLOCKS_DIM + d) * run->k_padded + block * BLOCKS_TILE, BLOCKS_TILE,
                codes) < 0)
            return -1;
        for (int64_t c = 0; c < valid; c++) {
            /* Physical place of logical token c (section 3). */
            const int64_t r = c % 16, place = 2 * (r / 8) + 4 * (r / 2 % 4) + r % 2;

            t->v[t->tokens + c][d] = (double)numfmt_decode_e4m3(codes[c - r + place]);
        }
    }
    t->tokens += valid;
    t->blocks++;
    return 0;
}

static int32_t dot(const int16_t *restrict a, const int16_t *restrict b)
{
    int32_t sum = 0;

    for (int d = 0; d < BLOCKS_DIM; d++)
        sum += (int32_t)a[d] * b[d];
    return sum;
}

static double dot_raw(const double *restrict a, const double *restrict b)
{
    double sum = 0;

    for (int d = 0; d < BLOCKS_DIM; d++)
        sum += a[d] * b[d];
    return sum;
}

/* Folds what was gathered, if anything was. */
static void tile_fold_step(const struct sage_run *run, struct sage_tile *t)
{
    double score[SAGE_STEP_TOKENS];

    for (int64_t r = 0; t->tokens > 0 && r < t->rows; r++) {
        double largest = -INFINITY;

        for (int64_t c = 0; c < t->tokens; c++) {
            score[c] = t->q_scale[r] * t->k_scale[c] *
                       (run->raw ? dot_raw(t->q_raw[r], t->k_raw[c]) : dot(t->q[r], t->k[c]));
            if (score[c] > largest)
                largest = score[c];
        }
        sage_fold_exact(&t->exact, r, score, t->tokens, largest, t->v);
        if (run->rounding.known)
            sage_fold_emulated(&t->emulated, &run->rounding, r, score, t->tokens, largest, t->v);
    }
    t->tokens = 0;
    t->blocks = 0;
}

static int tile_fold_block(const struct sage_run *run, struct sage_tile *t, int64_t block,
                           int64_t valid)
{
    if (valid == 0)
        return 0;
    if (tile_load_kv(run, t, block, valid) < 0)
        return -1;
    if (t->blocks == run->rounding.step_blocks)
        tile_fold_step(run, t);
    return 0;
}

/* Every used slot of the tile's row, in fold order. */
static int tile_fold(const struct sage_run *run, struct sage_tile *t,
                     const struct blocks_slot *slots, int64_t slots_nr)
{
    for (int64_t i = 0; i < slots_nr; i++) {
        const struct blocks_slot *slot = &slots[run->rounding.first_to_last ? i : slots_nr - 1 - i];

        if (tile_fold_block(run, t, slot->block, slot->valid) < 0)
            return -1;
    }
    tile_fold_step(run, t);
    return 0;
}

static enum blocks_fault_kind slice_fill(const struct sage_run *run, struct op_slice *s,
                                         struct sage_tile *t, const struct blocks_slot *slots,
                                         int64_t slots_nr)
{
    float v_scale[BLOCKS_DIM];

    t->lead = s->head;
    t->qb = s->tile;
    t->rows = s->n / BLOCKS_DIM;
    t->tokens = 0;
    t->blocks = 0;
    sage_fold_init(&t->exact);
    sage_fold_init(&t->emulated);
    s->ref = s->ref ? s->ref : malloc((size_t)s->n * sizeof(double));
    if (run->rounding.known && !s->emulated)
        s->emulated = malloc((size_t)s->n * sizeof(double));
    if (!s->ref || (run->rounding.known && !s->emulated))
        return FAULT_MEMORY;
    for (int d = 0; d < BLOCKS_DIM; d++)
        v_scale[d] = 1;
    if (tile_load_q(run, t) < 0 ||
        (!run->raw &&
         get(run, SAB_T_sage_fwd_v_scale, t->lead * BLOCKS_DIM, BLOCKS_DIM, v_scale) < 0))
        return FAULT_READ;
    if (tile_fold(run, t, slots, slots_nr) < 0)
        return FAULT_READ;
    sage_fold_finish(&t->exact, v_scale, t->rows, s->ref);
    if (run->rounding.known)
        sage_fold_finish(&t->emulated, v_scale, t->rows, s->emulated);
    return FAULT_NONE;
}

/* Own scratch memory for each slice: small beside the work of one. */
static enum blocks_fault_kind tile_fill(const void *ctx, struct op_slice *s, size_t nr,
                                        const struct blocks_slot *slots, int64_t slots_nr)
{
    struct sage_tile *t = malloc(sizeof(*t));
    enum blocks_fault_kind fault = t ? FAULT_NONE : FAULT_MEMORY;

    for (size_t i = 0; fault == FAULT_NONE && i < nr; i++)
        fault = slice_fill(ctx, &s[i], t, slots, slots_nr);
    free(t);
    return fault;
}

static int run_init(struct sage_run *run, const struct op_problem *p, const struct op_source *src,
                    struct err *err)
{
    const int64_t *q = p->tensor[SAB_T_sage_fwd_q_int8].shape;
    const int64_t *k = p->tensor[SAB_T_sage_fwd_k_int8].shape;
    static const struct blocks_places places = BLOCKS_PLACES(sage_fwd);

    if (q[3] != BLOCKS_DIM || k[3] != BLOCKS_DIM)
        return err_set(err, ERR_CONFIG, "sage_fwd has no oracle for head_dim = %lld, only for 128",
                       (long long)q[3]);
    if (q[1] != k[1])
        return err_set(err, ERR_CONFIG,
                       "sage_fwd has no oracle for kv_heads = %lld with heads = %lld",
                       (long long)k[1], (long long)q[1]);
    run->p = p;
    run->src = src;
    run->raw = NULL;
    run->seqlen_q = q[2];
    run->seqlen_k = k[2];
    run->k_padded = p->tensor[SAB_T_sage_fwd_v_fp8].shape[3];
    run->k_blocks = run->k_padded / BLOCKS_TILE;
    run->q_scales = p->tensor[SAB_T_sage_fwd_q_scale].shape[2];
    blocks_list_init(&run->list, p, src, &places, k[2]);
    return 0;
}

int sage_oracle(const struct op_problem *p, const struct op_source *src,
                const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                struct op_slices *slices, struct err *err)
{
    struct sage_run run;

    if (run_init(&run, p, src, err) < 0)
        return -1;
    sage_rounding_read(&run.rounding, attributes, attributes ? attributes_nr : 0);
    return blocks_list_run(&run.list, &run, tile_fill, threads, slices, err);
}

int sage_accuracy(const struct op_problem *p, const struct op_source *src,
                  const struct op_source *raw, int threads, struct op_slices *slices,
                  struct err *err)
{
    struct sage_run run;

    if (run_init(&run, p, src, err) < 0)
        return -1;
    run.raw = raw;
    sage_rounding_read(&run.rounding, NULL, 0);
    return blocks_list_run(&run.list, &run, tile_fill, threads, slices, err);
}
