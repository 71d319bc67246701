/* tools/joulec/check/instrumented_build.c - see instrumented_build.h. */
#include "instrumented_build.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/string.h"
#include "check.h"
#include "common/options.h"
#include "libjoule_link.h"
#include "clang_commands.h"

#define FAILED (-1)

static const struct order here = {0}; /* clang runs in the current folder, and its messages are printed */

/* Raises the limit on open files, which is usually 1024. The bitcode of each source stays open until clang
 * has built all sources. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Creates a file in memory that started programs can open. Returns its path, or NULL after a message. */
static const char *open_bitcode(struct arena *arena, int *out_fd)
{
    char path[64];
    *out_fd = memfd_create("joulec-bitcode", 0);
    string_print(path, sizeof path, "/proc/self/fd/%d", *out_fd);
    const char *copy = *out_fd < 0 ? NULL : arena_copy(arena, path, strlen(path));
    if (!copy)
        complain("", "cannot create a file in memory: %s", strerror(*out_fd < 0 ? errno : ENOMEM));
    return copy;
}

/* Writes the preprocessed source for -save-temps. Returns 0, clang's exit code, or FAILED after a message. */
static int save_text(struct arena *arena, const struct arguments *arguments, const char *source)
{
    const char *text = command_saved_name(arena, arguments, source, ".i");
    const char **words = text ? command_save_text(arena, arguments, source, text) : NULL;
    return words ? check_run_clang(&here, words, STDOUT_FILENO) : FAILED;
}

/* Compiles a source to instrumented bitcode. Returns 0 and the bitcode's path, clang's exit code, or FAILED
 * after a message. */
static int instrument_source(struct arena *arena, const struct arguments *arguments, const char *source,
                             const struct instrument_plan *plan, const char **out_bitcode)
{
    joule_error error;
    int fd, ready_fd;
    const char *saved = command_saved_name(arena, arguments, source, ".bc");
    const char *path = open_bitcode(arena, &fd);
    const char *ready = saved || !path ? saved : open_bitcode(arena, &ready_fd);
    const char **words = path && ready ? command_front_end(arena, arguments, source) : NULL;
    int code = words ? check_run_clang(&here, words, fd) : FAILED;
    if (code == 0 && module_instrument(path, ready, plan, &error) != JOULE_OK) {
        complain("", "%s: %s", source, error.message);
        code = FAILED;
    }
    if (code == 0 && saved)
        code = save_text(arena, arguments, source);
    if (path)
        close(fd);
    *out_bitcode = ready;
    return code;
}

/* Copies the arguments with only the sources among the input files, or with only the others. Returns false
 * if out of memory. */
static bool take_part(struct arena *arena, const struct arguments *all, bool is_of_sources,
                      struct arguments *out)
{
    *out = *all;
    out->clang_count = 0;
    out->clang = arena_alloc(arena, (all->clang_count + 2) * sizeof *out->clang);
    for (size_t i = 0; i < all->clang_count && out->clang; i++) {
        const char *word = all->clang[i];
        if (!arguments_has_input(all, word) || arguments_has_source(all, word) == is_of_sources)
            out->clang[out->clang_count++] = word;
    }
    if (out->clang)
        /* some options apply only to the other part */
        out->clang[out->clang_count++] = "-Qunused-arguments";
    out->inputs = all->sources;
    out->input_count = all->source_count;
    return out->clang;
}

/* Builds each source by its own command. Continues after a failed source, because clang would do the same. If
 * none fails, builds the other files. */
static int build_apart(struct arena *arena, const struct arguments *arguments, const char *const *bitcode)
{
    static const char *const no_library[] = {NULL};
    int code = 0;
    struct arguments part, others;
    if (!take_part(arena, arguments, true, &part) || !take_part(arena, arguments, false, &others))
        return FAILED;
    for (size_t i = 0; i < part.source_count && code >= 0; i++) {
        const char **words = command_build(arena, &part, bitcode, i, i + 1, no_library);
        int one = words ? check_run_clang(&here, words, STDOUT_FILENO) : FAILED;
        code = one < 0 || code == 0 ? one : code;
    }
    if (code == 0 && arguments->input_count > arguments->source_count)
        code = check_run_clang(&here, others.clang, STDOUT_FILENO);
    return code;
}

/* Returns false after a message if the program is built without the C library, because it cannot call
 * libjoule. */
static bool may_call(const struct arguments *arguments, const struct instrument_plan *plans)
{
    static const char *const excluding[] = {"-nostdlib", "-ffreestanding", NULL};
    const char *option = arguments_last_of(arguments, excluding);
    size_t function_count = 0;
    for (size_t i = 0; i < arguments->source_count; i++)
        function_count += plans[i].function_count;
    if (option && function_count)
        complain("",
                 "functions with budgets are not measured at run time: %s excludes libjoule\nhint: "
                 "--energy-run=no suppresses this message",
                 option);
    return !option;
}

int build_all(struct arena *arena, const struct arguments *arguments, const struct instrument_plan *plans)
{
    size_t count = arguments->source_count, instrumented = 0;
    bool is_measured = arguments->runs && arguments->compiles && may_call(arguments, plans),
         is_called = false;
    const char **bitcode = arena_alloc(arena, (count + 1) * sizeof *bitcode);
    int code = bitcode ? 0 : FAILED;
    allow_files();
    for (size_t i = 0; i < count && code == 0; i++) {
        is_called = is_called || plans[i].calls_library || (is_measured && plans[i].function_count);
        if (is_measured && !instrument_plan_is_empty(&plans[i])) {
            code = instrument_source(arena, arguments, arguments->sources[i], &plans[i], &bitcode[i]);
            instrumented++;
        }
    }
    if (code == 0 && instrumented && command_builds_apart(arguments)) {
        code = build_apart(arena, arguments, bitcode);
    } else if (code == 0) {
        const char **library = library_arguments(arena, arguments, is_called);
        const char **words = library ? command_build(arena, arguments, bitcode, 0, count, library) : NULL;
        check_rewind_input();
        code = words ? arguments_become_clang(words) : FAILED;
    }
    return code < 0 ? EXIT_OWN_FAILURE : code;
}

/* Runs the count build, which clang rejects, again to print clang's messages. */
static void print_rejection(struct arena *arena, const struct arguments *arguments, const char *source)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const char **words = command_count(arena, arguments, source, "/dev/null");
    if (words && nowhere >= 0)
        check_run_clang(&here, words, nowhere);
    if (nowhere >= 0)
        close(nowhere);
}

int build_unjudged(struct arena *arena, const struct arguments *arguments, const char *source)
{
    static const struct order quiet = {.is_quiet = true};
    const char **words = command_discard(arena, arguments, source);
    int code = words ? check_run_clang(&quiet, words, STDOUT_FILENO) : FAILED;
    if (code > 0)
        code = check_run_clang(&here, arguments->clang, STDOUT_FILENO);
    if (code == 0) {
        print_rejection(arena, arguments, source);
        complain("",
                 "%s: cannot check: clang compiles this file, but not at -O2 with __JOULEC__ defined, see "
                 "above\nhint: correct that, or omit the --energy options for this file",
                 source);
    }
    return code > 0 ? code : EXIT_OWN_FAILURE;
}
