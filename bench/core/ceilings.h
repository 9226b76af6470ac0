/*
 * ceilings.h - what this machine can do, as `bench ceilings` measured it, and how near a case
 * comes.
 *
 * A rate is the best median (on a CPU the least time) of some kernel of an operator of the
 * catalogue that only moves bytes or only counts. Rates go by a size: bytes of a buffer (memory),
 * bytes that are reached at random (rows). They are kept in the machine profile, one set a device,
 * driver and number of threads, and each run stores those that it used.
 */
#ifndef BENCH_CORE_CEILINGS_H
#define BENCH_CORE_CEILINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"
#include "json.h"
#include "opmodel.h"
#include "rows.h"

/* Beyond the resources of opmodel.h: tiles or rows and reductions at once, told but not used. */
enum { CEILING_BOTH = OP_RESOURCES_NR, CEILING_KINDS };

struct ceiling {
    int kind;      /* enum op_resource; OP_WRITE is a copy, its bytes counted once */
    double size;   /* bytes; 0 where a rate has none */
    double per_ns; /* bytes or operations */
    double run_mhz;
    char arm[64];
};

struct ceilings {
    struct ceiling *item;
    size_t nr, alloc;
};

void ceilings_init(struct ceilings *c);
void ceilings_release(struct ceilings *c);

/* "memory read", "tensor bf16"... */
const char *ceiling_name(int kind);

/* The best rate of each kind and size among the rows of a run. Rows of other operators, and rows
 * that are not ok, say nothing. */
int ceilings_take(struct ceilings *c, const struct case_table *cases, struct err *err);
/* Adds what `c` has not. */
int ceilings_add_missing(struct ceilings *c, const struct ceilings *from, struct err *err);
json_t *ceilings_json(const struct ceilings *c);
int ceilings_from_json(struct ceilings *c, const json_t *list, struct err *err);

/* Rate at a size: between two measured ones in proportion to the logarithm, beyond them that of the
 * last. NAN where the kind was not measured. */
double ceilings_rate(const struct ceilings *c, int kind, double size);

/* Times that a case cannot beat, in ns; NAN where nothing is known. */
struct ceiling_bound {
    double limit_ns;  /* by the nearest limit, those on the way from L2 included */
    double bound_ns;  /* by memory and the tensor units alone, which no kernel goes round */
    const char *name; /* of the nearest limit */
};

/* `cold`: inputs come from memory. Memory bounds a case only where it moves so much that neither
 * the way there nor what stayed in a cache counts. */
void ceilings_bound(const struct ceilings *c, const struct op_cost *cost, bool cold,
                    struct ceiling_bound *out);

/* A result this much above its bound is not what it seems to be. */
#define CEILING_TOLERANCE 0.05

/* Of the machine profile; none where nothing was measured with this driver. */
int ceilings_read(struct ceilings *c, const struct device_info *device, struct err *err);
/* Adds those of the profile of which `c` has no rate at the same size. */
int ceilings_keep(struct ceilings *c, const struct device_info *device, struct err *err);
/* Replaces them. `about` is kept beside them. */
int ceilings_write(const struct ceilings *c, const struct device_info *device, json_t *about,
                   struct err *err);

#endif
