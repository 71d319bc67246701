/* joule/cost/cpu_seed.c - default prices of CPUs that are not calibrated, from published power figures.
 *
 * Each row contains the figures of one family of CPUs. The watts of a WALL row are those of the whole server
 * at the plug, per chip, at active idle and at full load (SPECpower_ssj2008: medians of the results published
 * until March 2026). The watts of a PACKAGE row are those of the chip alone: the design power of its data
 * sheet, and an assumed idle power of a sixth of it, or 2 W for a laptop.
 * Note: the figures are typical for a family. The constants ..._LOG_SD and the column log sd are the errors
 * for one machine.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/cost/cost.h"

/* Parts of a server's watts at the plug that its CPU packages use. When the server is idle, memory, fans,
 * disks and the power supply use more than half. The CPU causes nearly all of the increase under load; the
 * supply's loss, memory and fans cause the other 20 %. */
#define WALL_IDLE_PART 0.45
#define WALL_LOAD_PART 0.8

/* extra power of a core when it runs a second thread */
#define SECOND_THREAD 0.2

/* part of a busy core's power at the reference frequency that depends on the cube of the frequency */
#define CUBIC_PART 0.6

/* A virtual CPU may be a whole core or one of its two threads. So it uses 1/2 to 1 of a core's idle share,
 * and 0.6 to 1 of a busy core's power. The values are the geometric means. */
#define VIRTUAL_IDLE_PART 0.71
#define VIRTUAL_BUSY_PART 0.77

/* Errors as log sd; each row adds the variation between machines of its family. Chips in the SPECpower
 * results vary by 0.2 to 0.3 about the row of their family. The remaining error comes from the method and the
 * program. */
#define IDLE_LOG_SD  0.35
#define WORK_LOG_SD  0.3
#define SHARE_LOG_SD 0.5
#define HOST_LOG_SD  0.35
#define SPLIT_LOG_SD 0.25 /* error of the cubic part; the other part changes in the opposite direction */

/* The basis of a row's watts: the whole server at the plug, or the chip alone. */
enum basis { WALL, PACKAGE };

/* The published figures of one family of CPUs. */
struct family {
    const char *id;
    const char *vendor; /* NULL: any */
    unsigned family;    /* 0: any */
    struct {
        unsigned short first, last;
    } models[9];      /* empty: any */
    const char *name; /* substring of the CPU's name; NULL: any */
    enum basis basis;
    enum cost_core_class core_class;
    const char *core;               /* row of core_seed.c */
    double cores, threads_per_core; /* figures of the chip that the watts refer to */
    double idle_watts, full_watts;  /* full_watts: with all threads busy */
    double log_sd;                  /* variation of machines of this family about this row */
    const char *source;
};

#define NM14    COST_CORE_14NM
#define NM7     COST_CORE_7NM
#define SMALL   COST_CORE_SMALL
#define OTHER   COST_CORE_OTHER
#define UNKNOWN COST_CORE_UNKNOWN
#define INTEL   "intel", 6
#define ZEN     "amd", 0x17
#define ZEN3    "amd", 0x19
#define ZEN5    "amd", 0x1a
#define ARM     "arm", 0
#define SPEC    "SPECpower_ssj2008, results: "
#define SHEET   "data sheet: "

/* The first row that matches a CPU is used, so specific rows come before general ones.
 * Columns: id, vendor, family, models, name / basis, class and kind of core, cores, threads per core, idle W,
 * full W, log sd, source. */
