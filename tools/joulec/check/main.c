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
#include "common/page.h"
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
    struct output report; /* JSON, one line for each source */
    int report_errno;     /* of a write that failed; 0: none did */
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

static void take_outcome(struct check *check, enum outcome outcome)
{
    if (outcome == OUTCOME_VIOLATED || check->outcome == OUTCOME_GOOD)
        check->outcome = outcome;
}

static bool tell(struct check *check, const struct judged *judged)
{
    size_t length;
    char *messages = page_make("", report_messages, judged, &length);
    if (!messages)
        return false;
    fputs(messages, stderr);
    free(messages);
    if (!check->arguments.report)
        return true;
    char *json = page_make("", report_json, judged, &length);
    if (json && !output_write_all(check->report.fd, json, length))
        check->report_errno = errno;
    free(json);
    return json;
}

static bool judge_module(struct check *check, const char *source, const struct module *module)
{
    struct analysis analysis;
    joule_error error;
    if (analysis_make(module, &check->cpu, &check->core, check->arguments.default_trips, &analysis, &error) !=
        JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        return false;
    }
    struct judged judged = {&analysis, source, check->arguments.is_strict};
    bool done = tell(check, &judged);
    take_outcome(check, report_outcome(&judged));
    analysis_free(&analysis);
    return done;
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

/* With the report around it. False after a message. */
static bool check_and_report(struct check *check, bool *out_is_refused)
{
    joule_error error;
    const char *path = check->arguments.report;
    if (path && output_open(path, &check->report, &error) != JOULE_OK) {
        complain("", "%s", error.message);
        return false;
    }
    bool done = check_all(check, out_is_refused);
    int why = done ? check->report_errno : ECANCELED;
    if (!path || output_close(&check->report, why, &error) == JOULE_OK)
        return done;
    if (done)
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
    if (!check_and_report(check, &is_refused))
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
