/* tools/joulec/arguments.c - see arguments.h. */
#include "arguments.h"

#include <errno.h>
#include <joule/quantity.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"
#include "common/output.h"
#include "response.h"

#define MOST_KELVIN 100

bool argument_takes_a_word(const char *word)
{
    /* of clang 14 and 19, without those that are made short */
    static const char options[] =
        " -o -I -D -U -include -isystem -iquote -x -MF -MT -MQ -MJ -L -l -Xclang -Xlinker -Xassembler"
        " -Xpreprocessor -Xanalyzer -Xopenmp-target -Xoffload-linker -Xarch_host -Xarch_device -Xcuda-ptxas"
        " -Xcuda-fatbinary -target -arch -arch_only -idirafter -imacros -isysroot -include-pch -iprefix"
        " -iwithprefix -iwithprefixbefore -iwithsysroot -isystem-after -cxx-isystem -stdlib++-isystem"
        " -iframework -iframeworkwithsysroot -imultilib -ivfsoverlay -vfsoverlay -iapinotes-modules -T -u"
        " -z -e -b -A -B -F -mllvm -mmlir -meabi -mthread-model -resource-dir -working-directory"
        " -dependency-file -dependency-dot -module-dependency-dir -dumpdir -serialize-diagnostics"
        " -gen-cdb-fragment-path -fmodules-user-build-path -rpath -init -filelist -framework"
        " -weak_framework -weak_library -lazy_library -force_load -install_name -current_version"
        " -compatibility_version -bundle_loader -exported_symbols_list -unexported_symbols_list"
        " -ccc-gcc-name -ccc-install-dir --analyzer-output --assert --config --dyld-prefix"
        " --encoding --for-linker --imacros --include-directory-after"
        " --include-with-prefix --include-with-prefix-after --include-with-prefix-before"
        " --param --prefix --rtlib --serialize-diagnostics --std --stdlib --sysroot ";
    if (string_starts(word, "-Xarch_") || string_starts(word, "-Xopenmp-target="))
        return true; /* whatever machine they name */
    size_t length = strlen(word);
    const char *at = word[0] == '-' ? strstr(options, word) : NULL;
    while (at && !(at[-1] == ' ' && at[length] == ' '))
        at = strstr(at + length, word);
    return at;
}

const char *argument_language(const char *word, const char *next)
{
    return !string_starts(word, "-x") ? NULL : word[2] ? word + 2 : next;
}

/* --- joulec's own words ------------------------------------------------------------------------------------- */

/* `hint`: what else to do, behind ": "; or "". */
static bool take_nothing(const char *name, const char *value, const char *hint)
{
    if (value)
        complain("", "%s takes nothing behind '='%s", name, hint);
    return !value;
}

static bool take_check(struct arguments *out, const char *value)
{
    (void)out;
    return take_nothing("--energy-check", value, "");
}

static bool take_advice(struct arguments *out, const char *value)
{
    out->advises_all = true;
    return take_nothing("--energy-advice", value, "");
}

static bool take_file(const char *name, const char *value, const char **out_file)
{
    *out_file = value;
    if (!value || !*value)
        complain("", "%s needs a file, or '-' for standard output", name);
    else if (value[0] == '-' && value[1])
        complain("", "%s needs a file, and '%s' looks like an option; ./%s is a file", name, value, value);
    else
        return true;
    return false;
}

static bool take_report(struct arguments *out, const char *value)
{
    return take_file("--energy-report", value, &out->report);
}

static bool take_sarif(struct arguments *out, const char *value)
{
    return take_file("--energy-sarif", value, &out->sarif);
}

static bool take_html(struct arguments *out, const char *value)
{
    return take_file("--energy-html", value, &out->html);
}

static bool take_database(struct arguments *out, const char *value)
{
    out->database = value;
    if (value && *value)
        return true;
    complain("", "--energy-database needs a file, such as build/compile_commands.json");
    return false;
}

static bool take_only(struct arguments *out, const char *value)
{
    out->only = value;
    if (value && *value)
        return true;
    complain("", "--energy-only needs a part of a file's name, such as src/codec/");
    return false;
}