/* clang-format off */
static const struct family families[] = {
    /* Intel servers. */
    {"intel-nehalem", INTEL, {{26, 26}, {30, 31}, {37, 37}, {44, 44}, {46, 47}}, NULL,
     WALL, OTHER, "sandy-bridge", 6, 2, 34.6, 124, 0.4, SPEC "147"},
    {"intel-sandy-bridge-server", INTEL, {{45, 45}, {62, 62}}, NULL,
     WALL, OTHER, "sandy-bridge", 8, 2, 27.8, 124, 0.35, SPEC "119, Xeon E5 and E5 v2"},
    {"intel-haswell-server", INTEL, {{63, 63}, {79, 79}, {86, 86}}, NULL,
     WALL, OTHER, "haswell", 18, 2, 23.3, 135, 0.35, SPEC "33, Xeon E5 v3 and v4"},
    {"intel-skylake-server", INTEL, {{85, 85}}, NULL,
     WALL, NM14, "skylake-server", 28, 2, 30.3, 224, 0.35, SPEC "154, Xeon Scalable of the 1st and 2nd generation"},
    {"intel-ice-lake-server", INTEL, {{106, 106}, {108, 108}}, NULL,
     WALL, NM7, "sunny-cove", 40, 2, 65.6, 317, 0.35, SPEC "56"},
    {"intel-sapphire-rapids", INTEL, {{143, 143}}, NULL,
     WALL, NM7, "golden-cove", 56, 2, 93.9, 432, 0.35, SPEC "67"},
    {"intel-emerald-rapids", INTEL, {{207, 207}}, NULL,
     WALL, NM7, "golden-cove", 64, 2, 95.8, 429, 0.35, SPEC "33"},
    {"intel-granite-rapids", INTEL, {{173, 174}}, NULL,
     WALL, NM7, "golden-cove", 86, 2, 110, 462, 0.35, SPEC "27"},
    {"intel-sierra-forest", INTEL, {{175, 175}}, NULL,
     WALL, NM7, "gracemont", 144, 1, 100, 364, 0.35, SPEC "19"},

    /* Intel clients. Xeon E3 and E have the same chips on server boards. */
    {"intel-sandy-bridge", INTEL, {{42, 42}, {58, 58}}, NULL,
     WALL, OTHER, "sandy-bridge", 4, 2, 21.3, 62, 0.4, SPEC "17, Xeon E3 and E3 v2"},
    {"intel-haswell", INTEL, {{60, 60}, {70, 71}, {94, 94}}, NULL,
     WALL, OTHER, "haswell", 4, 2, 15.9, 55, 0.4, SPEC "13, Xeon E3 v3 to v6 and Core i5-4570"},
    {"intel-coffee-lake", INTEL, {{158, 158}, {165, 165}}, NULL,
     WALL, NM14, "skylake", 8, 2, 17.8, 76, 0.4, SPEC "24, Xeon E-2100 to E-2300"},
    {"intel-rocket-lake", INTEL, {{167, 167}}, NULL,
     WALL, NM14, "sunny-cove-client", 8, 2, 17.8, 76, 0.4, SPEC "24, Xeon E-2100 to E-2300"},
    {"intel-raptor-lake", INTEL, {{151, 151}, {183, 183}, {191, 191}}, NULL,
     WALL, NM7, "golden-cove-client", 8, 2, 20.9, 94, 0.45, SPEC "10, Xeon E-2400 and 6300"},
    {"intel-arrow-lake", INTEL, {{170, 170}, {172, 172}, {181, 181}, {189, 189}, {197, 198}, {204, 204}}, NULL,
     WALL, NM7, "golden-cove-client", 16, 1, 22.1, 45, 0.5, SPEC "6, Core Ultra 7 255H"},
    {"intel-mobile", INTEL, {{61, 61}, {69, 69}, {78, 78}, {125, 126}, {140, 142}, {154, 154}, {166, 166}, {186, 186}},
     NULL, PACKAGE, OTHER, "skylake", 4, 2, 2, 28, 0.5, SHEET "Core i5-1145G7, 28 W"},
    {"intel-atom", INTEL, {{55, 55}, {76, 76}, {92, 92}, {95, 95}, {122, 122}, {134, 134}, {150, 150}, {156, 156},
     {190, 190}}, NULL, PACKAGE, OTHER, "gracemont", 4, 1, 1, 6, 0.6, SHEET "Processor N100, 6 W"},

    /* AMD. Servers of the first generation have the model numbers of the desktop chips that they contain. */
    {"amd-zen-server", ZEN, {{0x00, 0x2f}}, "EPYC",
     WALL, NM14, "zen", 32, 2, 47.6, 150, 0.35, SPEC "10"},
    {"amd-zen-mobile", ZEN, {{0x11, 0x2f}}, NULL,
     PACKAGE, NM14, "zen", 4, 2, 2, 15, 0.5, SHEET "Ryzen 5 3500U, 15 W"},
    {"amd-zen", ZEN, {{0x00, 0x10}}, NULL,
     PACKAGE, NM14, "zen", 8, 2, 17.5, 105, 0.5, SHEET "Ryzen 7 2700X, 105 W"},
    {"amd-zen2-server", ZEN, {{0x30, 0x3f}}, NULL,
     WALL, NM7, "zen2", 64, 2, 56, 212, 0.35, SPEC "36"},
    {"amd-zen2", ZEN, {{0x70, 0x7f}}, NULL,
     PACKAGE, NM7, "zen2", 8, 2, 17.5, 105, 0.5, SHEET "Ryzen 7 3800X, 105 W"},
    {"amd-zen2-mobile", ZEN, {{0x40, 0xff}}, NULL,
     PACKAGE, NM7, "zen2", 8, 2, 2, 15, 0.5, SHEET "Ryzen 7 4800U, 15 W"},
    {"amd-zen3-server", ZEN3, {{0x00, 0x0f}}, NULL,
     WALL, NM7, "zen3", 64, 2, 54.2, 244, 0.35, SPEC "28"},
    {"amd-zen3", ZEN3, {{0x20, 0x2f}}, NULL,
     PACKAGE, NM7, "zen3", 8, 2, 17.5, 105, 0.5, SHEET "Ryzen 7 5800X, 105 W"},
    {"amd-zen4-server", ZEN3, {{0x10, 0x1f}}, NULL,
     WALL, NM7, "zen4", 96, 2, 63.6, 355, 0.35, SPEC "20, EPYC 9654"},
    {"amd-zen4c-server", ZEN3, {{0xa0, 0xaf}}, NULL,
     WALL, NM7, "zen4", 128, 2, 61.7, 373, 0.4, SPEC "51, EPYC 9754 and 8004"},
    {"amd-zen4", ZEN3, {{0x60, 0x6f}}, NULL,
     WALL, NM7, "zen4", 12, 2, 32.1, 100, 0.5, SPEC "4, EPYC 4004 and 4005"},
    {"amd-zen3-mobile", ZEN3, {{0x40, 0x7f}}, NULL,
     PACKAGE, NM7, "zen3", 8, 2, 2, 28, 0.5, SHEET "Ryzen 7 7840U, 28 W"},
    {"amd-zen5c-server", ZEN5, {{0x11, 0x1f}}, NULL,
     WALL, NM7, "zen5", 160, 2, 68.5, 370, 0.35, SPEC "31, EPYC 9845 and 9965"},
    {"amd-zen5-server", ZEN5, {{0x00, 0x10}}, NULL,
     WALL, NM7, "zen5", 96, 2, 70.1, 379, 0.35, SPEC "8, EPYC 9655 and 9755"},
    {"amd-zen5", ZEN5, {{0x40, 0x4f}}, NULL,
     WALL, NM7, "zen5", 12, 2, 32.1, 100, 0.5, SPEC "4, EPYC 4004 and 4005"},
    {"amd-zen5-mobile", ZEN5, {{0x20, 0xff}}, NULL,
     PACKAGE, NM7, "zen5", 10, 2, 2, 28, 0.5, SHEET "Ryzen AI 9 365, 28 W"},

    /* Arm, by part number. Graviton2 is a Neoverse N1; Graviton4 and Grace are Neoverse V2. */
    {"arm-neoverse-n1", ARM, {{0xd0c, 0xd0c}}, NULL,
     WALL, NM7, "neoverse-n1", 128, 1, 72.5, 198, 0.4, SPEC "7, Ampere Altra"},
    {"arm-neoverse-v2", ARM, {{0xd4f, 0xd4f}}, NULL,
     WALL, NM7, "neoverse-v2", 72, 1, 149, 309.5, 0.4, SPEC "1, Grace CPU Superchip, of two packages"},
    {"arm-neoverse", ARM, {{0xd40, 0xd40}, {0xd49, 0xd49}, {0xd84, 0xd84}, {0xd8e, 0xd8e}}, NULL,
     WALL, NM7, "neoverse-v2", 96, 1, 100, 250, 0.6, "assumed between Neoverse N1 and V2: no figures of V1, N2, V3 and N3 are public"},
    {"arm-cortex-a-small", ARM, {{0xd01, 0xd01}, {0xd03, 0xd05}}, NULL,
     PACKAGE, SMALL, "cortex-a53", 4, 1, 2, 6.4, 0.6, "Green Algorithms: Raspberry Pi 4, 6.4 W"},
    {"arm-cortex-a", ARM, {{0xd00, 0xd0b}}, NULL,
     PACKAGE, OTHER, "cortex-a72", 4, 1, 2, 6.4, 0.6, "Green Algorithms: Raspberry Pi 4, 6.4 W"},
    {"arm-generic", "arm", 0, {{0, 0}}, NULL,
     WALL, UNKNOWN, "generic", 96, 1, 100, 250, 0.8, "assumed as other Neoverse"},
    {"generic", NULL, 0, {{0, 0}}, NULL,
     PACKAGE, UNKNOWN, "generic", 8, 2, 16, 96, 0.7, "Green Algorithms: 12 W for each core of any CPU"},
};
/* clang-format on */

