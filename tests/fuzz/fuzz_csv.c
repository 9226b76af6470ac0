/*
 * fuzz_csv.c - the CSV reader, and the two tables on it: what is read is written and read again to
 * the same bytes.
 */
#include "fuzz.h"
#include "rows.h"

static void read_plain(const char *text, size_t len)
{
    struct err err = ERR_INIT;
    struct csv csv;
    double real;
    int64_t whole;

    csv_init(&csv);
    int ret = csv_read_text(&csv, "fuzz.csv", text, len, &err);
    fuzz_check_error(ret, &err);
    for (size_t r = 0; !ret && r < csv.nr_rows; r++)
        for (size_t c = 0; c < csv.nr_columns; c++) {
            FUZZ_ASSERT(strlen(csv_cell(&csv, r, c)) <= len);
            csv_cell_real(&csv, r, c, &real, NULL);
            csv_cell_int(&csv, r, c, &whole, NULL);
        }
    csv_release(&csv);
}

static void read_cases(const char *text)
{
    struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct case_table t, again;

    case_table_init(&t);
    case_table_init(&again);
    int ret = case_table_read_text(&t, "cases.csv", text, &err);
    fuzz_check_error(ret, &err);
    if (!ret) {
        FUZZ_ASSERT(!case_table_write(&t, &first, &err));
        FUZZ_ASSERT(!case_table_read_text(&again, "cases.csv", first.buf, &err));
        FUZZ_ASSERT(!case_table_write(&again, &second, &err));
        FUZZ_ASSERT(!strcmp(first.buf, second.buf));
    }
    case_table_release(&t);
    case_table_release(&again);
    strbuf_release(&first);
    strbuf_release(&second);
}

static void read_samples(const char *text)
{
    struct err err = ERR_INIT;
    struct sample_table t;

    sample_table_init(&t);
    int ret = sample_table_read_text(&t, "samples.csv", text, &err);
    fuzz_check_error(ret, &err);
    sample_table_release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);

    if (!text)
        abort();
    read_plain((const char *)data, size);
    read_cases(text);
    read_samples(text);
    free(text);
    return 0;
}
