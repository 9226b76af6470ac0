#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "doctor.h"
#include "file.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/test_doctor.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int drop_root(void **state)
{
    const char *argv[] = {"rm", "-rf", root, NULL};
    struct child_options options = {.argv = argv};
    struct strbuf out = STRBUF_INIT;

    (void)state;
    int ret = child_run(&options, 10000, 1024, &out, NULL);
    strbuf_release(&out);
    return ret;
}

static void put(const char *name, const char *text)
{
    struct strbuf path = STRBUF_INIT, dir = STRBUF_INIT;

    file_add_path(&path, root, name);
    file_add_dir(&dir, path.buf);
    assert_int_equal(file_mkdirs(dir.buf, NULL), 0);
    assert_int_equal(file_write(path.buf, text, strlen(text), NULL), 0);
    strbuf_release(&path);
    strbuf_release(&dir);
}

static const struct finding *find(const struct finding_list *list, const char *code)
{
    for (size_t i = 0; i < list->nr; i++)
        if (!strcmp(list->items[i].code, code))
            return &list->items[i];
    return NULL;
}

static void look(const struct device_info *info, struct finding_list *list)
{
    char sys[80], proc[80];
    struct doctor_paths paths = {sys, proc, root};

    snprintf(sys, sizeof(sys), "%s/sys", root);
    snprintf(proc, sizeof(proc), "%s/proc", root);
    finding_list_init(list);
    assert_int_equal(doctor_run_at(&paths, info, list, NULL), 0);
    for (size_t i = 0; i < list->nr; i++) {
        assert_true(list->items[i].what[0] && list->items[i].effect[0] && list->items[i].remedy[0]);
        assert_null(strchr(list->items[i].what, '\n'));
    }
}

static void bad_host(void **state)
{
    struct finding_list list;

    (void)state;
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
    put("sys/devices/system/cpu/cpu0/cache/index3/size", "491520K\n");
    put("proc/loadavg", "999.50 3.0 1.0 2/300 4242\n");
    put("proc/meminfo", "MemTotal: 1000 kB\nSwapTotal:  1048576 kB\nSwapFree:   524288 kB\n");
    put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu clflush hypervisor\n\n");
    look(NULL, &list);
    assert_non_null(strstr(find(&list, "governor")->what, "'powersave'"));
    assert_int_equal(find(&list, "governor")->severity, FINDING_WARN);
    assert_non_null(strstr(find(&list, "load")->what, "999.5"));
    assert_non_null(strstr(find(&list, "swap")->what, "512 MiB"));
    assert_non_null(find(&list, "turbo"));
    assert_non_null(find(&list, "no_clflushopt"));
    assert_non_null(find(&list, "virtual"));
    assert_non_null(strstr(find(&list, "guest_cache")->what, "480 MiB"));
    finding_list_release(&list);
}

static void good_host(void **state)
{
    static const char *const quiet[] = {"governor", "load",          "swap",       "turbo",
                                        "virtual",  "no_clflushopt", "guest_cache"};
    struct finding_list list;

    (void)state;
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put("proc/loadavg", "0.01 0.0 0.0 1/300 4242\n");
    put("proc/meminfo", "SwapTotal: 1048576 kB\nSwapFree: 1048576 kB\n");
    put("proc/cpuinfo", "flags\t\t: fpu clflush clflushopt\n");
    look(NULL, &list);
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
        assert_null(find(&list, quiet[i]));
    finding_list_release(&list);
}

static void unreadable_host_is_no_failure(void **state)
{
    struct doctor_paths nowhere = {"/nonexistent", "/nonexistent", "/nonexistent"};
    struct finding_list list;

    (void)state;
    finding_list_init(&list);
    assert_int_equal(doctor_run_at(&nowhere, NULL, &list, NULL), 0);
    assert_null(find(&list, "governor"));
    assert_non_null(find(&list, "turbo"));
    finding_list_release(&list);
}

static void opened_gpu(void **state)
{
    struct device_info info = {
        .kind = SAB_DEVICE_CUDA,
        .memory_bytes = UINT64_C(100) << 30,
        .memory_free_bytes = UINT64_C(60) << 30,
        .ecc = 0,
        .mig = 1,
        .persistence = 0,
        .display = 1,
        .tick_ns = 1024 * 1024,
    };
    static const char *const codes[] = {"ecc",        "mig",      "persistence", "display",
                                        "gpu_shared", "no_cupti", "tick"};
    struct finding_list list;

    (void)state;
    look(&info, &list);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        assert_non_null(find(&list, codes[i]));
    assert_non_null(strstr(find(&list, "gpu_shared")->what, "40.0 GiB"));
    assert_int_equal(finding_worst(&list), FINDING_BAD);
    finding_list_release(&list);
    info = (struct device_info){.kind = SAB_DEVICE_CUDA, .cupti = "13.0", .tick_ns = 32};
    info.ecc = info.mig = info.persistence = info.display = -1;
    look(&info, &list);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        assert_null(find(&list, codes[i]));
    finding_list_release(&list);
}

static void worst_of_a_list(void **state)
{
    (void)state;
    struct finding_list list;
    finding_list_init(&list);
    assert_int_equal(finding_worst(&list), FINDING_NOTE);
    assert_int_equal(doctor_add(&list, NULL, FINDING_WARN, "x", "a", "b", "c"), 0);
    assert_int_equal(finding_worst(&list), FINDING_WARN);
    assert_string_equal(finding_severity_name(FINDING_BAD), "bad");
    finding_list_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_host),
        cmocka_unit_test(good_host),
        cmocka_unit_test(unreadable_host_is_no_failure),
        cmocka_unit_test(opened_gpu),
        cmocka_unit_test(worst_of_a_list),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
