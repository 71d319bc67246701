/* tools/forge/check_value.c - see check_value.h. */
#include "check_value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/compiler/pass.h"
#include "forge/core/dtype.h"
#include "forge/ir/operation_cost.h"
#include "forge/ir/fields.h"
#include "forge/reference/reference.h"

/* Allowed error of a composite, in epsilons of the largest magnitude in its output. */
#define COMPOSITE_ERRORS 32
#define F16_MIN          0x1p-14 /* smallest normal number of f16 */

/* --- a device ------------------------------------------------------------------------------------------- */

joule_status loaded_case_open(struct loaded_case *loaded, forge_device *device, const struct check_case *c,
                              joule_error *error)
{
    /* These passes would replace the operation that is checked. */
    const forge_compile_options options = {.struct_size = sizeof options, .skip = "regroup,fuse,layout"};
    joule_status status = forge_compile_with(c->graph, device, &options, &loaded->program, error);
    if (status == JOULE_OK)
        status = forge_states_new(device, 1, &loaded->states, error);
    if (status == JOULE_OK)
        status = forge_instance_new(loaded->program, device, loaded->states, &loaded->instance, error);
    return status;
}

joule_status loaded_case_run(const struct loaded_case *loaded, const struct check_case *c, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < c->input_count; i++)
        status = forge_instance_set(loaded->instance, c->inputs[i].name, &c->inputs[i].tensor, error);
    return status == JOULE_OK ? forge_instance_run(loaded->instance, error) : status;
}

void loaded_case_close(struct loaded_case *loaded)
{
    forge_instance_free(loaded->instance);
    forge_states_free(loaded->states);
    forge_program_free(loaded->program);
    *loaded = (struct loaded_case){0};
}

/* Returns the operation under test: the producer of the first output. */
static const struct node *node_of(const struct check_case *c)
{
    return graph_producer(c->graph, c->graph->outputs[0].value);
}

/* --- the reference -------------------------------------------------------------------------------------- */

/* All values of a graph, as packed tensors. */
struct values {
    const forge_graph *graph;
    forge_tensor *tensors; /* indexed by forge_value */
};

static void values_free(struct values *values)
{
    for (size_t v = 0; values->tensors && v < values->graph->value_count; v++)
        forge_buffer_release(values->tensors[v].buffer);
    free(values->tensors);
}

/* Replaces floating-point elements by their magnitudes. */
static void make_absolute(const forge_tensor *t)
{
    enum { PIECE = 256 };
    double numbers[PIECE];
    const struct dtype_row *row = dtype_row(t->dtype);
    size_t count = row->kind == DTYPE_FLOAT ? forge_tensor_elements(t) : 0;
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        row->load(forge_tensor_data(t), first, some, numbers);
        for (size_t i = 0; i < some; i++)
            numbers[i] = fabs(numbers[i]);
        row->store(forge_tensor_data(t), first, some, numbers);
    }
}

/* Copies the values of an input or a constant to `values`. is_absolute: copies their magnitudes. */
static void fill_leaf(const struct values *values, const struct node *node, const struct check_case *c,
                      bool is_absolute)
{
    const forge_tensor *t = &values->tensors[node->output];
    const struct input_attributes *in = node->attributes;
    const struct constant_attributes *constant = node->attributes;
    const void *from = node->op == OP_INPUT ? forge_tensor_data(&c->inputs[in->index].tensor)
                                            : (const void *)constant->bytes;
    memcpy(forge_tensor_data(t), from, forge_dtype_size_bytes(t->dtype, forge_tensor_elements(t)));
    if (is_absolute)
        make_absolute(t);
}

/* Computes the outputs of one node with the reference. */
static void compute(const struct values *values, const struct node *node)
{
    struct view views[2 * (UINT8_MAX + 1)] = {0};
    size_t count = 0;
    for (size_t i = 0; i < node->input_count; i++) {
        const forge_tensor *t = &values->tensors[node_input(values->graph, node, i)];
        views[count++] = view_packed(t->dtype, forge_tensor_data(t), t->shape);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        const forge_tensor *t = &values->tensors[node->output + i];
        views[count++] = view_packed(t->dtype, forge_tensor_data(t), t->shape);
    }
    struct launch launch = {(enum op)node->op, node->attributes,          views,
                            node->input_count, views + node->input_count, node->output_count};
    reference_of(launch.op)(&launch, 0, launch_pieces(&launch));
}