static bool take_policy(struct arguments *out, const char *value)
{
    out->is_strict = value && strcmp(value, "strict") == 0;
    if (out->is_strict || (value && strcmp(value, "default") == 0))
        return true;
    complain("", "--energy-policy is 'default' or 'strict', not '%s'", value ? value : "");
    return false;
}

static bool take_annotations(struct arguments *out, const char *value)
{
    static const char gitlab[] = "gitlab:";
    if (value && strcmp(value, "github") == 0)
        out->is_github = true;
    else if (value && string_starts(value, gitlab) && value[strlen(gitlab)])
        out->gitlab = value + strlen(gitlab);
    else
        complain("", "--energy-annotations is 'github' or 'gitlab:FILE', not '%s'", value ? value : "");
    return out->is_github || out->gitlab;
}

static bool take_emit(struct arguments *out, const char *value)
{
    static const struct {
        const char *name;
        enum page_kind page;
    } kinds[] = {{"c", PAGE_C}, {"ir", PAGE_IR}, {"llvm-ir", PAGE_IR}, {"eir", PAGE_EIR}};
    for (size_t i = 0; value && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(value, kinds[i].name) == 0) {
            out->page = kinds[i].page;
            return true;
        }
    complain("", "--emit is 'c', 'ir' or 'eir', not '%s'", value ? value : "");
    return false;
}

static bool take_lift(struct arguments *out, const char *value)
{
    out->page = PAGE_LIFT;
    if (value && strcmp(value, "c") == 0)
        return true;
    complain("", "--lift is 'c', not '%s': joulec knows no other language", value ? value : "");
    return false;
}

static bool take_loops(struct arguments *out, const char *value)
{
    if (value && string_to_double(value, &out->default_trips) && out->default_trips >= 1)
        return true;
    complain("", "--energy-loop-default is a number from 1, not '%s'", value ? value : "");
    return false;
}

static bool take_run(struct arguments *out, const char *value)
{
    out->runs = value && strcmp(value, "yes") == 0;
    if (out->runs || (value && strcmp(value, "no") == 0))
        return true;
    complain("", "--energy-run is 'yes' or 'no', not '%s'", value ? value : "");
    return false;
}

static bool take_budget(struct arguments *out, const char *value)
{
    joule_error error;
    if (!value || joule_parse(value, JOULE_DIMENSION_ENERGY, &out->file_joules, &error) != JOULE_OK) {
        complain("", "--energy-budget is an energy, as 100nJ: %s", value ? error.message : "there is none");
        return false;
    }
    if (strchr("0123456789.", value[strlen(value) - 1])) {
        complain("", "--energy-budget needs a unit, such as %snJ: J, mJ, uJ, nJ, pJ, Wh", value);
        return false;
    }
    if (out->file_joules > 0)
        return true;
    complain("", "--energy-budget is above 0, not '%s'", value);
    return false;
}

/* How warm the chip is, against 60 C, where figures of families hold: assumed of a server that works. */
static bool take_thermal_state(struct arguments *out, const char *value)
{
    static const struct {
        const char *name;
        double kelvin;
    } states[] = {{"cool", -20}, {"nominal", 0}, {"warm", 15}, {"hot", 30}};
    char number[32];
    for (size_t i = 0; value && i < sizeof states / sizeof *states; i++)
        if (strcmp(value, states[i].name) == 0) {
            out->warmer_kelvin = states[i].kelvin;
            return true;
        }
    if (value && string_copy(number, sizeof number, value)) {
        if (string_ends(number, "K"))
            number[strlen(number) - 1] = '\0';
        if (string_to_double(number, &out->warmer_kelvin) && fabs(out->warmer_kelvin) <= MOST_KELVIN)
            return true;
    }
    complain("",
             "--thermal-state is cool, nominal, warm, hot, or kelvins from nominal such as +20K (up to %d), "
             "not '%s'",
             MOST_KELVIN, value ? value : "");
    return false;
}

