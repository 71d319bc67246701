/* backends/estimated/machine.c - see machine.h.
 *
 * Note: log_sd is the standard deviation of the logarithm of a figure, which is about the relative error.
 */
#include "forge/backends/estimated/machine.h"

#include <joule/model.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/backends/estimated/reference_rates.h"
#include "forge/ir/operation_cost.h"

#define Z90 1.6448536269514722

/* Fraction of the peak FLOP rate of the vector units that blocked kernels reach. */
#define REACHED 0.7
/* Memory bandwidth that one thread of a server reaches, and the maximum for the whole machine, in bytes/s. */
#define THREAD_BYTES_PER_S 10e9
#define MAX_BYTES_PER_S    200e9
#define THREAD_PLAIN_PER_S (1 / REFERENCE_UNIT_SECONDS)
#define LAUNCH_SECONDS     1e-6
#define USUAL_HZ           2.5e9

/* Errors of the figures, as standard deviations of their logarithms. The errors are large for three reasons.
 * A virtual CPU may be half a core, and clocks vary. Data in caches moves faster and needs less energy. Only
 * matrix products come close to a limit of the roofline. */
#define FLOP_RATE_LOG_SD 0.35
#define BYTE_RATE_LOG_SD 0.6
#define PLAIN_LOG_SD     0.6
#define LAUNCH_LOG_SD    0.7
#define ROOFLINE_LOG_SD  0.35
#define GIVEN_LOG_SD     0.2 /* error of a figure from the user */

static const struct {
    const char *name, *unit;
} names[FIGURES] = {
    [FIGURE_FLOP_RATE] = {"flop_per_s", "FLOP/s"}, [FIGURE_BYTE_RATE] = {"bytes_per_s", "B/s"},
    [FIGURE_PLAIN_RATE] = {"plain_per_s", "/s"},   [FIGURE_LAUNCH_TIME] = {"launch_seconds", "s"},
    [FIGURE_IDLE_WATTS] = {"idle_watts", "W"},     [FIGURE_BUSY_WATTS] = {"busy_watts", "W"},
    [FIGURE_FLOP_JOULES] = {"flop_joules", "J"},   [FIGURE_BYTE_JOULES] = {"byte_joules", "J"},
};

/* Names of the other figures, which only schedules use. */
static const struct {
    const char *name, *unit;
    size_t offset; /* in struct device_rates */
} core_names[] = {
    {"core_bytes_per_s", "B/s", offsetof(struct device_rates, core_bytes_per_s[RATE_MEMORY])},
    {"l2_bytes", "B", offsetof(struct device_rates, l2_bytes)},
    {"llc_bytes", "B", offsetof(struct device_rates, llc_bytes)},
    {"l2_bytes_per_s", "B/s", offsetof(struct device_rates, core_bytes_per_s[RATE_L2])},
    {"llc_bytes_per_s", "B/s", offsetof(struct device_rates, core_bytes_per_s[RATE_LLC])},
    {"l2_byte_joules", "J", offsetof(struct device_rates, byte_joules[RATE_L2])},
    {"llc_byte_joules", "J", offsetof(struct device_rates, byte_joules[RATE_LLC])},
};

/* --- this machine --------------------------------------------------------------------------------------- */

static void set(struct machine *machine, enum figure figure, double value, double log_sd, joule_class cls,
                const char *source)
{
    machine->figures[figure].value = value;
    machine->figures[figure].log_sd = log_sd;
    machine->figures[figure].cls = cls;
    string_copy(machine->figures[figure].source, sizeof machine->figures[figure].source, source);
}

/* Returns the f32 FLOP per cycle of a core with two vector units; a fused multiply-add counts as two. */
static double flop_per_cycle(const char *isa)
{
    static const struct {
        const char *isa;
        double flop;
    } rows[] = {{"avx512", 64}, {"avx2", 32}, {"neon", 16}, {"plain", 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].isa, isa) == 0)
            return rows[i].flop;
    return 8;
}

static const char *isa_in_use(const forge_device_facts *cpu)
{
    for (const forge_instruction_set *isa = cpu->instruction_sets; isa->name; isa++)
        if (isa->is_in_use)
            return isa->name;
    return "plain";
}

