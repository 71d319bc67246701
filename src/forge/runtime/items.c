/* runtime/items.c - see items.h.
 *
 * The cost model describes CPUs. A busy core always draws most of its maximum power. Arithmetic and memory
 * accesses add to this power.
 *
 * Note: the figures have the magnitude of published figures, with wide errors. Only their ratios matter,
 * because the sum comes from the meter. The regression then corrects the ratios.
 */
#include "forge/runtime/items.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "forge/ir/operation_cost.h"

/* Power of a busy core in W, including its share of the idle package, whatever the core computes.
 * SPECpower_ssj2008 results of Xeon Scalable servers are 4 to 6.5 W. libjoule's own table is based on the
 * same results (src/joule/cost/cpu_seed.c). */
#define CORE_WATTS 5.0
/* Power between launches, relative to the power of a busy machine. Between launches some cores sleep, and
 * others load data. */
#define BETWEEN_PART 0.6

/* Standard deviations of the logarithm of the power. KIND: differences between kinds of operations, which use
 * different kernels and caches. OWN: differences between operations of one kind, which have different sizes
 * and strides. BETWEEN: error for the time between launches. */
#define KIND_LOG_SD    0.35
#define OWN_LOG_SD     0.10
#define BETWEEN_LOG_SD 0.6

/* Returns the length in bytes of the first `depth` names of a scope. */
static size_t prefix_length(const char *scope, size_t depth)
{
    size_t length = 0;
    for (; depth && scope[length]; length++)
        if (scope[length] == '/' && --depth == 0)
            break;
    return length;
}

static size_t find_depth(const forge_program *program)
{
    size_t max_depth = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        const char *scope = program_string(program, program_launches(program)[i].scope);
        size_t depth = *scope != '\0';
        for (; *scope; scope++)
            depth += *scope == '/';
        max_depth = depth > max_depth ? depth : max_depth;
    }
    return max_depth;
}

static struct index_key item_key(const void *items, uint32_t item)
{
    const struct item *of = &((const struct items *)items)->list[item];
    return (struct index_key){of->key, of->key_size};
}

/* Returns the key of the launch's item: phase and operation ("1matmul"), a zero byte, and the first `depth`
 * names of the scope ("h.0/attn"). The key is valid until the next call. Returns NULL if out of memory. */
static char *key_of(struct items *items, const forge_program *program, const struct program_launch *launch,
                    size_t depth, size_t *out_size)
{
    const char *operation = program_launch_name(program, launch),
               *scope = program_string(program, launch->scope);
    size_t length = prefix_length(scope, depth), start = strlen(operation) + 2, size = start + length;
    if (!array_reserve((void **)&items->key, &items->key_capacity, size, 1))
        return NULL;
    items->key[0] = (char)('0' + launch->phase);
    memcpy(items->key + 1, operation, start - 1);
    memcpy(items->key + start, scope, length);
    *out_size = size;
    return items->key;
}

/* Adds an item with a copy of `key`, of `size` bytes. Returns false if out of memory. */
static bool add_item(struct items *items, const forge_program *program, const struct program_launch *launch,
                     const char *key, size_t size)
{
    char *copy = arena_alloc(&items->texts, size + 1);
    if (!copy)
        return false;
    memcpy(copy, key, size);
    items->list[items->count++] = (struct item){.op = launch->op,
                                                .operation = program_launch_name(program, launch),
                                                .phase = (forge_phase)launch->phase,
                                                .key = copy,
                                                .key_size = size,
                                                .scope = copy + strlen(copy) + 1};
    return index_add(&items->index, items, (uint32_t)items->count - 1);
}

/* Assigns launch i to its item, and adds the item if there is none yet. Returns false if out of memory. */
static bool assign_item(struct items *items, const forge_program *program, size_t i, size_t depth)
{
    const struct program_launch *launch = &program_launches(program)[i];
    size_t size;
    const char *key = key_of(items, program, launch, depth, &size);
    uint32_t k = key ? index_find(&items->index, items, (struct index_key){key, size}) : INDEX_NONE;
    if (k == INDEX_NONE) {
        k = (uint32_t)items->count;
        if (!key || !add_item(items, program, launch, key, size))
            return false;
    }
    items->item_of[i] = k;
    items->list[k].launches++;
    return true;
}

