/* joule/record/record.h - writes a measurement to a file and reads it back.
 *
 * The format (docs/record-format.md) is a header and then blocks, each with its length and checksum. So if
 * the writer was killed, the file can be read up to the last complete block. The file contains the points of
 * every curve, gauges and finished regions. Reading a record returns a meter whose time stands still. Reports
 * are computed from this meter in the same way as from a live meter.
 * Note: only complete blocks are written, normally several by one system call.
 */
#ifndef JOULE_RECORD_H
#define JOULE_RECORD_H

#include "joule/report/report.h"

struct recorder;

/* Opens or creates the file, and calls recorder_add_round after each round of the meter's readings. The
 * caller must end the recording with recorder_close or recorder_discard. The file keeps its old content until
 * the first data is written. Fails with a message if the file cannot be written, or if another process
 * records into it. */
joule_status recorder_open(joule_meter *meter, const char *path, const char *program,
                           struct recorder **out_recorder, joule_error *out_error);
/* Deletes the old content of the file now, instead of when the first full block is written. Call it when the
 * measurement begins. */
void recorder_begin(struct recorder *recorder);
/* Cancels the recording: leaves an old file unchanged and removes a new one. Frees the recorder. Call it
 * before recorder_begin and within the first second, because later the old content may be overwritten. */
void recorder_discard(struct recorder *recorder, const char *path);
/* Adds the data since the last call to the buffer, and writes the buffer once a second or when it is full.
 * The meter calls this function after each round of readings. After a write error, measuring continues;
 * recorder_close reports the error. */
void recorder_add_round(struct recorder *recorder);
/* Adds a finished region. Times are CLOCK_MONOTONIC; `flags` are those of its span. */
void recorder_region(struct recorder *recorder, uint64_t begin_ns, uint64_t end_ns, const char *name,
                     uint32_t thread, uint32_t flags);
/* Adds the data that only the final report contains: regions by name, the command, its share, idle power,
 * labels, budget. */
void recorder_report(struct recorder *recorder, const struct report *report);
/* Writes the remaining data and an end block, which marks the file as complete. Flushes the file to the disk
 * and frees the recorder, also on failure. Returns JOULE_FAILED if any write has failed. */
joule_status recorder_close(struct recorder *recorder, joule_error *out_error);

struct record_region {
    uint64_t begin_ns, end_ns;
    uint32_t name; /* index into names */
    uint32_t thread, flags;
};

struct record_reading {
    int64_t time_ns;
    double value; /* in the unit that <joule/domain.h> defines */
};

struct record_gauge {
    struct record_reading *readings; /* oldest first */
    size_t count;
};

/* The contents of a file. */
struct record {
    joule_meter *meter; /* its clock stands still at end_ns */
    char program[1001];
    int64_t begin_ns, end_ns;    /* CLOCK_MONOTONIC of the recorded machine */
    bool is_whole;               /* the writer closed the file; false: it was cut off */
    uint64_t lost_bytes;         /* bytes after the last complete block */
    struct record_gauge *gauges; /* one for each domain; empty for domains with a curve */
    struct record_region *regions;
    size_t region_count;
    char (*names)[48];
    size_t name_count;
    struct report_run *runs; /* figures of each run, if a command ran several times */
    size_t run_count;
    bool has_findings;   /* the writer called recorder_report */
    struct report found; /* data of recorder_report; everything unknown without it */
};

/* Reads a file. Errors have a message. JOULE_FAILED: not a record, or damaged before the end of the first
 * block. JOULE_UNSUPPORTED: another version of the format. All complete blocks are read. The caller frees the
 * record with record_free; after an error the record is empty. */
joule_status record_read(const char *path, struct record *out_record, joule_error *out_error);
/* Like record_read, from an open file or pipe, which the caller closes. `name` is used in messages. */
joule_status record_read_fd(int fd, const char *name, struct record *out_record, joule_error *out_error);
/* Like record_read, from memory. */
joule_status record_parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error);
/* Computes the report of the whole record. Uses the writer's report if the file has one, otherwise the data
 * up to the end of the last complete block. The caller frees the report with report_free. The report uses
 * strings of the record, so it is invalid after record_free. Returns JOULE_NO_MEMORY if out of memory. */
joule_status record_report(struct record *record, struct report *out_report);
/* Attributes the energy of a record to its regions. record_report calls this function if the writer did not
 * store its table of regions. Adds a collector to the meter, and sorts the regions by their begins. Does
 * nothing if out of memory. */
void record_attribute_regions(struct record *record);
/* Calls `visit` for every sample and every reading of a gauge, ordered by time and then by domain. Stops and
 * returns false if `visit` returns false. */
typedef bool (*record_visit_fn)(const struct report_sample *sample, void *context);
bool record_each_sample(const struct record *record, record_visit_fn visit, void *context);
void record_free(struct record *record);

#endif
