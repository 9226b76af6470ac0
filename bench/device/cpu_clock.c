/*
 * cpu_clock.c - what the host's clock can tell apart, and how fast the core runs.
 */
#include <math.h>

#include "cpu_internal.h"

#define TICK_READINGS 4096
#define CHAIN_LOOPS   100
#define CHAIN_STEPS   64 /* additions a loop */
#define CHAIN_TRIES   3

double cpu_clock_tick_ns(void)
{
    double smallest = 0;
    double last = device_clock_ns();

    for (int i = 0; i < TICK_READINGS; i++) {
        const double now = device_clock_ns();
        const double step = now - last;

        if (step > 0 && (smallest == 0 || step < smallest))
            smallest = step;
        last = now;
    }
    return smallest > 1 ? smallest : 1;
}

/* Additions of registers that wait for each other: one cycle each on every x86-64 and aarch64 core
 * of note (additions of a constant are not: some cores fold them while renaming). The loop counter
 * is not on the chain, so that its instructions cost nothing. */
#if defined(__x86_64__)
static void chain_run(unsigned long loops)
{
    unsigned long x = loops;

    __asm__ volatile("1:\n\t"
                     ".rept 64\n\t"
                     "addq %[y], %[x]\n\t"
                     ".endr\n\t"
                     "decq %[n]\n\t"
                     "jnz 1b"
                     : [x] "+r"(x), [n] "+r"(loops)
                     : [y] "r"(3ul)
                     : "cc");
}
#    define CHAIN_KNOWN 1
#elif defined(__aarch64__)
static void chain_run(unsigned long loops)
{
    unsigned long x = loops;

    __asm__ volatile("1:\n\t"
                     ".rept 64\n\t"
                     "add %[x], %[x], %[y]\n\t"
                     ".endr\n\t"
                     "subs %[n], %[n], #1\n\t"
                     "b.ne 1b"
                     : [x] "+r"(x), [n] "+r"(loops)
                     : [y] "r"(3ul)
                     : "cc");
}
#    define CHAIN_KNOWN 1
#endif

double cpu_clock_mhz(double tick_ns)
{
#ifdef CHAIN_KNOWN
    double best = 0;

    /* An interrupt can only lengthen a try: the fastest one is the clock. */
    for (int i = 0; i < CHAIN_TRIES; i++) {
        const double begin = device_clock_ns();
        double ns;

        chain_run(CHAIN_LOOPS);
        ns = device_clock_ns() - begin;
        if (best == 0 || ns < best)
            best = ns;
    }
    /* A reading of the clock itself costs about one tick (cpu_clock_tick_ns). */
    if (best <= 20 * tick_ns)
        return NAN;
    return 1e3 * CHAIN_LOOPS * CHAIN_STEPS / (best - tick_ns);
#else
    (void)tick_ns;
    return NAN;
#endif
}
