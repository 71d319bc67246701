/* joule/api/cpu_model.c - queries of the cost model of this machine; see <joule/model.h>.
 *
 * Note: nothing is measured here. The `estimated` source uses the same cost table.
 */
#include <joule/model.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/abi.h"
#include "base/string.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joule/sources/cpu/cpu_map.h"

/* Returns the joules of these features according to a cost table. */
static joule_quantity price(const struct cost_table *table, struct cost_features features)
{
    features.version = COST_VERSION;
    struct estimate total = cost_of(table, &features).total;
    return estimate_quantity(&total);
}

/* Fills *out from the cost table for the mapped CPU. */
static void describe(const struct cpu_map *map, joule_cpu_model *out)
{
    struct cost_table table;
    cost_cpu_table(&map->cpu, &table);
    struct cost_features idle = {.amount[COST_PACKAGE_SECONDS] = map->cpu.packages};
    struct cost_features busy = {.amount[COST_CORE_SECONDS] = 1, .amount[COST_CUBIC_SECONDS] = 1};
    *out = (joule_cpu_model){.cores = map->cpu.cores,
                             .idle_watts = price(&table, idle),
                             .core_watts = price(&table, busy),
                             .reference_hz = map->reference_hz};
    string_copy(out->table, sizeof out->table, table.id);
    string_copy(out->source, sizeof out->source, table.source);
}

/* Returns the bytes per second of one core from a level of the memory. */
static double speed_of(const struct cost_core *core, enum cost_feature lines)
{
    return core->per_cycle[lines] * core->line_bytes * core->hz;
}

/* Returns the joules of one byte from a level of the memory. */
static joule_quantity byte_price(const struct cost_core *core, const struct cost_table *table,
                                 enum cost_feature lines)
{
    struct cost_features byte = {0};
    byte.amount[lines] = 1 / core->line_bytes;
    return price(table, byte);
}

/* Fills the members of *out about caches, memory and operations. Returns false if out of memory. */
static bool describe_core(joule_cpu_model *out)
{
    struct cost_cpu cpu;
    struct cost_core core;
    struct cost_table table;
    struct cpu_calibration *found = malloc(sizeof *found);
    if (!found || !cpu_core_read(host_real(), &cpu, &core)) {
        free(found);
        return false;
    }
    cost_core_table(&cpu, &table);
    cpu_calibration_find(host_real(), &cpu, found);
    out->has_measured_speeds = cpu_calibration_is_used(found);
    out->has_measured_prices = out->has_measured_speeds && found->calibration.prices.cls != JOULE_CLASS_NONE;
    if (out->has_measured_speeds)
        cost_calibration_apply(&found->calibration, &core, &table);
    free(found);
    out->l2_bytes = core.cache_bytes[COST_L2];
    out->l3_bytes = core.cache_bytes[COST_L3];
    out->l2_bytes_per_s = speed_of(&core, COST_L2_LINES);
    out->l3_bytes_per_s = speed_of(&core, COST_L3_LINES);
    out->memory_bytes_per_s = speed_of(&core, COST_DRAM_LINES);
    out->l2_byte_joules = byte_price(&core, &table, COST_L2_LINES);
    out->l3_byte_joules = byte_price(&core, &table, COST_L3_LINES);
    out->memory_byte_joules = byte_price(&core, &table, COST_DRAM_LINES);
    out->cycle_watts = price(&table, (struct cost_features){.amount[COST_CYCLES] = core.hz});
    struct cost_features fma = {.amount[COST_UOPS] = 1, .amount[COST_FP_FMAS] = 1};
    fma.amount[COST_SIMD_256] = 1;
    out->fma256_joules = price(&table, fma);
    fma.amount[COST_SIMD_256] = 0;
    fma.amount[COST_SIMD_512] = 1;
    out->fma512_joules = price(&table, fma);
    return true;
}

joule_status joule_cpu_model_query(joule_cpu_model *out_model)
{
    if (!abi_has_room(out_model, SIZE_UP_TO(joule_cpu_model, source)))
        return JOULE_INVALID;
    struct arena arena = {0};
    struct cpu_info info;
    struct cpu_map map;
    joule_cpu_model model;
    cpu_info_read(host_real(), &info);
    bool done = cpu_map_read(host_real(), &info, &arena, &map);
    if (done) {
        describe(&map, &model);
        done = describe_core(&model);
    }
    if (done)
        abi_write(out_model, &model, sizeof model);
    arena_free(&arena);
    return done ? JOULE_OK : JOULE_NO_MEMORY;
}

/* --- the work of a program ------------------------------------------------------------------------------ */

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* This machine's CPU, set once by identify; valid if is_identified. */
static struct cost_cpu this_cpu;
static bool is_identified;

static void identify(void)
{
    is_identified = cpu_map_identify(host_real(), &this_cpu);
}

joule_status joule_cpu_work_joules(double cpu_seconds, double wall_seconds, joule_quantity *out_joules)
{
    if (!out_joules)
        return JOULE_INVALID;
    *out_joules = quantity_unknown();
    if (!(cpu_seconds >= 0 && isfinite(cpu_seconds) && wall_seconds >= 0 && isfinite(wall_seconds)))
        return JOULE_INVALID;
    pthread_once(&once, identify);
    if (!is_identified)
        return JOULE_NO_MEMORY;
    struct estimate joules = cost_cpu_energy(&this_cpu, cpu_seconds, wall_seconds);
    *out_joules = estimate_quantity(&joules);
    return JOULE_OK;
}
