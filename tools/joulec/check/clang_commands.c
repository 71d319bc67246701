/* tools/joulec/check/clang_commands.c - see clang_commands.h. */
#include "clang_commands.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "clang_options.h"
#include "common/options.h"
#include "object_name.h"

/* Returns true for options that make the step that writes the object also write files named after the
 * object. */
static bool is_aside(const char *word)
{
    static const char *const starts[] = {"-save-temps",
                                         "--save-temps",
                                         "-ftime-trace",
                                         "-fsave-optimization-record",
                                         "-foptimization-record",
                                         "-fstack-usage",
                                         NULL};
    bool is_found = false;
    for (size_t i = 0; starts[i] && !is_found; i++)
        is_found = string_starts(word, starts[i]);
    return is_found;
}

/* Returns true for options about the output file and the last stage. */
static bool is_output(const char *word)
{
    static const char *const exact[] = {"-c", "-S", "-o", "-emit-llvm", NULL};
    return string_is_one_of(word, exact) || (string_starts(word, "-o") && word[2]) || is_aside(word);
}

/* Returns true for options that write rules for make. */
static bool is_dependency(const char *word)
{
    return string_starts(word, "-M") || string_starts(word, "-Wp,-M");
}

/* Returns true for options that instrument the program for coverage. */
static bool is_coverage(const char *word)
{
    static const char *const exact[] = {"--coverage", "-coverage", "-ftest-coverage", "-fprofile-arcs", NULL};
    return string_is_one_of(word, exact);
}

/* Returns true for options that the count build leaves out: outputs, dependencies, last stage, optimization
 * level. */
static bool is_uncounted(const char *word)
{
    static const char *const exact[] = {"-E", "-fsyntax-only", "--analyze", "-###", "-pipe", NULL};
    /* add_level handles -Ofast */
    bool is_level = word[0] == '-' && word[1] == 'O' && strcmp(word, "-Ofast") != 0;
    return is_level || is_output(word) || is_dependency(word) || is_coverage(word) ||
           string_is_one_of(word, exact) || string_starts(word, "-flto") ||
           string_starts(word, "-fsanitize") || string_starts(word, "-Werror") || string_starts(word, "-l") ||
           string_starts(word, "-Wl,") || string_starts(word, "-fprofile-") ||
           string_starts(word, "-fcs-profile-") || string_starts(word, "-fcoverage-");
}

/* Returns true for options that clang accepts only for source text, and not for bitcode. */
static bool is_of_text(const char *word)
{
    return is_dependency(word) || strcmp(word, "-include") == 0 || strcmp(word, "-imacros") == 0;
}

/* --- assembling a command line -------------------------------------------------------------------------- */

/* A command line that is being built. */
struct line {
    struct arena *arena; /* arena->is_out_of_memory is set if an argument is missing */
    const char **words;
    size_t count;
};

static void add(struct line *line, const char *word)
{
    const char **words = arena_push(line->arena, line->words, line->count, word);
    if (words) {
        line->words = words;
        line->count++;
    }
}

static void add_all(struct line *line, const char *const *words)
{
    while (*words)
        add(line, *words++);
}

/* Ends the list with NULL and returns it. If out of memory prints a message and returns NULL. */
static const char **end_line(struct line *line)
{
    add(line, NULL);
    if (!line->arena->is_out_of_memory)
        return line->words;
    complain("", "out of memory");
    return NULL;
}

/* Returns the user's arguments without input files, -x, and those for which is_left_out returns true. */
static struct line line_without(struct arena *arena, const struct arguments *a,
                                bool (*is_left_out)(const char *))
{
    struct line line = {.arena = arena};
    for (size_t i = 0; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        bool is_pair = clang_option_takes_next(word) && i + 1 < a->clang_count;
        if (!is_left_out(word) && !arguments_has_input(a, word) && !clang_option_language(word, "")) {
            add(&line, word);
            if (is_pair)
                add(&line, a->clang[i + 1]);
        }
        i += is_pair;
    }
    return line;
}

/* Returns the language that -x sets for `source`. For a source that is not on the command line this is the
 * language of the last -x. NULL: no -x, so clang derives the language from the file name. */
