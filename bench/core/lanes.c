#include "lanes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int none_here(const char *want, struct err *err)
{
    return err_set(err, ERR_ENVIRONMENT,
                   "device = %s, but there is no usable GPU here; `bench doctor` says more", want);
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* "0,2": digits and commas, which the reader of the configuration has checked. */
static int read_places(const char *want, const char *list, size_t nr, size_t at[LANES_MAX],
                       size_t *lanes_nr, struct err *err)
{
    for (const char *p = list;; p++) {
        char *end;
        unsigned long place = strtoul(p, &end, 10);

        if (place >= nr)
            return err_set(err, ERR_ENVIRONMENT, "device = %s, but this machine has %zu GPU%s",
                           want, nr, nr == 1 ? "" : "s");
        for (size_t i = 0; i < *lanes_nr; i++)
            if (at[i] == place)
                return err_set(err, ERR_CONFIG, "device = %s names GPU %lu twice", want, place);
        /* No more than LANES_MAX different ones are left, for nr is at most that. */
        at[(*lanes_nr)++] = place;
        if (*end != ',')
            return 0;
        p = end;
    }
}

int lanes_choose(const char *want, const struct device_listing *list, size_t nr,
                 size_t at[LANES_MAX], size_t *lanes_nr, struct err *err)
{
    *lanes_nr = 0;
    if (nr > LANES_MAX)
        nr = LANES_MAX;
    if (!nr)
        return none_here(want, err);
    if (!strcmp(want, "cuda:all")) {
        while (*lanes_nr < nr) {
            at[*lanes_nr] = *lanes_nr;
            ++*lanes_nr;
        }
    } else if (!strncmp(want, "cuda:", 5)) {
        if (read_places(want, want + 5, nr, at, lanes_nr, err))
            return -1;
    } else {
        at[(*lanes_nr)++] = 0;
    }
    qsort(at, *lanes_nr, sizeof(*at), by_place);
    for (size_t i = 1; i < *lanes_nr; i++)
        if (strcmp(list[at[i]].name, list[at[0]].name))
            return err_set(err, ERR_ENVIRONMENT,
                           "device = %s: GPU %zu is '%s' and GPU %zu is '%s', name GPUs of one "
                           "model",
                           want, at[0], list[at[0]].name, at[i], list[at[i]].name);
    return 0;
}

void lanes_assign(const double *cost_s, const int *fixed, size_t cases_nr, size_t lanes_nr,
                  int *lane)
{
    double load_s[LANES_MAX] = {0};

    for (size_t i = 0; i < cases_nr; i++) {
        lane[i] = fixed[i] >= 0 && (size_t)fixed[i] < lanes_nr ? fixed[i] : -1;
        if (lane[i] >= 0)
            load_s[lane[i]] += cost_s[i];
    }
    for (;;) {
        size_t next = cases_nr, least = 0;

        for (size_t i = 0; i < cases_nr; i++)
            if (lane[i] < 0 && (next == cases_nr || cost_s[i] > cost_s[next]))
                next = i;
        if (next == cases_nr)
            return;
        for (size_t k = 1; k < lanes_nr; k++)
            if (load_s[k] < load_s[least])
                least = k;
        lane[next] = (int)least;
        load_s[least] += cost_s[next];
    }
}
