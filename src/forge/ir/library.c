/* ir/library.c - see library.h. */
#include "forge/ir/library.h"

#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "forge/ir/fused.h"

static const struct row {
    const char *name;
    size_t min_inputs, max_inputs, values;
    forge_bodies_fn body;
    bool writes_parts;
} rows[] = {
#define COMPOSITE(name, min_inputs, max_inputs, values)                                                      \
    {#name, min_inputs, max_inputs, values, library_##name, false},
#define PARTIAL_WRITE(name, min_inputs, max_inputs, values)                                                  \
    {#name, min_inputs, max_inputs, values, library_##name, true},
#include "forge/ir/library.def"
};

static const char gradient[] = ".gradient";

/* Returns the length of the name without the suffix ".gradient". */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name), tail = sizeof gradient - 1;
    return length > tail && strcmp(name + length - tail, gradient) == 0 ? length - tail : length;
}

bool library_is_gradient(const struct composite_attributes *attributes)
{
    return attributes->name[stem_length(attributes->name)] != '\0';
}

void library_name_gradient(const char *name, char out_name[32])
{
    size_t size = sizeof(((struct composite_attributes *)0)->name);
    memset(out_name, 0, size);
    if (strlen(name) + sizeof gradient <= size)
        snprintf(out_name, size, "%s%s", name, gradient);
    else
        snprintf(out_name, size, "%s", gradient + 1);
}

