/* joule/record/record_write.c - writes a record; see record.h.
 *
 * Note: the lane's lock is held only while points are copied, never during a write to the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/crc32.h"
#include "base/error.h"
#include "base/file.h"
#include "joule/record/record.h"
#include "joule/record/record_format.h"
#include "joule/record/record_listener.h"
#include "joule/session/session_layout.h"

#define FLUSH_BYTES  (60 * 1024)
#define BUFFER_BYTES (64 * 1024) /* initial size; the blocks of a report may need more */
#define FLUSH_NS     1000000000LL
#define POINT_BYTES  40
#define BATCH_POINTS 256
#define BATCH_RUNS   128 /* 64 bytes each */

struct recorder {
    joule_meter *meter;
    int fd;
    bool is_new;    /* the file did not exist before */
    bool has_begun; /* the old content of the file was removed */
    int error;      /* errno of the first failed write; 0: none */
    pthread_mutex_t lock;
    uint8_t *buffer; /* complete blocks, and the block under construction */
    size_t length, capacity;
    size_t block_start;
    bool in_regions; /* the last block contains regions and is still open */
    int64_t flushed_ns;
    size_t described; /* number of channels whose description was written */
    /* For each channel: serial number of the last written point; time of the last written gauge. */
    uint64_t written[METER_MAX_CHANNELS];
    int64_t gauge_ns[METER_MAX_CHANNELS];
};

/* --- bytes ---------------------------------------------------------------------------------------------- */

/* Ensures capacity for `length` more bytes. Returns false if out of memory. */
static bool reserve(struct recorder *r, size_t length)
{
    size_t capacity = r->capacity;
    while (length > capacity - r->length)
        capacity *= 2;
    if (capacity == r->capacity)
        return true;
    uint8_t *buffer = realloc(r->buffer, capacity);
    if (buffer) {
        r->buffer = buffer;
        r->capacity = capacity;
    }
    return buffer != NULL;
}

/* Adds bytes to the buffer. If out of memory, sets r->error. */
static void put_bytes(struct recorder *r, const void *bytes, size_t length)
{
    if (!reserve(r, length)) {
        r->error = r->error ? r->error : ENOMEM;
        return;
    }
    memcpy(r->buffer + r->length, bytes, length);
    r->length += length;
}

static void put_number(struct recorder *r, uint64_t value, size_t width)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    put_bytes(r, bytes, width);
}

static void put_u32(struct recorder *r, uint32_t value)
{
    put_number(r, value, 4);
}

static void put_u64(struct recorder *r, uint64_t value)
{
    put_number(r, value, 8);
}

static void put_double(struct recorder *r, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u64(r, bits);
}

static void put_text(struct recorder *r, const char *text)
{
    size_t length = strnlen(text, 1000);
    put_number(r, length, 2);
    put_bytes(r, text, length);
}

static void store_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void end_block(struct recorder *r);

/* Begins a block. end_block completes the head of the block. */
static void begin_block(struct recorder *r, enum record_block type)
{
    if (r->in_regions)
        end_block(r);
    r->block_start = r->length;
    put_u32(r, type);
    put_bytes(r, (uint8_t[RECORD_BLOCK_SIZE - 4]){0}, RECORD_BLOCK_SIZE - 4);
}

/* Completes the block's head with length and checksums. Removes the block if it has no payload or an error
 * has occurred. */
static void end_block(struct recorder *r)
{
    r->in_regions = false;
    uint8_t *head = r->buffer + r->block_start, *payload = head + RECORD_BLOCK_SIZE;
    size_t length = r->length - r->block_start;
    if (length <= RECORD_BLOCK_SIZE || r->error) {
        r->length = r->block_start;
        return;
    }
    store_u32(head + 4, (uint32_t)(length - RECORD_BLOCK_SIZE));
    store_u32(head + 8, crc32_bytes(payload, length - RECORD_BLOCK_SIZE));
    store_u32(head + 12, crc32_bytes(head, 12));
}

/* Writes the buffer to the file and empties it. The first call removes the file's old content. */
static void flush(struct recorder *r)
{
    if (r->in_regions)
        end_block(r);
    size_t done = 0;
    if (!r->has_begun && ftruncate(r->fd, 0) != 0 && errno != EINVAL) /* EINVAL: a pipe or a device */
        r->error = errno;
    r->has_begun = true;
    while (done < r->length && !r->error) {
        ssize_t n = write(r->fd, r->buffer + done, r->length - done);
        if (n < 0 && errno != EINTR)
            r->error = errno;
        done += n > 0 ? (size_t)n : 0;
    }
    r->length = 0;
    r->flushed_ns = meter_now_ns(r->meter);
}

