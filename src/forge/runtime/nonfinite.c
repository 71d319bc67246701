/* runtime/nonfinite.c - checked runs, which find the launch that computes the first NaN or infinity; see
 * <forge/nonfinite.h>.
 *
 * Note: if a launch works in place, its operands are scanned before the launch. Otherwise they are scanned
 * after the launch, and only if a result is not finite.
 */
#include <forge/nonfinite.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/abi.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/ir/fields.h"
#include "forge/ir/text.h"
#include "forge/reference/reference_walk.h"
#include "forge/runtime/instance.h"

/* --- scanning ------------------------------------------------------------------------------------------- */

/* A summary of the elements of one view, and the positions of its first NaN and its first infinity. */
struct summary {
    forge_numbers numbers;
    size_t first_nan, first_infinity; /* SIZE_MAX: none */
};

static void count_value(struct summary *summary, size_t position, double value)
{
    forge_numbers *n = &summary->numbers;
    if (isnan(value)) {
        summary->first_nan = n->nans++ ? summary->first_nan : position;
    } else if (isinf(value)) {
        summary->first_infinity = n->infinities++ ? summary->first_infinity : position;
    } else {
        n->min = value >= n->min ? n->min : value; /* a comparison with NaN is false */
        n->max = value <= n->max ? n->max : value;
    }
}

static struct summary scan_view(const struct view *view)
{
    struct summary summary = {
        {.dtype = view->dtype, .shape = view->shape, .min = NAN, .max = NAN}, SIZE_MAX, SIZE_MAX};
    size_t count = forge_shape_elements(&view->shape);
    const struct dtype_row *row = dtype_row(view->dtype);
    if (!row->is_computed)
        return summary;
    struct walk walk = walk_of(view, &view->shape);
    double values[TILE];
    for (struct tile tile = tile_from(0, count); tile.count; tile = tile_next(tile)) {
        walk_load(&walk, tile.first, tile.count, values);
        for (size_t i = 0; i < tile.count; i++)
            count_value(&summary, tile.first + i, values[i]);
    }
    return summary;
}

static bool is_float(const struct view *view)
{
    return dtype_row(view->dtype)->kind == DTYPE_FLOAT && dtype_row(view->dtype)->is_computed;
}

/* --- finding the origin -------------------------------------------------------------------------------- */

/* The state of a checked run. */
struct check {
    forge_instance *instance;
    forge_nonfinite found;
    /* operands of the current launch; valid if are_known is true */
    struct summary operands[FORGE_MAX_OPERANDS];
    bool are_known;
};

static bool works_in_place(const struct launch *launch)
{
    for (size_t i = 0; i < launch->input_count; i++)
        for (size_t k = 0; k < launch->output_count; k++)
            if (launch->inputs[i].data == launch->outputs[k].data)
                return true;
    return false;
}

static void scan_operands(struct check *check, const struct launch *launch)
{
    for (size_t i = 0; !check->are_known && i < launch->input_count && i < FORGE_MAX_OPERANDS; i++)
        check->operands[i] = scan_view(&launch->inputs[i]);
    check->are_known = true;
}

/* Returns true if the launch does arithmetic, which may overflow. All other launches, including maxima and
 * minima, can only copy infinities from their operands. */
static bool does_arithmetic(const struct launch *launch, const struct program_launch *compiled)
{
    const struct reduce_attributes *reduce = launch->attributes;
    const struct window_attributes *window = launch->attributes;
    const struct scan_attributes *scan = launch->attributes;
    uint32_t kind = launch->op == OP_REDUCE   ? reduce->kind
                    : launch->op == OP_WINDOW ? window->kind
                    : launch->op == OP_SCAN   ? scan->kind
                                              : FORGE_SUM;
    return kind != FORGE_MAXIMUM && kind != FORGE_MINIMUM &&
           (compiled->cost.flop > 0 || launch->op == OP_CAST);
}

/* Returns true if the launch is the origin of the NaN or infinity in `result`. For a NaN, the operands must
 * contain no NaN. For an infinity, the operands must be finite, and the launch must do arithmetic.
 * check->are_known must be true. *is_infinite: true if the result contains infinities but no NaN. */
static bool is_origin(const struct check *check, const struct launch *launch,
                      const struct program_launch *compiled, const struct summary *result, bool *is_infinite)
{
    uint64_t nans = 0, infinities = 0;
    for (size_t i = 0; i < launch->input_count && i < FORGE_MAX_OPERANDS; i++) {
        nans += check->operands[i].numbers.nans;
        infinities += check->operands[i].numbers.infinities;
    }
    *is_infinite = !result->numbers.nans;
    return *is_infinite ? !nans && !infinities && does_arithmetic(launch, compiled) : !nans;
}

