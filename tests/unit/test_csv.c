#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

static int read_text(struct csv *csv, const char *text, struct err *err)
{
    csv_init(csv);
    return csv_read_text(csv, "t.csv", text, strlen(text), err);
}

static void writes(void **state)
{
    static const char *const names[] = {"a", "b,c", "d"};
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct csv_writer writer;

    (void)state;
    csv_writer_init(&writer, &sb, 0);
    assert_int_equal(csv_header(&writer, names, 3, &err), 0);
    csv_text(&writer, "say \"hi\"\nthere");
    csv_real(&writer, 0.1);
    csv_real(&writer, NAN);
    assert_int_equal(csv_end_row(&writer, &err), 0);
    csv_text(&writer, NULL);
    csv_int(&writer, INT64_MIN);
    csv_uint(&writer, UINT64_MAX);
    assert_int_equal(csv_end_row(&writer, &err), 0);
    csv_real(&writer, -INFINITY);
    csv_empty(&writer, 2);
    assert_int_equal(csv_end_row(&writer, &err), 0);
    assert_string_equal(sb.buf, "a,\"b,c\",d\n"
                                "\"say \"\"hi\"\"\nthere\",0.1,\n"
                                ",-9223372036854775808,18446744073709551615\n"
                                "-inf,,\n");
    csv_text(&writer, "short");
    assert_int_equal(csv_end_row(&writer, &err), -1);
    assert_string_equal(err.text, "a CSV row of 1 fields in a table of 3 columns");
    assert_int_equal(err.kind, ERR_BUG);
    strbuf_release(&sb);
}

static void refuses_bad_headers(void **state)
{
    static const char *const twice[] = {"a", "b", "a"}, *const blank[] = {"a", ""};
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct csv_writer writer;

    (void)state;
    csv_writer_init(&writer, &sb, 0);
    assert_int_equal(csv_header(&writer, twice, 3, &err), -1);
    assert_string_equal(err.text, "CSV column 'a' stands twice in the header");
    csv_writer_init(&writer, &sb, 0);
    assert_int_equal(csv_header(&writer, blank, 2, &err), -1);
    strbuf_release(&sb);
}

static void reads(void **state)
{
    struct err err = ERR_INIT;
    struct csv csv;
    double real = 0;
    int64_t whole = 0;
    size_t column;

    (void)state;
    assert_int_equal(read_text(&csv,
                               "\xef\xbb\xbf"
                               "name,\"x,y\",n\r\n"
                               "\"a \"\"b\"\"\r\nc\",1e-3,-7\r\n"
                               ",,\n"
                               "\"\",inf,4k\n",
                               &err),
                     0);
    assert_false(csv.torn);
    assert_int_equal(csv.nr_columns, 3);
    assert_int_equal(csv.nr_rows, 3);
    assert_int_equal(csv_column(&csv, "x,y"), 1);
    assert_int_equal(csv_column(&csv, "z"), -1);
    assert_string_equal(csv_cell(&csv, 0, 0), "a \"b\"\r\nc");
    assert_int_equal(csv_cell_real(&csv, 0, 1, &real, &err), 0);
    assert_true(real == 1e-3);
    assert_int_equal(csv_cell_int(&csv, 0, 2, &whole, &err), 0);
    assert_int_equal(whole, -7);
    assert_int_equal(csv_cell_real(&csv, 1, 1, &real, &err), 0);
    assert_true(isnan(real));
    assert_int_equal(csv_cell_real(&csv, 2, 1, &real, &err), 0);
    assert_true(isinf(real));
    assert_int_equal(csv_cell_int(&csv, 1, 2, &whole, &err), -1);
    assert_int_equal(csv_cell_int(&csv, 2, 2, &whole, &err), -1);
    assert_string_equal(err.text,
                        "t.csv: row 3, column 'n': '4k' is not a whole number of 64 bits");
    assert_int_equal(csv_cell_real(&csv, 0, 0, &real, &err), -1);
    assert_int_equal(csv_find_column(&csv, "nam", &column, &err), -1);
    assert_string_equal(err.text, "t.csv: no column 'nam', did you mean 'name'");
    assert_int_equal(csv_find_column(&csv, "n", &column, &err), 0);
    assert_int_equal(column, 2);
    csv_release(&csv);
}

/* Every prefix of a good file reads, with the whole lines and nothing of the torn one. */
static void tolerates_a_torn_tail(void **state)
{
    static const char text[] = "a,b\n1,\"x\ny\"\n22,\"z\"\n3,4\n";
    struct err err = ERR_INIT;
    struct csv csv;
    size_t len;

    (void)state;
    for (len = 4; len < sizeof(text); len++) {
        size_t rows = len < 12 ? 0 : len < 19 ? 1 : len < 23 ? 2 : 3;
        size_t whole = len < 12 ? 4 : len < 19 ? 12 : len < 23 ? 19 : 23;

        csv_init(&csv);
        assert_int_equal(csv_read_text(&csv, "t.csv", text, len, &err), 0);
        assert_int_equal(csv.nr_rows, rows);
        assert_int_equal(csv.whole_bytes, whole);
        assert_int_equal(csv.torn, len != whole);
        csv_release(&csv);
    }
    csv_init(&csv);
    assert_int_equal(csv_read_text(&csv, "t.csv", "a,b\n1,2\n3\0\0\0", 12, &err), 0);
    assert_true(csv.torn);
    assert_int_equal(csv.nr_rows, 1);
    csv_release(&csv);
}

