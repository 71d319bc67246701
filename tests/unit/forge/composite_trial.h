/* tests/unit/forge/composite_trial.h - compares kernels of composites with their bodies.
 *
 * The reference computes the composite's body in f64. The kernel of each instruction set gets the same
 * inputs, which may be of any float type; the body gets them converted.
 * Note: the library builds the body from the name and the attributes. A test supplies only inputs and a
 * tolerance. */
#ifndef COMPOSITE_TRIAL_H
#define COMPOSITE_TRIAL_H

#include <math.h>
#include "forge/autodiff/gradient.h"
#include "forge/ir/library.h"
#include "support/workbench.h"
#include "unit/forge/cpu_kernels.h"

struct trial {
    struct composite_attributes attributes;
    size_t input_count;
    struct view inputs[16]; /* packed */
    double tolerance;       /* allowed error, relative to the magnitude of the result plus 1 */
};

static inline bool is_float(const struct view *view)
{
    return forge_dtype_is_float(view->dtype);
}

/* Returns the composite's body with all floats replaced by f64. */
static inline forge_graph *wide_body(const struct trial *t)
{
    struct value values[16];
    const struct value *inputs[16];
    struct dim_table dims = {0};
    joule_error error = {0};
    uint32_t wanted = t->attributes.wanted;
    for (size_t i = 0; i < t->input_count; i++) {
        values[i] = (struct value){.dtype = is_float(&t->inputs[i]) ? FORGE_F64 : t->inputs[i].dtype,
                                   .shape = t->inputs[i].shape};
        inputs[i] = &values[i];
    }
    forge_graph *body = library_body(&t->attributes, inputs, t->input_count, &dims, &error);
    if (!body)
        fail_msg("%s: %s", t->attributes.name, error.message);
    if (!library_is_gradient(&t->attributes))
        return body;
    forge_graph *gradient = gradient_of_body(body, &dims, t->attributes.given, &wanted, &error);
    forge_graph_free(body);
    assert_non_null(gradient);
    assert_int_equal(wanted, t->attributes.wanted);
    return gradient;
}

static inline void give_inputs(struct workbench *bench, const struct trial *t)
{
    for (size_t i = 0; i < t->input_count; i++) {
        const struct view *in = &t->inputs[i];
        size_t count = forge_shape_elements(&in->shape);
        double *wide = malloc(count * sizeof *wide + 1);
        char name[24];
        if (is_float(in))
            dtype_row(in->dtype)->load(in->data, 0, count, wide);
        snprintf(name, sizeof name, "%zu", i);
        workbench_set(bench, name, is_float(in) ? (const void *)wide : in->data);
        free(wide);
    }
}

/* Compares a kernel's result with the body's result. If the body's gradient is infinite or NaN, the kernel's
 * gradient may also be infinite or NaN, in any combination. The reason is that the body has terms that cancel
 * only for finite numbers. */
static inline void compare(const struct trial *t, const char *isa, size_t number, const struct view *got,
                           const double *exact)
{
    bool is_rough = library_is_gradient(&t->attributes);
    for (size_t i = 0; i < forge_shape_elements(&got->shape); i++) {
        double x = (double)((const float *)got->data)[i];
        bool is_so = is_rough && !isfinite(exact[i]) ? !isfinite(x)
                     : isnan(exact[i])               ? isnan(x)
                     : isinf(exact[i])               ? x == exact[i]
                                       : fabs(x - exact[i]) <= t->tolerance * (1 + fabs(exact[i]));
        if (!is_so)
            fail_msg("%s, %s, output %zu, element %zu: %.9g, not %.9g", t->attributes.name, isa, number, i, x,
                     exact[i]);
    }
}

/* Repeats the launch with each output in the memory of an input, for all pairs that the kernel allows.
 * Expects the same bytes. */
static inline void assert_in_place(enum isa isa, const struct launch *launch)
{
    const struct cpu_kernel *kernel = kernel_for(isa, launch);
    for (size_t k = 0; k < launch->output_count; k++)
        for (size_t i = 0; i < launch->input_count; i++) {
            size_t bytes = view_size_bytes(&launch->outputs[k]);
            if (!in_place_may(kernel->in_place, k, i) ||
                launch->inputs[i].dtype != launch->outputs[k].dtype ||
                !forge_shape_equal(&launch->inputs[i].shape, &launch->outputs[k].shape))
                continue;
            struct view inputs[16], outputs[4];
            void *others[4] = {NULL};
            memcpy(inputs, launch->inputs, launch->input_count * sizeof *inputs);
            for (size_t o = 0; o < launch->output_count; o++) {
                outputs[o] = launch->outputs[o];
                outputs[o].data = others[o] = malloc(view_size_bytes(&outputs[o]) + 1);
            }
            memcpy(outputs[k].data, inputs[i].data, bytes);
            inputs[i].data = outputs[k].data;
            struct launch work = *launch;
            work.inputs = inputs;
            work.outputs = outputs;
            run_rounds(kernel, &work, false);
            for (size_t o = 0; o < launch->output_count; o++) {
                assert_memory_equal(outputs[o].data, launch->outputs[o].data, view_size_bytes(&outputs[o]));
                free(others[o]);
            }
        }
}

static inline void check_trial(struct workbench *bench, const struct trial *t)
{
    joule_error error = {0};
    forge_graph *body = wide_body(t);
    struct view outputs[4];
    if (forge_compile(body, bench->device, &bench->program, &error) != JOULE_OK ||
        forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, &error) !=
            JOULE_OK)
        fail_msg("%s", error.message);
    give_inputs(bench, t);
    workbench_run(bench);
    for (size_t k = 0; k < body->output_count; k++) {
        forge_shape shape = body->values[body->outputs[k].value].shape;
        outputs[k] = view_packed(FORGE_F32, malloc(forge_shape_elements(&shape) * 4 + 1), shape);
    }
    struct launch launch = {OP_COMPOSITE,   &t->attributes, t->inputs,
                            t->input_count, outputs,        body->output_count};
    EACH_ISA (isa) {
        assert_non_null(kernel_for(isa, &launch));
        run_kernel(isa, &launch);
        for (size_t k = 0; k < body->output_count; k++) {
            forge_tensor exact = workbench_output(bench, body->outputs[k].name);
            compare(t, isa_name(isa), k, &outputs[k], forge_tensor_data(&exact));
        }
        assert_in_place(isa, &launch);
    }
    for (size_t k = 0; k < body->output_count; k++)
        free(outputs[k].data);
    workbench_unload(bench);
    forge_graph_free(body);
}

#endif
