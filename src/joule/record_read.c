/* joule/record_read.c - reading a record; see record.h.
 *
 * Owns the parser, which trusts no number in the file; files, meters and reports are record_file.c and record_still.c.
 * Newcomers: a damaged block ends the reading; what came before it stays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/record.h"
#include "joule/record_format.h"
#include "joule/record_still.h"
#include "joule/session_layout.h"

#define MAX_ITEMS (1u << 28) /* more than a file of 4 GiB holds of anything */

/* --- bytes -------------------------------------------------------------------------------------------------- */

/* Reads on; past the end every number is 0 and `bad` is set. */
struct reader {
    const uint8_t *bytes;
    size_t length, at;
    bool bad;
};

static uint64_t get_number(struct reader *in, size_t width)
{
    if (width > in->length - in->at) {
        in->bad = true;
        in->at = in->length;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)in->bytes[in->at + i] << 8 * i;
    in->at += width;
    return value;
}

static uint32_t get_u32(struct reader *in)
{
    return (uint32_t)get_number(in, 4);
}

/* A clock's nanoseconds, not so many that a sum or difference of two could overflow, or the block is bad. */
static int64_t get_time(struct reader *in)
{
    uint64_t time_ns = get_number(in, 8);
    if (time_ns > INT64_MAX / 2) {
        in->bad = true;
        return 0;
    }
    return (int64_t)time_ns;
}