static bool take_profile_generate(struct arguments *out, const char *value)
{
    out->clang[out->clang_count++] = "-fprofile-instr-generate";
    return take_nothing("--profile-generate", value, ": LLVM_PROFILE_FILE=FILE says where a run writes");
}

static bool take_profile_use(struct arguments *out, const char *value)
{
    static const char merged[] = "default.profdata", raw[] = "default.profraw";
    out->profile = value ? value : access(merged, R_OK) == 0 ? merged : raw;
    if (*out->profile)
        return true;
    complain("", "--profile-use= needs the file that the program wrote, such as default.profraw");
    return false;
}

static const struct own {
    const char *name;
    bool (*take)(struct arguments *out, const char *value); /* NULL: none; false after a message */
    bool takes_next; /* a value may be the next word as well as stand behind '=' */
    bool checks;     /* it asks for a check */
} owns[] = {
    {"--energy-check", take_check, false, true},
    {"--energy-report", take_report, true, true},
    {"--energy-sarif", take_sarif, true, true},
    {"--energy-html", take_html, true, true},
    {"--energy-database", take_database, true, true},
    {"--energy-only", take_only, true, false},
    {"--energy-annotations", take_annotations, false, true},
    {"--energy-policy", take_policy, false, true},
    {"--energy-loop-default", take_loops, false, false},
    {"--emit", take_emit, true, false},
    {"--lift", take_lift, true, true},
    {"--energy-run", take_run, false, false},
    {"--energy-budget", take_budget, true, true},
    {"--thermal-state", take_thermal_state, true, false},
    {"--energy-advice", take_advice, false, true},
    {"--profile-generate", take_profile_generate, false, false},
    {"--profile-use", take_profile_use, false, false},
};

/* What was taken: 1 or 2 words; 0: it is not joulec's, -1: after a message, it is wrong. */
static int take_own(struct arguments *out, const char *word, const char *next)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;
    for (size_t i = 0; i < sizeof owns / sizeof *owns; i++) {
        if (strlen(owns[i].name) != length || memcmp(owns[i].name, word, length) != 0)
            continue;
        bool takes_next = owns[i].takes_next && !value;
        out->checks = out->checks || owns[i].checks;
        return !owns[i].take(out, takes_next ? next : value) ? -1 : takes_next ? 2 : 1;
    }
    if (!string_starts(word, "--energy-"))
        return 0;
    complain("", "%s is not known: joulec --energy-help lists what is", word);
    return -1;
}

/* --- the line ----------------------------------------------------------------------------------------------- */

static const char *clang_path(void)
{
    const char *asked = getenv("JOULEC_CLANG");
    return asked && *asked ? asked : JOULEC_CLANG;
}

int arguments_become_clang(const char **words)
{
    struct folded_words folded;
    execvp(words[0], (char **)words);
    if (errno == E2BIG && response_fold(words, &folded) >= 0)
        execvp(words[0], (char **)folded.words);
    complain("", "cannot run %s: %s; JOULEC_CLANG names another", words[0], strerror(errno));
    return EXIT_USAGE;
}

/* The very pointer. */
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
        else if (argument_takes_a_word(word))
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

/* False after a message. */
static bool read_page_words(const struct arguments *a)
{
    if (a->page == PAGE_NONE)
        return true;
    if (a->database)
        complain("", "--emit and --lift are about C files that are named, not about a database");
    else if (!a->source_count)
        complain("", "--emit and --lift need a C file");
    else if (a->source_count > 1 && a->page != PAGE_LIFT)
        complain("", "--emit prints one C file, not %zu", a->source_count);
    else
        return true;
    return false;
}

