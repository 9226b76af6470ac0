/*
 * worker.h - the other end of the pipe: the program itself, started with `--worker`.
 */
#ifndef BENCH_CORE_WORKER_H
#define BENCH_CORE_WORKER_H

/* Reads a job from JOB_FD_IN, answers on JOB_FD_OUT, returns an exit status (0 once it said bye).
 */
int worker_main(void);

#endif
