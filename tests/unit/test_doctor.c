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
    info.ecc = info.mig = info.persistence = info.display = info.processes = -1;
    look(&info, &list);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        assert_null(find(&list, codes[i]));
    finding_list_release(&list);
}

/* Each finding from the one value that is out of order. */
static void gpu_findings(void **state)
{
    const struct device_info good = {
        .kind = SAB_DEVICE_CUDA,
        .cupti = "13.0.1",
        .cuda_driver = "13.0",
        .cuda_runtime = "13.0",
        .power_limit_w = 700,
        .power_default_w = 700,
        .sm_mhz_lo = 1965,
        .sm_mhz_hi = 1980,
        .throttle_bits = 0x1, /* idle */
        .ecc = 1,
        .persistence = 1,
    };
    struct {
        struct device_info info;
        const char *code, *says;
    } bad[] = {
        {good, "gpu_shared", "2 other programs have the GPU open"},
        {good, "power_cap", "the power limit is 500 W, this GPU is made for 700 W"},
        {good, "clocks", "between 1200 and 1980 MHz"},
        {good, "throttled", "throttled now: hardware slowdown hardware thermal"},
        {good, "clock_limit", "application clocks"},
        {good, "driver_old", "serves CUDA 12.9, this program was built with CUDA 13.0"},
        {good, "persistence", "off"},
        {good, "ecc", "off"},
        {good, "mig", "MIG"},
        {good, "display", "display"},
        {good, "no_cupti", "CUPTI"},
    };
    struct finding_list list;

    (void)state;
    bad[0].info.processes = 2;
    bad[1].info.power_limit_w = 500;
    bad[2].info.sm_mhz_lo = 1200;
    bad[3].info.throttle_bits = 0x48;
    bad[4].info.throttle_bits = 0x2;
    snprintf(bad[5].info.cuda_driver, sizeof(bad[5].info.cuda_driver), "12.9");
    bad[6].info.persistence = 0;
    bad[7].info.ecc = 0;
    bad[8].info.mig = 1;
    bad[9].info.display = 1;
    bad[10].info.cupti[0] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        finding_list_init(&list);
        assert_int_equal(doctor_device(&bad[i].info, &list, NULL), 0);
        if (list.nr != 1 || strcmp(list.items[0].code, bad[i].code) ||
            !strstr(list.items[0].what, bad[i].says))
            fail_msg("%s: %zu findings, the first is %s: %s", bad[i].code, list.nr,
                     list.nr ? list.items[0].code : "none", list.nr ? list.items[0].what : "");
        finding_list_release(&list);
    }
    /* A newer driver, unknown values and a software power cap are nothing to say. */
    struct device_info unknown = {.kind = SAB_DEVICE_CUDA, .cupti = "13.0.1"};
    unknown.ecc = unknown.mig = unknown.persistence = unknown.display = unknown.processes = -1;
    unknown.throttle_bits = 0x4;
    snprintf(unknown.cuda_driver, sizeof(unknown.cuda_driver), "13.10");
    snprintf(unknown.cuda_runtime, sizeof(unknown.cuda_runtime), "13.2");
    finding_list_init(&list);
    assert_int_equal(doctor_device(&good, &list, NULL), 0);
    assert_int_equal(doctor_device(&unknown, &list, NULL), 0);
    assert_int_equal(list.nr, 0);
    finding_list_release(&list);
}

static void a_device_that_did_not_open(void **state)
{
    static const struct {
        const char *said, *code;
    } ways[] = {
        {DEVICE_CUPTI_TAKEN ": CUPTI has one subscriber", "cupti_taken"},
        {DEVICE_CUPTI_FORBIDDEN " (error 35)", "cupti_permission"},
        {DEVICE_CUPTI_VERSION " has API version 1", "cupti_version"},
        {DEVICE_CUPTI_MISSING " (tried 'x')", "no_cupti"},
        {DEVICE_DRIVER_OLD ": it serves CUDA 12.4", "driver_old"},
        {"cudaSetDevice: out of memory", "device"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct finding_list list;
        struct err refused = ERR_INIT;

        finding_list_init(&list);
        err_set(&refused, ERR_ENVIRONMENT, "%s", ways[i].said);
        assert_int_equal(doctor_refused(&refused, &list, NULL), 0);
        assert_string_equal(list.items[0].code, ways[i].code);
        assert_string_equal(list.items[0].what, ways[i].said);
        assert_int_equal(list.items[0].severity, FINDING_BAD);
        finding_list_release(&list);
    }
}

static void others_in_between(void **state)
{
    static const char *const codes[] = {"mps", "counters_admin", "profiler"};
    struct finding_list list;

    (void)state;
    unsetenv("CUDA_INJECTION64_PATH");
    setenv("LD_PRELOAD", "/usr/lib/libjemalloc.so.2", 1);
    put("proc/77/comm", "bench\n");
    put("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    look(NULL, &list);
    for (size_t i = 0; i < 3; i++)
        assert_null(find(&list, codes[i]));
    finding_list_release(&list);
    put("proc/78/comm", "nvidia-cuda-mps\n");
    put("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
    setenv("CUDA_INJECTION64_PATH", "/opt/x.so", 1);
    look(NULL, &list);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(find(&list, codes[i]));
    assert_non_null(strstr(find(&list, "profiler")->what, "/opt/x.so"));
    finding_list_release(&list);
    unsetenv("CUDA_INJECTION64_PATH");
    setenv("LD_PRELOAD", "/opt/nvidia/nsight-systems/libToolsInjectionProxy64.so", 1);
    look(NULL, &list);
    assert_non_null(strstr(find(&list, "profiler")->what, "LD_PRELOAD"));
    finding_list_release(&list);
    unsetenv("LD_PRELOAD");
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
        cmocka_unit_test(gpu_findings),
        cmocka_unit_test(a_device_that_did_not_open),
        cmocka_unit_test(others_in_between),
        cmocka_unit_test(worst_of_a_list),
    };
    return cmocka_run_group_tests(tests, make_root, drop_root);
}
