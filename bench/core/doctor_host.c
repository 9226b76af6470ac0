/*
 * doctor_host.c - what of the host disturbs measurements.
 */
#include "doctor_internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "text.h"

#define LOAD_PER_CORE  0.25 /* load average a core above which others disturb */
#define LOW_DISK_BYTES ((uint64_t)1 << 30)
#define SWAP_KB        (64 * 1024)
#define HUGE_LLC_BYTES ((uint64_t)256 << 20) /* more than one socket's cache: a guest's figure */

/* Contents of DIR/NAME, NULL where it cannot be read. The caller frees it. */
static char *read_below(const char *dir, const char *name)
{
    struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    char *out = NULL;

    file_add_path(&path, dir, name);
    if (!path.oom && !file_read(path.buf, &text, (size_t)1 << 22, NULL))
        out = strbuf_detach(&text);
    strbuf_release(&path);
    strbuf_release(&text);
    return out;
}

/* The number behind "KEY:" in a file of such lines, -1 where there is none. */
static long long number_of(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, len) && line[len] == ':')
            return strtoll(line + len + 1, NULL, 10);
    }
    return -1;
}

static int usable_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) ? -1 : CPU_COUNT(&set);
}

static int check_cores(struct finding_list *list, struct err *err)
{
    int cores = usable_cores();
    char what[128];

    if (cores < 0 || cores >= 2)
        return 0;
    snprintf(what, sizeof(what), "only %d core may be used", cores);
    return doctor_add(list, err, FINDING_WARN, "cores", what,
                      "the program, the driver and a kernel on device cpu take turns on it",
                      "give the process at least 2 cores");
}

static int check_governor(const struct doctor_paths *paths, struct finding_list *list,
                          struct err *err)
{
    char *text = read_below(paths->sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor");
    char what[128];
    int ret = 0;

    if (text) {
        char *word = text_trim(text);
        snprintf(what, sizeof(what), "the CPU governor is '%.60s'", word);
        if (strcmp(word, "performance") != 0)
            ret = doctor_add(list, err, FINDING_WARN, "governor", what,
                             "core clocks follow the load: launches and device cpu get slower "
                             "after a pause",
                             "ask the machine's owner for the performance governor");
    }
    free(text);
    return ret;
}

static int check_turbo(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    char *intel = read_below(paths->sys, "devices/system/cpu/intel_pstate/no_turbo");
    char *other = read_below(paths->sys, "devices/system/cpu/cpufreq/boost");
    int ret = 0;

    if (!intel && !other)
        ret = doctor_add(list, err, FINDING_NOTE, "turbo",
                         "whether the CPU's turbo is on cannot be read",
                         "times on device cpu may follow the temperature",
                         "compare arms of one run only, which share it");
    else if ((intel && *text_trim(intel) == '0') || (other && *text_trim(other) == '1'))
        ret = doctor_add(list, err, FINDING_NOTE, "turbo", "the CPU's turbo is on",
                         "times on device cpu follow temperature and load of other cores",
                         "compare arms of one run only, which share it");
    free(intel);
    free(other);
    return ret;
}

static int check_load(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    char *text = read_below(paths->proc, "loadavg");
    int cores = usable_cores(), ret = 0;
    char what[128];

    if (text && cores > 0) {
        double load = strtod(text, NULL);
        snprintf(what, sizeof(what), "the load average is %.1f on %d usable cores", load, cores);
        if (load > LOAD_PER_CORE * cores && load > 0.5)
            ret = doctor_add(list, err, FINDING_WARN, "load", what,
                             "other programs take cores and memory bandwidth in the middle of "
                             "samples",
                             "wait until the machine is idle");
    }
    free(text);
    return ret;
}

static int check_memory(const struct doctor_paths *paths, struct finding_list *list,
                        struct err *err)
{
    char *text = read_below(paths->proc, "meminfo");
    int ret = 0;
    char what[128];

