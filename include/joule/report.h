/* joule/report.h - a meter's results as JSON.
 *
 * The report is one JSON object with the devices, the total and every tag; docs/report.schema.json describes
 * it. Within a schema version keys keep their name and meaning, and new keys may appear.
 * With the environment variable JOULE_ENERGY_JSON, a program that uses libjoule writes the report at normal
 * exit. The value 1 writes one line to standard error; 0 writes nothing; any other value is a path, in which
 * %p becomes the process id and %% a percent sign.
 */
#ifndef JOULE_REPORT_H
#define JOULE_REPORT_H

#include <joule/budget.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the report of `meter` (NULL: the default meter) since its opening, as one line of JSON without a
 * newline. *out_length is the length that is needed; at most `size` bytes with the terminator are written,
 * like snprintf. Numbers may grow between two calls, so allocate a few bytes more than the first call needed.
 * program: NULL for the name of this process. out_length may be NULL; out_text may be NULL if size is 0.
 * JOULE_STALE: the meter was opened before fork. JOULE_NO_MEMORY: no output is written. Any thread. */
JOULE_API joule_status joule_report_json(joule_meter *meter, const char *program, char *out_text, size_t size,
                                         size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
