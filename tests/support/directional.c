/* support/directional.c - see directional.h.
 *
 * Note: directions are slots of the same program, so that products of gradients and directions can be
 * outputs. All slots are restored before each run, so that each run uses the same random numbers. */
#include "support/directional.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "support/chance.h"
#include "support/workbench.h"

#define EPSILON  1e-6
#define ABSOLUTE 1e-5
#define RELATIVE 1e-3

enum { MAX_VARIABLES = 96, MAX_TRIES = 12 };

unsigned directional_kinks, directional_points;

struct trial {
    const struct directional *of;
    struct workbench bench;
    char names[MAX_VARIABLES][64];
    forge_tensor variables[MAX_VARIABLES], along[MAX_VARIABLES];
    size_t count;
    unsigned char *slots; /* initial contents of all slots */
};

/* The program's outputs at a point. slope and other_slope: derivatives of the loss along two directions.
 * bend: derivative of other_slope along the first direction. */
struct facts {
    double loss, slope, other_slope, bend;
};

forge_value directional_variable(forge_builder *b, unsigned number, forge_shape shape)
{
    char name[32];
    snprintf(name, sizeof name, "variable%u", number);
    return forge_parameter(b, name, FORGE_F64, shape, (forge_init){FORGE_INIT_NORMAL, 0, 1});
}

/* --- the program ---------------------------------------------------------------------------------------- */

static forge_value product(forge_builder *b, const forge_value *gradients, size_t count,
                           const char *direction)
{
    forge_value sum = FORGE_NO_VALUE;
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%zu", direction, i);
        forge_shape shape = forge_value_shape(b, gradients[i]);
        forge_value d =
            forge_read(b, forge_state(b, name, FORGE_F64, shape, (forge_init){FORGE_INIT_NORMAL, 0, 1}));
        forge_value part = forge_mul(b, gradients[i], d);
        if (shape.rank)
            part = forge_reduce(b, FORGE_SUM, part, (1u << shape.rank) - 1, false);
        sum = sum ? forge_add(b, sum, part) : part;
    }
    return sum;
}

static void load(struct trial *t)
{
    forge_value variables[MAX_VARIABLES], gradients[MAX_VARIABLES];
    forge_builder *b = forge_builder_new();
    forge_value loss = t->of->loss(b, t->of->context);
    t->count = forge_parameter_count(b);
    assert_in_range(t->count, 1, MAX_VARIABLES);
    for (size_t i = 0; i < t->count; i++) {
        forge_slot slot = forge_parameter_slot(b, i);
        snprintf(t->names[i], sizeof t->names[i], "%s", b->graph->slots[slot].name);
        variables[i] = forge_read(b, slot);
    }
    forge_output(b, "loss", loss);
    forge_gradients(b, loss, variables, t->count, gradients);
    forge_output(b, "slope", product(b, gradients, t->count, "along."));
    forge_value other = product(b, gradients, t->count, "other.");
    forge_output(b, "other slope", other);
    if (t->of->is_second) {
        forge_gradients(b, other, variables, t->count, gradients);
        forge_output(b, "bend", product(b, gradients, t->count, "along."));
    }
    joule_error error = {0};
    if (workbench_try_load(&t->bench, b, &error) != JOULE_OK)
        fail_msg("%s, seed %llu: %s", t->of->name, (unsigned long long)t->of->seed, error.message);
}

/* --- points --------------------------------------------------------------------------------------------- */

/* Copies the contents of all slots to `t->slots`. If is_back is true, copies them from `t->slots` to the
 * slots. */
static void copy_slots(struct trial *t, bool is_back)
{
    size_t at = 0;
    for (size_t i = 0; i < forge_states_count(t->bench.states); i++) {
        forge_tensor tensor;
        const char *name;
        assert_int_equal(forge_states_get(t->bench.states, i, &tensor, &name), JOULE_OK);
        size_t size = forge_dtype_size_bytes(tensor.dtype, forge_tensor_elements(&tensor));
        void *data = forge_tensor_data(&tensor);
        if (!is_back)
            assert_non_null(t->slots = realloc(t->slots, at + size + 1));
        memcpy(is_back ? data : t->slots + at, is_back ? t->slots + at : data, size);
        at += size;
    }
}

