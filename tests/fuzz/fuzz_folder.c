/*
 * fuzz_folder.c - a whole results folder: cases.csv, samples.csv and run.json, separated by a line
 * of ====. Read, summarised, reported, compared with itself, asked for a command, and resumed.
 */
#include "cmp.h"
#include "fuzz.h"
#include "report.h"
#include "repro.h"
#include "store.h"

static const struct summary_settings settings = {.delta = 0.005, .gate_slower = 0.01};

static void summarise(struct store *s)
{
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;

    for (size_t i = 0; i < s->cases.nr; i++)
        fuzz_check_error(store_derive(s, s->cases.row[i].case_id, &err), &err);
    fuzz_check_error(summary_run(&s->cases, &s->samples, &s->set, &s->summary, &err), &err);
    store_summary_json(s);
    fuzz_check_error(report_markdown(&s->cases, s->run, &out, &err), &err);
    strbuf_reset(&out);
    fuzz_check_error(report_terminal(&s->cases, s->run, 80, false, &out, &err), &err);
    strbuf_release(&out);
}

static void read_only(void)
{
    struct err err = ERR_INIT;
    struct store s;

    store_init(&s);
    s.set = settings;
    int ret = store_open(&s, "o", false, &err);
    fuzz_check_error(ret, &err);
    if (!ret)
        summarise(&s);
    store_release(&s);
}

static void compare(void)
{
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct cmp c;

    cmp_init(&c);
    int ret = cmp_open(&c, "o", "p", &err) || cmp_print(&c, true, &out, &err);
    fuzz_check_error(ret, &err);
    cmp_release(&c);
    strbuf_release(&out);
}

static void reproduce(const char *case_id)
{
    struct strbuf out = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct repro r;

    repro_init(&r);
    int ret = repro_open(&r, "o", case_id, &err) || repro_command(r.run, r.item->id, &out, &err) ||
              repro_ini(&r, &out, &err);
    fuzz_check_error(ret, &err);
    repro_release(&r);
    strbuf_release(&out);
}

/* What is left is sealed: resumed once more, nothing changes. */
static void resume(void)
{
    struct err err = ERR_INIT;
    size_t samples = 0;

    for (int pass = 0; pass < 2; pass++) {
        struct store s;

        store_init(&s);
        s.set = settings;
        int ret = store_open(&s, "o", true, &err);
        if (!ret)
            ret = store_resume(&s, NULL, &err);
        fuzz_check_error(ret, &err);
        if (!ret && pass)
            FUZZ_ASSERT(s.samples.nr == samples);
        samples = s.samples.nr;
        if (!ret)
            ret = store_write(&s, false, &err);
        store_release(&s);
        if (ret)
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"cases.csv", "samples.csv", "run.json"};
    const char *part[3];
    size_t len[3];
    char path[32];

    /* A configuration inside run.json may include files. */
    if (memmem(data, size, "include", 7))
        return 0;
    fuzz_enter_folder();
    file_mkdirs("o", NULL);
    file_mkdirs("p", NULL);
    fuzz_split(data, size, part, len, 3);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "o/%s", names[i]);
        fuzz_put(path, part[i], len[i]);
        path[0] = 'p';
        fuzz_put(path, part[i], len[i]);
    }
    read_only();
    compare();
    reproduce("copy.size-65536");
    resume();
    return 0;
}
