/* tools/joulec/arguments.c - see arguments.h. */
#include "arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"

#define DEFAULT_TRIPS 100

static bool is_source(const char *word)
{
    return word[0] != '-' && (string_ends(word, ".c") || string_ends(word, ".i"));
}

/* Options of clang whose value is the next word. */
static bool takes_a_word(const char *word)
{
    static const char *const options[] = {"-o",
                                          "-I",
                                          "-D",
                                          "-U",
                                          "-include",
                                          "-isystem",
                                          "-iquote",
                                          "-x",
                                          "-MF",
                                          "-MT",
                                          "-MQ",
                                          "-L",
                                          "-l",
                                          "-Xclang",
                                          "-Xlinker",
                                          "-Xassembler",
                                          "-Xpreprocessor",
                                          "-target",
                                          "-arch",
                                          "-idirafter",
                                          "-imacros",
                                          "-isysroot",
                                          "-T",
                                          "-u",
                                          "-z",
                                          "-mllvm"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(word, options[i]) == 0)
            return true;
    return false;
}

/* What is no business of the build that is counted: outputs, dependencies, how far to go, and how much to optimise. */
static bool is_dropped(const char *word)
{
    static const char *const exact[] = {"-c", "-S", "-E", "-o", "-MF", "-MT", "-MQ", "-save-temps", "-pipe"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(word, exact[i]) == 0)
            return true;
    bool is_level = word[0] == '-' && word[1] == 'O';
    return is_level || (string_starts(word, "-M") && strlen(word) <= 4) || string_starts(word, "-flto") ||
           string_starts(word, "-fsanitize") || string_starts(word, "-Werror") || string_starts(word, "-l") ||
           string_starts(word, "-Wl,") || (string_starts(word, "-o") && word[2]) ||
           string_starts(word, "-fprofile-");
}

/* 1: taken, 0: not joulec's, -1: wrong. */
static int take_own(struct arguments *out, const char *word, const char *next, bool *out_took_next)
{
    static const char policy[] = "--energy-policy=", report[] = "--energy-report",
                      loops[] = "--energy-loop-default=";
    *out_took_next = false;
    if (strcmp(word, "--energy-check") == 0) {
        out->checks = true;
    } else if (string_starts(word, policy)) {
        const char *name = word + strlen(policy);
        out->checks = out->is_strict = strcmp(name, "strict") == 0;
        if (!out->is_strict && strcmp(name, "default") != 0) {
            complain("", "--energy-policy is 'default' or 'strict', not '%s'", name);
            return -1;
        }
    } else if (string_starts(word, report) && (word[strlen(report)] == '=' || !word[strlen(report)])) {
        *out_took_next = !word[strlen(report)];
        out->report = *out_took_next ? next : word + strlen(report) + 1;
        out->checks = true;
        if (!out->report || !*out->report) {
            complain("", "--energy-report needs a file, or '-' for standard output");
            return -1;
        }
    } else if (string_starts(word, loops)) {
        if (!string_to_double(word + strlen(loops), &out->default_trips) || !(out->default_trips >= 1)) {
            complain("", "--energy-loop-default is a number from 1, not '%s'", word + strlen(loops));
            return -1;
        }
    } else if (string_starts(word, "--energy-")) {
        complain("",
                 "%s is not known: --energy-check, --energy-report FILE, --energy-policy=strict, "
                 "--energy-loop-default=N",
                 word);
        return -1;
    } else {
        return 0;
    }
    return 1;
}

static const char *clang_path(void)
{
    const char *asked = getenv("JOULEC_CLANG");
    return asked && *asked ? asked : JOULEC_CLANG;
}

int arguments_become_clang(const struct arguments *arguments)
{
    execvp(arguments->clang[0], (char **)arguments->clang);
    complain("", "cannot run %s: %s; JOULEC_CLANG names another", arguments->clang[0], strerror(errno));
    return EXIT_USAGE;
}

bool arguments_read(struct arena *arena, int argc, char **argv, struct arguments *out)
{
    *out = (struct arguments){.default_trips = DEFAULT_TRIPS,
                              .clang = arena_alloc(arena, ((size_t)argc + 2) * sizeof *out->clang),
                              .sources = arena_alloc(arena, ((size_t)argc + 1) * sizeof *out->sources)};
    if (!out->clang || !out->sources)
        return false;
    out->clang[out->clang_count++] = clang_path();
    for (char **word = argv + 1; *word; word++) {
        bool took_next;
        int taken = take_own(out, *word, word[1], &took_next);
        if (taken < 0)
            return false;
        if (taken) {
            word += took_next;
            continue;
        }
        out->clang[out->clang_count++] = *word;
        if (is_source(*word))
            out->sources[out->source_count++] = *word;
        if (takes_a_word(*word) && word[1])
            out->clang[out->clang_count++] = *++word;
    }
    return true;
}

const char **arguments_of_count(struct arena *arena, const struct arguments *a, const char *source,
                                const char *output)
{
    static const char *const added[] = {"-O2",
                                        "-fno-vectorize",
                                        "-fno-slp-vectorize",
                                        "-fno-unroll-loops",
                                        "-g1",
                                        "-gcolumn-info",
                                        "-fno-discard-value-names",
                                        "-w",
                                        "-Qunused-arguments",
                                        "-D__JOULEC__=1",
                                        "-emit-llvm",
                                        "-c",
                                        "-o"};
    size_t added_count = sizeof added / sizeof *added, count = 1;
    const char **words = arena_alloc(arena, (a->clang_count + added_count + 4) * sizeof *words);
    if (!words)
        return NULL;
    words[0] = a->clang[0];
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        bool is_pair = takes_a_word(word) && i + 1 < a->clang_count;
        if (!is_dropped(word) && !is_source(word)) {
            words[count++] = word;
            if (is_pair)
                words[count++] = a->clang[i + 1];
        }
        i += is_pair;
    }
    memcpy(words + count, added, sizeof added);
    count += added_count;
    words[count++] = output;
    words[count] = source;
    return words;
}