/* Returns the name of the input, slot or output that contains the memory of this binding; NULL if none
 * does. */
static const char *name_of(const forge_program *program, uint32_t binding)
{
    const struct program_buffer *buffer =
        &program_buffers(program)[program_bindings(program)[binding].buffer];
    bool has_name =
        buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_OUTPUT || buffer->kind == BUFFER_STATE;
    return has_name ? program_string(program, buffer->name) : NULL;
}

static double value_at(const struct view *view, size_t element)
{
    struct walk walk = walk_of(view, &view->shape);
    double value;
    walk_load(&walk, element, 1, &value);
    return value;
}

static void set_result(forge_nonfinite *found, const struct view *view, const struct summary *summary,
                       const char *name)
{
    found->made = summary->numbers;
    found->made.name = name;
    found->element = summary->numbers.nans ? summary->first_nan : summary->first_infinity;
    found->value = value_at(view, found->element);
}

static void set_origin(struct check *check, size_t i, size_t output, const struct summary *result)
{
    const forge_program *program = check->instance->program;
    const struct program_launch *compiled = &program_launches(program)[i];
    const struct launch *launch = &check->instance->launches[i].launch;
    forge_nonfinite *found = &check->found;
    *found = (forge_nonfinite){.origin = FORGE_ORIGIN_LAUNCH,
                               .phase = (forge_phase)compiled->phase,
                               .launch = i,
                               .op = op_name(launch->op),
                               .kind = fields_kind(launch->op, launch->attributes),
                               .kernel = check->instance->kernels[i],
                               .scope = program_string(program, compiled->scope)};
    for (size_t k = 0; k < launch->input_count && k < FORGE_MAX_OPERANDS; k++) {
        found->operands[k] = check->operands[k].numbers;
        found->operands[k].name = name_of(program, compiled->first_binding + (uint32_t)k);
        found->operand_count++;
    }
    set_result(found, &launch->outputs[output], result,
               name_of(program, compiled->first_binding + compiled->input_count + (uint32_t)output));
}

/* Checks the results of launch i, which has just run. Stores the launch in check->found if it is the first
 * origin. */
static void check_results(struct check *check, size_t i)
{
    const struct launch *launch = &check->instance->launches[i].launch;
    const struct program_launch *compiled = &program_launches(check->instance->program)[i];
    for (size_t k = 0; k < launch->output_count; k++) {
        bool is_infinite;
        if (!is_float(&launch->outputs[k]))
            continue;
        struct summary result = scan_view(&launch->outputs[k]);
        if (!result.numbers.nans && !result.numbers.infinities)
            continue;
        scan_operands(check, launch);
        if (!is_origin(check, launch, compiled, &result, &is_infinite))
            continue;
        bool is_expected = is_infinite && check->instance->makes_infinities[i];
        check->instance->makes_infinities[i] |= is_infinite;
        if (!is_expected && check->found.origin == FORGE_ORIGIN_NONE)
            set_origin(check, i, k, &result);
    }
}

/* Checks inputs and slots before the run, and stores the first one with a NaN in check->found. An array, such
 * as a mask, may contain infinities. A scalar input, such as a learning rate, must be finite. */
static void check_given(struct check *check)
{
    const forge_instance *instance = check->instance;
    const forge_program *program = instance->program;
    for (size_t i = 0; i < program->buffers.count && check->found.origin == FORGE_ORIGIN_NONE; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        if (buffer->kind != BUFFER_INPUT && buffer->kind != BUFFER_STATE)
            continue;
        struct view view = view_packed((forge_dtype)buffer->dtype, forge_buffer_data(instance->buffers[i]),
                                       dim_substitute_shape(&buffer->shape, instance->sized.values));
        if (!is_float(&view))
            continue;
        struct summary summary = scan_view(&view);
        bool is_wrong = summary.numbers.nans || (summary.numbers.infinities && buffer->shape.rank == 0 &&
                                                 buffer->kind == BUFFER_INPUT);
        if (!is_wrong)
            continue;
        check->found.origin = buffer->kind == BUFFER_INPUT ? FORGE_ORIGIN_INPUT : FORGE_ORIGIN_SLOT;
        set_result(&check->found, &view, &summary, program_string(program, buffer->name));
    }
}

/* --- messages ------------------------------------------------------------------------------------------- */

