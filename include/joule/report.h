/* joule/report.h - a meter's findings as text for programs.
 *
 * One JSON object, documented by docs/report.schema.json, with the devices, the total and every tag. The variable
 * JOULE_ENERGY_JSON makes a program that uses libjoule write it at normal exit without any code: "1" writes one
 * line to stderr, anything else but "0" is a path in which %p becomes the process id and %% a percent sign.
 * Newcomers: the keys keep their names and meaning within a schema version; new keys may appear.
 */
#ifndef JOULE_REPORT_H
#define JOULE_REPORT_H

#include <joule/budget.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the report of `meter` (NULL: the default one), from its opening to now, as one line of JSON without a newline.
 * Like snprintf: *out_length is the length needed, at most `size` bytes with the terminator are written; time goes on
 * between two calls, so leave room for some digits more. `program` (NULL: the name of this process) and `out_length` may
 * be NULL, and `out_text` where size is 0. JOULE_STALE: a meter from before fork. JOULE_NO_MEMORY: nothing is written,
 * as a part would be missing. Any thread. */
JOULE_API joule_status joule_report_json(joule_meter *meter, const char *program, char *out_text, size_t size,
                                         size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