/* Writes the buffer to the file if the next block of points might not fit into the buffer. */
static void flush_if_full(struct recorder *r)
{
    if (r->length > FLUSH_BYTES - BATCH_POINTS * POINT_BYTES)
        flush(r);
}

/* --- contents ------------------------------------------------------------------------------------------- */

static void put_meta(struct recorder *r, const char *program)
{
    begin_block(r, RECORD_META);
    put_u64(r, (uint64_t)r->meter->begin_ns);
    put_u64(r, (uint64_t)r->meter->begin_realtime_ns);
    put_double(r, r->meter->period_s);
    put_text(r, program ? program : "");
    end_block(r);
}

static void put_channel(struct recorder *r, uint32_t id, const struct channel *ch)
{
    const joule_domain *d = &ch->info;
    struct curve_traits traits = meter_channel_traits(ch);
    begin_block(r, RECORD_CHANNEL);
    put_u32(r, id);
    put_u32(r, ch->mode);
    put_u32(r, d->scope);
    put_u32(r, d->reading);
    put_u32(r, d->state);
    put_u32(r, d->cls);
    put_u32(r, d->tier);
    put_u32(r, (uint32_t)d->device_index);
    put_u32(r, ch->cause);
    put_u32(r, ch->rank);
    put_double(r, d->update_period_s);
    put_double(r, ch->gain_sd);
    put_double(r, traits.tick_s);
    put_double(r, traits.unit_joules);
    const char *const texts[] = {d->name,  d->label, d->device, d->source, d->measurement, d->vendor,
                                 d->model, d->uuid,  d->remedy, ch->zone,  ch->parent_zone};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        put_text(r, texts[i]);
    end_block(r);
}

static void put_blur(struct recorder *r, uint32_t id, const struct channel *ch)
{
    double blur_s = integrator_blur_s(&ch->integrator);
    if (blur_s <= 0)
        return;
    begin_block(r, RECORD_BLUR);
    put_u32(r, id);
    put_double(r, blur_s);
    end_block(r);
}

static void put_quantity(struct recorder *r, joule_quantity q)
{
    put_double(r, q.value);
    put_double(r, q.low);
    put_double(r, q.high);
    put_u32(r, q.cls);
}

static void put_tag(struct recorder *r, const struct tag_row *row)
{
    put_text(r, row->name);
    put_u32(r, row->flags);
    put_u32(r, row->unsynchronised);
    put_u64(r, row->result.count);
    put_double(r, row->result.duration_s);
    put_double(r, row->result.coverage);
    put_double(r, row->budget_joules);
    put_quantity(r, row->result.window);
    put_quantity(r, row->result.attributed);
    put_quantity(r, row->result.self);
    put_quantity(r, row->result.cpu);
    put_quantity(r, row->result.gpu);
}

/* Writes RECORD_TAGS. All tags of a session fit into one block. */
static void put_tags(struct recorder *r, const struct report *report)
{
    static_assert(SESSION_TAGS * (RECORD_TAG_SIZE + SESSION_NAME) < RECORD_MAX_PAYLOAD, "a block of tags");
    flush(r);
    begin_block(r, RECORD_TAGS);
    put_u64(r, report->folded_regions);
    for (size_t i = 0; i < report->function_count; i++)
        put_tag(r, &report->functions[i]);
    end_block(r);
    flush(r);
}

/* Writes RECORD_LIMITS. Note: readers that do not know this block skip it. */
static void put_limits(struct recorder *r, const struct report *report)
{
    begin_block(r, RECORD_LIMITS);
    put_u64(r, report->limits.slotless);
    put_u64(r, report->limits.unnamed_tags);
    put_u64(r, report->limits.unstored);
    put_u64(r, report->limits.implausible);
    for (size_t i = 0; i < report->function_count; i++)
        put_u64(r, report->functions[i].result.folded);
    end_block(r);
    flush(r);
}