static const char *language_of(const struct arguments *a, const char *source)
{
    const char *language = NULL;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *said = clang_option_language(a->clang[i], a->clang[i + 1]);
        language = said ? said : language;
        i += clang_option_takes_next(a->clang[i]);
    }
    for (size_t i = 0; i < a->source_count; i++)
        if (a->sources[i] == source)
            language = a->languages[i];
    return language;
}

static void add_source(struct line *line, const char *language, const char *source)
{
    if (language) {
        add(line, "-x");
        add(line, language);
    }
    add(line, source);
}

/* Appends `added`, terminated by NULL, and the source. Returns the finished list. */
static const char **end_with_source(struct line *line, const struct arguments *a, const char *const *added,
                                    const char *source)
{
    add_all(line, added);
    add_source(line, language_of(a, source), source);
    return end_line(line);
}

/* --- count build ---------------------------------------------------------------------------------------- */

/* Returns the character after the last -O. Returns '1' for -O alone, which clang treats like -O1, and '0' if
 * there is no -O. */
static char level_of(const struct arguments *a)
{
    char level = '0';
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        if (word[0] == '-' && word[1] == 'O')
            level = word[2] ? word[2] : '1';
        i += clang_option_takes_next(word);
    }
    return level;
}

/* Adds the macros and language options that follow from the user's level, because the count build has
 * another level. */
static void add_level(struct line *line, const struct arguments *a)
{
    char level = level_of(a);
    bool is_small = level == 's' || level == 'z';
    for (size_t i = 0; i < line->count; i++)
        if (strcmp(line->words[i], "-Ofast") == 0)
            line->words[i] = level == 'f' ? "-ffast-math" : "-Qunused-arguments";
    if (!is_small && level != '0')
        return;
    add(line, is_small ? "-D__OPTIMIZE_SIZE__=1" : "-U__OPTIMIZE__");
    add(line, "-Xclang"); /* a precompiled header has the user's level */
    add(line, "-fno-validate-pch");
}

static bool is_openmp(const char *word)
{
    return string_starts(word, "-fopenmp") && strcmp(word, "-fopenmp-simd") != 0 &&
           !string_starts(word, "-fopenmp-version");
}

bool command_merges_threads(const struct arguments *a)
{
    static const char *const switches[] = {"-fopenmp", "-fopenmp=libomp", "-fopenmp=libiomp5", "-fno-openmp",
                                           NULL};
    const char *last = arguments_last_of(a, switches);
    return last && is_openmp(last) && !a->profile;
}

/* Makes the count build ignore OpenMP's directives, so that a program is counted as if it had no threads. The
 * work of a parallel region then belongs to the function that contains the region. Otherwise the runtime
 * library would call this work through a pointer. */
static void add_threads(struct line *line, const struct arguments *a)
{
    if (!command_merges_threads(a))
        return;
    for (size_t i = 0; i < line->count; i++)
        if (is_openmp(line->words[i]))
            line->words[i] = "-Qunused-arguments";
    add(line, "-fopenmp-simd");
    add(line, "-D_OPENMP=201811");
}

/* Returns the user's arguments that the front end needs, `added`, and the source. */
static const char **front_end_words(struct arena *arena, const struct arguments *a, const char *const *added,
                                    const char *source)
{
    struct line line = line_without(arena, a, is_uncounted);
    add_level(&line, a);
    add_threads(&line, a);
    return end_with_source(&line, a, added, source);
}

/* Options for the count build and for reading a profile: joulec matches both by source locations and names.
 * With -Wno-everything, clang still reports warnings that the source turns into errors, such as JOULE_BUDGET
 * in a wrong place. -w would hide them. */
#define WITH_PLACES                                                                                          \
    "-g1", "-gcolumn-info", "-fno-discard-value-names", "-Wno-everything", "-Qunused-arguments"

/* Returns an option joined with its value. */
static const char *joined(struct arena *arena, const char *option, const char *value)
{
    size_t size = strlen(option) + strlen(value) + 1;
    char *word = arena_alloc(arena, size);
    if (word)
        string_print(word, size, "%s%s", option, value);
    return word;
}

/* Returns "-fprofile-instr-use=FILE", or an option without effect. */
static const char *profile_word(struct arena *arena, const struct arguments *a)
{
    return a->counts ? joined(arena, "-fprofile-instr-use=", a->counts) : "-Qunused-arguments";
}

