/* joule/report.h - a meter's results as JSON.
 *
 * The report is one JSON object with the devices, the total and every tag; docs/report.schema.json describes
 * it. Within a schema version, keys keep their name and meaning, and new keys may be added.
 * A program that uses libjoule writes the report at normal exit if the environment variable JOULE_ENERGY_JSON
 * is set. With the value 1, it writes one line to standard error; with 0, nothing. Any other value is the
 * path of a file to write; %p in it becomes the process id, and %% a percent sign.
 */
#ifndef JOULE_REPORT_H
#define JOULE_REPORT_H

#include <joule/budget.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the report of `meter` since its opening, as one line of JSON without a newline. Like snprintf,
 * writes at most `size` bytes including the terminator, and sets *out_length to the needed length without it.
 * Numbers may grow between two calls, so allocate a few bytes more than the first call needed. program: name
 * of the program in the report; NULL: the name of this process. out_length may be NULL; out_text may be NULL
 * if size is 0. JOULE_STALE: the meter was opened before fork. JOULE_NO_MEMORY: out of memory; nothing is
 * written. Any thread. */
JOULE_API joule_status joule_report_json(joule_meter *meter, const char *program, char *out_text, size_t size,
                                         size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
