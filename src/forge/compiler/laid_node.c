/* compiler/laid_node.c - see laid_node.h. */
#include "forge/compiler/laid_node.h"

#include <string.h>
#include "base/string.h"
#include "forge/hal/backend.h"
#include "forge/ir/library.h"

static const struct value *input_of(const forge_graph *graph, const struct node *node, size_t i)
{
    return &graph->values[node_input(graph, node, i)];
}

bool value_is_images(const struct value *value)
{
    forge_shape of_image = value->shape;
    of_image.dims[0] = 1;
    return value->dtype == FORGE_F32 && value->shape.rank == 4 && value->layout == LAYOUT_PACKED &&
           !dim_shape_has_symbols(&of_image) && forge_shape_elements(&of_image) > 0;
}

/* --- roles ---------------------------------------------------------------------------------------------- */

/* Returns true if the shape is [channels, 1, 1], or the same with the dimension of images before it. */
static bool is_by_channel(const forge_shape *shape, const forge_shape *images)
{
    uint32_t missing = 4 - shape->rank;
    return shape->rank >= 3 && shape->rank <= 4 && shape->dims[1 - missing] == images->dims[1] &&
           shape->dims[2 - missing] == 1 && shape->dims[3 - missing] == 1 &&
           (missing == 1 || shape->dims[0] == 1 || shape->dims[0] == images->dims[0]);
}

/* Finds the role of an operand of an elementwise operation whose result is `images`. Returns false if the
 * operand cannot be stored in another layout. */
static bool find_role(const struct value *operand, const struct value *images, uint8_t *out_role)
{
    *out_role = LAID_EACH;
    if (forge_shape_equal(&operand->shape, &images->shape))
        return value_is_images(operand);
    *out_role = LAID_SAME;
    if (!dim_shape_has_symbols(&operand->shape) && forge_shape_elements(&operand->shape) == 1)
        return operand->layout == LAYOUT_PACKED;
    *out_role = LAID_CHANNELS;
    return operand->dtype == FORGE_F32 && is_by_channel(&operand->shape, &images->shape);
}

/* --- convolutions --------------------------------------------------------------------------------------- */

/* Reads the code of a node that begins with a convolution of x and a weight. */
static bool read_conv(const struct node *node, struct fused *out)
{
    static const uint8_t operands[] = {0, 1};
    const struct composite_attributes *composite = node->attributes;
    const struct conv_attributes *conv = node->attributes;
    *out = (struct fused){0};
    if (node->op == OP_COMPOSITE)
        return strcmp(composite->name, "fused_conv") == 0 && fused_read(composite, node->input_count, out);
    return node->op == OP_CONV && conv->accumulate == FORGE_F32 && fused_add(out, node, operands);
}

/* Returns the number of the operand that is this input in this role, and adds it if it is new. Returns
 * FUSED_MAX_INPUTS if there are too many. */
static uint8_t operand_of(struct laid_node *laid, uint8_t input, uint8_t role)
{
    uint8_t i = 0;
    while (i < laid->count && (laid->operands[i].input != input || laid->operands[i].role != role))
        i++;
    if (i == laid->count && i < FUSED_MAX_INPUTS)
        laid->operands[laid->count++] = (struct laid_operand){input, role};
    return i;
}

/* Gives the operands of the code new numbers: x, the weight, then those of the other steps. */
static bool number_operands(const forge_graph *graph, const struct node *node, struct laid_node *laid)
{
    struct fused_step *conv = &laid->fused.steps[0];
    const struct value *images = &graph->values[node->output];
    laid->operands[0] = (struct laid_operand){conv->operands[0], LAID_X};
    laid->operands[1] = (struct laid_operand){conv->operands[1], LAID_SAME};
    laid->count = 2;
    conv->operands[0] = 0;
    conv->operands[1] = 1;
    for (uint32_t s = 1; s < laid->fused.count; s++)
        for (int k = 0; k < laid->fused.steps[s].operand_count; k++) {
            uint8_t *operand = &laid->fused.steps[s].operands[k], role;
            if (*operand >= FUSED_MAX_INPUTS)
                continue;
            if (!find_role(input_of(graph, node, *operand), images, &role))
                return false;
            /* a weight or one number as an operand of a step is no weight: it gets a number of its own */
            struct laid_operand weight = laid->operands[1];
            laid->operands[1].input = UINT8_MAX;
            *operand = operand_of(laid, *operand, role);
            laid->operands[1] = weight;
            if (*operand == FUSED_MAX_INPUTS)
                return false;
        }
    return true;
}

