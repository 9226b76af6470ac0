/*
 * test_descriptor.c - the three descriptor ABIs of the Sage contract (section 7.2) as far as they
 * go without a GPU: what the option says, the workspace rows of section 12, and the table of ABI 1
 * with the faults that it must have.
 */
#include "test_validate_world.h"

#include <stdlib.h>

#include "descriptor_call.h"
#include "library.h"
#include "mma_table.h"

#define BYTES 512 /* contract, section 7.2 */

static void legal(struct world *w, const uint32_t *choice)
{
    world_init(w, "sage_fwd");
    give(w, "q_int8", SAB_I8, "1 1 64 128");
    give(w, "k_int8", SAB_I8, "1 1 128 128");
    give(w, "v_fp8", SAB_E4M3, "1 1 128 128");
    give(w, "q_scale", SAB_F32, "1 1 4");
    give(w, "k_scale", SAB_F32, "1 1 2");
    give(w, "v_scale", SAB_F32, "1 1 128");
    give(w, "q2k_block_index", SAB_I32, "1 1 1 2");
    give(w, "out", SAB_BF16, "1 1 64 128");
    for (uint32_t t = 0; t < w->op->tensors_nr; t++)
        w->t[t].memory = SAB_MEMORY_DEVICE;
    w->problem.choices = choice;
    w->problem.choices_nr = 1;
}

static uint32_t place_of(const char *choice)
{
    const struct sab_option *o = &sage_descriptor_options[0];

    for (uint32_t i = 0; i < o->choices_nr; i++)
        if (strcmp(o->choices[i].name, choice) == 0)
            return i;
    fail_msg("no choice '%s'", choice);
    return 0;
}

static const struct sab_choice *choice_of(const struct sab_kernel *row, const char *name)
{
    assert_int_equal(row->options_nr, 1);
    assert_string_equal(row->options[0].name, "descriptor");
    assert_int_equal(row->options[0].choices_nr, 3);
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(row->options[0].choices[i].name, name) == 0)
            return &row->options[0].choices[i];
    fail_msg("%s has no choice '%s'", row->name, name);
    return NULL;
}

/* Section 7.3: ABI 1 is expected to fail these; ABI 2 and 3 none. */
static void test_rows(void **state)
{
    static const char *const kernels[] = {"sage_fwd/mma", "sage_fwd/wgmma"};
    const uint32_t fails = SAB_HAZARD_ZEROED | SAB_HAZARD_STALE_VALID | SAB_HAZARD_RECYCLED_VIEW |
                           SAB_HAZARD_GRAPH_REPLAY | SAB_HAZARD_NO_GROWTH |
                           SAB_HAZARD_ORDERED_STREAMS;
    struct library lib;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(library_open(&lib, LIBRARY_DIR "/libsab_kernels.so", &err), 0);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        const struct library_kernel *k = library_find(&lib, kernels[i], &err);
        const struct sab_choice *c;

        assert_non_null(k);
        c = choice_of(k->row, "by_value");
        assert_int_equal(c->flags, SAB_CHOICE_DEFAULT);
        assert_int_equal(c->hazards, 0);
        c = choice_of(k->row, "upload");
        assert_int_equal(c->flags, 0);
        assert_int_equal(c->hazards, 0);
        c = choice_of(k->row, "cached");
        assert_int_equal(c->flags, SAB_CHOICE_UNSAFE | SAB_CHOICE_KEEPS_WORKSPACE);
        assert_int_equal(c->hazards, fails);
    }
    library_close(&lib);
}

static void test_sizes(void **state)
{
    static const struct {
        const char *choice;
        uint64_t bytes;
    } rows[] = {{"by_value", 0}, {"upload", BYTES}, {"cached", BYTES}};
    char text[256] = "";
    struct sab_message msg = {text, sizeof(text)};
    uint64_t bytes = 1;
    uint32_t choice;
    struct world w;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        choice = place_of(rows[i].choice);
        legal(&w, &choice);
        assert_int_equal(sage_descriptor_workspace_size(&w.problem, &bytes, &msg), SAB_OK);
        assert_int_equal(bytes, rows[i].bytes);
    }
    w.problem.choices_nr = 0; /* nothing chosen: the default */
    assert_int_equal(sage_descriptor_workspace_size(&w.problem, &bytes, &msg), SAB_OK);
    assert_int_equal(bytes, 0);
    choice = 3;
    legal(&w, &choice);
    assert_int_equal(sage_descriptor_workspace_size(&w.problem, &bytes, &msg), SAB_INVALID);
    assert_non_null(strstr(text, "'descriptor'"));
}

/* Section 12: under 512 bytes, not 128-byte aligned, not device memory; section 7.3 `empty` and
 * `degenerate`: ABI 3 takes all of them. */
