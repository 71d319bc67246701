/* emit/emit.c - the renderer; see emit.h. */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/emit/dialect.h"

enum {
    MAX_NAME = 24,
    MAX_EXPRESSION = 320,
    UNITS = 4 /* vectors that are computed at once, to hide the latency of long functions */
};

/* The state of a rendering. */
struct emitter {
    const struct dialect *dialect;
    const struct emit_group *group;
    struct text *text;
};

/* --- templates ------------------------------------------------------------------------------------------ */

/* The names that replace the places of a template. */
struct places {
    const char *operands[3];  /* $0, $1, $2 */
    forge_dtype result, last; /* $t, $v and $f; $a */
    const char *type;         /* $v; NULL: the type of variables of `result` */
};

/* Returns the type in which elements are computed. */
static forge_dtype computed(forge_dtype dtype)
{
    return dtype == FORGE_BF16 || dtype == FORGE_F16 ? FORGE_F32 : dtype;
}

static const struct dialect_type *type_of(const struct dialect *dialect, forge_dtype dtype)
{
    static const struct dialect_type none;
    return (unsigned)dtype < DIALECT_DTYPES ? &dialect->types[dtype] : &none;
}

static const char *named(const struct dialect *dialect, char place, const struct places *p)
{
    switch (place) {
    case 't':
        return forge_dtype_name(computed(p->result));
    case 'a':
        return forge_dtype_name(computed(p->last));
    case 'f':
        return p->result == FORGE_F64 ? "" : "f";
    case 'v':
        return p->type ? p->type : type_of(dialect, p->result)->value;
    default:
        return p->operands[place - '0'];
    }
}

static void fill(const struct dialect *dialect, const char *template, const struct places *p,
                 struct text *out)
{
    for (const char *at = template; *at; at++)
        if (*at == '$')
            text_add(out, named(dialect, *++at, p));
        else
            text_add_bytes(out, at, 1);
}

