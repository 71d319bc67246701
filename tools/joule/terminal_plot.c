/* tools/joule/terminal_plot.c - see terminal_plot.h. */
#include "terminal_plot.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "joule/picture/skyline_phases.h"
#include "report_page.h"

#define MIN_WIDTH     40
#define MAX_WIDTH     200
#define DEFAULT_WIDTH 100

static size_t terminal_width(int fd)
{
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return DEFAULT_WIDTH;
    return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col > MAX_WIDTH ? MAX_WIDTH : size.ws_col;
}

/* Returns true if the user's locale has UTF-8. Does not change the program's locale. */
static bool has_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return false;
    bool is_utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return is_utf8;
}

struct plot {
    const struct skyline *skyline;
    const struct skyline_view *view;
    const struct skyline_terminal *terminal;
};

static void print_plot(const void *context, struct text *out)
{
    const struct plot *plot = context;
    skyline_print(plot->skyline, plot->view, plot->terminal, out);
}

static bool print(const char *subcommand, const struct plot *plot, int fd)
{
    size_t length;
    char *page = page_make(subcommand, print_plot, plot, &length);
    if (!page)
        return false;
    bool is_written = true;
    if (fd == STDOUT_FILENO)
        output_print(page, length);
    else
        is_written = file_write_all(fd, page, length);
    free(page);
    return is_written;
}

bool terminal_plot(const char *subcommand, const struct record *record, const struct skyline_part *part,
                   const char *title, bool finds_phases, int fd)
{
    struct skyline_terminal terminal = {
        .width = terminal_width(fd), .is_unicode = has_utf8(), .has_colour = page_has_colour(fd)};
    struct skyline_part shown = *part;
    shown.columns = skyline_terminal_columns(terminal.width);
    const char **names = malloc((record->name_count + 1) * sizeof *names);
    if (!names) {
        complain(subcommand, "cannot draw the power: out of memory");
        return false;
    }
    struct skyline skyline;
    joule_error error;
    struct skyline_view view = skyline_view_of_record(record, names);
    view.title = title ? title : view.title;
    struct arena arena = {0};
    struct skyline_phase *phases = NULL;
    bool succeeded = skyline_of_record(record, &shown, &skyline, &error) == JOULE_OK;
    if (succeeded && finds_phases)
        succeeded = skyline_find_phases(record, part, &arena, &phases, &view.phase_count, &error) == JOULE_OK;
    view.phases = phases;
    if (succeeded)
        succeeded = print(subcommand, &(struct plot){&skyline, &view, &terminal}, fd);
    else
        complain(subcommand, "%s", error.message);
    skyline_free(&skyline);
    arena_free(&arena);
    free(names);
    return succeeded;
}

bool terminal_plot_whole(const char *subcommand, const struct record *record, int fd)
{
    enum skyline_by by = record->region_count ? SKYLINE_BY_REGION : SKYLINE_BY_DEVICE;
    struct skyline_part whole = {.from_s = NAN, .to_s = NAN, .by = by};
    return terminal_plot(subcommand, record, &whole, NULL, false, fd);
}
