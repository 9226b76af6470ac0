#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "exit.h"
#include "lanes.h"
#include "option.h"

struct doctor_args {
    bool help;
    const char *device;
};

static const struct option_row options[] = {
    {"device", "NAME", "auto, cpu, cuda or cuda:N (default auto: a GPU where there is one)",
     OPTION_STRING, offsetof(struct doctor_args, device), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct doctor_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

const struct option_row *doctor_options(size_t *nr)
{
    *nr = OPTIONS_NR;
    return options;
}

static int usage(void)
{
    struct strbuf sb = STRBUF_INIT;

    strbuf_addstr(&sb, "usage: bench doctor [options]\n\n"
                       "Says what on this machine would spoil a run. Changes nothing.\n\n");
    option_add_help(&sb, options, OPTIONS_NR);
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
    return EXIT_OK;
}

/* CUDA opens the first visible GPU: a numbered one is made the only one. */
static int choose_gpu(const char *word, struct err *err)
{
    struct device_listing list[LANES_MAX];
    int found = device_list_cuda(list, LANES_MAX);
    size_t at[LANES_MAX], nr;

    if (lanes_choose(word, list, found > 0 ? (size_t)found : 0, at, &nr, err))
        return -1;
    if (nr > 1)
        return err_set(err, ERR_CONFIG, "'--device=%s': doctor looks at one GPU at a time", word);
    return setenv("CUDA_VISIBLE_DEVICES", list[at[0]].uuid, 1) ? err_memory(err) : 0;
}

static int choose_device(const char *word, enum sab_device *kind, struct err *err)
{
    struct device_listing gpu;

    if (!word || !strcmp(word, "auto")) {
        *kind = device_list_cuda(&gpu, 1) > 0 ? SAB_DEVICE_CUDA : SAB_DEVICE_CPU;
        return 0;
    }
    *kind = !strcmp(word, "cpu") ? SAB_DEVICE_CPU : SAB_DEVICE_CUDA;
    if (!strcmp(word, "cpu") || !strcmp(word, "cuda"))
        return 0;
    size_t digits = !strncmp(word, "cuda:", 5) ? strspn(word + 5, "0123456789") : 0;
    if (digits && digits < 5 && !word[5 + digits])
        return choose_gpu(word, err);
    return err_set(err, ERR_CONFIG, "'--device': '%.60s' is none of auto, cpu, cuda, cuda:N", word);
}

static void print_device(const struct device_info *info)
{
    printf("device: %s", info->name);
    if (info->driver[0])
        printf(", driver %s", info->driver);
    if (info->cuda_runtime[0])
        printf(", CUDA %s", info->cuda_runtime);
    if (info->cupti[0])
        printf(", CUPTI %s", info->cupti);
    printf("\ncold cache by: %s; timer step: %.3g ns\n\n", info->scrub[0] ? info->scrub : "unknown",
           info->tick_ns);
}

/* What can be said without a device is said also where it cannot be opened. */
static int examine(enum sab_device kind, bool *opened, struct finding_list *list, struct err *err)
{
    struct device_request request = {
        .kind = kind,
        .timer = kind == SAB_DEVICE_CUDA ? DEVICE_TIMER_CUPTI : DEVICE_TIMER_MONOTONIC,
        .look = true,
    };
    struct device *dev = NULL;
    struct err refused = ERR_INIT;
    int ret;

    if (device_open(&dev, &request, &refused)) {
        *opened = false;
        if (doctor_refused(&refused, list, err))
            return -1;
        return doctor_run(NULL, NULL, list, err);
    }
    print_device(device_info(dev));
    ret = doctor_run(device_info(dev), NULL, list, err);
    device_close(dev);
    return ret;
}

static void print_findings(const struct finding_list *list)
{
    for (int s = FINDING_BAD; s >= FINDING_NOTE; s--)
        for (size_t i = 0; i < list->nr; i++) {
            const struct finding *f = &list->items[i];
            if ((int)f->severity != s)
                continue;
            printf("%-4s  %s: %s\n", finding_severity_name(f->severity), f->code, f->what);
            printf("      what it does: %s\n", f->effect);
            printf("      what to do:   %s\n", f->remedy);
        }
    if (finding_worst(list) == FINDING_NOTE)
        printf("nothing here would spoil a run\n");
}

int cmd_doctor(int argc, const char **argv)
{
    struct doctor_args args = {0};
    struct option_result result;
    struct finding_list list;
    struct err err = ERR_INIT;
    enum sab_device kind;
    bool opened = true;

    option_result_init(&result);
    finding_list_init(&list);
    if (option_parse(options, OPTIONS_NR, &args, NULL, argc, argv, &result, &err))
        goto out;
    if (args.help) {
        usage();
        goto out;
    }
    if (result.nr_args) {
        err_set(&err, ERR_CONFIG, "doctor takes no argument, '%.100s' was given", result.args[0]);
        goto out;
    }
    if (choose_device(args.device, &kind, &err) || examine(kind, &opened, &list, &err))
        goto out;
    print_findings(&list);
    /* A device that was asked for by name and is not to be had. */
    if (args.device && strcmp(args.device, "auto") != 0 && !opened)
        err_set(&err, ERR_ENVIRONMENT, "%s", list.items[0].what);
out:
    finding_list_release(&list);
    option_result_release(&result);
    return exit_report(&err);
}
