#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "doctor.h"
#include "exit.h"
#include "option.h"

struct doctor_args {
    bool help;
    const char *device;
};

static const struct option_row options[] = {
    {"device", "NAME", "auto, cpu or cuda (default auto: a GPU where there is one)", OPTION_STRING,
     offsetof(struct doctor_args, device), 0},
    {"help", NULL, "print this", OPTION_FLAG, offsetof(struct doctor_args, help), 'h'},
};

#define OPTIONS_NR (sizeof(options) / sizeof(options[0]))

static const char *const devices[] = {"auto", "cpu", "cuda"};

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

static int choose_device(const char *word, enum sab_device *kind, struct err *err)
{
    struct device_listing gpu;

    if (!word || !strcmp(word, "auto")) {
        *kind = device_list_cuda(&gpu, 1) > 0 ? SAB_DEVICE_CUDA : SAB_DEVICE_CPU;
        return 0;
    }
    *kind = !strcmp(word, "cuda") ? SAB_DEVICE_CUDA : SAB_DEVICE_CPU;
    if (!strcmp(word, "cpu") || !strcmp(word, "cuda"))
        return 0;
    const char *near = text_nearest(word, devices, sizeof(devices) / sizeof(devices[0]));
    return err_set(err, ERR_CONFIG, "'--device': '%.60s' is none of auto, cpu, cuda%s%s%s", word,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'" : "");
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
static int examine(enum sab_device kind, struct finding_list *list, struct err *err)
{
    struct device_request request = {
        .kind = kind,
        .timer = kind == SAB_DEVICE_CUDA ? DEVICE_TIMER_CUPTI : DEVICE_TIMER_MONOTONIC,
        .conditions = true,
    };
    struct device *dev = NULL;
    struct device_conditions now;
    struct err refused = ERR_INIT;
    int ret;

    if (device_open(&dev, &request, &refused)) {
        if (doctor_add(list, err, FINDING_BAD, "device", refused.text,
                       "nothing can be measured on that device", "see the findings below"))
            return -1;
        return doctor_run(NULL, list, err);
    }
    print_device(device_info(dev));
    ret = doctor_run(device_info(dev), list, err);
    if (!ret && kind == SAB_DEVICE_CUDA) {
        device_conditions_at(dev, device_now_ns(dev), &now);
        ret = doctor_conditions(&now, list, err);
    }
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
    if (choose_device(args.device, &kind, &err) || examine(kind, &list, &err))
        goto out;
    print_findings(&list);
    /* A device that was asked for by name and is not to be had. */
    if (args.device && strcmp(args.device, "auto") != 0 && list.nr &&
        !strcmp(list.items[0].code, "device"))
        err_set(&err, ERR_ENVIRONMENT, "%s", list.items[0].what);
out:
    finding_list_release(&list);
    option_result_release(&result);
    return exit_report(&err);
}
