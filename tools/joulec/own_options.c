/* tools/joulec/own_options.c - see arguments.h. */
#include "arguments.h"

#include <joule/quantity.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "common/options.h"

#define MAX_KELVIN 100

/* Returns true if `value` is NULL, because this option takes no value. Otherwise prints a message that ends
 * with `hint` (may be ""), and returns false. */
static bool take_nothing(const char *name, const char *value, const char *hint)
{
    if (value)
        complain("", "%s takes no value%s", name, hint);
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
        complain("", "%s needs a file, but '%s' looks like an option\nhint: ./%s is a file of this name",
                 name, value, value);
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
    complain("", "--energy-only needs a part of a file name, such as src/codec/");
    return false;
}

static bool take_baseline(struct arguments *out, const char *value)
{
    out->baseline = value;
    if (value && *value && strcmp(value, "-") != 0)
        return true;
    complain("", "--energy-baseline needs a file that --energy-report wrote, such as base.json");
    return false;
}

/* Reads a percentage. The text must end in '%', so that 5 is not taken for a factor. */
static bool take_fail_over(struct arguments *out, const char *value)
{
    char number[32];
    double percent;
    size_t length = value ? strlen(value) : 0;
    if (length && value[length - 1] == '%' && string_copy(number, sizeof number, value)) {
        number[length - 1] = '\0';
        if (string_to_double(number, &percent) && percent >= 0) {
            out->fail_over = percent / 100;
            return true;
        }
    }
    complain("", "--energy-fail-over must be a percentage of at least 0%%, such as 5%%, not '%s'",
             value ? value : "");
    return false;
}

static bool take_policy(struct arguments *out, const char *value)
{
    out->is_strict = value && strcmp(value, "strict") == 0;
    if (out->is_strict || (value && strcmp(value, "default") == 0))
        return true;
    complain("", "--energy-policy must be 'default' or 'strict', not '%s'", value ? value : "");
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
        complain("", "--energy-annotations must be 'github' or 'gitlab:FILE', not '%s'", value ? value : "");
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
    complain("", "--emit must be 'c', 'ir' or 'eir', not '%s'", value ? value : "");
    return false;
}

static bool take_lift(struct arguments *out, const char *value)
{
    out->page = PAGE_LIFT;
    if (value && strcmp(value, "c") == 0)
        return true;
    complain("", "--lift must be 'c', not '%s': joulec supports no other language", value ? value : "");
    return false;
}

static bool take_loops(struct arguments *out, const char *value)
{
    if (value && string_to_double(value, &out->default_trips) && out->default_trips >= 1)
        return true;
    complain("", "--energy-loop-default must be a number of at least 1, not '%s'", value ? value : "");
    return false;
}

static bool take_run(struct arguments *out, const char *value)
{
    out->runs = value && strcmp(value, "yes") == 0;
    if (out->runs || (value && strcmp(value, "no") == 0))
        return true;
    complain("", "--energy-run must be 'yes' or 'no', not '%s'", value ? value : "");
    return false;
}

static bool take_budget(struct arguments *out, const char *value)
{
    joule_error error;
    if (!value || joule_parse(value, JOULE_DIMENSION_ENERGY, &out->file_joules, &error) != JOULE_OK) {
        complain("", "--energy-budget must be an energy, such as 100nJ: %s",
                 value ? error.message : "it has no value");
        return false;
    }
    if (strchr("0123456789.", value[strlen(value) - 1])) {
        complain("", "--energy-budget needs a unit (J, mJ, uJ, nJ, pJ or Wh), such as %snJ", value);
        return false;
    }
    if (out->file_joules > 0)
        return true;
    complain("", "--energy-budget must be above 0, not '%s'", value);
    return false;
}

/* Reads the temperature of the chip, relative to 60 C. The price tables of CPU families are valid at 60 C,
 * which is assumed to be the temperature of a server under load. */
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
        if (string_to_double(number, &out->warmer_kelvin) && fabs(out->warmer_kelvin) <= MAX_KELVIN)
            return true;
    }
    complain("",
             "--thermal-state must be cool, nominal, warm, hot, or a difference from nominal such as +20K "
             "(at most %d K), not '%s'",
             MAX_KELVIN, value ? value : "");
    return false;
}

static bool take_profile_generate(struct arguments *out, const char *value)
{
    out->clang[out->clang_count++] = "-fprofile-instr-generate";
    return take_nothing("--profile-generate", value,
                        "\nhint: set LLVM_PROFILE_FILE=FILE when the program runs");
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
    /* Reads the value of the option; NULL: none was given. Returns false after a message. */
    bool (*take)(struct arguments *out, const char *value);
    bool takes_next; /* the value may also be the next argument; false if the value is optional */
    bool checks;     /* the option requests a check */
} owns[] = {
    {"--energy-check", take_check, false, true},
    {"--energy-report", take_report, true, true},
    {"--energy-sarif", take_sarif, true, true},
    {"--energy-html", take_html, true, true},
    {"--energy-database", take_database, true, true},
    {"--energy-only", take_only, true, false},
    {"--energy-baseline", take_baseline, true, true},
    {"--energy-fail-over", take_fail_over, true, false},
    {"--energy-annotations", take_annotations, true, true},
    {"--energy-policy", take_policy, true, true},
    {"--energy-loop-default", take_loops, true, false},
    {"--emit", take_emit, true, false},
    {"--lift", take_lift, true, true},
    {"--energy-run", take_run, true, false},
    {"--energy-budget", take_budget, true, true},
    {"--thermal-state", take_thermal_state, true, false},
    {"--energy-advice", take_advice, false, true},
    {"--profile-generate", take_profile_generate, false, false},
    {"--profile-use", take_profile_use, false, false},
};

int own_options_parse(struct arguments *out, const char *word, const char *next)
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
    complain("", "unknown option %s; see joulec --energy-help", word);
    return -1;
}
