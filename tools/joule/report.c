/* tools/joule/report.c - `joule report FILE`: the findings of a record, printed again in any form.
 *
 * Owns nothing but options and printing; the record room reads the file.
 * Newcomers: a record that was cut off is reported as far as it goes, with a warning, and exit status 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"
#include "joule/record.h"
#include "options.h"
#include "page.h"

static const struct command_text text = {
    .usage = "joule report [OPTIONS] FILE",
    .summary = "Prints what `joule record` kept in FILE.",
    .notes = "Exit status: 0; 1 FILE cannot be read as a record; 2 wrong usage.\n",
};

static void print_words(const struct report *report, struct text *out)
{
    report_text(report, page_has_colour(STDOUT_FILENO), out);
}

static int print_record(struct record *record, const char *path, const char *json, const char *csv)
{
    struct report report;
    if (!record->is_whole)
        complain("report", "%s was cut off: this is what it tells up to its last whole block", path);
    if (record_report(record, &report) != JOULE_OK) {
        complain("report", "no memory for the report of %s", path);
        report_free(&report);
        return 1;
    }
    bool good = true;
    if (json)
        good = page_report("report", &report, json, page_json_line) && good;
    if (csv)
        good = page_report("report", &report, csv, report_csv) && good;
    if (!json && !csv)
        good = page_report("report", &report, "-", print_words);
    report_free(&report);
    return good ? 0 : 1;
}

int report_main(int argc, char **argv)
{
    const char *json = NULL, *csv = NULL;
    const struct option table[] = {
        {"json", 0, OPTION_TEXT, &json, "FILE",
         "write the report as one line of JSON ('-': standard output)"},
        {"csv", 0, OPTION_TEXT, &csv, "FILE", "write it as a table ('-': standard output)"},
        {0},
    };
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (argc - first != 1) {
        complain("report", "one FILE is needed; usage: %s", text.usage);
        return EXIT_USAGE;
    }
    struct record record;
    joule_error error = {0};
    if (record_read(argv[first], &record, &error) != JOULE_OK) {
        complain("report", "%s%s%s", strstr(error.message, argv[first]) ? "" : argv[first],
                 strstr(error.message, argv[first]) ? "" : ": ", error.message);
        record_free(&record);
        return 1;
    }
    int code = print_record(&record, argv[first], json, csv);
    record_free(&record);
    return code;
}