static void set_rates(struct machine *machine, const forge_device_facts *cpu, const joule_cpu_model *model)
{
    double hz = model->reference_hz;
    char source[128];
    const char *isa = isa_in_use(cpu);
    double clock = isnan(hz) ? USUAL_HZ : hz;
    string_print(source, sizeof source,
                 "%u threads x %.2f GHz%s x %.0f FLOP (%s), of which kernels reach %.0f %%", cpu->threads,
                 clock * 1e-9, isnan(hz) ? " (assumed)" : "", flop_per_cycle(isa), isa, REACHED * 100);
    set(machine, FIGURE_FLOP_RATE, cpu->threads * clock * flop_per_cycle(isa) * REACHED, FLOP_RATE_LOG_SD,
        JOULE_CLASS_MODELLED, source);
    bool is_measured = model->has_measured_speeds && model->memory_bytes_per_s > 0;
    double core = is_measured ? model->memory_bytes_per_s : THREAD_BYTES_PER_S;
    string_print(source, sizeof source, "%.0f GB/s for each of %u threads%s, at most %.0f GB/s", core * 1e-9,
                 cpu->threads, is_measured ? " (joule calibrate)" : "", MAX_BYTES_PER_S * 1e-9);
    set(machine, FIGURE_BYTE_RATE, fmin(cpu->threads * core, MAX_BYTES_PER_S), BYTE_RATE_LOG_SD,
        is_measured ? JOULE_CLASS_MODELLED : JOULE_CLASS_ASSUMED, source);
    machine->cores.core_bytes_per_s[RATE_MEMORY] = core;
    set(machine, FIGURE_PLAIN_RATE, cpu->threads * THREAD_PLAIN_PER_S, PLAIN_LOG_SD, JOULE_CLASS_ASSUMED,
        "units of 10 ns of a thread, from the measured rate of each reference kernel");
    set(machine, FIGURE_LAUNCH_TIME, LAUNCH_SECONDS, LAUNCH_LOG_SD, JOULE_CLASS_ASSUMED,
        "reading the clock and waking threads");
}

static double log_sd_of(joule_quantity q)
{
    return log(q.high / q.value) / Z90;
}

static void set_watts(struct machine *machine, const forge_device_facts *cpu, const joule_cpu_model *model)
{
    char source[128];
    double cores = model->cores && model->cores < cpu->threads ? model->cores : cpu->threads;
    string_print(source, sizeof source, "libjoule's %s: %s", model->table, model->source);
    set(machine, FIGURE_IDLE_WATTS, model->idle_watts.value, log_sd_of(model->idle_watts),
        model->idle_watts.cls, source);
    set(machine, FIGURE_BUSY_WATTS, cores * model->core_watts.value, log_sd_of(model->core_watts),
        model->core_watts.cls, source);
}

/* Sets the caches of a core, and their rates and prices. */
static void set_caches(struct machine *machine, const forge_device_facts *cpu, const joule_cpu_model *model)
{
    struct device_rates *cores = &machine->cores;
    cores->cores = cpu->threads;
    cores->l2_bytes = model->l2_bytes;
    cores->llc_bytes = model->l3_bytes;
    cores->core_bytes_per_s[RATE_L2] = model->l2_bytes_per_s;
    cores->core_bytes_per_s[RATE_LLC] = model->l3_bytes_per_s;
    cores->byte_joules[RATE_L2] = model->l2_byte_joules.value;
    cores->byte_joules[RATE_LLC] = model->l3_byte_joules.value;
    cores->is_calibrated = model->has_measured_speeds;
}

/* Sets the prices that `joule calibrate` has measured. The prices of cycles and operations together replace
 * the typical power of a busy core. */
static void set_measured_prices(struct machine *machine, const forge_device_facts *cpu,
                                const joule_cpu_model *model)
{
    static const char source[] = "joule calibrate";
    bool is_wide = strcmp(isa_in_use(cpu), "avx512") == 0;
    double fma = is_wide ? model->fma512_joules.value / 32 : model->fma256_joules.value / 16;
    if (!(fma > 0) || !(model->memory_byte_joules.value > 0) || !(model->cycle_watts.value > 0))
        return;
    set(machine, FIGURE_FLOP_JOULES, fma, COST_JOULES_LOG_SD, JOULE_CLASS_MODELLED, source);
    set(machine, FIGURE_BYTE_JOULES, model->memory_byte_joules.value, COST_JOULES_LOG_SD,
        JOULE_CLASS_MODELLED, source);
    set(machine, FIGURE_BUSY_WATTS, cpu->threads * model->cycle_watts.value, log_sd_of(model->cycle_watts),
        JOULE_CLASS_MODELLED, source);
}

joule_status machine_of_cpu(const forge_device_facts *cpu, struct machine *out_machine,
                            joule_error *out_error)
{
    static const char paper[] = "M. Horowitz, ISSCC 2014, figure 1.1.9";
    joule_cpu_model model = {.struct_size = sizeof model};
    joule_status status = joule_cpu_model_query(&model);
    if (status != JOULE_OK)
        return error_set(out_error, status, "cannot query the model of this CPU");
    *out_machine = (struct machine){0};
    set_rates(out_machine, cpu, &model);
    set_caches(out_machine, cpu, &model);
    set_watts(out_machine, cpu, &model);
    set(out_machine, FIGURE_FLOP_JOULES, COST_FLOP_JOULES, COST_JOULES_LOG_SD, JOULE_CLASS_ASSUMED, paper);
    set(out_machine, FIGURE_BYTE_JOULES, COST_BYTE_JOULES, COST_JOULES_LOG_SD, JOULE_CLASS_ASSUMED, paper);
    if (model.has_measured_prices)
        set_measured_prices(out_machine, cpu, &model);
    return JOULE_OK;
}