    if (text) {
        long long all = number_of(text, "SwapTotal"), left = number_of(text, "SwapFree");
        snprintf(what, sizeof(what), "%lld MiB are swapped out", (all - left) / 1024);
        if (all > 0 && left >= 0 && all - left > SWAP_KB)
            ret = doctor_add(list, err, FINDING_WARN, "swap", what,
                             "a page that has to come back stops a launch or a kernel for "
                             "milliseconds",
                             "end what fills the memory");
    }
    free(text);
    return ret;
}

/* Flags of the first processor: " clflushopt " stands between blanks. */
static bool has_flag(const char *cpuinfo, const char *flag)
{
    const char *line = strstr(cpuinfo, "\nflags");
    size_t len = strlen(flag);

    if (!line)
        return false;
    const char *end = strchr(line + 1, '\n');
    for (const char *p = strstr(line, flag); p && (!end || p < end); p = strstr(p + 1, flag))
        if (p[-1] == ' ' && (p[len] == ' ' || p[len] == '\n' || !p[len]))
            return true;
    return false;
}

static int check_flush(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    char *text = read_below(paths->proc, "cpuinfo");
    int ret = 0;

    if (text && strstr(text, "\nflags") && !has_flag(text, "clflushopt"))
        ret = doctor_add(list, err, FINDING_NOTE, "no_clflushopt",
                         "the CPU has no clflushopt instruction",
                         "on device cpu caches are made cold by sweeping 2x their size, which "
                         "takes longer",
                         "nothing, or use a newer CPU");
    free(text);
    return ret;
}

static bool is_guest(const struct doctor_paths *paths)
{
    char *text = read_below(paths->proc, "cpuinfo");
    bool guest = text && has_flag(text, "hypervisor");
    free(text);
    return guest;
}

static uint64_t last_level_cache(const struct doctor_paths *paths)
{
    uint64_t most = 0;
    char name[96];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "devices/system/cpu/cpu0/cache/index%d/size", i);
        char *text = read_below(paths->sys, name);
        int64_t bytes;
        if (text && !text_int(text, &bytes, NULL) && bytes > 0 && (uint64_t)bytes > most)
            most = (uint64_t)bytes;
        free(text);
    }
    return most;
}

static int check_guest(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    uint64_t cache = last_level_cache(paths);
    char what[160];

    if (!is_guest(paths))
        return 0;
    if (doctor_add(list, err, FINDING_NOTE, "virtual", "this is a virtual machine",
                   "other guests share the processor, and clocks cannot be seen",
                   "use several processes, and look at the A' row"))
        return -1;
    if (cache <= HUGE_LLC_BYTES)
        return 0;
    snprintf(what, sizeof(what), "the virtual machine reports a cache of %.0f MiB",
             (double)cache / (1 << 20));
    return doctor_add(list, err, FINDING_NOTE, "guest_cache", what,
                      "a sweep of 2x that size takes long; flushing by address does not depend on "
                      "it",
                      "nothing, where the CPU has clflushopt");
}

static int check_disk(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    uint64_t bytes;
    char what[160];

    if (file_free_bytes(paths->results, &bytes, NULL) || bytes >= LOW_DISK_BYTES)
        return 0;
    snprintf(what, sizeof(what), "only %.0f MiB are free at '%.80s'", (double)bytes / (1 << 20),
             paths->results);
    return doctor_add(list, err, FINDING_WARN, "disk", what,
                      "a run that fills the disk ends with what it had sealed",
                      "make room, or name another folder by --out");
}

int doctor_host(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    return check_cores(list, err) || check_governor(paths, list, err) ||
                   check_turbo(paths, list, err) || check_load(paths, list, err) ||
                   check_memory(paths, list, err) || check_flush(paths, list, err) ||
                   check_guest(paths, list, err) || check_disk(paths, list, err)
               ? -1
               : 0;
}