static void put_command(struct recorder *r, const struct report *report)
{
    begin_block(r, RECORD_COMMAND);
    put_u64(r, (uint64_t)report->begin_realtime_ns);
    put_double(r, report->duration_s);
    put_u32(r, report->share.method);
    put_double(r, report->share.command_cpu_s);
    put_double(r, report->share.machine_busy_cpu_s);
    put_double(r, report->share.machine_cpu_s);
    put_double(r, report->share.share);
    put_quantity(r, report->command_joules);
    put_quantity(r, report->idle_watts);
    put_text(r, report->idle_date ? report->idle_date : "");
    put_quantity(r, report->net_joules);
    put_u32(r, report->has_exit_status);
    put_u32(r, (uint32_t)report->exit_status);
    put_u32(r, (uint32_t)report->signal);
    put_double(r, report->budget_joules);
    put_u32(r, report->budget_status);
    put_double(r, report->budget_probability);
    put_double(r, report->overshoot_bound_joules);
    put_double(r, report->overhead_cpu_s);
    put_double(r, report->overhead_share);
    put_u64(r, report->ticks);
    put_u64(r, report->overruns);
    put_u32(r, (uint32_t)report->label_count);
    for (size_t i = 0; i < report->label_count; i++) {
        put_text(r, report->labels[i].key);
        put_text(r, report->labels[i].value);
    }
    put_double(r, report->stopped_s);
    put_u32(r, report->is_partial);
    end_block(r);
}

/* Writes the runs if there are several. The report itself contains a single run. */
static void put_runs(struct recorder *r, const struct report *report)
{
    size_t count = report_run_count(report);
    for (size_t i = 0; count > 1 && i < count;) {
        flush_if_full(r);
        begin_block(r, RECORD_RUNS);
        for (size_t end = i + BATCH_RUNS; i < end && i < count; i++) {
            struct report_run run = report_run(report, i);
            put_quantity(r, run.joules);
            put_quantity(r, run.command_joules);
            put_double(r, run.seconds);
        }
        end_block(r);
    }
}

static void describe_new_channels(struct recorder *r)
{
    size_t count = meter_channel_count(r->meter);
    for (; r->described < count; r->described++) {
        struct meter_channel *mc = &r->meter->channels[r->described];
        flush_if_full(r);
        pthread_mutex_lock(&mc->lane->lock);
        put_channel(r, (uint32_t)r->described, mc->channel);
        put_blur(r, (uint32_t)r->described, mc->channel);
        pthread_mutex_unlock(&mc->lane->lock);
    }
}

/* Copies at most `size` points that are newer than the last written one, oldest first. Returns their
 * number. */
static size_t copy_new_points(struct recorder *r, size_t id, struct curve_point *out, size_t size)
{
    struct meter_channel *mc = &r->meter->channels[id];
    size_t n = 0;
    pthread_mutex_lock(&mc->lane->lock);
    const struct curve *curve = &mc->channel->curve;
    size_t first = curve->count;
    while (first > 0 && curve->points[first - 1].serial > r->written[id])
        first--;
    for (; first < curve->count && n < size; first++)
        out[n++] = curve->points[first];
    pthread_mutex_unlock(&mc->lane->lock);
    return n;
}

static void put_points(struct recorder *r, size_t id)
{
    struct curve_point points[BATCH_POINTS];
    for (size_t n = BATCH_POINTS; n == BATCH_POINTS;) {
        n = copy_new_points(r, id, points, BATCH_POINTS);
        if (n == 0)
            return;
        flush_if_full(r);
        begin_block(r, RECORD_POINTS);
        put_u32(r, (uint32_t)id);
        put_u32(r, (uint32_t)n);
        for (size_t i = 0; i < n; i++) {
            put_u64(r, (uint64_t)points[i].time_ns);
            put_double(r, points[i].joules);
            put_double(r, points[i].covered_s);
            put_double(r, points[i].variance);
            put_double(r, points[i].time_sd_s);
        }
        end_block(r);
        r->written[id] = points[n - 1].serial;
    }
}

static void put_gauges(struct recorder *r, size_t count)
{
    flush_if_full(r);
    begin_block(r, RECORD_GAUGE);
    for (size_t id = 0; id < count; id++) {
        struct meter_channel *mc = &r->meter->channels[id];
        if (mc->channel->mode != CHANNEL_GAUGE)
            continue;
        pthread_mutex_lock(&mc->lane->lock);
        int64_t time_ns = mc->channel->read_ns;
        double value = mc->channel->gauge;
        pthread_mutex_unlock(&mc->lane->lock);
        if (time_ns <= r->gauge_ns[id])
            continue;
        r->gauge_ns[id] = time_ns;
        put_u32(r, (uint32_t)id);
        put_u64(r, (uint64_t)time_ns);
        put_double(r, value);
        if (r->length > FLUSH_BYTES)
            break;
    }
    end_block(r);
}

static void add_new_data(struct recorder *r)
{
    describe_new_channels(r);
    for (size_t id = 0; id < r->described; id++)
        if (r->meter->channels[id].channel->mode != CHANNEL_GAUGE)
            put_points(r, id);
    put_gauges(r, r->described);
}

