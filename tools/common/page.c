/* tools/common/page.c - see page.h. */
#include "common/page.h"

#include <stdlib.h>
#include "common/options.h"
#include "common/output.h"

char *page_make(const char *subcommand, page_print_fn print, const void *context, size_t *out_length)
{
    struct text text;
    text_init(&text, NULL, 0);
    print(context, &text);
    size_t size = text.length + 1;
    char *page = malloc(size);
    if (!page) {
        complain(subcommand, "out of memory (%zu bytes of text)", size);
        return NULL;
    }
    text_init(&text, page, size);
    print(context, &text);
    *out_length = text.length;
    return page;
}

int page_print(const char *subcommand, page_print_fn print, const void *context)
{
    size_t length;
    char *page = page_make(subcommand, print, context, &length);
    if (!page)
        return EXIT_OWN_FAILURE;
    output_print(page, length);
    free(page);
    return 0;
}
