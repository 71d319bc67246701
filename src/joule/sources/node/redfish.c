/* joule/sources/node/redfish.c - the source "redfish": the power of the whole machine, from its management
 * controller over the network (Redfish).
 *
 * The source runs joule-redfish with the file that JOULE_REDFISH names. That program reads the password and
 * sends the requests with libcurl. redfish_text.c parses its output.
 * Note: a controller may report three different powers of the same machine. All three are added as views of
 * the node. The first that answers is used: the power supplies' input, then the chassis' EnvironmentMetrics,
 * then PowerControl. The controller is read every five seconds, because each request takes the controller's
 * slow processor about a tenth of a second. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/node/node_power.h"
#include "joule/sources/node/redfish_meter.h"

#define PERIOD_S 5.0
/* timeout of a search, which follows the links of a slow controller one by one */
#define FIND_NS INT64_C(60000000000)
#define READ_NS INT64_C(20000000000) /* timeout of a reading */
/* Number of readings after which sensors are searched again, because supplies may be removed or added. */
#define FIND_AGAIN 120
#define GAIN_SD    0.03 /* assumed, as for power supplies */
#define MAX_WATTS  100000.0

struct redfish {
    struct redfish_meter meter;
    struct channel *views[REDFISH_VIEWS];
};

/* --- the program ---------------------------------------------------------------------------------------- */

static joule_status run_program(struct source *source, const struct redfish_meter *redfish,
                                const char *program, struct redfish_text *out_text)
{
    const char *argv[3 + REDFISH_MAX_READINGS] = {program, redfish->config};
    char text[8192];
    struct source_output output;
    for (size_t i = 0; i < redfish->target_count; i++)
        argv[2 + i] = redfish->targets[i];
    joule_status status =
        source_run(source, argv, redfish->target_count ? READ_NS : FIND_NS, text, sizeof text, &output);
    if (status != JOULE_OK)
        return status;
    redfish_parse(text, out_text);
    return output.exit_status != 0 && out_text->status == JOULE_OK ? JOULE_FAILED : out_text->status;
}

/* Returns the path of the joule-redfish that belongs to the running program. joule-redfish is in the folder
 * of that program, or at REDFISH_BESIDE, relative to that folder, if the program is `joule`. A relative path
 * remains valid if the build tree is moved. Returns NULL if the running program is not one of Joule's,
 * because other users may be able to write to that program's folder. */
static const char *find_beside(struct source *source, char buffer[512])
{
    char exe[256];
    ssize_t length = source->host->ops->read_link(source->host, "/proc/self/exe", exe, sizeof exe);
    char *slash = length > 0 ? strrchr(exe, '/') : NULL;
    if (!slash)
        return NULL;
    *slash = '\0';
    if (strcmp(slash + 1, "joule") != 0 && !string_starts(slash + 1, "joule-"))
        return NULL;
    string_print(buffer, 512, "%s/%s", exe, slash[strlen("/joule")] ? "joule-redfish" : REDFISH_BESIDE);
    return buffer;
}

/* Number of paths at which joule-redfish is searched: JOULE_REDFISH_PROGRAM, beside this program, the
 * installation, PATH. */
#define PLACES 4
static const char *place(struct source *source, size_t i, char buffer[512])
{
    switch (i) {
    case 0:
        return source->host->ops->env(source->host, "JOULE_REDFISH_PROGRAM");
    case 1:
        return find_beside(source, buffer);
    case 2:
        return REDFISH_INSTALLED;
    default:
        return "joule-redfish";
    }
}

static void store_targets(struct redfish_meter *redfish, const struct redfish_text *text)
{
    redfish->target_count = text->count;
    for (size_t i = 0; i < text->count; i++)
        string_copy(redfish->targets[i], sizeof redfish->targets[i], text->readings[i].target);
}

/* Runs the first joule-redfish that exists, and stores its output in *out_text. Returns the program's status,
 * or ABSENT if it exists nowhere. */
