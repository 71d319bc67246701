/* tools/joule/report_page.h - prints reports, and queries colour and width of the terminal.
 *
 * Other texts are printed by common/page.h.
 */
#ifndef JOULE_REPORT_PAGE_H
#define JOULE_REPORT_PAGE_H

#include <stdbool.h>
#include "common/page.h"
#include "joule/report/report.h"

/* Returns true if `fd` is a terminal with colours, and NO_COLOR is unset or empty. */
bool page_has_colour(int fd);
/* Returns the line width in characters: the terminal's width limited to 60 to 100, or 100 if standard output
 * is not a terminal. */
size_t page_width(void);

typedef void (*page_report_fn)(const struct report *report, struct text *out);
/* Writes a report to the file `path` (see output_write), or to standard error if `path` is NULL. Returns
 * false if the report could not be written. Prints a message in this case, except if `path` is NULL. */
bool page_report(const char *subcommand, const struct report *report, const char *path, page_report_fn print);
/* Prints a report as one line of JSON. */
void page_json_line(const struct report *report, struct text *out);

#endif