static void add(const struct emitter *e, const char *template, const struct places *p)
{
    fill(e->dialect, template, p, e->text);
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static bool is_threads(const struct dialect *dialect)
{
    return dialect->threads.function != NULL;
}

/* Returns the name of an operand's variable, x0 for an input, v0 for the value of a step, followed by
 * `index`. */
static const char *variable(uint8_t operand, const char *index, char name[MAX_NAME])
{
    bool is_input = operand < FUSED_MAX_INPUTS;
    string_print(name, MAX_NAME, "%c%u%s", is_input ? 'x' : 'v',
                 (unsigned)(is_input ? operand : operand - FUSED_MAX_INPUTS), index);
    return name;
}

/* Returns the expression for the value of an operand. */
static const char *operand_of(const struct emitter *e, uint8_t operand, char name[MAX_NAME])
{
    return variable(operand, is_threads(e->dialect) ? "" : "[k]", name);
}

/* Adds the definition of an operand's variable. A function with vectors computes several of them. */
static void add_variable(const struct emitter *e, uint8_t operand, const char *value)
{
    char name[MAX_NAME], each[MAX_NAME];
    const char *type = type_of(e->dialect, e->group->dtypes[operand])->value;
    if (is_threads(e->dialect))
        text_printf(e->text, "    %s %s = %s;\n", type, variable(operand, "", name), value);
    else
        text_printf(e->text, "    %s %s; EACH %s = %s;\n", type, variable(operand, "[UNITS]", name),
                    variable(operand, "[k]", each), value);
}

static const struct dialect_operations *operations_on(const struct dialect *dialect, forge_dtype dtype)
{
    forge_dtype type = computed(dtype);
    return type == FORGE_F32    ? dialect->f32
           : type == FORGE_F64  ? dialect->f64
           : type == FORGE_BOOL ? dialect->booleans
                                : NULL;
}

/* Returns true if a value can be cast with one rounding. */
static bool can_cast(forge_dtype from, forge_dtype to)
{
    bool is_float = from == FORGE_F32 || from == FORGE_BF16 || from == FORGE_F16;
    bool is_exact = from == FORGE_BOOL || from == FORGE_U8 || is_float;
    return to == FORGE_BOOL                     ? is_exact || from == FORGE_F64
           : to == FORGE_F64 || to == FORGE_F32 ? is_exact || from == FORGE_F64
                                                : (to == FORGE_BF16 || to == FORGE_F16) && is_exact;
}

/* Returns the template of a cast. */
static const char *cast_template(const struct dialect *dialect, forge_dtype from, forge_dtype to)
{
    if (!can_cast(from, to))
        return NULL;
    if (to == FORGE_BOOL)
        return "$0 != 0";
    return computed(from) == computed(to) ? "$0" : dialect->cast;
}

static bool is_truth(const struct fused_step *step, forge_dtype result)
{
    return result == FORGE_BOOL &&
           ((step->op == OP_BINARY && step->kind >= FORGE_EQ) || step->op == OP_CAST ||
            (step->op == OP_UNARY && step->kind == FORGE_IS_NAN));
}

/* Returns the template of a step, NULL: the dialect cannot express it. */
static const char *step_template(const struct emitter *e, const struct fused_step *step, forge_dtype result)
{
    forge_dtype last = e->group->dtypes[step->operands[step->operand_count - 1]];
    const struct dialect_operations *operations = operations_on(e->dialect, last);
    if (step->op == OP_CAST)
        return cast_template(e->dialect, last, result);
    if (!operations)
        return NULL;
    switch (step->op) {
    case OP_UNARY:
        return operations->unaries[step->kind];
    case OP_BINARY:
        return operations->binaries[step->kind];
    case OP_SELECT:
        return operations->select;
    default:
        return NULL;
    }
}

/* Returns the expression of a step, in `buffer`: [MAX_EXPRESSION]. */
static const char *expression_of(const struct emitter *e, const struct fused_step *step, forge_dtype result,
                                 char *buffer)
{
    char names[3][MAX_NAME], inner[MAX_EXPRESSION];
    struct text text;
    struct places p = {.result = result, .last = e->group->dtypes[step->operands[step->operand_count - 1]]};
    const char *round = result == FORGE_BF16  ? "round_bf16($0)"
                        : result == FORGE_F16 ? "round_f16($0)"
                                              : "$0";
    for (int i = 0; i < step->operand_count; i++)
        p.operands[i] = operand_of(e, step->operands[i], names[i]);
    text_init(&text, inner, sizeof inner);
    fill(e->dialect, step_template(e, step, result), &p, &text);
    p.operands[0] = inner;
    text_init(&text, buffer, MAX_EXPRESSION);
    fill(e->dialect, is_truth(step, result) ? e->dialect->truth : round, &p, &text);
    return buffer;
}

static void add_steps(const struct emitter *e)
{
    char expression[MAX_EXPRESSION];
    for (uint32_t i = 0; i < e->group->fused->count; i++) {
        uint8_t operand = (uint8_t)(FUSED_MAX_INPUTS + i);
        add_variable(e, operand,
                     expression_of(e, &e->group->fused->steps[i], e->group->dtypes[operand], expression));
    }
}

/* Adds the variable of input `i`, which is read from `element`. */
static void add_load(const struct emitter *e, size_t i, const char *element)
{
    char value[MAX_EXPRESSION];
    struct text text;
    text_init(&text, value, sizeof value);
    fill(e->dialect, type_of(e->dialect, e->group->dtypes[i])->load, &(struct places){.operands = {element}},
         &text);
    add_variable(e, (uint8_t)i, value);
}

static forge_dtype result_dtype(const struct emitter *e)
{
    return e->group->dtypes[FUSED_MAX_INPUTS + e->group->fused->count - 1];
}

/* Adds the statement that stores the result in `element`. */
static void add_store(const struct emitter *e, const char *element)
{
    char name[MAX_NAME];
    operand_of(e, (uint8_t)(FUSED_MAX_INPUTS + e->group->fused->count - 1), name);
    text_add(e->text, is_threads(e->dialect) ? "    " : "    EACH ");
    add(e, type_of(e->dialect, result_dtype(e))->store, &(struct places){.operands = {element, name}});
    text_add(e->text, "\n");
}

/* --- a loop over vectors -------------------------------------------------------------------------------- */

static const char *element_of(const struct emitter *e, size_t input)
{
    return type_of(e->dialect, e->group->dtypes[input])->element;
}

static bool has_f64(const struct emit_group *group)
{
    for (size_t i = 0; i < group->input_count; i++)
        if (group->dtypes[i] == FORGE_F64)
            return true;
    for (uint32_t i = 0; i < group->fused->count; i++)
        if (group->dtypes[FUSED_MAX_INPUTS + i] == FORGE_F64)
            return true;
    return false;
}

/* Returns true if a step evaluates a polynomial, so that its result is late. */
static bool has_long_step(const struct emit_group *group)
{
    for (uint32_t i = 0; i < group->fused->count; i++) {
        const struct fused_step *step = &group->fused->steps[i];
        if (step->op == OP_UNARY && step->kind >= FORGE_RSQRT && step->kind != FORGE_NOT &&
            step->kind != FORGE_RELU)
            return true;
    }
    return false;
}

static void add_lanes(const struct emitter *e)
{
    uint32_t bytes = e->group->vector_bytes;
    text_printf(e->text, "#define LANES %u\n#define DOUBLE_LANES %u\n#define UNITS %d\n",
                (unsigned)(bytes / (has_f64(e->group) ? 8 : 4)), (unsigned)(bytes / 8),
                has_long_step(e->group) ? UNITS : 1);
}

/* Adds the function that computes one block of vectors. */
static void add_block_function(const struct emitter *e, const char *out)
{
    char element[MAX_NAME];
    text_add(e->text, "\nINLINE void compute(");
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "const %s *in%zu, ", element_of(e, i), i);
    text_printf(e->text, "%s *out)\n{\n", out);
    for (size_t i = 0; i < e->group->input_count; i++) {
        string_print(element, sizeof element, "in%zu + k * LANES", i);
        add_load(e, i, element);
    }
    add_steps(e);
    add_store(e, "out + k * LANES");
    text_add(e->text, "}\n");
}

