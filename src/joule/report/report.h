/* joule/report/report.h - the results of a measurement over a time window, ready to be printed.
 *
 * JSON, text and CSV are printed from struct report. report_collect fills the structure from a meter. Callers
 * such as joule run add the command, its share, idle power and the budget.
 * Note: the report's arena owns strings and arrays. Unknown quantities are NaN and are printed as null; they
 * are never omitted and never 0.
 */
#ifndef JOULE_REPORT_REPORT_H
#define JOULE_REPORT_REPORT_H

#include "base/arena.h"
#include "base/string.h"
#include "joule/api/tag_row.h"
#include "joule/attribute/attribute.h"
#include "joule/collector/collector.h"

#define REPORT_SCHEMA "joule-report-1"

struct report_device {
    const char *type; /* "cpu", "gpu", "memory", "node" */
    const char *vendor;
    const char *model;
    const char *measurement; /* "rapl", "nvml", ... */
    const char *cover;       /* "package-0 + dram-0" */
    int index;
    uint32_t tier;
    joule_quantity energy_joules;
    double coverage;
};

struct report_label {
    const char *key, *value;
};

struct report_run {
    joule_quantity joules;         /* energy of the machine, including idle energy */
    joule_quantity command_joules; /* the command's share; unknown without a command */
    double seconds;
};

struct report {
    struct arena arena;
    const char *program;       /* command line or program name */
    int64_t begin_realtime_ns; /* wall-clock time at which measuring began; printed as RFC 3339 UTC */
    double duration_s;
    /* The machine over the window. */
    joule_quantity total_joules; /* gross: all energy of the cover, including idle energy */
    joule_quantity by_class[5];  /* subtotals, indexed by joule_class; unknown: no energy of this class */
    const char *cover;
    bool is_partial;
    const char *partial_reason; /* NULL: a domain of the total cannot be read */
    double coverage;
    joule_quantity mean_watts;
    struct report_device *devices;
    size_t device_count;
    struct tag_row *functions;
    size_t function_count;
    uint64_t folded_regions;
    struct region_limits limits;
    size_t unlisted_channels; /* number of sensors beyond METER_MAX_CHANNELS */
    /* The command (joule run); method ATTRIBUTE_NONE: no command. */
    struct attribution share;      /* CPU time and how it was measured */
    joule_quantity command_joules; /* the command's share of the total */
    joule_quantity idle_watts;     /* idle baseline; unknown if there is no baseline */
    const char *idle_date;         /* time at which the baseline was measured, RFC 3339; NULL: none */
    /* share of CPU time in use while the baseline was measured; NaN: unknown */
    double idle_busy;
    joule_quantity net_joules; /* total minus idle */
    bool has_exit_status;
    int exit_status;  /* exit status of the command in a shell's form: 128 + signal */
    int signal;       /* 0: none */
    double stopped_s; /* time in which the command was stopped, for example by Ctrl-Z; NaN: unknown */
    unsigned runs;    /* number of runs (-r); 1 without -r */
    struct report_run *each_run; /* if runs > 1 */
    struct report_label *labels;
    size_t label_count;
    /* Budget of the whole run. */
    double budget_joules; /* NaN: none */
    joule_budget_status budget_status;
    double budget_probability;
    double overshoot_bound_joules; /* NaN: unknown */
    /* The cost of measuring. */
    double overhead_cpu_s; /* CPU seconds of libjoule's threads */
    double overhead_share; /* CPU time of libjoule's threads as a share of one core */
    uint64_t ticks, overruns;
    double waited_s;          /* seconds of waiting for slow sources after the end; not part of duration_s */
    const char *waited_for;   /* name of the last source that was waited for; NULL: none */
    const char *first_advice; /* a hint: one action that would improve the figures; NULL: none */
};

/* A machine was not idle during a baseline if more than this share of CPU time was in use. */
#define IDLE_BUSY_MAX 0.05

/* One sample of a domain: a point of its curve, or a reading of a gauge. */
struct report_sample {
    double seconds;      /* since measuring began; may be slightly negative for a sensor's first tick */
    int64_t realtime_ns; /* the same moment in wall-clock time; wrong if the clock was set during the
                          * measurement */
    const joule_domain *domain;
    double value; /* joules since the domain's first sample; for gauges see <joule/domain.h> */
};

/* Initialises a report in which everything is unknown. `program` is copied; NULL: the name of this
 * process. */
void report_init(struct report *report, const char *program);
/* Initialises the report, then sets all figures that the meter knows about [begin_ns, end_ns]. program: as in
 * report_init. Returns JOULE_NO_MEMORY if a part is missing. The caller calls report_free, also after an
 * error. */
joule_status report_collect(struct report *report, joule_meter *meter, const char *program, int64_t begin_ns,
                            int64_t end_ns);
void report_free(struct report *report);

/* --- queries of printers -------------------------------------------------------------------------------- */

#define REPORT_TIME_SIZE 32
/* Writes a time in the format of RFC 3339, in UTC with milliseconds: "2026-03-03T10:30:00.000Z". realtime_ns:
 * since 1970. */
void report_time(int64_t realtime_ns, char out_text[REPORT_TIME_SIZE]);
/* Writes the device that a function claims: "cpu", "gpu:0", "gpu" for several GPUs, or "all". */
#define REPORT_DEVICE_SIZE 16
void report_function_device(const struct report *report, const struct tag_row *row,
                            char out_device[REPORT_DEVICE_SIZE]);
/* Returns the status of a function's budget. A GPU region without synchronisation is
 * JOULE_BUDGET_NOT_MEASURED. */
joule_budget_status report_function_status(const struct tag_row *row);
/* Returns true if the command's energy must be the report's first figure, because no energy is measured. The
 * model of the command uses its own CPU time, and is more accurate than the model of the whole machine. */
bool report_leads_with_command(const struct report *report);
/* Sets the machine's figures to unknown if no energy is measured and they are below the command's figures.
 * The model of the machine uses the kernel's clock ticks of 10 ms. The model of the command uses its exact
 * CPU time. So in a run of a few milliseconds, the machine can seem to use less than the command. */
void report_clear_machine(struct report *report);
/* report_run_count returns the number of runs (-r); report_run returns the run `index`. A single run has the
 * figures of the report itself. */
size_t report_run_count(const struct report *report);
struct report_run report_run(const struct report *report, size_t index);
/* The mean of the runs' first figures with its 90 % interval by Student's t; unknown for one run. The
 * interval shows how much the runs differ. It does not include errors of the sensor or model that are equal
 * in all runs. */
struct report_mean {
    joule_quantity joules;
    double sd_joules; /* standard deviation of one run */
};
struct report_mean report_mean(const struct report *report);

/* --- printers ------------------------------------------------------------------------------------------- */

/* Writes one line of JSON (docs/report.schema.json), without a newline. */
void report_json(const struct report *report, struct text *out);
/* Writes a report for people. The first line contains gross joules (the command's if there is no sensor),
 * interval, class, watts and seconds. The second line contains the command's share and the energy net of
 * idle. Devices, functions and a hint follow. */
void report_text(const struct report *report, bool colour, struct text *out);
/* Writes a header line and one row for each run, RFC 4180. */
void report_csv(const struct report *report, struct text *out);
/* report_samples_header writes the header line for samples, report_sample_csv the row of one sample. */
void report_samples_header(struct text *out);
#define REPORT_SAMPLE_SIZE 256 /* bytes that suffice for the header or a row */
void report_sample_csv(const struct report_sample *sample, struct text *out);

#endif
