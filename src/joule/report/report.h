/* joule/report/report.h - the findings about one stretch of time, ready to be written.
 *
 * Owns the one structure that JSON, text and CSV are printed from. It is filled by report_collect from a meter and
 * completed by whoever knows more (joule run: the command, its share, idle, budget); the printers only print.
 * Newcomers: strings and arrays belong to the report's arena; quantities that nobody knows stay unknown (NaN) and
 * are printed as null, never left out and never 0.
 */
#ifndef JOULE_REPORT_REPORT_H
#define JOULE_REPORT_REPORT_H

#include "base/arena.h"
#include "base/string.h"
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
    joule_quantity joules;         /* gross */
    joule_quantity command_joules; /* the command's; unknown without one */
    double seconds;
};

struct report {
    struct arena arena;
    const char *program;       /* command line or program name */
    int64_t begin_realtime_ns; /* -> timestamp, RFC 3339 UTC */
    double duration_s;
    /* The machine over the window. */
    joule_quantity total_joules; /* gross: the whole cover */
    joule_quantity by_class[5];  /* subtotals, indexed by joule_class; unknown where there is none */
    const char *cover;
    bool is_partial;
    const char *partial_reason; /* NULL: a domain that belongs to the total cannot be read */
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
    struct attribution share;      /* CPU time and how it was found */
    joule_quantity command_joules; /* the command's share of the total */
    joule_quantity idle_watts;     /* baseline; unknown without one */
    const char *idle_date;         /* when it was taken, RFC 3339; NULL: never */
    double idle_busy;              /* share of CPU time used while it was taken; NaN: unknown */
    joule_quantity net_joules;     /* total less idle */
    bool has_exit_status;
    int exit_status;  /* as a shell would show it: 128 + signal */
    int signal;       /* 0: none */
    double stopped_s; /* of the duration the command was stopped, by Ctrl-Z for one; NaN: unknown */
    unsigned runs;    /* -r; 1 otherwise */
    struct report_run *each_run; /* where runs > 1 */
    struct report_label *labels;
    size_t label_count;
    /* Budget of the whole run. */
    double budget_joules; /* NaN: none */
    joule_budget_status budget_status;
    double budget_probability;
    double overshoot_bound_joules; /* NaN: unknown */
    /* What measuring cost. */
    double overhead_cpu_s; /* CPU seconds of libjoule's threads */
    double overhead_share; /* of one core over the window */
    uint64_t ticks, overruns;
    double waited_s;          /* seconds waited after the end for slow sources; not part of the duration */
    const char *waited_for;   /* the last such source; NULL: none */
    const char *first_advice; /* one remedy that would make the figures better; NULL: none */
};

/* Above this share of CPU time in use a baseline is no idle machine's. */
#define IDLE_BUSY_MAX 0.05

/* One of the samples that a report was made of. */
struct report_sample {
    double seconds;      /* since measuring began; a sensor's first tick may lie a little before that */
    int64_t realtime_ns; /* the same moment on the wall's clock, as far as nobody set it since */
    const joule_domain *domain;
    double value; /* joules since the domain's first sample; of a gauge what <joule/domain.h> says */
};

/* A report in which nothing is known. `program` is copied; NULL: the name of this process. */
void report_init(struct report *report, const char *program);
/* Fills everything that the meter itself knows about [begin_ns, end_ns]. NO_MEMORY: something is missing. */
joule_status report_collect(struct report *report, joule_meter *meter, const char *program, int64_t begin_ns,
                            int64_t end_ns);
void report_free(struct report *report);

/* --- what several printers ask ------------------------------------------------------------------------------ */

#define REPORT_TIME_SIZE 32
/* RFC 3339 in UTC with milliseconds: "2026-03-03T10:30:00.000Z". */
void report_time(int64_t realtime_ns, char out_text[REPORT_TIME_SIZE]);
/* The device that a function claims: "cpu", "gpu:0", "gpu" where there are several, or "all". */
#define REPORT_DEVICE_SIZE 16
void report_function_device(const struct report *report, const struct tag_row *row,
                            char out_device[REPORT_DEVICE_SIZE]);
/* A GPU region without synchronisation is not judged: NOT_MEASURED. */
joule_budget_status report_function_status(const struct tag_row *row);
/* True where nothing is measured: the machine's figure is then the model's guess at all that ran, and the command's,
 * which comes from its own CPU time, is nearer to the truth. */
bool report_leads_with_command(const struct report *report);
/* Where nothing is measured, the model of the machine follows the kernel's ticks of 10 ms, that of the command its exact CPU
 * time. In a run of a few milliseconds the machine can so seem to have used less than its part: its figure is then below
 * what can be told, and this makes it unknown. */
void report_forget_machine(struct report *report);
/* The runs of -r; one run is the report itself. */
size_t report_run_count(const struct report *report);
struct report_run report_run(const struct report *report, size_t index);
/* The mean of the runs' leading joules, with its 90 % interval by Student's t. That tells how far runs scatter, not what
 * sensor or model get wrong in all of them. Unknown for one run. */
struct report_mean {
    joule_quantity joules;
    double sd_joules; /* of one run */
};
struct report_mean report_mean(const struct report *report);

/* --- printers ----------------------------------------------------------------------------------------------- */

/* One line of JSON (docs/report.schema.json), without a newline. */
void report_json(const struct report *report, struct text *out);
/* For people: first line gross joules (or the command's, where there is no sensor), watts, seconds, class and
 * interval; second line the command's share and net of idle; then devices, functions and one advice. */
void report_text(const struct report *report, bool colour, struct text *out);
/* A header line and one row for each run, RFC 4180. */
void report_csv(const struct report *report, struct text *out);
/* The same for samples: the header line, and the row of one. */
void report_samples_header(struct text *out);
#define REPORT_SAMPLE_SIZE 256 /* bytes that are enough for either */
void report_sample_csv(const struct report_sample *sample, struct text *out);

#endif
