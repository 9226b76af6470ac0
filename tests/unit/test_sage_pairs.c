/*
 * rescale = lazy_pairs in the oracle of sage_fwd, against the contract written down a second time:
 * without running sums, every weight from the maxima of all steps.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numfmt.h"
#include "opmodel.h"

static const struct sab_attribute pairs[] = {
    {"fold", "last_to_first"}, {"p_scale", "256"}, {"rescale", "lazy_pairs"}};
static const struct sab_attribute lazy[] = {
    {"fold", "last_to_first"}, {"p_scale", "256"}, {"rescale", "lazy"}};

enum { DIM = 128, MAX_TOKENS = 4096 };

struct pair_case {
    struct op_case c;
    struct op_problem p;
    struct op_source src;
};

static void case_make(struct pair_case *b, int64_t seqlen_q, int64_t seqlen_k, int64_t topk,
                      int64_t sizes_mode)
{
    const struct op_model *op = op_model_find("sage_fwd");
    const char *const names[] = {"seqlen_q", "seqlen_k", "topk", "sizes_mode", "pattern"};
    const int64_t values[] = {seqlen_q, seqlen_k, topk, sizes_mode, 1};
    struct err err = ERR_INIT;

    assert_int_equal(op_case_default(op, 7159, &b->c, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(op_axis_find(op, names[i]) >= 0);
        b->c.axis[op_axis_find(op, names[i])].i = values[i];
    }
    if (op->settle(&b->c, &err) < 0 || op->describe(&b->c, &b->p, &err) < 0)
        fail_msg("%s", err.text);
    op_source_recipes(&b->src, &b->p);
}

static void get(const struct pair_case *b, uint32_t tensor, int64_t at, int64_t n, void *dst)
{
    assert_int_equal(b->src.read(b->src.ctx, tensor, at, n, dst), 0);
}

/* One query row: its scores and values in fold order, and the step of each token. */
struct row {
    int64_t batch, lead, at; /* lead = batch * heads + head */
    int64_t tokens, steps;
    double score[MAX_TOKENS];
    double v[MAX_TOKENS][DIM];
    int64_t step[MAX_TOKENS];
};

static int64_t valid_tokens(const struct pair_case *b, const struct row *row, int64_t block)
{
    const struct op_tensor *sizes = &b->p.tensor[SAB_T_sage_fwd_block_sizes];
    const int64_t seqlen_k = b->p.tensor[SAB_T_sage_fwd_k_int8].shape[2];
    const int64_t blocks = (seqlen_k + 63) / 64;
    const int64_t lead[] = {0, 0, row->batch, row->lead};
    int64_t valid = seqlen_k - 64 * block;
    int32_t size = 64;

    if (sizes->dtype != SAB_NONE)
        get(b, SAB_T_sage_fwd_block_sizes, lead[sizes->rank] * blocks + block, 1, &size);
    valid = valid < size ? valid : size;
    return valid < 0 ? 0 : valid < 64 ? valid : 64;
}

