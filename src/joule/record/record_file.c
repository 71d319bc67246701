/* joule/record/record_file.c - reads the file of a record and computes its report; see record.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"
#include "joule/record/record.h"
#include "joule/record/record_format.h"

#define FIRST_BYTES    (1u << 16)
#define MAX_FILE_BYTES (1ULL << 32)

/* Returns JOULE_FAILED with a message about the file's size. */
static joule_status too_long(const char *name, joule_error *error)
{
    return error_set(error, JOULE_FAILED, "cannot read %s: 4 GiB or more, which is too large for a record",
                     name);
}

/* Doubles the size of the buffer, to FIRST_BYTES or more. On failure the old buffer remains valid. The caller
 * frees it in any case. */
static joule_status grow(uint8_t **bytes, size_t *size, const char *name, joule_error *error)
{
    size_t larger = *size ? 2 * *size : FIRST_BYTES;
    if (*size >= MAX_FILE_BYTES)
        return too_long(name, error);
    uint8_t *moved = realloc(*bytes, larger);
    if (!moved)
        return error_set(error, JOULE_NO_MEMORY, "cannot read %s: out of memory (%zu bytes)", name, larger);
    *bytes = moved;
    *size = larger;
    return JOULE_OK;
}

/* Reads the file into *bytes, which the caller frees, also on failure. A read error ends the reading without
 * a failure, because complete blocks may come before the error. Files without RECORD_MAGIC are not read to
 * their end. */
static joule_status read_whole(int fd, const char *name, uint64_t file_bytes, uint8_t **bytes,
                               size_t *out_length, joule_error *error)
{
    size_t size = 0;
    for (*out_length = 0;;) {
        joule_status status = *out_length < size ? JOULE_OK : grow(bytes, &size, name, error);
        if (status != JOULE_OK)
            return status;
        ssize_t n = read(fd, *bytes + *out_length, size - *out_length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return JOULE_OK;
        *out_length += (size_t)n;
        bool has_magic =
            *out_length < RECORD_MAGIC_SIZE || memcmp(*bytes, RECORD_MAGIC, RECORD_MAGIC_SIZE) == 0;
        if (!has_magic)
            return JOULE_OK; /* record_parse rejects a file that begins with these bytes, so no more bytes are
                              * needed */
        if (*out_length >= RECORD_MAGIC_SIZE && file_bytes >= MAX_FILE_BYTES)
            return too_long(name, error);
    }
}

joule_status record_read_fd(int fd, const char *name, struct record *out_record, joule_error *out_error)
{
    *out_record = (struct record){0};
    struct stat info;
    if (fstat(fd, &info) != 0)
        return error_set(out_error, status_of_errno(errno), "cannot read %s: %s", name, strerror(errno));
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode))
        return error_set(out_error, JOULE_FAILED, "%s is neither a file nor a pipe", name);
    uint8_t *bytes = NULL;
    size_t length;
    uint64_t file_bytes = S_ISREG(info.st_mode) && info.st_size > 0 ? (uint64_t)info.st_size : 0;
    joule_status status = read_whole(fd, name, file_bytes, &bytes, &length, out_error);
    if (status == JOULE_OK)
        status = record_parse(bytes, length, out_record, out_error);
    free(bytes);
    return status;
}

joule_status record_read(const char *path, struct record *out_record, joule_error *out_error)
{
    *out_record = (struct record){0};
    int fd = file_open_kind(path, FILE_REGULAR | FILE_PIPE);
    if (fd == -EISDIR || fd == -EOPNOTSUPP)
        return error_set(out_error, JOULE_FAILED, "%s is neither a file nor a pipe", path);
    if (fd < 0)
        return error_set(out_error, status_of_errno(-fd), "cannot read %s: %s", path, strerror(-fd));
    joule_status status = record_read_fd(fd, path, out_record, out_error);
    close(fd);
    return status;
}

/* Returns the time that the writer's report covers, or the time of the whole record if it has no report. */
static void reported_window(const struct record *record, int64_t *out_begin_ns, int64_t *out_end_ns)
{
    const struct report *found = &record->found;
    *out_begin_ns = record->begin_ns;
    *out_end_ns = record->end_ns;
    uint64_t offset_ns = (uint64_t)found->begin_realtime_ns - (uint64_t)record->meter->begin_realtime_ns;
    uint64_t length_ns = (uint64_t)record->end_ns - (uint64_t)record->begin_ns;
    if (offset_ns > length_ns || !(found->duration_s > 0 && found->duration_s <= (double)length_ns * 1e-9))
        return;
    *out_begin_ns += (int64_t)offset_ns;
    *out_end_ns = *out_begin_ns + (int64_t)(found->duration_s * 1e9);
}

joule_status record_report(struct record *record, struct report *out_report)
{
    struct report *found = &record->found;
    int64_t begin_ns, end_ns;
    reported_window(record, &begin_ns, &end_ns);
    if (!record->has_findings)
        record_attribute_regions(record);
    joule_status status = report_collect(out_report, record->meter, record->program, begin_ns, end_ns);
    if (status != JOULE_OK)
        return status;
    struct report computed = *out_report;
    /* The writer's report has priority, and its strings stay in the record's arena. Members that only a meter
     * can compute come from the new report. */
    *out_report = *found;
    out_report->arena = computed.arena;
    out_report->program = computed.program;
    out_report->begin_realtime_ns = computed.begin_realtime_ns;
    out_report->duration_s = computed.duration_s;
    out_report->total_joules = computed.total_joules;
    memcpy(out_report->by_class, computed.by_class, sizeof computed.by_class);
    out_report->cover = computed.cover;
    if (!record->has_findings) {
        out_report->is_partial = computed.is_partial;
        out_report->functions = computed.functions;
        out_report->function_count = computed.function_count;
    }
    if (record->run_count > 1) {
        out_report->runs = (unsigned)record->run_count;
        out_report->each_run = record->runs;
    }
    out_report->partial_reason = computed.partial_reason;
    out_report->coverage = computed.coverage;
    out_report->mean_watts = computed.mean_watts;
    out_report->devices = computed.devices;
    out_report->device_count = computed.device_count;
    out_report->first_advice = NULL;
    report_clear_machine(out_report);
    return JOULE_OK;
}

void record_free(struct record *record)
{
    size_t count = record->meter ? meter_channel_count(record->meter) : 0;
    for (size_t i = 0; i < count; i++) { /* in a record, no source frees the channels */
        curve_free(&record->meter->channels[i].channel->curve);
        free(record->gauges[i].readings);
    }
    joule_close(record->meter);
    report_free(&record->found);
    free(record->gauges);
    free(record->regions);
    free(record->runs);
    free(record->names);
    *record = (struct record){0};
}
