/* tools/forge/forge_devices.c - `forge devices`: lists the devices that programs can run on.
 *
 * Note: a device that cannot be opened is listed with the reason, and the exit code is 0.
 */
#include <forge/program.h>
#include <stdio.h>
#include <string.h>
#include "base/json_writer.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/page.h"
#include "device_weights.h"
#include "files.h"

#define SCHEMA      "forge-devices-1"
#define MAX_DEVICES 32

struct row {
    const char *name;
    joule_status status; /* result of opening the device */
    joule_error error;
    forge_device_facts facts; /* valid if status is OK */
    struct device_weights weights;
};

struct listing {
    struct row rows[MAX_DEVICES];
    size_t count;
};

static void query_device(struct row *row, bool measures_weights)
{
    forge_device *device = NULL;
    row->facts.struct_size = sizeof row->facts;
    row->status = forge_device_open(row->name, &device, &row->error);
    if (row->status == JOULE_OK)
        row->status = forge_device_query(device, &row->facts);
    if (row->status == JOULE_OK && measures_weights)
        device_weights_measure(device, &row->weights);
    forge_device_close(device);
}

/* --- text ----------------------------------------------------------------------------------------------- */

static void print_sets(const forge_instruction_set *sets, struct text *out)
{
    text_add(out, "  instruction sets  ");
    for (size_t i = 0; sets[i].name; i++)
        text_printf(out, "%s%s%s", i ? ", " : "", sets[i].name,
                    sets[i].is_in_use      ? " (in use)"
                    : sets[i].is_supported ? ""
                                           : " (not supported)");
    text_add(out, "; set FORGE_ISA to choose\n");
}

static void print_figure(const forge_device_figure *f, struct text *out)
{
    text_printf(out, "  %-16s  %.3g %s (%.2g to %.2g), %s: %s\n", f->name, f->value.value, f->unit,
                f->value.low, f->value.high, joule_class_name(f->value.cls), f->source);
}

static void print_row(const struct row *row, struct text *out)
{
    char memory[BYTES_TEXT];
    if (row->status != JOULE_OK) {
        text_printf(out, "%s: not available: %s\n", row->name, row->error.message);
        return;
    }
    text_printf(out, "%s: %s\n", row->name,
                row->facts.is_estimate_only ? "runs nothing, estimates time and energy" : "runs here");
    if (row->facts.threads)
        text_printf(out, "  threads           %u\n", row->facts.threads);
    if (row->facts.instruction_sets[0].name)
        print_sets(row->facts.instruction_sets, out);
    if (row->facts.memory_bytes)
        text_printf(out, "  memory            %s\n", bytes_text((double)row->facts.memory_bytes, memory));
    for (const forge_device_figure *figure = row->facts.figures; figure->name; figure++)
        print_figure(figure, out);
    device_weights_print(&row->weights, out);
}

static void print_listing(const void *context, struct text *out)
{
    const struct listing *listing = context;
    for (size_t i = 0; i < listing->count; i++)
        print_row(&listing->rows[i], out);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_number(struct json *json, const char *key, uint64_t number)
{
    if (number)
        json_integer(json, key, (int64_t)number);
    else
        json_null(json, key);
}

static void add_sets(struct json *json, const forge_instruction_set *set)
{
    json_open(json, "instruction_sets", '[');
    for (; set->name; set++) {
        json_open(json, NULL, '{');
        json_string(json, "name", set->name);
        json_bool(json, "here", set->is_supported);
        json_bool(json, "in_use", set->is_in_use);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_figures(struct json *json, const forge_device_figure *figure)
{
    json_open(json, "figures", '[');
    for (; figure->name; figure++) {
        json_open(json, NULL, '{');
        json_string(json, "name", figure->name);
        json_string(json, "unit", figure->unit);
        json_double(json, "value", figure->value.value);
        json_open(json, "interval", '[');
        json_double(json, NULL, figure->value.low);
        json_double(json, NULL, figure->value.high);
        json_close(json, ']');
        json_string(json, "class", joule_class_name(figure->value.cls));
        json_string(json, "source", figure->source);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_row(struct json *json, const struct row *row)
{
    json_open(json, NULL, '{');
    json_string(json, "name", row->name);
    json_string(json, "state", joule_status_name(row->status));
    json_string(json, "reason", row->status == JOULE_OK ? NULL : row->error.message);
    add_number(json, "threads", row->facts.threads);
    add_number(json, "memory_bytes", row->facts.memory_bytes);
    if (row->status == JOULE_OK) {
        add_sets(json, row->facts.instruction_sets);
        json_bool(json, "only_estimates", row->facts.is_estimate_only);
        add_figures(json, row->facts.figures);
        device_weights_add(&row->weights, json);
    } else {
        json_null(json, "instruction_sets");
        json_null(json, "only_estimates");
        json_null(json, "figures");
        json_null(json, "weights");
    }
    json_close(json, '}');
}

static void print_json(const void *context, struct text *out)
{
    const struct listing *listing = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_open(&json, "devices", '[');
    for (size_t i = 0; i < listing->count; i++)
        add_row(&json, &listing->rows[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

int devices_main(int argc, char **argv)
{
    bool as_json = false, measures_weights = false;
    const struct option table[] = {
        {"json", 'j', OPTION_FLAG, &as_json, NULL, "print a JSON object"},
        {"weights", 'w', OPTION_FLAG, &measures_weights, NULL,
         "measure how fast weights of each element type are multiplied (takes seconds)"},
        {NULL},
    };
    const struct command_text text = {
        "forge devices [OPTIONS]",
        "Lists the devices that programs can run on, and why others are not available.", NULL};
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc) {
        complain("devices", "unexpected argument '%s'; see forge devices --help", argv[first]);
        return EXIT_USAGE;
    }
    struct listing listing = {0};
    const char *name;
    while (listing.count < MAX_DEVICES && (name = forge_device_name_at(listing.count))) {
        listing.rows[listing.count].name = name;
        query_device(&listing.rows[listing.count++], measures_weights);
    }
    return page_print("devices", as_json ? print_json : print_listing, &listing);
}
