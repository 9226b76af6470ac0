/*
 * doctor_tools.c - drivers, libraries and programs that bench finds at run time. Files are looked
 * for, nothing is loaded: the device floor owns these libraries.
 */
#include "doctor_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "text.h"

static const char *const library_dirs[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/extras/CUPTI/lib64",
};

static const char *const toolkit_variables[] = {"CUDA_HOME", "CUDA_PATH"};
static const char *const toolkit_dirs[] = {"lib64", "extras/CUPTI/lib64"};

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* A file in `dir` whose name begins with `prefix`. */
static bool dir_has(const char *dir, const char *prefix)
{
    DIR *d = opendir(dir);
    const struct dirent *entry;
    bool found = false;

    while (d && !found && (entry = readdir(d)))
        found = text_starts_with(entry->d_name, prefix);
    if (d)
        closedir(d);
    return found;
}

static bool path_list_has(const char *list, const char *prefix, bool exact)
{
    struct text_list dirs = {0};
    bool found = false;

    if (list && !text_split(&dirs, list, ':', NULL))
        for (size_t i = 0; i < dirs.nr && !found; i++) {
            struct strbuf path = STRBUF_INIT;
            file_add_path(&path, dirs.items[i], prefix);
            found = exact ? file_exists(path.buf) : dir_has(dirs.items[i], prefix);
            strbuf_release(&path);
        }
    text_list_release(&dirs);
    return found;
}

static bool has_library(const char *prefix)
{
    for (size_t i = 0; i < NR(library_dirs); i++)
        if (dir_has(library_dirs[i], prefix))
            return true;
    for (size_t v = 0; v < NR(toolkit_variables); v++) {
        const char *root = getenv(toolkit_variables[v]);
        for (size_t i = 0; root && i < NR(toolkit_dirs); i++) {
            struct strbuf path = STRBUF_INIT;
            file_add_path(&path, root, toolkit_dirs[i]);
            bool found = dir_has(path.buf, prefix);
            strbuf_release(&path);
            if (found)
                return true;
        }
    }
    return path_list_has(getenv("LD_LIBRARY_PATH"), prefix, false);
}

static int check_driver(const struct doctor_paths *paths, struct finding_list *list,
                        struct err *err)
{
    struct strbuf path = STRBUF_INIT;
    struct device_listing gpu;

    file_add_path(&path, paths->proc, "driver/nvidia/version");
    bool driver = file_exists(path.buf) || has_library("libcuda.so");
    strbuf_release(&path);
    if (!driver)
        return doctor_add(list, err, FINDING_NOTE, "no_driver", "there is no NVIDIA driver",
                          "only arms on device cpu run", "nothing, or use a machine with a GPU");
    if (!device_list_cuda(&gpu, 1))
        return doctor_add(list, err, FINDING_WARN, "no_gpu",
                          "an NVIDIA driver is there, but it shows no GPU",
                          "only arms on device cpu run",
                          "see whether nvidia-smi lists one, and whether CUDA_VISIBLE_DEVICES "
                          "hides it");
    if (!has_library("libnvidia-ml.so") &&
        doctor_add(list, err, FINDING_WARN, "no_nvml", "NVML (libnvidia-ml.so) is not found",
                   "clocks, power, temperature and throttle reasons stay empty",
                   "install the driver's libnvidia-ml package"))
        return -1;
    return 0;
}

static int check_cupti(const struct device_info *info, struct finding_list *list, struct err *err)
{
    struct device_listing gpu;

    /* An opened GPU says itself whether CUPTI was loaded. */
    if ((info && info->kind == SAB_DEVICE_CUDA) || !device_list_cuda(&gpu, 1) ||
        has_library("libcupti.so"))
        return 0;
    return doctor_add(list, err, FINDING_BAD, "no_cupti", "CUPTI (libcupti.so) is not found",
                      "kernels cannot be timed, and there is no fallback",
                      "install cuda-cupti, or set CUDA_HOME to a toolkit that has it");
}

/* Libraries that the driver or the loader puts into every process that uses the GPU. */
static const char *const hooks[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD",
                                    "LD_AUDIT"};
/* Parts of the names of those that subscribe to CUPTI or stand in front of each call. */
static const char *const hook_names[] = {"cupti",     "nsys", "nsight", "ToolsInjection",
                                         "sanitizer", "ncu",  "gdb",    "libprofiler"};

static int check_hooks(struct finding_list *list, struct err *err)
{
    for (size_t i = 0; i < NR(hooks); i++) {
        const char *value = getenv(hooks[i]);
        bool known = value && *value && !strncmp(hooks[i], "CUDA_", 5);
        char what[256];

        for (size_t k = 0; value && !known && k < NR(hook_names); k++)
            known = strcasestr(value, hook_names[k]) != NULL;
        if (!known)
            continue;
        snprintf(what, sizeof(what), "%s = %.160s puts a profiler or debugger into every process",
                 hooks[i], value);
        if (doctor_add(list, err, FINDING_WARN, "profiler", what,
                       "it may hold CUPTI's one subscription, so that nothing can be timed, and "
                       "it slows every launch",
                       "unset the variable, or start bench outside the profiler"))
            return -1;
    }
    return 0;
}

/* The control daemon and the server are both called nvidia-cuda-mps-*. */
static bool mps_runs(const char *proc)
{
    DIR *d = opendir(proc);
    const struct dirent *entry;
    bool found = false;

    while (d && !found && (entry = readdir(d))) {
        struct strbuf path = STRBUF_INIT, name = STRBUF_INIT;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        strbuf_addf(&path, "%s/%s/comm", proc, entry->d_name);
        found = !file_read(path.buf, &name, 4096, NULL) &&
                text_starts_with(name.buf, "nvidia-cuda-mps");
        strbuf_release(&path);
        strbuf_release(&name);
    }
    if (d)
        closedir(d);
    return found;
}

static int check_mps(const struct doctor_paths *paths, struct finding_list *list, struct err *err)
{
    if (!mps_runs(paths->proc))
        return 0;
    return doctor_add(list, err, FINDING_WARN, "mps", "the multi-process service (MPS) is running",
                      "kernels of several programs share the GPU at the same moment, and a limit "
                      "on threads may hold back ours",
                      "stop it (echo quit | nvidia-cuda-mps-control), or ask the machine's owner");
}

/* Timing needs no counters; a profile does. */
static int check_counters(const struct doctor_paths *paths, struct finding_list *list,
                          struct err *err)
{
    struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    int ret = 0;

    file_add_path(&path, paths->proc, "driver/nvidia/params");
    if (!file_read(path.buf, &text, 1 << 20, NULL) && strstr(text.buf, "RmProfilingAdminOnly: 1"))
        ret = doctor_add(list, err, FINDING_NOTE, "counters_admin",
                         "hardware counters are for the administrator only",
                         "times do not need them; `bench ncu` does, and will be refused",
                         "ask the machine's owner for NVreg_RestrictProfilingToAdminUsers=0");
    strbuf_release(&path);
    strbuf_release(&text);
    return ret;
}

int doctor_tools(const struct doctor_paths *paths, const struct device_info *info,
                 struct finding_list *list, struct err *err)
{
    if (check_driver(paths, list, err) || check_cupti(info, list, err) || check_hooks(list, err) ||
        check_mps(paths, list, err) || check_counters(paths, list, err))
        return -1;
    if (!path_list_has(getenv("PATH"), "gnuplot", true))
        return doctor_add(list, err, FINDING_NOTE, "no_gnuplot", "gnuplot is not installed",
                          "a run is complete without charts; bench plot draws them later",
                          "apt install gnuplot-nox");
    return 0;
}
