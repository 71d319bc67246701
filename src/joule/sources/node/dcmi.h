/* joule/sources/node/dcmi.h - parses a management controller's response to DCMI's Get Power Reading.
 *
 * The parser accepts the bytes of the response, these bytes printed in hexadecimal, and the texts that
 * ipmitool and freeipmi's ipmi-dcmi print. ipmi.c queries the controller.
 * Note: in the texts only the labels are fixed. The date between them depends on the locale, and a newer
 * ipmitool prints two labels on one line. */
#ifndef JOULE_DCMI_H
#define JOULE_DCMI_H

#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

struct dcmi_reading {
    unsigned watts; /* current power */
    /* in watts, over the period or since the controller's reset; 0: not reported */
    unsigned min, max, average;
    double period_s; /* NaN: not reported */
};

/* Parses the bytes of a response that follow its completion code. Returns UNSUPPORTED if the controller does
 * not measure power, and FAILED if the bytes are not such a response. */
joule_status dcmi_parse_bytes(const uint8_t *bytes, size_t length, struct dcmi_reading *out_reading);
/* Parses the output of a program, as bytes or text. Returns the same status as dcmi_parse_bytes. */
joule_status dcmi_parse_text(const char *text, struct dcmi_reading *out_reading);

#endif