static void test_workspaces(void **state)
{
    static const struct {
        const char *name, *words;
        struct sab_buffer buffer;
    } rows[] = {
        {"right", NULL, {(void *)(1ull << 20), BYTES, SAB_MEMORY_DEVICE, 0}},
        {"larger", NULL, {(void *)(1ull << 20), 4096, SAB_MEMORY_DEVICE, 0}},
        {"empty", "0 bytes", {(void *)(1ull << 20), 0, SAB_MEMORY_DEVICE, 0}},
        {"small", "511 bytes", {(void *)(1ull << 20), 511, SAB_MEMORY_DEVICE, 0}},
        {"odd", "128 bytes", {(void *)((1ull << 20) + 1), BYTES, SAB_MEMORY_DEVICE, 0}},
        {"half", "128 bytes", {(void *)((1ull << 20) + 64), BYTES, SAB_MEMORY_DEVICE, 0}},
        {"host", "host memory", {(void *)(1ull << 20), BYTES, SAB_MEMORY_HOST, 0}},
        {"elsewhere", "device 1", {(void *)(1ull << 20), BYTES, SAB_MEMORY_DEVICE, 1}},
        {"null", "missing", {NULL, BYTES, SAB_MEMORY_DEVICE, 0}},
        {"of the output", "'out'", {(void *)(9ull << 40), BYTES, SAB_MEMORY_DEVICE, 0}},
    };
    static const char *const choices[] = {"by_value", "upload", "cached"};
    char text[256];
    struct sab_message msg = {text, sizeof(text)};

    (void)state;
    for (size_t c = 0; c < 3; c++) {
        const uint32_t choice = place_of(choices[c]);
        enum sage_descriptor got;
        struct world w;

        legal(&w, &choice);
        tensor(&w, "out")->data = (void *)(9ull << 40);
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            const bool right = c == 0 || !rows[i].words;

            text[0] = '\0';
            assert_int_equal(sage_descriptor_check(&w.problem, &rows[i].buffer, &got, &msg),
                             right ? SAB_OK : SAB_INVALID);
            assert_int_equal(got, choice);
            if (!right && !strstr(text, rows[i].words))
                fail_msg("%s of %s: %s", rows[i].name, choices[c], text);
        }
        assert_int_equal(sage_descriptor_check(&w.problem, NULL, &got, &msg),
                         c == 0 ? SAB_OK : SAB_INVALID);
    }
}

static struct sage_table_upload upload_at(uint64_t address, const void *maps)
{
    return (struct sage_table_upload){
        .device = 0, .address = address, .buffer_id = 7, .maps = maps};
}

/* Section 7.2: a hit needs the same device, address, buffer id and map bytes; nothing else. */
static void test_table(void **state)
{
    uint8_t a[BYTES] = {1}, b[BYTES] = {1};
    struct sage_table *table = calloc(1, sizeof(*table));
    struct sage_table_upload upload = upload_at(4096, a), other;

    (void)state;
    assert_non_null(table);
    b[BYTES - 1] = 1;
    assert_int_equal(sage_table_knows(table, &upload), 0);
    assert_int_equal(sage_table_note(table, &upload, NULL), SAB_OK);
    assert_int_equal(sage_table_knows(table, &upload), 1);
    other = upload_at(4096 + 128, a);
    assert_int_equal(sage_table_knows(table, &other), 0);
    other = upload;
    other.device = 1;
    assert_int_equal(sage_table_knows(table, &other), 0);
    other = upload;
    other.buffer_id = 8;
    assert_int_equal(sage_table_knows(table, &other), 0);
    other = upload_at(4096, b);
    assert_int_equal(sage_table_knows(table, &other), 0);
    /* Other maps at the address take the place of the first. */
    assert_int_equal(sage_table_note(table, &other, NULL), SAB_OK);
    assert_int_equal(sage_table_knows(table, &upload), 0);
    assert_int_equal(sage_table_knows(table, &other), 1);
    assert_int_equal(table->nr, 1);
    sage_table_release(table);
    assert_int_equal(sage_table_knows(table, &other), 0);
    free(table);
}

/* Section 7.2: an entry a workspace address, without bound, and none is lost. */
static void test_table_grows(void **state)
{
    enum { ADDRESSES = 20000 };
    const uint8_t maps[BYTES] = {0};
    struct sage_table *table = calloc(1, sizeof(*table));

    (void)state;
    assert_non_null(table);
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        struct sage_table_upload upload = upload_at(4096 + i * BYTES, maps);

        assert_int_equal(sage_table_knows(table, &upload), 0);
        assert_int_equal(sage_table_note(table, &upload, NULL), SAB_OK);
        assert_int_equal(sage_table_note(table, &upload, NULL), SAB_OK);
    }
    assert_int_equal(table->nr, ADDRESSES);
    for (uint64_t i = 0; i < ADDRESSES; i++) {
        struct sage_table_upload upload = upload_at(4096 + i * BYTES, maps);

        assert_int_equal(sage_table_knows(table, &upload), 1);
    }
    sage_table_release(table);
    free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_workspaces),  cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
