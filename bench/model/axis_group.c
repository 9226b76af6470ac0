#include <stdlib.h>
#include <string.h>

#include "axis.h"

/* What the names of a key ("heads:head_dim") stand for. */
struct columns {
    struct text_list names;
    const struct axis_spec *spec[OP_MAX_AXES];
};

static int name_columns(struct axis_group *group, struct columns *columns,
                        const struct op_model *op, const char *key, struct err *err)
{
    if (text_split(&columns->names, key, ':', err))
        return -1;
    for (size_t i = 0; i < OP_MAX_AXES; i++)
        group->column_of[i] = -1;
    for (size_t c = 0; c < columns->names.nr; c++) {
        const char *name = columns->names.items[c];
        int places[2];
        size_t nr = axis_targets(op, name, places);

        if (nr == 0)
            return axis_unknown(op, name, err);
        for (size_t i = 0; i < nr; i++) {
            if (group->column_of[places[i]] >= 0)
                return err_set(err, ERR_CONFIG, "key '%.200s' sets axis '%.200s' twice", key,
                               op->axes[places[i]].name);
            group->column_of[places[i]] = (int)c;
        }
        columns->spec[c] = &op->axes[places[0]];
    }
    group->columns_nr = columns->names.nr;
    return 0;
}

/* Moves a list behind the elements that are there. */
static void append(struct axis_group *group, struct axis_list *list)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a group has columns */
    memcpy(group->element + group->rows_nr * group->columns_nr, list->item,
           list->nr * sizeof(*list->item));
    group->rows_nr += list->nr / group->columns_nr;
    list->nr = 0;
}

static int read_single(struct axis_group *group, const struct columns *columns,
                       const struct op_model *op, const char *value, struct err *err)
{
    struct axis_list list = {0};

    if (axis_list_read(op, columns->spec[0], value, &list, err)) {
        axis_list_release(&list);
        return -1;
    }
    group->element = list.item;
    group->rows_nr = list.nr;
    return 0;
}

/* One row "64:512" of a zip. */
static int read_row(struct axis_list *row, const struct columns *columns, const struct op_model *op,
                    const char *text, struct err *err)
{
    struct text_list cells = {0};
    int rc = text_split(&cells, text, ':', err);

    if (!rc && cells.nr != columns->names.nr)
        rc = err_set(err, ERR_CONFIG, "'%.200s' has %zu values where the zip has %zu axes", text,
                     cells.nr, columns->names.nr);
    for (size_t c = 0; !rc && c < cells.nr; c++) {
        rc = axis_list_read(op, columns->spec[c], cells.items[c], row, err);
        if (!rc && row->nr != c + 1)
            rc =
                err_set(err, ERR_CONFIG, "'%.200s' holds a range: a zip takes single values", text);
    }
    text_list_release(&cells);
    return rc;
}

static int read_zip(struct axis_group *group, const struct columns *columns,
                    const struct op_model *op, const char *value, struct err *err)
{
    struct text_list rows = {0};
    struct axis_list row = {0};
    int rc = text_split(&rows, value, ',', err);

    if (!rc && rows.nr == 0)
        rc = err_set(err, ERR_CONFIG, "the zip has no value");
    if (!rc) {
        group->element = calloc(rows.nr * group->columns_nr, sizeof(*group->element));
        if (!group->element)
            rc = err_memory(err);
    }
    for (size_t r = 0; !rc && r < rows.nr; r++) {
        rc = read_row(&row, columns, op, rows.items[r], err);
        if (!rc)
            append(group, &row);
    }
    axis_list_release(&row);
    text_list_release(&rows);
    return rc;
}

/* A column that serves two axes was read by the first one's range. */
static int check_ranges(const struct axis_group *group, const struct op_model *op, struct err *err)
{
    for (size_t place = 0; place < op->axes_nr; place++) {
        int c = group->column_of[place];

        for (size_t r = 0; c >= 0 && r < group->rows_nr; r++) {
            const struct axis_element *e = &group->element[r * group->columns_nr + (size_t)c];

            if (!e->expr && axis_value_check(&op->axes[place], &e->value, err))
                return -1;
        }
    }
    return 0;
}

int axis_group_read(struct axis_group *group, const struct op_model *op, const char *key,
                    const char *value, struct err *err)
{
    struct columns columns = {.names = {0}};
    int rc = name_columns(group, &columns, op, key, err);

    if (!rc)
        rc = group->columns_nr > 1 ? read_zip(group, &columns, op, value, err)
                                   : read_single(group, &columns, op, value, err);
    if (!rc)
        rc = check_ranges(group, op, err);
    text_list_release(&columns.names);
    return rc;
}
