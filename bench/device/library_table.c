/*
 * library_table.c - judges the table that sab_library() returned.
 *
 * Versions and sizes come first: nothing else may be read before they agree. A row that breaks a
 * rule refuses the library; a row of an operator unknown here is passed over; a row whose operator
 * has other lists than ours is refused alone.
 */
#include "library_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"

static int refuse(const struct library *lib, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const struct library *lib, struct err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    err_vset(err, ERR_CONFIG, format, args);
    va_end(args);
    return err_prefix(err, "library '%s'", lib->path);
}

static int check_sizes(const struct library *lib, struct err *err)
{
    const struct sab_library *t = lib->table;
    struct {
        const char *name;
        uint32_t given;
        size_t want;
    } sizes[] = {
        {"sab_library", t->struct_size, sizeof(struct sab_library)},
        {"sab_kernel", t->kernel_size, sizeof(struct sab_kernel)},
        {"sab_option", t->option_size, sizeof(struct sab_option)},
        {"sab_choice", t->choice_size, sizeof(struct sab_choice)},
        {"sab_tensor", t->tensor_size, sizeof(struct sab_tensor)},
        {"sab_problem", t->problem_size, sizeof(struct sab_problem)},
    };

    if (t->abi_version != SAB_ABI_VERSION)
        return refuse(lib, err,
                      "has ABI version %u, this program has %u: build both from the same sab.h",
                      t->abi_version, SAB_ABI_VERSION);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].given != sizes[i].want)
            return refuse(lib, err,
                          "has struct %s of %u bytes, this program of %zu, under the same ABI "
                          "version %u: build both from the same sab.h",
                          sizes[i].name, sizes[i].given, sizes[i].want, SAB_ABI_VERSION);
    if (!t->name || !t->describe || !t->toolkit || !t->targets)
        return refuse(lib, err, "has a null name, describe, toolkit or targets: fill all four");
    if (t->kernels_nr > 0 && !t->kernels)
        return refuse(lib, err, "has %u kernels but no list of them", t->kernels_nr);
    return 0;
}

static bool well_formed(const char *name)
{
    size_t len = name ? strlen(name) : 0;

    return len > 0 && len <= 64 && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

static int check_name(const struct library *lib, const char *what, const char *name,
                      struct err *err)
{
    if (well_formed(name))
        return 0;
    return refuse(
        lib, err,
        "has the %s name '%s': expected lower-case letters, digits and underscores, a letter "
        "first",
        what, name ? name : "(null)");
}

static int check_option(const struct library *lib, const struct sab_kernel *row,
                        const struct sab_option *option, struct err *err)
{
    uint32_t defaults = 0;

    if (check_name(lib, "option", option->name, err) < 0)
        return -1;
    if (!option->help || !option->choices || option->choices_nr == 0)
        return refuse(lib, err, "has no help or no choices in option '%s' of %s/%s", option->name,
                      row->op, row->name);
    for (uint32_t i = 0; i < option->choices_nr; i++) {
        const struct sab_choice *choice = &option->choices[i];

        if (check_name(lib, "choice", choice->name, err) < 0)
            return -1;
        defaults += (choice->flags & SAB_CHOICE_DEFAULT) != 0;
        if (choice->hazards != 0 && (choice->flags & SAB_CHOICE_UNSAFE) == 0)
            return refuse(lib, err,
                          "has hazards in the choice '%s' of option '%s' of %s/%s: flag it "
                          "unsafe",
                          choice->name, option->name, row->op, row->name);
        if (choice->hazards == 0 && (choice->flags & SAB_CHOICE_UNSAFE) != 0)
            return refuse(lib, err,
                          "has the unsafe choice '%s' of option '%s' of %s/%s without a hazard: "
                          "name what it falls to",
                          choice->name, option->name, row->op, row->name);
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(choice->name, option->choices[j].name) == 0)
                return refuse(lib, err, "has the choice '%s' twice in option '%s' of %s/%s",
                              choice->name, option->name, row->op, row->name);
    }
    if (defaults != 1)
        return refuse(lib, err, "has %u defaults in option '%s' of %s/%s: flag exactly one choice",
                      defaults, option->name, row->op, row->name);
    return 0;
}

static int check_options(const struct library *lib, const struct sab_kernel *row, struct err *err)
{
    if (row->options_nr > SAB_MAX_OPTIONS || (row->options_nr > 0 && !row->options))
        return refuse(lib, err, "has %u options in %s/%s: expected a list of at most %d",
                      row->options_nr, row->op, row->name, SAB_MAX_OPTIONS);
    for (uint32_t i = 0; i < row->options_nr; i++) {
        if (check_option(lib, row, &row->options[i], err) < 0)
            return -1;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(row->options[i].name, row->options[j].name) == 0)
                return refuse(lib, err, "has the option '%s' twice in %s/%s", row->options[i].name,
                              row->op, row->name);
    }
    if (row->attributes_nr > 0 && !row->attributes)
        return refuse(lib, err, "has %u attributes but no list of them in %s/%s",
                      row->attributes_nr, row->op, row->name);
    for (uint32_t i = 0; i < row->attributes_nr; i++)
        if (!row->attributes[i].name || !row->attributes[i].value)
            return refuse(lib, err, "has a null attribute in %s/%s", row->op, row->name);
    return 0;
}