/* Initializes slots from the seed. Then adds noise to all variables, because some of them are initially
 * constant. */
static void choose_point(struct trial *t, uint64_t seed)
{
    struct workbench *m = &t->bench;
    forge_instance_free(m->instance);
    forge_states_free(m->states);
    m->instance = NULL;
    assert_int_equal(forge_states_new(m->device, seed, &m->states, NULL), JOULE_OK);
    assert_int_equal(forge_instance_new(m->program, m->device, m->states, &m->instance, NULL), JOULE_OK);
    chance_state = CHANCE_SEED ^ seed;
    for (size_t i = 0; i < t->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "along.%zu", i);
        t->along[i] = workbench_slot(m, name);
        t->variables[i] = workbench_slot(m, t->names[i]);
        double *x = forge_tensor_data(&t->variables[i]);
        for (size_t k = 0; k < forge_tensor_elements(&t->variables[i]); k++)
            x[k] += 0.1 * chance_normal();
    }
    copy_slots(t, false);
}

static double output(const struct trial *t, const char *name)
{
    forge_tensor tensor = workbench_output(&t->bench, name);
    return *(double *)forge_tensor_data(&tensor);
}

/* Returns the outputs after moving the variables by `steps` steps along the direction. */
static struct facts evaluate_at(struct trial *t, double steps)
{
    copy_slots(t, true);
    for (size_t i = 0; i < t->count; i++) {
        double *x = forge_tensor_data(&t->variables[i]);
        const double *d = forge_tensor_data(&t->along[i]);
        for (size_t k = 0; k < forge_tensor_elements(&t->variables[i]); k++)
            x[k] += steps * EPSILON * d[k];
    }
    workbench_run(&t->bench);
    return (struct facts){output(t, "loss"), output(t, "slope"), output(t, "other slope"),
                          t->of->is_second ? output(t, "bend") : 0};
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= ABSOLUTE + RELATIVE * fabs(b);
}

/* Returns true if the slopes on both sides of a point agree. The arguments are outputs before, at and after
 * the point. */
static bool is_smooth(double before, double at, double behind)
{
    return is_near((at - before) / EPSILON, (behind - at) / EPSILON);
}

static void compare(const struct trial *t, uint64_t seed, const char *what, double found, double before,
                    double behind)
{
    double difference = (behind - before) / (2 * EPSILON);
    if (!is_near(found, difference))
        fail_msg("%s, seed %llu, point %llu: %s is %.9g, by differences %.9g", t->of->name,
                 (unsigned long long)t->of->seed, (unsigned long long)seed, what, found, difference);
}

/* Tries the point of this seed. Returns false if the point is near a kink. */
static bool try_point(struct trial *t, uint64_t seed)
{
    choose_point(t, seed);
    struct facts at = evaluate_at(t, 0), before = evaluate_at(t, -1), behind = evaluate_at(t, 1);
    if (!isfinite(at.loss) || !isfinite(at.slope) || !isfinite(at.bend))
        fail_msg("%s, seed %llu, point %llu: loss %g, slope %g, bend %g", t->of->name,
                 (unsigned long long)t->of->seed, (unsigned long long)seed, at.loss, at.slope, at.bend);
    if (!is_smooth(before.loss, at.loss, behind.loss) ||
        (t->of->is_second && !is_smooth(before.other_slope, at.other_slope, behind.other_slope)))
        return false;
    compare(t, seed, "the slope", at.slope, before.loss, behind.loss);
    if (t->of->is_second)
        compare(t, seed, "the bend", at.bend, before.other_slope, behind.other_slope);
    return true;
}

void directional_check(const struct directional *directional)
{
    static struct trial t;
    joule_error error = {0};
    t = (struct trial){.of = directional};
    assert_int_equal(workbench_begin(&t.bench, 1, &error), JOULE_OK);
    load(&t);
    for (unsigned i = 0; i < directional->points; i++) {
        uint64_t tries = 0, first = directional->seed * 1000003 + i * MAX_TRIES;
        while (!try_point(&t, first + tries)) {
            directional_kinks++;
            if (++tries == MAX_TRIES)
                fail_msg("%s, seed %llu: no point without a kink", directional->name,
                         (unsigned long long)directional->seed);
        }
        directional_points++;
    }
    free(t.slots);
    workbench_end(&t.bench);
}
