/* tools/joulec/check/main.c - the half of joulec that knows LLVM: it judges functions, and then builds.
 *
 * Owns the order: what is to be checked is checked first, and only then built, so that no build leaves an object behind whose
 * budgets are exceeded. Newcomers: a source that clang refuses is not judged; the build then says what is wrong with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "arguments.h"
#include "common/options.h"
#include "common/output.h"
#include "joule/host/host.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "joulec/report.h"

const char tool_name[] = "joulec";

#define EXIT_VIOLATED  1
#define EXIT_UNDECIDED 3

extern char **environ;

/* What a check leaves behind. */
struct check {
    struct arena arena;
    struct arguments arguments;
    struct cost_cpu cpu;
    struct cost_core core;
    enum outcome outcome;
    struct text reports; /* JSON, one line for each source */
};

/* --- clang -------------------------------------------------------------------------------------------------- */

/* Its exit code; -1 after a message: it cannot be run. */
static int run_clang(const char **words, bool is_quiet)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (is_quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int problem = posix_spawnp(&pid, words[0], &actions, NULL, (char **)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (problem) {
        complain("", "cannot run %s: %s", words[0], strerror(problem));
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- a check ------------------------------------------------------------------------------------------------ */

typedef void (*print_fn)(const struct analysis *analysis, const char *source,
                         const struct report_policy *policy, struct text *out, enum outcome *outcome);

static void print_messages(const struct analysis *analysis, const char *source,
                           const struct report_policy *policy, struct text *out, enum outcome *outcome)
{
    *outcome = report_messages(analysis, source, policy, out);
}

static void print_json(const struct analysis *analysis, const char *source,
                       const struct report_policy *policy, struct text *out, enum outcome *outcome)
{
    (void)policy;
    (void)outcome;
    report_functions_json(analysis, source, out);
}

/* Written twice: the first time only to know how long it is. NULL: no memory. */
static const char *written(struct arena *arena, print_fn print, const struct analysis *analysis,
                           const char *source, const struct report_policy *policy, enum outcome *outcome)
{
    struct text text;
    text_init(&text, NULL, 0);
    print(analysis, source, policy, &text, outcome);
    size_t size = text.length + 1;
    char *buffer = arena_alloc(arena, size);
    text_init(&text, buffer, buffer ? size : 0);
    print(analysis, source, policy, &text, outcome);
    return buffer;
}

static void add_report(struct check *check, const char *line)
{
    size_t size = check->reports.length + strlen(line) + 1;
    char *all = arena_alloc(&check->arena, size);
    if (!all)
        return;
    struct text joined;
    text_init(&joined, all, size);
    if (check->reports.length)
        text_add_bytes(&joined, check->reports.buffer, check->reports.length);
    text_add(&joined, line);
    check->reports = joined;
}

static void take_outcome(struct check *check, enum outcome outcome)
{
    if (outcome == OUTCOME_VIOLATED || check->outcome == OUTCOME_GOOD)
        check->outcome = outcome;
}

static bool judge_module(struct check *check, const char *source, const struct module *module)
{
    struct analysis analysis;
    joule_error error;
    enum outcome outcome = OUTCOME_GOOD;
    struct report_policy policy = {.is_strict = check->arguments.is_strict};
    if (analysis_make(module, &check->cpu, &check->core, check->arguments.default_trips, &analysis, &error) !=
        JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        return false;
    }
    const char *messages = written(&check->arena, print_messages, &analysis, source, &policy, &outcome);
    const char *json = check->arguments.report
                           ? written(&check->arena, print_json, &analysis, source, &policy, &outcome)
                           : "";
    if (messages)
        fputs(messages, stderr);
    if (json)
        add_report(check, json);
    take_outcome(check, outcome);
    analysis_free(&analysis);
    return messages && json;
}

/* False after a message; where clang refuses the source nothing is said here, as the build will say it. */
static bool check_source(struct check *check, const char *source, const char *bitcode, bool *out_is_refused)
{
    struct module module;
    joule_error error;
    const char **words = arguments_of_count(&check->arena, &check->arguments, source, bitcode);
    if (!words)
        return false;
    int code = run_clang(words, true);
    *out_is_refused = code > 0;
    if (code != 0)
        return code > 0;
    if (module_read(bitcode, &module, &error) != JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        return false;
    }
    bool done = judge_module(check, source, &module);
    module_free(&module);
    return done;
}

static bool check_all(struct check *check, bool *out_is_refused)
{
    const char *folder = getenv("TMPDIR");
    char bitcode[512];
    string_print(bitcode, sizeof bitcode, "%s/joulec-XXXXXX.bc", folder && *folder ? folder : "/tmp");
    int fd = mkstemps(bitcode, 3);
    if (fd < 0) {
        complain("", "%s: %s", bitcode, strerror(errno));
        return false;
    }
    close(fd);
    bool done = true;
    for (size_t i = 0; i < check->arguments.source_count && done && !*out_is_refused; i++)
        done = check_source(check, check->arguments.sources[i], bitcode, out_is_refused);
    unlink(bitcode);
    return done;
}

static bool write_reports(struct check *check)
{
    joule_error error;
    const char *path = check->arguments.report;
    if (!path || output_write(path, check->reports.buffer ? check->reports.buffer : "", check->reports.length,
                              &error) == JOULE_OK)
        return true;
    complain("", "%s", error.message);
    return false;
}

static int check_and_build(struct check *check)
{
    bool is_refused = false;
    if (!cpu_core_read(host_real(), &check->cpu, &check->core)) {
        complain("", "no memory");
        return EXIT_OWN_FAILURE;
    }
    if (!check_all(check, &is_refused) || !write_reports(check))
        return EXIT_OWN_FAILURE;
    if (check->outcome == OUTCOME_VIOLATED && !is_refused)
        return EXIT_VIOLATED;
    if (check->outcome == OUTCOME_UNDECIDED && !is_refused)
        return EXIT_UNDECIDED;
    return arguments_become_clang(&check->arguments);
}

int main(int argc, char **argv)
{
    struct check check = {.outcome = OUTCOME_GOOD};
    bool is_good = arguments_read(&check.arena, argc, argv, &check.arguments);
    int code = is_good ? check_and_build(&check) : EXIT_USAGE;
    arena_free(&check.arena);
    return code;
}
