/* tools/joulec/check/check.c - see check.h. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/options.h"
#include "source_marks.h"

extern char **environ;

int check_run_clang(const char **words, int fd, bool is_quiet)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    if (is_quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int problem = posix_spawnp(&pid, words[0], &actions, NULL, (char **)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (problem) {
        complain("", "cannot run %s: %s; JOULEC_CLANG names another", words[0], strerror(problem));
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum outcome check_worse(enum outcome a, enum outcome b)
{
    return b == OUTCOME_VIOLATED || a == OUTCOME_GOOD ? b : a;
}

static bool judge_module(const struct machine *machine, const struct arguments *arguments, const char *source,
                         const struct module *module, const struct marks *marks, struct outputs *outputs,
                         struct checked *out)
{
    struct analysis analysis;
    joule_error error;
    struct analysis_options options = {.default_trips = arguments->default_trips, .marks = marks};
    if (analysis_make(module, &machine->cpu, &machine->core, &options, &analysis, &error) != JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        return false;
    }
    struct judged judged = {&analysis, source, arguments->is_strict, outputs->root};
    bool done = outputs_tell(outputs, &judged);
    out->outcome = report_outcome(&judged);
    analysis_free(&analysis);
    return done;
}

/* With the count build's bitcode in `fd`. */
static bool check_bitcode(const struct machine *machine, const struct arguments *arguments,
                          const char *source, int fd, const struct marks *marks, struct outputs *outputs,
                          struct checked *out)
{
    struct module module;
    joule_error error;
    char path[64];
    string_print(path, sizeof path, "/proc/self/fd/%d", fd);
    if (module_read(path, &module, &error) != JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        return false;
    }
    bool done = judge_module(machine, arguments, source, &module, marks, outputs, out);
    module_free(&module);
    return done;
}

/* The count build, into two files in memory. */
static bool check_with(const struct machine *machine, const struct arguments *arguments, const char *source,
                       bool is_quiet, const int fds[2], struct outputs *outputs, struct checked *out)
{
    struct arena arena = {0};
    struct marks marks = {0};
    char dependencies[64];
    string_print(dependencies, sizeof dependencies, "/proc/%d/fd/%d", (int)getpid(), fds[1]);
    const char **words = arguments_of_count(&arena, arguments, source, dependencies);
    int code = words ? check_run_clang(words, fds[0], is_quiet) : -1;
    out->is_refused = code > 0;
    bool done = code > 0 || (code == 0 && source_marks_read(arguments, source, fds[1], &marks) &&
                             check_bitcode(machine, arguments, source, fds[0], &marks, outputs, out));
    marks_free(&marks);
    arena_free(&arena);
    return done;
}

bool check_source(const struct machine *machine, const struct arguments *arguments, const char *source,
                  bool is_quiet, struct outputs *outputs, struct checked *out)
{
    int fds[2] = {memfd_create("joulec-bitcode", MFD_CLOEXEC), memfd_create("joulec-files", MFD_CLOEXEC)};
    bool done = false;
    *out = (struct checked){.outcome = OUTCOME_GOOD};
    if (fds[0] < 0 || fds[1] < 0)
        complain("", "%s: %s", source, strerror(errno));
    else
        done = check_with(machine, arguments, source, is_quiet, fds, outputs, out);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return done;
}
