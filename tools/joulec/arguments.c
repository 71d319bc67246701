/* tools/joulec/arguments.c - see arguments.h. */
#include "arguments.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "clang_options.h"
#include "common/options.h"
#include "common/output.h"
#include "common/program_folder.h"
#include "object_name.h"
#include "response_file.h"

#define DEFAULT_FAIL_OVER 0.05

static const char *clang_path(void)
{
    const char *asked = getenv("JOULEC_CLANG");
    return asked && *asked ? asked : JOULEC_CLANG;
}

/* Returns true if at least one of the files is not preprocessed yet. */
static bool has_text(const char *const *names, const char *const *languages, size_t count)
{
    bool has = false;
    for (size_t i = 0; i < count && !has; i++)
        has = languages[i] ? !strstr(languages[i], "cpp-output") : !string_ends(names[i], "i");
    return has;
}

/* Returns true if clang preprocesses an input file and accepts options of its driver. After -cc1 it does not
 * accept them. */
static bool preprocesses(const struct arguments *a)
{
    return (a->has_headers || has_text(a->sources, a->languages, a->source_count) ||
            has_text(a->others, a->other_languages, a->other_count)) &&
           !string_starts(a->clang[1], "-cc1");
}

/* Inserts an argument before those of the user. */
static void insert_word(struct arguments *a, const char *word)
{
    memmove(a->clang + 2, a->clang + 1, a->clang_count * sizeof *a->clang);
    a->clang[1] = word;
    a->clang_count++;
    a->is_plain = false;
}

/* Adds the folder of <joule/budget.h>, wherever joulec is installed. Clang searches this folder last, so that
 * it hides no other header. */
static void add_headers(struct arena *arena, struct arguments *a)
{
    static const char *const usual[] = {"/usr/include", "/usr/local/include", NULL};
    char folder[PATH_MAX];
    find_from_program(JOULEC_INCLUDE_FOLDER, folder);
    if (!folder[0] || string_is_one_of(folder, usual))
        return;
    const char *copy = arena_copy(arena, folder, strlen(folder));
    if (!copy)
        return;
    insert_word(a, copy);
    insert_word(a, "-idirafter");
}

/* Returns how warnings are handled. -w takes precedence over -Werror. */
static enum warnings_kind warnings_kind_of(const struct arguments *a)
{
    static const char *const none[] = {"-w", NULL}, *const errors[] = {"-Werror", "-Wno-error", NULL};
    const char *last = arguments_last_of(a, errors);
    if (arguments_last_of(a, none))
        return WARNINGS_HIDDEN;
    return last && strcmp(last, "-Werror") == 0 ? WARNINGS_ARE_ERRORS : WARNINGS_SHOWN;
}

/* Makes clang -E keep budgets in its output, so that they are checked when ccache or distcc compile that
 * output. */
static void keep_budgets(struct arguments *a)
{
    static const char *const words[] = {"-E", NULL};
    bool is_c = a->source_count && !a->other_count;
    if (a->checks && is_c && preprocesses(a) && arguments_last_of(a, words))
        insert_word(a, "-D__JOULEC__=1");
}

int arguments_become_clang(const char **words)
{
    struct folded_words folded;
    execvp(words[0], (char **)words);
    if (errno == E2BIG && response_fold(words, &folded) >= 0)
        execvp(words[0], (char **)folded.words);
    complain("", "cannot run %s: %s\nhint: set JOULEC_CLANG to another clang", words[0], strerror(errno));
    return EXIT_USAGE;
}

/* Returns true if the pointer `word` itself, not an equal string, is in the list. */
static bool has(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == word)
            return true;
    return false;
}

bool arguments_has_input(const struct arguments *a, const char *word)
{
    return has(a->inputs, a->input_count, word);
}

bool arguments_has_source(const struct arguments *a, const char *word)
{
    return has(a->sources, a->source_count, word);
}

