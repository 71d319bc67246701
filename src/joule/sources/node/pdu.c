/* joule/sources/node/pdu.c - the power of the whole machine at its plugs, from metered power distribution units (SNMP).
 *
 * Owns asking the units of the plugs that JOULE_PDU lists, by net-snmp's snmpget, and their sum. Which values are asked for is
 * pdu_table.c's.
 * Newcomers: community and passphrases stand in net-snmp's own snmp.conf, where they can be kept for each host
 * (hosts/HOST.conf), and never in an argument, which everybody may read. One plug that does not answer leaves the sum unknown.
 */
#include <math.h>
#include <string.h>
#include "joule/sources/node/node_power.h"
#include "joule/sources/node/pdu_table.h"

#define PERIOD_S    2.0 /* units renew their figures every 1 to 10 s */
#define TIMEOUT_NS  INT64_C(8000000000)
#define MOST_WATTS  100000.0
#define MOST_DIGITS 6

static const struct node_power at_plugs = {
    .name = "node-plugs",
    .label = "the plugs that JOULE_PDU lists",
    .rank = RANK_NODE_PDU,
    .cause = 348,
    .gain_sd = 0.01, /* billing grade, as their data sheets say */
    .most_watts = MOST_WATTS,
};

struct pdu {
    struct pdu_plugs plugs;
    double unit_watts[PDU_MOST_PLUGS]; /* of a count, with its decimals */
    struct channel *channel;
};

typedef const char *(*oid_of)(const struct pdu_plug *plug);

static const char *watts_oid(const struct pdu_plug *plug)
{
    return plug->watts_oid;
}

static const char *digits_oid(const struct pdu_plug *plug)
{
    return plug->digits_oid;
}

/* One value for each plug from `first` on that is at the same host; those without an identifier are left alone. Gives the
 * number of plugs in *out_count. */
static joule_status ask_host(struct source *source, size_t first, oid_of oid, double *out_values,
                             size_t *out_count)
{
    const struct pdu *pdu = source->data;
    const char *host = pdu->plugs.list[first].host;
    const char *argv[16 + PDU_MOST_PLUGS] = {"snmpget", "-m", "", "-Oqve", "-r", "1", "-t", "2", host};
    size_t words = 9, plug_of_value[PDU_MOST_PLUGS], values = 0;
    char text[2048];
    double got[PDU_MOST_PLUGS];
    struct source_output output;
    for (*out_count = 0; first + *out_count < pdu->plugs.count; ++*out_count) {
        const struct pdu_plug *plug = &pdu->plugs.list[first + *out_count];
        if (strcmp(plug->host, host) != 0)
            break;
        if (!*oid(plug))
            continue;
        argv[words++] = oid(plug);
        plug_of_value[values++] = *out_count;
    }
    if (values == 0)
        return JOULE_OK;
    joule_status status = source_run(source, argv, TIMEOUT_NS, text, sizeof text, &output);
    if (status != JOULE_OK)
        return status;
    if (output.exit_status != 0 || pdu_parse_values(text, got, values) != values)
        return JOULE_FAILED;
    for (size_t i = 0; i < values; i++)
        out_values[plug_of_value[i]] = got[i];
    return JOULE_OK;
}

static joule_status ask_all(struct source *source, oid_of oid, double out_values[PDU_MOST_PLUGS])
{
    const struct pdu *pdu = source->data;
    joule_status status = JOULE_OK;
    for (size_t first = 0, count; first < pdu->plugs.count && status == JOULE_OK; first += count)
        status = ask_host(source, first, oid, out_values + first, &count);
    return status;
}

/* What a count is worth does not change. */
static joule_status read_units(struct source *source)
{
    struct pdu *pdu = source->data;
    double digits[PDU_MOST_PLUGS] = {0};
    joule_status status = ask_all(source, digits_oid, digits);
    for (size_t i = 0; status == JOULE_OK && i < pdu->plugs.count; i++) {
        if (!(digits[i] <= MOST_DIGITS))
            return JOULE_UNSUPPORTED;
        pdu->unit_watts[i] = pdu->plugs.list[i].unit_watts * pow(10, -digits[i]);
    }
    return status;
}

static joule_status read_watts(struct source *source, double *out_watts)
{
    const struct pdu *pdu = source->data;
    double counts[PDU_MOST_PLUGS] = {0}, sum = 0;
    joule_status status = ask_all(source, watts_oid, counts);
    for (size_t i = 0; i < pdu->plugs.count; i++)
        sum += counts[i] * pdu->unit_watts[i];
    if (status == JOULE_OK && isnan(sum))
        return JOULE_UNSUPPORTED;
    if (status == JOULE_OK && sum > MOST_WATTS)
        return JOULE_FAILED;
    *out_watts = sum;
    return status;
}

static joule_status pdu_open(struct source *source)
{
    const char *plugs = source->host->ops->env(source->host, "JOULE_PDU");
    double watts;
    if (!plugs || !*plugs)
        return source_say(source, JOULE_ABSENT,
                          "JOULE_PDU=MAKER:HOST:PLUG... reads the plugs of this machine (docs/devices.md)");
    struct pdu *pdu = source->data = arena_alloc(&source->arena, sizeof *pdu);
    if (!pdu)
        return source_say(source, JOULE_NO_MEMORY, "no memory");
    if (!pdu_parse_plugs(plugs, &pdu->plugs))
        return source_say(
            source, JOULE_INVALID,
            "JOULE_PDU is not MAKER:HOST:PLUG[,PLUG...], such as raritan:pdu1:outlet.1.7 (docs/devices.md)");
    joule_status status = read_units(source);
    if (status == JOULE_OK)
        status = read_watts(source, &watts);
    if (status == JOULE_ABSENT)
        return source_say(source, status,
                          "JOULE_PDU is set, but there is no snmpget; install it (Debian: snmp)");
    if (status != JOULE_OK)
        return source_say(source, status, "a plug of JOULE_PDU gives no power; try: snmpget %s %s",
                          pdu->plugs.list[0].host, pdu->plugs.list[0].watts_oid);
    pdu->channel = source_add_node_power(source, &at_plugs);
    return pdu->channel ? JOULE_OK : source_say(source, JOULE_NO_MEMORY, "no memory");
}

static void pdu_read(struct source *source, struct sink *sink)
{
    const struct pdu *pdu = source->data;
    double watts;
    joule_status status = read_watts(source, &watts);
    if (status == JOULE_OK)
        sink_power(sink, pdu->channel, 0, watts);
    else
        sink_fail(sink, pdu->channel, status);
}

const struct source_ops source_pdu = {
    .name = "pdu",
    .measurement = "pdu",
    .tier = 2,
    .is_slow = true,
    .variable = "JOULE_PDU",
    .period_s = PERIOD_S,
    .open = pdu_open,
    .read = pdu_read,
};