/* Returns true if a row applies to this model number. */
static bool has_model(const struct family *row, unsigned model)
{
    size_t count = 0;
    for (; count < sizeof row->models / sizeof row->models[0] && row->models[count].last; count++)
        if (model >= row->models[count].first && model <= row->models[count].last)
            return true;
    return count == 0;
}

/* Returns the first row that matches a CPU. The last row matches every CPU. */
static const struct family *find_family(const struct cost_cpu *cpu)
{
    const struct family *row = families;
    while ((row->vendor && strcmp(row->vendor, cpu->vendor) != 0) ||
           (row->family && row->family != cpu->family) || !has_model(row, cpu->model) ||
           (row->name && !strstr(cpu->name, row->name)))
        row++;
    return row;
}

/* Sets the prices of a table from a row. */
static void set_coefficients(const struct family *row, const struct cost_cpu *cpu, struct cost_table *table)
{
    double packages = cpu->packages ? cpu->packages : 1,
           cores = cpu->cores ? cpu->cores : row->cores * packages;
    double cores_per_package = cores / packages;
    bool is_wall = row->basis == WALL;
    double idle = row->idle_watts * (is_wall ? WALL_IDLE_PART : 1);
    double load = (row->full_watts - row->idle_watts) * (is_wall ? WALL_LOAD_PART : 1);
    double core = load / row->cores / (row->threads_per_core > 1 ? 1 + SECOND_THREAD : 1);
    if (cpu->is_virtual) {
        idle *= VIRTUAL_IDLE_PART * cores_per_package / row->cores;
        core *= VIRTUAL_BUSY_PART;
    } else {
        /* Within a family, a chip with a quarter of the cores is sold with half of the watts. */
        core *= sqrt(row->cores / cores_per_package);
    }
    for (int i = 0; i < COST_FEATURES; i++)
        table->joules[i] = NAN;
    table->joules[COST_PACKAGE_SECONDS] = idle;
    table->joules[COST_CORE_SECONDS] = core * (1 - CUBIC_PART);
    table->joules[COST_CUBIC_SECONDS] = core * CUBIC_PART;
    table->joules[COST_SHARED_SECONDS] = core * SECOND_THREAD;
}

