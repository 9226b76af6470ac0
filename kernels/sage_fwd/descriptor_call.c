#include "descriptor_call.h"

#define NR(list) (sizeof(list) / sizeof((list)[0]))

static const struct sab_choice choices[SAGE_DESCRIPTOR_NR] = {
    [SAGE_DESCRIPTOR_BY_VALUE] = {"by_value", "among the kernel parameters", SAB_CHOICE_DEFAULT, 0},
    [SAGE_DESCRIPTOR_UPLOAD] = {"upload", "written to the workspace by every launch", 0, 0},
    [SAGE_DESCRIPTOR_CACHED] = {"cached", "copied to the workspace once, remembered by its address",
                                SAB_CHOICE_UNSAFE | SAB_CHOICE_KEEPS_WORKSPACE,
                                SAB_HAZARD_ZEROED | SAB_HAZARD_STALE_VALID |
                                    SAB_HAZARD_RECYCLED_VIEW | SAB_HAZARD_GRAPH_REPLAY |
                                    SAB_HAZARD_NO_GROWTH | SAB_HAZARD_ORDERED_STREAMS},
};

const struct sab_option sage_descriptor_options[SAGE_DESCRIPTOR_OPTIONS_NR] = {
    {"descriptor", "where a launch finds its tensor maps", choices, NR(choices)},
};

int sage_descriptor_read(const struct sab_problem *problem, enum sage_descriptor *descriptor,
                         struct sab_message *msg)
{
    uint32_t choice = SAGE_DESCRIPTOR_BY_VALUE;

    if (problem->choices_nr > 0)
        choice = problem->choices[0];
    if (choice >= SAGE_DESCRIPTOR_NR)
        return sab_say(msg, SAB_INVALID, "option 'descriptor' has %d choices, given place %u",
                       SAGE_DESCRIPTOR_NR, choice);
    *descriptor = (enum sage_descriptor)choice;
    return SAB_OK;
}

static uint64_t needed_bytes(enum sage_descriptor descriptor)
{
    return descriptor == SAGE_DESCRIPTOR_BY_VALUE ? 0 : SAGE_DESCRIPTOR_BYTES;
}

int sage_descriptor_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                                   struct sab_message *msg)
{
    enum sage_descriptor descriptor = SAGE_DESCRIPTOR_BY_VALUE;
    int status = sage_descriptor_read(problem, &descriptor, msg);

    *bytes = status == SAB_OK ? needed_bytes(descriptor) : 0;
    return status;
}

int sage_descriptor_check(const struct sab_problem *problem, const struct sab_buffer *workspace,
                          enum sage_descriptor *descriptor, struct sab_message *msg)
{
    int status = sage_descriptor_read(problem, descriptor, msg);

    if (status != SAB_OK)
        return status;
    return sab_validate_workspace(sab_op_find("sage_fwd"), problem, workspace,
                                  needed_bytes(*descriptor), SAGE_DESCRIPTOR_ALIGNMENT,
                                  SAB_DEVICE_CUDA, msg);
}
