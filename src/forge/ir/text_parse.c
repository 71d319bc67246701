/* ir/text_parse.c - parses graphs that text_print.c has written.
 *
 * The builder adds the nodes, so a text with a node that infer.c refuses cannot be parsed. The types in a
 * text are only compared with the types that the builder infers.
 *
 * Note: symbols and sizes come first, then bodies, then the graph. Each body begins with a copy of the dim
 * table of the previous body, and the graph with a copy of the last body's table. So a size has the same id
 * in all bodies and in the graph.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/ir/text_parse.h"

enum { MAX_SIZE_COPIES = 1 << 20 }; /* limit on the entries of dim tables, in total over all bodies */

bool builder_check(struct parser *p, size_t at)
{
    if (!p->builder->has_failed)
        return true;
    if (p->builder->error.status == JOULE_NO_MEMORY)
        return cursor_no_memory(&p->in);
    return cursor_fail_at(&p->in, at, "%s", p->builder->error.message);
}

/* --- sizes and types ------------------------------------------------------------------------------------ */

static forge_dim parse_dim(struct parser *p, struct dim_table *dims, unsigned nesting);

static forge_dim named_dim(struct parser *p, const struct dim_table *dims)
{
    size_t start = p->in.at;
    const char *name = cursor_name(&p->in, &p->arena, false);
    const struct dim *symbol = name ? dim_find(dims, name) : NULL;
    if (symbol)
        return dims->entries - symbol - 1;
    if (name)
        cursor_fail_at(&p->in, start, "expected a symbol, and '%.40s' is not one", name);
    return DIM_FAILED;
}

/* Parses the rest of an expression in parentheses, for example "a*b)", after its "(". */
static forge_dim dim_of_two(struct parser *p, struct dim_table *dims, unsigned nesting)
{
    size_t start = p->in.at;
    if (nesting == 0) {
        cursor_fail_at(&p->in, start, "expected a size with fewer nested parentheses");
        return DIM_FAILED;
    }
    forge_dim a = parse_dim(p, dims, nesting - 1);
    char sign = cursor_next(&p->in);
    if (!cursor_take(&p->in, "*") && !cursor_take(&p->in, "+") && !cursor_take(&p->in, "/")) {
        cursor_expected(&p->in, "'*', '+' or '/'");
        return DIM_FAILED;
    }
    forge_dim b = parse_dim(p, dims, nesting - 1);
    if (!cursor_want(&p->in, ")"))
        return DIM_FAILED;
    forge_dim dim = sign == '*'   ? dim_mul(dims, a, b)
                    : sign == '+' ? dim_add(dims, a, b)
                                  : dim_div(dims, a, b);
    if (dim == DIM_FAILED)
        cursor_fail_at(&p->in, start,
                       "expected a size that is at most 2^48, is not divided by 0, and is not too long");
    return dim;
}

static forge_dim parse_dim(struct parser *p, struct dim_table *dims, unsigned nesting)
{
    uint64_t number;
    char next = cursor_next(&p->in);
    if (next >= '0' && next <= '9')
        return cursor_number(&p->in, DIM_MAX_NUMBER, &number) ? (forge_dim)number : DIM_FAILED;
    if (cursor_take(&p->in, "("))
        return dim_of_two(p, dims, nesting);
    return named_dim(p, dims);
}

/* Allows DIM_MAX_LEAVES nested parentheses, enough for the longest sum that dim_add can create. */
bool parse_size(struct parser *p, struct dim_table *dims, forge_dim *out)
{
    *out = parse_dim(p, dims, DIM_MAX_LEAVES);
    return p->in.status == JOULE_OK;
}

bool parse_dtype(struct parser *p, forge_dtype *out)
{
    char name[16];
    size_t start = (cursor_next(&p->in), p->in.at);
    *out = cursor_identifier(&p->in, name, sizeof name) ? forge_dtype_from_name(name) : FORGE_DTYPE_NONE;
    if (*out != FORGE_DTYPE_NONE)
        return true;
    p->in.at = start;
    return cursor_expected(&p->in, "a type such as f32[2,3]");
}