/* Computes all values of the case with the reference. is_absolute: uses the magnitudes of all inputs and
 * constants. The caller calls values_free, also after an error. Note: the first input of OP_SHARE keeps its
 * sign, because its elements are compared with another value for equality. */
static joule_status evaluate(const struct check_case *c, bool is_absolute, struct values *values,
                             joule_error *error)
{
    const forge_graph *graph = c->graph;
    *values = (struct values){graph, calloc(graph->value_count, sizeof *values->tensors)};
    if (!values->tensors)
        return error_set(error, JOULE_NO_MEMORY, "cannot compute the reference: out of memory");
    for (size_t v = 1; v < graph->value_count; v++) {
        joule_status status =
            forge_tensor_new(graph->values[v].dtype, &graph->values[v].shape, &values->tensors[v], error);
        if (status != JOULE_OK)
            return status;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        if (node->op == OP_INPUT || node->op == OP_CONSTANT)
            fill_leaf(values, node, c, is_absolute && !(n == 0 && node_of(c)->op == OP_SHARE));
        else
            compute(values, node);
    }
    return JOULE_OK;
}

/* --- allowed error -------------------------------------------------------------------------------------- */

static double eps_of(forge_dtype dtype)
{
    switch (dtype) {
    case FORGE_F64:
        return DBL_EPSILON;
    case FORGE_F16:
        return 0x1p-10;
    case FORGE_BF16:
        return 0x1p-7;
    default:
        return FLT_EPSILON;
    }
}

/* Returns true if each element of the result is a sum or a product of many terms. Kernels may compute such a
 * result in any order, so its rounding errors differ. */
static bool is_sum(const struct check_case *c)
{
    static const char *const exact[] = {"maximum", "minimum", "argmax", "set", "max", "min", NULL};
    const struct node *node = node_of(c);
    if (string_is_one_of(fields_kind((enum op)node->op, node->attributes), exact))
        return false;
    return node->op == OP_MATMUL || node->op == OP_CONV || node->op == OP_REDUCE || node->op == OP_SCAN ||
           node->op == OP_FOLD || node->op == OP_WINDOW || node->op == OP_SCATTER || node->op == OP_SHARE;
}

/* Returns the maximum number of terms in one element of the result. */
static double terms(const struct check_case *c)
{
    const struct node *node = node_of(c);
    double flop = cost_of_node(c->graph, node, NULL).flop;
    double elements = (double)forge_shape_elements(&c->graph->values[node->output].shape);
    bool is_product = node->op == OP_MATMUL || node->op == OP_CONV;
    /* all elements have the same number of terms */
    bool is_even = is_product || node->op == OP_REDUCE || node->op == OP_WINDOW;
    return fmax(1, (is_even ? flop / elements : flop) / (is_product ? 2 : 1));
}

/* Returns the allowed absolute error of a result that is rounded to `dtype`. count: number of terms; size:
 * sum of the magnitudes of the terms. */
static double allowed(const struct check_case *c, forge_dtype dtype, double count, double wanted, double size)
{
    double eps = eps_of(dtype), inner = dtype == FORGE_F64 ? DBL_EPSILON : FLT_EPSILON;
    if (!forge_dtype_is_float(dtype))
        return 0;
    if (is_sum(c))
        return 4 * sqrt(count) * inner * size + eps * fabs(wanted) + FLT_MIN;
    uint32_t op = node_of(c)->op;
    return op == OP_UNARY || op == OP_BINARY || op == OP_RANDOM ? 2 * eps * fabs(wanted) + FLT_MIN : 0;
}

/* --- comparing ------------------------------------------------------------------------------------------ */

static double number_at(const forge_tensor *t, size_t element)
{
    double block[K_BLOCK_ELEMENTS]; /* the longest block */
    size_t length = dtype_row(t->dtype)->block_elements, first = element / length * length;
    dtype_row(t->dtype)->load(forge_tensor_data(t), first, length, block);
    return block[element - first];
}