static void add_vector_loop(const struct emitter *e)
{
    const char *out = type_of(e->dialect, result_dtype(e))->element;
    add_block_function(e, out);
    text_add(e->text, "\nvoid forge_group(const void *const *inputs, const int64_t *steps, void *result, "
                      "size_t count)\n{\n");
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "    INPUT(%zu, %s)\n", i, element_of(e, i));
    text_printf(e->text, "    %s *out = result, rest[BLOCK];\n", out);
    text_add(e->text, "    int64_t at = 0, whole = (int64_t)(count / BLOCK * BLOCK);\n"
                      "    for (; at < whole; at += BLOCK)\n"
                      "        compute(");
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "in%zu + at * step%zu, ", i, i);
    text_add(e->text, "out + at);\n"
                      "    if (at == (int64_t)count)\n"
                      "        return;\n");
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "    REST(%zu)\n", i);
    text_add(e->text, "    compute(");
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "in%zu, ", i);
    text_add(e->text, "rest);\n"
                      "    memcpy(out + at, rest, (count - (size_t)at) * sizeof *rest);\n"
                      "}\n");
}

/* --- one element per thread ----------------------------------------------------------------------------- */

/* Adds a parameter. number: its position. */
static void add_parameter(const struct emitter *e, const char *template, const char *name, size_t number,
                          const char *type)
{
    char digits[MAX_NAME];
    string_print(digits, sizeof digits, "%zu", number);
    text_add(e->text, number ? ", " : "");
    add(e, template, &(struct places){.operands = {name, digits}, .type = type});
}

/* Adds the offsets of the inputs' elements; see emit.h for the contents of `places`. */
static void add_offsets(const struct emitter *e)
{
    size_t rank = e->group->rank;
    const char *integer = e->dialect->threads.integer;
    text_printf(e->text, "    %s rest = at;\n", integer);
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "    %s at%zu = 0;\n", integer, i);
    text_printf(e->text,
                "    for (int d = %zu; d > 0; rest /= places[d--]) {\n"
                "        %s index = rest %% places[d];\n",
                rank, integer);
    for (size_t i = 0; i < e->group->input_count; i++)
        text_printf(e->text, "        at%zu += index * places[%zu + d];\n", i, rank * (i + 1));
    text_add(e->text, "    }\n");
}