static joule_status find_program(struct source *source, struct redfish_meter *redfish,
                                 struct redfish_text *out_text)
{
    char buffer[512];
    joule_status status = JOULE_ABSENT;
    *out_text = (struct redfish_text){.status = JOULE_ABSENT};
    for (size_t i = 0; i < PLACES && !redfish->program; i++) {
        const char *program = place(source, i, buffer);
        if (!program)
            continue;
        status = run_program(source, redfish, program, out_text);
        if (status != JOULE_ABSENT || out_text->reason[0])
            redfish->program = arena_copy(&source->arena, program, sizeof buffer);
    }
    if (status == JOULE_OK)
        store_targets(redfish, out_text);
    return status;
}

joule_status redfish_meter_read(struct source *source, struct redfish_meter *redfish,
                                struct redfish_text *out_text)
{
    *out_text = (struct redfish_text){.status = JOULE_FAILED};
    if (++redfish->readings % FIND_AGAIN == 0)
        redfish->target_count = 0;
    joule_status status = run_program(source, redfish, redfish->program, out_text);
    if (status == JOULE_OK)
        store_targets(redfish, out_text);
    return status;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static const struct node_power views[REDFISH_VIEWS] = {
    {"node-supplies", "input of the power supplies", RANK_NODE_SUPPLIES, 344, GAIN_SD, MAX_WATTS},
    {"node-chassis", "the chassis' EnvironmentMetrics", RANK_NODE_CHASSIS, 345, GAIN_SD, MAX_WATTS},
    {"node-control", "the chassis' PowerControl", RANK_NODE_CONTROL, 346, GAIN_SD, MAX_WATTS},
};

static void add_view(struct source *source, enum redfish_view view, const struct redfish_text *text)
{
    struct redfish *redfish = source->data;
    bool is_reported = false;
    for (size_t i = 0; i < text->count; i++)
        is_reported = is_reported || text->readings[i].view == view;
    struct channel *ch = is_reported ? source_add_node_power(source, &views[view]) : NULL;
    redfish->views[view] = ch;
    if (ch)
        string_copy(ch->info.model, sizeof ch->info.model, text->model);
}

joule_status redfish_meter_open(struct source *source, const char *config, struct redfish_meter *out_meter,
                                struct redfish_text *out_text)
{
    if (!(out_meter->config = arena_copy(&source->arena, config, 4096)))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = find_program(source, out_meter, out_text);
    if (!out_meter->program)
        return source_set_state(source, JOULE_ABSENT,
                                "there is no joule-redfish; it is built only if libcurl is installed");
    if (status != JOULE_OK)
        return source_set_state(source, status, "%s",
                                out_text->reason[0] ? out_text->reason : "joule-redfish printed no result");
    return JOULE_OK;
}

static joule_status redfish_open(struct source *source)
{
    const char *config = source->host->ops->env(source->host, "JOULE_REDFISH");
    struct redfish_text text = {.count = 0};
    if (!config || !*config)
        return source_set_state(source, JOULE_ABSENT,
                                "set JOULE_REDFISH=FILE to query the management controller that FILE "
                                "describes (docs/devices.md)");
    struct redfish *redfish = source->data = arena_alloc(&source->arena, sizeof *redfish);
    if (!redfish)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = redfish_meter_open(source, config, &redfish->meter, &text);
    if (status != JOULE_OK)
        return status;
    for (int view = 0; view < REDFISH_VIEWS; view++)
        add_view(source, view, &text);
    return source->channel_count
               ? JOULE_OK
               : source_set_state(source, JOULE_UNSUPPORTED, "the management controller reports no power");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void redfish_read(struct source *source, struct sink *sink)
{
    struct redfish *redfish = source->data;
    struct redfish_text text;
    joule_status status = redfish_meter_read(source, &redfish->meter, &text);
    for (int view = 0; view < REDFISH_VIEWS; view++) {
        struct channel *ch = redfish->views[view];
        double watts = redfish_watts(&text, view);
        if (!ch)
            continue;
        if (status == JOULE_OK && !isnan(watts))
            sink_power(sink, ch, 0, watts);
        else
            sink_fail(sink, ch, status == JOULE_OK ? JOULE_STALE : status);
    }
}

const struct source_ops source_redfish = {
    .name = "redfish",
    .measurement = "redfish",
    .tier = 2,
    .is_slow = true,
    .variable = "JOULE_REDFISH",
    .period_s = PERIOD_S,
    .open = redfish_open,
    .read = redfish_read,
};
