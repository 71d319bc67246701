/* tools/joule/idle.c - see idle.h.
 *
 * Note: only this program writes the file. Therefore the file is not parsed as JSON: it is searched for the
 * written keys. Any other content counts as "no baseline".
 */
#include "idle.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "joule/attribute/idle_baseline.h"
#include "joule/report/report.h"
#include "common/output.h"

#define SCHEMA         "joule-idle-2"
#define FILE_SIZE      4096
#define VALID_DAYS     30                /* a stored baseline is valid for this time */
#define SETTLE_NS      (300 * 1000000LL) /* maximum time to wait for late sensors */
#define SETTLE_SLEEP_S 0.01

struct idle_baseline idle_unknown(void)
{
    return (struct idle_baseline){
        .total_watts = estimate_unknown(), .cpu_watts = estimate_unknown(), .busy = NAN};
}

/* --- the file ------------------------------------------------------------------------------------------- */

static bool file_path(char *out_path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct text path;
    text_init(&path, out_path, size);
    if (cache && *cache == '/')
        text_printf(&path, "%s/joule/idle.json", cache);
    else if (home && *home == '/')
        text_printf(&path, "%s/.cache/joule/idle.json", home);
    return path.length > 0 && path.length < size;
}

/* Writes an id of this machine, because several machines may share a home folder. */
static void machine_name(char *out_name, size_t size)
{
    struct joule_host *host = host_real();
    struct utsname names;
    char id[64];
    string_copy(out_name, size, "unknown");
    if (host->ops->read_file(host, "/etc/machine-id", id, sizeof id) > 0 && *string_trim(id))
        string_copy(out_name, size, string_trim(id));
    else if (uname(&names) == 0)
        string_copy(out_name, size, names.nodename);
}

/* Returns true if the text contains "key":"value" as the JSON writer formats it. */
static bool has_string(const char *text, const char *key, const char *value)
{
    char wanted[IDLE_COVER_SIZE * 2];
    struct text out;
    struct json json = {.out = &out};
    text_init(&out, wanted, sizeof wanted);
    json_string(&json, key, value);
    return out.length < sizeof wanted && strstr(text, wanted);
}

static double number_of(const char *text, const char *key)
{
    char wanted[64];
    double value;
    snprintf(wanted, sizeof wanted, "\"%s\":", key);
    const char *at = strstr(text, wanted);
    return at && string_scan_double(at + strlen(wanted), &value) ? value : NAN;
}

/* Writes the key for one property of a power's common error number `index` to out_key, such as
 * "total_watts_0_cause". what: the property, "cause" or "sd". Returns out_key. */
#define ERROR_KEY_SIZE 40
static const char *error_key(const char *key, size_t index, const char *what, char out_key[ERROR_KEY_SIZE])
{
    snprintf(out_key, ERROR_KEY_SIZE, "%s_%zu_%s", key, index, what);
    return out_key;
}

static struct estimate power_of(const char *text, const char *key, joule_class cls)
{
    char name[ERROR_KEY_SIZE];
    double watts = number_of(text, key);
    if (!(watts >= 0))
        return estimate_unknown();
    struct estimate power = estimate_make(watts, cls, 0, CAUSE_NONE, 0);
    for (size_t i = 0; i < ESTIMATE_CAUSES; i++) {
        double cause = number_of(text, error_key(key, i, "cause", name));
        double sd = number_of(text, error_key(key, i, "sd", name));
        if (!(cause >= 1 && cause <= UINT32_MAX && isfinite(sd)))
            return i > 0 ? power : estimate_unknown(); /* a baseline without an error is invalid */
        struct estimate error = estimate_make(0, cls, 0, (uint32_t)cause, sd);
        power = estimate_add(power, 1, &error);
    }
    return power;
}

static joule_class class_of(const char *text)
{
    for (joule_class cls = JOULE_CLASS_MEASURED; cls <= JOULE_CLASS_ASSUMED; cls++)
        if (has_string(text, "class", joule_class_name(cls)))
            return cls;
    return JOULE_CLASS_NONE;
}

