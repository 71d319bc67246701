/* runtime/items.c - see items.h.
 *
 * The cost model here is of CPUs: a core that works at all takes most of what it will ever take; arithmetic and memory add
 * to that. Only ratios count, since the meter says how much it is in all, and the regression corrects them.
 * Newcomers: the figures are of the size that published ones have, and their errors are wide.
 */
#include "forge/runtime/items.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "forge/ir/cost.h"

/* What a busy core takes whatever it does, with its part of the idle package: 4 to 6.5 W for Xeon Scalable servers by the
 * SPECpower_ssj2008 results behind libjoule's own table (src/joule/cost/cpu_seed.c). */
#define CORE_WATTS 5.0
/* Waiting cores sleep, loaders work: about this part of a busy machine. */
#define BETWEEN_PART 0.6

/* Errors of logarithms: of a kind of operation (its kernels, its use of caches), of one operation against its kind (sizes,
 * strides), of what happens between launches. */
#define KIND_LOG_SD    0.35
#define OWN_LOG_SD     0.10
#define BETWEEN_LOG_SD 0.6

/* The first `depth` parts of a scope. */
static size_t cut(const char *scope, size_t depth)
{
    size_t length = 0;
    for (; depth && scope[length]; length++)
        if (scope[length] == '/' && --depth == 0)
            break;
    return length;
}

static size_t deepest(const forge_program *program)
{
    size_t most = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        const char *scope = program_string(program, program_launches(program)[i].scope);
        size_t depth = *scope != '\0';
        for (; *scope; scope++)
            depth += *scope == '/';
        most = depth > most ? depth : most;
    }
    return most;
}

static bool is_of(const struct item *item, const forge_program *program, const struct program_launch *launch,
                  const char *scope, size_t length)
{
    return strcmp(item->operation, program_launch_name(program, launch)) == 0 &&
           item->phase == (forge_phase)launch->phase && strncmp(item->scope, scope, length) == 0 &&
           item->scope[length] == '\0';
}

/* Puts a launch to its item; false: no memory. */
static bool place(struct items *items, const forge_program *program, size_t i, size_t depth)
{
    const struct program_launch *launch = &program_launches(program)[i];
    const char *scope = program_string(program, launch->scope);
    size_t length = cut(scope, depth), k = 0;
    while (k < items->count && !is_of(&items->list[k], program, launch, scope, length))
        k++;
    struct item *item = &items->list[k];
    if (k == items->count) {
        char *copy = arena_copy(&items->texts, scope, length);
        if (!copy)
            return false;
        *item = (struct item){.op = launch->op,
                              .operation = program_launch_name(program, launch),
                              .phase = (forge_phase)launch->phase,
                              .scope = copy};
        items->count++;
    }
    items->item_of[i] = (uint32_t)k;
    item->launches++;
    return true;
}

static bool place_all(struct items *items, const forge_program *program, size_t depth)
{
    items->count = 0;
    for (size_t i = 0; i < program->launches.count; i++)
        if (!place(items, program, i, depth))
            return false;
    return true;
}

bool items_make(struct items *items, const forge_program *program)
{
    size_t launches = program->launches.count, depth = deepest(program);
    *items = (struct items){.list = calloc(launches + 1, sizeof *items->list),
                            .item_of = calloc(launches + 1, sizeof *items->item_of)};
    if (!items->list || !items->item_of || !place_all(items, program, depth))
        return false;
    while (items->count + 1 > ITEMS_MOST && depth > 0)
        if (!place_all(items, program, --depth))
            return false;
    items->list[items->count++] = (struct item){.op = OP_COUNT, .operation = "", .scope = ""};
    return true;
}

void items_free(struct items *items)
{
    free(items->list);
    free(items->item_of);
    arena_free(&items->texts);
    *items = (struct items){0};
}

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

void items_expect(const struct items *items, const forge_instance *instance,
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