/* --- another machine ------------------------------------------------------------------------------------ */

/* Returns the member that an item with this name sets, or NULL if it is the name of no such member. */
static double *core_member(struct machine *machine, const char *name, const char **out_unit)
{
    for (size_t i = 0; i < sizeof core_names / sizeof *core_names; i++)
        if (strcmp(core_names[i].name, name) == 0) {
            *out_unit = core_names[i].unit;
            return (double *)(void *)((char *)&machine->cores + core_names[i].offset);
        }
    return NULL;
}

/* Sets the number of cores, or a member of machine->cores. value: the text after the name, or NULL.
 * *out_found: false if there is no such name. */
static joule_status read_core(struct machine *machine, const char *name, const char *value, bool *out_found,
                              joule_error *error)
{
    const char *unit = "cores";
    bool is_count = strcmp(name, "cores") == 0;
    double number, *member = is_count ? &number : core_member(machine, name, &unit);
    *out_found = member != NULL;
    if (!member)
        return JOULE_OK;
    if (!value || !string_to_double(value, &number) || number < 0 ||
        (is_count && !(number >= 1 && number <= 1024)))
        return error_set(error, JOULE_INVALID, "FORGE_MACHINE: %s must be a number >= 0, in %s", name, unit);
    if (is_count)
        machine->cores.cores = (unsigned)number;
    else
        *member = number;
    return JOULE_OK;
}

