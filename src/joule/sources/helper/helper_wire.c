/* joule/sources/helper/helper_wire.c - see helper_wire.h.
 *
 * Each walk_ function writes or reads, depending on cursor.writes, so that the written and the read format
 * cannot differ. */
#include "joule/sources/helper/helper_wire.h"

#include <math.h>
#include <string.h>

#define MAGIC       UINT32_C(0x4c554f4a) /* "JOUL" */
#define MAX_SECONDS 3600.0
#define MAX_WATTS   1e7
#define MAX_JOULES  1e6
#define MAX_DEVICES 4096
#define MAX_COUNT   (UINT64_C(1) << 62)

/* --- fields --------------------------------------------------------------------------------------------- */

struct cursor {
    uint8_t *at;
    bool writes;
};

static void walk_number(struct cursor *c, uint64_t *value, size_t size)
{
    if (!c->writes)
        *value = 0;
    for (size_t i = 0; i < size; i++) {
        if (c->writes)
            c->at[i] = (uint8_t)(*value >> 8 * i);
        else
            *value |= (uint64_t)c->at[i] << 8 * i;
    }
    c->at += size;
}

static void walk_u64(struct cursor *c, uint64_t *value)
{
    walk_number(c, value, sizeof *value);
}

static void walk_u32(struct cursor *c, uint32_t *value)
{
    uint64_t wide = *value;
    walk_number(c, &wide, sizeof *value);
    *value = (uint32_t)wide;
}

static void walk_u16(struct cursor *c, uint16_t *value)
{
    uint64_t wide = *value;
    walk_number(c, &wide, sizeof *value);
    *value = (uint16_t)wide;
}

static void walk_i64(struct cursor *c, int64_t *value)
{
    uint64_t bits = (uint64_t)*value;
    walk_u64(c, &bits);
    *value = (int64_t)bits;
}

static void walk_double(struct cursor *c, double *value)
{
    uint64_t bits = helper_raw_of(*value);
    walk_u64(c, &bits);
    *value = helper_watts_of(bits);
}

/* Writes or reads a text of `size` bytes, padded with zeros. A text that was read is always terminated. */
static void walk_text(struct cursor *c, char *text, size_t size)
{
    if (c->writes) {
        memset(c->at, 0, size);
        memcpy(c->at, text, strnlen(text, size - 1));
    } else {
        memcpy(text, c->at, size);
        text[size - 1] = '\0';
    }
    c->at += size;
}

/* Writes `value`, or reads a number and returns false if it differs from `value`. */
static bool walk_constant(struct cursor *c, uint32_t value)
{
    uint32_t found = value;
    walk_u32(c, &found);
    return found == value;
}

double helper_watts_of(uint64_t raw)
{
    double watts;
    memcpy(&watts, &raw, sizeof watts);
    return watts;
}

uint64_t helper_raw_of(double watts)
{
    uint64_t raw;
    memcpy(&raw, &watts, sizeof raw);
    return raw;
}

/* --- requests and headers ------------------------------------------------------------------------------- */

static bool walk_request(struct cursor *c, struct helper_request *r)
{
    bool ok = walk_constant(c, MAGIC);
    walk_u16(c, &r->version);
    walk_u16(c, &r->kind);
    walk_u32(c, &r->sequence);
    return walk_constant(c, 0) && ok;
}

void helper_write_request(const struct helper_request *request, uint8_t out_bytes[HELPER_REQUEST_BYTES])
{
    struct helper_request copy = *request;
    walk_request(&(struct cursor){out_bytes, true}, &copy);
}

bool helper_read_request(const uint8_t bytes[HELPER_REQUEST_BYTES], struct helper_request *out_request)
{
    return walk_request(&(struct cursor){(uint8_t *)bytes, false}, out_request);
}

static bool walk_header(struct cursor *c, struct helper_header *h)
{
    bool ok = walk_constant(c, MAGIC);
    walk_u16(c, &h->version);
    walk_u16(c, &h->kind);
    walk_u32(c, &h->sequence);
    walk_u32(c, &h->count);
    walk_i64(c, &h->now_ns);
    walk_i64(c, &h->pace_ns);
    uint64_t unused = 0;
    walk_u64(c, &unused);
    return unused == 0 && ok;
}

void helper_write_header(const struct helper_header *header, uint8_t out_bytes[HELPER_HEADER_BYTES])
{
    struct helper_header copy = *header;
    walk_header(&(struct cursor){out_bytes, true}, &copy);
}

bool helper_read_header(const uint8_t bytes[HELPER_HEADER_BYTES], struct helper_header *out_header)
{
    return walk_header(&(struct cursor){(uint8_t *)bytes, false}, out_header) &&
           out_header->count <= HELPER_MAX_CHANNELS && out_header->now_ns > 0 && out_header->pace_ns >= 0 &&
           (double)out_header->pace_ns * 1e-9 <= MAX_SECONDS;
}

/* --- channels ------------------------------------------------------------------------------------------- */