/* Sets the errors of the prices from set_coefficients. */
static void set_errors(const struct family *row, const struct cost_cpu *cpu, struct cost_table *table)
{
    for (int i = 0; i <= COST_SHARED_SECONDS; i++) {
        table->log_sd[i][COST_CAUSE_SIZE] = row->log_sd;
        table->log_sd[i][COST_CAUSE_HOST] = cpu->is_virtual ? HOST_LOG_SD : 0;
        table->log_sd[i][i == COST_PACKAGE_SECONDS ? COST_CAUSE_IDLE : COST_CAUSE_WORK] =
            i == COST_PACKAGE_SECONDS ? IDLE_LOG_SD : WORK_LOG_SD;
    }
    table->log_sd[COST_CUBIC_SECONDS][COST_CAUSE_SPLIT] = SPLIT_LOG_SD;
    table->log_sd[COST_CORE_SECONDS][COST_CAUSE_SPLIT] = -SPLIT_LOG_SD * CUBIC_PART / (1 - CUBIC_PART);
    table->log_sd[COST_SHARED_SECONDS][COST_CAUSE_SHARE] = SHARE_LOG_SD;
}

void cost_cpu_table(const struct cost_cpu *cpu, struct cost_table *out_table)
{
    const struct family *row = find_family(cpu);
    *out_table = (struct cost_table){.version = COST_VERSION,
                                     .instance = (uint32_t)(row - families) +
                                                 1, /* 0 is the instance of the source "estimated" */
                                     .cls = JOULE_CLASS_MODELLED,
                                     .source = row->source};
    snprintf(out_table->id, sizeof out_table->id, "cpu-seed-%d/%s%s", COST_VERSION, row->id,
             cpu->is_virtual ? "/virtual" : "");
    set_coefficients(row, cpu, out_table);
    set_errors(row, cpu, out_table);
}