/* Parses "f32[2,B]". */
bool parse_type(struct parser *p, forge_dtype *out_dtype, forge_shape *out_shape)
{
    *out_shape = (forge_shape){0};
    if (!parse_dtype(p, out_dtype) || !cursor_want(&p->in, "["))
        return false;
    while (!cursor_take(&p->in, "]")) {
        if (out_shape->rank && !cursor_want(&p->in, ","))
            return false;
        if (out_shape->rank == FORGE_MAX_RANK)
            return cursor_expected(&p->in, "at most 8 dimensions");
        if (!parse_size(p, &graph_of(p)->dims, &out_shape->dims[out_shape->rank]))
            return false;
        out_shape->rank++;
    }
    return true;
}

/* Parses "%3", a value of an earlier line. */
bool parse_value(struct parser *p, forge_value *out)
{
    uint64_t label;
    size_t start = (cursor_next(&p->in), p->in.at);
    if (!cursor_want(&p->in, "%") || !cursor_number(&p->in, UINT32_MAX, &label))
        return false;
    if (label == 0 || label >= p->value_count)
        return cursor_fail_at(&p->in, start, "expected a value of an earlier line, and found %%%u",
                              (unsigned)label);
    *out = p->values[label];
    return true;
}

/* --- slots, outputs, writes ----------------------------------------------------------------------------- */

static bool parse_init(struct parser *p, forge_init *out)
{
    static const char *const kinds[] = {"constant", "uniform", "normal"};
    uint32_t kind = 0;
    while (kind < 3 && !cursor_take(&p->in, kinds[kind]))
        kind++;
    if (kind == 3)
        return cursor_expected(&p->in, "constant, uniform or normal");
    *out = (forge_init){.kind = (forge_init_kind)kind};
    return cursor_want(&p->in, "(") && cursor_element(&p->in, FORGE_F64, &out->a) &&
           (!cursor_take(&p->in, ",") || cursor_element(&p->in, FORGE_F64, &out->b)) &&
           cursor_want(&p->in, ")");
}

/* Parses: slot "w" : f32[2] = normal(0, 0.1) parameter */
static bool parse_slot(struct parser *p, size_t start)
{
    forge_dtype dtype;
    forge_shape shape;
    forge_init init;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, ":") || !parse_type(p, &dtype, &shape) || !cursor_want(&p->in, "=") ||
        !parse_init(p, &init))
        return false;
    if (builder_find_slot(p->builder, name) != INDEX_NONE)
        return cursor_fail_at(&p->in, start, "expected a new name: slot '%.40s' already exists", name);
    forge_slot slot = forge_state(p->builder, name, dtype, shape, init);
    if (!builder_check(p, start))
        return false;
    return !cursor_take(&p->in, "parameter") || builder_mark_parameter(p->builder, slot) ||
           cursor_no_memory(&p->in);
}

/* Parses: output "y" = %3 */
static bool parse_output(struct parser *p, size_t start)
{
    forge_value value;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, "=") || !parse_value(p, &value))
        return false;
    forge_output(p->builder, name, value);
    return builder_check(p, start);
}

/* Parses: write "w" = %3 in_place */
static bool parse_write(struct parser *p, size_t start)
{
    forge_value value;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, "=") || !parse_value(p, &value))
        return false;
    uint32_t slot = builder_find_slot(p->builder, name);
    if (slot == INDEX_NONE)
        return cursor_fail_at(&p->in, start, "expected a slot of an earlier line, and '%.40s' is not one",
                              name);
    forge_write(p->builder, slot, value, cursor_take(&p->in, "in_place"));
    return builder_check(p, start);
}

/* --- all ------------------------------------------------------------------------------------------------ */

/* Parses the lines of a graph or body, up to the first line of another kind. */
static bool parse_lines(struct parser *p)
{
    for (bool is_ok = true; is_ok;) {
        cursor_take_lines(&p->in);
        size_t start = p->in.at;
        if (cursor_next(&p->in) == '%')
            is_ok = parse_node(p);
        else if (cursor_take(&p->in, "slot"))
            is_ok = parse_slot(p, start);
        else if (cursor_take(&p->in, "output"))
            is_ok = parse_output(p, start);
        else if (cursor_take(&p->in, "write"))
            is_ok = parse_write(p, start);
        else
            break;
        if (is_ok && !cursor_take_lines(&p->in))
            is_ok = cursor_expected(&p->in, "the end of the line");
    }
    return p->in.status == JOULE_OK;
}