static double get_double(struct reader *in)
{
    uint64_t bits = get_number(in, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Finite and not negative, or the block is bad. */
static double get_amount(struct reader *in)
{
    double value = get_double(in);
    if (!(value >= 0 && value < 1e30)) {
        in->bad = true;
        return 0;
    }
    return value;
}

static void get_text(struct reader *in, char *out, size_t size)
{
    size_t length = get_number(in, 2);
    out[0] = '\0';
    if (length > in->length - in->at) {
        in->bad = true;
        return;
    }
    size_t kept = length < size ? length : size - 1;
    for (size_t i = 0; i < kept; i++) /* a text may not end early or hold control characters */
        out[i] = in->bytes[in->at + i] >= 0x20 ? (char)in->bytes[in->at + i] : '?';
    out[kept] = '\0';
    in->at += length;
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

static void read_meta(struct reader *in, struct record *record)
{
    record->meter->begin_ns = record->begin_ns = get_time(in);
    record->end_ns = record->begin_ns;
    record->meter->begin_realtime_ns = get_time(in);
    record->meter->period_s = get_amount(in);
    get_text(in, record->program, sizeof record->program);
}

/* Makes room for one more of `count` items; NULL: there is none, and the old memory stays. */
static void *grow(void *items, size_t count, size_t size)
{
    if (count >= MAX_ITEMS)
        return NULL;
    bool is_full = (count & (count - 1)) == 0; /* room is a power of two */
    return is_full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

static struct channel *channel_of(struct record *record, uint32_t id)
{
    return id < meter_channel_count(record->meter) ? record->meter->channels[id].channel : NULL;
}

static void read_channel_texts(struct reader *in, struct channel *ch)
{
    joule_domain *d = &ch->info;
    get_text(in, d->name, sizeof d->name);
    get_text(in, d->label, sizeof d->label);
    get_text(in, d->device, sizeof d->device);
    get_text(in, d->source, sizeof d->source);
    get_text(in, d->measurement, sizeof d->measurement);
    get_text(in, d->vendor, sizeof d->vendor);
    get_text(in, d->model, sizeof d->model);
    get_text(in, d->uuid, sizeof d->uuid);
    get_text(in, d->remedy, sizeof d->remedy);
    get_text(in, ch->zone, sizeof ch->zone);
    get_text(in, ch->parent_zone, sizeof ch->parent_zone);
}

/* A number that must lie in 0..last. */
static uint32_t get_choice(struct reader *in, uint32_t last)
{
    uint32_t value = get_u32(in);
    in->bad = in->bad || value > last;
    return in->bad ? 0 : value;
}

static void read_channel(struct reader *in, struct record *record)
{
    joule_meter *meter = record->meter;
    struct source *source = meter->lanes[0]->sources[0];
    size_t count = meter_channel_count(meter);
    if (get_u32(in) != count || count == METER_MAX_CHANNELS) {
        in->bad = true;
        return;
    }
    struct channel *ch = arena_alloc(&source->arena, sizeof *ch);
    if (!ch) {
        in->bad = true;
        return;
    }
    ch->mode = get_choice(in, CHANNEL_GAUGE);
    ch->info.scope = get_choice(in, JOULE_SCOPE_RAIL);
    ch->info.reading = get_choice(in, JOULE_READING_UTILISATION);
    ch->info.state = get_choice(in, JOULE_NO_MEMORY);
    ch->info.cls = get_choice(in, JOULE_CLASS_ASSUMED);
    ch->info.tier = get_choice(in, 3);
    ch->info.device_index = (int32_t)get_u32(in);
    ch->cause = get_u32(in);
    ch->rank = get_u32(in);
    ch->info.update_period_s = get_double(in);
    ch->gain_sd = get_amount(in);
    ch->counter.tick_s = ch->integrator.period_s = get_amount(in);
    ch->counter.unit_joules = get_amount(in);
    read_channel_texts(in, ch);
    struct record_gauge *gauges = in->bad ? NULL : grow(record->gauges, count, sizeof *gauges);
    if (!gauges) {
        in->bad = true;
        return;
    }
    record->gauges = gauges;
    record->gauges[count] = (struct record_gauge){0};
    ch->info.id = (int32_t)count;
    curve_init(&ch->curve, MAX_ITEMS); /* nothing that was kept is thinned out */
    meter->channels[count] = (struct meter_channel){ch, meter->lanes[0], source};
    atomic_store(&meter->channel_count, count + 1);
}

static void note_time(struct record *record, int64_t time_ns)
{
    if (time_ns > record->end_ns)
        record->end_ns = time_ns;
}

static void read_points(struct reader *in, struct record *record)
{
    struct channel *ch = channel_of(record, get_u32(in));
    uint32_t count = get_u32(in);
    if (!ch || ch->mode == CHANNEL_GAUGE || in->bad) {
        in->bad = true;
        return;
    }
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        struct curve_point p;
        p.time_ns = get_time(in);
        p.joules = get_amount(in);
        p.covered_s = get_amount(in);
        p.variance = get_amount(in);
        p.time_sd_s = get_amount(in);
        const struct curve_point *last = ch->curve.count ? &ch->curve.points[ch->curve.count - 1] : NULL;
        /* a curve grows and never falls */
        in->bad =
            in->bad || p.time_ns <= 0 ||
            (last && (p.time_ns < last->time_ns || p.joules < last->joules || p.covered_s < last->covered_s));
        if (in->bad || !curve_append(&ch->curve, p))
            break;
        ch->moved = ch->moved || p.joules > 0;
        ch->read_ns = ch->curve.read_ns = p.time_ns;
        note_time(record, p.time_ns);
    }
}

static bool keep_gauge(struct record_gauge *gauge, struct record_reading reading)
{
    void *readings = grow(gauge->readings, gauge->count, sizeof *gauge->readings);
    if (!readings)
        return false;
    gauge->readings = readings;
    gauge->readings[gauge->count++] = reading;
    return true;
}

static void read_gauges(struct reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        uint32_t id = get_u32(in);
        struct channel *ch = channel_of(record, id);
        int64_t time_ns = get_time(in);
        double value = get_double(in);
        if (!ch || ch->mode != CHANNEL_GAUGE || in->bad || time_ns <= 0 || time_ns < ch->read_ns ||
            !keep_gauge(&record->gauges[id], (struct record_reading){time_ns, value})) {
            in->bad = true;
            return;
        }
        ch->gauge = value;
        ch->read_ns = time_ns;
        note_time(record, time_ns);
    }
}

/* The index of a region's name, added if new. False: more names than a session has, or no memory. */
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

static bool grow_regions(struct record *record)
{
    void *regions = grow(record->regions, record->region_count, sizeof *record->regions);
    if (regions)
        record->regions = regions;
    return regions != NULL;
}

static void read_regions(struct reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        char name[48];
        struct record_region region;
        region.begin_ns = (uint64_t)get_time(in);
        region.end_ns = (uint64_t)get_time(in);
        region.thread = get_u32(in);
        region.flags = get_u32(in);
        get_text(in, name, sizeof name);
        if (in->bad || region.begin_ns > region.end_ns || !find_name(record, name, &region.name) ||
            !grow_regions(record)) {
            in->bad = true;
            return;
        }
        record->regions[record->region_count++] = region;
    }
}

/* Three numbers in order, or all unknown. */
static joule_quantity get_quantity(struct reader *in)
{
    joule_quantity q = quantity_unknown();
    q.value = get_double(in);
    q.low = get_double(in);
    q.high = get_double(in);
    q.cls = get_choice(in, JOULE_CLASS_ASSUMED);
    return q.low <= q.value && q.value <= q.high && isfinite(q.low) && isfinite(q.high) ? q
                                                                                        : quantity_unknown();
}

static const char *get_kept_text(struct reader *in, struct arena *arena)
{
    char text[1001];
    get_text(in, text, sizeof text);
    const char *kept = in->bad ? NULL : arena_copy(arena, text, strlen(text));
    in->bad = in->bad || !kept;
    return kept ? kept : "";
}

static void read_tag(struct reader *in, struct arena *arena, struct tag_row *row)
{
    *row = (struct tag_row){.name = get_kept_text(in, arena)};
    row->flags = get_u32(in);
    row->unsynchronised = get_u32(in) != 0;
    row->result.struct_size = sizeof row->result;
    row->result.is_final = 1;
    row->result.count = get_number(in, 8);
    row->result.duration_s = get_amount(in);
    row->result.coverage = fmin(1, get_amount(in));
    row->budget_joules = get_double(in);
    row->result.window = get_quantity(in);
    row->result.attributed = get_quantity(in);
    row->result.self = get_quantity(in);
    row->result.cpu = get_quantity(in);
    row->result.gpu = get_quantity(in);
}

static void read_tags(struct reader *in, struct record *record)
{
    struct report *found = &record->found;
    uint64_t folded = get_number(in, 8);
    size_t most = (in->length - in->at) / RECORD_TAG_SIZE + 1, count = 0; /* a last one may be cut */
    struct tag_row *rows = arena_alloc(&found->arena, most * sizeof *rows);
    in->bad = in->bad || !rows;
    while (in->at < in->length && !in->bad) {
        read_tag(in, &found->arena, &rows[count]);
        count += !in->bad;
    }
    if (in->bad)
        return;
    found->functions = rows;
    found->function_count = count;
    found->folded_regions = folded;
}

static void read_labels(struct reader *in, struct report *found)
{
    uint32_t count = get_choice(in, 1000);
    struct report_label *labels = arena_alloc(&found->arena, (count + 1) * sizeof *labels);
    in->bad = in->bad || !labels;
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        labels[i].key = get_kept_text(in, &found->arena);
        labels[i].value = get_kept_text(in, &found->arena);
    }
    if (in->bad)
        return;
    found->labels = labels;
    found->label_count = count;
}