static const char *null_hook(const struct sab_kernel *row)
{
    const struct {
        const char *name;
        bool set;
    } hooks[] = {
        {"supports", row->supports != NULL}, {"workspace_size", row->workspace_size != NULL},
        {"plan", row->plan != NULL},         {"launch", row->launch != NULL},
        {"free", row->free != NULL},
    };

    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
        if (!hooks[i].set)
            return hooks[i].name;
    return NULL;
}

static int check_row(const struct library *lib, uint32_t i, struct err *err)
{
    const struct sab_kernel *row = lib->table->kernels[i];
    const char *hook;

    if (!row)
        return refuse(lib, err, "has a null kernel at place %u", i);
    if (row->struct_size != sizeof(*row))
        return refuse(lib, err, "has a kernel row of %u bytes at place %u, this program of %zu",
                      row->struct_size, i, sizeof(*row));
    if (check_name(lib, "operator", row->op, err) < 0 ||
        check_name(lib, "kernel", row->name, err) < 0)
        return -1;
    if (!row->help || !row->targets)
        return refuse(lib, err, "has a null help or targets in %s/%s", row->op, row->name);
    if (row->device != SAB_DEVICE_CPU && row->device != SAB_DEVICE_CUDA)
        return refuse(lib, err, "has device %d in %s/%s: expected %d (cpu) or %d (cuda)",
                      row->device, row->op, row->name, SAB_DEVICE_CPU, SAB_DEVICE_CUDA);
    if ((hook = null_hook(row)) != NULL)
        return refuse(lib, err, "has no %s in %s/%s: every hook must be set", hook, row->op,
                      row->name);
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(row->op, lib->table->kernels[j]->op) == 0 &&
            strcmp(row->name, lib->table->kernels[j]->name) == 0)
            return refuse(lib, err, "has the kernel %s/%s twice", row->op, row->name);
    return check_options(lib, row, err);
}

/* The row's hash must be that of our own first entries. NULL where it is. */
static char *schema_refusal(const struct sab_kernel *row, const struct sab_op_spec *op)
{
    uint64_t own = sab_schema_hash(op, row->tensors_nr, row->params_nr);
    struct strbuf text = STRBUF_INIT;

    if (own != 0 && own == row->schema_hash)
        return NULL;
    if (own == 0)
        strbuf_addf(&text,
                    "%s/%s was built for %u tensors and %u parameters (schema %016" PRIx64
                    "), this program knows %u and %u (schema %016" PRIx64 "): rebuild this program",
                    row->op, row->name, row->tensors_nr, row->params_nr, row->schema_hash,
                    op->tensors_nr, op->params_nr,
                    sab_schema_hash(op, op->tensors_nr, op->params_nr));
    else
        strbuf_addf(&text,
                    "%s/%s was built for schema %016" PRIx64 ", this program has %016" PRIx64
                    " for the same list lengths: build both from the same ops.h",
                    row->op, row->name, row->schema_hash, own);
    return strbuf_detach(&text);
}

static int add_kernel(struct library *lib, const struct sab_kernel *row, struct err *err)
{
    struct library_kernel *kernel = &lib->kernels[lib->kernels_nr];
    char note[256];

    kernel->row = row;
    kernel->op = sab_op_find(row->op);
    kernel->refusal = NULL;
    if (!kernel->op) {
        snprintf(note, sizeof(note),
                 "library '%s': kernel %s/%s is of an unknown operator, ignored", lib->table->name,
                 row->op, row->name);
        return text_list_add(&lib->notes, note, err);
    }
    lib->kernels_nr++;
    kernel->refusal = schema_refusal(row, kernel->op);
    return kernel->refusal ? text_list_add(&lib->notes, kernel->refusal, err) : 0;
}

int library_check_table(struct library *lib, struct err *err)
{
    if (check_sizes(lib, err) < 0)
        return -1;
    for (uint32_t i = 0; i < lib->table->kernels_nr; i++)
        if (check_row(lib, i, err) < 0)
            return -1;
    lib->kernels = calloc((size_t)lib->table->kernels_nr + 1, sizeof(*lib->kernels));
    if (!lib->kernels)
        return err_memory(err);
    for (uint32_t i = 0; i < lib->table->kernels_nr; i++)
        if (add_kernel(lib, lib->table->kernels[i], err) < 0)
            return -1;
    return 0;
}
