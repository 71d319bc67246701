/* tools/joule/page.c - see page.h. */
#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "common/options.h"
#include "output.h"

#define PAGE_WIDTH  100
#define LEAST_WIDTH 60 /* narrower lines are the terminal's to break */

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
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

/* What `print` prints, for free(); NULL after a message. */
static char *make_page(const char *subcommand, void (*print)(const void *context, struct text *out),
                       const void *context, size_t *out_length)
{
    struct text text;
    text_init(&text, NULL, 0);
    print(context, &text);
    size_t size = text.length + 1;
    char *page = malloc(size);
    if (!page) {
        complain(subcommand, "no memory for %zu bytes of text", size);
        return NULL;
    }
    text_init(&text, page, size);
    print(context, &text);
    *out_length = text.length;
    return page;
}

int page_print(const char *subcommand, void (*print)(const void *context, struct text *out),
               const void *context)
{
    size_t length;
    char *page = make_page(subcommand, print, context, &length);
    if (!page)
        return EXIT_OWN_FAILURE;
    bool done = fwrite(page, 1, length, stdout) == length && fflush(stdout) == 0;
    if (!done)
        complain(subcommand, "cannot write to standard output: %s", strerror(errno));
    free(page);
    return done ? 0 : EXIT_OWN_FAILURE;
}

/* --- reports ------------------------------------------------------------------------------------------------ */

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
    char *page = make_page(subcommand, print_report, &(struct report_page){report, print}, &length);
    if (!page)
        return false;
    bool done = path ? output_write(path, page, length, &error) == JOULE_OK
                     : output_write_all(STDERR_FILENO, page, length);
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
