/*
 * sab.h - the contract between `bench` and a library of kernels.
 *
 * A kernel library is one shared object that exports one symbol, sab_library(). It needs this
 * header, ops.h (the operator catalogue) and nothing else of the project. The header is C11, C++17
 * and nvcc clean, and includes no CUDA header: a stream is a void pointer here.
 *
 * Ownership: everything that a library returns is constant and lives as long as the library is
 * loaded. Everything that the caller passes in stays the caller's; what is said of its lifetime
 * stands beside the hook.
 *
 * Growth: SAB_ABI_VERSION covers the layout of the structs below and nothing else. Operators grow
 * by appending optional tensors and parameters with a default (see schema_hash).
 */
#ifndef SAB_H
#define SAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAB_ABI_VERSION 1u

/* What a hook answers. INVALID: the caller broke the operator's contract. UNSUPPORTED: a legal
 * problem that this kernel or device does not serve. Both are given before anything is enqueued. */
enum sab_status {
    SAB_OK = 0,
    SAB_INVALID = 1,
    SAB_UNSUPPORTED = 2,
    SAB_FAILED = 3, /* the device or the host refused: a CUDA error, no memory */
};

enum sab_dtype {
    SAB_NONE = 0, /* an optional tensor that is absent */
    SAB_I8,
    SAB_U8,
    SAB_I32,
    SAB_F32,
    SAB_BF16,
    SAB_FP16,
    SAB_E4M3, /* fp8 "fn": largest 448, no infinity, NaN 0x7f and 0xff */
    SAB_E8M0, /* scale byte, 2^(byte - 127) */
    SAB_DTYPE_NR
};

enum sab_role { SAB_IN = 0, SAB_OUT, SAB_INOUT };
enum sab_memory { SAB_MEMORY_HOST = 0, SAB_MEMORY_DEVICE };
enum sab_device { SAB_DEVICE_CPU = 0, SAB_DEVICE_CUDA };

#define SAB_MAX_RANK    6
#define SAB_MAX_TENSORS 32
#define SAB_MAX_PARAMS  32
#define SAB_MAX_OPTIONS 16

/* One tensor of a problem. Row-major: the last dimension runs fastest where strides are those of a
 * contiguous tensor. */
struct sab_tensor {
    void *data;                   /* NULL in supports() and workspace_size(): says nothing there */
    int64_t shape[SAB_MAX_RANK];  /* elements */
    int64_t stride[SAB_MAX_RANK]; /* elements */
    int32_t rank;
    int32_t dtype;     /* enum sab_dtype; SAB_NONE: the optional tensor is absent */
    int32_t role;      /* enum sab_role, as in ops.h */
    int32_t memory;    /* enum sab_memory */
    int32_t device;    /* CUDA ordinal of the memory; 0 for host memory */
    int32_t alignment; /* bytes that the base address is known to be a multiple of */
};

/* A scalar parameter. ops.h says which member counts: integers, flags and words (by their place in
 * the list of words) use i, reals use f. */
union sab_value {
    int64_t i;
    double f;
};

/* Caller-owned scratch memory. Its bytes do not survive from one launch to the next. */
struct sab_buffer {
    void *data;
    uint64_t bytes;
    int32_t memory; /* enum sab_memory */
    int32_t device;
};

/* One problem of one operator. Tensors and parameters stand in the order of ops.h, choices in the
 * order of the kernel's options. */
struct sab_problem {
    uint32_t struct_size; /* sizeof(struct sab_problem) of the caller */
    uint32_t tensors_nr;
    uint32_t params_nr;
    uint32_t choices_nr;
    const struct sab_tensor *tensors;
    const union sab_value *params;
    const uint32_t *choices; /* choices[i]: index into options[i].choices */
    int32_t device;          /* CUDA ordinal that the launch runs on; 0 on device cpu */
    int32_t arch;            /* compute capability as 10*major + minor (90, 100, 120); 0 on cpu */
    int32_t multiprocessors; /* of the device; 0 on cpu */
    int32_t threads;         /* device cpu: threads to use, at least 1 */
};

/* Where a hook writes its message: one sentence, lower case, no final stop, naming the argument,
 * what was expected and what was given. Always terminated. */
struct sab_message {
    char *text;
    size_t size; /* bytes of text, at least 1 */
};

/* Hazards that an unsafe choice is known to fall to (the names of `bench check`). */
enum sab_hazard {
    SAB_HAZARD_ZEROED = 1u << 0,          /* workspace zeroed between launches */
    SAB_HAZARD_STALE_VALID = 1u << 1,     /* another problem's valid bytes in the workspace */
    SAB_HAZARD_RECYCLED_VIEW = 1u << 2,   /* workspace address recycled */
    SAB_HAZARD_GRAPH_REPLAY = 1u << 3,    /* capture and replay */
    SAB_HAZARD_NO_GROWTH = 1u << 4,       /* host memory grows with the number of plans */
    SAB_HAZARD_ORDERED_STREAMS = 1u << 5, /* undefined across ordered streams */
    SAB_HAZARD_EMPTY = 1u << 6,           /* an empty or absent workspace */
    SAB_HAZARD_DEGENERATE = 1u << 7,      /* a misaligned, foreign or absent workspace */
};

