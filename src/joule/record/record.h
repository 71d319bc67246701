/* joule/record/record.h - writes a measurement to a file and reads it back.
 *
 * The format (docs/record-format.md) is a header and then blocks, each with its length and checksum, so a
 * file whose writer was killed can be read up to the last complete block. It contains the points of every
 * curve, gauges and finished regions. A record is read back as a meter whose time stands still, and reports
 * are made from it as from a live one.
 * Note: nothing is written between blocks, and a block is written by one system call.
 */
#ifndef JOULE_RECORD_H
#define JOULE_RECORD_H

#include "joule/report/report.h"

struct recorder;

/* Opens or creates the file. Its old content stays until the first block is written. The recorder takes part
 * in the meter's rounds until recorder_close. FAILED or DENIED: the file cannot be written, or another
 * process records into it; the message says why. */
joule_status recorder_open(joule_meter *meter, const char *path, const char *program,
                           struct recorder **out_recorder, joule_error *out_error);
/* Replaces the old content of the file now, instead of with the first full block. Call it when the
 * measurement begins. */
void recorder_begin(struct recorder *recorder);
/* Cancels the recording: leaves an old file unchanged and removes a new one. Call it instead of
 * recorder_close, before recorder_begin and within the first second. Frees the recorder. */
void recorder_discard(struct recorder *recorder, const char *path);
/* Call it after a round of readings: adds new data to the block, and writes the block once a second or when
 * it is full. A write error is kept and reported by recorder_close; measuring continues. */
void recorder_add_round(struct recorder *recorder);
/* Adds a finished region. */
void recorder_region(struct recorder *recorder, uint64_t begin_ns, uint64_t end_ns, const char *name,
                     uint32_t thread, uint32_t flags);
/* Adds what only the final report contains: regions by name, the command, its share, idle power, labels,
 * budget. */
void recorder_report(struct recorder *recorder, const struct report *report);
/* Writes the rest and an end block, which marks the file as complete, flushes the file to the disk, and frees
 * the recorder. */
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
    joule_meter *meter; /* its time stands still at end_ns */
    char program[1001];
    int64_t begin_ns, end_ns;    /* CLOCK_MONOTONIC of the recorded machine */
    bool is_whole;               /* the writer closed the file; false: it was cut off */
    uint64_t lost_bytes;         /* bytes after the last complete block */
    struct record_gauge *gauges; /* one for each domain; empty for domains with a curve */
    struct record_region *regions;
    size_t region_count;
    char (*names)[48];
    size_t name_count;
    struct report_run *runs; /* of a command that ran several times */
    size_t run_count;
    bool has_findings;   /* the writer called recorder_report */
    struct report found; /* data of recorder_report, otherwise of report_init */
};

/* Reads a file. FAILED, with a message: not a record, or damaged before the end of the first block.
 * UNSUPPORTED: a later version. All complete blocks are kept. Call record_free when done; after an error the
 * record is empty. */
joule_status record_read(const char *path, struct record *out_record, joule_error *out_error);
/* The same from an open file or pipe; `name` is used in messages. */
joule_status record_read_fd(int fd, const char *name, struct record *out_record, joule_error *out_error);
/* The same from memory, for tests and fuzzing. */
joule_status record_parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error);
/* Makes the report of the whole record: the writer's, or, if the file was cut off, one of its data up to
 * there. */
joule_status record_report(struct record *record, struct report *out_report);
/* Attributes the record's energy to its regions; used by record_report if the writer did not store its table
 * of regions. Changes the meter's time, and sorts the regions by their begins. */
void record_attribute_regions(struct record *record);
/* Calls `visit` for every sample and every reading of a gauge, ordered by time and then by domain. Stops and
 * returns false if `visit` returns false. */
typedef bool (*record_visit_fn)(const struct report_sample *sample, void *context);
bool record_each_sample(const struct record *record, record_visit_fn visit, void *context);
void record_free(struct record *record);

#endif
