/*
 * wgmma.cu - the hooks of sage_fwd/wgmma.
 */
#include "wgmma.h"

#include "mma_host.h"
#include "wgmma_args.h"
#include "wgmma_keys.h"

#define SAGE_ROW(name, M, F) sage_wgmma_##name,
static const struct sage_mma_variant *const tables[SAGE_MMA_SIZES_NR] = {SAGE_MMA_SIZES(SAGE_ROW)};
#undef SAGE_ROW

static int check_arch(const struct sab_problem *problem, struct sab_message *msg)
{
    if (problem->arch == 90)
        return SAB_OK;
    return sab_say(msg, SAB_UNSUPPORTED,
                   "device: this kernel exists for compute capability 9.0, the device has %d.%d",
                   problem->arch / 10, problem->arch % 10);
}

static const struct sage_mma_form form = {
    "sage_fwd/wgmma", tables, SAGE_WGMMA_THREADS, SAGE_WGMMA_SHARED_BYTES, check_arch,
};

int sage_wgmma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return sage_mma_form_supports(&form, problem, msg);
}

int sage_wgmma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    return sage_mma_form_plan(&form, problem, workspace, plan, msg);
}

int sage_wgmma_launch(void *plan, void *stream, struct sab_message *msg)
{
    return sage_mma_form_launch(plan, stream, msg);
}

void sage_wgmma_free(void *plan)
{
    sage_mma_form_free(plan);
}
