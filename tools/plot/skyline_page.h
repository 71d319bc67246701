/* tools/plot/skyline_page.h - writes the interactive page of a record's power: one HTML file without
 * requests.
 * */
#ifndef PLOT_SKYLINE_PAGE_H
#define PLOT_SKYLINE_PAGE_H

#include "joule/picture/skyline_record.h"

/* Writes the page to `path`; see output_write. part->columns is ignored: the page has so many columns that it
 * stays below about 5 MB. part->by is shown first. view->title and view->phases are used. Errors have a
 * message. */
joule_status skyline_page_write(struct record *record, const struct skyline_part *part,
                                const struct skyline_view *view, const char *path, joule_error *out_error);

#endif
