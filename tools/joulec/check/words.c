/* tools/joulec/check/words.c - see words.h. */
#include "words.h"

#include <string.h>
#include "base/string.h"

/* Where the compiler puts what, and how far it goes. */
static bool is_output(const char *word)
{
    static const char *const exact[] = {"-c", "-S", "-o", "-emit-llvm", NULL};
    return string_is_one_of(word, exact) || (string_starts(word, "-o") && word[2]) ||
           string_starts(word, "-save-temps");
}

/* What the preprocessor writes for make. */
static bool is_dependency(const char *word)
{
    return string_starts(word, "-M") && (strlen(word) <= 4);
}

/* What is no business of the build that is counted: outputs, dependencies, how far to go, and how much to optimise. */
static bool is_uncounted(const char *word)
{
    static const char *const exact[] = {"-E", "-fsyntax-only", "--analyze", "-###", "-pipe", NULL};
    bool is_level = word[0] == '-' && word[1] == 'O' && strcmp(word, "-Ofast") != 0; /* see add_level */
    return is_level || is_output(word) || is_dependency(word) || string_is_one_of(word, exact) ||
           string_starts(word, "-flto") || string_starts(word, "-fsanitize") ||
           string_starts(word, "-Werror") || string_starts(word, "-l") || string_starts(word, "-Wl,") ||
           string_starts(word, "-fprofile-") || string_starts(word, "-fcs-profile-") ||
           string_starts(word, "-fcoverage-");
}

/* Says nothing to a compiler of bitcode. */
static bool is_of_text(const char *word)
{
    return is_dependency(word) || strcmp(word, "-include") == 0 || strcmp(word, "-imacros") == 0;
}

/* The user's words without files and their languages, and without what `is_left_out`, and room for `more` and the NULL. */
static const char **words_without(struct arena *arena, const struct arguments *a,
                                  bool (*is_left_out)(const char *), size_t more, size_t *out_count)
{
    const char **words = arena_alloc(arena, (a->clang_count + more + 1) * sizeof *words);
    size_t count = 0;
    for (size_t i = 0; i < a->clang_count && words; i++) {
        const char *word = a->clang[i];
        bool is_pair = argument_takes_a_word(word) && i + 1 < a->clang_count;
        if (!is_left_out(word) && !arguments_has_input(a, word) && !argument_language(word, "")) {
            words[count++] = word;
            if (is_pair)
                words[count++] = a->clang[i + 1];
        }
        i += is_pair;
    }
    *out_count = count;
    return words;
}

/* The file itself, which may be none of the words: then it is in the language of what stands behind them all. Takes room for
 * three. */
static void add_source(const struct arguments *a, const char *source, const char **words, size_t *count)
{
    const char *language = NULL;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *said = argument_language(a->clang[i], a->clang[i + 1]);
        language = said ? said : language;
        i += argument_takes_a_word(a->clang[i]);
    }
    for (size_t i = 0; i < a->source_count; i++)
        if (a->sources[i] == source)
            language = a->languages[i];
    if (language) {
        words[(*count)++] = "-x";
        words[(*count)++] = language;
    }
    words[(*count)++] = source;
}

/* Of the options -O the last one counts. */
static char level_of(const struct arguments *a)
{
    char level = '0';
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        if (word[0] == '-' && word[1] == 'O')
            level = word[2] ? word[2] : '2';
        i += argument_takes_a_word(word);
    }
    return level;
}

/* What the user's level says to the preprocessor and of the language, as the level that is counted says something else.
 * Takes room for three. */
static void add_level(const struct arguments *a, const char **words, size_t *count)
{
    char level = level_of(a);
    bool is_small = level == 's' || level == 'z';
    for (size_t i = 0; i < *count; i++)
        if (strcmp(words[i], "-Ofast") == 0)
            words[i] = level == 'f' ? "-ffast-math" : "-Qunused-arguments";
    if (!is_small && level != '0')
        return;
    words[(*count)++] = is_small ? "-D__OPTIMIZE_SIZE__=1" : "-U__OPTIMIZE__";
    words[(*count)++] = "-Xclang"; /* a precompiled header is of the user's level */
    words[(*count)++] = "-fno-validate-pch";
}

/* The user's words for the front end, and ours behind them. */
static const char **words_for_front_end(struct arena *arena, const struct arguments *a,
                                        const char *const *added, size_t added_count, const char *source)
{
    size_t count;
    const char **words = words_without(arena, a, is_uncounted, added_count + 6, &count);
    if (!words)
        return NULL;
    add_level(a, words, &count);
    memcpy(words + count, added, added_count * sizeof *added);
    count += added_count;
    add_source(a, source, words, &count);
    return words;
}

