/* tools/forge/check_case.c - see check_case.h. */
#include "check_case.h"

#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "check_maker.h"

/* Returns the next random number: SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t maker_below(struct maker *m, uint32_t limit)
{
    return (uint32_t)(next(&m->state) >> 32) % limit;
}

int64_t maker_size(struct maker *m, uint32_t max, int64_t large)
{
    return m->purpose == CASE_TIME ? large
                                   : 1 + maker_below(m, m->purpose == CASE_GRAD ? (max + 7) / 8 : max);
}

forge_value maker_input(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high)
{
    struct case_input *in = &m->c->inputs[m->c->input_count];
    string_print(in->name, sizeof in->name, "x%zu", m->c->input_count);
    in->low = low;
    in->high = high;
    if (forge_tensor_new(dtype, &shape, &in->tensor, NULL) != JOULE_OK)
        in->tensor = (forge_tensor){0};
    return m->inputs[m->c->input_count++] = forge_input(m->b, in->name, dtype, shape);
}

/* --- a case --------------------------------------------------------------------------------------------- */

static void fill(struct case_input *in, uint64_t *state)
{
    enum { PIECE = 256 };
    size_t count = forge_tensor_elements(&in->tensor);
    bool is_float = forge_dtype_is_float(in->tensor.dtype);
    double numbers[PIECE];
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        for (size_t i = 0; i < some; i++) {
            double u = (double)(next(state) >> 11) * 0x1p-53;
            if (in->is_ascending)
                u = (double)(first + i) / (double)count;
            double number = in->low + (in->high - in->low) * u;
            numbers[i] = is_float ? number : (double)(int64_t)(number >= 0 ? number : number - 1);
        }
        forge_convert(
            FORGE_F64, numbers, in->tensor.dtype,
            (char *)forge_tensor_data(&in->tensor) + forge_dtype_size_bytes(in->tensor.dtype, first), some);
    }
}

void maker_gradients(struct maker *m, forge_value y)
{
    size_t count = m->c->input_count;
    forge_value wanted[CASE_INPUTS], gradients[CASE_INPUTS];
    forge_shape shape = forge_value_shape(m->b, y);
    forge_value weighted = forge_mul(m->b, y, maker_input(m, m->dtype, shape, -1, 1));
    forge_value loss =
        shape.rank ? forge_reduce(m->b, FORGE_SUM, weighted, (1u << shape.rank) - 1, false) : weighted;
    forge_output(m->b, "loss", loss);
    size_t floats = 0;
    for (size_t i = 0; i < count; i++)
        if (forge_dtype_is_float(m->c->inputs[i].tensor.dtype))
            wanted[floats++] = m->inputs[i];
    forge_gradients(m->b, loss, wanted, floats, gradients);
    for (size_t i = 0, k = 0; i < count; i++) {
        char name[8];
        string_print(name, sizeof name, "g%zu", i);
        if (forge_dtype_is_float(m->c->inputs[i].tensor.dtype))
            forge_output(m->b, name, gradients[k++]);
    }
}

const char *case_name(unsigned subject)
{
    return subject < OP_COUNT ? op_name((enum op)subject) : composite_name(subject - OP_COUNT);
}

bool case_exists(unsigned subject)
{
    return subject < OP_COUNT ? family_exists((enum op)subject) : composite_name(subject - OP_COUNT) != NULL;
}

/* Adds the outputs of the operation. Returns false if the operation has no case for this purpose. */
static bool add_subject(struct maker *m, unsigned subject)
{
    if (subject >= OP_COUNT)
        return composite_make(m, subject - OP_COUNT);
    forge_value y = family_make(m, (enum op)subject);
    if (y != FORGE_NO_VALUE && m->purpose == CASE_GRAD)
        maker_gradients(m, y);
    else if (y != FORGE_NO_VALUE)
        forge_output(m->b, "y", y);
    return y != FORGE_NO_VALUE;
}

/* Returns the type of the floats of a case. The number of random numbers that this takes does not depend on
 * dtype. */
static forge_dtype type_of_floats(struct maker *m, unsigned subject, forge_dtype dtype)
{
    static const forge_dtype random[] = {FORGE_F32, FORGE_F32, FORGE_F32, FORGE_F64, FORGE_F16, FORGE_BF16};
    forge_dtype any = FORGE_F32;
    if (m->purpose == CASE_VALUE)
        any = random[maker_below(m, sizeof random / sizeof *random)];
    if (m->purpose == CASE_GRAD)
        return FORGE_F64;
    if (subject >= OP_COUNT && (any == FORGE_F64 || composite_is_of_models(subject - OP_COUNT)))
        any = FORGE_F32; /* composites have no kernels for f64 */
    if (dtype == FORGE_DTYPE_NONE || (subject >= OP_COUNT && composite_is_of_models(subject - OP_COUNT)))
        return any;
    return dtype;
}

static joule_status make(unsigned subject, enum case_purpose purpose, forge_dtype dtype, uint64_t seed,
                         bool is_wide, struct check_case *out_case, joule_error *error)
{
    *out_case = (struct check_case){.subject = subject, .seed = seed};
    struct maker m = {forge_builder_new(), purpose, seed, out_case, {0}, FORGE_F32};
    m.dtype = type_of_floats(&m, subject, dtype);
    if (is_wide)
        m.dtype = FORGE_F64;
    bool has_purpose = add_subject(&m, subject);
    joule_status status = forge_builder_finish(m.b, &out_case->graph, has_purpose ? error : NULL);
    for (size_t i = 0; i < out_case->input_count; i++) {
        if (!out_case->inputs[i].tensor.buffer)
            return error_set(error, JOULE_NO_MEMORY, "cannot make a case of %s: out of memory",
                             case_name(subject));
        fill(&out_case->inputs[i], &m.state);
    }
    return has_purpose ? status : JOULE_UNSUPPORTED;
}

joule_status case_make(unsigned subject, enum case_purpose purpose, forge_dtype dtype, uint64_t seed,
                       struct check_case *out_case, joule_error *error)
{
    return make(subject, purpose, dtype, seed, false, out_case, error);
}

joule_status case_widen(const struct check_case *c, struct check_case *out_wide, joule_error *error)
{
    joule_status status = make(c->subject, CASE_VALUE, FORGE_F64, c->seed, true, out_wide, error);
    for (size_t i = 0; status == JOULE_OK && i < c->input_count; i++) {
        const forge_tensor *from = &c->inputs[i].tensor, *to = &out_wide->inputs[i].tensor;
        forge_convert(from->dtype, forge_tensor_data(from), to->dtype, forge_tensor_data(to),
                      forge_tensor_elements(from));
    }
    return status;
}

void case_free(struct check_case *c)
{
    forge_graph_free(c->graph);
    for (size_t i = 0; i < c->input_count; i++)
        forge_buffer_release(c->inputs[i].tensor.buffer);
    *c = (struct check_case){0};
}