static double ratio_of(double got, double wanted, double tolerance)
{
    if (got == wanted || (isnan(got) && isnan(wanted)))
        return 0;
    double error = fabs(got - wanted);
    return tolerance > 0 && !isnan(error) ? error / tolerance : INFINITY;
}

static void compare(const struct check_case *c, const forge_tensor *got, const forge_tensor *wanted,
                    const forge_tensor *size, struct verdict *out)
{
    double count = terms(c);
    out->worst = 0;
    for (size_t i = 0; i < forge_tensor_elements(got); i++) {
        double x = number_at(got, i), y = number_at(wanted, i);
        double tolerance = allowed(c, got->dtype, count, y, size ? number_at(size, i) : 0);
        double ratio = ratio_of(x, y, tolerance);
        if (i == 0 || ratio > out->worst)
            *out = (struct verdict){ratio, i, x, y, tolerance};
    }
}

/* --- composites ----------------------------------------------------------------------------------------- */

/* Compares output k of the kernels with `exact`, the result of the composite's body in f64. */
static joule_status compare_output(const struct loaded_case *loaded, const struct check_case *c, size_t k,
                                   const forge_tensor *exact, struct verdict *out, joule_error *error)
{
    forge_tensor got;
    double largest = 0;
    joule_status status = forge_instance_get(loaded->instance, c->graph->outputs[k].name, &got, error);
    size_t count = status == JOULE_OK ? forge_tensor_elements(&got) : 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(number_at(exact, i)));
    for (size_t i = 0; i < count; i++) {
        double x = number_at(&got, i), y = number_at(exact, i);
        double tolerance = COMPOSITE_ERRORS * FLT_EPSILON * (largest + fabs(y)) + FLT_MIN;
        if (status == JOULE_OK && (got.dtype == FORGE_F16 || got.dtype == FORGE_BF16))
            tolerance += eps_of(got.dtype) * (fabs(y) + F16_MIN);
        double ratio = ratio_of(x, y, tolerance);
        if (!(ratio <= out->worst))
            *out = (struct verdict){ratio, i, x, y, tolerance};
    }
    return status;
}

static joule_status check_composite(const struct loaded_case *loaded, const struct check_case *c,
                                    struct verdict *out, joule_error *error)
{
    struct check_case wide = {0}, written_out;
    struct values exact = {0};
    forge_graph *body = NULL;
    joule_status status = case_widen(c, &wide, error);
    if (status == JOULE_OK)
        status = pass_expand(wide.graph, NULL, NULL, &body, error);
    written_out = wide;
    written_out.graph = body;
    if (status == JOULE_OK)
        status = evaluate(&written_out, false, &exact, error);
    out->worst = 0;
    /* The loss is an output only because the gradients need it. It is not compared, because its terms
     * cancel. */
    for (size_t k = 0; status == JOULE_OK && k < body->output_count; k++)
        if (strcmp(body->outputs[k].name, "loss") != 0)
            status = compare_output(loaded, c, k, &exact.tensors[body->outputs[k].value], out, error);
    values_free(&exact);
    forge_graph_free(body);
    case_free(&wide);
    return status;
}

/* --- families ------------------------------------------------------------------------------------------- */

static joule_status check_family(const struct loaded_case *loaded, const struct check_case *c,
                                 struct verdict *out, joule_error *error)
{
    struct values exact = {0}, sizes = {0};
    forge_tensor got;
    forge_value y = c->graph->outputs[0].value;
    joule_status status = forge_instance_get(loaded->instance, "y", &got, error);
    if (status == JOULE_OK)
        status = evaluate(c, false, &exact, error);
    if (status == JOULE_OK && is_sum(c))
        status = evaluate(c, true, &sizes, error);
    if (status == JOULE_OK)
        compare(c, &got, &exact.tensors[y], is_sum(c) ? &sizes.tensors[y] : NULL, out);
    values_free(&exact);
    values_free(&sizes);
    return status;
}

