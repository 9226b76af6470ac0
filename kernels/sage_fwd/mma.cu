/*
 * mma.cu - the hooks of sage_fwd/mma.
 */
#include "mma.h"

#include "mma_host.h"

#define SAGE_ROW(name, M, F) sage_mma_##name,
static const struct sage_mma_variant *const tables[SAGE_MMA_SIZES_NR] = {SAGE_MMA_SIZES(SAGE_ROW)};
#undef SAGE_ROW

static const struct sage_mma_form form = {
    "sage_fwd/mma", tables, SAGE_MMA_THREADS, SAGE_MMA_SHARED_BYTES, sage_call_check_arch,
};

int sage_mma_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    return sage_mma_form_supports(&form, problem, msg);
}

int sage_mma_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                  void **plan, struct sab_message *msg)
{
    return sage_mma_form_plan(&form, problem, workspace, plan, msg);
}

int sage_mma_launch(void *plan, void *stream, struct sab_message *msg)
{
    return sage_mma_form_launch(plan, stream, msg);
}

void sage_mma_free(void *plan)
{
    sage_mma_form_free(plan);
}
