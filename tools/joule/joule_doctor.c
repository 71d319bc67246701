/* tools/joule/joule_doctor.c - `joule doctor`: prints the findings of joule/doctor/doctor.h, with the
 * commands to type.
 *
 * Note: the command changes nothing. Its exit status does not depend on the findings; the key "fine" of
 * --json does.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <joule/joule.h>
#include "base/json_writer.h"
#include "joule_commands.h"
#include "joule/doctor/doctor.h"
#include "joule/report/text_table.h"
#include "common/options.h"
#include "report_page.h"

#define SCHEMA      "joule-doctor-1"
#define WAIT_S      2.0
#define READINGS_NS 350000000
#define INDENT      "  "
#define BOLD        "\033[1m"
#define PLAIN       "\033[0m"

struct findings_page {
    struct diagnosis diagnosis;
    bool colour;
    size_t width; /* in characters */
};

static size_t count_of(const struct findings_page *page, enum finding_severity severity)
{
    size_t count = 0;
    for (size_t i = 0; i < page->diagnosis.count; i++)
        count += page->diagnosis.findings[i].severity == severity;
    return count;
}

static bool is_fine(const struct findings_page *page)
{
    return count_of(page, FINDING_ADVICE) == 0 && count_of(page, FINDING_LIMIT) == 0;
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void add_finding(const struct findings_page *page, const struct finding *finding, struct text *out)
{
    text_add(out, INDENT "- ");
    text_add_wrapped(out, finding->what, strlen(INDENT "- "), INDENT INDENT, page->width);
    text_add(out, "\n");
    if (*finding->why) {
        text_add(out, INDENT INDENT);
        text_add_wrapped(out, finding->why, strlen(INDENT INDENT), INDENT INDENT, page->width);
        text_add(out, "\n");
    }
    if (finding->command) /* the command is not wrapped, so that users can copy it */
        text_printf(out, INDENT INDENT INDENT "%s%s%s\n", page->colour ? BOLD : "", finding->command,
                    page->colour ? PLAIN : "");
}

static void add_all(const struct findings_page *page, enum finding_severity severity, const char *title,
                    struct text *out)
{
    if (count_of(page, severity) == 0)
        return;
    text_printf(out, "\n%s\n", title);
    for (size_t i = 0; i < page->diagnosis.count; i++)
        if (page->diagnosis.findings[i].severity == severity)
            add_finding(page, &page->diagnosis.findings[i], out);
}

static void print_text(const void *context, struct text *out)
{
    const struct findings_page *page = context;
    bool is_measured =
        page->diagnosis.cpu_class == JOULE_CLASS_MEASURED || page->diagnosis.cpu_class == JOULE_CLASS_DERIVED;
    text_add(out, page->colour ? BOLD : "");
    if (is_fine(page))
        text_add(out, "Everything is fine.");
    else if (page->diagnosis.no_counter_moves)
        text_add(out, "No energy counter changes, so none can be used.");
    else if (is_measured)
        text_add(out, "The energy of the CPU is measured; some measurements can be improved.");
    else
        text_add(out, "The energy of the CPU cannot be measured here at present; it is modelled.");
    text_add(out, page->colour ? PLAIN "\n" : "\n");
    add_all(page, FINDING_ADVICE, "To do:", out);
    add_all(page, FINDING_LIMIT, "No action needed:", out);
    add_all(page, FINDING_FACT, "Notes:", out);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void print_json(const void *context, struct text *out)
{
    const struct findings_page *page = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "joule_version", joule_version());
    json_bool(&json, "fine", is_fine(page));
    json_string(&json, "cpu_class", joule_class_name(page->diagnosis.cpu_class));
    json_open(&json, "findings", '[');
    for (size_t i = 0; i < page->diagnosis.count; i++) {
        const struct finding *finding = &page->diagnosis.findings[i];
        json_open(&json, NULL, '{');
        json_string(&json, "id", finding->id);
        json_string(&json, "severity", finding_severity_name(finding->severity));
        json_string(&json, "what", finding->what);
        json_text(&json, "why", finding->why);
        json_string(&json, "command", finding->command);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

/* --- the subcommand ------------------------------------------------------------------------------------- */

static int examine(const joule_options *options, bool as_json)
{
    joule_meter *meter;
    joule_error error;
    if (joule_open(options, &meter, &error) != JOULE_OK) {
        complain("doctor", "%s", error.message);
        return EXIT_OWN_FAILURE;
    }
    struct findings_page page = {.colour = page_has_colour(STDOUT_FILENO), .width = page_width()};
    nanosleep(&(struct timespec){.tv_nsec = READINGS_NS}, NULL);
    doctor_examine(meter->host, meter, options->root ? doctor_skip_trials() : doctor_run_trials(),
                   &page.diagnosis);
    int status = page_print("doctor", as_json ? print_json : print_text, &page);
    diagnosis_free(&page.diagnosis);
    joule_close(meter);
    return status;
}

int doctor_main(int argc, char **argv)
{
    bool as_json = false;
    joule_options options = {.struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION, .wait_s = WAIT_S};
    const struct option table[] = {{.name = "json",
                                    .kind = OPTION_FLAG,
                                    .value = &as_json,
                                    .help = "print one JSON object instead of text"},
                                   {.name = "root",
                                    .kind = OPTION_TEXT,
                                    .value = &options.root,
                                    .argument = "DIR",
                                    .help = "examine the machine recorded in DIR instead of this one"},
                                   {0}};
    const struct command_text text = {
        .usage = "joule doctor [--json] [--root DIR]",
        .summary = "Lists what would improve measurements on this machine, with the commands to type. "
                   "Changes nothing.",
    };
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc) {
        complain("doctor", "unexpected argument '%s'; see joule doctor --help", argv[first]);
        return EXIT_USAGE;
    }
    return examine(&options, as_json);
}
