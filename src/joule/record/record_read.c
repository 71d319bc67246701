/* joule/record/record_read.c - reads the blocks of a record's measurement; see record.h.
 *
 * The blocks are domains, points, gauges and regions. record_findings.c reads the blocks of the report;
 * record_file.c and record_meter.c provide the file and the meter.
 * Note: a damaged block ends the reading, but the data of earlier blocks remain in the record.
 */
#include <stdlib.h>
#include <string.h>
#include "base/crc32.h"
#include "base/error.h"
#include "base/string.h"
#include "joule/record/record_format.h"
#include "joule/record/record_parse.h"
#include "joule/record/record_meter.h"
#include "joule/session/session_layout.h"

#define MAX_ITEMS (1u << 28) /* more than a file of 4 GiB can contain */

/* --- measurement ---------------------------------------------------------------------------------------- */

static void read_meta(struct byte_reader *in, struct record *record)
{
    record->meter->begin_ns = record->begin_ns = bytes_time(in);
    record->end_ns = record->begin_ns;
    record->meter->begin_realtime_ns = bytes_time(in);
    record->meter->period_s = bytes_seconds(in);
    bytes_text(in, record->program, sizeof record->program);
}

void *record_grow(void *items, size_t count, size_t size)
{
    if (count >= MAX_ITEMS)
        return NULL;
    bool is_full = (count & (count - 1)) == 0; /* the capacity is a power of two */
    return is_full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

/* Returns the channel with this number; NULL if the record has not described it. */
static struct channel *channel_of(struct record *record, uint32_t id)
{
    return id < meter_channel_count(record->meter) ? record->meter->channels[id].channel : NULL;
}

static void read_channel_texts(struct byte_reader *in, struct channel *ch)
{
    joule_domain *d = &ch->info;
    bytes_text(in, d->name, sizeof d->name);
    bytes_text(in, d->label, sizeof d->label);
    bytes_text(in, d->device, sizeof d->device);
    bytes_text(in, d->source, sizeof d->source);
    bytes_text(in, d->measurement, sizeof d->measurement);
    bytes_text(in, d->vendor, sizeof d->vendor);
    bytes_text(in, d->model, sizeof d->model);
    bytes_text(in, d->uuid, sizeof d->uuid);
    bytes_text(in, d->remedy, sizeof d->remedy);
    bytes_text(in, ch->zone, sizeof ch->zone);
    bytes_text(in, ch->parent_zone, sizeof ch->parent_zone);
}

static void read_channel(struct byte_reader *in, struct record *record)
{
    joule_meter *meter = record->meter;
    struct source *source = meter->lanes[0]->sources[0];
    size_t count = meter_channel_count(meter);
    if (bytes_u32(in) != count || count == METER_MAX_CHANNELS) {
        in->bad = true;
        return;
    }
    struct channel *ch = arena_alloc(&source->arena, sizeof *ch);
    if (!ch) {
        in->bad = true;
        return;
    }
    ch->mode = bytes_choice(in, CHANNEL_GAUGE);
    ch->info.scope = bytes_choice(in, JOULE_SCOPE_RAIL);
    ch->info.reading = bytes_choice(in, JOULE_READING_UTILISATION);
    ch->info.state = bytes_choice(in, JOULE_NO_MEMORY);
    ch->info.cls = bytes_choice(in, JOULE_CLASS_ASSUMED);
    ch->info.tier = bytes_choice(in, 3);
    ch->info.device_index = (int32_t)bytes_u32(in);
    ch->cause = bytes_u32(in);
    ch->rank = bytes_u32(in);
    ch->info.update_period_s = bytes_period(in);
    ch->gain_sd = bytes_amount(in);
    ch->counter.tick_s = ch->integrator.period_s = bytes_seconds(in);
    ch->counter.unit_joules = bytes_amount(in);
    read_channel_texts(in, ch);
    struct record_gauge *gauges = in->bad ? NULL : record_grow(record->gauges, count, sizeof *gauges);
    if (!gauges) {
        in->bad = true;
        return;
    }
    record->gauges = gauges;
    record->gauges[count] = (struct record_gauge){0};
    ch->info.id = (int32_t)count;
    curve_init(&ch->curve, MAX_ITEMS); /* the limit is never reached, so no point is dropped */
    meter->channels[count] = (struct meter_channel){ch, meter->lanes[0], source};
    atomic_store(&meter->channel_count, count + 1);
}

static void read_blur(struct byte_reader *in, struct record *record)
{
    struct channel *ch = channel_of(record, bytes_u32(in));
    double blur_s = bytes_seconds(in);
    if (ch && !in->bad)
        ch->integrator.lag_s = blur_s / 2;
    in->bad = in->bad || !ch;
}

/* Extends the time of the record to time_ns if that is later. */
static void extend_time(struct record *record, int64_t time_ns)
{
    if (time_ns > record->end_ns)
        record->end_ns = time_ns;
}

static void read_points(struct byte_reader *in, struct record *record)
{
    struct channel *ch = channel_of(record, bytes_u32(in));
    uint32_t count = bytes_u32(in);
    if (!ch || ch->mode == CHANNEL_GAUGE || in->bad) {
        in->bad = true;
        return;
    }
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        struct curve_point p;
        p.time_ns = bytes_time(in);
        p.joules = bytes_amount(in);
        p.covered_s = bytes_amount(in);
        p.variance = bytes_amount(in);
        p.time_sd_s = bytes_amount(in);
        const struct curve_point *last = ch->curve.count ? &ch->curve.points[ch->curve.count - 1] : NULL;
        /* a curve never decreases */
        in->bad =
            in->bad || p.time_ns <= 0 ||
            (last && (p.time_ns < last->time_ns || p.joules < last->joules || p.covered_s < last->covered_s));
        if (in->bad || !curve_append(&ch->curve, p))
            break;
        ch->moved = ch->moved || p.joules > 0;
        ch->read_ns = ch->curve.read_ns = p.time_ns;
        extend_time(record, p.time_ns);
    }
}

