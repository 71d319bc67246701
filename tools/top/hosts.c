/* tools/top/hosts.c - see hosts.h. */
#include "hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/string.h"

#define DEFAULT_PORT "9400"
#define STALE_NS     3500000000LL /* three missing reports and some delay */

/* --- the list ------------------------------------------------------------------------------------------- */

static bool is_host_text(const char *text, size_t length)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]%";
    return length > 0 && strspn(text, allowed) >= length;
}

/* Returns the port of "HOST:PORT" or "[HOST]:PORT"; NULL: no port. */
static const char *port_of(const char *name)
{
    const char *end = name[0] == '[' ? strchr(name, ']') : name, *colon = end ? strchr(end, ':') : NULL;
    return colon ? colon + 1 : NULL;
}

static bool is_loopback(const char *name)
{
    return string_starts(name, "127.") || string_starts(name, "[::1]") ||
           (strncasecmp(name, "localhost", 9) == 0 && (name[9] == '\0' || name[9] == ':'));
}

static bool read_host(struct host_row *row, const char *item, size_t length, bool is_tls)
{
    static const char http[] = "http://", https[] = "https://";
    *row = (struct host_row){.watts = {NAN, NAN, NAN, JOULE_CLASS_NONE},
                             .cpu_watts = NAN,
                             .gpu_watts = NAN,
                             .joules = NAN,
                             .counted_joules = NAN,
                             .server_s = NAN};
    bool is_http = length > sizeof http - 1 && strncmp(item, http, sizeof http - 1) == 0;
    bool is_https = length > sizeof https - 1 && strncmp(item, https, sizeof https - 1) == 0;
    size_t scheme = is_http ? sizeof http - 1 : is_https ? sizeof https - 1 : 0;
    item += scheme;
    length -= scheme;
    length -= scheme && item[length - 1] == '/';
    if (length >= sizeof row->name || !is_host_text(item, length))
        return false;
    memcpy(row->name, item, length);
    row->name[length] = '\0';
    const char *port = port_of(row->name);
    uint64_t number;
    if (port == row->name + 1 ||
        (port && (!string_to_u64(port, 10, &number) || number == 0 || number > 65535)))
        return false;
    row->has_scheme = scheme;
    row->is_plain_http = is_http || (!is_https && !is_tls);
    row->is_loopback = is_loopback(row->name);
    string_print(row->url, sizeof row->url, "%s%s%s/events", row->is_plain_http ? http : https, row->name,
                 port ? "" : ":" DEFAULT_PORT);
    return true;
}

bool hosts_read(struct hosts *hosts, const char *list, bool is_tls, joule_error *out_error)
{
    size_t capacity = 1;
    for (const char *c = list; *c; c++)
        capacity += *c == ',';
    hosts->list = calloc(capacity, sizeof *hosts->list);
    if (!hosts->list)
        return error_set(out_error, JOULE_NO_MEMORY, "out of memory"), false;
    for (const char *item = list; *item;) {
        size_t length = strcspn(item, ",");
        if (!read_host(&hosts->list[hosts->count], item, length, is_tls)) {
            error_set(out_error, JOULE_INVALID,
                      "--hosts takes HOST[:PORT] or https://HOST[:PORT], separated by commas, not '%.*s'",
                      (int)length, item);
            return false;
        }
        hosts->count++;
        item += length + (item[length] == ',');
    }
    if (hosts->count == 0)
        error_set(out_error, JOULE_INVALID, "--hosts takes a list of hosts");
    return hosts->count > 0;
}

void hosts_free(struct hosts *hosts)
{
    free(hosts->list);
    *hosts = (struct hosts){0};
}

/* --- reports -------------------------------------------------------------------------------------------- */

static joule_class class_of(const struct json_value *value)
{
    const char *text = json_text_of(value);
    for (int cls = JOULE_CLASS_MEASURED; text && cls <= JOULE_CLASS_ASSUMED; cls++)
        if (strcmp(text, joule_class_name((joule_class)cls)) == 0)
            return (joule_class)cls;
    return JOULE_CLASS_NONE;
}

