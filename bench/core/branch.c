#include "branch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include "branch_disk.h"
#include "branch_git.h"
#include "child.h"
#include "file.h"
#include "strbuf.h"
#include "text.h"

#define LOG_LINES   15
#define BUILD_MAX_S (60 * 60)

void branch_init(struct branch *b)
{
    memset(b, 0, sizeof(*b));
}

void branch_release(struct branch *b)
{
    free(b->name);
    free(b->label);
    free(b->library);
    free(b->describe);
    branch_init(b);
}

static int copy(char **out, const char *text, struct err *err)
{
    free(*out);
    *out = strdup(text);
    return *out ? 0 : err_memory(err);
}

static void say(const struct branch_request *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct branch_request *r, const char *format, ...)
{
    char text[2048];
    va_list args;
    if (!r->note)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r->note(r->ctx, text);
}

/* ---- a path ---- */

static bool is_path(const char *name)
{
    size_t len = strlen(name);
    return strchr(name, '/') ? file_exists(name)
                             : len > 3 && !strcmp(name + len - 3, ".so") && file_exists(name);
}

/* "/x/libsab_old.so" is called sab_old. */
static int label_of_path(struct branch *b, const char *path, struct err *err)
{
    const char *base = file_base(path);
    struct strbuf sb = STRBUF_INIT;

    if (!strncmp(base, "lib", 3))
        base += 3;
    strbuf_addf(&sb, "%.*s", (int)strcspn(base, "."), base);
    int ret = copy(&b->label, *sb.buf ? sb.buf : "library", err);
    strbuf_release(&sb);
    return ret;
}

static int resolve_path(struct branch *b, const char *name, struct err *err)
{
    char real[PATH_MAX];
    if (!realpath(name, real))
        return err_errno(err, ERR_CONFIG, "cannot resolve '%s'", name);
    return copy(&b->library, real, err) || copy(&b->describe, "", err) ||
                   label_of_path(b, real, err)
               ? -1
               : 0;
}

/* ---- the cache ---- */

static void add_cache(struct strbuf *sb, const struct branch_request *r)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (r->cache)
        strbuf_addstr(sb, r->cache);
    else if (xdg && *xdg == '/') /* the specification: ignore one that is not absolute */
        strbuf_addf(sb, "%s/sab", xdg);
    else
        strbuf_addf(sb, "%s/.cache/sab", home && *home ? home : "/tmp");
}

/* "13.0" of the compiler that a build would use; "unknown" where it does not say. */
static void add_toolkit(struct strbuf *sb)
{
    const char *named = getenv("CUDACXX");
    const char *argv[] = {named && *named ? named : "nvcc", "--version", NULL};
    struct child_options options = {.argv = argv};
    struct strbuf out = STRBUF_INIT;
    const char *at =
        child_run(&options, 30000, 65536, &out, NULL) ? NULL : strstr(out.buf, "release ");
    if (at)
        strbuf_add(sb, at + 8, strcspn(at + 8, ", \n"));
    else
        strbuf_addstr(sb, "unknown");
    strbuf_release(&out);
}

/* What a built library depends on besides its sources. */
static void add_key(struct strbuf *sb, const struct branch_git *git, const struct branch_request *r)
{
    strbuf_addf(sb, "%.16s", git->sha);
    if (*git->diff_sha256)
        strbuf_addf(sb, "+%.12s", git->diff_sha256);
    if (!r->cuda) {
        strbuf_addstr(sb, "-cpu");
        return;
    }
    strbuf_addstr(sb, "-cuda");
    add_toolkit(sb);
    strbuf_addch(sb, '-');
    for (const char *p = r->architectures; *p; p++)
        strbuf_addch(sb, *p == ';' ? '_' : *p);
}

/* ---- building ---- */

/* The last lines of a log. */
static const char *log_end(const struct strbuf *text)
{
    size_t lines = 0, at;

    for (at = text->len; at > 0 && lines <= LOG_LINES; at--)
        if (text->buf[at - 1] == '\n')
            lines++;
    return text->buf + at + (text->buf[at] == '\n');
}

