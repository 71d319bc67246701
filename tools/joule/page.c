/* tools/joule/page.c - see page.h. */
#include "page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "options.h"

#define PAGE_WIDTH  100
#define LEAST_WIDTH 60 /* narrower lines are the terminal's to break */

bool page_has_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

size_t page_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ||
        size.ws_col > PAGE_WIDTH)
        return PAGE_WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

int page_print(const char *subcommand, void (*print)(const void *context, struct text *out),
               const void *context)
{
    struct text text;
    text_init(&text, NULL, 0);
    print(context, &text);
    size_t size = text.length + 1;
    char *page = malloc(size);
    if (!page) {
        complain(subcommand, "no memory for %zu bytes of text", size);
        return EXIT_OWN_FAILURE;
    }
    text_init(&text, page, size);
    print(context, &text);
    bool done = fwrite(page, 1, text.length, stdout) == text.length && fflush(stdout) == 0;
    if (!done)
        complain(subcommand, "cannot write to standard output: %s", strerror(errno));
    free(page);
    return done ? 0 : EXIT_OWN_FAILURE;
}