/* Returns the command line of a count build. `kept`: an additional option; NULL: none. */
static const char **count_command(struct arena *arena, const struct arguments *a, const char *source,
                                  const char *dependencies, const char *kept)
{
    const char *const added[] = {"-O2",
                                 "-fno-vectorize",
                                 "-fno-slp-vectorize",
                                 "-fno-unroll-loops",
                                 WITH_PLACES,
                                 profile_word(arena, a),
                                 "-D__JOULEC__=1",
                                 "-D__JOULEC_COUNTS__=1",
                                 "-emit-llvm",
                                 "-c",
                                 "-MD",
                                 "-MF",
                                 dependencies,
                                 "-o",
                                 "-",
                                 kept ? "-Xclang" : NULL,
                                 kept,
                                 NULL};
    return front_end_words(arena, a, added, source);
}

const char **command_count(struct arena *arena, const struct arguments *a, const char *source,
                           const char *dependencies)
{
    return count_command(arena, a, source, dependencies, NULL);
}

const char **command_count_with_bodies(struct arena *arena, const struct arguments *a, const char *source)
{
    return count_command(arena, a, source, "/dev/null", "-flto=full");
}

/* Updates *is_on for "-fNAME" and "-fno-NAME". */
static void take_switch(const char *word, const char *name, bool *is_on)
{
    if (string_starts(word, "-f") && strcmp(word + 2, name) == 0)
        *is_on = true;
    else if (string_starts(word, "-fno-") && strcmp(word + 5, name) == 0)
        *is_on = false;
}

struct module_build command_loop_build(const struct arguments *a)
{
    char level = level_of(a);
    bool vectorises = true, packs = true, unrolls = true;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        take_switch(word, "vectorize", &vectorises);
        take_switch(word, "tree-vectorize", &vectorises);
        take_switch(word, "slp-vectorize", &packs);
        take_switch(word, "tree-slp-vectorize", &packs);
        take_switch(word, "unroll-loops", &unrolls);
    }
    bool is_fast = level == '2' || level == '3' || level == '4' || level == 'f';
    return (struct module_build){.vectorises = vectorises && (is_fast || level == 's'),
                                 .packs = packs && (is_fast || level == 's'),
                                 .unrolls = unrolls && is_fast};
}

const char *command_low_level(const struct arguments *a)
{
    char level = level_of(a);
    return level == '0' ? "-O0" : level == '1' ? "-O1" : level == 'g' ? "-Og" : NULL;
}

const char **command_print_ir(struct arena *arena, const struct arguments *a, const char *source)
{
    const char **words = command_count(arena, a, source, "/dev/null");
    for (size_t i = 0; words && words[i]; i++)
        if (strcmp(words[i], "-c") == 0)
            words[i] = "-S";
    return words;
}

const char **command_read_profile(struct arena *arena, const struct arguments *a, const char *source)
{
    const char *const added[] = {"-O2",
                                 "-Xclang",
                                 "-disable-llvm-passes",
                                 WITH_PLACES,
                                 profile_word(arena, a),
                                 "-D__JOULEC__=1",
                                 "-emit-llvm",
                                 "-c",
                                 "-o",
                                 "-",
                                 NULL};
    return front_end_words(arena, a, added, source);
}

const char **command_preprocess(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {
        "-O2", "-w", "-Qunused-arguments", "-D__JOULEC__=1", "-D__JOULEC_COUNTS__=1", "-E", "-o", "-", NULL};
    const char *language = language_of(a, source);
    bool is_text = language ? strcmp(language, "cpp-output") == 0 : string_ends(source, ".i");
    struct line line = line_without(arena, a, is_uncounted);
    add_level(&line, a);
    add_threads(&line, a);
    add_all(&line, added);
    /* clang -E would print nothing for a preprocessed file */
    add_source(&line, is_text ? "c" : language, source);
    return end_line(&line);
}

/* --- the user's build ----------------------------------------------------------------------------------- */

static bool has_word(const struct arguments *a, const char *word)
{
    const char *const wanted[] = {word, NULL};
    return arguments_last_of(a, wanted);
}

/* Returns the object's name if the user gave one; NULL: clang chooses it. */
static const char *object_of(const struct arguments *a)
{
    return a->links ? NULL : arguments_value(a, "-o");
}

