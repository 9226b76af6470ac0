#include "branch_git.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "branch_disk.h"
#include "child.h"
#include "file.h"
#include "sha256.h"
#include "text.h"

#define GIT_TIMEOUT_MS (5 * 60 * 1000)
#define GIT_MAX_BYTES  ((size_t)256 << 20)

void branch_git_init(struct branch_git *git)
{
    memset(git, 0, sizeof(*git));
}

void branch_git_release(struct branch_git *git)
{
    free(git->name);
    free(git->label);
    free(git->top);
    free(git->describe);
    branch_git_init(git);
}

static int run_git(const char *const *argv, struct strbuf *out, struct err *err)
{
    /* branch_disk_check() reads what is said; `git diff` must not refresh the user's index. */
    const char *env[] = {"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", NULL};
    struct child_options options = {.argv = argv, .env = env};
    return child_run(&options, GIT_TIMEOUT_MS, GIT_MAX_BYTES, out, err);
}

/* Output of a git command without its last line end. NULL (and err) when it failed. */
static char *git_line(const char *const *argv, struct err *err)
{
    struct strbuf sb = STRBUF_INIT;
    if (run_git(argv, &sb, err)) {
        strbuf_release(&sb);
        return NULL;
    }
    char *text = strbuf_detach(&sb);
    if (!text) {
        err_memory(err);
        return NULL;
    }
    size_t len = strlen(text);
    while (len && text_is_space(text[len - 1]))
        text[--len] = '\0';
    return text;
}

static int find_top(struct branch_git *git, const char *dir, struct err *err)
{
    const char *argv[] = {"git", "-C", dir ? dir : ".", "rev-parse", "--show-toplevel", NULL};
    struct err why = ERR_INIT;

    git->top = git_line(argv, &why);
    if (git->top)
        return 0;
    if (why.kind == ERR_ENVIRONMENT)
        return err_set(err, why.kind, "%s", why.text);
    return err_set(err, ERR_CONFIG,
                   "'%s' is no file, and there is no git repository here to look it up in; name "
                   "libraries by their paths, or run inside the repository",
                   git->name);
}

static int find_commit(struct branch_git *git, struct err *err)
{
    struct strbuf spec = STRBUF_INIT;
    struct err why = ERR_INIT;

    strbuf_addf(&spec, "%s^{commit}", git->worktree ? "HEAD" : git->name);
    const char *argv[] = {"git",      "-C",      git->top,           "rev-parse",
                          "--verify", "--quiet", "--end-of-options", spec.buf,
                          NULL};
    char *sha = git_line(argv, &why);
    strbuf_release(&spec);
    if (sha) {
        snprintf(git->sha, sizeof(git->sha), "%s", sha);
        free(sha);
        return 0;
    }
    const char *ask[] = {"git", "-C", git->top, "rev-parse", "--is-shallow-repository", NULL};
    char *shallow = git_line(ask, &why);
    bool is_shallow = shallow && !strcmp(shallow, "true");
    free(shallow);
    return err_set(
        err, ERR_CONFIG, "'%s' is no file and no commit, branch or tag of '%s'%s", git->name,
        git->top,
        is_shallow ? "; this is a shallow clone, which may lack it: git fetch --unshallow" : "");
}

/* What the checkout changes against HEAD: the diff, and untracked files with their contents. */
static int hash_changes(struct branch_git *git, struct err *err)
{
    const char *diff[] = {"git", "-C", git->top, "diff", "--binary", "HEAD", "--", "kernels", NULL};
    const char *list[] = {
        "git", "-C",      git->top, "ls-files", "-z", "--others", "--exclude-standard",
        "--",  "kernels", NULL};
    struct strbuf sb = STRBUF_INIT, names = STRBUF_INIT, path = STRBUF_INIT;
    int ret = -1;

    if (run_git(diff, &sb, err) || run_git(list, &names, err))
        goto out;
    for (size_t at = 0; at < names.len; at += strlen(names.buf + at) + 1) {
        strbuf_reset(&path);
        file_add_path(&path, git->top, names.buf + at);
        strbuf_addf(&sb, "\nuntracked %s\n", names.buf + at);
        if (file_read(path.buf, &sb, GIT_MAX_BYTES, err))
            goto out;
    }
    if (sb.oom) {
        err_memory(err);
        goto out;
    }
    if (sb.len)
        sha256_of(sb.buf, sb.len, git->diff_sha256);
    ret = 0;
out:
    strbuf_release(&sb);
    strbuf_release(&names);
    strbuf_release(&path);
    return ret;
}

