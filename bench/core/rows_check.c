/*
 * rows_check.c - cells that every row has: what is derived from rows relies on them.
 */
#include <math.h>

#include "rows.h"

static int lacks(const char *path, size_t row, const char *column, struct err *err)
{
    return err_set(err, ERR_CONFIG, "%s: row %zu has no '%s'", path, row + 1, column);
}

static int check_share(const char *path, size_t row, const char *column, double value,
                       struct err *err)
{
    if (isnan(value) || (value >= 0 && value <= 1))
        return 0;
    return err_set(err, ERR_CONFIG, "%s: row %zu has %s %g, expected 0 to 1", path, row + 1, column,
                   value);
}

int case_table_check(const struct case_table *t, const char *path, struct err *err)
{
    for (size_t i = 0; i < t->nr; i++) {
        const struct case_row *row = &t->row[i];
        const struct {
            const char *name, *value;
        } cells[] = {
            {"case_id", row->case_id}, {"arm", row->arm},         {"role", row->role},
            {"status", row->status},   {"problem", row->problem},
        };
        for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
            if (!cells[k].value)
                return lacks(path, i, cells[k].name, err);
        if (check_share(path, i, "p", row->p, err) ||
            check_share(path, i, "p_gate", row->p_gate, err))
            return -1;
    }
    return 0;
}

int sample_table_check(const struct sample_table *t, const char *path, struct err *err)
{
    for (size_t i = 0; i < t->nr; i++) {
        const struct sample_row *row = &t->row[i];
        const char *missing = !row->case_id        ? "case_id"
                              : !row->arm          ? "arm"
                              : !row->activity_set ? "activity_set"
                                                   : NULL;
        if (missing)
            return lacks(path, i, missing, err);
        if (row->process < 0 || row->process >= ROWS_PROCESSES_MAX)
            return err_set(err, ERR_CONFIG, "%s: row %zu has process %lld, expected 0 to %d", path,
                           i + 1, (long long)row->process, ROWS_PROCESSES_MAX - 1);
    }
    return 0;
}
