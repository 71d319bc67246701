/* tests/unit/forge/composite_trial.h - compares kernels of composites with their bodies.
 *
 * The reference computes the composite's body in f64. The kernel of each instruction set gets the same
 * inputs, which may be of any float type; the body gets them converted. If all floats are f32, the trial is
 * repeated with bf16 and f16, for kernels of these types; then a result may also be rounded once.
 * Note: the library builds the body from the name and the attributes. A test supplies only inputs and a
 * tolerance. */
#ifndef COMPOSITE_TRIAL_H
#define COMPOSITE_TRIAL_H

#include <math.h>
#include "base/string.h"
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

/* Returns the body that the library builds, or its gradient. is_wide: all floats are replaced by f64. */
static inline forge_graph *body_of(const struct trial *t, bool is_wide)
{
    struct value values[16];
    const struct value *inputs[16];
    struct dim_table dims = {0};
    joule_error error = {0};
    uint32_t wanted = t->attributes.wanted;
    for (size_t i = 0; i < t->input_count; i++) {
        values[i] =
            (struct value){.dtype = is_wide && is_float(&t->inputs[i]) ? FORGE_F64 : t->inputs[i].dtype,
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
    bool is_bf16 = got->dtype == FORGE_BF16, is_f16 = got->dtype == FORGE_F16;
    double rounding = is_bf16  ? 0x1p-8
                      : is_f16 ? 0x1p-11
                               : 0,
           most = is_f16    ? 65520
                  : is_bf16 ? 0x1.ffp127
                            : INFINITY;
    for (size_t i = 0; i < forge_shape_elements(&got->shape); i++) {
        double x = view_number(got, i), size = fabs(exact[i]);
        double allowed = t->tolerance * (1 + size) + rounding * (size + 0x1p-14);
        bool is_so = is_rough && !isfinite(exact[i]) ? !isfinite(x)
                     : isnan(exact[i])               ? isnan(x)
                     : isinf(exact[i])               ? x == exact[i]
                     : isinf(x)                      ? size + allowed >= most
                                                     : fabs(x - exact[i]) <= allowed;
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

/* Runs the trial for each instruction set that has a kernel. must_exist: each has one. */
static inline void run_trial(struct workbench *bench, const struct trial *t, bool must_exist)
{
    joule_error error = {0};
    forge_graph *body = body_of(t, true), *own = body_of(t, false);
    struct view outputs[4];
    if (forge_compile(body, bench->device, &bench->program, &error) != JOULE_OK ||
        forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, &error) !=
            JOULE_OK)
        fail_msg("%s", error.message);
    give_inputs(bench, t);
    workbench_run(bench);
    for (size_t k = 0; k < body->output_count; k++) {
        const struct value *value = &own->values[own->outputs[k].value];
        outputs[k] =
            view_packed(value->dtype, malloc(forge_shape_elements(&value->shape) * 4 + 1), value->shape);
    }
    struct launch launch = {OP_COMPOSITE,   &t->attributes, t->inputs,
                            t->input_count, outputs,        body->output_count};
    EACH_ISA (isa) {
        if (!kernel_for(isa, &launch) && !must_exist)
            continue;
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
    forge_graph_free(own);
}

/* Repeats a trial with all floats in bf16 or f16, except statistics of batch_norm, which are always f32. */
static inline void run_narrow_trial(struct workbench *bench, const struct trial *t, forge_dtype dtype)
{
    struct trial narrow = *t;
    bool has_statistics = strcmp(t->attributes.name, "batch_norm") == 0;
    for (size_t i = 0; i < t->input_count; i++) {
        struct view *in = &narrow.inputs[i];
        size_t count = forge_shape_elements(&in->shape);
        if (!is_float(in) || (has_statistics && i > 2))
            continue;
        *in = view_packed(dtype, malloc(2 * count + 1), in->shape);
        assert_int_equal(forge_convert(FORGE_F32, t->inputs[i].data, dtype, in->data, count), JOULE_OK);
    }
    run_trial(bench, &narrow, false);
    for (size_t i = 0; i < t->input_count; i++)
        if (narrow.inputs[i].data != t->inputs[i].data)
            free(narrow.inputs[i].data);
}

static inline void check_trial(struct workbench *bench, const struct trial *t)
{
    static const char *const of_models[] = {"linear",      "embedding",       "rotary", "swiglu",
                                            "cache_write", "paged_attention", NULL};
    bool is_f32 = !string_is_one_of(t->attributes.name, of_models); /* their activations are always f32 */
    for (size_t i = 0; i < t->input_count; i++)
        is_f32 &= !is_float(&t->inputs[i]) || t->inputs[i].dtype == FORGE_F32;
    run_trial(bench, t, true);
    if (is_f32) {
        run_narrow_trial(bench, t, FORGE_BF16);
        run_narrow_trial(bench, t, FORGE_F16);
    }
}

#endif
