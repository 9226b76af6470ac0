/*
 * schema.h - the operator catalogue as data, and the validator that follows from it.
 *
 * ops.h holds the rows; schema.c turns them into the tables below; validate.c judges a problem by
 * them. All of it is plain C11 and is compiled into bench and into every kernel library, so that a
 * kernel and its judge share one idea of what a legal problem is.
 *
 * Enumerators: SAB_T_<op>_<tensor> and SAB_P_<op>_<parameter> are the places in the lists,
 * SAB_TENSORS_NR_<op> and SAB_PARAMS_NR_<op> their lengths.
 */
#ifndef SAB_SCHEMA_H
#define SAB_SCHEMA_H

#include "ops.h"
#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define SAB_ENUM_T(op, name, role, optional, dtypes, shape, alignment, strided) SAB_T_##op##_##name,
#define SAB_ENUM_P(op, name, kind, words, initial) SAB_P_##op##_##name,
#define SAB_ENUM_OP(op, help)                                                                      \
    enum { SAB_TENSORS_##op(SAB_ENUM_T) SAB_TENSORS_NR_##op };                                     \
    enum { SAB_PARAMS_##op(SAB_ENUM_P) SAB_PARAMS_NR_##op };
SAB_OPS(SAB_ENUM_OP)
#undef SAB_ENUM_OP
#undef SAB_ENUM_P
#undef SAB_ENUM_T
/* clang-format on */

enum sab_param_kind { SAB_INT = 0, SAB_FLAG, SAB_REAL, SAB_WORD };

/* The columns of ops.h, where their little languages are described. */
struct sab_tensor_spec {
    const char *name;
    int32_t role; /* enum sab_role */
    int32_t optional;
    const char *dtypes;
    const char *shape;
    int32_t alignment; /* bytes, of the base address */
    const char *strided;
};

struct sab_param_spec {
    const char *name;
    int32_t kind;        /* enum sab_param_kind */
    const char *words;   /* SAB_WORD: "bshd thd", the value is the place in this list */
    const char *initial; /* default as an expression: "1/sqrt(D)"; "" where there is none */
};

/* A condition that must hold, over dimensions, parameters, present(tensor) and rank(tensor). */
struct sab_rule_spec {
    int32_t status;      /* SAB_INVALID or SAB_UNSUPPORTED when it does not hold */
    const char *subject; /* the argument that the message names */
    const char *condition;
    const char *right; /* the rest of the message: "must be above 0" */
};

/* An output that may feed an input of another operator with as many elements, read in that input's
 * shape, and how ids are converted on the way. */
struct sab_feed_spec {
    const char *output;
    const char *op;
    const char *input;
    const char *conversion; /* "" or "local_to_global" */
};

struct sab_op_spec {
    const char *name;
    const char *help;
    const struct sab_tensor_spec *tensors;
    const struct sab_param_spec *params;
    const struct sab_rule_spec *rules;
    const struct sab_feed_spec *feeds;
    uint32_t tensors_nr, params_nr, rules_nr, feeds_nr;
};

/* The catalogue. sab_op_at() returns NULL behind the last one, sab_op_find() for an unknown name.
 */
const struct sab_op_spec *sab_op_at(uint32_t i);
const struct sab_op_spec *sab_op_find(const char *name);

/* Hash of an operator's name and of its first entries: names, roles, dtypes, shapes, kinds. Returns
 * 0 where the lists are shorter than asked for. ops_hash.h, generated at build time, holds
 * SAB_HASH_<op> for the whole lists, for use in a constant table. */
uint64_t sab_schema_hash(const struct sab_op_spec *op, uint32_t tensors_nr, uint32_t params_nr);

enum sab_validate_flags {
    SAB_VALIDATE_METADATA = 0, /* shapes, strides, dtypes, memory kind, device, parameters, rules */
    SAB_VALIDATE_POINTERS = 1u << 0 /* and null, alignment, overlap of an output with anything */
};

/*
 * Holds a problem against an operator's contract. Returns SAB_OK, SAB_INVALID or (where a rule says
 * so, and nothing is invalid) SAB_UNSUPPORTED, with a message that names the argument, the
 * expectation and what was given. `want` is where the kernel runs: tensors must lie in host memory
 * on cpu, in memory of problem->device on cuda, in either mode. A problem with longer lists than
 * the operator has here is accepted where the further tensors are absent. A tensor's `alignment` of
 * 0 says that nothing is known; tensors without elements need no address.
 */
int sab_validate(const struct sab_op_spec *op, const struct sab_problem *problem,
                 enum sab_device want, unsigned flags, struct sab_message *msg);

/* Holds a caller's workspace against what workspace_size() answered: at least `bytes`, base a
 * multiple of `alignment`, right memory and device, no byte shared with a tensor. `bytes` 0:
 * accepts anything, NULL included. */
int sab_validate_workspace(const struct sab_op_spec *op, const struct sab_problem *problem,
                           const struct sab_buffer *workspace, uint64_t bytes, uint32_t alignment,
                           enum sab_device want, struct sab_message *msg);

/* The value of an expression over dimensions and parameters ("B", "4*ceil(Sq/128)") in a problem
 * that passed sab_validate(), or -1. */
int64_t sab_dimension(const struct sab_op_spec *op, const struct sab_problem *problem,
                      const char *expression);

/* The default of a parameter, from the shapes of a problem's tensors and its earlier parameters;
 * later ones are not looked at. SAB_INVALID where there is no default or it cannot be had. */
int sab_default(const struct sab_op_spec *op, const struct sab_problem *problem, uint32_t param,
                union sab_value *value, struct sab_message *msg);

/* Place in the list, or -1. */
int32_t sab_tensor_find(const struct sab_op_spec *op, const char *name);
int32_t sab_param_find(const struct sab_op_spec *op, const char *name);
/* Place of a word in a SAB_WORD parameter's list, or -1. */
int32_t sab_word_find(const struct sab_param_spec *param, const char *word);

/* Bytes from the first to behind the last element, 0 without elements; -1 beyond 63 bits or for a
 * negative stride. */
int64_t sab_tensor_bytes(const struct sab_tensor *tensor);

/* Bytes of one element; 0 for SAB_NONE. */
size_t sab_dtype_size(int32_t dtype);
/* "bf16", ...; "none", or "?" for an unknown value. */
const char *sab_dtype_name(int32_t dtype);
/* The dtype of a name, or -1. */
int32_t sab_dtype_find(const char *name);
const char *sab_status_name(int status);

/* Formats a message and returns `status`, so that a hook can write `return sab_say(...)`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int sab_say(struct sab_message *msg, int status, const char *format, ...);

/* Is a compute capability (10*major + minor) in an exact list "90a;100a;120a"? */
int sab_target_served(const char *targets, int32_t arch);

/* Where a problem's tensor lies; NULL for an absent one, whatever its `data` says. */
void *sab_data(const struct sab_problem *problem, uint32_t tensor);

/* Fills a tensor's strides for the contiguous row-major order of its shape. */
void sab_contiguous(struct sab_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
