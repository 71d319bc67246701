/* support/sample_report.c - see sample_report.h. */
#include "support/sample_report.h"

#include <math.h>
#include <stdlib.h>

joule_quantity sample_quantity(double value, double low, double high, joule_class cls)
{
    return (joule_quantity){.value = value, .low = low, .high = high, .cls = cls};
}

static joule_quantity unknown(void)
{
    return sample_quantity(NAN, NAN, NAN, JOULE_CLASS_NONE);
}

/* Begins a report that contains only the program's name and joule's cost. */
static void start(struct report *report, const char *program)
{
    report_init(report, program);
    report->begin_realtime_ns = 1772533800000000000; /* 2026-03-03T10:30:00Z */
    report->duration_s = 0.25;
    report->coverage = 0;
    report->overhead_cpu_s = 0.0004;
    report->overhead_share = 0.0016;
    report->ticks = 4;
}

void sample_unknown(struct report *report)
{
    start(report, "true");
}

static void add_devices(struct report *report, const struct report_device *devices, size_t count)
{
    report->devices = arena_alloc(&report->arena, count * sizeof *devices);
    for (size_t i = 0; i < count; i++)
        report->devices[report->device_count++] = devices[i];
}

static struct tag_row function(const char *name, uint32_t flags, joule_quantity joules, double budget_joules)
{
    return (struct tag_row){.name = name,
                            .flags = flags,
                            .budget_joules = budget_joules,
                            .result = {.struct_size = sizeof(joule_result),
                                       .is_final = 1,
                                       .count = 12,
                                       .duration_s = 3.25,
                                       .coverage = 1,
                                       .window = joules,
                                       .attributed = joules,
                                       .self = joules,
                                       .cpu = unknown(),
                                       .gpu = joules}};
}

static void add_functions(struct report *report)
{
    const struct tag_row rows[] = {
        function("matrix_multiply", JOULE_REGION_GPU, sample_quantity(280, 271, 289, JOULE_CLASS_DERIVED),
                 500),
        function("preprocess", JOULE_REGION_CPU, sample_quantity(42.5, 40.1, 44.9, JOULE_CLASS_DERIVED), 50),
        function("tokenize \"utf-8\"\n", 0, sample_quantity(0.004, 0, 0.09, JOULE_CLASS_DERIVED), 0.05),
        function("upload", JOULE_REGION_GPU, sample_quantity(3.5, 3.1, 3.9, JOULE_CLASS_DERIVED), NAN),
    };
    report->function_count = sizeof rows / sizeof rows[0];
    report->functions = arena_alloc(&report->arena, sizeof rows);
    for (size_t i = 0; i < report->function_count; i++)
        report->functions[i] = rows[i];
    report->functions[3].unsynchronised = true;
}

static void add_command(struct report *report, double share)
{
    report->share = (struct attribution){.method = ATTRIBUTE_CGROUP,
                                         .command_cpu_s = share * 20,
                                         .machine_busy_cpu_s = 20,
                                         .machine_cpu_s = 197,
                                         .share = share};
    report->has_exit_status = true;
}

void sample_server(struct report *report)
{
    start(report, "train --epochs 3 corpus.bin");
    report->duration_s = 12.31;
    report->total_joules = sample_quantity(3512.25, 3441, 3583, JOULE_CLASS_DERIVED);
    report->mean_watts = sample_quantity(285.3, 279.5, 291.1, JOULE_CLASS_DERIVED);
    report->by_class[JOULE_CLASS_MEASURED] = sample_quantity(1240.25, 1231, 1249, JOULE_CLASS_MEASURED);
    report->by_class[JOULE_CLASS_DERIVED] = sample_quantity(2272, 2201, 2343, JOULE_CLASS_DERIVED);
    report->cover = "package-0 + dram-0 + gpu-0";
    report->coverage = 1;
    add_command(report, 0.84);
    report->command_joules = sample_quantity(2950, 2880, 3020, JOULE_CLASS_DERIVED);
    report->idle_watts = sample_quantity(96.2, 95.1, 97.3, JOULE_CLASS_MEASURED);
    report->idle_date = "2026-03-01T08:00:00.000Z";
    report->net_joules = sample_quantity(2328, 2255, 2401, JOULE_CLASS_DERIVED);
    report->budget_joules = 4000;
    report->budget_status = JOULE_BUDGET_NEAR;
    report->budget_probability = 1;
    report->overshoot_bound_joules = 120;
    report->ticks = 124;
    add_devices(report,
                (struct report_device[]){{"cpu", "intel", "Intel Xeon w9-3595X", "rapl", "package-0", 0, 2,
                                          sample_quantity(1100.25, 1092, 1109, JOULE_CLASS_MEASURED), 1},
                                         {"memory", "intel", "", "rapl", "dram-0", 0, 2,
                                          sample_quantity(140, 137, 143, JOULE_CLASS_MEASURED), 1},
                                         {"gpu", "nvidia", "NVIDIA H200", "nvml", "gpu-0", 0, 3,
                                          sample_quantity(2272, 2201, 2343, JOULE_CLASS_DERIVED), 0.998}},
                3);
    add_functions(report);
    report->labels = arena_alloc(&report->arena, 2 * sizeof *report->labels);
    report->labels[report->label_count++] = (struct report_label){"commit", "2d170c3"};
    report->labels[report->label_count++] = (struct report_label){"note", "a \"quoted\", long one"};
}

void sample_virtual_machine(struct report *report)
{
    start(report, "make -j2");
    report->duration_s = 3.2;
    report->total_joules = sample_quantity(60, 30, 120, JOULE_CLASS_MODELLED);
    report->mean_watts = sample_quantity(18.75, 9.4, 37.5, JOULE_CLASS_MODELLED);
    report->by_class[JOULE_CLASS_MODELLED] = report->total_joules;
    report->cover = "package-0";
    report->coverage = 0.98;
    add_command(report, 0.71);
    report->command_joules = sample_quantity(38, 19, 76, JOULE_CLASS_MODELLED);
    report->exit_status = 137;
    report->signal = 9;
    report->budget_joules = 20;
    report->budget_status = JOULE_BUDGET_OVER;
    report->budget_probability = 0.02;
    report->overshoot_bound_joules = 12.5;
    add_devices(report,
                (struct report_device[]){{"cpu", "intel", "Intel(R) Xeon(R) Processor @ 2.90GHz", "estimated",
                                          "package-0", 0, 1, report->total_joules, 0.98}},
                1);
    report->first_advice =
        "no energy sensor can be read here, because this is a virtual machine that its host "
        "gives none; type `joule doctor` for what can be done about it";
}

char *sample_print(const struct report *report, void (*print)(const struct report *, struct text *))
{
    struct text text;
    text_init(&text, NULL, 0);
    print(report, &text);
    size_t size = text.length + 1;
    char *string = malloc(size);
    text_init(&text, string, size);
    print(report, &text);
    return string;
}
