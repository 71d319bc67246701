/* tools/joulec/check/main.c - entry point of joulec-check: checks functions with LLVM, then builds.
 *
 * All sources are checked before any is built, so that no object with exceeded budgets is written. Note: a
 * source that clang rejects is not checked; the build then reports its errors.
 */
#include <string.h>
#include <unistd.h>
#include "arguments.h"
#include "budget_scan.h"
#include "instrumented_build.h"
#include "check.h"
#include "common/options.h"
#include "common/output.h"
#include "merged_profile.h"
#include "other_languages.h"
#include "outputs.h"
#include "project.h"
#include "stored_report.h"

const char tool_name[] = "joulec";

/* Checks sources until clang rejects one, because the build would stop there. Returns false after a
 * message. */
static bool check_all(struct arena *arena, const struct machine *machine, const struct arguments *arguments,
                      struct outputs *outputs, struct checked *all, struct instrument_plan *plans)
{
    bool done = true;
    for (size_t i = 0; i < arguments->source_count && done && !all->is_refused; i++) {
        struct checked one;
        const char *source = arguments->sources[i];
        if (budget_scan_is_enough(arguments) && !budget_scan_finds(arguments, source))
            continue;
        struct order order = {machine, arguments, NULL, source, source, arguments->page == PAGE_NONE, arena};
        done = check_source(&order, outputs, &one);
        plans[i] = one.plan;
        all->outcome = outcome_worse(all->outcome, one.outcome);
        all->is_refused = one.is_refused;
        if (one.is_refused)
            outputs_refused(outputs, source);
    }
    return done;
}

static bool has_input(const char *const *sources, size_t count)
{
    bool is_found = false;
    for (size_t i = 0; i < count && !is_found; i++)
        is_found = strcmp(sources[i], "-") == 0;
    return is_found;
}

/* Copies standard input if it is a source. Returns false after a message. */
static bool hold_input(const struct arguments *a)
{
    bool is_read = has_input(a->sources, a->source_count) || has_input(a->others, a->other_count);
    return !is_read || check_hold_input();
}

static int check_and_build(struct arena *arena, const struct machine *machine,
                           const struct arguments *arguments, const char *root)
{
    struct outputs outputs;
    struct tally tally = {0};
    struct checked all = {.outcome = OUTCOME_GOOD};
    struct instrument_plan *plans = arena_alloc(arena, (arguments->source_count + 1) * sizeof *plans);
    if (!plans || !outputs_open(&outputs, arguments, root))
        return EXIT_OWN_FAILURE;
    outputs.tally = &tally;
    bool done = hold_input(arguments) && check_all(arena, machine, arguments, &outputs, &all, plans);
    const char *refused = outputs.refused_count ? outputs.refused[0] : NULL;
    if (done && arguments->compared && change_tally_differs(&tally.changes))
        outputs_print_changes(&outputs, &tally.changes, arguments->compared);
    bool is_whole = done && (arguments->page == PAGE_NONE || !all.is_refused);
    bool is_written = outputs_close(&outputs, is_whole);
    if (!done || (is_whole && !is_written))
        return EXIT_OWN_FAILURE;
    if (arguments->page != PAGE_NONE)
        return all.is_refused ? 1 : arguments->checks ? check_exit_code(all.outcome) : 0;
    bool has_unjudged = other_languages_have_budget(arena, arguments);
    if (all.is_refused)
        return build_unjudged(arena, arguments, refused);
    if (all.outcome != OUTCOME_GOOD)
        return check_exit_code(all.outcome);
    return has_unjudged ? EXIT_OWN_FAILURE : build_all(arena, arguments, plans);
}

static int check_all_with(struct arena *arena, const struct machine *machine, struct arguments *arguments,
                          const char *root)
{
    struct stored_report report = {0};
    int code = EXIT_USAGE;
    if (!arguments->baseline || stored_report_open(arguments, machine, &report)) {
        arguments->compared = arguments->baseline ? &report.baseline : NULL;
        code = arguments->database ? output_end("", project_check(machine, arguments, root))
                                   : check_and_build(arena, machine, arguments, root);
    }
    arguments->compared = NULL;
    stored_report_close(&report);
    return code;
}

static int check(struct arena *arena, const struct machine *machine, const struct arguments *given,
                 const char *root)
{
    char path[64];
    struct arguments arguments = *given;
    int counts = arguments.profile ? merged_profile_open(&arguments, path, sizeof path) : -1;
    if (arguments.profile && counts < 0)
        return EXIT_USAGE;
    arguments.counts = arguments.profile ? path : NULL;
    int code = check_all_with(arena, machine, &arguments, root);
    if (counts >= 0)
        close(counts);
    return code;
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct arguments arguments;
    struct machine machine;
    char root[PATH_MAX];
    (void)argc;
    output_guard_streams();
    if (!arguments_read(&arena, NULL, argv, &arguments)) {
        arena_free(&arena);
        return EXIT_USAGE;
    }
    if (!getcwd(root, sizeof root))
        string_copy(root, sizeof root, "/");
    int code = EXIT_OWN_FAILURE;
    if (!machine_read(&machine))
        complain("", "out of memory");
    else
        code = check(&arena, &machine, &arguments, root);
    arena_free(&arena);
    return code;
}
