/* joule/sources/node/pdu_table.h - the plugs of metered power distribution units, and their SNMP object
 * identifiers.
 *
 * This file parses the user's list of plugs, and contains the identifiers and units of three makers. pdu.c
 * queries the plugs.
 * Note: units differ. Counts are in tens of watts (devices of APC) or in watts (outlets of APC, and Sentry3).
 * Raritan's counts are watts with a number of decimals that must be queried. */
#ifndef JOULE_PDU_TABLE_H
#define JOULE_PDU_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define PDU_MAX_PLUGS 8

struct pdu_plug {
    char host[80];
    char watts_oid[80];
    char digits_oid[80]; /* identifier of the number of decimals; empty: no decimals */
    double unit_watts;   /* watts per count, without decimals */
};

struct pdu_plugs {
    size_t count;
    struct pdu_plug list[PDU_MAX_PLUGS];
};

/* Parses a list of MAKER:HOST:PLUG[,PLUG...], separated by blanks, such as
 * "raritan:pdu1:outlet.1.7,outlet.1.8 apc:pdu2:outlet.3". Plugs are apc's device.N and outlet.N, raritan's
 * inlet.N.M and outlet.N.M, sentry3's infeed.N.M. Returns false if the text is invalid, or has too many
 * plugs. */
bool pdu_parse_plugs(const char *text, struct pdu_plugs *out_plugs);

/* Parses the values that snmpget prints, one on each line. A line that is not a whole number yields NaN.
 * Returns the number of lines, of which the first `max` are stored. */
size_t pdu_parse_values(const char *text, double *out_values, size_t max);

#endif