void recorder_add_round(struct recorder *r)
{
    pthread_mutex_lock(&r->lock);
    add_new_data(r);
    if (meter_now_ns(r->meter) - r->flushed_ns >= FLUSH_NS)
        flush(r);
    pthread_mutex_unlock(&r->lock);
}

void recorder_region(struct recorder *r, uint64_t begin_ns, uint64_t end_ns, const char *name,
                     uint32_t thread, uint32_t flags)
{
    pthread_mutex_lock(&r->lock);
    flush_if_full(r);
    if (!r->in_regions) {
        begin_block(r, RECORD_REGION);
        r->in_regions = true;
    }
    put_u64(r, begin_ns);
    put_u64(r, end_ns);
    put_u32(r, thread);
    put_u32(r, flags);
    put_text(r, name);
    pthread_mutex_unlock(&r->lock);
}

void recorder_report(struct recorder *r, const struct report *report)
{
    pthread_mutex_lock(&r->lock);
    put_tags(r, report);
    put_limits(r, report);
    put_command(r, report);
    put_runs(r, report);
    pthread_mutex_unlock(&r->lock);
}

/* --- opening and closing -------------------------------------------------------------------------------- */

/* Opens the file without truncating it, and locks a regular file. Returns a descriptor, which the caller
 * closes. Returns -1 and sets errno on failure; EWOULDBLOCK: another recorder writes this file. */
static int open_file(const char *path, bool *out_is_new)
{
    struct stat info;
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
    int fd = open(path, flags | O_EXCL, 0666);
    *out_is_new = fd >= 0;
    if (fd < 0 && errno == EEXIST)
        fd = open(path, flags, 0666);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return fd; /* a pipe or a device has no content to protect */
    if (file_lock(fd) == 0)
        return fd;
    close(fd);
    errno = EWOULDBLOCK;
    return -1;
}

/* Frees the recorder, but does not close its file. */
static void release(struct recorder *r)
{
    pthread_mutex_destroy(&r->lock);
    free(r->buffer);
    free(r);
}

static joule_status refuse_no_memory(const char *path, joule_error *out_error)
{
    return error_set(out_error, JOULE_NO_MEMORY, "cannot record into %s: out of memory", path);
}

joule_status recorder_open(joule_meter *meter, const char *path, const char *program,
                           struct recorder **out_recorder, joule_error *out_error)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (!r)
        return refuse_no_memory(path, out_error);
    pthread_mutex_init(&r->lock, NULL);
    r->buffer = malloc(r->capacity = BUFFER_BYTES);
    if (!r->buffer) {
        release(r);
        return refuse_no_memory(path, out_error);
    }
    r->fd = open_file(path, &r->is_new);
    if (r->fd < 0) {
        int reason = errno;
        release(r);
        return error_set(out_error, status_of_errno(reason),
                         "cannot write %s: %s; choose another file with -o", path,
                         reason == EWOULDBLOCK ? "another process records into it" : strerror(reason));
    }
    r->meter = meter;
    put_bytes(r, RECORD_MAGIC, 8);
    put_u32(r, RECORD_VERSION);
    put_u32(r, RECORD_HEADER_SIZE);
    put_meta(r, program);
    r->flushed_ns = meter_now_ns(meter);
    if (!record_listener_set(meter, r)) {
        recorder_discard(r, path);
        return refuse_no_memory(path, out_error);
    }
    *out_recorder = r;
    return JOULE_OK;
}

void recorder_begin(struct recorder *r)
{
    pthread_mutex_lock(&r->lock);
    flush(r);
    pthread_mutex_unlock(&r->lock);
}

void recorder_discard(struct recorder *r, const char *path)
{
    record_listener_set(r->meter, NULL);
    close(r->fd);
    if (r->is_new)
        unlink(path);
    release(r);
}

joule_status recorder_close(struct recorder *r, joule_error *out_error)
{
    record_listener_set(r->meter, NULL);
    add_new_data(r);
    flush_if_full(r);
    begin_block(r, RECORD_END);
    put_u64(r, (uint64_t)meter_now_ns(r->meter));
    end_block(r);
    flush(r);
    int reason = file_sync(r->fd);
    if (!r->error)
        r->error = reason;
    if (close(r->fd) != 0 && !r->error)
        r->error = errno;
    int error = r->error;
    release(r);
    return error
               ? error_set(out_error, JOULE_FAILED,
                           "the record is incomplete: %s; free some space and record again", strerror(error))
               : JOULE_OK;
}