/* Why the build in DIR failed. */
static int build_failed(const struct branch_git *git, const char *dir, const char *log,
                        const struct err *why, struct err *err)
{
    struct strbuf text = STRBUF_INIT;

    file_read(log, &text, (size_t)64 << 20, NULL);
    if (why->kind == ERR_INTERRUPTED || !branch_disk_check(dir, text.buf, git->name, err))
        err_set(err, why->kind, "'%s' does not build: %s; its log is '%s'%s%.600s", git->name,
                why->text, log, text.len ? " and ends so:\n" : "", log_end(&text));
    strbuf_release(&text);
    return -1;
}

/* Runs a command with its output behind the log. Ctrl-C ends it. */
static int run_logged(const char *const *argv, const char *log, const struct branch_request *r,
                      struct err *err)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    struct child child = {0};
    int waited = 0;

    if (fd < 0)
        return err_errno(err, ERR_ENVIRONMENT, "cannot write the build log '%s'", log);
    struct child_fd fds[] = {{fd, 1}, {fd, 2}};
    const char *env[] = {"LC_ALL=C", NULL}; /* branch_disk_check() reads what is said */
    struct child_options options = {
        .argv = argv, .env = env, .fds = fds, .nr_fds = 2, .guard = r->exe};
    int ret = child_spawn(&child, &options, err);
    close(fd);
    if (ret)
        return -1;
    for (long ms = 0; !waited && ms < BUILD_MAX_S * 1000L; ms += 100) {
        waited = child_wait(&child, 100, err);
        if (waited < 0)
            return -1;
        if (!waited && r->interrupted && *r->interrupted) {
            child_stop(&child, 2000);
            return err_set(err, ERR_INTERRUPTED, "interrupted while building");
        }
    }
    if (!waited) {
        child_stop(&child, 2000);
        return err_set(err, ERR_CRASH, "building took more than an hour");
    }
    if (child.status == 0)
        return 0;
    if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 127)
        return err_set(err, ERR_ENVIRONMENT, "cannot start '%s'", argv[0]);
    return err_set(err, ERR_CRASH, "'%s' failed", argv[0]);
}

static int run_cmake(const char *source, const char *build, const char *log, const char *describe,
                     const struct branch_request *r, struct err *err)
{
    struct strbuf arch = STRBUF_INIT, desc = STRBUF_INIT;
    char jobs[16];
    int ret;

    strbuf_addf(&arch, "-DCMAKE_CUDA_ARCHITECTURES=%s", r->cuda ? r->architectures : "90a");
    strbuf_addf(&desc, "-DSAB_DESCRIBE=%s", describe);
    snprintf(jobs, sizeof(jobs), "-j%d", r->jobs > 0 ? r->jobs : 2);
    const char *configure[] = {"cmake",
                               "-S",
                               source,
                               "-B",
                               build,
                               "-DCMAKE_BUILD_TYPE=Release",
                               r->cuda ? "-DSAB_CUDA=ON" : "-DSAB_CUDA=OFF",
                               arch.buf,
                               desc.buf,
                               NULL};
    const char *make[] = {"cmake", "--build", build, jobs, "--target", "sab_kernels", NULL};
    ret = run_logged(configure, log, r, err);
    if (!ret)
        ret = run_logged(make, log, r, err);
    strbuf_release(&arch);
    strbuf_release(&desc);
    return ret;
}

/* One place of the cache: DIR/{build,lib}, DIR.lock, DIR.log. */
static int build_into(const char *dir, const struct branch_git *git, const char *describe,
                      const struct branch_request *r, struct err *err)
{
    struct strbuf source = STRBUF_INIT, build = STRBUF_INIT, log = STRBUF_INIT;
    struct err why = ERR_INIT;
    int ret = -1;

    strbuf_addf(&log, "%s.log", dir);
    strbuf_addf(&build, "%s/build", dir);
    unlink(log.buf);
    branch_disk_remove(build.buf); /* what a killed build left may be cut short */
    if (branch_git_source(git, dir, &source, err))
        goto out;
    strbuf_addstr(&source, "/kernels");
    if (!file_exists(source.buf)) {
        err_set(err, ERR_CONFIG, "'%s' has no folder kernels/: there is no library to build",
                git->name);
    } else if (run_cmake(source.buf, build.buf, log.buf, describe, r, &why)) {
        build_failed(git, dir, log.buf, &why, err);
    } else {
        ret = 0;
    }
    branch_git_drop(git, dir);
out:
    if (ret)
        branch_disk_remove(build.buf);
    strbuf_release(&source);
    strbuf_release(&build);
    strbuf_release(&log);
    return ret;
}