const char *arguments_value(const struct arguments *a, const char *option)
{
    const char *value = NULL;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        if (strcmp(word, option) == 0 && i + 1 < a->clang_count)
            value = a->clang[++i];
        else if (clang_option_takes_next(word))
            i++;
        else if (string_starts(word, option) && word[strlen(option)])
            value = word + strlen(option);
    }
    return value;
}

const char *arguments_last_of(const struct arguments *a, const char *const *wanted)
{
    const char *last = NULL;
    for (size_t i = 1; i < a->clang_count; i++)
        last = string_is_one_of(a->clang[i], wanted) ? a->clang[i] : last;
    return last;
}

static bool read_page_words(const struct arguments *a)
{
    if (a->page == PAGE_NONE)
        return true;
    if (a->database)
        complain("", "--emit and --lift cannot be used with --energy-database; name C files");
    else if (!a->source_count)
        complain("", "--emit and --lift need a C file");
    else if (a->source_count > 1 && a->page != PAGE_LIFT)
        complain("", "--emit needs one C file, not %zu", a->source_count);
    else
        return true;
    return false;
}

/* Removes -j N from the arguments for clang, which has no such option. Returns false after a message. */
static bool take_jobs(struct arguments *a)
{
    size_t count = 1;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        if (!string_starts(word, "-j")) {
            a->clang[count++] = word;
            continue;
        }
        uint64_t jobs;
        const char *number = word[2] ? word + 2 : i + 1 < a->clang_count ? a->clang[++i] : "";
        if (!string_to_u64(number, 10, &jobs) || jobs < 1 || jobs > MAX_JOBS) {
            complain("", "-j must be a number from 1 to %d, not '%s'", MAX_JOBS, number);
            return false;
        }
        a->jobs = (unsigned)jobs;
    }
    a->clang_count = count;
    a->clang[count] = NULL;
    return true;
}

static bool read_database_words(struct arguments *a)
{
    if (!a->database) {
        if (a->only)
            complain("", "--energy-only needs --energy-database FILE");
        return !a->only;
    }
    if (a->source_count) {
        complain("",
                 "%s: name a database or files, not both\nhint: --energy-only=%s selects this file of the "
                 "database",
                 a->sources[0], a->sources[0]);
        return false;
    }
    return take_jobs(a);
}

/* Checks that options for a check are given only with a check or a printed page. Returns false after a
 * message. */
static bool check_options_apply(const struct arguments *a)
{
    const char *option = a->profile                 ? "--profile-use"
                         : !isnan(a->warmer_kelvin) ? "--thermal-state"
                         : !isnan(a->default_trips) ? "--energy-loop-default"
                                                    : NULL;
    bool is_read = !option || a->checks || a->page != PAGE_NONE;
    if (!isnan(a->fail_over) && !a->baseline) {
        complain("", "--energy-fail-over needs --energy-baseline FILE");
        return false;
    }
    if (!is_read)
        complain("", "%s needs --energy-check or --energy-report FILE%s", option,
                 a->profile ? "\nhint: to build with a profile, use -fprofile-instr-use=FILE" : "");
    return is_read;
}

/* Lists the files that clang will write. Returns their number. */
static size_t list_build_outputs(struct arena *arena, const struct arguments *a, const char **out)
{
    const char *output = arguments_value(a, "-o");
    size_t count = 0;
    if (!a->compiles || a->database || a->page != PAGE_NONE)
        return 0;
    if (output || a->links) {
        out[0] = output ? output : "a.out";
        return 1;
    }
    for (size_t i = 0; i < a->source_count; i++)
        out[count++] = object_name_beside(arena, NULL, a->sources[i], object_ending(a));
    for (size_t i = 0; i < a->other_count; i++)
        out[count++] = object_name_beside(arena, NULL, a->others[i], object_ending(a));
    return count;
}

/* Checks that each output of joulec has its own file, which is neither an input nor an output of clang.
 * Returns false after a message. */
