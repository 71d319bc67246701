/* tools/joule/joule_report.c - `joule report FILE`: prints the report of a record in any format.
 *
 * Note: an incomplete record is reported as far as it can be read, with a warning, and exit status 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "joule_commands.h"
#include "joule/record/record.h"
#include "common/options.h"
#include "common/output.h"
#include "report_page.h"
#include "samples.h"
#include "terminal_plot.h"

static const struct command_text text = {
    .usage = "joule report [OPTIONS] FILE",
    .summary = "Prints the report of a record that `joule record` wrote to FILE ('-': standard input).",
    .notes = "The columns of --samples are: seconds since the measurement began, time of day, domain, unit,\n"
             "value and class. Units are J since the domain's first sample, degC, Hz, or 1 for a ratio.\n\n"
             "Exit status: 0; 1: FILE is not a readable record; 2: wrong usage.\n",
};

static void print_text(const struct report *report, struct text *out)
{
    report_text(report, page_has_colour(STDOUT_FILENO), out);
}

/* Output paths of each format; NULL: not requested. */
struct outputs {
    const char *json, *csv, *samples;
    bool plot;
};

static bool print_report(struct record *record, const char *name, const struct outputs *outputs)
{
    struct report report;
    bool succeeded = true;
    if (record_report(record, &report) != JOULE_OK) {
        complain("report", "cannot report %s: out of memory", name);
        report_free(&report);
        return false;
    }
    if (outputs->json)
        succeeded = page_report("report", &report, outputs->json, page_json_line);
    if (outputs->csv)
        succeeded = page_report("report", &report, outputs->csv, report_csv) && succeeded;
    if (!outputs->json && !outputs->csv)
        succeeded = page_report("report", &report, "-", print_text);
    report_free(&report);
    return succeeded;
}

static bool print_samples(const struct record *record, const char *path)
{
    joule_error error;
    if (samples_write(record, path, &error) == JOULE_OK)
        return true;
    complain("report", "%s", error.message);
    return false;
}

static bool print_record(struct record *record, const char *name, const struct outputs *outputs)
{
    if (!record->is_whole)
        complain("report", "%s is incomplete; the report ends at its last complete block", name);
    bool succeeded = !outputs->samples || print_samples(record, outputs->samples);
    if (outputs->json || outputs->csv || !outputs->samples)
        succeeded = print_report(record, name, outputs) && succeeded;
    if (outputs->plot)
        succeeded = terminal_plot_whole("report", record, STDERR_FILENO) && succeeded;
    return succeeded;
}

static int report_file(const char *path, const struct outputs *outputs)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    struct record record;
    joule_error error = {0};
    joule_status status =
        is_stdin ? record_read_fd(STDIN_FILENO, name, &record, &error) : record_read(path, &record, &error);
    bool has_name = strstr(error.message, name) != NULL;
    if (status != JOULE_OK)
        complain("report", "%s%s%s", has_name ? "" : name, has_name ? "" : ": ", error.message);
    bool succeeded = status == JOULE_OK && print_record(&record, name, outputs);
    record_free(&record);
    return succeeded ? 0 : 1;
}

int report_main(int argc, char **argv)
{
    struct outputs outputs = {0};
    const struct option table[] = {
        {"json", 0, OPTION_TEXT, &outputs.json, "FILE",
         "write the report as one line of JSON ('-': standard output)"},
        {"csv", 0, OPTION_TEXT, &outputs.csv, "FILE", "write the report as a table ('-': standard output)"},
        {"samples", 0, OPTION_TEXT, &outputs.samples, "FILE",
         "write every sample as a table in order of time"},
        {"plot", 0, OPTION_FLAG, &outputs.plot, NULL, "show the power over time on standard error"},
        {0},
    };
    const char *path;
    int ready = options_read_operand(table, &text, "FILE", argc, argv, &path);
    if (ready != 1)
        return ready == OPTIONS_HELP ? 0 : EXIT_USAGE;
    const char *const paths[] = {path, outputs.json, outputs.csv, outputs.samples};
    joule_error error;
    if (output_check_apart(paths, 1, sizeof paths / sizeof paths[0], &error) != JOULE_OK) {
        complain("report", "%s", error.message);
        return EXIT_USAGE;
    }
    return report_file(path, &outputs);
}
