/* joule/sources/node/pdu.c - the source "pdu": the power of the whole machine at its outlets, from metered
 * power distribution units (SNMP).
 *
 * The source queries the outlets listed in JOULE_PDU with net-snmp's snmpget, and sums their power.
 * pdu_table.c contains the object identifiers.
 * Note: communities and passphrases belong in net-snmp's snmp.conf, or hosts/HOST.conf for one host. They are
 * never passed as arguments, because every user can read a program's arguments. If one outlet does not
 * answer, the sum is unknown. */
#include <math.h>
#include <string.h>
#include "joule/sources/node/node_power.h"
#include "joule/sources/node/pdu_meter.h"

#define PERIOD_S   2.0 /* power distribution units update their values every 1 to 10 s */
#define TIMEOUT_NS INT64_C(8000000000)
#define MAX_WATTS  100000.0
#define MAX_DIGITS 6

static const struct node_power at_plugs = {
    .name = "node-plugs",
    .label = "the plugs that JOULE_PDU lists",
    .rank = RANK_NODE_PDU,
    .cause = 348,
    .gain_sd = 0.01, /* billing grade, according to data sheets */
    .max_watts = MAX_WATTS,
};

struct pdu {
    struct pdu_meter meter;
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

/* Reads one value for each plug of one host: the plugs from `first` to the last plug before another host.
 * Plugs without an identifier are skipped. *out_count: number of plugs of this host, including skipped
 * plugs. */
static joule_status query_host(struct source *source, const struct pdu_meter *meter, size_t first, oid_of oid,
                               double *out_values, size_t *out_count)
{
    const char *host = meter->plugs.list[first].host;
    const char *argv[16 + PDU_MAX_PLUGS] = {"snmpget", "-m", "", "-Oqve", "-r", "1", "-t", "2", host};
    size_t argument_count = 9, plug_of_value[PDU_MAX_PLUGS], values = 0;
    char text[2048];
    double parsed[PDU_MAX_PLUGS];
    struct source_output output;
    for (*out_count = 0; first + *out_count < meter->plugs.count; ++*out_count) {
        const struct pdu_plug *plug = &meter->plugs.list[first + *out_count];
        if (strcmp(plug->host, host) != 0)
            break;
        if (!*oid(plug))
            continue;
        argv[argument_count++] = oid(plug);
        plug_of_value[values++] = *out_count;
    }
    if (values == 0)
        return JOULE_OK;
    joule_status status = source_run(source, argv, TIMEOUT_NS, text, sizeof text, &output);
    if (status != JOULE_OK)
        return status;
    if (output.exit_status != 0 || pdu_parse_values(text, parsed, values) != values)
        return JOULE_FAILED;
    for (size_t i = 0; i < values; i++)
        out_values[plug_of_value[i]] = parsed[i];
    return JOULE_OK;
}

static joule_status query_all(struct source *source, const struct pdu_meter *meter, oid_of oid,
                              double out_values[PDU_MAX_PLUGS])
{
    joule_status status = JOULE_OK;
    for (size_t first = 0, count; first < meter->plugs.count && status == JOULE_OK; first += count)
        status = query_host(source, meter, first, oid, out_values + first, &count);
    return status;
}

/* Reads the unit of each plug, which does not change. */
static joule_status read_units(struct source *source, struct pdu_meter *meter)
{
    double digits[PDU_MAX_PLUGS] = {0};
    joule_status status = query_all(source, meter, digits_oid, digits);
    for (size_t i = 0; status == JOULE_OK && i < meter->plugs.count; i++) {
        if (!(digits[i] <= MAX_DIGITS))
            return JOULE_UNSUPPORTED;
        meter->unit_watts[i] = meter->plugs.list[i].unit_watts * pow(10, -digits[i]);
    }
    return status;
}

joule_status pdu_meter_read(struct source *source, const struct pdu_meter *meter, double *out_watts)
{
    double counts[PDU_MAX_PLUGS] = {0}, sum = 0;
    joule_status status = query_all(source, meter, watts_oid, counts);
    for (size_t i = 0; i < meter->plugs.count; i++)
        sum += counts[i] * meter->unit_watts[i];
    if (status == JOULE_OK && isnan(sum))
        return JOULE_UNSUPPORTED;
    if (status == JOULE_OK && sum > MAX_WATTS)
        return JOULE_FAILED;
    *out_watts = sum;
    return status;
}

joule_status pdu_meter_open(struct source *source, const char *variable, const char *plugs,
                            struct pdu_meter *out_meter)
{
    double watts;
    if (!pdu_parse_plugs(plugs, &out_meter->plugs))
        return source_set_state(source, JOULE_INVALID,
                                "%s is not MAKER:HOST:PLUG[,PLUG...], such as raritan:pdu1:outlet.1.7 "
                                "(docs/devices.md)",
                                variable);
    joule_status status = read_units(source, out_meter);
    if (status == JOULE_OK)
        status = pdu_meter_read(source, out_meter, &watts);
    if (status == JOULE_ABSENT)
        return source_set_state(source, status,
                                "%s is set, but there is no snmpget; install it (Debian: snmp)", variable);
    if (status != JOULE_OK)
        return source_set_state(source, status, "a plug of %s reports no power; try: snmpget %s %s", variable,
                                out_meter->plugs.list[0].host, out_meter->plugs.list[0].watts_oid);
    return JOULE_OK;
}

static joule_status pdu_open(struct source *source)
{
    const char *plugs = source->host->ops->env(source->host, "JOULE_PDU");
    if (!plugs || !*plugs)
        return source_set_state(
            source, JOULE_ABSENT,
            "set JOULE_PDU=MAKER:HOST:PLUG... to read the plugs of this machine (docs/devices.md)");
    struct pdu *pdu = source->data = arena_alloc(&source->arena, sizeof *pdu);
    if (!pdu)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = pdu_meter_open(source, "JOULE_PDU", plugs, &pdu->meter);
    if (status != JOULE_OK)
        return status;
    pdu->channel = source_add_node_power(source, &at_plugs);
    return pdu->channel ? JOULE_OK : source_set_state(source, JOULE_NO_MEMORY, "out of memory");
}

static void pdu_read(struct source *source, struct sink *sink)
{
    const struct pdu *pdu = source->data;
    double watts;
    joule_status status = pdu_meter_read(source, &pdu->meter, &watts);
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
