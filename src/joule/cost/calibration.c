/* joule/cost/calibration.c - see calibration.h.
 *
 * Note: the file is untrusted. One value out of range makes the whole calibration invalid, because users
 * would trust a partial calibration like a complete one.
 */
#include "joule/cost/calibration.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "base/json.h"
#include "base/string.h"

#define MAX_UNIX_SECONDS 253402300799.0 /* the end of the year 9999 */
#define MAX_RATE         64
#define MAX_LATENCY      1e6
#define MAX_OVERLAP      1000
#define MAX_LOG_SD       1
#define MAX_JOULES       1e-3
#define MAX_IDLE_WATTS   1e4
/* Scale error of energy counters (assumed for all of them); it is common to all prices. */
#define SENSOR_LOG_SD 0.05

/* A term that was not measured. */
static const struct cost_term none = {NAN, NAN, NAN};

/* --- reading -------------------------------------------------------------------------------------------- */

/* State of cost_calibration_parse. is_wrong: a message was set. */
struct reading {
    const char *what;
    joule_error *error;
    bool is_wrong;
};

/* Sets the message for a missing or invalid key. Only the first call sets it. */
static void report_key(struct reading *r, const char *key)
{
    if (!r->is_wrong)
        error_set(r->error, JOULE_INVALID,
                  "%s: '%s' is missing or out of range; run 'joule calibrate' to replace it", r->what, key);
    r->is_wrong = true;
}

/* Copies a text, which must fit; otherwise reports the key. */
static void read_text(struct reading *r, const struct json_value *object, const char *key, char *out,
                      size_t size)
{
    const char *text = json_text_of(json_member(object, key));
    if (!text || !string_copy(out, size, text))
        report_key(r, key);
}

/* Reads a JSON number from `min` to `max`; otherwise reports the key and returns NAN. */
static double read_number(struct reading *r, const struct json_value *object, const char *key, double min,
                          double max)
{
    const struct json_value *member = json_member(object, key);
    double value = member && member->kind == JSON_NUMBER ? json_double_of(member) : NAN;
    if (!(value >= min && value <= max)) {
        report_key(r, key);
        return NAN;
    }
    return value;
}

/* Reads true or false; otherwise reports the key and returns false. */
static bool read_bool(struct reading *r, const struct json_value *object, const char *key)
{
    const struct json_value *member = json_member(object, key);
    if (!member || (member->kind != JSON_TRUE && member->kind != JSON_FALSE))
        report_key(r, key);
    return member && member->kind == JSON_TRUE;
}

/* Reads a value with its 5 % and 95 % points; reports the key if one of them is missing or invalid. */
static struct cost_term read_term(struct reading *r, const struct json_value *term, const char *key,
                                  double min, double max)
{
    struct cost_term t = {read_number(r, term, "value", min, max), read_number(r, term, "low", min, max),
                          read_number(r, term, "high", min, max)};
    if (!(t.low <= t.value && t.value <= t.high))
        report_key(r, key);
    return t;
}

/* Reads an object whose keys are feature names into `out`. Features without a key are left unchanged. */
static void read_terms(struct reading *r, const struct json_value *parent, const char *key, double min,
                       double max, struct cost_term out[COST_FEATURES])
{
    const struct json_value *object = json_member(parent, key);
    size_t known = 0, all = 0;
    if (!object || object->kind != JSON_OBJECT) {
        report_key(r, key);
        return;
    }
    for (const struct json_value *item = object->first; item; item = item->next)
        all++;
    for (int i = 0; i < COST_FEATURES; i++) {
        const char *name = cost_feature_name((enum cost_feature)i);
        const struct json_value *term = json_member(object, name);
        known += term != NULL;
        if (term)
            out[i] = read_term(r, term, name, min, i == COST_PACKAGE_SECONDS ? MAX_IDLE_WATTS : max);
    }
    if (known != all) /* an unknown name, or a repeated one */
        report_key(r, key);
}

static void read_speeds(struct reading *r, const struct json_value *time, struct cost_speeds *out)
{
    const double tiny = 1e-9;
    out->hz = read_term(r, json_member(time, "hz"), "hz", 1e7, 2e10);
    out->overlap = read_term(r, json_member(time, "overlap"), "overlap", 1, MAX_OVERLAP);
    out->log_sd = read_number(r, time, "log_sd", 1e-3, MAX_LOG_SD);
    out->hz_log_sd = read_number(r, time, "hz_log_sd", 0, MAX_LOG_SD);
    read_terms(r, time, "per_cycle", tiny, MAX_RATE, out->per_cycle);
    read_terms(r, time, "latency_cycles", tiny, MAX_LATENCY, out->latency);
}

static void read_prices(struct reading *r, const struct json_value *energy, struct cost_prices *out)
{
    const char *cls = json_text_of(json_member(energy, "class"));
    if (!energy) {
        report_key(r, "energy");
        return;
    }
    if (energy->kind == JSON_NULL)
        return;
    out->cls = cls && strcmp(cls, "measured") == 0  ? JOULE_CLASS_MEASURED
               : cls && strcmp(cls, "derived") == 0 ? JOULE_CLASS_DERIVED
                                                    : JOULE_CLASS_NONE;
    if (out->cls == JOULE_CLASS_NONE)
        report_key(r, "class");
    read_text(r, energy, "source", out->source, sizeof out->source);
    out->log_sd = read_number(r, energy, "log_sd", 1e-3, MAX_LOG_SD);
    read_terms(r, energy, "joules", 0, MAX_JOULES, out->joules);
}

