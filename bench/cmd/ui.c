#include "ui.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A signal handler has no other way to say that it was called. */
static volatile sig_atomic_t interrupts;

static void on_interrupt(int signo)
{
    (void)signo;
    interrupts = interrupts + 1;
}

const volatile sig_atomic_t *ui_catch_signals(void)
{
    struct sigaction act = {.sa_handler = on_interrupt};
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    /* A worker that dies while it is given its job is an error of write(), not the end of us. */
    act.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &act, NULL);
    return &interrupts;
}

void ui_init(struct ui *ui, bool quiet)
{
    ui->quiet = quiet;
    ui->tty = isatty(STDERR_FILENO) && !quiet;
    ui->line = false;
    ui->last_done = -1;
}

void ui_end(struct ui *ui)
{
    if (ui->line)
        fputs("\r\033[K", stderr);
    ui->line = false;
}

static void note(void *ctx, const char *text)
{
    struct ui *ui = ctx;
    if (ui->quiet)
        return;
    ui_end(ui);
    fprintf(stderr, "bench: %s\n", text);
}

static void progress(void *ctx, int done, int all, double eta_s, const char *case_id,
                     const char *phase)
{
    struct ui *ui = ctx;
    struct strbuf eta = STRBUF_INIT;

    if (ui->quiet || (!ui->tty && done == ui->last_done))
        return;
    ui->last_done = done;
    if (isfinite(eta_s)) {
        strbuf_addstr(&eta, ", about ");
        text_add_duration(&eta, eta_s * 1e9);
        strbuf_addstr(&eta, " left");
    }
    fprintf(stderr, ui->tty ? "\r\033[K%d of %d%s: %s (%s)" : "bench: %d of %d%s: %s (%s)\n", done,
            all, eta.buf, case_id, phase);
    ui->line = ui->tty;
    strbuf_release(&eta);
}

struct session_events ui_events(struct ui *ui)
{
    return (struct session_events){.note = note, .progress = progress, .ctx = ui};
}

int ui_own_path(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - 1);
    if (n <= 0)
        return -1;
    buf[n] = '\0';
    return 0;
}

void ui_fill_request(struct ui *ui, struct session_request *request, char *exe, size_t size,
                     int argc, const char *const *argv)
{
    request->events = ui_events(ui);
    request->interrupted = ui_catch_signals();
    request->exe = ui_own_path(exe, size) ? "bench" : exe;
    request->argc = argc;
    request->argv = argv;
}

int ui_width(void)
{
    struct winsize ws;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws))
        return 0;
    return ws.ws_col;
}

bool ui_colour(void)
{
    const char *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && *no);
}
