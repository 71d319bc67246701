/* tools/joule/page.h - reports as pages, and what may be asked of a terminal.
 *
 * Newcomers: pages of other kinds are printed by common/page.h.
 */
#ifndef JOULE_PAGE_H
#define JOULE_PAGE_H

#include <stdbool.h>
#include "common/page.h"
#include "joule/report/report.h"

/* True when `fd` is a terminal that shows colours, and NO_COLOR is unset or empty. */
bool page_has_colour(int fd);
/* Characters in a line: of the terminal, and neither few nor many; a fixed number where nobody looks. */
size_t page_width(void);

typedef void (*page_report_fn)(const struct report *report, struct text *out);
/* A report into the file `path` (as output_write), or where that is NULL to standard error. False, after a message
 * except for standard error, where it could not be written. */
bool page_report(const char *subcommand, const struct report *report, const char *path, page_report_fn print);
/* A report as JSON with the newline that ends its line in a file. */
void page_json_line(const struct report *report, struct text *out);

#endif
