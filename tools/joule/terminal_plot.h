/* tools/joule/terminal_plot.h - shows the skyline of a record in a terminal. */
#ifndef JOULE_TERMINAL_PLOT_H
#define JOULE_TERMINAL_PLOT_H

#include <stdbool.h>
#include "joule/picture/skyline_record.h"

/* Prints the skyline of a part of a record to standard output or standard error (`fd` 1 or 2). Width and
 * colours are those of the terminal; block characters are used if the locale has UTF-8. part->columns is
 * ignored. title: NULL: the command of the record. finds_phases: also print guessed phases.
 * Returns false after a message. */
bool terminal_plot(const char *subcommand, const struct record *record, const struct skyline_part *part,
                   const char *title, bool finds_phases, int fd);
/* Prints the skyline of a whole record: by region if it has regions, otherwise by device. */
bool terminal_plot_whole(const char *subcommand, const struct record *record, int fd);

#endif
