/*
 * report_crossover.c - up to which density each sparse arm pays beside a dense one.
 */
#include "crossover.h"
#include "report_internal.h"

#define MOST_LINES 40

int report_crossover(const struct report_view *view, struct strbuf *out, struct err *err)
{
    struct crossovers c;

    if (crossovers_find(&c, view->cases, NULL, err))
        return -1;
    if (c.nr)
        strbuf_addstr(out, "Where sparse meets dense (density: realised share of blocks; 95 % "
                           "interval):\n\n");
    for (size_t i = 0; i < c.nr && i < MOST_LINES; i++) {
        const struct crossover *one = &c.item[i];

        strbuf_addstr(out, "- ");
        if (*one->setting)
            strbuf_addf(out, "`%s` ", one->setting);
        add_escaped(out, one->arm);
        strbuf_addstr(out, " against ");
        add_escaped(out, one->dense);
        strbuf_addstr(out, ": ");
        crossover_words(one, out);
        strbuf_addch(out, '\n');
    }
    if (c.nr > MOST_LINES)
        strbuf_addf(out, "- %zu more stand in crossover.csv\n", c.nr - MOST_LINES);
    if (c.nr)
        strbuf_addch(out, '\n');
    crossovers_release(&c);
    return 0;
}
