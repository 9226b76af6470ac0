#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "config_args.h"
#include "estimate.h"
#include "exit.h"
#include "ui.h"

static void print_operators(void)
{
    for (size_t i = 0; op_model_at(i); i++) {
        const struct op_model *op = op_model_at(i);
        printf("%s: %s\n", op->name, op->help);
        for (size_t a = 0; a < op->axes_nr; a++) {
            const struct axis_spec *x = &op->axes[a];
            printf("  %-14s = %-12s %s%s%s%s\n", x->name, x->initial, x->help, x->words ? " (" : "",
                   x->words ? x->words : "", x->words ? ")" : "");
        }
    }
}

/* " | cached (unsafe, keeps its workspace)" */
static void print_choice(const struct sab_choice *choice, bool further)
{
    const bool unsafe = (choice->flags & SAB_CHOICE_UNSAFE) != 0;
    const bool keeps = (choice->flags & SAB_CHOICE_KEEPS_WORKSPACE) != 0;

    printf("%s %s", further ? " |" : "", choice->name);
    if (unsafe || keeps)
        printf(" (%s%s%s)", unsafe ? "unsafe" : "", unsafe && keeps ? ", " : "",
               keeps ? "keeps its workspace" : "");
}

static int print_kernels(const char *exe)
{
    struct strbuf path = STRBUF_INIT;
    struct library lib;
    struct err err = ERR_INIT;
    char real[4096];

    strbuf_addf(&path, "%.*s/../lib/libsab_kernels.so", (int)(strrchr(exe, '/') - exe), exe);
    if (!realpath(path.buf, real))
        err_set(&err, ERR_CONFIG, "there is no kernel library '%s'", path.buf);
    strbuf_release(&path);
    if (err.kind != ERR_NONE || library_open(&lib, real, &err))
        return exit_report(&err);
    printf("%s: %s, toolkit %s, targets %s\n", lib.table->name, lib.table->describe,
           lib.table->toolkit, *lib.table->targets ? lib.table->targets : "none");
    for (size_t i = 0; i < lib.kernels_nr; i++) {
        const struct sab_kernel *k = lib.kernels[i].row;
        printf("  %s/%-12s %-5s %s%s%s\n", k->op, k->name,
               device_kind_name((enum sab_device)k->device), k->help,
               lib.kernels[i].refusal ? "; refused: " : "",
               lib.kernels[i].refusal ? lib.kernels[i].refusal : "");
        for (uint32_t o = 0; o < k->options_nr; o++) {
            printf("      %s =", k->options[o].name);
            for (uint32_t c = 0; c < k->options[o].choices_nr; c++)
                print_choice(&k->options[o].choices[c], c > 0);
            printf("  %s\n", k->options[o].help);
        }
    }
    library_close(&lib);
    return EXIT_OK;
}

/* One line a case, and one below it for each arm that cannot run it. */
static int print_case(const struct session *s, const struct plan_case *item, double *total_s,
                      struct err *err)
{
    struct strbuf why = STRBUF_INIT, bytes = STRBUF_INIT, wall = STRBUF_INIT;
    struct chain *chain = malloc(sizeof(*chain));
    double need = 0, round_s = 0;
    size_t racing = 0;
    int ret = -1;

    if (!chain)
        return err_memory(err);
    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        const struct plan_arm *arm = &s->plan.arm[e->plan_arm];
        struct arm_steps steps;
        struct estimate est;
        bool across;
        char text[512];
        arm_entry_steps(e, &s->plan, item, &steps);
        if (!steps.nr)
            continue;
        if (plan_arm_chain(&s->plan, arm, item, chain, &across, err) ||
            estimate_arm(&s->plan, chain, &steps, &s->info, &est, text, sizeof(text), err))
            goto out;
        if (est.status != ESTIMATE_OK) {
            strbuf_addf(&why, "    %s: %s: %s\n", e->label,
                        est.status == ESTIMATE_OOM ? "oom" : "skip", text);
            continue;
        }
        racing++;
        need = fmax(need, est.bytes);
        round_s += est.sample_s;
    }
    int rounds = racing ? estimate_rounds(&s->plan, racing) : 0;
    double case_s = fmin(s->plan.set.max_time_s, rounds * round_s * s->plan.set.processes);
    text_add_bytes(&bytes, (uint64_t)need);
    text_add_duration(&wall, case_s * 1e9);
    printf("%-44s %2zu arms  %dx%-3d  %10s  about %s", item->id, racing, s->plan.set.processes,
           rounds, bytes.buf, racing ? wall.buf : "nothing");
    if (s->lanes_nr > 1)
        printf("  on %.12s", s->lane[s->lane_of[item - s->plan.item]].uuid);
    printf("\n");
    fputs(why.buf, stdout);
    *total_s += racing ? case_s : 0;
    ret = 0;
out:
    free(chain);
    strbuf_release(&why);
    strbuf_release(&bytes);
    strbuf_release(&wall);
    return ret;
}

static int print_plan(struct session *s, struct err *err)
{
    struct strbuf wall = STRBUF_INIT;
    double total_s = 0;

    printf("device: %s\n", s->info.name);
    for (size_t k = 0; s->lanes_nr > 1 && k < s->lanes_nr; k++)
        printf("  %s\n", s->lane[k].uuid);
    for (size_t i = 0; i < s->arms.nr; i++) {
        const struct arm_entry *e = &s->arms.item[i];
        const struct plan_arm *arm = &s->plan.arm[e->plan_arm];

        printf("arm %s: ", e->label);
        for (size_t k = 0; k < arm->steps_nr; k++)
            printf("%s%s/%s", k ? ARM_STEP_JOIN : "", arm->step[k].op, arm->step[k].kernel);
        printf("%s of %s%s\n", arm->steps_nr ? "" : arm->kernel, e->origin,
               e->duplicate ? " (A', a copy of the baseline)"
               : s->plan.nr && arm_set_against(&s->arms, &s->plan, &s->plan.item[0], e) == e
                   ? " (baseline)"
                   : "");
    }
    for (size_t i = 0; i < s->plan.nr; i++)
        if (print_case(s, &s->plan.item[i], &total_s, err))
            return -1;
    text_add_duration(&wall, total_s * 1e9);
    printf("%zu cases, about %s%s, and at most %g s of checking a case (estimates, not "
           "measurements)\n",
           s->plan.nr, wall.buf, s->lanes_nr > 1 ? " of GPU time" : "", s->plan.set.check_time_s);
    strbuf_release(&wall);
    return 0;
}

int cmd_list(int argc, const char **argv)
{
    struct config_args args;
    struct option_result result;
    struct session_request request;
    struct session s;
    struct ui ui;
    struct err err = ERR_INIT;
    char exe[4096];
    int status;

    if (config_args_parse(&args, &result, "list", argc, argv, &status)) {
        config_args_release(&args, &result);
        return status;
    }
    if (ui_own_path(exe, sizeof(exe)))
        snprintf(exe, sizeof(exe), "./bench");
    if (args.operators || args.kernels) {
        if (args.operators)
            print_operators();
        status = args.kernels ? print_kernels(exe) : EXIT_OK;
        config_args_release(&args, &result);
        return status;
    }
    config_args_request(&args, &result, JOB_INFO, &request);
    ui_init(&ui, args.quiet);
    request.events = ui_events(&ui);
    request.exe = exe;
    session_init(&s);
    status = session_open(&s, &request, &err) || session_device(&s, &err) ||
                     session_assign(&s, &err) || print_plan(&s, &err)
                 ? exit_report(&err)
                 : EXIT_OK;
    session_release(&s);
    config_args_release(&args, &result);
    return status;
}
