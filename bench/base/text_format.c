#include "text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three significant digits of a value in [0, 1000). */
static void add_three_digits(struct strbuf *sb, double value)
{
    strbuf_addf(sb, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

static void add_clock(struct strbuf *sb, double seconds)
{
    double whole = floor(seconds + 0.5);
    double minutes = floor(whole / 60);

    if (minutes < 60)
        strbuf_addf(sb, "%.0f min %02.0f s", minutes, whole - minutes * 60);
    else
        strbuf_addf(sb, "%.0f h %02.0f min", floor(minutes / 60),
                    minutes - floor(minutes / 60) * 60);
}

void text_add_duration(struct strbuf *sb, double ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    size_t i = 0;

    if (!isfinite(ns)) {
        strbuf_addstr(sb, "?");
        return;
    }
    if (ns < 0) {
        strbuf_addch(sb, '-');
        ns = -ns;
    }
    if (ns < 999.5) {
        strbuf_addf(sb, "%.*f ns", ns == floor(ns) ? 0 : ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns);
        return;
    }
    for (ns /= 1e3; ns >= 999.5 && i < 2; i++)
        ns /= 1e3;
    if (i == 2 && ns >= 59.95) {
        add_clock(sb, ns);
        return;
    }
    add_three_digits(sb, ns);
    strbuf_addf(sb, " %s", units[i]);
}

void text_add_bytes(struct strbuf *sb, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t i = 0;

    if (bytes < 1024) {
        strbuf_addf(sb, "%u B", (unsigned)bytes);
        return;
    }
    for (value /= 1024; value >= 1023.5 && i < 5; i++)
        value /= 1024;
    add_three_digits(sb, value);
    strbuf_addf(sb, " %s", units[i]);
}

void text_add_real(struct strbuf *sb, double value)
{
    char number[40];
    int digits;

    if (isnan(value) || isinf(value)) {
        strbuf_addstr(sb, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    /* Whole numbers in full: 131072 rather than 1.3e+05 or the like. */
    if (value == floor(value) && fabs(value) < 1e15) {
        strbuf_addf(sb, "%.0f", value);
        return;
    }
    /* A decimal of up to 15 digits survives a double, and %g drops trailing zeros: so if 15 digits
     * read back, no shorter form is missed. Denormals hold fewer. */
    for (digits = fabs(value) < DBL_MIN ? 1 : 15; digits < 17; digits++) {
        snprintf(number, sizeof(number), "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    strbuf_addf(sb, "%.*g", digits, value);
}
