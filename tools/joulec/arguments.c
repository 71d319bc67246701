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

#define DEFAULT_TRIPS 100
#define MOST_KELVIN   100

bool argument_is_source(const char *word)
{
    return word[0] != '-' && (string_ends(word, ".c") || string_ends(word, ".i"));
}

/* Options of clang whose value is the next word. */
bool argument_takes_a_word(const char *word)
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
                                          "-mllvm",
                                          NULL};
    return string_is_one_of(word, options);
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
    if (value && *value)
        return true;
    complain("", "%s needs a file, or '-' for standard output", name);
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
    execvp(words[0], (char **)words);
    complain("", "cannot run %s: %s; JOULEC_CLANG names another", words[0], strerror(errno));
    return EXIT_USAGE;
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

/* Of what is written, each thing needs a file of its own. */
static bool are_apart(const struct arguments *a)
{
    const char *output = arguments_value(a, "-o"), *page = a->page == PAGE_NONE ? NULL
                                                           : output             ? output
                                                                                : "-";
    const char *const paths[] = {a->database, a->report, a->sarif, a->gitlab, a->html, page};
    size_t count = sizeof paths / sizeof *paths, streams = 0;
    joule_error error;
    for (size_t i = 1; i < count; i++)
        streams += paths[i] && strcmp(paths[i], "-") == 0;
    if (streams > 1) {
        complain("", "only one report can go to standard output: name a file for each other");
        return false;
    }
    if (output_check_apart(paths, 1, count, &error) == JOULE_OK)
        return true;
    complain("", "%s", error.message);
    return false;
}

/* How far clang goes. */
static void take_stage(struct arguments *out, const char *word)
{
    static const char *const stops[] = {"-E", "-M", "-MM", "-fsyntax-only", "--analyze", "-###", NULL};
    static const char *const objects[] = {"-c", "-S", "-r", "-nostdlib", "-nodefaultlibs", "-ffreestanding",
                                          NULL};
    if (string_is_one_of(word, stops))
        out->compiles = out->links = false;
    else if (string_is_one_of(word, objects))
        out->links = false;
}

bool arguments_read(struct arena *arena, int argc, char **argv, struct arguments *out)
{
    size_t inputs = 0;
    *out = (struct arguments){.runs = true,
                              .compiles = true,
                              .links = true,
                              .default_trips = DEFAULT_TRIPS,
                              .warmer_kelvin = NAN,
                              .file_joules = NAN,
                              .clang = arena_alloc(arena, ((size_t)argc + 2) * sizeof *out->clang),
                              .sources = arena_alloc(arena, ((size_t)argc + 1) * sizeof *out->sources)};
    if (!out->clang || !out->sources)
        return false;
    out->clang[out->clang_count++] = clang_path();
    for (char **word = argv + 1; *word; word++) {
        int taken = take_own(out, *word, word[1]);
        if (taken < 0)
            return false;
        if (taken) {
            word += taken - 1;
            continue;
        }
        out->clang[out->clang_count++] = *word;
        take_stage(out, *word);
        inputs += word[0][0] != '-';
        if (argument_is_source(*word))
            out->sources[out->source_count++] = *word;
        if (argument_takes_a_word(*word) && word[1])
            out->clang[out->clang_count++] = *++word;
    }
    out->links = out->links && inputs;
    return profile_has_use(out) && are_apart(out) && read_page_words(out) && read_database_words(out);
}