static void add_type(struct text *text, const forge_numbers *n)
{
    char shape[100];
    forge_shape_format(&n->shape, shape, sizeof shape);
    if (n->name) {
        text_add_quoted(text, n->name);
        text_add(text, " ");
    }
    text_printf(text, "%s%s", forge_dtype_name(n->dtype), shape);
}

static void add_range(struct text *text, const forge_numbers *n)
{
    add_type(text, n);
    if (!isnan(n->min))
        text_printf(text, n->min == n->max ? " %.3g" : " %.3g to %.3g", n->min, n->max);
    if (n->nans)
        text_printf(text, " and %llu nan", (unsigned long long)n->nans);
    if (n->infinities)
        text_printf(text, " and %llu inf", (unsigned long long)n->infinities);
}

/* Adds the index of an element, for example "[3,17]". element: position in row-major order. */
static void add_place(struct text *text, const forge_shape *shape, size_t element)
{
    int64_t index[FORGE_MAX_RANK];
    for (uint32_t i = shape->rank; i-- > 0;) {
        index[i] = (int64_t)element % shape->dims[i];
        element /= (size_t)shape->dims[i];
    }
    text_add(text, "[");
    for (uint32_t i = 0; i < shape->rank; i++)
        text_printf(text, "%s%lld", i ? "," : "", (long long)index[i]);
    text_add(text, "]");
}

static void add_launch(struct text *text, const forge_nonfinite *f)
{
    text_printf(text, "%s%s%s", f->op, *f->kind ? "." : "", f->kind);
    if (*f->scope) {
        text_add(text, " @");
        text_add_path(text, f->scope);
    }
    text_printf(text, " (%s) computed ", forge_phase_name(f->phase));
}

static joule_status report_origin(const forge_nonfinite *f, joule_error *error)
{
    char message[sizeof error->message];
    struct text text;
    text_init(&text, message, sizeof message);
    if (f->origin == FORGE_ORIGIN_LAUNCH)
        add_launch(&text, f);
    else
        text_add(&text, f->origin == FORGE_ORIGIN_INPUT ? "the input contains "
                                                        : "before the run, the slot contained ");
    text_printf(&text, "%g at ", f->value);
    add_place(&text, &f->made.shape, f->element);
    text_add(&text, " of ");
    add_type(&text, &f->made);
    if (f->made.nans + f->made.infinities > 1)
        text_printf(&text, ", the first of %" PRIu64 " non-finite elements",
                    f->made.nans + f->made.infinities);
    for (uint32_t i = 0; i < f->operand_count; i++) {
        text_add(&text, i ? ", " : "; from ");
        add_range(&text, &f->operands[i]);
    }
    return error_set(error, JOULE_FAILED, "%s", message);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static joule_status run_one_by_one(struct check *check, joule_error *error)
{
    forge_instance *instance = check->instance;
    joule_status status = JOULE_OK;
    int64_t end_ns;
    for (size_t i = 0; status == JOULE_OK && i < instance->program->launches.count; i++) {
        check->are_known = false;
        if (works_in_place(&instance->launches[i].launch))
            scan_operands(check, &instance->launches[i].launch);
        status = instance->device->ops->run(instance->device, &instance->launches[i], 1, &end_ns, error);
        if (status == JOULE_OK)
            check_results(check, i);
    }
    instance->is_poisoned = status != JOULE_OK;
    return status;
}

joule_status forge_instance_run_checked(forge_instance *instance, forge_nonfinite *out_found,
                                        joule_error *out_error)
{
    if (out_found && !abi_has_room(out_found, SIZE_UP_TO(forge_nonfinite, operands)))
        return JOULE_INVALID;
    if (instance->device->ops->expect)
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot check a run: the device %s only estimates",
                         instance->device->ops->name);
    if (instance->is_poisoned)
        return instance_fail_poisoned(out_error);
    struct check check = {.instance = instance};
    if (!instance->makes_infinities)
        instance->makes_infinities =
            calloc(instance->program->launches.count + 1, sizeof *instance->makes_infinities);
    if (!instance->makes_infinities)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot check a run: out of memory");
    joule_status status = instance->is_bound ? JOULE_OK : instance_bind(instance, out_error);
    if (status == JOULE_OK)
        status = instance_check_inputs(instance, out_error);
    if (status != JOULE_OK)
        return status;
    check_given(&check);
    status = run_one_by_one(&check, out_error);
    if (status != JOULE_OK)
        check.found.origin = FORGE_ORIGIN_NONE;
    if (out_found)
        abi_write(out_found, &check.found, sizeof check.found);
    if (status != JOULE_OK)
        return status;
    return check.found.origin == FORGE_ORIGIN_NONE ? JOULE_OK : report_origin(&check.found, out_error);
}
