/* joule/report/collect.h - internal declarations of the files that fill a report.
 *
 * Note: only collect*.c include it.
 */
#ifndef JOULE_REPORT_COLLECT_H
#define JOULE_REPORT_COLLECT_H

#include "joule/meter/engine.h"
#include "joule/report/report.h"

struct collection {
    struct report *report;
    joule_meter *meter;
    int64_t begin_ns, end_ns;
};

/* Returns a copy in the report's arena; "" if out of memory. */
const char *collect_copy(struct report *report, const char *string);
/* Returns true for the domain of a whole device that exists but could not be read. */
bool collect_is_unreadable(const struct collection *c, size_t domain);
/* Returns the name of a source that is not open yet, in static storage; NULL: none. Ignores late lanes. */
const char *collect_late_source(const struct collection *c);
/* Sets report.first_advice. Call it when all other members of the report are set. */
void collect_advice(const struct collection *c);

#endif
