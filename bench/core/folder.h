/*
 * folder.h - what may be asked of a finished results folder before it is read whole.
 */
#ifndef BENCH_CORE_FOLDER_H
#define BENCH_CORE_FOLDER_H

#include "err.h"
#include "json.h"
#include "profile.h"

/* run.json of a folder; the caller drops the reference. ERR_CONFIG where there is none. */
int folder_read_run(const char *dir, json_t **run, struct err *err);

/* Holds the files of a folder against the hashes that its run.json lists: a sealed folder is never
 * edited. ERR_CONFIG names the file that was; a folder that lists none is not sealed: an error too.
 */
int folder_check_hashes(const char *dir, const json_t *run, struct err *err);

/* The same of one file for readers who take it as it is: 0 also where run.json lists none or the
 * file is not there. */
int folder_check_hash(const char *dir, const json_t *run, const char *name, struct err *err);

/* ERR_CONFIG where `name` (an integer: "schema", "protocol") differs between the run.json of two
 * folders. Both folders and both values are named. */
int folder_same_version(const char *name, const char *dir_a, const json_t *a, const char *dir_b,
                        const json_t *b, struct err *err);

/* The noise floors by duration that a run took from the machine profile; none where it had none. */
void folder_noise_floors(const json_t *run, struct noise_floors *floors);

#endif