joule_status check_value(forge_device *device, const struct check_case *c, struct verdict *out_verdict,
                         joule_error *error)
{
    struct loaded_case loaded = {0};
    *out_verdict = (struct verdict){.worst = NAN};
    joule_status status = loaded_case_open(&loaded, device, c, error);
    if (status == JOULE_OK)
        status = loaded_case_run(&loaded, c, error);
    if (status == JOULE_OK)
        status = (c->subject < OP_COUNT ? check_family : check_composite)(&loaded, c, out_verdict, error);
    loaded_case_close(&loaded);
    return status;
}

/* --- gradients ------------------------------------------------------------------------------------------ */

/* Returns the direction, 1 or -1, in which a floating-point element is moved. */
static double sign_of(size_t input, size_t element)
{
    return ((element * 7 + input * 3) >> 1) % 2 ? 1 : -1;
}

/* Computes the loss after moving each f64 element by `step` in the direction of sign_of, then moves the
 * elements back. The last input, the weights of the loss, is not moved. */
static joule_status loss_along(const struct loaded_case *loaded, struct check_case *c, double step,
                               double *out_loss, joule_error *error)
{
    forge_tensor loss;
    for (int turn = 1; turn >= -1; turn -= 2) {
        for (size_t i = 0; i + 1 < c->input_count; i++) {
            const forge_tensor *x = &c->inputs[i].tensor;
            for (size_t k = 0; x->dtype == FORGE_F64 && k < forge_tensor_elements(x); k++)
                ((double *)forge_tensor_data(x))[k] += turn * step * sign_of(i, k);
        }
        joule_status status = turn > 0 ? loaded_case_run(loaded, c, error) : JOULE_OK;
        if (status != JOULE_OK)
            return status;
    }
    joule_status status = forge_instance_get(loaded->instance, "loss", &loss, error);
    if (status == JOULE_OK)
        *out_loss = number_at(&loss, 0);
    return status;
}

/* Computes the derivative of the loss in the direction of sign_of from the program's gradients (*out_slope),
 * and the sum of their magnitudes (*out_size). */
static joule_status slope_of(const struct loaded_case *loaded, struct check_case *c, double *out_slope,
                             double *out_size, joule_error *error)
{
    joule_status status = loaded_case_run(loaded, c, error);
    *out_slope = *out_size = 0;
    for (size_t i = 0; status == JOULE_OK && i + 1 < c->input_count; i++) {
        char name[24];
        forge_tensor g;
        string_print(name, sizeof name, "g%zu", i);
        if (c->inputs[i].tensor.dtype != FORGE_F64)
            continue;
        status = forge_instance_get(loaded->instance, name, &g, error);
        for (size_t k = 0; status == JOULE_OK && k < forge_tensor_elements(&g); k++) {
            *out_slope += number_at(&g, k) * sign_of(i, k);
            *out_size += fabs(number_at(&g, k));
        }
    }
    return status;
}

joule_status check_grad(forge_device *device, struct check_case *c, struct verdict *out_verdict,
                        joule_error *error)
{
    static const double steps[] = {1e-6, 1e-5, 1e-7}; /* several step sizes, because a kink of the function
                                                       * near the point spoils the result for some of them */
    struct loaded_case loaded = {0};
    double slope = NAN, size = NAN;
    *out_verdict = (struct verdict){.worst = NAN};
    joule_status status = loaded_case_open(&loaded, device, c, error);
    if (status == JOULE_OK)
        status = slope_of(&loaded, c, &slope, &size, error);
    for (size_t i = 0; status == JOULE_OK && i < 3 && !(out_verdict->worst <= 1); i++) {
        double above = NAN, below = NAN;
        status = loss_along(&loaded, c, steps[i], &above, error);
        if (status == JOULE_OK)
            status = loss_along(&loaded, c, -steps[i], &below, error);
        double wanted = (above - below) / (2 * steps[i]), tolerance = 1e-6 * (1 + size) + 1e-5 * fabs(wanted);
        *out_verdict = (struct verdict){ratio_of(slope, wanted, tolerance), 0, slope, wanted, tolerance};
    }
    loaded_case_close(&loaded);
    return status;
}
