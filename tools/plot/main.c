/* tools/plot/main.c - the program joule-plot, which `joule plot` starts: pictures of records.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "terminal_plot.h"
#include "joule/picture/skyline_phases.h"
#include "plot/perfetto.h"
#include "plot/picture_file.h"
#include "plot/skyline_page.h"

#define PLOT        "plot"
#define MAX_RECORDS 2
#define COLUMNS     812 /* of a picture: one for each pixel of the frame */

const char tool_name[] = "joule";

static const struct command_text text = {
    .usage = "joule plot [OPTIONS] FILE [FILE]",
    .summary =
        "Draws the power over time of a record that `joule record` wrote to FILE ('-': standard input).",
    .notes =
        "Without -o, the power is shown in the terminal. Two records are drawn one above the other, with\n"
        "common axes.\n\n"
        "Exit status: 0; 1: a record cannot be read, or FILE cannot be written; 2: wrong usage.\n",
};

struct settings {
    const char *output, *perfetto, *by, *title, *from, *to;
    bool finds_phases;
    struct skyline_part part;
};

/* The data of one picture part. */
struct panel {
    struct record record;
    struct skyline skyline;
    struct skyline_view view;
    const char **names;
    struct arena arena; /* of the phases */
};

static bool read_record(const char *path, struct record *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    joule_error error = {0};
    joule_status status =
        is_stdin ? record_read_fd(STDIN_FILENO, name, out, &error) : record_read(path, out, &error);
    if (status != JOULE_OK) {
        bool has_name = strstr(error.message, name) != NULL;
        complain(PLOT, "%s%s%s", has_name ? "" : name, has_name ? "" : ": ", error.message);
        return false;
    }
    if (!out->is_whole)
        complain(PLOT, "%s is incomplete; the picture ends at its last complete block", name);
    return true;
}

/* Returns the default of --by: regions, if a record has some. */
static enum skyline_by choose_by(const struct settings *settings, const struct record *record)
{
    if (settings->by)
        return strcmp(settings->by, "device") == 0 ? SKYLINE_BY_DEVICE : SKYLINE_BY_REGION;
    return record->region_count ? SKYLINE_BY_REGION : SKYLINE_BY_DEVICE;
}

/* Sets the texts of a panel, and its phases if they are wanted. Returns false after a message. */
static bool make_view(const struct settings *settings, struct panel *panel)
{
    joule_error error;
    struct skyline_phase *phases = NULL;
    panel->names = malloc((panel->record.name_count + 1) * sizeof *panel->names);
    if (!panel->names) {
        complain(PLOT, "cannot draw the power: out of memory");
        return false;
    }
    panel->view = skyline_view_of_record(&panel->record, panel->names);
    if (settings->title)
        panel->view.title = settings->title;
    if (settings->finds_phases && skyline_find_phases(&panel->record, &settings->part, &panel->arena, &phases,
                                                      &panel->view.phase_count, &error) != JOULE_OK) {
        complain(PLOT, "%s", error.message);
        return false;
    }
    panel->view.phases = phases;
    return true;
}

static bool make_panel(const struct settings *settings, struct panel *panel)
{
    joule_error error;
    struct skyline_part part = settings->part;
    part.columns = COLUMNS;
    part.by = choose_by(settings, &panel->record);
    if (!make_view(settings, panel))
        return false;
    if (skyline_of_record(&panel->record, &part, &panel->skyline, &error) == JOULE_OK)
        return true;
    complain(PLOT, "%s", error.message);
    return false;
}

static bool draw_picture(const struct settings *settings, struct panel *panels, size_t count)
{
    struct drawing drawing;
    joule_error error;
    joule_status status = count == 1 ? skyline_draw(&panels[0].skyline, &panels[0].view, &drawing)
                                     : skyline_draw_pair(&panels[0].skyline, &panels[0].view,
                                                         &panels[1].skyline, &panels[1].view, &drawing);
    if (status == JOULE_OK)
        status = picture_write(&drawing, settings->output, &error);
    else
        string_print(error.message, sizeof error.message, "cannot draw the power: out of memory");
    drawing_free(&drawing);
    if (status != JOULE_OK)
        complain(PLOT, "%s", error.message);
    return status == JOULE_OK;
}

/* Writes the interactive page of one record. */
static bool write_page(const struct settings *settings, struct panel *panel)
{
    joule_error error;
    struct skyline_part part = settings->part;
    part.by = choose_by(settings, &panel->record);
    if (!make_view(settings, panel))
        return false;
    if (skyline_page_write(&panel->record, &part, &panel->view, settings->output, &error) == JOULE_OK)
        return true;
    complain(PLOT, "%s", error.message);
    return false;
}

static bool write_picture(const struct settings *settings, struct panel *panels, size_t count)
{
    if (count == 1 && picture_format_of(settings->output) == PICTURE_HTML)
        return write_page(settings, panels);
    for (size_t i = 0; i < count; i++) {
        if (!make_panel(settings, &panels[i]))
            return false;
    }
    return draw_picture(settings, panels, count);
}

