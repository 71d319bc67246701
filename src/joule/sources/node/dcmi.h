/* joule/sources/node/dcmi.h - a management controller's answer to DCMI's Get Power Reading.
 *
 * Owns the answer's forms: its bytes, those bytes as a program prints them, and the texts of ipmitool and of freeipmi's
 * ipmi-dcmi. Who is asked, and when, is ipmi.c's. Newcomers: in the texts only the labels are fixed; the date between them
 * follows the locale, and a new ipmitool prints two labels on one line.
 */
#ifndef JOULE_DCMI_H
#define JOULE_DCMI_H

#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

struct dcmi_reading {
    unsigned watts;                /* now */
    unsigned least, most, average; /* over the period, or since the controller was reset; 0 where not told */
    double period_s;               /* NaN: not told */
};

/* The response behind its completion code. UNSUPPORTED: the controller measures nothing; FAILED: no such response. */
joule_status dcmi_parse_bytes(const uint8_t *bytes, size_t length, struct dcmi_reading *out_reading);
/* What a program has printed, in any of the forms. */
joule_status dcmi_parse_text(const char *text, struct dcmi_reading *out_reading);

#endif
