/* Fuzz target: the list of plugs, and output of snmpget. Checks that identifiers contain only digits and
 * dots, that host names do not begin with "-", and that values are unknown or between 0 and 1e9. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/node/pdu_table.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pdu_plugs plugs;
    double values[4] = {NAN, NAN, NAN, NAN};
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (pdu_parse_plugs(text, &plugs)) {
        require(plugs.count > 0 && plugs.count <= PDU_MAX_PLUGS);
        for (size_t i = 0; i < plugs.count; i++) {
            const struct pdu_plug *plug = &plugs.list[i];
            require(plug->host[0] && plug->host[0] != '-' && plug->unit_watts > 0);
            require(plug->watts_oid[0] == '.' &&
                    strspn(plug->watts_oid, ".0123456789") == strlen(plug->watts_oid));
            require(strspn(plug->digits_oid, ".0123456789") == strlen(plug->digits_oid));
        }
    }
    pdu_parse_values(text, values, 4);
    for (size_t i = 0; i < 4; i++)
        require(isnan(values[i]) || (values[i] >= 0 && values[i] < 1e9));
    free(text);
    return 0;
}
