/* tools/joule/samples.h - writes the samples of a record as a table.
 *
 * Note: rows are written in order of time, in pieces, because the whole table may not fit in memory.
 */
#ifndef JOULE_SAMPLES_H
#define JOULE_SAMPLES_H

#include "joule/record/record.h"

/* Writes the table to `path`, see output_open. */
joule_status samples_write(const struct record *record, const char *path, joule_error *out_error);

#endif
