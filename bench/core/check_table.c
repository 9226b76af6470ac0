/*
 * check_table.c - the checks, in the order in which they run and are printed: first the plain
 * launch, last those that leave other contents in the buffers, which are then made anew.
 */
#include "check.h"

#include <string.h>

#include "check_rig.h"

static const struct check checks[] = {
    {"oracle", "a plain launch against the oracle: errors, NaN and infinities in the same places",
     CHECK_CALLS, 0, check_oracle},
    {"guards", "nothing is written around any tensor or the workspace", CHECK_CALLS, 0,
     check_guards},
    {"inputs", "no input is written", CHECK_CALLS, 0, check_inputs},
    {"written", "every byte of every output is written", CHECK_CALLS, 0, check_written},
    {"repeat", "the same call gives the same bits where that is promised; else jitter is measured",
     CHECK_CALLS, 0, check_repeat},
    {"two_plans", "two plans alive at once, launched in turn", CHECK_CALLS, 0, check_two_plans},
    {"zeroed", "the workspace is overwritten between launches", CHECK_CALLS | CHECK_WORKSPACE,
     SAB_HAZARD_ZEROED, check_zeroed},
    {"stale_valid", "the workspace holds what another problem's does",
     CHECK_CALLS | CHECK_WORKSPACE, SAB_HAZARD_STALE_VALID, check_stale_valid},
    {"recycled_view", "the workspace's address had another use in between",
     CHECK_CALLS | CHECK_WORKSPACE, SAB_HAZARD_RECYCLED_VIEW, check_recycled_view},
    {"empty", "an empty workspace: refused where one is needed, else as good as any", CHECK_CALLS,
     SAB_HAZARD_EMPTY, check_empty},
    {"degenerate", "a short, misaligned, foreign or absent workspace: the same", CHECK_CALLS,
     SAB_HAZARD_DEGENERATE, check_degenerate},
    {"enqueues", "launch returns at once, allocates nothing and can be captured",
     CHECK_CALLS | CHECK_STREAMS, 0, check_enqueues},
    {"ordered_streams", "two streams, one behind the other, share a workspace",
     CHECK_CALLS | CHECK_STREAMS, SAB_HAZARD_ORDERED_STREAMS, check_ordered_streams},
    {"graph_replay", "captured and replayed between eager launches of another plan",
     CHECK_CALLS | CHECK_STREAMS, SAB_HAZARD_GRAPH_REPLAY, check_graph_replay},
    {"traffic", "the same results beside traffic on the memory", CHECK_CALLS, 0, check_traffic},
    {"no_growth", "memory and open files do not grow with the number of plans and launches",
     CHECK_CALLS, SAB_HAZARD_NO_GROWTH, check_no_growth},
    {"quiet", "nothing is printed", CHECK_CALLS, 0, check_quiet},
    {"promises", "the data keeps the promises of the call: ranges of indices, counts and scales",
     CHECK_CALLS, 0, check_promises},
    {"refusals", "each malformed problem is refused before launch, with a reason", 0, 0,
     check_refusals},
    {"contents", "inputs, indices among them, change between launches of one plan", CHECK_CALLS, 0,
     check_contents},
    {"ambient_stream", "everything is on the stream given, with the default stream kept busy",
     CHECK_CALLS | CHECK_STREAMS, 0, check_ambient},
};

#define CHECKS_NR (sizeof(checks) / sizeof(checks[0]))
_Static_assert(CHECKS_NR <= CHECKS_MAX, "a task holds one result a check");

const struct check *check_at(size_t i)
{
    return i < CHECKS_NR ? &checks[i] : NULL;
}

size_t checks_nr(void)
{
    return CHECKS_NR;
}

int check_find(const char *name)
{
    for (size_t i = 0; i < CHECKS_NR; i++)
        if (!strcmp(checks[i].name, name))
            return (int)i;
    return -1;
}

uint32_t check_hazards(const struct arm_steps *steps)
{
    uint32_t hazards = 0;

    for (size_t i = 0; i < steps->nr; i++)
        for (uint32_t o = 0; o < steps->item[i].kernel->options_nr; o++)
            hazards |= steps->item[i].kernel->options[o].choices[steps->item[i].choices[o]].hazards;
    return hazards;
}

/* Across ordered streams an unsafe choice is undefined, not wrong: either answer is right. */
void check_expect(const struct check *check, uint32_t hazards, struct check_result *res)
{
    if (!check->hazard || !(hazards & check->hazard))
        return;
    if (res->status == CHECK_FAIL)
        res->status = CHECK_EXPECTED;
    else if (res->status == CHECK_PASS && check->hazard != SAB_HAZARD_ORDERED_STREAMS) {
        res->status = CHECK_UNEXPECTED;
        snprintf(res->text, sizeof(res->text),
                 "passes, though a choice of this arm is flagged unsafe for '%s'", check->name);
    }
}