/* Returns true if there are more than MAX_ITEMS items, including the item for the time between launches. */
static bool is_above_max(const struct items *items)
{
    return items->count + 1 > MAX_ITEMS;
}

static bool assign_all(struct items *items, const forge_program *program, size_t depth)
{
    items->count = 0;
    index_free(&items->index);
    arena_free(&items->texts);
    for (size_t i = 0; i < program->launches.count && !(is_above_max(items) && depth); i++)
        if (!assign_item(items, program, i, depth))
            return false;
    return true;
}

bool items_make(struct items *items, const forge_program *program)
{
    size_t launches = program->launches.count, depth = find_depth(program);
    *items = (struct items){.index.key_of = item_key,
                            .list = calloc(launches + 1, sizeof *items->list),
                            .item_of = calloc(launches + 1, sizeof *items->item_of)};
    if (!items->list || !items->item_of || !assign_all(items, program, depth))
        return false;
    while (is_above_max(items) && depth > 0)
        if (!assign_all(items, program, --depth))
            return false;
    items->list[items->count++] = (struct item){.op = OP_COUNT, .operation = "", .scope = ""};
    return true;
}

void items_free(struct items *items)
{
    free(items->list);
    free(items->item_of);
    free(items->key);
    index_free(&items->index);
    arena_free(&items->texts);
    *items = (struct items){0};
}

/* --- scopes --------------------------------------------------------------------------------------------- */

/* Returns true if the scope is `outer` or below it. */
static bool is_below(const char *scope, const char *outer)
{
    size_t length = strlen(outer);
    return length == 0 || (strncmp(scope, outer, length) == 0 && (scope[length] == '/' || !scope[length]));
}

/* Returns the work of the operations of a fused launch, and sets *out_below to the work of those in `scope`
 * or below it. Returns 0 if the launch is not fused. */
static double work_of_origins(const forge_program *program, const struct program_launch *launch,
                              const char *scope, double *out_below)
{
    double all = 0;
    *out_below = 0;
    for (uint32_t i = launch->first_origin; i < launch->first_origin + launch->origin_count; i++) {
        const struct program_origin *origin = &program_origins(program)[i];
        all += origin->weight;
        *out_below += is_below(program_string(program, origin->scope), scope) ? origin->weight : 0;
    }
    return all;
}

double items_part(const struct items *items, const forge_program *program, size_t item, const char *scope)
{
    double all = 0, below = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *launch = &program_launches(program)[i];
        if (items->item_of[i] != item || !launch->origin_count)
            continue;
        double of_scope, work = work_of_origins(program, launch, scope, &of_scope);
        all += launch->cost.written_bytes;
        below += launch->cost.written_bytes * of_scope / work;
    }
    return all > 0 ? below / all : is_below(items->list[item].scope, scope);
}

/* --- costs ---------------------------------------------------------------------------------------------- */

struct program_cost items_cost(const struct items *items, const forge_instance *instance, size_t item)
{
    struct program_cost sum = {0};
    for (size_t i = 0; i < instance->program->launches.count; i++) {
        if (items->item_of[i] != item)
            continue;
        struct program_cost cost = instance_cost(instance, i);
        sum.flop += cost.flop;
        sum.read_bytes += cost.read_bytes;
        sum.written_bytes += cost.written_bytes;
    }
    return sum;
}

static double seconds_of(const struct items *items, const forge_instance *instance, size_t item)
{
    double seconds = 0;
    for (size_t i = 0; i < instance->program->launches.count; i++)
        seconds += items->item_of[i] == item ? (double)instance->taken_ns[i] * 1e-9 : 0;
    return seconds;
}

void items_prior(const struct items *items, const forge_instance *instance,
                 struct attribution_group *out_groups)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double busy = CORE_WATTS * (cores > 0 ? (double)cores : 1);
    for (size_t k = 0; k < items->count; k++) {
        double seconds = seconds_of(items, instance, k);
        double joules = cost_joules(items_cost(items, instance, k)) * (double)instance->runs;
        double watts = seconds > 0 ? busy + joules / seconds : busy;
        out_groups[k] = (struct attribution_group){watts, items->list[k].op, KIND_LOG_SD, OWN_LOG_SD};
    }
    out_groups[items->count - 1] =
        (struct attribution_group){BETWEEN_PART * busy, OP_COUNT, BETWEEN_LOG_SD, OWN_LOG_SD};
}