static bool check_outputs_differ(struct arena *arena, const struct arguments *a)
{
    const char *output = arguments_value(a, "-o"), *page = a->page == PAGE_NONE ? NULL
                                                           : output             ? output
                                                                                : "-";
    const char *const written[] = {a->report, a->sarif, a->gitlab, a->html, page};
    size_t count = sizeof written / sizeof *written, streams = 0, inputs = 0;
    const char **paths = arena_alloc(arena, (2 * a->input_count + 3 + count) * sizeof *paths);
    joule_error error;
    if (!paths)
        return false;
    for (size_t i = 0; i < count; i++)
        streams += written[i] && strcmp(written[i], "-") == 0;
    if (streams > 1) {
        complain("", "cannot write several reports to standard output; name a file for all but one");
        return false;
    }
    paths[inputs++] = a->database;
    paths[inputs++] = a->baseline;
    for (size_t i = 0; i < a->input_count; i++)
        if (strcmp(a->inputs[i], "-") != 0)
            paths[inputs++] = a->inputs[i];
    inputs += list_build_outputs(arena, a, paths + inputs);
    memcpy(paths + inputs, written, sizeof written);
    if (output_check_apart(paths, inputs, inputs + count, &error) == JOULE_OK)
        return true;
    complain("", "%s", error.message);
    return false;
}

/* Returns true if `-Xclang WORD` makes clang do something other than compile. */
static bool is_other_action(const char *word)
{
    static const char *const words[] = {
        "-E",           "-S",           "-fsyntax-only",    "-analyze", "-plugin", "-emit-pch",
        "-emit-module", "-dump-tokens", "-dump-raw-tokens", "-fixit",   NULL};
    return (string_starts(word, "-ast-") && !strstr(word, "-filter")) || string_is_one_of(word, words);
}

/* Updates is_for_clang, compiles and links for an option that changes the last stage of clang. */
static void take_stage(struct arguments *out, const char *word, const char *value)
{
    static const char *const others[] = {"-E",           "-M",   "-MM",           "-emit-ast",
                                         "--precompile", "-###", "-rewrite-objc", NULL};
    static const char *const stops[] = {"-fsyntax-only", "--analyze", NULL};
    static const char *const objects[] = {"-c", "-S", "-r", NULL};
    if (string_is_one_of(word, others) || string_starts(word, "-ccc-print-") ||
        (strcmp(word, "-Xclang") == 0 && is_other_action(value)))
        out->is_for_clang = true;
    else if (string_is_one_of(word, stops))
        out->compiles = out->links = false;
    else if (string_is_one_of(word, objects))
        out->links = false;
}

static bool is_c(const char *word, const char *language)
{
    static const char *const c[] = {"c", "cpp-output", NULL};
    return language ? string_is_one_of(language, c) : string_ends(word, ".c") || string_ends(word, ".i");
}

/* Returns true for a source in C++ or Objective-C. Returns false for preprocessed C++, which contains no
 * budgets any more. */
static bool is_other(const char *word, const char *language)
{
    static const char *const others[] = {"c++", "objective-c", "objective-c++", NULL};
    static const char *const endings[] = {".cc",  ".cp",  ".cpp", ".cxx", ".c++", ".C", ".CC",
                                          ".CPP", ".CXX", ".m",   ".mm",  ".M",   NULL};
    const char *dot = strrchr(word, '.');
    return language ? string_is_one_of(language, others) : dot && string_is_one_of(dot, endings);
}

/* Returns true for a header. Clang precompiles headers and links nothing. */
static bool is_header(const char *word, const char *language)
{
    static const char *const endings[] = {".h", ".hh", ".hpp", ".hxx", ".H", ".hp", ".h++", NULL};
    const char *dot = strrchr(word, '.');
    return language ? string_ends(language, "-header") : dot && string_is_one_of(dot, endings);
}

