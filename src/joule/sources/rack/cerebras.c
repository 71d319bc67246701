/* joule/sources/rack/cerebras.c - the source "cerebras": wafer-scale systems of the cluster that this user
 * node belongs to.
 *
 * Cerebras' installer creates /opt/cerebras/config_v2, and the program csctl, which lists the systems.
 * JOULE_CSCTL names a program to run instead. Neither the file nor csctl reports power or load. */
#include <math.h>
#include "base/json.h"
#include "base/string.h"
#include "joule/sources/rack/rack.h"

#define FOLDER     "/opt/cerebras"
#define TIMEOUT_NS INT64_C(10000000000) /* csctl queries the cluster over the network */
#define MAX_TEXT   (256 << 10)
#define MODEL      "Cerebras wafer-scale system"

static const struct rack_kind kind = {"cerebras", "JOULE_CEREBRAS", "wse", "cerebras", 1002};

struct cerebras {
    struct rack_meter meter;
    bool is_listed; /* csctl has listed the systems */
};

/* Adds a device for each system in csctl's output, {"items": [{"meta": {"name": "cs-01"}}, ...]}. Returns
 * JOULE_FAILED for output of another form. */
static joule_status add_systems(struct source *source, char *text, size_t length)
{
    struct arena arena = {0};
    const struct json_value *list = json_parse(&arena, text, length, "csctl", NULL);
    const struct json_value *items = json_member(list, "items");
    joule_status status = items && items->kind == JSON_ARRAY ? JOULE_OK : JOULE_FAILED;
    for (const struct json_value *item = status == JOULE_OK ? items->first : NULL; item; item = item->next) {
        const char *name = json_text_of(json_member(json_member(item, "meta"), "name"));
        if (source->device_count < MAX_GPUS && !rack_add_device(source, &kind, MODEL, name ? name : ""))
            status = JOULE_NO_MEMORY;
    }
    arena_free(&arena);
    return status;
}

static joule_status list_systems(struct source *source)
{
    const char *own = source->host->ops->env(source->host, "JOULE_CSCTL");
    const char *const argv[] = {
        own && *own ? own : "csctl", "get", "cluster", "--system-only", "-ojson", NULL};
    struct source_output output;
    char *text = arena_alloc(&source->arena, MAX_TEXT);
    if (!text)
        return JOULE_NO_MEMORY;
    joule_status status = source_run(source, argv, TIMEOUT_NS, text, MAX_TEXT, &output);
    if (status == JOULE_OK && output.exit_status != 0)
        status = JOULE_FAILED;
    return status == JOULE_OK ? add_systems(source, text, output.length) : status;
}

static joule_status cerebras_open(struct source *source)
{
    const char *setting = source->host->ops->env(source->host, kind.variable);
    bool is_configured = setting && *setting;
    if (!is_configured && !host_has_any(source->host, FOLDER))
        return source_set_state(source, JOULE_ABSENT,
                                "this machine is not a user node of a Cerebras cluster");
    struct cerebras *cerebras = source->data = arena_alloc(&source->arena, sizeof *cerebras);
    if (!cerebras)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = list_systems(source);
    cerebras->is_listed = status == JOULE_OK;
    if (!cerebras->is_listed && !is_configured)
        return source_set_state(source, status == JOULE_ABSENT ? status : JOULE_FAILED,
                                FOLDER
                                " exists, but csctl lists no systems: run `csctl get cluster --system-only`");
    if (source->device_count == 0 && !rack_add_device(source, &kind, MODEL, ""))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return rack_meter_open(source, &kind, &cerebras->meter);
}

static void cerebras_read(struct source *source, struct sink *sink)
{
    struct cerebras *cerebras = source->data;
    rack_meter_read(source, &cerebras->meter, sink, NAN);
}

/* Reports that the systems are present. csctl does not run again, because each run loads the cluster's
 * server. */
static void cerebras_query(struct source *source, struct sink *sink)
{
    const struct cerebras *cerebras = source->data;
    struct device_facts facts = device_facts_unknown();
    for (size_t i = 0; i < source->device_count && cerebras->is_listed; i++)
        sink_facts(sink, source->devices[i], &facts);
}

const struct source_ops source_cerebras = {
    .name = "cerebras",
    .measurement = "external",
    .tier = 3,
    .is_slow = true,
    .folder = FOLDER,
    .variable = "JOULE_CEREBRAS",
    .period_s = RACK_PERIOD_S,
    .open = cerebras_open,
    .read = cerebras_read,
    .query = cerebras_query,
};
