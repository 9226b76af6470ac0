/*
 * fuzz_ini.c - a configuration: read, planned, written out and read again to the same plan. What
 * includes other files is left out: the reader of those is the same, and the file system is no
 * input.
 */
#include "fuzz.h"
#include "plan.h"

static int read_plan(struct ini *ini, struct plan *plan, const char *text, size_t len,
                     char hash[65], struct err *err)
{
    return ini_read_text(ini, "fuzz.ini", text, len, err) || plan_read(plan, ini, err) ||
           plan_hash(plan, hash, err);
}

static void read_again(const struct ini *ini, const char *hash)
{
    struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct ini again;
    struct plan plan;
    char second[65];

    ini_init(&again);
    plan_init(&plan);
    ini_write(ini, &text);
    int ret = read_plan(&again, &plan, text.buf, text.len, second, &err);
    if (ret)
        fprintf(stderr, "%s\n", err.text);
    FUZZ_ASSERT(!ret && !strcmp(hash, second));
    plan_release(&plan);
    ini_release(&again);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    struct ini ini;
    struct plan plan;
    char hash[65];

    if (memmem(data, size, "include", 7))
        return 0;
    ini_init(&ini);
    plan_init(&plan);
    int ret = read_plan(&ini, &plan, (const char *)data, size, hash, &err);
    fuzz_check_error(ret, &err);
    if (!ret)
        read_again(&ini, hash);
    plan_release(&plan);
    ini_release(&ini);
    return 0;
}