static void read_command(struct reader *in, struct record *record)
{
    struct report *found = &record->found;
    found->begin_realtime_ns = get_time(in);
    found->duration_s = get_double(in);
    found->share.method = get_choice(in, ATTRIBUTE_WAIT4);
    found->share.command_cpu_s = get_double(in);
    found->share.machine_busy_cpu_s = get_double(in);
    found->share.machine_cpu_s = get_double(in);
    found->share.share = get_double(in);
    found->command_joules = get_quantity(in);
    found->idle_watts = get_quantity(in);
    const char *date = get_kept_text(in, &found->arena);
    found->idle_date = *date ? date : NULL;
    found->net_joules = get_quantity(in);
    found->has_exit_status = get_u32(in) != 0;
    found->exit_status = (int)get_u32(in);
    found->signal = (int)get_u32(in);
    found->budget_joules = get_double(in);
    found->budget_status = get_choice(in, JOULE_BUDGET_BELOW_RESOLUTION);
    found->budget_probability = get_double(in);
    found->overshoot_bound_joules = get_double(in);
    found->overhead_cpu_s = get_double(in);
    found->overhead_share = get_double(in);
    found->ticks = get_number(in, 8);
    found->overruns = get_number(in, 8);
    read_labels(in, found);
    found->stopped_s = in->at < in->length ? get_double(in) : NAN; /* early writers told neither */
    found->is_partial = in->at < in->length && get_u32(in) != 0;
    record->has_findings = !in->bad;
}