static void refuses(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } bad[] = {
        {"", "t.csv: empty, without a header line"},
        {"\xef\xbb\xbf", "t.csv: empty, without a header line"},
        {"a,b", "t.csv:1: no complete header line"},
        {"a,,b\n", "t.csv:1: column 2 has no name"},
        {"a,b,a\n", "t.csv:1: column 'a' stands twice"},
        {"\n1\n", "t.csv:1: column 1 has no name"},
        {"a,b\n1,2\n3\n4,5\n", "t.csv:3: 1 fields where the header has 2"},
        {"a,b\n1,2,3\n", "t.csv:2: 3 fields where the header has 2"},
        {"a,b\n\"x\n\",1\n\n", "t.csv:4: 1 fields where the header has 2"},
        {"a\nx\"y\n", "t.csv:2: a quote inside a field that is not quoted"},
        {"a\n\"x\"y\n", "t.csv:2: a carriage return or text where a field should end"},
        {"a\nx\ry\n", "t.csv:2: a carriage return or text where a field should end"},
    };
    struct err err = ERR_INIT;
    struct csv csv;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_text(&csv, bad[i].text, &err), -1);
        assert_string_equal(err.text, bad[i].message);
        csv_release(&csv);
    }
    csv_init(&csv);
    assert_int_equal(csv_read_text(&csv, "t.csv", "a\nx\0y\n", 6, &err), -1);
    assert_string_equal(err.text, "t.csv:2: a NUL byte: not a text file");
    csv_release(&csv);
    csv_init(&csv);
    assert_int_equal(csv_read_file(&csv, "/no/such.csv", &err), -1);
    assert_string_equal(err.text, "cannot read '/no/such.csv': No such file or directory");
    csv_release(&csv);
}

static void refuses_too_many_columns(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct csv csv;
    int i;

    (void)state;
    for (i = 0; i < CSV_MAX_COLUMNS + 1; i++)
        strbuf_addf(&sb, "%sc%d", i ? "," : "", i);
    strbuf_addch(&sb, '\n');
    assert_int_equal(read_text(&csv, sb.buf, &err), -1);
    assert_string_equal(err.text, "t.csv:1: more columns than a table may have (4096)");
    csv_release(&csv);
    strbuf_release(&sb);
}

/* What the writer makes of random fields, the reader gives back. */
static void round_trips(void **state)
{
    static const char *const pieces[] = {"", "a", "\"", ",", "\n", "\r", "\r\n", " ", "\xc3\xa9"};
    static const char *const names[] = {"p", "q"};
    char fields[200][2][16];
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct csv_writer writer;
    uint64_t bits = 7;
    struct csv csv;
    int i, j, k;

    (void)state;
    csv_writer_init(&writer, &sb, 0);
    assert_int_equal(csv_header(&writer, names, 2, &err), 0);
    for (i = 0; i < 200; i++) {
        for (j = 0; j < 2; j++) {
            fields[i][j][0] = '\0';
            for (k = 0; k < 5; k++) {
                bits = bits * 6364136223846793005u + 1442695040888963407u;
                strcat(fields[i][j], pieces[(bits >> 40) % 9]);
            }
            csv_text(&writer, fields[i][j]);
        }
        assert_int_equal(csv_end_row(&writer, &err), 0);
    }
    assert_int_equal(read_text(&csv, sb.buf, &err), 0);
    assert_int_equal(csv.nr_rows, 200);
    for (i = 0; i < 200; i++)
        for (j = 0; j < 2; j++)
            assert_string_equal(csv_cell(&csv, (size_t)i, (size_t)j), fields[i][j]);
    csv_release(&csv);
    strbuf_release(&sb);
}

static void one_column(void **state)
{
    static const char *const names[] = {"only"};
    struct strbuf sb = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct csv_writer writer;
    struct csv csv;

    (void)state;
    csv_writer_init(&writer, &sb, 0);
    assert_int_equal(csv_header(&writer, names, 1, &err), 0);
    csv_text(&writer, "");
    assert_int_equal(csv_end_row(&writer, &err), 0);
    assert_string_equal(sb.buf, "only\n\"\"\n");
    assert_int_equal(read_text(&csv, sb.buf, &err), 0);
    assert_int_equal(csv.nr_rows, 1);
    assert_string_equal(csv_cell(&csv, 0, 0), "");
    csv_release(&csv);
    strbuf_release(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes),      cmocka_unit_test(refuses_bad_headers),
        cmocka_unit_test(reads),       cmocka_unit_test(tolerates_a_torn_tail),
        cmocka_unit_test(refuses),     cmocka_unit_test(refuses_too_many_columns),
        cmocka_unit_test(round_trips), cmocka_unit_test(one_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
