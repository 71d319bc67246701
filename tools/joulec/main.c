/* tools/joulec/main.c - entry point of joulec: becomes clang, or becomes joulec-check if something is to be
 * checked.
 *
 * Note: joulec-check is a separate program because loading LLVM takes 20 ms, which a plain compilation must
 * not pay.
 */
#include <stddef.h>
#include <string.h>
#include "arguments.h"
#include "budget_scan.h"
#include "common/options.h"
#include "common/output.h"
#include "joule/companion.h"
#include "library.h"
#include "response.h"

const char tool_name[] = "joulec";

static const char help[] =
    "usage: joulec [--energy-... OPTIONS] ANY OPTIONS OF CLANG FILE...\n"
    "       joulec --energy-database FILE [-j N] [--energy-... OPTIONS]\n"
    "\n"
    "Compiles as clang does. With one of these, each C file is checked first:\n"
    "\n"
    "      --energy-check            functions with JOULE_BUDGET(\"...\") must keep it\n"
    "      --energy-report FILE      what every function is expected to take, as JSON ('-': standard "
    "output)\n"
    "      --energy-sarif FILE       what is wrong, as SARIF 2.1.0\n"
    "      --energy-html FILE        the source with a bar of joules for each line, as a page to look at\n"
    "      --energy-annotations=github       what is wrong, as commands in the log of a job at GitHub\n"
    "      --energy-annotations=gitlab:FILE  what is wrong, as a code quality report of GitLab\n"
    "      --energy-policy=strict    what is not proved is an error\n"
    "      --energy-budget ENERGY    what the functions of a file may take together, one call of each that "
    "no other\n"
    "                                one calls: 100nJ\n"
    "      --energy-baseline FILE    compare each function with a report that --energy-report wrote\n"
    "      --energy-fail-over=PART   growth against it that is accepted (5%)\n"
    "      --thermal-state STATE     how warm the machine is: cool, nominal, warm, hot, or kelvins such as "
    "+20K\n"
    "      --energy-loop-default=N   how often a loop that nothing bounds is taken to run (100; 10 in\n"
    "                                another such loop)\n"
    "      --energy-database FILE    check the C files of a compile_commands.json, and build nothing\n"
    "      --energy-only=PART        of them those with PART in the name of their file or output\n"
    "      --profile-generate        build a program that counts as it runs, for --profile-use\n"
    "      --profile-use[=FILE]      take how often loops run from what it wrote (default.profraw)\n"
    "  -j N                          so many at a time (as there are processors)\n"
    "      --emit c|ir|eir           print a C file with what its functions and loops take, or LLVM's text\n"
    "                                of it, or its blocks and loops with their costs; build nothing\n"
    "      --lift c                  print what each function of C files takes, and build nothing\n"
    "      --energy-advice           say of all functions what could take less, not only of those with a "
    "budget\n"
    "      --energy-run=no           leave functions with budgets as they are; else libjoule watches them "
    "when "
    "they\n"
    "                                run (JOULE_ENERGY_JSON=1, joule run)\n"
    "      --energy-help             print this and exit\n"
    "\n"
    "Exit status: clang's; 1: a budget is exceeded, or likely to be; 2: wrong usage; 3: undecided, under "
    "strict.\n"
    "JOULEC_CLANG names another clang, whose LLVM must not be newer than joulec's.\n";

static bool judges(const struct arguments *a)
{
    bool is_asked = a->database || a->page != PAGE_NONE || (a->checks && !a->is_for_clang);
    return is_asked && !(budget_scan_is_enough(a) && !budget_scan_finds_any(a));
}

/* Returns the arguments for clang followed by those that link libjoule, because objects that were checked
 * elsewhere may be linked here. NULL after a message. */
static const char **words_with_library(struct arena *arena, const struct arguments *a)
{
    const char **library = library_words(arena, a, false);
    size_t count = 0;
    if (!library || !*library)
        return library ? a->clang : NULL;
    while (library[count])
        count++;
    const char **words = arena_alloc(arena, (a->clang_count + count + 1) * sizeof *words);
    if (!words) {
        complain("", "no memory for the linker's words");
        return NULL;
    }
    memcpy(words, a->clang, a->clang_count * sizeof *words);
    memcpy(words + a->clang_count, library, (count + 1) * sizeof *words);
    return words;
}

/* Passes the original argv if nothing was added or removed, because an expanded response file may exceed the
 * limit on command lines. */
static int become_clang(struct arena *arena, const struct arguments *a, char **argv)
{
    const char **words = words_with_library(arena, a);
    if (!words)
        return EXIT_OWN_FAILURE;
    argv[0] = (char *)a->clang[0];
    return arguments_become_clang(a->is_plain && words == a->clang ? (const char **)argv : words);
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct arguments arguments;
    output_guard_streams();
    if (argc > 1 && strcmp(argv[1], "--energy-help") == 0) {
        output_print(help, strlen(help));
        return output_end("", 0);
    }
    int code = EXIT_USAGE;
    response_hold_pipes(&arena, argv);
    if (arguments_read(&arena, NULL, argv, &arguments)) {
        code = EXIT_OWN_FAILURE;
        if (judges(&arguments))
            companion_become("", "joulec-check", argv);
        else
            code = become_clang(&arena, &arguments, argv);
    }
    arena_free(&arena);
    return code;
}
