/*
 * ui.h - progress on stderr, signals, and where this program lies.
 */
#ifndef BENCH_CMD_UI_H
#define BENCH_CMD_UI_H

#include <signal.h>
#include <stdbool.h>

#include "session.h"

struct ui {
    bool quiet;
    bool tty;      /* stderr is a terminal: one line that is rewritten */
    bool line;     /* such a line stands there now */
    int last_done; /* for plain progress: a line whenever this moves */
};

void ui_init(struct ui *ui, bool quiet);
/* Clears a progress line. */
void ui_end(struct ui *ui);
struct session_events ui_events(struct ui *ui);
/* Counts SIGINT and SIGTERM from now on. */
const volatile sig_atomic_t *ui_catch_signals(void);
/* Absolute path of this program. */
int ui_own_path(char *buf, size_t size);
/* What every command that runs a session fills alike: events, signals, this program's path (into
 * exe, which must outlive the request) and the command line. */
void ui_fill_request(struct ui *ui, struct session_request *request, char *exe, size_t size,
                     int argc, const char *const *argv);
/* Columns of the terminal on stdout, 0 when it is none. */
int ui_width(void);
bool ui_colour(void);

/* run.c: opens, runs and reports a session; `branches` (may be NULL) goes into run.json. Returns
 * the exit status. */
int run_request(struct session_request *request, struct ui *ui, int argc, const char **argv,
                json_t *branches);

#endif
