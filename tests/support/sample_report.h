/* support/sample_report.h - reports filled by hand, for tests of printers.
 *
 * There are three machines: a GPU server with all values known, a virtual machine with modelled values only,
 * and a machine without values. Note: arrays are in the report's arena; report_free frees them. */
#ifndef SUPPORT_SAMPLE_REPORT_H
#define SUPPORT_SAMPLE_REPORT_H

#include "joule/report/report.h"

joule_quantity sample_quantity(double value, double low, double high, joule_class cls);
void sample_server(struct report *report);
void sample_virtual_machine(struct report *report);
void sample_unknown(struct report *report);
/* Returns the printed text; the caller calls free(). */
char *sample_print(const struct report *report, void (*print)(const struct report *, struct text *));

#endif
