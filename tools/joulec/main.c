/* tools/joulec/main.c - entry point of joulec: becomes joulec-check if something must be checked, else clang.
 *
 * Note: joulec-check is a separate program, because loading LLVM would slow down each plain compilation by 20
 * ms.
 */
#include <stddef.h>
#include <string.h>
#include "arguments.h"
#include "budget_scan.h"
#include "common/options.h"
#include "common/output.h"
#include "joule/companion.h"
#include "libjoule_link.h"
#include "response_file.h"

const char tool_name[] = "joulec";

static const char help[] =
    "usage: joulec [--energy-OPTION...] [OPTION OF CLANG...] FILE...\n"
    "       joulec --energy-database FILE [-j N] [--energy-OPTION...]\n"
    "\n"
    "Compiles like clang. These options check the energy of each C file before it is compiled:\n"
    "\n"
    "      --energy-check            check the functions that have a JOULE_BUDGET(\"...\")\n"
    "      --energy-report FILE      write the joules of every function as JSON ('-': standard output)\n"
    "      --energy-sarif FILE       write the findings as SARIF 2.1.0\n"
    "      --energy-html FILE        write the source as an HTML page with a bar of joules for each line\n"
    "      --energy-annotations=github       print the findings as workflow commands of GitHub\n"
    "      --energy-annotations=gitlab:FILE  write the findings as a code quality report of GitLab\n"
    "      --energy-policy=strict    treat a budget that is not proved as an error\n"
    "      --energy-budget ENERGY    limit each file as a whole, such as 100nJ: one call of each\n"
    "                                function that no other function of the file calls\n"
    "      --energy-baseline FILE    compare each function with a stored report of --energy-report\n"
    "      --energy-fail-over=PART   growth that the comparison accepts (5%)\n"
    "      --thermal-state STATE     temperature of the machine: cool, nominal, warm, hot, or a\n"
    "                                difference in kelvin such as +20K\n"
    "      --energy-loop-default=N   iterations assumed for a loop without a bound (100; 10 inside\n"
    "                                another such loop)\n"
    "      --energy-database FILE    check the C files of a compile_commands.json, and build nothing\n"
    "      --energy-only=PART        check only entries with PART in the name of their file or output\n"
    "      --profile-generate        build a program that records a profile for --profile-use\n"
    "      --profile-use[=FILE]      take the iterations of loops from a profile (default.profraw)\n"
    "  -j N                          check N files at a time (default: one for each processor)\n"
    "      --emit c|ir|eir           print a C file with joules in comments, its LLVM IR, or its blocks\n"
    "                                and loops with their costs; build nothing\n"
    "      --lift c                  print the joules of each function, and build nothing\n"
    "      --energy-advice           give advice for all functions, not only for those with a budget\n"
    "      --energy-run=no           do not measure functions with budgets when the program runs\n"
    "                                (JOULE_ENERGY_JSON=1 or joule run shows what was measured)\n"
    "      --energy-help             print this help and exit\n"
    "\n"
    "Exit status: that of clang; 1: a budget is exceeded or likely to be exceeded; 2: wrong usage;\n"
    "3: a budget is undecided, with --energy-policy=strict.\n"
    "Environment: JOULEC_CLANG: another clang, whose LLVM must not be newer than that of joulec.\n";

static bool judges(const struct arguments *a)
{
    bool is_asked = a->database || a->page != PAGE_NONE || (a->checks && !a->is_for_clang);
    return is_asked && !(budget_scan_is_enough(a) && !budget_scan_finds_any(a));
}

/* Returns the arguments for clang followed by those that link libjoule if an input calls libjoule: objects
 * from earlier commands may be instrumented. Returns NULL after a message. */
static const char **add_library(struct arena *arena, const struct arguments *a)
{
    const char **library = library_arguments(arena, a, false);
    size_t count = 0;
    if (!library || !*library)
        return library ? a->clang : NULL;
    while (library[count])
        count++;
    const char **words = arena_alloc(arena, (a->clang_count + count + 1) * sizeof *words);
    if (!words) {
        complain("", "out of memory");
        return NULL;
    }
    memcpy(words, a->clang, a->clang_count * sizeof *words);
    memcpy(words + a->clang_count, library, (count + 1) * sizeof *words);
    return words;
}

/* Becomes clang. Passes the original argv if no option was added or removed, because expanded response files
 * may exceed the limit on command lines. */
static int become_clang(struct arena *arena, const struct arguments *a, char **argv)
{
    const char **words = add_library(arena, a);
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
