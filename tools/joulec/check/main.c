/* tools/joulec/check/main.c - the half of joulec that knows LLVM: it judges functions, and then builds.
 *
 * Owns the order: what is to be checked is checked first, and only then built, so that no build leaves an object behind whose
 * budgets are exceeded. Newcomers: a source that clang refuses is not judged; the build then says what is wrong with it.
 */
#include <unistd.h>
#include "arguments.h"
#include "check.h"
#include "common/options.h"
#include "common/output.h"
#include "joule/host/host.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "outputs.h"

const char tool_name[] = "joulec";

#define EXIT_VIOLATED  1
#define EXIT_UNDECIDED 3

/* Until clang refuses one: the build would. False after a message. */
static bool check_all(const struct machine *machine, const struct arguments *arguments,
                      struct outputs *outputs, struct checked *all)
{
    bool done = true;
    for (size_t i = 0; i < arguments->source_count && done && !all->is_refused; i++) {
        struct checked one;
        done = check_source(machine, arguments, arguments->sources[i], true, outputs, &one);
        all->outcome = check_worse(all->outcome, one.outcome);
        all->is_refused = one.is_refused;
        if (one.is_refused)
            outputs_refused(outputs, arguments->sources[i]);
    }
    return done;
}

static int check_and_build(const struct arguments *arguments)
{
    struct machine machine;
    struct outputs outputs;
    struct checked all = {.outcome = OUTCOME_GOOD};
    char root[PATH_MAX];
    if (!cpu_core_read(host_real(), &machine.cpu, &machine.core)) {
        complain("", "no memory");
        return EXIT_OWN_FAILURE;
    }
    if (!outputs_open(&outputs, arguments, getcwd(root, sizeof root) ? root : "/"))
        return EXIT_OWN_FAILURE;
    bool done = check_all(&machine, arguments, &outputs, &all);
    if (!outputs_close(&outputs, done) || !done)
        return EXIT_OWN_FAILURE;
    if (all.outcome == OUTCOME_VIOLATED && !all.is_refused)
        return EXIT_VIOLATED;
    if (all.outcome == OUTCOME_UNDECIDED && !all.is_refused)
        return EXIT_UNDECIDED;
    return arguments_become_clang(arguments);
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct arguments arguments;
    int code = arguments_read(&arena, argc, argv, &arguments) ? check_and_build(&arguments) : EXIT_USAGE;
    arena_free(&arena);
    return code;
}