/* A build that is whole is marked: the library's name under its final place. */
static int publish(const char *dir, struct err *err)
{
    struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    int ret;

    strbuf_addf(&to, "%s/lib", dir);
    ret = file_mkdirs(to.buf, err);
    strbuf_reset(&to);
    strbuf_addf(&from, "%s/build/lib/libsab_kernels.so.resources", dir);
    strbuf_addf(&to, "%s/lib/libsab_kernels.so.resources", dir);
    if (!ret && file_exists(from.buf))
        ret = file_copy(from.buf, to.buf, err);
    strbuf_reset(&from);
    strbuf_reset(&to);
    strbuf_addf(&from, "%s/build/lib/libsab_kernels.so", dir);
    strbuf_addf(&to, "%s/lib/libsab_kernels.so", dir);
    if (!ret)
        ret = file_copy(from.buf, to.buf, err);
    strbuf_release(&from);
    strbuf_release(&to);
    return ret;
}

static int build_locked(struct branch *b, const char *dir, const struct branch_git *git,
                        const struct branch_request *r, struct err *err)
{
    struct strbuf lib = STRBUF_INIT;
    int ret = 0;

    strbuf_addf(&lib, "%s/lib/libsab_kernels.so", dir);
    if (!file_exists(lib.buf)) {
        say(r, "building '%s' (%s) in '%s'", git->name, git->describe, dir);
        ret = file_mkdirs(dir, err) || build_into(dir, git, git->describe, r, err) ||
                      publish(dir, err)
                  ? -1
                  : 0;
        b->built = !ret;
    }
    if (!ret)
        ret = copy(&b->library, lib.buf, err);
    strbuf_release(&lib);
    return ret;
}

static int resolve_ref(struct branch *b, const char *name, const struct branch_request *r,
                       struct err *err)
{
    struct strbuf dir = STRBUF_INIT, lock = STRBUF_INIT;
    struct branch_git git;
    int fd = -1, ret = -1;

    branch_git_init(&git);
    if (branch_git_resolve(&git, name, r->dir, err))
        goto out;
    add_cache(&dir, r);
    if (file_mkdirs(dir.buf, err))
        goto out;
    strbuf_addch(&dir, '/');
    add_key(&dir, &git, r);
    strbuf_addf(&lock, "%s.lock", dir.buf);
    /* Two runs that want the same commit: the second waits for the first one's build. */
    fd = open(lock.buf, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX)) {
        err_errno(err, ERR_ENVIRONMENT, "cannot lock the build cache '%s'", lock.buf);
        goto out;
    }
    if (build_locked(b, dir.buf, &git, r, err))
        goto out;
    snprintf(b->diff_sha256, sizeof(b->diff_sha256), "%s", git.diff_sha256);
    ret = copy(&b->describe, git.describe, err) || copy(&b->label, git.label, err) ? -1 : 0;
out:
    if (fd >= 0)
        close(fd);
    branch_git_release(&git);
    strbuf_release(&dir);
    strbuf_release(&lock);
    return ret;
}

int branch_resolve(struct branch *b, const char *name, const struct branch_request *request,
                   struct err *err)
{
    if (copy(&b->name, name, err))
        return -1;
    return is_path(name) ? resolve_path(b, name, err) : resolve_ref(b, name, request, err);
}

/* The same, or the same with a number. */
static bool is_copy(const char *label, const char *of)
{
    const size_t n = strlen(of);

    if (strncmp(label, of, n))
        return false;
    const char *rest = label + n;
    return !rest[0] || (rest[0] == '.' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]);
}

int branch_labels(struct branch *list, size_t nr, struct err *err)
{
    for (size_t i = 1; i < nr; i++) {
        int copies = 1;
        char label[256];
        for (size_t k = 0; k < i; k++)
            copies += is_copy(list[k].label, list[i].label);
        if (copies == 1)
            continue;
        snprintf(label, sizeof(label), "%s.%d", list[i].label, copies);
        if (copy(&list[i].label, label, err))
            return -1;
    }
    return 0;
}
