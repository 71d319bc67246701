/* joule/sources/node/dcmi.h - parses a management controller's response to DCMI's Get Power Reading.
 *
 * The forms are the response's bytes, these bytes as printed by a program, and the texts of ipmitool and of
 * freeipmi's ipmi-dcmi. ipmi.c queries the controller.
 * Note: in the texts only the labels are fixed. The date between them depends on the locale, and a newer
 * ipmitool prints two labels on one line. */
#ifndef JOULE_DCMI_H
#define JOULE_DCMI_H

#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

struct dcmi_reading {
    unsigned watts;             /* current power */
    unsigned min, max, average; /* over the period, or since the controller's reset; 0: not reported */
    double period_s;            /* NaN: not reported */
};

/* Parses the response after its completion code. Returns UNSUPPORTED if the controller does not measure
 * power; FAILED for another response. */
joule_status dcmi_parse_bytes(const uint8_t *bytes, size_t length, struct dcmi_reading *out_reading);
/* Parses a program's output, in any of the forms. */
joule_status dcmi_parse_text(const char *text, struct dcmi_reading *out_reading);

#endif