static void walk_channel(struct cursor *c, struct channel *ch)
{
    joule_domain *info = &ch->info;
    uint32_t mode = ch->mode, scope = info->scope, cls = info->cls, index = (uint32_t)info->device_index;
    walk_u32(c, &mode);
    walk_u32(c, &scope);
    walk_u32(c, &cls);
    walk_u32(c, &info->tier);
    walk_u32(c, &index);
    walk_u32(c, &ch->rank);
    walk_u32(c, &ch->cause);
    uint32_t unused = 0;
    walk_u32(c, &unused);
    ch->mode = (enum channel_mode)mode;
    info->scope = (joule_scope)scope;
    info->cls = (joule_class)cls;
    info->device_index = (int32_t)index;
    walk_double(c, &ch->gain_sd);
    walk_double(c, &info->update_period_s);
    walk_double(c, &ch->counter.unit_joules);
    walk_double(c, &ch->counter.grain_joules);
    walk_double(c, &ch->counter.max_watts);
    walk_double(c, &ch->counter.tick_s);
    walk_double(c, &ch->integrator.period_s);
    walk_double(c, &ch->integrator.averaged_part);
    walk_double(c, &ch->integrator.age_s);
    walk_double(c, &ch->integrator.lag_s);
    walk_u64(c, &ch->counter.modulus);
    walk_u64(c, &ch->counter.fold_counts);
    walk_text(c, info->name, sizeof info->name);
    walk_text(c, ch->zone, sizeof ch->zone);
    walk_text(c, ch->parent_zone, sizeof ch->parent_zone);
    walk_text(c, info->label, sizeof info->label);
    walk_text(c, info->device, sizeof info->device);
    walk_text(c, info->source, sizeof info->source);
    walk_text(c, info->measurement, sizeof info->measurement);
    walk_text(c, info->vendor, sizeof info->vendor);
    walk_text(c, info->model, sizeof info->model);
}

void helper_write_channel(const struct channel *channel, uint8_t out_bytes[HELPER_CHANNEL_BYTES])
{
    struct channel copy = *channel;
    copy.counter.max_watts =
        channel->mode == CHANNEL_COUNTER ? channel->counter.max_watts : channel->integrator.max_watts;
    walk_channel(&(struct cursor){out_bytes, true}, &copy);
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static bool is_within(double value, double min, double max)
{
    return value >= min && value <= max; /* false for NaN */
}

static bool has_valid_texts(const struct channel *ch)
{
    const joule_domain *info = &ch->info;
    return info->name[0] && ch->zone[0] && is_printable(info->name) && is_printable(ch->zone) &&
           is_printable(ch->parent_zone) && is_printable(info->label) && is_printable(info->device) &&
           is_printable(info->source) && is_printable(info->measurement) && is_printable(info->vendor) &&
           is_printable(info->model);
}

static bool has_valid_counter(const struct counter *c)
{
    return is_within(c->unit_joules, 1e-15, MAX_JOULES) && is_within(c->grain_joules, 0, MAX_JOULES) &&
           is_within(c->tick_s, 1e-9, MAX_SECONDS) && c->modulus <= MAX_COUNT && c->fold_counts <= MAX_COUNT;
}

static bool has_valid_integrator(const struct integrator *in)
{
    return is_within(in->period_s, 1e-6, MAX_SECONDS) && is_within(in->averaged_part, 0, 1) &&
           is_within(in->age_s, 0, MAX_SECONDS) && is_within(in->lag_s, 0, MAX_SECONDS);
}

static bool has_valid_numbers(const struct channel *ch)
{
    const joule_domain *info = &ch->info;
    if (ch->mode != CHANNEL_COUNTER && ch->mode != CHANNEL_POWER)
        return false;
    bool is_counter = ch->mode == CHANNEL_COUNTER;
    return info->scope > JOULE_SCOPE_UNKNOWN && info->scope <= JOULE_SCOPE_RAIL &&
           (info->cls == JOULE_CLASS_MEASURED || info->cls == JOULE_CLASS_DERIVED) && info->tier >= 1 &&
           info->tier <= 3 && info->device_index >= -1 && info->device_index < MAX_DEVICES &&
           is_within(ch->gain_sd, 0, 1) && is_within(ch->counter.max_watts, 1e-3, MAX_WATTS) &&
           (isnan(info->update_period_s) || is_within(info->update_period_s, 1e-9, MAX_SECONDS)) &&
           (is_counter ? has_valid_counter(&ch->counter) : has_valid_integrator(&ch->integrator));
}

bool helper_read_channel(const uint8_t bytes[HELPER_CHANNEL_BYTES], struct channel *out_channel)
{
    walk_channel(&(struct cursor){(uint8_t *)bytes, false}, out_channel);
    out_channel->integrator.max_watts = out_channel->counter.max_watts;
    out_channel->info.reading =
        out_channel->mode == CHANNEL_COUNTER ? JOULE_READING_ENERGY : JOULE_READING_POWER;
    return has_valid_numbers(out_channel) && has_valid_texts(out_channel);
}

/* --- values --------------------------------------------------------------------------------------------- */

static bool walk_value(struct cursor *c, struct helper_value *v)
{
    uint32_t status = v->status;
    walk_i64(c, &v->before_ns);
    walk_i64(c, &v->after_ns);
    walk_u64(c, &v->raw);
    walk_u32(c, &status);
    v->status = (joule_status)status;
    return walk_constant(c, 0) && status <= JOULE_NO_MEMORY;
}

void helper_write_value(const struct helper_value *value, uint8_t out_bytes[HELPER_VALUE_BYTES])
{
    struct helper_value copy = *value;
    walk_value(&(struct cursor){out_bytes, true}, &copy);
}

bool helper_read_value(const uint8_t bytes[HELPER_VALUE_BYTES], struct helper_value *out_value)
{
    return walk_value(&(struct cursor){(uint8_t *)bytes, false}, out_value) && out_value->before_ns >= 0 &&
           out_value->after_ns >= out_value->before_ns;
}