/* "origin/feature-x" is called feature-x; a commit is called by its short hash. */
static int choose_label(struct branch_git *git, struct err *err)
{
    const char *slash = strrchr(git->name, '/');
    const char *label = git->worktree ? "worktree" : slash ? slash + 1 : git->name;
    char buf[16];

    if (!git->worktree && strspn(label, "0123456789abcdefABCDEF") == strlen(label) &&
        strlen(label) > 7) {
        snprintf(buf, sizeof(buf), "%.7s", git->sha);
        label = buf;
    }
    git->label = strdup(label);
    for (char *p = git->label; p && *p; p++)
        if (strchr("~^:@{}; ,\"'", *p))
            *p = '_';
    return git->label ? 0 : err_memory(err);
}

int branch_git_resolve(struct branch_git *git, const char *name, const char *dir, struct err *err)
{
    git->name = strdup(name);
    git->worktree = !strcmp(name, "WORKTREE");
    if (!git->name)
        return err_memory(err);
    if (find_top(git, dir, err) || find_commit(git, err) || choose_label(git, err))
        return -1;
    if (git->worktree && hash_changes(git, err))
        return -1;
    struct strbuf sb = STRBUF_INIT;
    strbuf_addf(&sb, "%.12s%s", git->sha, *git->diff_sha256 ? "-dirty" : "");
    git->describe = strbuf_detach(&sb);
    return git->describe ? 0 : err_memory(err);
}

static void add_source(struct strbuf *sb, const char *dir)
{
    strbuf_addf(sb, "%s/src", dir);
}

int branch_git_source(const struct branch_git *git, const char *dir, struct strbuf *out,
                      struct err *err)
{
    struct strbuf text = STRBUF_INIT;

    if (git->worktree) {
        strbuf_addstr(out, git->top);
        return 0;
    }
    branch_git_drop(git, dir); /* what a killed build left */
    add_source(out, dir);
    /* In two steps: `worktree add` would run the user's hooks, and would remove what it could not
     * finish before the disk can be looked at. */
    const char *add[] = {"git",           "-C",      git->top,  "worktree", "add",    "--detach",
                         "--no-checkout", "--force", "--quiet", out->buf,   git->sha, NULL};
    const char *fill[] = {"git", "-C", out->buf, "reset", "--hard", "--quiet", NULL};
    int ret = run_git(add, &text, err) || run_git(fill, &text, err) ? -1 : 0;
    if (ret && !branch_disk_check(dir, text.buf, git->name, err))
        err_prefix(err, "a worktree for '%s': %.300s", git->name, text.buf);
    if (ret)
        branch_git_drop(git, dir);
    strbuf_release(&text);
    return ret;
}

void branch_git_drop(const struct branch_git *git, const char *dir)
{
    struct strbuf src = STRBUF_INIT, text = STRBUF_INIT;
    struct err quiet = ERR_INIT;

    if (git->worktree)
        return;
    add_source(&src, dir);
    /* Not `git worktree prune`: that forgets worktrees of the user on disks not mounted now. */
    const char *remove[] = {"git",     "-C",      git->top, "worktree", "remove",
                            "--force", "--force", src.buf,  NULL};
    run_git(remove, &text, &quiet);
    if (file_exists(src.buf)) {
        branch_disk_remove(src.buf);
        run_git(remove, &text, &quiet);
    }
    strbuf_release(&src);
    strbuf_release(&text);
}
