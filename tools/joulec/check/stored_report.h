/* tools/joulec/check/stored_report.h - reads the report of --energy-baseline, once for all sources. */
#ifndef CHECK_STORED_REPORT_H
#define CHECK_STORED_REPORT_H

#include "check.h"
#include "joulec/verdict/baseline.h"

struct stored_report {
    char *text; /* text of the file; freed with free() */
    struct baseline baseline;
};

/* Reads the file and checks that its figures are comparable with those of this run. Returns false after a
 * message. The caller frees the report with stored_report_close, also after an error. */
bool stored_report_open(const struct arguments *arguments, const struct machine *machine,
                        struct stored_report *out_report);
void stored_report_close(struct stored_report *report);
/* Returns the options of clang that determine the code, such as "-O2 -march=native", allocated in `arena`.
 * Returns NULL if out of memory. */
const char *stored_report_build(struct arena *arena, const struct arguments *arguments);

#endif
