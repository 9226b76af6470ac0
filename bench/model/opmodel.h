/*
 * opmodel.h - what bench itself knows of an operator: axes, shapes, inputs, oracle, cost,
 * tolerances.
 *
 * The judge never asks the judged: nothing here comes from a kernel library. One operator is one
 * file in ops/ that fills a const struct op_model; op_models.c lists them.
 */
#ifndef BENCH_MODEL_OPMODEL_H
#define BENCH_MODEL_OPMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "recipe.h"
#include "sab.h"
#include "schema.h"

enum axis_kind { AXIS_INT = 0, AXIS_REAL, AXIS_WORD };

/* One axis of an operator's sweep. */
struct axis_spec {
    const char *name; /* "seqlen_q" */
    enum axis_kind kind;
    const char *words;   /* AXIS_WORD: "contiguous topk", the value is the place in this list */
    const char *initial; /* default, as it would stand in a sweep; may name another axis: "heads" */
    double min, max;     /* AXIS_INT and AXIS_REAL, inclusive */
    const char *help;
};

#define OP_MAX_AXES 40

struct axis_value {
    int64_t i; /* AXIS_INT, AXIS_WORD (place in the list) */
    double f;  /* AXIS_REAL */
};

struct op_model;
struct judgement;

/* Reads `n` elements of output `tensor` from linear offset `at`, raw bits. */
typedef int (*judge_read_fn)(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst,
                             struct err *err);

/* An operator with every axis fixed. Values stand in the order of op->axes. */
struct op_case {
    const struct op_model *op;
    struct axis_value axis[OP_MAX_AXES];
    uint64_t seed;
    /* What shapes are drawn from where contents decide them (ends of packed segments); 0: seed. Two
       sets of contents for one plan have the first's. */
    uint64_t shape_seed;
};

/* One tensor of a problem, contiguous. An absent optional tensor has dtype SAB_NONE. */
struct op_tensor {
    int32_t dtype;
    int32_t rank;
    int64_t shape[SAB_MAX_RANK];
    int64_t elements;
    uint64_t bytes;
    struct recipe recipe; /* how an input is filled; RECIPE_NONE for an output */
};

/* The problem that follows from a case: same order of tensors and parameters as ops.h. */
struct op_problem {
    const struct sab_op_spec *spec;
    struct op_tensor tensor[SAB_MAX_TENSORS];
    union sab_value param[SAB_MAX_PARAMS];
};

/* What a case uses of a machine, in bytes or operations. Some have a size by which their rate goes:
 * the bytes that are reached at random. */
enum op_resource {
    OP_READ = 0, /* of memory */
    OP_WRITE,
    OP_BF16, /* operations of the tensor units, by operand type */
    OP_FP16,
    OP_E4M3,
    OP_S8,
    OP_EXP2,
    OP_FEED,   /* whole tiles from L2 on chip */
    OP_GATHER, /* random rows of a kilobyte or so from L2 on chip */
    OP_REDUCE, /* added to random rows in L2 */
    OP_RESOURCES_NR
};

struct op_use {
    double amount, footprint_bytes;
};

/* Work and traffic of a case; each formula's source stands in the operator's file. */
struct op_cost {
    double flops_nominal; /* the headline */
    double flops_valid;
    double flops_dense; /* "dense-equivalent" */
    double bytes_min;   /* each input read once, each output written once */
    double bytes_tiles; /* asked of L2 by tiles, where the contract counts them; else NAN */
    double density;     /* as realised; NAN where the word means nothing */
    struct op_use use[OP_RESOURCES_NR];
};

/* Where the inputs of a problem can be read from: host buffers, or the recipes themselves (any
 * element of any tensor without holding the tensor). Reads `n` elements from linear offset `at`,
 * raw bits of the tensor's dtype, into `dst`. Must be safe to call from several threads. */
struct op_source {
    void *ctx;
    int (*read)(void *ctx, uint32_t tensor, int64_t at, int64_t n, void *dst);
};

#define WITHIN_BITS  (-1.0)
#define WITHIN_EQUAL (-2.0)

