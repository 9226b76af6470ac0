/*
 * gpu_descriptors.c - the descriptor scenarios of the Sage contract (section 7.3), each in a child
 * of its own, on every kernel of sage_fwd with the option `descriptor` and every choice of it. A
 * choice must pass all but the hazards that it names, and fail each of those: that proves the
 * scenario.
 *
 *   gpu_descriptors [--only GLOB] [LIBRARY]     GLOB over "sage_fwd/mma.cached zeroed"
 *   gpu_descriptors --scenario NAME --kernel NAME --descriptor CHOICE LIBRARY     the child
 */
#include "child.h"
#include "gpu_scenarios.h"

#define TIME_LIMIT_MS 120000

struct words {
    const char *scenario, *kernel, *descriptor, *only, *library;
};

static const struct sab_option *descriptor_of(const struct sab_kernel *row)
{
    return row->options_nr == 1 && strcmp(row->options[0].name, "descriptor") == 0 ? row->options
                                                                                   : NULL;
}

/* ---- the child ------------------------------------------------------------------------------- */

static int play(struct scene *s, const struct words *w)
{
    const struct library_kernel *k;
    const struct scenario *sc = NULL;
    struct err err = ERR_INIT;
    uint64_t bytes;
    int choice;

    for (size_t i = 0; i < SCENARIOS_NR; i++)
        if (strcmp(scenarios[i].name, w->scenario) == 0)
            sc = &scenarios[i];
    k = library_find(&s->rig.lib, w->kernel, &err);
    if (!sc || !k || !descriptor_of(k->row))
        return scene_say(s, "no scenario '%s' of '%s'", w->scenario, w->kernel);
    choice = library_find_choice(descriptor_of(k->row), w->descriptor, &err);
    if (choice < 0)
        return scene_say(s, "%s", err.text);
    s->row = k->row;
    s->choice = (uint32_t)choice;
    s->stream = device_stream(s->rig.dev);
    const struct sab_problem asked = {
        .struct_size = sizeof(asked), .choices_nr = 1, .choices = &s->choice};
    if (k->row->workspace_size(&asked, &bytes, NULL) != SAB_OK || bytes > SCENE_BYTES)
        return scene_say(s, "its workspace is not of %d bytes or none", SCENE_BYTES);
    s->needs_workspace = bytes > 0;
    const int rc = scene_prove(s);
    return rc ? rc : sc->play(s);
}

static int child_main(const struct words *w, char *program)
{
    char quick[] = "--quick", *argv[] = {program, quick, (char *)(uintptr_t)w->library, NULL};
    static struct scene s;
    const int rc = rig_open(&s.rig, 3, argv);

    /* The process ends with it: after a fault of the device there is nothing to give back. */
    return rc ? SCENE_BROKEN : play(&s, w);
}

/* ---- the parent ------------------------------------------------------------------------------ */

enum cell { CELL_PASS = 0, CELL_FAIL, CELL_BROKEN, CELL_NOT_RUN };
static const char *const cell_words[] = {"pass", "FAIL", "BROKEN", "undefined"};

/* Section 7.3: across streams the copy of ABI 1 is ordered with nothing, so that either is right.
 */
static enum cell due(const struct sab_choice *choice, const struct scenario *sc)
{
    if (!(choice->hazards & sc->hazard))
        return CELL_PASS;
    return sc->hazard == SAB_HAZARD_ORDERED_STREAMS ? CELL_NOT_RUN : CELL_FAIL;
}

static enum cell run_child(const char *program, const char *kernel, const char *choice,
                           const struct scenario *sc, const char *library)
{
    const char *const argv[] = {program,        "--scenario", sc->name, "--kernel", kernel,
                                "--descriptor", choice,       library,  NULL};
    const struct child_options options = {.argv = argv};
    struct child child;
    struct err err = ERR_INIT;
    struct strbuf how = STRBUF_INIT;
    int ended;

    if (child_spawn(&child, &options, &err) < 0) {
        printf("#   %s\n", err.text);
        return CELL_BROKEN;
    }
    ended = child_wait(&child, TIME_LIMIT_MS, &err);
    if (ended != 1) {
        printf("#   no end within %d s\n", TIME_LIMIT_MS / 1000);
        child_stop(&child, 1000);
        return ended == 0 ? CELL_FAIL : CELL_BROKEN;
    }
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == SCENE_PASS)
        return CELL_PASS;
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == SCENE_FAIL)
        return CELL_FAIL;
    child_add_status(&how, child.status);
    printf("#   %s\n", how.buf);
    strbuf_release(&how);
    return CELL_BROKEN;
}