/* Reads a power in watts, unknown if it is below 0 or has no class. */
static joule_quantity watts_of(const struct json_value *sum)
{
    joule_quantity q = {
        json_double_of(json_member(sum, "power_watts")), json_double_of(json_member(sum, "power_low_watts")),
        json_double_of(json_member(sum, "power_high_watts")), class_of(json_member(sum, "power_class"))};
    if (!(q.value >= 0) || q.cls == JOULE_CLASS_NONE)
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE};
    q.low = q.low <= q.value ? q.low : NAN;
    q.high = q.high >= q.value ? q.high : NAN;
    return q;
}

/* Adds the joules that the server has counted since the last report that this program received. */
static void count_joules(struct host_row *row, const struct json_value *sum, double server_s)
{
    double joules = json_double_of(json_member(sum, "energy_joules"));
    if (!(joules >= 0))
        return;
    bool has_restarted = server_s < row->server_s || joules < row->counted_joules;
    if (isnan(row->joules))
        row->joules = 0;
    else
        row->joules += has_restarted ? joules : joules - row->counted_joules;
    row->counted_joules = joules;
    row->server_s = server_s;
    joule_class cls = class_of(json_member(sum, "energy_class"));
    row->joules_class = cls > row->joules_class ? cls : row->joules_class;
}

bool host_parse_report(struct host_row *row, char *json, size_t size, int64_t now_ns)
{
    struct arena arena = {0};
    joule_error error;
    const struct json_value *report = json_parse(&arena, json, size, "report", &error);
    const char *schema = json_text_of(json_member(report, "schema"));
    bool is_report = schema && strcmp(schema, "joule-serve-1") == 0;
    if (is_report) {
        const struct json_value *totals = json_member(report, "totals"), *all = json_member(totals, "all");
        const struct json_value *partial = json_member(all, "partial"),
                                *devices = json_member(report, "devices");
        joule_quantity cpu = watts_of(json_member(totals, "cpu")), gpu = watts_of(json_member(totals, "gpu"));
        row->watts = watts_of(all);
        row->cpu_watts = cpu.value;
        row->cpu_class = cpu.cls;
        row->gpu_watts = gpu.value;
        row->gpu_class = gpu.cls;
        row->is_partial = !partial || partial->kind != JSON_FALSE;
        row->devices = 0;
        for (const struct json_value *d = devices ? devices->first : NULL; d; d = d->next)
            row->devices++;
        count_joules(row, all, json_double_of(json_member(report, "measuring_seconds")));
        row->seen_ns = now_ns;
        row->problem[0] = '\0';
    } else {
        string_copy(row->problem, sizeof row->problem, "answer is not a report of joule serve");
    }
    arena_free(&arena);
    return is_report;
}

enum host_state host_state_of(const struct host_row *row, int64_t now_ns)
{
    if (row->seen_ns == 0)
        return HOST_WAITING;
    return now_ns - row->seen_ns < STALE_NS ? HOST_LIVE : HOST_STALE;
}

void hosts_tick(struct hosts *hosts, int64_t now_ns)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct host_row *row = &hosts->list[i];
        bool is_live = host_state_of(row, now_ns) == HOST_LIVE;
        history_add(&row->history, hosts->tick, is_live ? row->watts.value : NAN);
    }
    hosts->tick++;
}

/* --- sums ----------------------------------------------------------------------------------------------- */

static void add_watts(struct hosts_total *total, joule_quantity watts)
{
    total->watts.value += watts.value;
    total->watts.low += watts.low;
    total->watts.high += watts.high;
    total->watts.cls = watts.cls > total->watts.cls ? watts.cls : total->watts.cls;
}

void hosts_sum(const struct hosts *hosts, int64_t now_ns, struct hosts_total *out)
{
    size_t known = 0, counted = 0;
    *out = (struct hosts_total){0};
    for (size_t i = 0; i < hosts->count; i++) {
        const struct host_row *row = &hosts->list[i];
        bool is_live = host_state_of(row, now_ns) == HOST_LIVE,
             is_known = is_live && !isnan(row->watts.value);
        out->live += is_live;
        out->is_partial |= !is_known || row->is_partial;
        if (is_known) {
            add_watts(out, row->watts);
            known++;
        }
        if (!isnan(row->joules)) {
            out->joules += row->joules;
            out->joules_class = row->joules_class > out->joules_class ? row->joules_class : out->joules_class;
            counted++;
        }
    }
    if (known == 0)
        out->watts = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE};
    if (counted == 0)
        out->joules = NAN;
}
