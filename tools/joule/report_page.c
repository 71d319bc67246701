/* tools/joule/report_page.c - see report_page.h. */
#include "report_page.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"

#define PAGE_WIDTH 100
#define MIN_WIDTH  60 /* minimum columns; a narrower terminal wraps the lines */

bool page_has_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

size_t page_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
        size.ws_col > PAGE_WIDTH)
        return PAGE_WIDTH;
    return size.ws_col < MIN_WIDTH ? MIN_WIDTH : size.ws_col;
}

/* --- reports -------------------------------------------------------------------------------------------- */

struct report_page {
    const struct report *report;
    page_report_fn print;
};

static void print_report(const void *context, struct text *out)
{
    const struct report_page *page = context;
    page->print(page->report, out);
}

bool page_report(const char *subcommand, const struct report *report, const char *path, page_report_fn print)
{
    size_t length;
    joule_error error;
    char *page = page_make(subcommand, print_report, &(struct report_page){report, print}, &length);
    if (!page)
        return false;
    bool done = path ? output_write(path, page, length, &error) == JOULE_OK
                     : file_write_all(STDERR_FILENO, page, length);
    free(page);
    if (!done && path)
        complain(subcommand, "%s", error.message);
    return done;
}

void page_json_line(const struct report *report, struct text *out)
{
    report_json(report, out);
    text_add(out, "\n");
}