static bool read_laid_conv(const forge_graph *graph, const struct node *node, struct laid_node *out)
{
    if (!read_conv(node, &out->fused) || (out->fused.conv.flags & CONV_TRANSPOSED) ||
        !number_operands(graph, node, out))
        return false;
    const struct value *weight = input_of(graph, node, out->operands[1].input);
    return value_is_images(input_of(graph, node, out->operands[0].input)) && weight->dtype == FORGE_F32 &&
           weight->shape.rank == 4 && !dim_shape_has_symbols(&weight->shape);
}

/* --- other operations ----------------------------------------------------------------------------------- */

static bool read_elementwise(const forge_graph *graph, const struct node *node, struct laid_node *out)
{
    const struct composite_attributes *composite = node->attributes;
    bool has_images = false;
    if (!node_is_elementwise(node) && (node->op != OP_COMPOSITE || strcmp(composite->name, "fused") != 0))
        return false;
    for (uint8_t i = 0; i < node->input_count; i++) {
        uint8_t role;
        /* Steps on runs of LAYOUT_LANES numbers would be slow, so operands for each channel are excluded. */
        if (!find_role(input_of(graph, node, i), &graph->values[node->output], &role) ||
            role == LAID_CHANNELS)
            return false;
        has_images |= role == LAID_EACH;
        out->operands[out->count++] = (struct laid_operand){i, role};
    }
    return has_images;
}

/* Reads a node whose only input is images. */
static bool read_one_input(const forge_graph *graph, const struct node *node, struct laid_node *out)
{
    enum { ROWS_AND_COLUMNS = 12 };
    const struct reduce_attributes *reduce = node->attributes;
    const struct window_attributes *window = node->attributes;
    bool is_reduce =
        node->op == OP_REDUCE && reduce->axes == ROWS_AND_COLUMNS && reduce->kind <= FORGE_MINIMUM;
    bool is_window = node->op == OP_WINDOW && window->windows.axes == ROWS_AND_COLUMNS;
    out->operands[out->count++] = (struct laid_operand){0, LAID_EACH};
    return (is_reduce || is_window) && value_is_images(input_of(graph, node, 0));
}

/* --- kernels -------------------------------------------------------------------------------------------- */

static struct composite_attributes conv_attributes_of(const struct laid_node *laid, enum value_layout x,
                                                      enum value_layout result)
{
    struct composite_attributes attributes = {.numbers = {x, result}};
    fused_write(&laid->fused, &attributes);
    memset(attributes.name, 0, sizeof attributes.name);
    string_copy(attributes.name, sizeof attributes.name, "layout_conv");
    return attributes;
}

/* The arguments of conv_body and fused_body: a node, and the attributes of the composite that replaces it. */
struct laid_body {
    const forge_graph *graph;
    const struct node *node;
    const struct composite_attributes *attributes;
};

/* Sets the scope of each step: those of the operations in the body of a fused node, which are in the order of
 * the steps. */
static void find_scopes(const struct laid_body *c, const char *scopes[FUSED_MAX_STEPS])
{
    const struct composite_attributes *composite = c->node->attributes;
    for (size_t i = 0; i < FUSED_MAX_STEPS; i++)
        scopes[i] = c->graph->scopes[c->node->scope];
    const forge_graph *body = c->node->op == OP_COMPOSITE ? composite->body : NULL;
    for (size_t n = 0, step = 0; body && n < body->node_count && step < FUSED_MAX_STEPS; n++)
        if (body->nodes[n].op != OP_INPUT)
            scopes[step++] = body->scopes[body->nodes[n].scope];
}

/* Adds the body of a convolution, whose operations keep their scopes; a forge_bodies_fn. */
static void conv_body(forge_builder *builder, const forge_value *inputs, size_t count, const void *context,
                      forge_value *out_values)
{
    const struct laid_body *c = context;
    const char *scopes[FUSED_MAX_STEPS];
    find_scopes(c, scopes);
    library_layout_steps(builder, c->attributes, inputs, count, scopes, out_values);
}

