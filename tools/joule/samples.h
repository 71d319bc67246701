/* tools/joule/samples.h - the samples of a record as a table.
 *
 * Owns writing them piece by piece: there may be more than memory holds as text. Newcomers: lines come in the order of time,
 * whatever their domain.
 */
#ifndef JOULE_SAMPLES_H
#define JOULE_SAMPLES_H

#include "joule/record/record.h"

/* Into the file `path` (as output_open). */
joule_status samples_write(const struct record *record, const char *path, joule_error *out_error);

#endif
