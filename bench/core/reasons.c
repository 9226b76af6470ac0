#include "reasons.h"

#include <string.h>

#include "text.h"

static const struct reason reasons[] = {
    {"few", "too few super-rounds in one process for a 95 % interval, which needs 6",
     "ask for more rounds or more processes, as in --rounds 5x24"},
    {"few_processes", "the interval rests on fewer than 5 processes and is wide for that reason",
     "ask for 5 processes, as in --rounds 5x24"},
    {"budget", "max_time or max_rounds ended the case before the interval was narrow enough",
     "raise max_time or max_rounds, or name the rounds yourself"},
    {"multiple", "among this many rows a difference of this size is expected by chance (q > 0.05)",
     "run this case alone with --only before you believe it"},
    {"a_prime", "two identical copies of the baseline differ here by more than delta",
     "do not trust this row; look for other load, a hot GPU, or too few processes"},
    {"drift", "the difference between the arms moved steadily while the case ran",
     "let the machine settle, use pace = burst, and run the case again"},
    {"slot", "times depend on the place inside a round by more than 2 %",
     "nothing to do for the comparison, where slots cancel; absolute times carry that much"},
    {"carry", "an arm changes the time of the arm after it by more than delta can bear",
     "keep A' on so that it can be corrected, and look at the corrected ratio in carry_pct"},
    {"autocorr",
     "neighbouring super-rounds resemble each other, so there is less evidence than "
     "the count says",
     "use more processes rather than more rounds, as in --rounds 5x24"},
    {"halves", "the first and the second half of the case disagree by more than 2 delta",
     "run the case again on a quiet machine"},
    {"discard", "rounds were dropped because of this arm far more often than because of others",
     "compare power and clocks in samples.csv; the kept rounds may favour this arm"},
    {"bimodal",
     "the times of the arm or of its baseline fall into two groups with a gap between them",
     "see in the run-order chart what switches; where whole processes differ, the ratio is free of "
     "it but the medians are not"},
    {"clock", "the arms differ in time but not in clock cycles: the running clock decided",
     "read it as a difference in power, or compare with pace = sustained"},
    {"aa_alarm", "the same file with the same options came out different from itself",
     "a false alarm: look at the run-order chart, and at what else the machine did"},
    {"same_sass", "both arms hold the same machine code for this kernel",
     "a difference comes from launch code or from noise"},
    {"activity_change", "the set of kernels, copies and memsets changed between samples",
     "look at activity_set in samples.csv; the median mixes different work"},
    {"no_baseline", "the baseline has no times for this case, so there is nothing to compare with",
     "see why the baseline failed or was skipped, or name another one by role = baseline"},
    {"on_delta", "the change sits on delta, so no affordable number of rounds would decide it",
     "accept UNSURE, or choose another delta before you run again"},
    {"across", "the arm solves a problem of its own, so its ratio carries no verdict",
     "read the ratio as a comparison of two different amounts of work"},
    {"unsafe", "the arm runs with an option that is known to break under named hazards",
     "use it for measuring only; the hazards column names them"},
    {"keeps_workspace",
     "the arm was checked and timed on a workspace that nobody else writes, as its option asks",
     "do not expect its result from a workspace that is shared or reused"},
    {"sampled_check", "outputs were checked on samples, not in full",
     "raise check_time to check more of them"},
    {"above_limit",
     "the call took less time than the machine needs for its work, by `bench ceilings`",
     "the inputs were not cold, or the work is counted wrongly, or the ceilings were measured on a "
     "busy machine: run `bench ceilings` again"},
    {"dropped", "some rounds were dropped and repeated because of throttling or a slow clock",
     "see drop_reason in samples.csv; a quarter more rounds is the most that is repeated"},
    {"env", "the environment was not what the case asked for",
     "run bench doctor and read status_text"},
    {"timer_tick", "the difference is below 1.5 steps of the timer", "compare on a longer case"},
};

#define REASONS_NR (sizeof(reasons) / sizeof(reasons[0]))

const struct reason *reason_at(size_t i)
{
    return i < REASONS_NR ? &reasons[i] : NULL;
}

const struct reason *reason_find(const char *code)
{
    for (size_t i = 0; i < REASONS_NR; i++)
        if (!strcmp(reasons[i].code, code))
            return &reasons[i];
    return NULL;
}

const char *reason_nearest(const char *word)
{
    const char *names[REASONS_NR];

    for (size_t i = 0; i < REASONS_NR; i++)
        names[i] = reasons[i].code;
    return text_nearest(word, names, REASONS_NR);
}