static const struct row *row_of(const char *name)
{
    size_t length = stem_length(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* Returns the number of outputs of a composite with `count` inputs; 0 if its code is invalid. */
static size_t values_of(const struct row *row, const struct composite_attributes *attributes, size_t count)
{
    struct fused fused;
    if (row->values > 0)
        return row->values;
    return fused_read(attributes, count, &fused) ? fused_outputs(&fused) : 0;
}

bool library_writes_parts(const struct composite_attributes *attributes)
{
    const struct row *row = row_of(attributes->name);
    return row && row->writes_parts && !library_is_gradient(attributes);
}

void library_composite_many(forge_builder *b, const struct composite_attributes *attributes,
                            const forge_value *in, size_t count, forge_value *out)
{
    const struct row *row = row_of(attributes->name);
    size_t values = row ? values_of(row, attributes, count) : 0;
    if (!values || count < row->min_inputs || count > row->max_inputs) {
        forge_builder_fail(b, "the library has no composite '%s' of %zu inputs", attributes->name, count);
        *out = FORGE_NO_VALUE;
        return;
    }
    builder_add_composite(b, attributes, in, count, row->body, attributes, out, values);
}

forge_value library_composite(forge_builder *b, const struct composite_attributes *attributes,
                              const forge_value *in, size_t count)
{
    forge_value value;
    library_composite_many(b, attributes, in, count, &value);
    return value;
}

/* --- bodies --------------------------------------------------------------------------------------------- */

/* Returns the number of inputs of the composite itself. In a gradient composite, the gradients in
 * attributes->given follow these inputs. */
static size_t own_inputs(const struct composite_attributes *attributes, size_t count)
{
    size_t given = library_is_gradient(attributes) ? (size_t)__builtin_popcount(attributes->given) : 0;
    return given <= count ? count - given : 0;
}

forge_graph *library_body_with(const struct composite_attributes *attributes, const struct value *const *in,
                               size_t count, const struct dim_table *dims, builder_gradient_fn *gradient_fn,
                               joule_error *out_error)
{
    const struct row *row = row_of(attributes->name);
    size_t own = own_inputs(attributes, count);
    forge_value values[OP_MAX_OUTPUTS] = {0}, inputs[16];
    forge_graph *body = NULL;
    if (!row || own < row->min_inputs || own > row->max_inputs) {
        error_set(out_error, JOULE_INVALID, "the library has no composite '%s' of %zu inputs",
                  attributes->name, own);
        return NULL;
    }
    forge_builder *b = builder_new(dims);
    if (b)
        b->gradient = gradient_fn;
    for (size_t i = 0; b && i < own; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        inputs[i] = forge_input(b, name, in[i]->dtype, in[i]->shape);
    }
    row->body(b, inputs, own, attributes, values);
    size_t output_count = values_of(row, attributes, own);
    for (size_t i = 0; i < output_count; i++)
        forge_output(b, (char[]){(char)('0' + i), 0}, values[i]);
    return forge_builder_finish(b, &body, out_error) == JOULE_OK ? body : NULL;
}

forge_graph *library_body(const struct composite_attributes *attributes, const struct value *const *in,
                          size_t count, const struct dim_table *dims, joule_error *out_error)
{
    return library_body_with(attributes, in, count, dims, NULL, out_error);
}

/* --- shapes --------------------------------------------------------------------------------------------- */

static const struct value *output_of(const forge_graph *body, size_t k)
{
    return &body->values[body->outputs[k].value];
}

static bool same_type(const struct value *a, const struct value *b)
{
    return a->dtype == b->dtype && forge_shape_equal(&a->shape, &b->shape);
}

/* Infers the outputs of a gradient composite: the wanted gradients, with the types of the body's inputs. The
 * given gradients must have the types of the body's outputs. Otherwise returns false, with a message. */
static bool infer_gradient(struct inference *i, const forge_graph *body)
{
    const struct composite_attributes *a = i->attributes;
    size_t at = body->input_count;
    if (!a->given || a->given >> body->output_count || !a->wanted || a->wanted >> body->input_count ||
        __builtin_popcount(a->wanted) > OP_MAX_OUTPUTS)
        return infer_fail(i, "%s: invalid bits for given or wanted gradients", a->name);
    for (size_t k = 0; k < body->output_count; k++)
        if (a->given >> k & 1 && !same_type(i->inputs[at++], output_of(body, k)))
            return infer_fail(i, "%s: the gradient of value %zu has another type or shape", a->name, k);
    for (size_t k = 0; k < body->input_count; k++)
        if (a->wanted >> k & 1 && !infer_add_output(i, i->inputs[k]->dtype, &i->inputs[k]->shape))
            return false;
    return true;
}

bool library_infer(struct inference *i)
{
    const struct composite_attributes *a = i->attributes;
    joule_error error = {0};
    forge_graph *body = library_body(a, i->inputs, i->input_count, &i->graph->dims, &error);
    bool is_valid = body != NULL;
    i->output_count = 0;
    if (!body)
        return infer_fail(i, "%s: %s", a->name, error.message);
    if (library_is_gradient(a))
        is_valid = infer_gradient(i, body);
    else if (a->given || a->wanted)
        is_valid = infer_fail(i, "%s is not a gradient", a->name);
    for (size_t k = 0; is_valid && !library_is_gradient(a) && k < body->output_count; k++)
        is_valid = infer_add_output(i, output_of(body, k)->dtype, &output_of(body, k)->shape);
    forge_graph_free(body);
    return is_valid;
}

/* --- comparison ----------------------------------------------------------------------------------------- */

static bool same_attributes(const struct node *a, const struct node *b)
{
    if (a->op != OP_COMPOSITE)
        return a->attributes_size == b->attributes_size &&
               memcmp(a->attributes, b->attributes, a->attributes_size) == 0;
    const struct composite_attributes *of_a = a->attributes, *of_b = b->attributes;
    return memcmp(a->attributes, b->attributes, offsetof(struct composite_attributes, body)) == 0 &&
           library_same_body(of_a->body, of_b->body);
}

static bool same_node(const forge_graph *a, const forge_graph *b, size_t n)
{
    const struct node *x = &a->nodes[n], *y = &b->nodes[n];
    if (x->op != y->op || x->input_count != y->input_count || x->output_count != y->output_count ||
        x->output != y->output || !same_attributes(x, y))
        return false;
    for (size_t i = 0; i < x->input_count; i++)
        if (node_input(a, x, i) != node_input(b, y, i))
            return false;
    for (size_t i = 0; i < x->output_count; i++)
        if (!same_type(&a->values[x->output + i], &b->values[y->output + i]))
            return false;
    return true;
}

bool library_same_body(const forge_graph *a, const forge_graph *b)
{
    bool is_same = a->node_count == b->node_count && a->input_count == b->input_count &&
                   a->output_count == b->output_count && a->slot_count + b->slot_count == 0;
    for (size_t n = 0; is_same && n < a->node_count; n++)
        is_same = same_node(a, b, n);
    for (size_t i = 0; is_same && i < a->output_count; i++)
        is_same = a->outputs[i].value == b->outputs[i].value;
    return is_same;
}