/* Adds a reading. Returns false if out of memory. */
static bool append_reading(struct record_gauge *gauge, struct record_reading reading)
{
    void *readings = record_grow(gauge->readings, gauge->count, sizeof *gauge->readings);
    if (!readings)
        return false;
    gauge->readings = readings;
    gauge->readings[gauge->count++] = reading;
    return true;
}

static void read_gauges(struct byte_reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        uint32_t id = bytes_u32(in);
        struct channel *ch = channel_of(record, id);
        int64_t time_ns = bytes_time(in);
        double value = bytes_double(in);
        if (!ch || ch->mode != CHANNEL_GAUGE || in->bad || time_ns <= 0 || time_ns < ch->read_ns ||
            !append_reading(&record->gauges[id], (struct record_reading){time_ns, value})) {
            in->bad = true;
            return;
        }
        ch->gauge = value;
        ch->read_ns = time_ns;
        extend_time(record, time_ns);
    }
}

/* Sets *out_index to the index of a region's name. Adds the name if it is new. Returns false if there are
 * more names than a session can have, or if out of memory. */
static bool find_name(struct record *record, const char *name, uint32_t *out_index)
{
    size_t count = record->name_count;
    for (*out_index = 0; *out_index < count; ++*out_index)
        if (strcmp(record->names[*out_index], name) == 0)
            return true;
    void *names = count < SESSION_TAGS ? realloc(record->names, (count + 1) * sizeof *record->names) : NULL;
    if (!names)
        return false;
    record->names = names;
    string_copy(record->names[record->name_count++], sizeof *record->names, name);
    return true;
}

/* Ensures capacity for one more region. Returns false if out of memory. */
static bool grow_regions(struct record *record)
{
    void *regions = record_grow(record->regions, record->region_count, sizeof *record->regions);
    if (regions)
        record->regions = regions;
    return regions != NULL;
}

static void read_regions(struct byte_reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        char name[48];
        struct record_region region;
        region.begin_ns = (uint64_t)bytes_time(in);
        region.end_ns = (uint64_t)bytes_time(in);
        region.thread = bytes_u32(in);
        region.flags = bytes_u32(in);
        bytes_text(in, name, sizeof name);
        if (in->bad || region.begin_ns > region.end_ns || !find_name(record, name, &region.name) ||
            !grow_regions(record)) {
            in->bad = true;
            return;
        }
        record->regions[record->region_count++] = region;
    }
}

/* --- blocks --------------------------------------------------------------------------------------------- */