/* Sets the figure of one item "name=value" of `length` bytes. */
static joule_status read_figure(struct machine *machine, const char *item, size_t length, joule_error *error)
{
    char text[100];
    double value;
    if (length >= sizeof text)
        return error_set(error, JOULE_INVALID, "FORGE_MACHINE: an item of %zu bytes is too long", length);
    memcpy(text, item, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    for (int i = 0; i < FIGURES; i++) {
        if (strcmp(names[i].name, text) != 0)
            continue;
        bool may_be_zero = i >= FIGURE_LAUNCH_TIME;
        if (!equals || !string_to_double(equals + 1, &value) || value < 0 || (value == 0 && !may_be_zero))
            return error_set(error, JOULE_INVALID, "FORGE_MACHINE: %s must be a number %s 0, in %s", text,
                             may_be_zero ? ">=" : ">", names[i].unit);
        set(machine, (enum figure)i, value, GIVEN_LOG_SD, JOULE_CLASS_ASSUMED, "FORGE_MACHINE");
        return JOULE_OK;
    }
    bool is_found;
    joule_status status = read_core(machine, text, equals ? equals + 1 : NULL, &is_found, error);
    if (is_found)
        return status;
    struct text known;
    char list[400];
    text_init(&known, list, sizeof list);
    for (int i = 0; i < FIGURES; i++)
        text_printf(&known, "%s, ", names[i].name);
    for (size_t i = 0; i < sizeof core_names / sizeof *core_names; i++)
        text_printf(&known, "%s, ", core_names[i].name);
    text_add(&known, "cores");
    return error_set(error, JOULE_INVALID, "FORGE_MACHINE: unknown figure '%s'; known: %s", text, list);
}

joule_status machine_read(struct machine *machine, const char *text, joule_error *out_error)
{
    joule_status status = JOULE_OK;
    struct device_rates *cores = &machine->cores;
    set(machine, FIGURE_PLAIN_RATE, INFINITY, 0, JOULE_CLASS_ASSUMED, "FORGE_MACHINE");
    cores->l2_bytes = cores->llc_bytes = cores->core_bytes_per_s[RATE_MEMORY] = 0;
    cores->is_calibrated = false;
    while (status == JOULE_OK && *text) {
        size_t length = strcspn(text, ",");
        status = read_figure(machine, text, length, out_error);
        text += length + (text[length] == ',');
    }
    if (!(cores->core_bytes_per_s[RATE_MEMORY] > 0))
        cores->core_bytes_per_s[RATE_MEMORY] = machine->figures[FIGURE_BYTE_RATE].value / cores->cores;
    return status;
}

forge_device_figure machine_figure(const struct machine *machine, enum figure figure)
{
    forge_device_figure out = {names[figure].name, names[figure].unit,
                               expected_quantity(machine->figures[figure].value,
                                                 machine->figures[figure].log_sd,
                                                 machine->figures[figure].cls)};
    string_copy(out.source, sizeof out.source, machine->figures[figure].source);
    return out;
}

/* --- the roofline --------------------------------------------------------------------------------------- */

static double value_of(const struct machine *machine, enum figure figure)
{
    return machine->figures[figure].value;
}

/* Returns the part of all cores that the work may use, from 0 to 1. */
static double part_of(const struct machine *machine, const struct machine_work *work)
{
    unsigned all = machine->cores.cores;
    return work->cores && work->cores < all ? (double)work->cores / all : 1;
}

struct device_rates machine_rates(const struct machine *machine)
{
    struct device_rates rates = machine->cores;
    rates.flop_per_s = value_of(machine, FIGURE_FLOP_RATE) / rates.cores;
    rates.launch_s = value_of(machine, FIGURE_LAUNCH_TIME);
    rates.static_watts = value_of(machine, FIGURE_IDLE_WATTS);
    rates.core_watts = value_of(machine, FIGURE_BUSY_WATTS) / rates.cores;
    rates.flop_joules = value_of(machine, FIGURE_FLOP_JOULES);
    rates.byte_joules[RATE_MEMORY] = value_of(machine, FIGURE_BYTE_JOULES);
    rates.total_bytes_per_s[RATE_L2] = rates.total_bytes_per_s[RATE_LLC] = INFINITY;
    rates.total_bytes_per_s[RATE_MEMORY] = value_of(machine, FIGURE_BYTE_RATE);
    return rates;
}

/* Adds the effect of an error of one standard deviation: change_s to the seconds_sd of the cause, and
 * change_s * watts to its joules_sd. */
static void add_time(struct expected *e, int cause, double change_s, double watts)
{
    e->seconds_sd[cause] += change_s;
    e->joules_sd[cause] += watts * change_s;
}

static void add_joules(const struct machine *machine, struct expected *e, enum figure figure, double joules)
{
    e->joules += joules;
    e->joules_sd[figure] += joules * machine->figures[figure].log_sd;
}

/* Returns the time of the work without the launch time, in seconds. *out_limit: the figure that determines
 * this time. */
static double work_seconds(const struct machine *machine, const struct machine_work *work, double bytes,
                           enum figure *out_limit)
{
    double flop = work->cost.flop, part = part_of(machine, work);
    double byte_rate = value_of(machine, FIGURE_BYTE_RATE);
    if (part < 1)
        byte_rate = fmin(byte_rate, work->cores * machine->cores.core_bytes_per_s[RATE_MEMORY]);
    double seconds[FIGURES] = {
        [FIGURE_FLOP_RATE] = flop / value_of(machine, FIGURE_FLOP_RATE) * (work->is_double ? 2 : 1) / part,
        [FIGURE_BYTE_RATE] = bytes / byte_rate,
        [FIGURE_PLAIN_RATE] = work->plain_units / value_of(machine, FIGURE_PLAIN_RATE) / part,
    };
    *out_limit = FIGURE_FLOP_RATE;
    for (enum figure i = FIGURE_BYTE_RATE; i <= FIGURE_PLAIN_RATE; i++)
        if (seconds[i] > seconds[*out_limit])
            *out_limit = i;
    return seconds[*out_limit];
}

void machine_expect(const struct machine *machine, const struct machine_work *work,
                    struct expected *out_expected)
{
    enum figure limit;
    double bytes = work->cost.read_bytes + work->cost.written_bytes;
    double work_s = work_seconds(machine, work, bytes, &limit);
    double launch_s = value_of(machine, FIGURE_LAUNCH_TIME), seconds = work_s + launch_s;
    double busy_watts = value_of(machine, FIGURE_BUSY_WATTS) * part_of(machine, work);
    double watts = value_of(machine, FIGURE_IDLE_WATTS) + busy_watts;
    *out_expected = (struct expected){.seconds = seconds};
    add_time(out_expected, limit, -work_s * machine->figures[limit].log_sd, watts);
    add_time(out_expected, FIGURE_LAUNCH_TIME, launch_s * machine->figures[FIGURE_LAUNCH_TIME].log_sd, watts);
    add_time(out_expected, FIGURES, work_s * ROOFLINE_LOG_SD, watts);
    add_joules(machine, out_expected, FIGURE_IDLE_WATTS, value_of(machine, FIGURE_IDLE_WATTS) * seconds);
    add_joules(machine, out_expected, FIGURE_BUSY_WATTS, busy_watts * seconds);
    add_joules(machine, out_expected, FIGURE_FLOP_JOULES,
               value_of(machine, FIGURE_FLOP_JOULES) * work->cost.flop);
    add_joules(machine, out_expected, FIGURE_BYTE_JOULES, value_of(machine, FIGURE_BYTE_JOULES) * bytes);
}