/* What is counted and what a profile saw are joined by places in the source, and by names. */
#define WITH_PLACES "-g1", "-gcolumn-info", "-fno-discard-value-names", "-w", "-Qunused-arguments"

/* "-fprofile-instr-use=FILE", or what says nothing. */
static const char *profile_word(struct arena *arena, const struct arguments *a)
{
    static const char option[] = "-fprofile-instr-use=";
    size_t size = sizeof option + (a->counts ? strlen(a->counts) : 0);
    char *word = a->counts ? arena_alloc(arena, size) : NULL;
    if (word)
        string_print(word, size, "%s%s", option, a->counts);
    return word ? word : "-Qunused-arguments";
}

const char **words_of_count(struct arena *arena, const struct arguments *a, const char *source,
                            const char *dependencies)
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
                                 "-"};
    return words_for_front_end(arena, a, added, sizeof added / sizeof *added, source);
}

/* "-fno-vectorize" and "-fvectorize": the last one counts. */
static void take_switch(const char *word, const char *name, bool *is_on)
{
    if (string_starts(word, "-f") && strcmp(word + 2, name) == 0)
        *is_on = true;
    else if (string_starts(word, "-fno-") && strcmp(word + 5, name) == 0)
        *is_on = false;
}

struct module_build words_on_loops(const struct arguments *a)
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

const char **words_of_ir(struct arena *arena, const struct arguments *a, const char *source)
{
    const char **words = words_of_count(arena, a, source, "/dev/null");
    for (size_t i = 0; words && words[i]; i++)
        if (strcmp(words[i], "-c") == 0)
            words[i] = "-S";
    return words;
}

const char **words_of_profile(struct arena *arena, const struct arguments *a, const char *source)
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
                                 "-"};
    return words_for_front_end(arena, a, added, sizeof added / sizeof *added, source);
}

const char **words_of_text(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {
        "-O2", "-w", "-Qunused-arguments", "-D__JOULEC__=1", "-D__JOULEC_COUNTS__=1", "-E", "-o", "-"};
    return words_for_front_end(arena, a, added, sizeof added / sizeof *added, source);
}

static bool has_word(const struct arguments *a, const char *word)
{
    for (size_t i = 1; i < a->clang_count; i++)
        if (strcmp(a->clang[i], word) == 0)
            return true;
    return false;
}

/* What clang would call the object, or what lies beside it. */
static const char *name_beside(struct arena *arena, const struct arguments *a, const char *source,
                               const char *ending)
{
    const char *output = arguments_value(a, "-o"), *slash = strrchr(source, '/');
    const char *name = output ? output : slash ? slash + 1 : source;
    const char *dot = strrchr(name, '.'), *last = strrchr(name, '/');
    size_t stem = dot && (!last || dot > last) ? (size_t)(dot - name) : strlen(name);
    size_t size = stem + strlen(ending) + 1;
    char *made = arena_alloc(arena, size);
    if (made)
        string_print(made, size, "%.*s%s", (int)stem, name, ending);
    return made;
}

static const char *ending_of(const struct arguments *a)
{
    bool is_text = has_word(a, "-S");
    return has_word(a, "-emit-llvm") ? (is_text ? ".ll" : ".bc") : is_text ? ".s" : ".o";
}

/* Rules for make are of the object that the user asked for. False: no memory. */
static bool add_dependencies(struct arena *arena, const struct arguments *a, const char *source,
                             const char **words, size_t *count)
{
    if (!has_word(a, "-MD") && !has_word(a, "-MMD"))
        return true;
    const char *object = arguments_value(a, "-o");
    const char *file = name_beside(arena, a, source, ".d");
    if (!object)
        object = name_beside(arena, a, source, ending_of(a));
    if (!file || !object)
        return false;
    if (!arguments_value(a, "-MF")) {
        words[(*count)++] = "-MF";
        words[(*count)++] = file;
    }
    if (!arguments_value(a, "-MT") && !arguments_value(a, "-MQ")) {
        words[(*count)++] = "-MQ";
        words[(*count)++] = object;
    }
    return true;
}

const char **words_of_ship(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {"-Qunused-arguments",
                                        "-D__JOULEC__=1",
                                        "-Xclang",
                                        "-disable-llvm-passes",
                                        "-emit-llvm",
                                        "-c",
                                        "-o",
                                        "-"};
    size_t added_count = sizeof added / sizeof *added, count;
    const char **words = words_without(arena, a, is_output, added_count + 7, &count);
    if (!words || !add_dependencies(arena, a, source, words, &count))
        return NULL;
    memcpy(words + count, added, sizeof added);
    count += added_count;
    add_source(a, source, words, &count);
    return words;
}

/* What clang itself may refuse does not stay out. */
static bool is_of_no_account(const char *word)
{
    return is_uncounted(word) && word[1] != 'O' && !string_starts(word, "-Werror");
}