/* Returns the number of cores that share a last-level cache. On AMD, a core complex shares one: 4 cores of
 * Zen and Zen 2, 16 of Zen 5c, otherwise 8 (AMD, Processor Programming References). */
static double cores_of_last_cache(const struct family *row)
{
    double cores = row->cores;
    if (row->vendor && strcmp(row->vendor, "amd") == 0)
        cores = row->family == 0x17 ? 4 : strcmp(row->id, "amd-zen5c-server") == 0 ? 16 : 8;
    return fmin(cores, row->cores);
}

struct cost_cpu_type cost_cpu_type(const struct cost_cpu *cpu)
{
    const struct family *row = find_family(cpu);
    double load = (row->full_watts - row->idle_watts) * WALL_LOAD_PART,
           idle = row->idle_watts * WALL_IDLE_PART;
    return (struct cost_cpu_type){.core_class = row->core_class,
                                  .core = row->core,
                                  .cores = row->cores,
                                  .cache_cores = cores_of_last_cache(row),
                                  .package_watts = row->basis == WALL ? idle + load : row->full_watts,
                                  .family = row->id};
}

struct estimate cost_cpu_energy(const struct cost_cpu *cpu, double cpu_seconds, double wall_seconds)
{
    if (isnan(cpu_seconds))
        return estimate_unknown();
    struct cost_table table;
    cost_cpu_table(cpu, &table);
    double available_s = cpu->cores ? cpu->cores * wall_seconds : NAN;
    double alone_s = cpu_seconds > available_s ? available_s : cpu_seconds; /* if available_s is NaN, the
                                                                             * comparison is false */
    struct cost_features features = {.version = COST_VERSION};
    features.amount[COST_CORE_SECONDS] = features.amount[COST_CUBIC_SECONDS] = alone_s;
    features.amount[COST_SHARED_SECONDS] = cpu_seconds - alone_s;
    return cost_of(&table, &features).total;
}
