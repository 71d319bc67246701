/* ir/text_parse.h - what the two halves of the parser share.
 *
 * Owns the state of a parse. text_parse.c reads sizes, types and everything that is not a node, text_parse_node.c reads nodes.
 * Newcomers: functions take what they read and return true, or keep the first error in the cursor and return false.
 */
#ifndef FORGE_IR_TEXT_PARSE_H
#define FORGE_IR_TEXT_PARSE_H

#include "forge/ir/build.h"
#include "forge/ir/text.h"

enum { MAX_NESTING = 32 }; /* of bodies */

struct body {
    forge_graph *graph;
    unsigned nesting;
};

struct parser {
    struct cursor in;
    struct arena arena;     /* names */
    forge_builder *builder; /* of the body or graph that is being read */
    unsigned nesting;       /* of the bodies that it uses */
    struct dim_table dims;  /* until the next builder is made */
    GRAPH_ARRAY(struct body, bodies, body);
    GRAPH_ARRAY(forge_value, values, value); /* of %1, %2 ...; [0] is none */
};

static inline forge_graph *graph_of(struct parser *p)
{
    return p->builder->graph;
}

/* --- text_parse.c ------------------------------------------------------------------------------------------- */

/* The builder's own message, if it has refused something, at this place. */
bool builder_agrees(struct parser *p, size_t at);
bool parse_size(struct parser *p, struct dim_table *dims, forge_dim *out);
bool parse_dtype(struct parser *p, forge_dtype *out);
/* "f32[2,B]". */
bool parse_type(struct parser *p, forge_dtype *out_dtype, forge_shape *out_shape);
/* "%3": a value of an earlier line. */
bool parse_value(struct parser *p, forge_value *out);

/* --- text_parse_node.c -------------------------------------------------------------------------------------- */

/* A whole line: "%5 = matmul(%3, %4) transpose_b : f32[B,10] @mlp/fc1 backward". */
bool parse_node(struct parser *p);

#endif
