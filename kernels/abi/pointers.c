/*
 * pointers.c - what a problem's addresses must satisfy once they are known.
 */
#include "bind.h"

struct range {
    uintptr_t begin;
    uintptr_t end; /* behind the last byte */
};

/* Empty for a tensor without elements: it shares nothing. */
static struct range range_of(const void *data, uint64_t bytes)
{
    struct range r = {(uintptr_t)data, (uintptr_t)data};

    if (__builtin_add_overflow(r.begin, (uintptr_t)bytes, &r.end))
        r.end = UINTPTR_MAX;
    return r;
}

static int shares(struct range a, struct range b)
{
    return a.begin < a.end && b.begin < b.end && a.begin < b.end && b.begin < a.end;
}

static struct range tensor_range(const struct sab_tensor *t)
{
    int64_t bytes = sab_tensor_bytes(t);

    return range_of(t->data, bytes > 0 ? (uint64_t)bytes : 0);
}

static int check_address(const struct sab_tensor_spec *spec, const struct sab_tensor *t,
                         struct sab_message *msg)
{
    if (sab_tensor_bytes(t) == 0)
        return SAB_OK;
    if (!t->data)
        return sab_say(msg, SAB_INVALID, "'%s' is null, expected an address", spec->name);
    if ((uintptr_t)t->data % (uintptr_t)spec->alignment != 0)
        return sab_say(msg, SAB_INVALID, "'%s' lies at %p, expected a multiple of %d bytes",
                       spec->name, t->data, spec->alignment);
    return SAB_OK;
}

static int check_overlap(const struct sab_binding *b, uint32_t output, struct sab_message *msg)
{
    const struct sab_tensor *t = sab_bind_tensor(b, output);

    for (uint32_t i = 0; i < b->op->tensors_nr; i++) {
        const struct sab_tensor *other = sab_bind_tensor(b, i);

        if (i != output && other && shares(tensor_range(t), tensor_range(other)))
            return sab_say(msg, SAB_INVALID, "'%s' shares bytes with '%s', expected none",
                           b->op->tensors[output].name, b->op->tensors[i].name);
    }
    return SAB_OK;
}

int sab_check_pointers(struct sab_binding *b, struct sab_message *msg)
{
    int status;

    for (uint32_t i = 0; i < b->op->tensors_nr; i++) {
        const struct sab_tensor *t = sab_bind_tensor(b, i);

        if (t && (status = check_address(&b->op->tensors[i], t, msg)) != SAB_OK)
            return status;
    }
    for (uint32_t i = 0; i < b->op->tensors_nr; i++) {
        if (!sab_bind_tensor(b, i) || b->op->tensors[i].role == SAB_IN)
            continue;
        if ((status = check_overlap(b, i, msg)) != SAB_OK)
            return status;
    }
    return SAB_OK;
}

int sab_validate_workspace(const struct sab_op_spec *op, const struct sab_problem *problem,
                           const struct sab_buffer *workspace, uint64_t bytes, uint32_t alignment,
                           enum sab_device want, struct sab_message *msg)
{
    int32_t memory = want == SAB_DEVICE_CUDA ? SAB_MEMORY_DEVICE : SAB_MEMORY_HOST;
    struct range range;

    if (bytes == 0)
        return SAB_OK;
    if (!workspace || !workspace->data)
        return sab_say(msg, SAB_INVALID, "the workspace is missing, expected %llu bytes",
                       (unsigned long long)bytes);
    if (workspace->bytes < bytes)
        return sab_say(msg, SAB_INVALID, "the workspace has %llu bytes, expected %llu",
                       (unsigned long long)workspace->bytes, (unsigned long long)bytes);
    if (alignment > 0 && (uintptr_t)workspace->data % alignment != 0)
        return sab_say(msg, SAB_INVALID,
                       "the workspace lies at %p, expected a multiple of %u bytes", workspace->data,
                       alignment);
    if (workspace->memory != memory ||
        (want == SAB_DEVICE_CUDA && workspace->device != problem->device))
        return sab_say(msg, SAB_INVALID,
                       "the workspace lies in %s memory of device %d, expected %s "
                       "memory of device %d",
                       workspace->memory == SAB_MEMORY_HOST ? "host" : "device", workspace->device,
                       memory == SAB_MEMORY_HOST ? "host" : "device",
                       want == SAB_DEVICE_CUDA ? problem->device : 0);
    range = range_of(workspace->data, bytes);
    for (uint32_t i = 0; i < op->tensors_nr && i < problem->tensors_nr; i++)
        if (problem->tensors[i].dtype != SAB_NONE &&
            shares(range, tensor_range(&problem->tensors[i])))
            return sab_say(msg, SAB_INVALID, "the workspace shares bytes with '%s', expected none",
                           op->tensors[i].name);
    return SAB_OK;
}
