/*
 * indexer_topk.c - exact selection of the largest scores: axes, shapes, inputs, cost, what is
 * checked. Section numbers are those of the indexer contract. Rows of all batches lie one behind
 * the other; a row's ids count from the first column of its batch.
 */
#include <math.h>
#include <string.h>

#include "dsa_model.h"
#include "indexer_topk_model.h"
#include "op_models.h"

#define SAMPLED_MAX 262144
#define WHOLE_MAX   (INT64_C(1) << 24) /* values of all slices */
#define READ_FLOPS  8.0                /* worth of reading one score and looking at it */
#define SLOT_FLOPS  64.0

/* clang-format off */
static const struct axis_spec axes[] = {
    IX_BATCH, IX_SEQLEN_Q, IX_SEQLEN_K, IX_TOPK("32"), IX_RATIO, IX_OFFSET,
    {"dtype", AXIS_WORD, "f32 fp16 bf16", "f32", 0, 0, "of the scores"},
    {"next_n", AXIS_INT, NULL, "1", 1, 1024, "rows that share an entry of seq_lens"},
    {"tie_break", AXIS_WORD, "any smaller larger", "any", 0, 0, "which ids win a tie for the last slot"},
    {"lengths", AXIS_WORD, "full half ragged random causal zigzag empty", "full", 0, 0,
     "seq_lens: all columns; half to all; below 0 to above all, and next to topk; 0 to all; what the row sees by compress_ratio and offset; the rows of one rank in context parallelism; 0"},
    {"shard", AXIS_INT, NULL, "0", 0, 1048576, "lengths = zigzag: the rank"},
    {"data", AXIS_WORD, "uniform normal few equal winners_left winners_right relu low_bits few_finite range subnormal zeros narrow poison", "uniform", 0, 0,
     "(-1,1); N(0,1); 8 values; one value; topk-1 winners and two ties at the left or right end; topk/2 positive among zeros; equal but for low bits; fewer than topk finite; the type's whole range; subnormal; nearly all zero; 3 to 3+1/256; NaN from the length on"},
    {"values", AXIS_INT, NULL, "1", 0, 1, "1: the selected scores are returned too"},
};
/* clang-format on */

static int32_t dtype_of(const struct op_case *c)
{
    static const int32_t dtypes[] = {SAB_F32, SAB_FP16, SAB_BF16};

    return dtypes[op_case_int(c, "dtype")];
}

static int settle(struct op_case *c, struct err *err)
{
    const int64_t next_n = op_case_int(c, "next_n"), rows = op_case_int(c, "seqlen_q");
    const int64_t columns = op_case_int(c, "seqlen_k"), shard = op_case_int(c, "shard");
    const int64_t zigzag = 2 * (shard + 1) * (rows / 2);

    if (ix_settle(c, err))
        return -1;
    if (rows % next_n)
        return err_set(err, ERR_CONFIG, "seqlen_q = %lld is no multiple of next_n = %lld",
                       (long long)rows, (long long)next_n);
    if (op_case_is(c, "lengths", "causal") && op_case_is(c, "offset", "mixed"))
        return err_set(err, ERR_CONFIG,
                       "lengths = causal with offset = mixed: offset must be the same in all "
                       "batches");
    if (op_case_is(c, "lengths", "zigzag") && zigzag > columns)
        return err_set(err, ERR_CONFIG,
                       "lengths = zigzag of shard = %lld and seqlen_q = %lld needs seqlen_k of at "
                       "least %lld, %lld given",
                       (long long)shard, (long long)rows, (long long)zigzag, (long long)columns);
    return 0;
}

static void scores_recipe(const struct op_case *c, const struct ix_sizes *s, struct recipe *r)
{
    r->kind = RECIPE_SCORES;
    r->seed = ix_seed(c, IX_STREAM_SCORES);
    r->p[SCORES_DATA] = op_case_int(c, "data");
    r->p[SCORES_COLUMNS] = s->seqlen_k;
    r->p[SCORES_SLOTS] = s->slots;
    r->p[SCORES_NEXT_N] = op_case_int(c, "next_n");
    r->p[SCORES_LENGTHS] = op_case_int(c, "lengths");
    r->p[SCORES_LENGTH_SEED] = (int64_t)ix_seed(c, IX_STREAM_LENGTH);
    r->p[SCORES_ROWS] = s->rows;
    r->p[SCORES_TOKENS] = s->seqlen_q;
    r->p[SCORES_RATIO] = s->ratio;
    r->p[SCORES_OFFSET] = ix_offset(c, s, 0);
    r->p[SCORES_SHARD] = op_case_int(c, "shard");
}