/* -j is nobody's but the database's: clang has no such option. */
static bool take_jobs(struct arguments *a)
{
    size_t kept = 1;
    for (size_t i = 1; i < a->clang_count; i++) {
        const char *word = a->clang[i];
        if (!string_starts(word, "-j")) {
            a->clang[kept++] = word;
            continue;
        }
        uint64_t jobs;
        const char *number = word[2] ? word + 2 : i + 1 < a->clang_count ? a->clang[++i] : "";
        if (!string_to_u64(number, 10, &jobs) || jobs < 1 || jobs > MOST_JOBS) {
            complain("", "-j is a number from 1 to %d, not '%s'", MOST_JOBS, number);
            return false;
        }
        a->jobs = (unsigned)jobs;
    }
    a->clang_count = kept;
    a->clang[kept] = NULL;
    return true;
}

/* False after a message. */
static bool read_database_words(struct arguments *a)
{
    if (!a->database) {
        if (a->only)
            complain("", "--energy-only is about a database: --energy-database FILE names it");
        return !a->only;
    }
    if (a->source_count) {
        complain("", "%s: name a database or files, not both; --energy-only=%s takes one out of it",
                 a->sources[0], a->sources[0]);
        return false;
    }
    return take_jobs(a);
}

/* Nothing but a check reads a profile. */
static bool profile_has_use(const struct arguments *a)
{
    bool is_read = a->checks || a->page != PAGE_NONE;
    if (a->profile && !is_read)
        complain("",
                 "--profile-use is for a check: add --energy-check, or --energy-report FILE; to build with a "
                 "profile is -fprofile-instr-use=FILE");
    return !a->profile || is_read;
}

/* Of what is written, each thing needs a file of its own, which is none of those that are read. */
static bool are_apart(struct arena *arena, const struct arguments *a)
{
    const char *output = arguments_value(a, "-o"), *page = a->page == PAGE_NONE ? NULL
                                                           : output             ? output
                                                                                : "-";
    const char *const written[] = {a->report, a->sarif, a->gitlab, a->html, page};
    size_t count = sizeof written / sizeof *written, streams = 0, inputs = 0;
    const char **paths = arena_alloc(arena, (a->input_count + 1 + count) * sizeof *paths);
    joule_error error;
    if (!paths)
        return false;
    for (size_t i = 0; i < count; i++)
        streams += written[i] && strcmp(written[i], "-") == 0;
    if (streams > 1) {
        complain("", "only one report can go to standard output: name a file for each other");
        return false;
    }
    paths[inputs++] = a->database;
    for (size_t i = 0; i < a->input_count; i++)
        if (strcmp(a->inputs[i], "-") != 0)
            paths[inputs++] = a->inputs[i];
    memcpy(paths + inputs, written, sizeof written);
    if (output_check_apart(paths, inputs, inputs + count, &error) == JOULE_OK)
        return true;
    complain("", "%s", error.message);
    return false;
}

/* GNU's long forms; NULL: it is none. `out_value`: what stands behind its '='; NULL: nothing does. */
static const char *short_form(const char *word, const char **out_value)
{
    static const struct {
        const char *name, *option;
    } forms[] = {
        {"--output", "-o"},
        {"--compile", "-c"},
        {"--assemble", "-S"},
        {"--preprocess", "-E"},
        {"--dependencies", "-M"},
        {"--user-dependencies", "-MM"},
        {"--write-dependencies", "-MD"},
        {"--write-user-dependencies", "-MMD"},
        {"--language", "-x"},
        {"--include", "-include"},
        {"--include-directory", "-I"},
        {"--library-directory", "-L"},
        {"--define-macro", "-D"},
        {"--undefine-macro", "-U"},
        {"--static", "-static"},
    };
    size_t length = strcspn(word, "=");
    *out_value = word[length] ? word + length + 1 : NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, word, length) == 0)
            return argument_takes_a_word(forms[i].option) || !*out_value ? forms[i].option : NULL;
    return NULL;
}

/* The words with long forms made short, so that one spelling is all that is known behind this. NULL: no memory. */
static const char **with_short_forms(struct arena *arena, const char **said, size_t *count)
{
    const char **words = arena_alloc(arena, (2 * *count + 1) * sizeof *words);
    size_t kept = 0;
    bool is_file = false; /* all behind "--" are */
    for (; *said && words; said++) {
        const char *value, *option = is_file ? NULL : short_form(*said, &value);
        is_file = is_file || strcmp(*said, "--") == 0;
        words[kept++] = option ? option : *said;
        if (option && value)
            words[kept++] = value;
        else if (!is_file && argument_takes_a_word(words[kept - 1]) && said[1])
            words[kept++] = *++said;
    }
    *count = kept;
    return words;
}

