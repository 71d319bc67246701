/* joule/sources/node/pdu_table.h - plugs of metered power distribution units, as SNMP names them.
 *
 * Owns the words in which a user says which plugs feed this machine, the object identifiers of three makers, and the unit that
 * each counts in. Asking is pdu.c's. Newcomers: the same figure is tens of watts with one maker, watts with another, and
 * watts with a number of decimals that the unit itself must be asked for with the third.
 */
#ifndef JOULE_PDU_TABLE_H
#define JOULE_PDU_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define PDU_MOST_PLUGS 8

struct pdu_plug {
    char host[80];
    char watts_oid[80];
    char digits_oid[80]; /* whose value is the number of decimals; empty: there are none */
    double unit_watts;   /* of a count, before decimals */
};

struct pdu_plugs {
    size_t count;
    struct pdu_plug list[PDU_MOST_PLUGS];
};

/* "raritan:pdu1:outlet.1.7,outlet.1.8 apc:pdu2:outlet.3": MAKER:HOST:PLUG[,PLUG...], with blanks between units. Plugs are
 * apc's device.N and outlet.N, raritan's inlet.N.M and outlet.N.M, sentry3's infeed.N.M. False: it is none, or too many. */
bool pdu_parse_plugs(const char *text, struct pdu_plugs *out_plugs);

/* The values that snmpget prints, one in a line; NaN for what is no whole number. The number of lines, of which `most` at
 * most are filled in. */
size_t pdu_parse_values(const char *text, double *out_values, size_t most);

#endif