struct idle_baseline idle_load(const char *cover)
{
    struct joule_host *host = host_real();
    struct idle_baseline baseline = idle_unknown();
    char path[PATH_MAX], text[FILE_SIZE], machine[128];
    machine_name(machine, sizeof machine);
    if (!file_path(path, sizeof path) || host->ops->read_file(host, path, text, sizeof text) <= 0 ||
        !has_string(text, "schema", SCHEMA) || !has_string(text, "machine", machine) ||
        !has_string(text, "cover", cover))
        return baseline;
    double taken_s = number_of(text, "unix_seconds");
    double age_s = (double)time(NULL) - taken_s;
    joule_class cls = class_of(text);
    if (!(age_s >= 0 && age_s < VALID_DAYS * 86400.0) || cls == JOULE_CLASS_NONE)
        return baseline;
    baseline.total_watts = power_of(text, "total_watts", cls);
    baseline.cpu_watts = power_of(text, "cpu_watts", cls);
    baseline.busy = number_of(text, "busy_share");
    string_copy(baseline.cover, sizeof baseline.cover, cover);
    report_time((int64_t)taken_s * NS_PER_S, baseline.date);
    return baseline;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* if this fails, writing the file fails with a message */
        *slash = '/';
    }
}

static void write_power(struct json *json, const char *key, const struct estimate *watts)
{
    char name[ERROR_KEY_SIZE];
    json_exact(json, key, watts->value);
    for (size_t i = 0; i < ESTIMATE_CAUSES && watts->common[i].cause != CAUSE_NONE; i++) {
        json_integer(json, error_key(key, i, "cause", name), watts->common[i].cause);
        json_exact(json, error_key(key, i, "sd", name), watts->common[i].sd);
    }
}

joule_status idle_store(const struct idle_baseline *baseline, joule_error *out_error)
{
    char path[PATH_MAX], content[FILE_SIZE], machine[128];
    if (!file_path(path, sizeof path))
        return error_set(out_error, JOULE_ABSENT, "neither XDG_CACHE_HOME nor HOME names a folder");
    machine_name(machine, sizeof machine);
    struct text text;
    struct json json = {.out = &text};
    text_init(&text, content, sizeof content);
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "machine", machine);
    json_string(&json, "cover", baseline->cover);
    json_string(&json, "class", joule_class_name(baseline->total_watts.cls));
    write_power(&json, "total_watts", &baseline->total_watts);
    write_power(&json, "cpu_watts", &baseline->cpu_watts);
    json_exact(&json, "busy_share", baseline->busy);
    json_integer(&json, "unix_seconds", (int64_t)time(NULL));
    json_close(&json, '}');
    text_add(&text, "\n");
    if (text.length >= sizeof content)
        return error_set(out_error, JOULE_FAILED, "the baseline does not fit into its file");
    make_folders(path);
    return output_write(path, content, text.length, out_error);
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static void sleep_seconds(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

joule_status idle_measure(joule_meter *meter, double seconds, struct idle_baseline *out_baseline,
                          joule_error *out_error)
{
    *out_baseline = idle_unknown();
    struct attribute_group *watch = attribute_begin(host_real(), ATTRIBUTE_WAIT4);
    joule_sample_now(meter);
    int64_t begin_ns = meter_now_ns(meter);
    if (watch)
        attribute_start(watch);
    sleep_seconds(seconds);
    struct attribution use = {.machine_busy_cpu_s = NAN};
    if (watch)
        use = attribute_finish(watch);
    attribute_free(watch);
    int64_t end_ns = meter_now_ns(meter);
    joule_sample_now(meter);
    while (!meter_window(meter, JOULE_TOTAL, begin_ns, end_ns).is_final &&
           meter_now_ns(meter) < end_ns + SETTLE_NS) {
        sleep_seconds(SETTLE_SLEEP_S);
        joule_sample_now(meter);
    }
    struct cover cover;
    meter_cover(meter, JOULE_TOTAL, begin_ns, end_ns, &cover);
    meter_cover_name(meter, &cover, out_baseline->cover, sizeof out_baseline->cover);
    out_baseline->total_watts = baseline_watts(meter, JOULE_TOTAL, begin_ns, end_ns);
    out_baseline->cpu_watts = baseline_watts(meter, JOULE_CPU, begin_ns, end_ns);
    report_time((int64_t)time(NULL) * NS_PER_S, out_baseline->date);
    out_baseline->busy = use.machine_busy_cpu_s / use.machine_cpu_s;
    if (isnan(out_baseline->total_watts.value))
        return error_set(out_error, JOULE_PENDING, "no sensor gave a reading in %g s", seconds);
    return JOULE_OK;
}