static bool has_such(const struct arguments *a, bool (*is_such)(const char *word))
{
    bool is_found = false;
    for (size_t i = 1; i < a->clang_count && !is_found; i++)
        is_found = is_such(a->clang[i]);
    return is_found;
}

/* Returns true for options that contain the name of the dependency file. */
static bool is_dependency_of_preprocessor(const char *word)
{
    return string_starts(word, "-Wp,-MD,") || string_starts(word, "-Wp,-MMD,");
}

/* Makes the rules for make contain the name of the user's object, although this step does not write the
 * object. */
static void add_dependencies(struct line *line, const struct arguments *a, const char *source)
{
    bool is_named = has_such(a, is_dependency_of_preprocessor);
    if (!has_word(a, "-MD") && !has_word(a, "-MMD") && !is_named)
        return;
    const char *object = arguments_value(a, "-o");
    if (!arguments_value(a, "-MF") && !is_named) {
        add(line, "-MF");
        add(line, object_name_beside(line->arena, object, source, ".d"));
    }
    if (!arguments_value(a, "-MT") && !arguments_value(a, "-MQ")) {
        add(line, "-MQ");
        add(line, object ? object : object_name_beside(line->arena, NULL, source, ".o"));
    }
}

static bool is_split(const char *word)
{
    return string_starts(word, "-gsplit-dwarf");
}

/* Returns an absolute path, because the program may write its counts from any folder. NULL: out of memory. */
static const char *from_root(struct arena *arena, const char *name)
{
    char folder[PATH_MAX];
    if (name[0] == '/' || !getcwd(folder, sizeof folder))
        return name;
    size_t size = strlen(folder) + strlen(name) + 2;
    char *result = arena_alloc(arena, size);
    if (result)
        string_print(result, size, "%s/%s", folder, name);
    return result;
}

/* Sets the names of further files that belong to the object and whose names are stored in the bitcode.
 * Otherwise clang would name these files after the bitcode. */
static void add_names_in_bitcode(struct line *line, const struct arguments *a, const char *source)
{
    static const struct {
        const char *option, *ending;
        bool (*is_asked)(const char *word);
    } files[] = {
        {"-coverage-notes-file=", ".gcno", is_coverage}, /* later versions of clang accept only this form */
        {"-coverage-data-file=", ".gcda", is_coverage},
        {"-split-dwarf-file", ".dwo", is_split}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!has_such(a, files[i].is_asked))
            continue;
        const char *name = object_name_beside(line->arena, object_of(a), source, files[i].ending);
        if (name && files[i].is_asked == is_coverage) {
            name = from_root(line->arena, name);
            name = name ? joined(line->arena, files[i].option, name) : NULL;
        } else {
            add(line, "-Xclang");
            add(line, files[i].option);
        }
        add(line, "-Xclang");
        add(line, name);
    }
}

const char **command_front_end(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {"-Qunused-arguments",
                                        "-D__JOULEC__=1",
                                        "-Xclang",
                                        "-disable-llvm-passes",
                                        "-emit-llvm",
                                        "-c",
                                        "-o",
                                        "-",
                                        NULL};
    struct line line = line_without(arena, a, is_output);
    add_dependencies(&line, a, source);
    add_names_in_bitcode(&line, a, source);
    return end_with_source(&line, a, added, source);
}

/* Returns true for options that command_discard leaves out. Levels and -Werror stay, because clang may reject
 * the source because of them. */
static bool is_not_for_discard(const char *word)
{
    return is_uncounted(word) && word[1] != 'O' && !string_starts(word, "-Werror");
}

const char **command_discard(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {"-Qunused-arguments", "-c", "-o", "/dev/null", NULL};
    struct line line = line_without(arena, a, is_not_for_discard);
    return end_with_source(&line, a, added, source);
}

const char *command_saved_name(struct arena *arena, const struct arguments *a, const char *source,
                               const char *ending)
{
    const char *output = arguments_value(a, "-o"), *slash = output ? strrchr(output, '/') : NULL;
    const char *name = object_name_beside(arena, NULL, source, ending);
    bool is_beside_object = has_word(a, "-save-temps=obj") || has_word(a, "--save-temps=obj");
    bool is_asked = is_beside_object || has_word(a, "-save-temps") || has_word(a, "--save-temps") ||
                    has_word(a, "-save-temps=cwd") || has_word(a, "--save-temps=cwd");
    /* with -emit-llvm, bitcode is the result and not an intermediate file */
    if (!name || !is_asked || has_word(a, "-emit-llvm"))
        return NULL;
    if (!is_beside_object || !slash)
        return name;
    size_t folder = (size_t)(slash - output) + 1, size = folder + strlen(name) + 1;
    char *result = arena_alloc(arena, size);
    if (result)
        string_print(result, size, "%.*s%s", (int)folder, output, name);
    return result;
}