static void read_runs(struct reader *in, struct record *record)
{
    while (in->at < in->length && !in->bad) {
        struct report_run run;
        run.joules = get_quantity(in);
        run.command_joules = get_quantity(in);
        run.seconds = get_amount(in);
        void *runs = in->bad ? NULL : grow(record->runs, record->run_count, sizeof *record->runs);
        if (!runs) {
            in->bad = true;
            return;
        }
        record->runs = runs;
        record->runs[record->run_count++] = run;
    }
}

static void read_block(uint32_t type, struct reader *in, struct record *record)
{
    switch (type) {
    case RECORD_CHANNEL:
        read_channel(in, record);
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
        read_tags(in, record);
        break;
    case RECORD_COMMAND:
        read_command(in, record);
        break;
    case RECORD_RUNS:
        read_runs(in, record);
        break;
    case RECORD_END:
        note_time(record, get_time(in));
        record->is_whole = !in->bad;
        break;
    default: /* of a later version; skipped, as a second meta is */
        break;
    }
}

/* True when the next block is whole; then *out_payload is its content. */
static bool next_block(struct reader *file, uint32_t *out_type, struct reader *out_payload)
{
    if (file->length - file->at < RECORD_BLOCK_SIZE)
        return false;
    const uint8_t *head = file->bytes + file->at;
    struct reader in = {head, RECORD_BLOCK_SIZE, 0, false};
    *out_type = get_u32(&in);
    uint32_t length = get_u32(&in), payload_crc = get_u32(&in), head_crc = get_u32(&in);
    if (record_crc32(head, 12) != head_crc || length > RECORD_MAX_PAYLOAD ||
        length > file->length - file->at - RECORD_BLOCK_SIZE)
        return false;
    const uint8_t *payload = head + RECORD_BLOCK_SIZE;
    if (record_crc32(payload, length) != payload_crc)
        return false;
    *out_payload = (struct reader){payload, length, 0, false};
    return true;
}

static joule_status read_header(struct reader *file, joule_error *out_error)
{
    if (file->length < RECORD_HEADER_SIZE || memcmp(file->bytes, RECORD_MAGIC, 8) != 0)
        return error_set(out_error, JOULE_FAILED,
                         "this is not a joule record; make one with: joule record -o FILE -- CMD");
    file->at = 8;
    uint32_t version = get_u32(file), size = get_u32(file);
    if (version != RECORD_VERSION)
        return error_set(
            out_error, JOULE_UNSUPPORTED,
            "the record has format version %u; this joule reads version %u: use the one that wrote it",
            version, RECORD_VERSION);
    if (size < RECORD_HEADER_SIZE || size > file->length)
        return error_set(out_error, JOULE_FAILED, "the record's header is damaged");
    file->at = size;
    return JOULE_OK;
}

static joule_status parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error)
{
    struct reader file = {bytes, length, 0, false}, payload;
    *out_record = (struct record){0};
    report_init(&out_record->found, "");
    joule_status status = read_header(&file, out_error);
    if (status != JOULE_OK)
        return status;
    out_record->meter = still_meter_create();
    if (!out_record->meter)
        return error_set(out_error, JOULE_NO_MEMORY, "no memory to read the record");
    uint32_t type;
    bool has_meta = next_block(&file, &type, &payload) && type == RECORD_META;
    if (has_meta)
        read_meta(&payload, out_record);
    if (!has_meta || payload.bad)
        return error_set(out_error, JOULE_FAILED, "the record ends before its first block: nothing was kept");
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
    still_meter_set_time(out_record->meter, out_record->end_ns);
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