/* Adds the body of fused elementwise operations, which keep their scopes; a forge_bodies_fn. */
static void fused_body(forge_builder *builder, const forge_value *inputs, size_t count, const void *context,
                       forge_value *out_values)
{
    const struct laid_body *c = context;
    const char *scopes[FUSED_MAX_STEPS];
    struct fused fused;
    find_scopes(c, scopes);
    if (fused_read(c->attributes, count, &fused))
        library_fused_steps(builder, &fused, inputs, count, LAYOUT_PACKED, scopes, out_values);
    else
        forge_builder_fail(builder, "fused: its code is invalid");
}

/* Returns the shape of [channels, 1, 1] or [n, channels, 1, 1] in a layout. */
static forge_shape channels_shape(const forge_shape *shape, enum value_layout layout)
{
    forge_shape images = {.rank = 4, .dims = {1, 1, 1, 1}};
    for (uint32_t i = 0; i < shape->rank; i++)
        images.dims[4 - shape->rank + i] = shape->dims[i];
    return layout_shape(layout, &images);
}

/* Returns true if the device has a kernel for the convolution with x in the layout `from`. The number of
 * images does not matter. */
static bool has_kernel(const forge_graph *graph, const struct node *node, const struct laid_node *laid,
                       enum value_layout from, enum value_layout layout, forge_device *device)
{
    struct composite_attributes attributes = conv_attributes_of(laid, from, layout);
    struct view views[FUSED_MAX_INPUTS + 1];
    struct selection selection;
    for (size_t i = 0; i <= laid->count; i++) {
        bool is_result = i == laid->count;
        uint8_t role = is_result ? LAID_EACH : laid->operands[i].role;
        const struct value *value =
            is_result ? &graph->values[node->output] : input_of(graph, node, laid->operands[i].input);
        forge_shape shape = dim_max_shape(&graph->dims, &value->shape);
        if (role == LAID_X || role == LAID_EACH)
            shape = layout_shape(role == LAID_X ? from : layout, &shape);
        else if (role == LAID_CHANNELS)
            shape = channels_shape(&shape, layout);
        views[i] = view_packed(value->dtype, NULL, shape);
    }
    struct launch launch = {.op = OP_COMPOSITE,
                            .attributes = &attributes,
                            .inputs = views,
                            .input_count = laid->count,
                            .outputs = views + laid->count,
                            .output_count = 1};
    return device->ops->select(device, &launch, &selection) == JOULE_OK;
}

bool laid_is_direct(const forge_graph *graph, const struct node *node, forge_device *device)
{
    struct view views[3];
    struct selection selection;
    if (node->op != OP_CONV)
        return false;
    for (size_t i = 0; i < 3; i++) {
        const struct value *value = i < 2 ? input_of(graph, node, i) : &graph->values[node->output];
        views[i] = view_packed(value->dtype, NULL, dim_max_shape(&graph->dims, &value->shape));
    }
    struct launch launch = {.op = OP_CONV,
                            .attributes = node->attributes,
                            .inputs = views,
                            .input_count = 2,
                            .outputs = views + 2,
                            .output_count = 1};
    return device->ops->select(device, &launch, &selection) == JOULE_OK &&
           strcmp(selection.kernel, "f32_direct_conv") == 0;
}

void laid_node_of(const forge_graph *graph, const struct node *node, enum value_layout layout,
                  forge_device *device, struct laid_node *out)
{
    *out = (struct laid_node){.kind = LAID_NOT};
    if (node->output_count != 1 || (node->op != OP_REDUCE && !value_is_images(&graph->values[node->output])))
        return;
    if (read_laid_conv(graph, node, out)) {
        bool takes = has_kernel(graph, node, out, LAYOUT_PACKED, layout, device) &&
                     has_kernel(graph, node, out, layout, layout, device);
        out->kind = takes ? LAID_CONV : LAID_NOT;
        return;
    }
    out->count = 0;
    if (read_elementwise(graph, node, out)) {
        out->kind = LAID_ELEMENTWISE;
        return;
    }
    out->count = 0;
    if (read_one_input(graph, node, out))
        out->kind = node->op == OP_WINDOW ? LAID_WINDOW : LAID_REDUCE;
}

/* --- new nodes ------------------------------------------------------------------------------------------ */

forge_value laid_reorder(forge_builder *builder, forge_value x, enum value_layout from, enum value_layout to,
                         int64_t channels)
{
    struct composite_attributes attributes = {.name = "reorder", .numbers = {from, to, (uint32_t)channels}};
    return library_composite(builder, &attributes, &x, 1);
}