static void read_cpu(struct reading *r, const struct json_value *cpu, struct cost_calibration *out)
{
    read_text(r, cpu, "vendor", out->vendor, sizeof out->vendor);
    read_text(r, cpu, "name", out->name, sizeof out->name);
    double family = read_number(r, cpu, "family", 0, UINT16_MAX),
           model = read_number(r, cpu, "model", 0, UINT16_MAX),
           stepping = read_number(r, cpu, "stepping", 0, UINT16_MAX);
    if (!r->is_wrong) {
        out->family = (unsigned)family;
        out->model = (unsigned)model;
        out->stepping = (unsigned)stepping;
    }
    out->is_virtual = read_bool(r, cpu, "virtual");
}

static void begin(struct cost_calibration *out)
{
    *out = (struct cost_calibration){
        .temperature_celsius = NAN, .prices.cls = JOULE_CLASS_NONE, .prices.log_sd = NAN};
    for (int i = 0; i < COST_FEATURES; i++)
        out->speeds.per_cycle[i] = out->speeds.latency[i] = out->prices.joules[i] = none;
}

static void read_all(struct reading *r, const struct json_value *root, struct cost_calibration *out)
{
    const char *schema = json_text_of(json_member(root, "schema"));
    const struct json_value *temperature = json_member(root, "temperature_celsius");
    if (!schema || strcmp(schema, CALIBRATION_SCHEMA) != 0)
        report_key(r, "schema");
    double seconds = read_number(r, root, "unix_seconds", 0, MAX_UNIX_SECONDS);
    out->unix_seconds = isnan(seconds) ? 0 : (int64_t)seconds;
    read_text(r, root, "joule_version", out->joule_version, sizeof out->joule_version);
    read_text(r, root, "uarch", out->uarch, sizeof out->uarch);
    if (temperature && temperature->kind != JSON_NULL)
        out->temperature_celsius = read_number(r, root, "temperature_celsius", -100, 200);
    read_cpu(r, json_member(root, "cpu"), out);
    read_speeds(r, json_member(root, "time"), &out->speeds);
    read_prices(r, json_member(root, "energy"), &out->prices);
}

joule_status cost_calibration_parse(char *text, size_t size, const char *what, struct cost_calibration *out,
                                    joule_error *out_error)
{
    struct arena arena = {0};
    joule_error error;
    struct reading r = {.what = what, .error = &error};
    begin(out);
    error.status = JOULE_OK;
    const struct json_value *root = json_parse(&arena, text, size, what, &error);
    if (root)
        read_all(&r, root, out);
    arena_free(&arena);
    if (root && !r.is_wrong)
        return JOULE_OK;
    begin(out);
    return error_set(out_error, root ? JOULE_INVALID : error.status, "%s", error.message);
}

/* --- use ------------------------------------------------------------------------------------------------ */

bool cost_calibration_is_of(const struct cost_calibration *calibration, const struct cost_cpu *cpu,
                            unsigned stepping)
{
    return strcmp(calibration->vendor, cpu->vendor) == 0 && calibration->family == cpu->family &&
           calibration->model == cpu->model && calibration->stepping == stepping &&
           calibration->is_virtual == cpu->is_virtual && strcmp(calibration->name, cpu->name) == 0;
}

void cost_calibration_date(const struct cost_calibration *calibration, char out_date[16])
{
    struct tm tm;
    time_t seconds = (time_t)calibration->unix_seconds;
    if (!gmtime_r(&seconds, &tm) || strftime(out_date, 16, "%Y-%m-%d", &tm) == 0)
        string_copy(out_date, 16, "unknown");
}

static void apply_speeds(const struct cost_speeds *speeds, struct cost_core *core)
{
    double seed_hz = core->hz;
    core->cls = JOULE_CLASS_DERIVED;
    core->hz = speeds->hz.value;
    core->overlap = speeds->overlap.value;
    core->log_sd = speeds->log_sd;
    core->hz_log_sd = speeds->hz_log_sd;
    /* Times per cache line that were not measured remain the same in seconds. So latencies and rates, which
     * are in cycles, change with the frequency. */
    for (int i = COST_L3_LINES; i <= COST_DRAM_LINES; i++) {
        core->latency[i] *= core->hz / seed_hz;
        core->per_cycle[i] *= seed_hz / core->hz;
    }
    for (int i = 0; i < COST_FEATURES; i++) {
        if (speeds->per_cycle[i].value > 0)
            core->per_cycle[i] = speeds->per_cycle[i].value;
        if (speeds->latency[i].value > 0)
            core->latency[i] = speeds->latency[i].value;
    }
}

/* Applies the measured prices. Prices that were not measured become unknown, because an assumed price among
 * measured ones would look measured. */
static void apply_prices(const struct cost_prices *prices, struct cost_table *table)
{
    table->cls = JOULE_CLASS_DERIVED; /* attributed from measured energy */
    table->source = "calibrated on this machine, with its own sensor";
    for (int i = 0; i < COST_FEATURES; i++) {
        table->joules[i] = prices->joules[i].value;
        memset(table->log_sd[i], 0, sizeof table->log_sd[i]);
        table->log_sd[i][COST_CAUSE_SIZE] = SENSOR_LOG_SD;
        table->log_sd[i][COST_CAUSE_WORK] = prices->log_sd;
    }
}

void cost_calibration_apply(const struct cost_calibration *calibration, struct cost_core *core,
                            struct cost_table *table)
{
    char date[16];
    apply_speeds(&calibration->speeds, core);
    if (calibration->prices.cls == JOULE_CLASS_NONE)
        return;
    apply_prices(&calibration->prices, table);
    cost_calibration_date(calibration, date);
    string_print(table->id, sizeof table->id, "calibrated/%s %s", calibration->uarch, date);
}
