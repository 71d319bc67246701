/* joule/record/record.h - a measurement kept in a file.
 *
 * Owns the file format (docs/record-format.md): a header and then blocks, each with its length and checksum, so that a
 * file whose writer was killed can be read up to the last whole block. Written are the points of every curve, gauges and
 * finished regions; what is read back is a meter that stands still, of which reports are made as of a live one.
 * Newcomers: nothing is written between blocks, and a block is written by one system call.
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
/* Replaces what the file held, now and not with the first full block: the measurement has begun. */
void recorder_begin(struct recorder *recorder);
/* There will be none: leaves the file as it was, and no new one. Before recorder_begin and the first second are over. Frees. */
void recorder_discard(struct recorder *recorder, const char *path);
/* After a round of readings: puts what is new into the block, and the block into the file once a second or when it is
 * full. A write error is kept and reported by recorder_close; measuring goes on. */
void recorder_take(struct recorder *recorder);
/* A finished region. */
void recorder_region(struct recorder *recorder, uint64_t begin_ns, uint64_t end_ns, const char *name,
                     uint32_t thread, uint32_t flags);
/* What a finished report knows beside the meter: regions by name, the command, its share, idle, labels, budget. */
void recorder_report(struct recorder *recorder, const struct report *report);
/* Writes the rest and an end block that marks the file as complete, flushes the file to the disk, and frees
 * the recorder. */
joule_status recorder_close(struct recorder *recorder, joule_error *out_error);

struct record_region {
    uint64_t begin_ns, end_ns;
    uint32_t name; /* index into names */
    uint32_t thread, flags;
};

struct record_reading {
    int64_t time_ns;
    double value; /* in the unit of <joule/domain.h> */
};

struct record_gauge {
    struct record_reading *readings; /* oldest first */
    size_t count;
};

/* What a file holds beside the meter. */
struct record {
    joule_meter *meter; /* stands still at end_ns */
    char program[1001];
    int64_t begin_ns, end_ns;    /* CLOCK_MONOTONIC of the recorded machine */
    bool is_whole;               /* the writer closed it; else it was cut off */
    uint64_t lost_bytes;         /* after the last whole block */
    struct record_gauge *gauges; /* one for each domain; empty for those that have a curve */
    struct record_region *regions;
    size_t region_count;
    char (*names)[48];
    size_t name_count;
    struct report_run *runs; /* of a command that ran more than once */
    size_t run_count;
    bool has_findings;   /* the writer got as far as recorder_report */
    struct report found; /* what recorder_report kept; report_init where the writer did not get that far */
};

/* Reads a file. FAILED with a message: not a record, a later version, or damaged before the first block ends. Anything
 * that came in whole blocks is kept. record_free when done; on failure the record is empty. */
joule_status record_read(const char *path, struct record *out_record, joule_error *out_error);
/* The same from what a file or pipe still holds; `name` is for the messages. */
joule_status record_read_fd(int fd, const char *name, struct record *out_record, joule_error *out_error);
/* The same from memory, for tests and fuzzing. */
joule_status record_parse(const uint8_t *bytes, size_t length, struct record *out_record,
                          joule_error *out_error);
/* The report of the whole record, as it was at its end or, where it was cut off, as far as it goes. */
joule_status record_report(struct record *record, struct report *out_report);
/* For record_report, where the writer did not get as far as its table of regions: leads a collector through the record's
 * time, which then is its meter's. Sorts the regions by their begins. */
void record_share_out(struct record *record);
/* Shows every sample and every reading of a gauge that the file held, ordered by time and, where times are equal, by
 * domain. False as soon as `visit` returns it. */
typedef bool (*record_visit_fn)(const struct report_sample *sample, void *context);
bool record_each_sample(const struct record *record, record_visit_fn visit, void *context);
void record_free(struct record *record);

#endif