/* Parses a graph or body from the cursor to `end`, or to the end of the text if `end` is NULL. */
static bool parse_graph(struct parser *p, const char *end, forge_graph **out)
{
    joule_error error;
    size_t start = p->in.at;
    p->nesting = 0;
    p->value_count = 0;
    p->builder = builder_new(&p->dims);
    if (!p->builder || !ARRAY_ROOM(p->values, p->value_capacity, p->value_count))
        return cursor_no_memory(&p->in);
    p->values[p->value_count++] = FORGE_NO_VALUE;
    if (!parse_lines(p))
        return false;
    if (end ? !cursor_want(&p->in, end) : p->in.at < p->in.length)
        return cursor_expected(&p->in, "a value (%1 = ...), slot, output or write");
    forge_builder *builder = p->builder;
    p->builder = NULL;
    if (forge_builder_finish(builder, out, &error) != JOULE_OK)
        return error.status == JOULE_NO_MEMORY ? cursor_no_memory(&p->in)
                                               : cursor_fail_at(&p->in, start, "%s", error.message);
    return true;
}

/* Parses: body $0 { ... } */
static bool parse_body(struct parser *p)
{
    uint64_t number;
    size_t start = p->in.at;
    forge_graph *body = NULL;
    if (!cursor_want(&p->in, "$") || !cursor_number(&p->in, UINT32_MAX, &number) || !cursor_want(&p->in, "{"))
        return false;
    if (number != p->body_count)
        return cursor_fail_at(&p->in, start, "expected $%zu: bodies are numbered in order", p->body_count);
    if ((p->body_count + 1) * p->dims.count > MAX_SIZE_COPIES)
        return cursor_fail_at(&p->in, start, "expected fewer bodies with so many sizes");
    if (!ARRAY_ROOM(p->bodies, p->body_capacity, p->body_count))
        return cursor_no_memory(&p->in);
    if (!parse_graph(p, "}", &body))
        return false;
    p->bodies[p->body_count++] = (struct body){body, p->nesting};
    dim_table_free(&p->dims);
    return dim_table_copy(&p->dims, &body->dims) || cursor_no_memory(&p->in);
}

/* Parses: symbol B : 1..64 by 8 */
static bool parse_symbol(struct parser *p)
{
    uint64_t min, max, multiple = 1;
    size_t start = p->in.at;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, ":") || !cursor_number(&p->in, DIM_MAX_NUMBER, &min) ||
        !cursor_want(&p->in, "..") || !cursor_number(&p->in, DIM_MAX_NUMBER, &max) ||
        (cursor_take(&p->in, "by") && !cursor_number(&p->in, INT64_MAX, &multiple)))
        return false;
    if (dim_symbol(&p->dims, name, (int64_t)min, (int64_t)max, (int64_t)multiple) != DIM_FAILED)
        return true;
    return cursor_fail_at(&p->in, start,
                          "expected a new symbol of at most 31 bytes, its minimum and maximum, and the "
                          "number of which it is a multiple");
}

static bool parse_all(struct parser *p, forge_graph **out)
{
    cursor_take_lines(&p->in);
    bool is_ok = cursor_want(&p->in, "forge") && cursor_want(&p->in, "graph") && cursor_want(&p->in, "1");
    forge_dim size;
    while (is_ok) {
        if (!cursor_take_lines(&p->in))
            is_ok = cursor_expected(&p->in, "the end of the line");
        else if (cursor_take(&p->in, "symbol"))
            is_ok = parse_symbol(p);
        else if (cursor_take(&p->in, "size"))
            is_ok = parse_size(p, &p->dims, &size);
        else if (cursor_take(&p->in, "body"))
            is_ok = parse_body(p);
        else
            return parse_graph(p, NULL, out);
    }
    return false;
}

joule_status forge_graph_parse(const char *text, size_t length, forge_graph **out_graph,
                               joule_error *out_error)
{
    struct parser p = {.in = {.text = text, .length = length, .error = out_error}};
    forge_graph *graph = NULL;
    if (parse_all(&p, &graph))
        *out_graph = graph;
    for (size_t i = 0; i < p.body_count; i++)
        forge_graph_free(p.bodies[i].graph);
    forge_builder_free(p.builder);
    dim_table_free(&p.dims);
    arena_free(&p.arena);
    free(p.bodies);
    free(p.values);
    return p.in.status;
}