/* A run of `n` consecutive elements of an output, with its reference values. Groups name the
 * (batch, head) and the tile that it belongs to, for the bars that hold for each group. */
struct op_slice {
    uint32_t tensor;
    int64_t at;
    int64_t n;
    int64_t head;
    int64_t tile;
    double *ref;      /* exact reference, n values; owned by the list */
    double *emulated; /* by the kernel's declared arithmetic; NULL where there is none */
    /* For BAR_WITHIN: what each value may be off beyond the bar's own a and b; WITHIN_BITS: it must
     * have the very bits of ref; WITHIN_EQUAL: it must equal ref, a zero of either sign. NULL: 0
     * everywhere. All slices of a list have it, or none. */
    double *within;
    /* Values are counted in a unit that is itself an output (a quantiser's scale): what is held
     * against ref is got times element `unit_at` of output `unit`. */
    bool scaled;
    uint32_t unit;
    int64_t unit_at;
    /* Several answers are right: ref is one of them, no element is held against it, and the model's
     * `examine` judges what stands there. */
    bool several;
};

struct op_slices {
    struct op_slice *item;
    size_t nr, alloc;
    bool complete; /* the slices cover every element of every output */
};

void op_slices_init(struct op_slices *s);
void op_slices_release(struct op_slices *s);
/* Appends a slice whose other members are zero; NULL with err set where there is no memory. */
struct op_slice *op_slices_add(struct op_slices *s, uint32_t tensor, int64_t at, int64_t n,
                               struct err *err);

enum bar_kind {
    BAR_ELEMENT = 0, /* |got - ref| <= a + b*|ref| */
    BAR_REL_L2,      /* sqrt(sum (got-ref)^2) <= a * sqrt(sum ref^2) */
    BAR_REL_L1,
    BAR_COSINE, /* cosine >= a */
    BAR_DIFF,   /* 1 - 2<got,ref>/(<got,got>+<ref,ref>) <= a */
    /* The four above: b > 0 goes in place of a where the group has fewer than 16 rows. */
    BAR_ZERO,     /* where ref is exactly 0 over a whole row, got is 0; b > 0: +0, all bits zero */
    BAR_EMULATED, /* relative L2 against `emulated` <= a */
    BAR_WITHIN,   /* |got*unit - ref| <= a*unit + b*|ref| + within; see struct op_slice */
};
enum bar_level { BAR_WHOLE = 0, BAR_HEAD, BAR_TILE };

struct bar {
    uint32_t tensor;
    enum bar_kind kind;
    enum bar_level level;
    double a, b;
};

#define OP_MAX_BARS 32

/* In a pipeline, input `input` is the quantised form of `raw`, an input of the step that feeds it.
 */
struct op_quantised {
    const char *input;
    const char *raw;
};

struct op_model {
    const char *name; /* as in ops.h */
    const char *help;
    const struct axis_spec *axes;
    size_t axes_nr;

