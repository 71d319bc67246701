/* joule/sources/node/ipmi.c - the source "ipmi": the power of the whole machine, from its management
 * controller (IPMI, DCMI).
 *
 * The source runs ipmitool or freeipmi's ipmi-dcmi, if JOULE_IPMI=local permits it. dcmi.c parses their
 * output.
 * Note: the kernel's device is not used directly, because it needs two calls with a wait between them, and a
 * timeout for a controller that hangs. A query takes milliseconds of the slow controller's time, so there is
 * at most one each second. */
#include <string.h>
#include "joule/sources/node/dcmi.h"
#include "joule/sources/node/node_power.h"

#define PERIOD_S   1.0
#define TIMEOUT_NS INT64_C(5000000000)

static const struct node_power dcmi = {
    .name = "node",
    .label = "DCMI power reading",
    .rank = RANK_NODE_IPMI,
    .cause = 340,
    .gain_sd = 0.03, /* assumed, as for power supplies */
    .max_watts = 20000,
};

/* Commands in the order of attempts. The raw request is last, because its response must have a fixed length,
 * which some controllers do not return. */
static const char *const commands[][9] = {
    {"ipmitool", "dcmi", "power", "reading", NULL},
    {"ipmi-dcmi", "--get-system-power-statistics", NULL},
    {"ipmitool", "raw", "0x2c", "0x02", "0xdc", "0x01", "0x00", "0x00", NULL},
};

struct ipmi {
    struct channel *channel;
    const char *const *command; /* the command that returned a reading */
};

static joule_status query(struct source *source, const char *const *command, struct dcmi_reading *out_reading)
{
    char text[2048];
    struct source_output output;
    joule_status status = source_run(source, command, TIMEOUT_NS, text, sizeof text, &output);
    if (status != JOULE_OK)
        return status;
    status = dcmi_parse_text(text, out_reading);
    return status == JOULE_OK && output.exit_status != 0 ? JOULE_FAILED : status;
}

/* Finds the first command that returns a reading. If no command does, returns the most specific status. */
static joule_status find_command(struct source *source, struct ipmi *ipmi)
{
    struct dcmi_reading reading;
    joule_status found = JOULE_ABSENT;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        joule_status status = query(source, commands[i], &reading);
        ipmi->command = commands[i];
        if (status == JOULE_OK)
            return status;
        if (status != JOULE_ABSENT && found != JOULE_UNSUPPORTED)
            found = status;
    }
    return found;
}

static joule_status set_failure(struct source *source, joule_status status)
{
    if (status == JOULE_ABSENT)
        return source_set_state(source, status,
                                "JOULE_IPMI is set, but there is no ipmitool; install it (Debian: ipmitool)");
    if (status == JOULE_UNSUPPORTED)
        return source_set_state(source, status, "the management controller measures no power (DCMI)");
    return source_set_state(
        source, JOULE_FAILED,
        "`ipmitool dcmi power reading` prints no power; try it as root, and load ipmi_devintf and ipmi_si");
}

static joule_status ipmi_open(struct source *source)
{
    const char *where = source->host->ops->env(source->host, "JOULE_IPMI");
    if (!where || !*where)
        return source_set_state(source, JOULE_ABSENT,
                                "set JOULE_IPMI=local to query this machine's management controller");
    if (strcmp(where, "local") != 0)
        return source_set_state(source, JOULE_INVALID,
                                "JOULE_IPMI must be \"local\"; for another controller use JOULE_REDFISH");
    struct ipmi *ipmi = source->data = arena_alloc(&source->arena, sizeof *ipmi);
    if (!ipmi)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = find_command(source, ipmi);
    if (status != JOULE_OK)
        return set_failure(source, status);
    ipmi->channel = source_add_node_power(source, &dcmi);
    return ipmi->channel ? JOULE_OK : source_set_state(source, JOULE_NO_MEMORY, "out of memory");
}

static void ipmi_read(struct source *source, struct sink *sink)
{
    const struct ipmi *ipmi = source->data;
    struct dcmi_reading reading;
    joule_status status = query(source, ipmi->command, &reading);
    if (status == JOULE_OK)
        sink_power(sink, ipmi->channel, 0, reading.watts);
    else
        sink_fail(sink, ipmi->channel, status);
}

const struct source_ops source_ipmi = {
    .name = "ipmi",
    .measurement = "ipmi",
    .tier = 2,
    .is_slow = true,
    .variable = "JOULE_IPMI",
    .period_s = PERIOD_S,
    .open = ipmi_open,
    .read = ipmi_read,
};