static void add_token(const struct pair_case *b, struct row *row, const int8_t *q, double scale,
                      int64_t block, int64_t c)
{
    /* Section 3, the table for logical token 0 to 15 of a group. */
    static const int place[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    const int64_t seqlen_k = b->p.tensor[SAB_T_sage_fwd_k_int8].shape[2];
    const int64_t padded = b->p.tensor[SAB_T_sage_fwd_v_fp8].shape[3];
    const int64_t token = 64 * block + c;
    int64_t dot = 0;
    int8_t k[DIM];
    uint8_t code;

    get(b, SAB_T_sage_fwd_k_int8, (row->lead * seqlen_k + token) * DIM, DIM, k);
    for (int d = 0; d < DIM; d++) {
        dot += q[d] * k[d];
        get(b, SAB_T_sage_fwd_v_fp8,
            (row->lead * DIM + d) * padded + token / 16 * 16 + place[token % 16], 1, &code);
        row->v[row->tokens][d] = (double)numfmt_decode_e4m3(code);
    }
    row->step[row->tokens] = row->steps / 2;
    row->score[row->tokens++] = scale * (double)dot;
}

static void read_row(const struct pair_case *b, struct row *row)
{
    const struct op_tensor *q = &b->p.tensor[SAB_T_sage_fwd_q_int8];
    const struct op_tensor *index = &b->p.tensor[SAB_T_sage_fwd_q2k_block_index];
    const int64_t n = b->p.param[SAB_P_sage_fwd_block_sparse_num].i;
    const int64_t blocks = b->p.tensor[SAB_T_sage_fwd_k_scale].shape[2];
    float q_scale, k_scale;
    int32_t block;
    int8_t line[DIM];

    row->tokens = row->steps = 0;
    get(b, SAB_T_sage_fwd_q_int8, (row->lead * q->shape[2] + row->at) * DIM, DIM, line);
    get(b, SAB_T_sage_fwd_q_scale,
        row->lead * b->p.tensor[SAB_T_sage_fwd_q_scale].shape[2] + row->at / 32, 1, &q_scale);
    for (int64_t slot = n - 1; slot >= 0; slot--) {
        get(b, SAB_T_sage_fwd_q2k_block_index,
            (row->lead * index->shape[2] + row->at / 64) * index->shape[3] + slot, 1, &block);
        get(b, SAB_T_sage_fwd_k_scale, row->lead * blocks + block, 1, &k_scale);
        const double scale = (double)q_scale * b->p.param[SAB_P_sage_fwd_softmax_scale].f /
                             log(2.0) * (double)k_scale;
        const int64_t valid = valid_tokens(b, row, block);
        assert_true(row->tokens + valid <= MAX_TOKENS);
        for (int64_t c = 0; c < valid; c++)
            add_token(b, row, line, scale, block, c);
        row->steps += valid > 0; /* blocks here; two of them are a step */
    }
    row->steps = (row->steps + 1) / 2;
}

/* out[d] before the channel scale: P of a step stands at that step's maximum, and is brought to the
 * last one by a weight. */
static void slow_row(const struct row *row, double out[DIM])
{
    double *max = calloc((size_t)row->steps + 1, sizeof(*max)), sum = 0;

    assert_non_null(max);
    for (int64_t i = 0; i < row->steps; i++) {
        double largest = -INFINITY;

        for (int64_t c = 0; c < row->tokens; c++)
            if (row->step[c] == i)
                largest = fmax(largest, row->score[c]);
        max[i] = i > 0 && largest - max[i - 1] <= log2(448.0 / 256.0) ? max[i - 1] : largest;
    }
    memset(out, 0, DIM * sizeof(*out));
    for (int64_t c = 0; c < row->tokens; c++) {
        const double m = max[row->step[c]], p = 256 * exp2(row->score[c] - m);
        const double weight = exp2(m - max[row->steps - 1]);

        sum += p * weight;
        for (int d = 0; d < DIM; d++)
            out[d] += (double)numfmt_decode_e4m3(numfmt_encode_e4m3(p)) * weight * row->v[c][d];
    }
    for (int d = 0; d < DIM; d++)
        out[d] = sum > 0 ? out[d] / sum : 0;
    free(max);
}

/* One tile of batch 0, head 1, where there is one. */
static void tile_of(const struct pair_case *b, const struct sab_attribute *attributes,
                    struct op_slices *s)
{
    const struct op_tensor *out = &b->p.tensor[SAB_T_sage_fwd_out];
    const int64_t head = out->shape[1] > 1, rows = out->shape[2] < 64 ? out->shape[2] : 64;
    struct err err = ERR_INIT;

    op_slices_init(s);
    s->item = calloc(1, sizeof(*s->item));
    assert_non_null(s->item);
    s->item[0] = (struct op_slice){.tensor = SAB_T_sage_fwd_out,
                                   .at = head * out->shape[2] * DIM,
                                   .n = rows * DIM,
                                   .head = head};
    s->nr = s->alloc = 1;
    if (op_model_find("sage_fwd")->oracle(&b->p, &b->src, attributes, 3, 1, s, &err) < 0)
        fail_msg("%s", err.text);
}

/* Relative L2 distance of the oracle's emulated tile from the slow one. */
static double distance(const struct pair_case *b, const struct sab_attribute *attributes)
{
    struct row *row = calloc(1, sizeof(*row));
    double diff = 0, norm = 0, want[DIM];
    struct op_slices s;
    float v_scale;

    assert_non_null(row);
    tile_of(b, attributes, &s);
    assert_non_null(s.item[0].emulated);
    row->lead = s.item[0].head;
    for (row->at = 0; row->at < s.item[0].n / DIM; row->at++) {
        read_row(b, row);
        slow_row(row, want);
        for (int d = 0; d < DIM; d++) {
            get(b, SAB_T_sage_fwd_v_scale, row->lead * DIM + d, 1, &v_scale);
            const double w = want[d] * (double)v_scale;
            const double g = s.item[0].emulated[row->at * DIM + d];

            diff += (g - w) * (g - w);
            norm += w * w;
        }
    }
    op_slices_release(&s);
    free(row);
    return norm > 0 ? sqrt(diff / norm) : sqrt(diff);
}

static void pairs_share_a_maximum(void **state)
{
    static const int64_t shape[][3] = {{64, 640, 6}, {100, 640, 7}, {3, 65, 2}, {64, 64, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        for (int64_t mode = 0; mode <= 3; mode++) {
            struct pair_case b;

            case_make(&b, shape[i][0], shape[i][1], shape[i][2], mode);
            if (!(distance(&b, pairs) <= 1e-9))
                fail_msg("shape %zu, sizes mode %ld: off by %g", i, (long)mode,
                         distance(&b, pairs));
        }
}

/* The two rules are as far apart as the rounding of P, or the test above would show nothing. */
static void the_plain_rule_is_another(void **state)
{
    struct pair_case b;

    (void)state;
    case_make(&b, 64, 640, 6, 0);
    assert_true(distance(&b, lazy) > 3e-3);
    case_make(&b, 64, 64, 1, 0);
    assert_true(distance(&b, lazy) <= 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_share_a_maximum),
        cmocka_unit_test(the_plain_rule_is_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