    /* Fixes what one axis implies for another and refuses an impossible case in words (ERR_CONFIG).
     */
    int (*settle)(struct op_case *c, struct err *err);
    int (*describe)(const struct op_case *c, struct op_problem *p, struct err *err);
    int (*cost)(const struct op_case *c, struct op_cost *cost, struct err *err);
    /* The bars that hold for this case; sampled says that only some slices are known. */
    size_t (*bars)(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS]);
    /* The same where an earlier step of a pipeline made the inputs; NULL: no other. */
    size_t (*bars_fed)(const struct op_case *c, bool sampled, struct bar bars[OP_MAX_BARS]);
    /* Chooses slices worth at most `flops` of oracle work: all of them where that suffices. Fills
     * everything but the values. */
    int (*slices)(const struct op_case *c, double flops, struct op_slices *out, struct err *err);
    /* Oracle FLOPs of the whole problem, for estimates. */
    double (*oracle_flops)(const struct op_case *c);
    /* Fills ref (and emulated, by the kernel's attributes; attributes may be NULL) of every slice.
     */
    int (*oracle)(const struct op_problem *p, const struct op_source *src,
                  const struct sab_attribute *attributes, uint32_t attributes_nr, int threads,
                  struct op_slices *slices, struct err *err);
    /* Judges what no bar can: choices among right answers, sums of rows. `src` reads the inputs,
     * `read` the outputs; slices are those that the oracle filled. Called for outputs that passed
     * the bars: a fault clears out->pass and fills out->text. Negative when reading failed. NULL:
     * the bars say it all. */
    int (*examine)(const struct op_problem *p, const struct op_source *src,
                   const struct op_slices *slices, judge_read_fn read, void *ctx,
                   struct judgement *out, struct err *err);
    /* Outputs have several right answers: those of two kernels are not compared. */
    bool several;
    /* Inputs without a recipe are outputs of other operators. Gives the i-th of those as a case
     * whose outputs, by the feeds of ops.h, are inputs here; 1 behind the last. NULL: every input
     * has a recipe. */
    int (*producer)(const struct op_case *c, size_t i, struct op_case *from, struct err *err);
    /* As the last step of a pipeline that quantises: fills ref of every slice with the same
     * operator on unquantised inputs. `raw` reads the raw form of each input that `quantised`
     * names, by that input's place; `src` the others. NULL where there is none. */
    int (*accuracy)(const struct op_problem *p, const struct op_source *src,
                    const struct op_source *raw, int threads, struct op_slices *slices,
                    struct err *err);
    const struct op_quantised *quantised;
    size_t quantised_nr;
    /* In a pipeline a step has the axes of the step that it feeds, by name. Where one of its axes
     * follows otherwise: fills the value and returns true. NULL: nowhere. */
    bool (*follow)(const struct op_case *fed, size_t axis, struct axis_value *value);
};

/* The operators that bench can judge. op_model_at() returns NULL behind the last one. */
const struct op_model *op_model_at(size_t i);
const struct op_model *op_model_find(const char *name);

/* Place of an axis, or -1. */
int op_axis_find(const struct op_model *op, const char *name);
/* A case with every axis at its default, settled. */
int op_case_default(const struct op_model *op, uint64_t seed, struct op_case *c, struct err *err);
/* Value of an axis by name; the axis must exist. */
int64_t op_case_int(const struct op_case *c, const char *axis);
double op_case_real(const struct op_case *c, const char *axis);
/* Whether an AXIS_WORD axis holds this word. */
bool op_case_is(const struct op_case *c, const char *axis, const char *word);
/* Value as text, as it would stand in a sweep, into buf. */
const char *op_case_text(const struct op_case *c, size_t axis, char *buf, size_t size);

/* "[b,h,row,d]" of the element at linear offset `at`, into buf. */
const char *op_place_text(const struct op_tensor *t, int64_t at, char *buf, size_t size);

/* A source over the recipes of a problem (which must outlive it). */
void op_source_recipes(struct op_source *src, const struct op_problem *p);
/* A source over host buffers, one pointer a tensor; an input without one is read by its recipe.
 * `buffers` must outlive it. */
struct op_buffers {
    const struct op_problem *problem;
    const void *data[SAB_MAX_TENSORS];
};
void op_source_buffers(struct op_source *src, struct op_buffers *buffers);

/* What judging one output set gave. Errors are against the exact reference. */
struct judgement {
    bool pass;
    char text[512]; /* the first broken bar: tensor, index, both values; "" when it passed */
    double max_abs, rel_l2, cosine, emulated_rel_l2; /* NAN where nothing was compared */
    int64_t compared;                                /* elements */
    /* The element at fault: the first that breaks a bar of its own; where only a bar over a group
     * is broken, the one that is furthest off. -1: none. Values as they stand beside each other in
     * a bar. */
    int64_t at;
    uint32_t tensor;
    double got, want;
};

/* Holds outputs against slices, except those with several answers. Infinities and NaN must stand in
 * the same places. A broken bar is not an error: judgement->pass says it. Returns negative only
 * when reading failed. */
int judge(const struct op_problem *p, const struct bar *bars, size_t bars_nr,
          const struct op_slices *slices, judge_read_fn read, void *ctx, struct judgement *out,
          struct err *err);

#endif
