#include "absent.h"

#include "schema.h"

static int absent(struct sab_message *msg)
{
    return sab_say(msg, SAB_UNSUPPORTED, "this library was built without CUDA");
}

int sab_absent_supports(const struct sab_problem *problem, struct sab_message *msg)
{
    (void)problem;
    return absent(msg);
}

int sab_absent_workspace_size(const struct sab_problem *problem, uint64_t *bytes,
                              struct sab_message *msg)
{
    (void)problem;
    *bytes = 0;
    return absent(msg);
}

int sab_absent_plan(const struct sab_problem *problem, const struct sab_buffer *workspace,
                    void **plan, struct sab_message *msg)
{
    (void)problem;
    (void)workspace;
    *plan = NULL;
    return absent(msg);
}

int sab_absent_launch(void *plan, void *stream, struct sab_message *msg)
{
    (void)plan;
    (void)stream;
    return absent(msg);
}

void sab_absent_free(void *plan)
{
    (void)plan;
}
