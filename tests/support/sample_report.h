/* support/sample_report.h - reports filled by hand, for the tests of printers.
 *
 * Owns three machines: a GPU server on which everything is known, a virtual machine where all is modelled, and one
 * that knows nothing. Newcomers: arrays are in the report's arena; report_free ends it.
 */
#ifndef SUPPORT_SAMPLE_REPORT_H
#define SUPPORT_SAMPLE_REPORT_H

#include "joule/report/report.h"

joule_quantity sample_quantity(double value, double low, double high, joule_class cls);
void sample_server(struct report *report);
void sample_virtual_machine(struct report *report);
void sample_unknown(struct report *report);
/* What printing gives, as a string for free(). */
char *sample_print(const struct report *report, void (*print)(const struct report *, struct text *));

#endif