/* Returns an operand with a number for each channel in the shape of the layout. */
static forge_value channels_in(forge_builder *builder, forge_value x, enum value_layout layout)
{
    forge_shape shape = forge_value_shape(builder, x), laid = channels_shape(&shape, layout);
    int64_t missing = 0;
    if (layout == LAYOUT_BLOCKS) {
        int64_t channels = shape.dims[shape.rank - 3];
        missing = laid.dims[1] * LAYOUT_LANES - channels;
    }
    if (missing) {
        int64_t low[4] = {0}, high[4] = {0};
        high[shape.rank - 3] = missing;
        x = forge_pad(builder, x, low, high, 0);
    }
    return forge_reshape(builder, x, laid);
}

static forge_value emit_conv(forge_builder *builder, const forge_graph *graph, const struct node *node,
                             const struct laid_node *laid, const forge_value *operands,
                             enum value_layout layout)
{
    forge_value in[FUSED_MAX_INPUTS], value;
    enum value_layout from = (enum value_layout)builder->graph->values[operands[0]].layout;
    struct composite_attributes attributes = conv_attributes_of(laid, from, layout);
    for (size_t i = 0; i < laid->count; i++)
        in[i] =
            laid->operands[i].role == LAID_CHANNELS ? channels_in(builder, operands[i], layout) : operands[i];
    builder_add_composite(builder, &attributes, in, laid->count, conv_body,
                          &(struct laid_body){graph, node, &attributes}, &value, 1);
    return value;
}

static forge_value emit_elementwise(forge_builder *builder, const forge_graph *graph, const struct node *node,
                                    const struct laid_node *laid, const forge_value *operands)
{
    forge_value value;
    if (node->op != OP_COMPOSITE)
        return builder_emit(builder, (enum op)node->op, node->attributes, node->attributes_size, operands,
                            laid->count);
    struct composite_attributes attributes = *(const struct composite_attributes *)node->attributes;
    attributes.body = NULL;
    builder_add_composite(builder, &attributes, operands, laid->count, fused_body,
                          &(struct laid_body){graph, node, &attributes}, &value, 1);
    return value;
}

static forge_value emit_window(forge_builder *builder, const struct node *node, forge_value x,
                               enum value_layout layout)
{
    struct window_attributes attributes = *(const struct window_attributes *)node->attributes;
    struct windows *w = &attributes.windows;
    if (layout == LAYOUT_LAST) { /* the windows slide along dimensions 1 and 2 instead of 2 and 3 */
        uint32_t *const members[] = {w->size, w->stride, w->dilation, w->before, w->after};
        w->axes >>= 1;
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            members[i][1] = members[i][2];
            members[i][2] = members[i][3];
            members[i][3] = members[i][0];
        }
    }
    return builder_emit(builder, OP_WINDOW, &attributes, sizeof attributes, &x, 1);
}

/* Returns the reduction of images, packed. shape: of the result. */
static forge_value emit_reduce(forge_builder *builder, const struct node *node, forge_value x,
                               const forge_shape *images, const forge_shape *shape, enum value_layout layout)
{
    struct reduce_attributes attributes = *(const struct reduce_attributes *)node->attributes;
    int64_t channels = images->dims[1];
    attributes.axes = layout == LAYOUT_LAST ? 6 : 12;
    attributes.keep_dims = 0;
    forge_value y = builder_emit(builder, OP_REDUCE, &attributes, sizeof attributes, &x, 1);
    if (layout == LAYOUT_BLOCKS)
        y = forge_reshape(builder, y,
                          forge_shape_of(images->dims[0], layout_blocks(channels) * LAYOUT_LANES));
    if (layout == LAYOUT_BLOCKS && channels % LAYOUT_LANES)
        y = forge_slice_along(builder, y, 1, 0, channels);
    return shape->rank == 2 ? y : forge_reshape(builder, y, *shape);
}

forge_value laid_node_emit(forge_builder *builder, const forge_graph *graph, const struct node *node,
                           const struct laid_node *laid, const forge_value *operands,
                           enum value_layout layout)
{
    switch (laid->kind) {
    case LAID_CONV:
        return emit_conv(builder, graph, node, laid, operands, layout);
    case LAID_WINDOW:
        return emit_window(builder, node, operands[0], layout);
    case LAID_REDUCE:
        return emit_reduce(builder, node, operands[0], &input_of(graph, node, 0)->shape,
                           &graph->values[node->output].shape, layout);
    default:
        return emit_elementwise(builder, graph, node, laid, operands);
    }
}
