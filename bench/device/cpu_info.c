/*
 * cpu_info.c - what this host's processor is, from /proc and /sys; every item is optional.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cpu_internal.h"

/* Where nothing is known of the last-level cache. */
#define LAST_LEVEL_DEFAULT_BYTES ((uint64_t)32 << 20)

/* First line of a small file, without its end; "" where there is none. */
static void first_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");

    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, (int)size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

/* Value of the first line "KEY : VALUE" of a file; "" where there is none. */
static void value_of(const char *path, const char *key, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[512];

    text[0] = '\0';
    if (!file)
        return;
    while (text[0] == '\0' && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');

        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    fclose(file);
}

static void read_name(char *name, size_t size)
{
    struct utsname host;

    value_of("/proc/cpuinfo", "model name", name, size);
    if (name[0] == '\0' && uname(&host) == 0)
        snprintf(name, size, "%s processor", host.machine);
}

static int count_cores(void)
{
    cpu_set_t set;
    long online;

    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* The largest data or unified cache of the highest level that /sys knows. */
static uint64_t read_last_level(void)
{
    uint64_t bytes = 0;
    long best = 0, known;

    for (int i = 0; i < 8; i++) {
        char path[96], text[64], *end;
        long level;

        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        first_line(path, text, sizeof(text));
        level = strtol(text, NULL, 10);
        if (level <= best)
            continue;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        first_line(path, text, sizeof(text));
        known = strtol(text, &end, 10);
        if (known <= 0)
            continue;
        best = level;
        bytes = (uint64_t)known * (*end == 'M' ? 1048576u : *end == 'K' ? 1024u : 1u);
    }
    if (bytes > 0)
        return bytes;
#ifdef _SC_LEVEL3_CACHE_SIZE
    known = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (known > 0)
        return (uint64_t)known;
#endif
    return LAST_LEVEL_DEFAULT_BYTES;
}

void cpu_info_read(struct device_info *info)
{
    const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
    char text[64];

    memset(info, 0, sizeof(*info));
    info->kind = SAB_DEVICE_CPU;
    read_name(info->name, sizeof(info->name));
    info->threads = count_cores();
    if (page > 0 && pages > 0)
        info->memory_bytes = (uint64_t)page * (uint64_t)pages;
    value_of("/proc/meminfo", "MemAvailable", text, sizeof(text));
    info->memory_free_bytes = 1024 * strtoull(text, NULL, 10);
    if (info->memory_free_bytes == 0)
        info->memory_free_bytes = info->memory_bytes;
    info->cache_bytes = read_last_level();
    info->ecc = info->persistence = info->mig = info->display = info->processes = -1;
}