/* What clang does of itself with `-Xclang WORD` instead of compiling. */
static bool is_other_action(const char *word)
{
    static const char *const words[] = {
        "-E",           "-S",           "-fsyntax-only",    "-analyze", "-plugin", "-emit-pch",
        "-emit-module", "-dump-tokens", "-dump-raw-tokens", "-fixit",   NULL};
    return (string_starts(word, "-ast-") && !strstr(word, "-filter")) || string_is_one_of(word, words);
}

/* How far clang goes. */
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

/* clang precompiles it, and links nothing. */
static bool is_header(const char *word, const char *language)
{
    static const char *const endings[] = {".h", ".hh", ".hpp", ".hxx", ".H", ".hp", ".h++", NULL};
    const char *dot = strrchr(word, '.');
    return language ? string_ends(language, "-header") : dot && string_is_one_of(dot, endings);
}

/* `language`: what -x said before it; NULL: nothing. */
static void take_input(struct arguments *out, const char *word, const char *language)
{
    out->clang[out->clang_count++] = word;
    out->inputs[out->input_count++] = word;
    out->links = out->links && !is_header(word, language);
    if (!is_c(word, language))
        return;
    out->languages[out->source_count] = language;
    out->sources[out->source_count++] = word;
}

/* Behind "--", where all are files. False: no memory. */
static bool take_files(struct arena *arena, struct arguments *out, const char **words, const char *language)
{
    for (; *words; words++) {
        const char *word = *words;
        if (word[0] == '-' && word[1]) { /* as it stands before the options that are added behind it */
            char *path = arena_alloc(arena, strlen(word) + sizeof "./");
            if (!path)
                return false;
            word = strcat(strcpy(path, "./"), word);
        }
        take_input(out, word, language);
    }
    return true;
}

/* One of clang's, and what follows it: so many words. */
static size_t take_clangs(struct arguments *out, const char *word, const char *next, const char **language)
{
    if (word[0] != '-' || !word[1]) {
        take_input(out, word, *language);
        return 1;
    }
    bool is_pair = argument_takes_a_word(word) && next;
    const char *said = argument_language(word, next);
    if (said)
        *language = strcmp(said, "none") == 0 ? NULL : said;
    take_stage(out, word, is_pair ? next : "");
    out->clang[out->clang_count++] = word;
    if (is_pair)
        out->clang[out->clang_count++] = next;
    return is_pair ? 2 : 1;
}

/* False after a message. */
static bool read_words(struct arena *arena, const char **words, struct arguments *out)
{
    const char *language = NULL;
    while (*words && strcmp(*words, "--") != 0) {
        int taken = take_own(out, *words, words[1]);
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
    words = with_short_forms(arena, words, &count);
    *out = (struct arguments){.is_plain = true,
                              .runs = true,
                              .compiles = true,
                              .links = true,
                              .default_trips = NAN,
                              .warmer_kelvin = NAN,
                              .file_joules = NAN,
                              .clang = arena_alloc(arena, (count + 2) * sizeof *out->clang),
                              .inputs = arena_alloc(arena, (count + 1) * sizeof *out->inputs),
                              .sources = arena_alloc(arena, (count + 1) * sizeof *out->sources),
                              .languages = arena_alloc(arena, (count + 1) * sizeof *out->languages)};
    if (!words || arena->is_short) {
        complain("", "no memory for so many words");
        return false;
    }
    out->clang[out->clang_count++] = clang_path();
    if (!read_words(arena, words, out))
        return false;
    out->links = out->links && out->input_count && !out->is_for_clang;
    out->compiles = out->compiles && !out->is_for_clang;
    return profile_has_use(out) && are_apart(arena, out) && read_page_words(out) && read_database_words(out);
}