static void add_thread_function(const struct emitter *e)
{
    const struct dialect_threads *threads = &e->dialect->threads;
    size_t count = e->group->input_count;
    char name[MAX_NAME];
    text_printf(e->text, "\n%s forge_group(", threads->function);
    for (size_t i = 0; i < count; i++) {
        string_print(name, sizeof name, "in%zu", i);
        add_parameter(e, threads->input, name, i, element_of(e, i));
    }
    add_parameter(e, threads->output, "out", count, type_of(e->dialect, result_dtype(e))->element);
    add_parameter(e, threads->places, "places", count + 1, NULL);
    text_printf(e->text, "%s)\n{\n    %s at = %s;\n    if (at >= places[0])\n        return;\n",
                threads->more, threads->integer, threads->index);
    add_offsets(e);
    for (size_t i = 0; i < count; i++) {
        string_print(name, sizeof name, "in%zu[at%zu]", i, i);
        add_load(e, i, name);
    }
    add_steps(e);
    add_store(e, "out[at]");
    text_add(e->text, "}\n");
}

/* --- whole sources -------------------------------------------------------------------------------------- */

static joule_status refuse_type(const struct dialect *dialect, forge_dtype dtype, joule_error *error)
{
    return error_set(error, JOULE_UNSUPPORTED,
                     "cannot render a fused operation in the dialect %s: it has no %s", dialect->name,
                     forge_dtype_name(dtype));
}

/* Returns the name of a step's operation, such as "unary.exp". */
static const char *step_name(const struct fused_step *step, char name[40])
{
    const char *kind = step->op == OP_UNARY    ? unary_name((forge_unary_kind)step->kind)
                       : step->op == OP_BINARY ? binary_name((forge_binary_kind)step->kind)
                       : step->op == OP_CAST   ? forge_dtype_name((forge_dtype)step->kind)
                                               : "";
    string_print(name, 40, "%s%s%s", op_name((enum op)step->op),
                 step->op == OP_CAST ? " to "
                 : *kind             ? "."
                                     : "",
                 kind);
    return name;
}

static joule_status check_step(const struct emitter *e, uint32_t i, joule_error *error)
{
    const struct fused_step *step = &e->group->fused->steps[i];
    forge_dtype result = e->group->dtypes[FUSED_MAX_INPUTS + i];
    char name[40];
    if (!type_of(e->dialect, result)->value)
        return refuse_type(e->dialect, result, error);
    if (!step_template(e, step, result))
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot render a fused operation in the dialect %s: it has no %s on %s",
                         e->dialect->name, step_name(step, name),
                         forge_dtype_name(e->group->dtypes[step->operands[step->operand_count - 1]]));
    return JOULE_OK;
}

static joule_status check(const struct emitter *e, joule_error *error)
{
    const struct emit_group *group = e->group;
    joule_status status = JOULE_OK;
    if (group->fused->count == 0 || group->input_count > FUSED_MAX_INPUTS)
        return error_set(error, JOULE_INVALID, "cannot render a fused operation: it has %s",
                         group->fused->count == 0 ? "no steps" : "too many inputs");
    for (size_t i = 0; i < group->input_count; i++)
        if (!type_of(e->dialect, group->dtypes[i])->value)
            return refuse_type(e->dialect, group->dtypes[i], error);
    for (uint32_t i = 0; status == JOULE_OK && i < group->fused->count; i++)
        status = check_step(e, i, error);
    if (status == JOULE_OK && !type_of(e->dialect, result_dtype(e))->store)
        return refuse_type(e->dialect, result_dtype(e), error);
    return status;
}

static void add_source(const struct dialect *dialect, const struct emit_group *group, struct text *text)
{
    const struct emitter e = {dialect, group, text};
    text_printf(text, "/* options: %s */\n", dialect->options);
    if (!is_threads(dialect))
        add_lanes(&e);
    for (size_t k = 0; k < sizeof dialect->headers / sizeof *dialect->headers && dialect->headers[k]; k++)
        for (const char *const *part = dialect->headers[k]; *part; part++)
            text_add(text, *part);
    (is_threads(dialect) ? add_thread_function : add_vector_loop)(&e);
}

joule_status emit_source(const struct dialect *dialect, const struct emit_group *group, char **out_source,
                         joule_error *out_error)
{
    const struct emitter e = {dialect, group, NULL};
    struct text text;
    joule_status status = check(&e, out_error);
    if (status != JOULE_OK)
        return status;
    text_init(&text, NULL, 0);
    add_source(dialect, group, &text);
    size_t size = text.length + 1;
    *out_source = malloc(size);
    if (!*out_source)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot render a fused operation: out of memory");
    text_init(&text, *out_source, size);
    add_source(dialect, group, &text);
    return JOULE_OK;
}