static void print_table(const struct sab_kernel *row, const struct sab_option *option,
                        enum cell cell[][SAB_MAX_OPTIONS])
{
    printf("# %s/%-11s", row->op, row->name);
    for (uint32_t c = 0; c < option->choices_nr; c++)
        printf(" %-18s", option->choices[c].name);
    printf("\n");
    for (size_t i = 0; i < SCENARIOS_NR; i++) {
        printf("# %-20s", scenarios[i].name);
        for (uint32_t c = 0; c < option->choices_nr; c++) {
            const bool named =
                cell[i][c] == CELL_FAIL && due(&option->choices[c], &scenarios[i]) == CELL_FAIL;

            printf(" %-18s", named ? "expected failure" : cell_words[cell[i][c]]);
        }
        printf("\n");
    }
}

static void run_kernel(struct tap *tap, const struct sab_kernel *row, const struct words *w,
                       const char *program, const char *library)
{
    const struct sab_option *option = descriptor_of(row);
    enum cell cell[SCENARIOS_NR][SAB_MAX_OPTIONS];
    char kernel[80], name[160];

    snprintf(kernel, sizeof(kernel), "%s/%s", row->op, row->name);
    for (uint32_t c = 0; c < option->choices_nr; c++)
        for (size_t i = 0; i < SCENARIOS_NR; i++) {
            const enum cell want = due(&option->choices[c], &scenarios[i]);

            cell[i][c] = CELL_NOT_RUN;
            snprintf(name, sizeof(name), "%s.%s %s", kernel, option->choices[c].name,
                     scenarios[i].name);
            if (want == CELL_NOT_RUN || (w->only && fnmatch(w->only, name, 0) != 0))
                continue;
            printf("# %s\n", name);
            fflush(stdout);
            cell[i][c] =
                run_child(program, kernel, option->choices[c].name, &scenarios[i], library);
            tap_ok(tap, cell[i][c] == want, "%s: %s, due is %s", name, cell_words[cell[i][c]],
                   cell_words[want]);
        }
    print_table(row, option, cell);
}

static int parent_main(const struct words *w)
{
    char program[PATH_MAX], library[PATH_MAX];
    struct device_listing list[1];
    struct tap tap = {0, 0};
    struct library lib;
    struct err err = ERR_INIT;

    if (device_list_cuda(list, 1) == 0) {
        printf("1..0 # SKIP no GPU\n");
        return TAP_SKIPPED;
    }
    if (!rig_library_path(w->library, library) || !realpath("/proc/self/exe", program))
        return 1;
    if (library_open(&lib, library, &err) < 0) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < lib.kernels_nr; i++) {
        const struct library_kernel *k = &lib.kernels[i];

        if (!k->refusal && strcmp(k->row->op, "sage_fwd") == 0 && descriptor_of(k->row) &&
            sab_target_served(k->row->targets, list[0].arch))
            run_kernel(&tap, k->row, w, program, library);
    }
    library_close(&lib);
    if (tap.nr == 0)
        tap_ok(&tap, false, "nothing was run");
    return tap_end(&tap);
}

int main(int argc, char **argv)
{
    struct words w = {NULL, NULL, NULL, NULL, NULL};
    const struct {
        const char *flag;
        const char **value;
    } flags[] = {{"--scenario", &w.scenario},
                 {"--kernel", &w.kernel},
                 {"--descriptor", &w.descriptor},
                 {"--only", &w.only}};

    for (int i = 1; i < argc; i++) {
        const char **value = &w.library;

        for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
            if (strcmp(argv[i], flags[f].flag) == 0 && i + 1 < argc) {
                value = flags[f].value;
                i++;
                break;
            }
        *value = argv[i];
    }
    if (!w.scenario)
        return parent_main(&w);
    return w.kernel && w.descriptor && w.library ? child_main(&w, argv[0]) : SCENE_BROKEN;
}
