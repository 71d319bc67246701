/* tools/joulec/check/stored_report.c - see stored_report.h. */
#include "stored_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "common/options.h"
#include "joulec/source/whole_file.h"

static void complain_with_hint(const struct arguments *a, const char *message)
{
    if (a->database)
        complain("",
                 "%s\nhint: write it on this machine, for the version to compare with: joulec "
                 "--energy-database %s --energy-report %s",
                 message, a->database, a->baseline);
    else
        complain("",
                 "%s\nhint: write it on this machine, for the version to compare with: joulec OPTIONS "
                 "--energy-report %s -c FILE...",
                 message, a->baseline);
}

static bool is_comparable(const struct arguments *a, const struct machine *machine,
                          const struct baseline *baseline, joule_error *out_error)
{
    static const struct profile any_profile;
    struct analysis_options options = {.default_trips = a->default_trips,
                                       .warmer_kelvin = a->warmer_kelvin,
                                       .profile = a->counts ? &any_profile : NULL};
    return baseline_check(baseline, &machine->target, &options, out_error) == JOULE_OK;
}

bool stored_report_open(const struct arguments *arguments, const struct machine *machine,
                        struct stored_report *out_report)
{
    size_t size;
    joule_error error;
    *out_report = (struct stored_report){.text = whole_file(arguments->baseline, &size)};
    bool is_good = out_report->text;
    if (!is_good)
        error_set(&error, JOULE_ABSENT, "cannot read %s: %s", arguments->baseline, strerror(errno));
    else
        is_good = baseline_read(out_report->text, size, arguments->baseline, &out_report->baseline, &error) ==
                      JOULE_OK &&
                  is_comparable(arguments, machine, &out_report->baseline, &error);
    if (!is_good)
        complain_with_hint(arguments, error.message);
    out_report->baseline.fail_over = arguments->fail_over;
    return is_good;
}

void stored_report_close(struct stored_report *report)
{
    baseline_free(&report->baseline);
    free(report->text);
}

/* Returns true if -fWORD or -fno-WORD concerns messages and files, not code. */
static bool is_about_files(const char *word)
{
    static const char *const begins[] = {"diagnostics", "color",    "debug",  "macro-prefix", "file-prefix",
                                         "profile",     "coverage", "time",   "error",        "show",
                                         "caret",       "ansi",     "syntax", "temp-file",    "save",
                                         "crash",       "record",   "message"};
    const char *name = word + strlen("-f");
    name += string_starts(name, "no-") ? strlen("no-") : 0;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (string_starts(name, begins[i]))
            return true;
    return false;
}

static bool decides_code(const char *word)
{
    static const char *const begins[] = {"-O", "-m", "-std=", "--target=", "-target"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (string_starts(word, begins[i]))
            return true;
    return string_starts(word, "-f") && !is_about_files(word);
}

const char *stored_report_build(struct arena *arena, const struct arguments *arguments)
{
    size_t size = 1;
    for (size_t i = 1; i < arguments->clang_count; i++)
        size += strlen(arguments->clang[i]) + 1;
    char *words = arena_alloc(arena, size);
    struct text text;
    text_init(&text, words, words ? size : 0);
    for (size_t i = 1; words && i < arguments->clang_count; i++)
        if (decides_code(arguments->clang[i]))
            text_printf(&text, "%s%s", text.length ? " " : "", arguments->clang[i]);
    return words;
}
