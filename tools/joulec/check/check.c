/* tools/joulec/check/check.c - see check.h. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "joulec/source/whole_file.h"
#include "response_file.h"
#include "source_marks.h"
#include "stored_report.h"
#include "clang_commands.h"

extern char **environ;

bool machine_read(struct machine *out)
{
    struct joule_host *host = host_real();
    if (!cpu_core_read(host, &out->cpu, &out->target.core))
        return false;
    cost_core_table(&out->cpu, &out->target.table);
    cpu_calibration_find(host, &out->cpu, &out->calibration);
    if (cpu_calibration_is_used(&out->calibration))
        cost_calibration_apply(&out->calibration.calibration, &out->target.core, &out->target.table);
    return true;
}

static bool has_input; /* standard input was replaced by a copy in memory */

bool check_hold_input(void)
{
    int fd = memfd_create("joulec-input", MFD_CLOEXEC);
    has_input = fd >= 0 && output_copy_all(STDIN_FILENO, fd) && dup2(fd, STDIN_FILENO) >= 0;
    if (!has_input)
        complain("", "cannot read standard input: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return has_input;
}

void check_rewind_input(void)
{
    if (has_input)
        lseek(STDIN_FILENO, 0, SEEK_SET);
}

/* Starts a program like posix_spawnp. If the command line is too long, passes it in a response file. */
static int start(pid_t *out_pid, const char **words, const posix_spawn_file_actions_t *actions)
{
    struct folded_words folded;
    int problem = posix_spawnp(out_pid, words[0], actions, NULL, (char **)words, environ);
    int fd = problem == E2BIG ? response_fold(words, &folded) : -1;
    if (fd >= 0) {
        problem = posix_spawnp(out_pid, words[0], actions, NULL, (char **)folded.words, environ);
        close(fd);
    }
    return problem;
}

/* Sets the standard output, the standard error and the folder with which the program starts. Returns 0, or
 * an errno. After an error the program must not be started, because it could write to the wrong output. */
static int prepare(const struct order *order, int fd, posix_spawn_file_actions_t *actions)
{
    int problem = posix_spawn_file_actions_adddup2(actions, fd, STDOUT_FILENO);
    if (!problem && order->folder)
        problem = posix_spawn_file_actions_addchdir_np(actions, order->folder);
    if (!problem && order->is_quiet)
        problem = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return problem;
}

int check_run(const struct order *order, const char **words, int fd)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int problem = prepare(order, fd, &actions);
    check_rewind_input();
    if (!problem)
        problem = start(&pid, words, &actions);
    posix_spawn_file_actions_destroy(&actions);
    if (problem) {
        errno = problem;
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int check_run_clang(const struct order *order, const char **words, int fd)
{
    int code = check_run(order, words, fd);
    if (code < 0)
        complain("", "cannot run %s: %s\nhint: set JOULEC_CLANG to another clang", words[0], strerror(errno));
    return code;
}

int check_exit_code(enum outcome outcome)
{
    static const int codes[] = {[OUTCOME_GOOD] = 0, [OUTCOME_VIOLATED] = 1, [OUTCOME_UNDECIDED] = 3};
    return codes[outcome];
}

/* Further inputs of the analysis, besides the bitcode of the count build. */
struct inputs {
    struct marks marks;
    struct profile profile;
    bool merges_threads; /* OpenMP's threads are counted as one */
};

/* Compares the findings with the stored report, if there is one, and prints them. Returns false after a
 * message. */
static bool print_analysis(const struct order *order, const struct analysis *analysis,
                           struct outputs *outputs, struct checked *out)
{
    struct arena arena = {0};
    struct comparisons comparisons;
    const struct arguments *arguments = order->arguments;
    const struct baseline *baseline = arguments->compared;
    const char *build = stored_report_build(&arena, arguments);
    bool done = build && (!baseline || comparisons_make(&arena, baseline, analysis, order->name, build,
                                                        &comparisons) == JOULE_OK);
    struct judged judged = {.analysis = analysis,
                            .source = order->name,
                            .is_strict = arguments->is_strict,
                            .advises_all = arguments->advises_all,
                            .text = outputs->text,
                            .root = outputs->root,
                            .calibration = &order->machine->calibration,
                            .build = build,
                            .comparisons = baseline ? &comparisons : NULL};
    if (!done)
        complain("", "%s: out of memory", order->name);
    done = done && outputs_print(outputs, &judged);
    if (done)
        out->outcome = report_outcome(&judged);
    if (done && arguments->warnings == WARNINGS_ARE_ERRORS && report_has_warnings(&judged))
        out->outcome = OUTCOME_VIOLATED;
    arena_free(&arena);
    return done;
}

static bool judge_module(const struct order *order, const struct module *module, const struct inputs *inputs,
                         struct outputs *outputs, struct checked *out)
{
    struct analysis analysis;
    joule_error error;
    const struct machine *machine = order->machine;
    const struct arguments *arguments = order->arguments;
    struct analysis_options options = {.default_trips = arguments->default_trips,
                                       .marks = &inputs->marks,
                                       .profile = arguments->counts ? &inputs->profile : NULL,
                                       .warmer_kelvin = arguments->warmer_kelvin,
                                       .level = command_low_level(arguments),
                                       .merges_threads = inputs->merges_threads,
                                       .file_joules = arguments->file_joules};
    if (analysis_make(module, &machine->cpu, &machine->target, &options, &analysis, &error) != JOULE_OK) {
        complain("", "%s: %s", order->name, error.message);
        return false;
    }
    bool done = print_analysis(order, &analysis, outputs, out);
    if (done && order->arena &&
        instrument_plan_make(order->arena, module, &analysis, &out->plan) != JOULE_OK) {
        complain("", "%s: out of memory", order->name);
        done = false;
    }
    analysis_free(&analysis);
    return done;
}

/* Returns the number after `prefix` in a message of LLVM; 0: there is none. */
static unsigned long version_after(const char *message, const char *prefix)
{
    const char *at = strstr(message, prefix);
    return at ? strtoul(at + strlen(prefix), NULL, 10) : 0;
}

/* Prints why bitcode cannot be read. If the bitcode is of a newer LLVM, replaces LLVM's message, which hides
 * this cause among details of the format. */
static void print_unread(const struct order *order, const char *message)
{
    unsigned long writer = version_after(message, "(Producer: 'LLVM"),
                  reader = version_after(message, "Reader: 'LLVM ");
    if (writer > reader && reader)
        complain("",
                 "%s: cannot read bitcode of %s: it has LLVM %lu, and this joulec has LLVM %lu\nhint: set "
                 "JOULEC_CLANG to clang %lu or older",
                 order->name, order->arguments->clang[0], writer, reader, reader);
    else
        complain("", "%s: %s", order->name, message);
}

/* Reads the bitcode in `fd`. Returns false after a message. */
static bool read_bitcode(const struct order *order, int fd, const struct module_build *build,
                         struct module *out)
{
    joule_error error;
    char path[64];
    if (lseek(fd, 0, SEEK_END) == 0) {
        complain("", "%s: cannot check: clang compiles nothing with these options", order->name);
        return false;
    }
    string_print(path, sizeof path, "/proc/self/fd/%d", fd);
    if (module_read(path, build, out, &error) == JOULE_OK)
        return true;
    print_unread(order, error.message);
    return false;
}

/* Replaces the module by one with the bodies that clang dropped. If the bodies cannot be read, keeps the
 * module, and calls of these functions have no figure. */
static void read_dropped_bodies(const struct order *order, const struct module_build *build,
                                struct module *module)
{
    struct arena arena = {0};
    struct module whole;
    char path[64];
    int fd = memfd_create("joulec-bodies", MFD_CLOEXEC);
    struct order quiet = *order;
    quiet.is_quiet = true;
    const char **words = command_count_with_bodies(&arena, order->arguments, order->source);
    string_print(path, sizeof path, "/proc/self/fd/%d", fd);
    if (words && fd >= 0 && check_run(&quiet, words, fd) == 0 &&
        module_read(path, build, &whole, NULL) == JOULE_OK) {
        module_free(module);
        *module = whole;
    }
    if (fd >= 0)
        close(fd);
    arena_free(&arena);
}

static bool check_bitcode(const struct order *order, int fd, struct inputs *inputs, struct outputs *outputs,
                          struct checked *out)
{
    struct module module;
    struct module_build build = command_loop_build(order->arguments);
    if (!read_bitcode(order, fd, &build, &module))
        return false;
    if (module.has_dropped_bodies && !module.bodiless)
        read_dropped_bodies(order, &build, &module);
    bool done = judge_module(order, &module, inputs, outputs, out);
    module_free(&module);
    return done;
}

/* Reads the counts of the profile, if one is used. Returns false if they cannot be read. */
static bool read_profile(const struct order *order, struct arena *arena, struct profile *out)
{
    struct module module;
    if (!order->arguments->counts)
        return true;
    const char **words = command_read_profile(arena, order->arguments, order->source);
    int fd = memfd_create("joulec-seen", MFD_CLOEXEC);
    bool done =
        words && fd >= 0 && check_run_clang(order, words, fd) == 0 && read_bitcode(order, fd, NULL, &module);
    if (fd >= 0)
        close(fd);
    if (!done) {
        complain("", "%s: cannot read the counts of %s", order->name, order->arguments->profile);
        return false;
    }
    done = profile_read(&module, out);
    module_free(&module);
    if (!done)
        complain("", "%s: out of memory", order->name);
    return done;
}

/* Returns true if clang rejects the source even without the profile. If clang only rejects the profile,
 * prints a message and returns false. */
static bool is_refused_without(const struct order *order, struct arena *arena, const char *dependencies)
{
    struct arguments plain = *order->arguments;
    struct order again = *order;
    again.arguments = &plain;
    again.is_quiet = true;
    plain.counts = NULL;
    const char **words = command_count(arena, &plain, order->source, dependencies);
    int fd = memfd_create("joulec-nothing", MFD_CLOEXEC);
    int code = words && fd >= 0 ? check_run_clang(&again, words, fd) : -1;
    if (fd >= 0)
        close(fd);
    if (code == 0)
        complain("", "%s: clang rejects the profile %s\nhint: record it again with --profile-generate",
                 order->name, order->arguments->profile);
    return code > 0;
}

/* Runs the count build, and checks its bitcode. fds: files in memory for bitcode and dependencies. */
static bool check_with(const struct order *order, const int fds[2], struct outputs *outputs,
                       struct checked *out)
{
    struct arena arena = {0};
    struct inputs inputs;
    memset(&inputs, 0, sizeof inputs);
    char dependencies[64];
    string_print(dependencies, sizeof dependencies, "/proc/%d/fd/%d", (int)getpid(), fds[1]);
    const char **words = command_count(&arena, order->arguments, order->source, dependencies);
    int code = words ? check_run_clang(order, words, fds[0]) : -1;
    out->is_refused = code > 0;
    inputs.merges_threads = command_merges_threads(order->arguments) && source_may_have_openmp(order, fds[1]);
    bool done = code == 0 && source_marks_read(order, outputs->root, fds[1], &inputs.marks) &&
                read_profile(order, &arena, &inputs.profile) &&
                check_bitcode(order, fds[0], &inputs, outputs, out);
    if (code > 0)
        done = !order->arguments->counts || is_refused_without(order, &arena, dependencies);
    profile_free(&inputs.profile);
    marks_free(&inputs.marks);
    arena_free(&arena);
    return done;
}

char *check_read_clang(const struct order *order, struct arena *arena, const char **words,
                       struct checked *out)
{
    int fd = words ? memfd_create("joulec-text", MFD_CLOEXEC) : -1;
    int code = fd >= 0 ? check_run_clang(order, words, fd) : -1;
    char *text = code == 0 ? whole_fd(arena, fd) : NULL;
    out->is_refused = code > 0;
    if (code == 0 && !text)
        complain("", "%s: out of memory", order->name);
    if (fd >= 0)
        close(fd);
    return text;
}

/* Prepares the text that --emit c or --emit ir prints. Returns false if clang rejects the source (sets
 * out->is_refused), or after a message. */
static bool prepare_page(const struct order *order, struct arena *arena, struct outputs *outputs,
                         struct checked *out)
{
    const struct arguments *a = order->arguments;
    bool is_ir = a->page == PAGE_IR;
    if (!is_ir && a->page != PAGE_C)
        return true;
    const char **words =
        is_ir ? command_print_ir(arena, a, order->source) : command_preprocess(arena, a, order->source);
    outputs->text = check_read_clang(order, arena, words, out);
    if (is_ir && outputs->text)
        outputs_add(outputs, PIECE_PAGE, outputs->text, strlen(outputs->text));
    return outputs->text;
}

bool check_source(const struct order *order, struct outputs *outputs, struct checked *out)
{
    struct arena page = {0};
    int fds[2] = {memfd_create("joulec-bitcode", MFD_CLOEXEC), memfd_create("joulec-files", MFD_CLOEXEC)};
    bool done = false;
    *out = (struct checked){.outcome = OUTCOME_GOOD};
    if (fds[0] < 0 || fds[1] < 0)
        complain("", "%s: %s", order->name, strerror(errno));
    else if (!prepare_page(order, &page, outputs, out))
        done = out->is_refused;
    else
        done = check_with(order, fds, outputs, out);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    outputs->text = NULL;
    arena_free(&page);
    return done;
}