enum sab_choice_flags {
    SAB_CHOICE_DEFAULT = 1u << 0, /* exactly one choice of an option */
    SAB_CHOICE_UNSAFE = 1u << 1,  /* `hazards` names what it falls to */
    SAB_CHOICE_KEEPS_WORKSPACE = 1u
                                 << 2, /* gated and timed on a workspace that nobody overwrites */
};

struct sab_choice {
    const char *name;
    const char *help;
    uint32_t flags;   /* enum sab_choice_flags */
    uint32_t hazards; /* enum sab_hazard, with SAB_CHOICE_UNSAFE */
};

/* An option of a kernel: `simd = auto | off`, `descriptor = cached | upload | by_value`. */
struct sab_option {
    const char *name;
    const char *help;
    const struct sab_choice *choices;
    uint32_t choices_nr;
};

/* What the oracle may need to know of a kernel: {"fold", "last_to_first"}, {"p_scale", "256"}. */
struct sab_attribute {
    const char *name;
    const char *value;
};

enum sab_kernel_flags {
    SAB_KERNEL_DETERMINISTIC = 1u << 0, /* the same call gives the same bits */
    SAB_KERNEL_REFERENCE = 1u << 1, /* slow and obviously right: judges, is not judged by speed */
};

/*
 * One kernel. The hooks, in the order of a call:
 *
 * supports        may be asked at any time, on any machine; looks at metadata alone.
 * workspace_size  exact bytes for this problem; 0 is fine. Depends on shapes, parameters and
 * options. plan            first use work: module loading, attributes, descriptors. May use
 * addresses, never contents. Tensor and workspace addresses stay valid until free(). The current
 * CUDA device is problem->device. The problem itself need not outlive the call. launch only
 * enqueues, and only on `stream` (a cudaStream_t): no allocation, no synchronisation, nothing on
 * another stream; capturable in a CUDA graph. On device cpu `stream` is NULL and launch returns
 * when the outputs are written. free            releases the plan; the device has finished with it
 * by then.
 *
 * A hook prints nothing, never exits, and lets no exception out.
 */
struct sab_kernel {
    uint32_t struct_size; /* sizeof(struct sab_kernel) of the library */
    const char *op;       /* a name of ops.h */
    uint64_t schema_hash; /* sab_schema_hash() of the first tensors_nr and params_nr entries */
    uint32_t tensors_nr;  /* list lengths that the kernel knows */
    uint32_t params_nr;
    const char *name;    /* unique within op: "cpu", "reference", "mma" */
    const char *help;    /* one line */
    int32_t device;      /* enum sab_device */
    const char *targets; /* exact list "90a;100a;120a"; "" on cpu */
    const struct sab_option *options;
    uint32_t options_nr;
    const struct sab_attribute *attributes;
    uint32_t attributes_nr;
    uint32_t flags; /* enum sab_kernel_flags */

    int (*supports)(const struct sab_problem *problem, struct sab_message *msg);
    int (*workspace_size)(const struct sab_problem *problem, uint64_t *bytes,
                          struct sab_message *msg);
    int (*plan)(const struct sab_problem *problem, const struct sab_buffer *workspace, void **plan,
                struct sab_message *msg);
    int (*launch)(void *plan, void *stream, struct sab_message *msg);
    void (*free)(void *plan);
};

struct sab_library {
    uint32_t abi_version;  /* SAB_ABI_VERSION of the library */
    uint32_t struct_size;  /* sizeof(struct sab_library) of the library */
    uint32_t kernel_size;  /* sizeof(struct sab_kernel) */
    uint32_t option_size;  /* sizeof(struct sab_option) */
    uint32_t choice_size;  /* sizeof(struct sab_choice) */
    uint32_t tensor_size;  /* sizeof(struct sab_tensor) */
    uint32_t problem_size; /* sizeof(struct sab_problem) */
    uint32_t kernels_nr;
    const char *name;     /* "sab_kernels" */
    const char *describe; /* `git describe --always --dirty`, or "unknown" */
    const char *toolkit;  /* CUDA toolkit version "13.0", or "none" */
    const char *targets;  /* built targets, exact list "90a;100a;120a"; "" without CUDA */
    /* Pointers, not an array of structs: a row may have grown since the caller was built. */
    const struct sab_kernel *const *kernels;
};

/* The one exported symbol. Returns the table whatever version is asked for, so that the caller can
 * name both versions; never NULL. */
typedef const struct sab_library *(*sab_library_fn)(uint32_t abi_version);

#if defined(__GNUC__)
#    define SAB_EXPORT __attribute__((visibility("default")))
#else
#    define SAB_EXPORT
#endif

#define SAB_LIBRARY_SYMBOL "sab_library"
SAB_EXPORT const struct sab_library *sab_library(uint32_t abi_version);

#ifdef __cplusplus
}
#endif
#endif
