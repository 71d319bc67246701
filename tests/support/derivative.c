/* support/derivative.c - see derivative.h. */
#include "support/derivative.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/random.h>

#define EPSILON  1e-6
#define ABSOLUTE 1e-5
#define RELATIVE 1e-3

/* Returns the weighted sum of the elements of `y`, with fixed weights between -1 and 1. With equal weights,
 * errors of elements could cancel. */
static forge_value weigh(forge_builder *b, forge_value y, uint32_t stream)
{
    forge_shape shape = forge_value_shape(b, y);
    forge_tensor weights;
    joule_error error;
    assert_int_equal(forge_tensor_new(FORGE_F64, &shape, &weights, &error), JOULE_OK);
    size_t count = forge_tensor_elements(&weights);
    for (size_t i = 0; i < count; i++) {
        float u;
        forge_random_uniform(&(forge_random){.key = 7, .stream = stream}, i, 1, &u);
        ((double *)forge_tensor_data(&weights))[i] = 2 * (double)u - 1;
    }
    forge_value sum = forge_mul(b, y, forge_constant(b, &weights));
    forge_buffer_release(weights.buffer);
    uint32_t all = (1u << shape.rank) - 1;
    return all ? forge_reduce(b, FORGE_SUM, sum, all, false) : sum;
}

void derivative_begin(struct trial *t, const struct function *f)
{
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_value x[DERIVATIVE_INPUTS], g[DERIVATIVE_INPUTS], h[DERIVATIVE_INPUTS], slope = FORGE_NO_VALUE;
    char name[32];
    for (size_t i = 0; i < f->inputs; i++) {
        snprintf(name, sizeof name, "x%zu", i);
        x[i] = forge_input(b, name, FORGE_F64, f->shapes[i]);
    }
    forge_value loss = weigh(b, f->build(b, x, f->kind), 0);
    forge_output(b, "loss", loss);
    forge_gradients(b, loss, x, f->inputs, g);
    for (size_t i = 0; i < f->inputs; i++) {
        snprintf(name, sizeof name, "g%zu", i);
        forge_output(b, name, g[i]);
        forge_value part = weigh(b, g[i], 1 + (uint32_t)i);
        slope = slope ? forge_add(b, slope, part) : part;
    }
    forge_output(b, "slope", slope);
    if (f->is_smooth) {
        forge_gradients(b, slope, x, f->inputs, h);
        for (size_t i = 0; i < f->inputs; i++) {
            snprintf(name, sizeof name, "h%zu", i);
            forge_output(b, name, h[i]);
        }
    }
    if (forge_builder_finish(b, &t->graph, &error) || forge_device_open("cpu", &t->device, &error) ||
        forge_compile(t->graph, t->device, &t->program, &error) ||
        forge_states_new(t->device, 1, &t->states, &error) ||
        forge_instance_new(t->program, t->device, t->states, &t->instance, &error))
        fail_msg("%s: %s", f->name, error.message);
    for (size_t i = 0; i < f->inputs; i++) {
        assert_int_equal(forge_tensor_new(FORGE_F64, &f->shapes[i], &t->x[i], &error), JOULE_OK);
        for (size_t k = 0; k < forge_tensor_elements(&t->x[i]); k++) {
            float u;
            forge_random_uniform(&(forge_random){.key = 11, .stream = (uint32_t)i}, k, 1, &u);
            ((double *)forge_tensor_data(&t->x[i]))[k] = f->low + (f->high - f->low) * (double)u;
        }
    }
}

void derivative_end(struct trial *t, const struct function *f)
{
    forge_instance_free(t->instance);
    forge_states_free(t->states);
    forge_program_free(t->program);
    forge_device_close(t->device);
    forge_graph_free(t->graph);
    for (size_t i = 0; i < f->inputs; i++)
        forge_buffer_release(t->x[i].buffer);
}

void derivative_run(struct trial *t, const struct function *f)
{
    joule_error error = {0};
    char name[32];
    for (size_t i = 0; i < f->inputs; i++) {
        snprintf(name, sizeof name, "x%zu", i);
        assert_int_equal(forge_instance_set(t->instance, name, &t->x[i], &error), JOULE_OK);
    }
    assert_int_equal(forge_instance_run(t->instance, &error), JOULE_OK);
}

static double scalar(struct trial *t, const char *name)
{
    forge_tensor tensor;
    assert_int_equal(forge_instance_get(t->instance, name, &tensor, NULL), JOULE_OK);
    return *(double *)forge_tensor_data(&tensor);
}

void derivative_compare(struct trial *t, const struct function *f, size_t i, const char *what, char letter)
{
    char name[32];
    forge_tensor tensor;
    snprintf(name, sizeof name, "%c%zu", letter, i);
    derivative_run(t, f);
    assert_int_equal(forge_instance_get(t->instance, name, &tensor, NULL), JOULE_OK);
    assert_true(forge_shape_equal(&tensor.shape, &f->shapes[i]));
    size_t count = forge_tensor_elements(&tensor);
    double *x = forge_tensor_data(&t->x[i]), *found = malloc(count * sizeof *found + 1);
    memcpy(found, forge_tensor_data(&tensor), count * sizeof *found);
    for (size_t k = 0; k < count; k++) {
        double at = x[k];
        x[k] = at + EPSILON;
        derivative_run(t, f);
        double above = scalar(t, what);
        x[k] = at - EPSILON;
        derivative_run(t, f);
        double difference = (above - scalar(t, what)) / (2 * EPSILON);
        x[k] = at;
        if (!(fabs(found[k] - difference) <= ABSOLUTE + RELATIVE * fabs(difference)))
            fail_msg("%s, kind %d: d %s / d x%zu[%zu] is %.9g, by differences %.9g", f->name, f->kind, what,
                     i, k, found[k], difference);
    }
    free(found);
}

void derivative_check(const struct function *f)
{
    struct trial t = {0};
    derivative_begin(&t, f);
    for (size_t i = 0; i < f->inputs; i++) {
        derivative_compare(&t, f, i, "loss", 'g');
        if (f->is_smooth)
            derivative_compare(&t, f, i, "slope", 'h');
    }
    derivative_end(&t, f);
}