static int describe(const struct op_case *c, struct op_problem *p, struct err *err)
{
    struct recipe *lengths = &p->tensor[SAB_T_indexer_topk_seq_lens].recipe;
    struct ix_sizes s;

    memset(p, 0, sizeof(*p));
    p->spec = sab_op_find("indexer_topk");
    ix_sizes(c, &s);
    const int64_t in[2] = {s.rows, s.seqlen_k}, out[2] = {s.rows, s.slots};
    const int64_t lens = s.rows / op_case_int(c, "next_n");

    if (dsa_tensor(p, SAB_T_indexer_topk_values_in, dtype_of(c), in, 2, err) ||
        dsa_tensor(p, SAB_T_indexer_topk_seq_lens, SAB_I32, &lens, 1, err) ||
        dsa_tensor(p, SAB_T_indexer_topk_indices, SAB_I32, out, 2, err) ||
        (op_case_int(c, "values") &&
         dsa_tensor(p, SAB_T_indexer_topk_values, dtype_of(c), out, 2, err)))
        return -1;
    scores_recipe(c, &s, &p->tensor[SAB_T_indexer_topk_values_in].recipe);
    memcpy(lengths->p, p->tensor[SAB_T_indexer_topk_values_in].recipe.p, sizeof(lengths->p));
    lengths->kind = RECIPE_ROW_LENGTHS;
    p->param[SAB_P_indexer_topk_next_n].i = op_case_int(c, "next_n");
    p->param[SAB_P_indexer_topk_tie_break].i = op_case_int(c, "tie_break");
    return 0;
}

/* Section 3.6. There is no figure of FLOPs. */
static int cost(const struct op_case *c, struct op_cost *out, struct err *err)
{
    const double element = (double)sab_dtype_size(dtype_of(c));
    double columns = 0, selected = 0;
    struct recipe r = {0};
    struct ix_sizes s;

    (void)err;
    ix_sizes(c, &s);
    scores_recipe(c, &s, &r);
    for (int64_t row = 0; row < s.rows; row++) {
        const int64_t length = recipe_row_limit(&r, row);

        columns += (double)length;
        selected += (double)(length < s.slots ? length : s.slots);
    }
    memset(out, 0, sizeof(*out));
    out->bytes_min = columns * element +
                     (double)(s.rows * s.slots) * (4 + (op_case_int(c, "values") ? element : 0));
    out->bytes_tiles = NAN;
    out->density = columns > 0 ? selected / columns : NAN;
    out->use[OP_READ].amount = columns * element;
    out->use[OP_WRITE].amount = out->bytes_min - columns * element;
    return 0;
}

/* examine() says it all. */
static size_t bars(const struct op_case *c, bool sampled, struct bar out[OP_MAX_BARS])
{
    (void)c;
    (void)sampled;
    (void)out;
    return 0;
}

static double row_flops(const struct op_case *c)
{
    return READ_FLOPS * (double)op_case_int(c, "seqlen_k") +
           SLOT_FLOPS * (double)op_case_int(c, "topk");
}

static double oracle_flops(const struct op_case *c)
{
    return row_flops(c) * (double)(op_case_int(c, "batch") * op_case_int(c, "seqlen_q"));
}

static int add_row(const struct op_case *c, int64_t row, struct op_slices *out, struct err *err)
{
    const int64_t n = op_case_int(c, "topk");

    for (int64_t i = 0; i <= op_case_int(c, "values"); i++) {
        struct op_slice *item = op_slices_add(
            out, i ? SAB_T_indexer_topk_values : SAB_T_indexer_topk_indices, row * n, n, err);

        if (!item)
            return -1;
        item->tile = row;
        item->several = true;
    }
    return 0;
}

/* All rows, or the first, the last, and some that lie evenly between them: no two are the same. */
static int slices(const struct op_case *c, double flops, struct op_slices *out, struct err *err)
{
    const int64_t rows = op_case_int(c, "batch") * op_case_int(c, "seqlen_q");
    const int64_t values = op_case_int(c, "topk") * (1 + op_case_int(c, "values"));
    int64_t nr = (int64_t)fmin(flops / row_flops(c), SAMPLED_MAX);

    if (nr > WHOLE_MAX / values)
        nr = WHOLE_MAX / values;
    if (nr < 2)
        nr = 2;
    out->complete = rows <= nr;
    if (out->complete)
        nr = rows;
    for (int64_t i = 0; i < nr; i++) {
        const int64_t row =
            nr > 1 ? (int64_t)((double)i * (double)(rows - 1) / (double)(nr - 1)) : 0;

        if (add_row(c, row, out, err))
            return -1;
    }
    return 0;
}

/* Before an operator that reads keys, rows select among the columns that they see, of f32 scores.
 */
static bool follow(const struct op_case *fed, size_t axis, struct axis_value *value)
{
    const char *name = axes[axis].name;

    (void)fed;
    *value = (struct axis_value){0};
    if (!strcmp(name, "lengths"))
        value->i = ROW_LENGTHS_CAUSAL;
    else if (!strcmp(name, "dtype") || !strcmp(name, "data") || !strcmp(name, "values"))
        value->i = 0;
    else
        return false;
    return true;
}

const struct op_model op_model_indexer_topk = {
    .name = "indexer_topk",
    .help = "exact selection of the largest scores of each row",
    .axes = axes,
    .axes_nr = sizeof(axes) / sizeof(axes[0]),
    .settle = settle,
    .describe = describe,
    .cost = cost,
    .bars = bars,
    .slices = slices,
    .oracle_flops = oracle_flops,
    .oracle = indexer_topk_oracle,
    .examine = indexer_topk_examine,
    .several = true,
    .follow = follow,
};
