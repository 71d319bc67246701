/* joule/sources/rack/rack.c - see rack.h. */
#include "joule/sources/rack/rack.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

#define GAIN_SD_PLUGS   0.01 /* the same as in pdu.c */
#define GAIN_SD_REDFISH 0.03 /* the same as in redfish.c */
/* Assumed, as for TPUs: busy time does not show how hard a chip worked. */
#define GAIN_SD_SHARE 0.35

struct device *rack_add_device(struct source *source, const struct rack_kind *kind, const char *model,
                               const char *name)
{
    struct device *device = source_add_device(source, kind->kind, (int32_t)source->device_count);
    if (!device)
        return NULL;
    string_copy(device->vendor, sizeof device->vendor, kind->vendor);
    string_copy(device->model, sizeof device->model, model);
    string_copy(device->uuid, sizeof device->uuid, name);
    for (char *c = device->uuid; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    string_print(device->remedy, sizeof device->remedy,
                 "no public interface reports this device's power: set %s to its plugs, controller or watts "
                 "(docs/devices.md)",
                 kind->variable);
    return device;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static const char *method_label(const struct rack_meter *meter)
{
    switch (meter->method) {
    case RACK_PDU:
        return "its plugs";
    case RACK_REDFISH:
        return "its management controller";
    default:
        return "watts set by the user";
    }
}

/* Returns the relative standard deviation of the power. Power at an unknown load lies between idle and
 * maximum. The middle is used, with the standard deviation of a uniform distribution. */
static double gain_sd(const struct rack_meter *meter)
{
    double sum = meter->watts.idle + meter->watts.max;
    double spread = (meter->watts.max - meter->watts.idle) / (sqrt(3) * sum);
    switch (meter->method) {
    case RACK_PDU:
        return GAIN_SD_PLUGS;
    case RACK_REDFISH:
        return GAIN_SD_REDFISH;
    default:
        return fmax(GAIN_SD_SHARE, spread);
    }
}

/* Adds the channel. The power of a single device belongs to that device. The power of several devices belongs
 * to no device. */
static bool add_channel(struct source *source, const struct rack_kind *kind, struct rack_meter *meter)
{
    struct channel *ch = meter->channel = source_add_channel(source);
    if (!ch)
        return false;
    bool is_assumed = meter->method == RACK_WATTS, is_single = source->device_count == 1;
    ch->mode = CHANNEL_POWER;
    ch->rank = is_assumed ? RANK_MODEL : RANK_INTEGRATED;
    ch->gain_sd = gain_sd(meter);
    ch->cause = CAUSE(CAUSE_GPU_GAIN, kind->cause);
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = is_assumed ? JOULE_CLASS_ASSUMED : JOULE_CLASS_DERIVED;
    ch->info.tier = is_assumed ? 1 : 3;
    ch->integrator.period_s = RACK_PERIOD_S;
    ch->integrator.max_watts = RACK_MAX_WATTS;
    string_copy(ch->info.name, sizeof ch->info.name, kind->domain);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, kind->vendor);
    string_print(ch->info.label, sizeof ch->info.label, "%s, by %s", kind->domain, method_label(meter));
    string_print(ch->zone, sizeof ch->zone, "%s/rack", kind->domain);
    if (is_single) {
        string_copy(ch->info.device, sizeof ch->info.device, source->devices[0]->name);
        ch->info.device_index = 0;
    }
    for (size_t i = 0; i < source->device_count && !is_single; i++)
        string_print(source->devices[i]->remedy, sizeof source->devices[i]->remedy,
                     "domain %s contains the energy of all these devices together", kind->domain);
    return true;
}

/* Opens the management controller and selects the first view that reports power. On failure sets and returns
 * the source's state. */
static joule_status open_redfish(struct source *source, const char *file, struct rack_meter *meter)
{
    struct redfish_text text;
    joule_status status = redfish_meter_open(source, file, &meter->redfish, &text);
    if (status != JOULE_OK)
        return status;
    for (meter->view = REDFISH_SUPPLIES; meter->view < REDFISH_VIEWS; meter->view++)
        if (!isnan(redfish_watts(&text, meter->view)))
            return JOULE_OK;
    return source_set_state(source, JOULE_UNSUPPORTED, "the management controller reports no power");
}

/* Returns the text after `word` and spaces, or NULL if `text` does not begin with `word` and a space. */
static const char *skip_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (!string_starts(text, word) || text[length] != ' ')
        return NULL;
    return text + length + strspn(text + length, " ");
}

joule_status rack_meter_open(struct source *source, const struct rack_kind *kind,
                             struct rack_meter *out_meter)
{
    const char *text = source->host->ops->env(source->host, kind->variable), *rest;
    joule_status status = JOULE_OK;
    if (!text || !*text)
        return JOULE_OK;
    if ((rest = skip_word(text, "pdu"))) {
        out_meter->method = RACK_PDU;
        status = pdu_meter_open(source, kind->variable, rest, &out_meter->pdu);
    } else if ((rest = skip_word(text, "redfish"))) {
        out_meter->method = RACK_REDFISH;
        status = open_redfish(source, rest, out_meter);
    } else if ((rest = skip_word(text, "watts")) &&
               watts_pair_parse_up_to(rest, RACK_MAX_WATTS, &out_meter->watts)) {
        out_meter->method = RACK_WATTS;
    } else {
        return source_set_state(source, JOULE_INVALID,
                                "%s must be \"pdu MAKER:HOST:PLUG\", \"redfish FILE\" or \"watts IDLE,MAX\" "
                                "(docs/devices.md)",
                                kind->variable);
    }
    if (status == JOULE_OK && !add_channel(source, kind, out_meter))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return status;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static joule_status read_watts(struct source *source, struct rack_meter *meter, double share,
                               double *out_watts)
{
    struct redfish_text text;
    joule_status status = JOULE_OK;
    switch (meter->method) {
    case RACK_PDU:
        return pdu_meter_read(source, &meter->pdu, out_watts);
    case RACK_REDFISH:
        status = redfish_meter_read(source, &meter->redfish, &text);
        *out_watts = redfish_watts(&text, meter->view);
        break;
    default:
        *out_watts =
            isnan(share) ? (meter->watts.idle + meter->watts.max) / 2 : watts_pair_at(meter->watts, share);
        break;
    }
    return status == JOULE_OK && isnan(*out_watts) ? JOULE_STALE : status;
}

void rack_meter_read(struct source *source, struct rack_meter *meter, struct sink *sink, double share)
{
    double watts = NAN;
    if (!meter->channel)
        return;
    joule_status status = read_watts(source, meter, share, &watts);
    if (status == JOULE_OK)
        sink_power(sink, meter->channel, 0, watts);
    else
        sink_fail(sink, meter->channel, status);
}
