/*
 * ceiling_host.cuh - the hooks of a kernel from one function that says how a problem is launched.
 */
#ifndef CEILING_HOST_CUH
#define CEILING_HOST_CUH

#include <cuda_runtime.h>
#include <stdlib.h>

#include "ceiling.h"
#include "cuda_check.h"

namespace ceiling
{

/* A launch: Args is what the kernel takes by value. */
template <class Args> struct launch {
    void (*kernel)(const Args);
    unsigned blocks, threads, shared_bytes;
    Args args;
};

/* Fills a launch from a problem that was held against the rules of ops.h, or answers
 * SAB_UNSUPPORTED. */
template <class Args>
using make_fn = int (*)(launch<Args> *to, const sab_problem *problem, sab_message *msg);

template <class Args>
int prepare(make_fn<Args> make, const char *op, unsigned flags, launch<Args> *to,
            const sab_problem *problem, sab_message *msg)
{
    const int status = sab_validate(sab_op_find(op), problem, SAB_DEVICE_CUDA, flags, msg);

    if (status != SAB_OK)
        return status;
    if (!sab_target_served(CEILING_TARGETS, problem->arch))
        return sab_say(msg, SAB_UNSUPPORTED,
                       "device: this kernel exists for the targets %s, the device has compute "
                       "capability %d.%d",
                       CEILING_TARGETS, problem->arch / 10, problem->arch % 10);
    return make(to, problem, msg);
}

inline int load(const void *kernel, unsigned shared_bytes, sab_message *msg)
{
    return sab_cuda_check(sab_cuda_load(kernel, (int)shared_bytes), "load the kernel of a ceiling",
                          msg);
}

template <class Args>
int plan(make_fn<Args> make, const char *op, const sab_problem *problem, void **out,
         sab_message *msg)
{
    launch<Args> *p = (launch<Args> *)calloc(1, sizeof(*p));
    int status =
        p ? SAB_OK : sab_say(msg, SAB_FAILED, "no memory for a plan of %zu bytes", sizeof(*p));

    *out = NULL;
    if (status == SAB_OK)
        status = prepare(make, op, SAB_VALIDATE_POINTERS, p, problem, msg);
    if (status == SAB_OK)
        status = load((const void *)p->kernel, p->shared_bytes, msg);
    if (status != SAB_OK) {
        free(p);
        return status;
    }
    *out = p;
    return SAB_OK;
}

template <class Args> int enqueue(const void *plan, void *stream, sab_message *msg)
{
    const launch<Args> *p = (const launch<Args> *)plan;

    p->kernel<<<p->blocks, p->threads, p->shared_bytes, static_cast<cudaStream_t>(stream)>>>(
        p->args);
    return sab_cuda_check(cudaGetLastError(), "launch a ceiling", msg);
}

} // namespace ceiling

/* The four hooks, for the operator `op`. */
#define CEILING_DEFINE_HOOKS(name, op, args, make)                                                 \
    int ceiling_##name##_supports(const struct sab_problem *problem, struct sab_message *msg)      \
    {                                                                                              \
        ceiling::launch<args> to = {};                                                             \
        return ceiling::prepare<args>(make, op, SAB_VALIDATE_METADATA, &to, problem, msg);         \
    }                                                                                              \
    int ceiling_##name##_plan(const struct sab_problem *problem,                                   \
                              const struct sab_buffer *workspace, void **plan,                     \
                              struct sab_message *msg)                                             \
    {                                                                                              \
        (void)workspace;                                                                           \
        return ceiling::plan<args>(make, op, problem, plan, msg);                                  \
    }                                                                                              \
    int ceiling_##name##_launch(void *plan, void *stream, struct sab_message *msg)                 \
    {                                                                                              \
        return ceiling::enqueue<args>(plan, stream, msg);                                          \
    }                                                                                              \
    void ceiling_##name##_free(void *plan)                                                         \
    {                                                                                              \
        free(plan);                                                                                \
    }

#endif