/* Returns true for options that write further files. */
static bool is_output_or_dependency(const char *word)
{
    return is_output(word) || is_dependency(word);
}

const char **command_save_text(struct arena *arena, const struct arguments *a, const char *source,
                               const char *output)
{
    const char *const added[] = {"-Qunused-arguments", "-D__JOULEC__=1", "-E", "-o", output, NULL};
    struct line line = line_without(arena, a, is_output_or_dependency);
    return end_with_source(&line, a, added, source);
}

/* Adds bitcode, and restores the language that -x set. */
static void add_bitcode(struct line *line, const char *bitcode, const char *language)
{
    const char *const added[] = {"-x", "ir", bitcode, "-x", language, NULL};
    add_all(line, added);
}

bool command_builds_apart(const struct arguments *a)
{
    return a->compiles && !a->links && a->source_count && a->input_count > 1 && !arguments_value(a, "-o");
}

/* Names the object, because clang cannot derive the name from bitcode in memory. */
static void add_output(struct line *line, const struct arguments *a, const char *source)
{
    if (arguments_value(a, "-o") || !(has_word(a, "-c") || has_word(a, "-S")))
        return;
    add(line, "-o");
    add(line, object_name_beside(line->arena, NULL, source, object_ending(a)));
}

/* Returns true if an input besides the sources is neither an object nor a library. Such an input may need the
 * options for source text. */
static bool has_text_beside(const struct arguments *a)
{
    static const char *const endings[] = {".o", ".lo", ".a", ".so", NULL};
    bool is_found = false;
    for (size_t i = 0; i < a->input_count && !is_found; i++) {
        const char *ending = strrchr(a->inputs[i], '.');
        is_found = !arguments_has_source(a, a->inputs[i]) && !(ending && string_is_one_of(ending, endings)) &&
                   !strstr(a->inputs[i], ".so.");
    }
    return is_found;
}

/* Replaces a level above 3 by -O3. clang would do the same but print a warning, which the front end's step
 * has printed already. */
static const char *known_level(const char *word)
{
    uint64_t level;
    bool is_level = string_starts(word, "-O") && string_to_u64(word + 2, 10, &level);
    return is_level && level > 3 ? "-O3" : word;
}

const char **command_build(struct arena *arena, const struct arguments *a, const char *const *bitcode,
                           size_t first, size_t end, const char *const *library)
{
    /* Options against two kinds of warnings: unknown warning options, which the front end's step already
     * reports; and clang 19's warning that no input follows the last -x. */
    static const char *const quiet[] = {"-Qunused-arguments", "-Wno-unknown-warning-option",
                                        "-Wno-unused-command-line-argument", NULL};
    struct line line = {.arena = arena};
    const char *language = "none";
    size_t source = 0, replaced = 0;
    for (size_t i = first; i < end; i++)
        replaced += bitcode[i] != NULL;
    bool reads_text = replaced < end - first || has_text_beside(a);
    for (size_t i = 0; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        bool is_pair = clang_option_takes_next(word) && i + 1 < a->clang_count,
             is_source = source < a->source_count && word == a->sources[source];
        const char *said = clang_option_language(word, a->clang[i + 1]);
        language = said ? said : language;
        if (is_source && source >= first && source < end && bitcode[source]) {
            add_bitcode(&line, bitcode[source], language);
        } else if (is_source ? source >= first && source < end : reads_text || !is_of_text(word)) {
            add(&line, replaced ? known_level(word) : word);
            if (is_pair)
                add(&line, a->clang[i + 1]);
        }
        source += is_source;
        i += is_pair;
    }
    if (replaced)
        add_all(&line, quiet);
    if (replaced && end - first == 1)
        add_output(&line, a, a->sources[first]);
    add_all(&line, library);
    return end_line(&line);
}