static void read_block(uint32_t type, struct byte_reader *in, struct record *record)
{
    switch (type) {
    case RECORD_CHANNEL:
        read_channel(in, record);
        break;
    case RECORD_BLUR:
        read_blur(in, record);
        break;
    case RECORD_POINTS:
        read_points(in, record);
        break;
    case RECORD_GAUGE:
        read_gauges(in, record);
        break;
    case RECORD_REGION:
        read_regions(in, record);
        break;
    case RECORD_TAGS:
        record_read_tags(in, record);
        break;
    case RECORD_LIMITS:
        record_read_limits(in, record);
        break;
    case RECORD_COMMAND:
        record_read_command(in, record);
        break;
    case RECORD_RUNS:
        record_read_runs(in, record);
        break;
    case RECORD_END:
        extend_time(record, bytes_time(in));
        record->is_whole = !in->bad;
        break;
    default: /* blocks of later versions, and a second RECORD_META, are skipped */
        break;
    }
}

/* Reads the next block, but does not advance file->at. Returns false if the block is incomplete or damaged.
 * *out_payload points to the content of the block in the bytes of the file. */
static bool next_block(struct byte_reader *file, uint32_t *out_type, struct byte_reader *out_payload)
{
    if (file->length - file->at < RECORD_BLOCK_SIZE)
        return false;
    const uint8_t *head = file->bytes + file->at;
    struct byte_reader in = {head, RECORD_BLOCK_SIZE, 0, false};
    *out_type = bytes_u32(&in);
    uint32_t length = bytes_u32(&in), payload_crc = bytes_u32(&in), head_crc = bytes_u32(&in);
    if (crc32_bytes(head, 12) != head_crc || length > RECORD_MAX_PAYLOAD ||
        length > file->length - file->at - RECORD_BLOCK_SIZE)
        return false;
    const uint8_t *payload = head + RECORD_BLOCK_SIZE;
    if (crc32_bytes(payload, length) != payload_crc)
        return false;
    *out_payload = (struct byte_reader){payload, length, 0, false};
    return true;
}

/* Checks the header and advances past it. Errors have a message. */
static joule_status read_header(struct byte_reader *file, joule_error *out_error)
{
    if (file->length < RECORD_HEADER_SIZE || memcmp(file->bytes, RECORD_MAGIC, 8) != 0)
        return error_set(out_error, JOULE_FAILED,
                         "this is not a joule record; make one with: joule record -o FILE -- CMD");
    file->at = 8;
    uint32_t version = bytes_u32(file), size = bytes_u32(file);
    if (version != RECORD_VERSION)
        return error_set(
            out_error, JOULE_UNSUPPORTED,
            "the record has format version %u; this joule reads version %u: use the joule that wrote it",
            version, RECORD_VERSION);
    if (size < RECORD_HEADER_SIZE || size > file->length)
        return error_set(out_error, JOULE_FAILED, "the record's header is damaged");
    file->at = size;
    return JOULE_OK;
}

/* Like record_parse, except that the caller must free the record after an error. */
static joule_status parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error)
{
    struct byte_reader file = {bytes, length, 0, false}, payload;
    *out_record = (struct record){0};
    report_init(&out_record->found, "");
    joule_status status = read_header(&file, out_error);
    if (status != JOULE_OK)
        return status;
    out_record->meter = record_meter_create();
    if (!out_record->meter)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read the record: out of memory");
    uint32_t type;
    bool has_meta = next_block(&file, &type, &payload) && type == RECORD_META;
    if (has_meta)
        read_meta(&payload, out_record);
    if (!has_meta || payload.bad)
        return error_set(out_error, JOULE_FAILED,
                         "the first block of the record is missing or damaged: the record cannot be read");
    file.at += RECORD_BLOCK_SIZE + payload.length;
    while (next_block(&file, &type, &payload)) {
        read_block(type, &payload, out_record);
        if (payload.bad)
            break;
        file.at += RECORD_BLOCK_SIZE + payload.length;
        if (type == RECORD_END)
            break;
    }
    out_record->lost_bytes = file.length - file.at;
    record_meter_set_time(out_record->meter, out_record->end_ns);
    return JOULE_OK;
}

joule_status record_parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error)
{
    joule_status status = parse(bytes, length, out_record, out_error);
    if (status != JOULE_OK)
        record_free(out_record);
    return status;
}