const char **words_of_nothing(struct arena *arena, const struct arguments *a, const char *source)
{
    static const char *const added[] = {"-Qunused-arguments", "-c", "-o", "/dev/null"};
    size_t added_count = sizeof added / sizeof *added, count;
    const char **words = words_without(arena, a, is_of_no_account, added_count + 3, &count);
    if (!words)
        return NULL;
    memcpy(words + count, added, sizeof added);
    count += added_count;
    add_source(a, source, words, &count);
    return words;
}

/* Where the system's programs find libraries anyway. */
static bool is_usual_folder(const char *folder)
{
    return string_starts(folder, "/usr/lib") || string_starts(folder, "/lib") ||
           strcmp(folder, "/usr/local/lib") == 0;
}

/* Nothing of it stays in a program that calls no libjoule. False: no memory. */
static bool add_library(struct arena *arena, const char *library, const char **words, size_t *count)
{
    static const char *const added[] = {
        "-Wl,--push-state,--as-needed", "-ljoule", "-lm", "-lpthread", "-ldl", "-Wl,--pop-state"};
    char *folder = arena_alloc(arena, strlen(library) + sizeof "-L");
    char *found = arena_alloc(arena, strlen(library) + sizeof "-Wl,-rpath,");
    if (!folder || !found)
        return false;
    words[(*count)++] = strcat(strcpy(folder, "-L"), library);
    if (!is_usual_folder(library))
        words[(*count)++] = strcat(strcpy(found, "-Wl,-rpath,"), library);
    memcpy(words + *count, added, sizeof added);
    *count += sizeof added / sizeof *added;
    return true;
}

/* Whatever language the user said that sources are in. */
static void add_bitcode(const char *bitcode, const char *language, const char **words, size_t *count)
{
    const char *const added[] = {"-x", "ir", bitcode, "-x", language};
    memcpy(words + *count, added, sizeof added);
    *count += sizeof added / sizeof *added;
}

bool words_of_build_are_apart(const struct arguments *a)
{
    return a->compiles && !a->links && a->source_count && a->input_count > 1 && !arguments_value(a, "-o");
}

/* Bitcode has no name after which clang could call what it makes. False: no memory. */
static bool add_output(struct arena *arena, const struct arguments *a, const char *source, const char **words,
                       size_t *count)
{
    if (arguments_value(a, "-o") || !(has_word(a, "-c") || has_word(a, "-S")))
        return true;
    words[(*count)++] = "-o";
    return (words[(*count)++] = name_beside(arena, a, source, ending_of(a))) != NULL;
}

/* A file beside the sources is neither object nor library, so that the options for texts are for it, too. */
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

/* As clang would read it in the end, without saying again that there is no such level. */
static const char *known_level(const char *word)
{
    uint64_t level;
    bool is_level = string_starts(word, "-O") && string_to_u64(word + 2, 10, &level);
    return is_level && level > 3 ? "-O3" : word;
}

const char **words_of_build(struct arena *arena, const struct arguments *a, const char *const *bitcode,
                            size_t first, size_t end, const char *library)
{
    const char **words = arena_alloc(arena, (a->clang_count + 4 * a->source_count + 18) * sizeof *words);
    const char *language = "none";
    size_t count = 0, source = 0, replaced = 0;
    for (size_t i = first; i < end; i++)
        replaced += bitcode[i] != NULL;
    bool reads_text = replaced < end - first || has_text_beside(a);
    for (size_t i = 0; i < a->clang_count && words; i++) {
        const char *word = a->clang[i];
        bool is_pair = argument_takes_a_word(word) && i + 1 < a->clang_count,
             is_source = source < a->source_count && word == a->sources[source];
        const char *said = argument_language(word, a->clang[i + 1]);
        language = said ? said : language;
        if (is_source && source >= first && source < end && bitcode[source]) {
            add_bitcode(bitcode[source], language, words, &count);
        } else if (is_source ? source >= first && source < end : reads_text || !is_of_text(word)) {
            words[count++] = replaced ? known_level(word) : word;
            if (is_pair)
                words[count++] = a->clang[i + 1];
        }
        source += is_source;
        i += is_pair;
    }
    if (words && replaced) {
        words[count++] = "-Qunused-arguments";
        words[count++] = "-Wno-unknown-warning-option"; /* the source's step said so */
        words[count++] =
            "-Wno-unused-command-line-argument"; /* clang 19 of the last -x, where no input follows */
    }
    if (words && replaced && end - first == 1 && !add_output(arena, a, a->sources[first], words, &count))
        return NULL;
    if (words && *library && !add_library(arena, library, words, &count))
        return NULL;
    return words;
}
