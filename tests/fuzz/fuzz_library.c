/*
 * fuzz_library.c - what is known of a kernel library before its code may run, and what its table
 * says: the first byte chooses the ELF file, the table, or the list of resources beside it.
 */
#include "fuzz.h"
#include "library_check.h"
#include "resources.h"

/* ---- the table: numbers and words from the input, pointers that are good or NULL ---- */

struct reader {
    const uint8_t *at, *end;
    char text[4096]; /* words that were handed out */
    size_t used;
};

static uint32_t number(struct reader *r, uint32_t below)
{
    uint32_t byte = r->at < r->end ? *r->at++ : 0;
    return below ? byte % below : byte;
}

/* NULL, a word of the input, or an operator that there is. */
static const char *word(struct reader *r)
{
    uint32_t kind = number(r, 8), len = number(r, 16);
    char *text = r->text + r->used;

    if (kind == 0 || r->used + len + 1 > sizeof(r->text))
        return NULL;
    if (kind < 4)
        return kind == 1 ? "copy" : kind == 2 ? "sage_fwd" : "cpu";
    for (uint32_t i = 0; i < len; i++)
        text[i] = (char)number(r, 0);
    text[len] = '\0';
    r->used += len + 1;
    return text;
}

/* A size that is right nearly always: else nothing behind it would be reached. */
static uint32_t size_of(struct reader *r, size_t right)
{
    return number(r, 32) ? (uint32_t)right : number(r, 0);
}

static int supports(const struct sab_problem *p, struct sab_message *m)
{
    (void)p;
    (void)m;
    return 0;
}

static int workspace_size(const struct sab_problem *p, uint64_t *bytes, struct sab_message *m)
{
    (void)p;
    (void)m;
    *bytes = 0;
    return 0;
}

static int plan(const struct sab_problem *p, const struct sab_buffer *w, void **out,
                struct sab_message *m)
{
    (void)p;
    (void)w;
    (void)m;
    *out = NULL;
    return 0;
}

static int launch(void *p, void *stream, struct sab_message *m)
{
    (void)p;
    (void)stream;
    (void)m;
    return 0;
}

static void drop(void *p)
{
    (void)p;
}

#define ROWS    4
#define OPTIONS 3
#define CHOICES 3

struct rows {
    struct sab_choice choice[ROWS][OPTIONS][CHOICES];
    struct sab_option option[ROWS][OPTIONS];
    struct sab_attribute attribute[ROWS][2];
    struct sab_kernel kernel[ROWS];
    const struct sab_kernel *list[ROWS];
};

static void fill_options(struct reader *r, struct rows *rows, size_t i)
{
    for (size_t o = 0; o < OPTIONS; o++) {
        for (size_t c = 0; c < CHOICES; c++)
            rows->choice[i][o][c] =
                (struct sab_choice){word(r), word(r), number(r, 8), number(r, 4)};
        rows->option[i][o] = (struct sab_option){
            word(r), word(r), number(r, 8) ? rows->choice[i][o] : NULL, number(r, CHOICES + 1)};
    }
    for (size_t a = 0; a < 2; a++)
        rows->attribute[i][a] = (struct sab_attribute){word(r), word(r)};
}

static void fill_row(struct reader *r, struct rows *rows, size_t i)
{
    struct sab_kernel *k = &rows->kernel[i];

    fill_options(r, rows, i);
    *k = (struct sab_kernel){.struct_size = size_of(r, sizeof(*k)),
                             .op = word(r),
                             .schema_hash = number(r, 0),
                             .tensors_nr = number(r, 0),
                             .params_nr = number(r, 0),
                             .name = word(r),
                             .help = word(r),
                             .device = (int32_t)number(r, 3),
                             .targets = word(r),
                             .options = number(r, 8) ? rows->option[i] : NULL,
                             .options_nr = number(r, OPTIONS + 1),
                             .attributes = number(r, 8) ? rows->attribute[i] : NULL,
                             .attributes_nr = number(r, 3),
                             .flags = number(r, 8)};
    k->supports = number(r, 16) ? supports : NULL;
    k->workspace_size = number(r, 16) ? workspace_size : NULL;
    k->plan = number(r, 16) ? plan : NULL;
    k->launch = number(r, 16) ? launch : NULL;
    k->free = number(r, 16) ? drop : NULL;
    rows->list[i] = number(r, 16) ? k : NULL;
}

static void ask(const struct library *lib, struct err *err)
{
    uint32_t choices[SAB_MAX_OPTIONS];

    for (size_t i = 0; i < lib->kernels_nr; i++) {
        const struct sab_kernel *row = lib->kernels[i].row;

        library_default_choices(row, choices);
        FUZZ_ASSERT(lib->kernels[i].refusal || library_find_kernel(lib, row->op, row->name, err));
        library_find_option(row, "descriptor", err);
    }
    library_find(lib, "sage_fwd/cpu", err);
}

static void check_table(const uint8_t *data, size_t size)
{
    struct reader r = {.at = data, .end = data + size};
    struct rows *rows = calloc(1, sizeof(*rows));
    struct library lib = {.path = strdup("/fuzz.so")};
    struct err err = ERR_INIT;

    if (!rows || !lib.path)
        abort();
    const struct sab_library table = {.abi_version = size_of(&r, SAB_ABI_VERSION),
                                      .struct_size = size_of(&r, sizeof(struct sab_library)),
                                      .kernel_size = size_of(&r, sizeof(struct sab_kernel)),
                                      .option_size = size_of(&r, sizeof(struct sab_option)),
                                      .choice_size = size_of(&r, sizeof(struct sab_choice)),
                                      .tensor_size = size_of(&r, sizeof(struct sab_tensor)),
                                      .problem_size = size_of(&r, sizeof(struct sab_problem)),
                                      .kernels_nr = number(&r, ROWS + 1),
                                      .name = word(&r),
                                      .describe = word(&r),
                                      .toolkit = word(&r),
                                      .targets = word(&r),
                                      .kernels = number(&r, 16) ? rows->list : NULL};
    for (size_t i = 0; i < ROWS; i++)
        fill_row(&r, rows, i);
    lib.table = &table;
    int ret = library_check_table(&lib, &err);
    fuzz_check_error(ret, &err);
    if (!ret)
        ask(&lib, &err);
    library_close(&lib);
    free(rows);
}

/* ---- files ---- */

static void check_elf(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;

    fuzz_enter_folder();
    fuzz_put("fuzz.so", data, size);
    fuzz_check_error(library_check_elf("fuzz.so", &err), &err);
}

static void read_resources(const uint8_t *data, size_t size)
{
    const struct sab_kernel kernel = {.op = "copy", .name = "vector", .device = SAB_DEVICE_CUDA};
    struct library lib = {.resources = strndup((const char *)data, size)};
    struct err err = ERR_INIT;
    struct case_row row;

    if (!lib.resources)
        abort();
    case_row_init(&row);
    fuzz_check_error(resources_fill(&lib, &kernel, 90, &row, &err), &err);
    case_row_release(&row);
    free(lib.resources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] == 'E')
        check_elf(data + 1, size - 1);
    else if (data[0] == 'R')
        read_resources(data + 1, size - 1);
    else
        check_table(data + 1, size - 1);
    return 0;
}