/* Adds an input file. `language`: that of the last -x; NULL: no -x was given. */
static void take_input(struct arguments *out, const char *word, const char *language)
{
    out->clang[out->clang_count++] = word;
    out->inputs[out->input_count++] = word;
    out->has_headers = out->has_headers || is_header(word, language);
    if (is_c(word, language)) {
        out->languages[out->source_count] = language;
        out->sources[out->source_count++] = word;
    } else if (is_other(word, language)) {
        out->other_languages[out->other_count] = language;
        out->others[out->other_count++] = word;
    }
}

/* Adds the arguments after "--", which are all files. Returns false if out of memory. */
static bool take_files(struct arena *arena, struct arguments *out, const char **words, const char *language)
{
    for (; *words; words++) {
        const char *word = *words;
        /* options are added after this file name, so the name must not look like an option */
        if (word[0] == '-' && word[1]) {
            char *path = arena_alloc(arena, strlen(word) + sizeof "./");
            if (!path)
                return false;
            word = strcat(strcpy(path, "./"), word);
        }
        take_input(out, word, language);
    }
    return true;
}

/* Adds one argument for clang, and its value if there is one. Returns the number of arguments added. */
static size_t take_clangs(struct arguments *out, const char *word, const char *next, const char **language)
{
    if (word[0] != '-' || !word[1]) {
        take_input(out, word, *language);
        return 1;
    }
    bool is_pair = clang_option_takes_next(word) && next;
    const char *said = clang_option_language(word, next);
    if (said)
        *language = strcmp(said, "none") == 0 ? NULL : said;
    take_stage(out, word, is_pair ? next : "");
    out->clang[out->clang_count++] = word;
    if (is_pair)
        out->clang[out->clang_count++] = next;
    return is_pair ? 2 : 1;
}

static bool read_words(struct arena *arena, const char **words, struct arguments *out)
{
    const char *language = NULL;
    while (*words && strcmp(*words, "--") != 0) {
        int taken = own_options_parse(out, *words, words[1]);
        if (taken < 0)
            return false;
        out->is_plain = out->is_plain && !taken;
        words += taken ? (size_t)taken : take_clangs(out, *words, words[1], &language);
    }
    return !*words || take_files(arena, out, words + 1, language);
}

bool arguments_read(struct arena *arena, const char *folder, char **argv, struct arguments *out)
{
    size_t count;
    const char **words = response_expand(arena, argv, folder, &count);
    if (!words)
        return false;
    words = clang_options_shorten(arena, words, &count);
    *out = (struct arguments){.is_plain = true,
                              .runs = true,
                              .compiles = true,
                              .links = true,
                              .default_trips = NAN,
                              .warmer_kelvin = NAN,
                              .file_joules = NAN,
                              .fail_over = NAN,
                              .clang = arena_alloc(arena, (count + 5) * sizeof *out->clang),
                              .inputs = arena_alloc(arena, (count + 1) * sizeof *out->inputs),
                              .sources = arena_alloc(arena, (count + 1) * sizeof *out->sources),
                              .languages = arena_alloc(arena, (count + 1) * sizeof *out->languages),
                              .others = arena_alloc(arena, (count + 1) * sizeof *out->others),
                              .other_languages = arena_alloc(arena, (count + 1) * sizeof *words)};
    if (!words || arena->is_out_of_memory) {
        complain("", "out of memory");
        return false;
    }
    out->clang[out->clang_count++] = clang_path();
    if (!read_words(arena, words, out))
        return false;
    out->links = out->links && out->input_count && !out->has_headers && !out->is_for_clang;
    out->compiles = out->compiles && !out->is_for_clang;
    /* the arguments of a database entry (folder is set) do not contain the source */
    if (folder || preprocesses(out))
        add_headers(arena, out);
    keep_budgets(out);
    out->warnings = warnings_kind_of(out);
    bool is_used = check_options_apply(out);
    if (isnan(out->fail_over))
        out->fail_over = DEFAULT_FAIL_OVER;
    return is_used && check_outputs_differ(arena, out) && read_page_words(out) && read_database_words(out);
}