static bool show_in_terminal(const struct settings *settings, struct panel *panels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct skyline_part part = settings->part;
        part.by = choose_by(settings, &panels[i].record);
        if (!terminal_plot(PLOT, &panels[i].record, &part, settings->title, settings->finds_phases,
                           STDOUT_FILENO))
            return false;
    }
    return true;
}

static bool write_trace(const struct settings *settings, struct panel *panel)
{
    joule_error error;
    struct skyline_phase *phases = NULL;
    size_t count = 0;
    joule_status status = JOULE_OK;
    if (settings->finds_phases)
        status = skyline_find_phases(&panel->record, &settings->part, &panel->arena, &phases, &count, &error);
    if (status == JOULE_OK)
        status = perfetto_write(&panel->record, phases, count, settings->perfetto, &error);
    if (status != JOULE_OK)
        complain(PLOT, "%s", error.message);
    return status == JOULE_OK;
}

static bool plot(const struct settings *settings, const char *const *paths, size_t count)
{
    struct panel panels[MAX_RECORDS] = {0};
    bool succeeded = true;
    for (size_t i = 0; succeeded && i < count; i++)
        succeeded = read_record(paths[i], &panels[i].record);
    if (succeeded && settings->perfetto)
        succeeded = write_trace(settings, &panels[0]);
    if (succeeded && settings->output)
        succeeded = write_picture(settings, panels, count);
    else if (succeeded && !settings->perfetto)
        succeeded = show_in_terminal(settings, panels, count);
    for (size_t i = 0; i < count; i++) {
        skyline_free(&panels[i].skyline);
        free(panels[i].names);
        arena_free(&panels[i].arena);
        record_free(&panels[i].record);
    }
    return succeeded;
}

/* Parses a time option, which may be 0. Returns false after a message. */
static bool read_time(const char *name, const char *value, double *out_s)
{
    joule_error error;
    *out_s = NAN;
    if (!value || joule_parse(value, JOULE_DIMENSION_TIME, out_s, &error) == JOULE_OK)
        return true;
    complain(PLOT, "--%s: %s", name, error.message);
    return false;
}

/* Checks the options. paths: [MAX_RECORDS]. Returns false after a message. */
static bool check(struct settings *settings, const char *const *paths, size_t count)
{
    joule_error error;
    static const char *const ways[] = {"region", "device", NULL};
    if (!read_time("from", settings->from, &settings->part.from_s) ||
        !read_time("to", settings->to, &settings->part.to_s))
        return false;
    if (settings->by && !string_is_one_of(settings->by, ways)) {
        complain(PLOT, "--by needs region or device, not '%s'", settings->by);
        return false;
    }
    if (settings->perfetto && count > 1) {
        complain(PLOT, "--perfetto takes one record");
        return false;
    }
    const char *const files[] = {paths[0], paths[1], settings->output, settings->perfetto};
    if (output_check_apart(files, 2, sizeof files / sizeof *files, &error) == JOULE_OK &&
        (!settings->output || picture_check(settings->output, &error) == JOULE_OK) &&
        (!settings->perfetto || output_check(settings->perfetto, &error) == JOULE_OK))
        return true;
    complain(PLOT, "%s", error.message);
    return false;
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &settings.output, "FILE",
         "write a picture; FILE ends with .svg, .png or .html"},
        {"by", 0, OPTION_TEXT, &settings.by, "WHAT",
         "colour the power by 'region' (default if the record has regions) or by 'device'"},
        {"from", 0, OPTION_TEXT, &settings.from, "TIME", "begin at this time of the record"},
        {"to", 0, OPTION_TEXT, &settings.to, "TIME", "end at this time of the record"},
        {"title", 0, OPTION_TEXT, &settings.title, "TEXT", "use this title instead of the command"},
        {"phases", 0, OPTION_FLAG, &settings.finds_phases, NULL,
         "guess phases from changes of the power, for programs without regions"},
        {"perfetto", 0, OPTION_TEXT, &settings.perfetto, "FILE",
         "write a trace for ui.perfetto.dev: power as counters, regions as slices"},
        {0},
    };
    static char name[] = PLOT;
    argv[0] = name; /* name in messages */
    output_guard_streams();
    const char *paths[MAX_RECORDS] = {NULL};
    const struct program_operand operands[MAX_RECORDS] = {{"FILE", &paths[0], false},
                                                          {"FILE", &paths[1], true}};
    int ready = options_read_operands(table, &text, operands, MAX_RECORDS, argc, argv);
    if (ready != 1)
        return output_end(PLOT, ready == OPTIONS_HELP ? 0 : EXIT_USAGE);
    size_t count = paths[1] ? 2 : 1;
    if (!check(&settings, paths, count))
        return EXIT_USAGE;
    return output_end(PLOT, plot(&settings, paths, count) ? 0 : 1);
}
