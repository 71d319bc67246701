/* ir/text_parse.h - the state that text_parse.c and text_parse_node.c share: the latter parses nodes.
 *
 * Note: each function consumes what it parses and returns true, or records an error in the cursor and returns
 * false.
 */
#ifndef FORGE_IR_TEXT_PARSE_H
#define FORGE_IR_TEXT_PARSE_H

#include "forge/ir/builder.h"
#include "forge/ir/text.h"

enum { MAX_NESTING = 32 }; /* levels of bodies within bodies */

/* A parsed body, which nodes can use. */
struct body {
    forge_graph *graph;
    unsigned nesting; /* levels of bodies within this body */
};

/* State of the parser for one text. */
struct parser {
    struct cursor in;
    struct arena arena;     /* memory for names */
    forge_builder *builder; /* for the body or graph that is being parsed */
    unsigned nesting;       /* levels of bodies within the current graph or body */
    struct dim_table dims;  /* copied into the next builder */
    GRAPH_ARRAY(struct body, bodies, body);
    GRAPH_ARRAY(forge_value, values, value); /* values of %1, %2 ...; [0] is unused */
};

static inline forge_graph *graph_of(struct parser *p)
{
    return p->builder->graph;
}

/* --- text_parse.c --------------------------------------------------------------------------------------- */

/* Returns true if the builder has not failed; otherwise records the builder's error, at position `at`. */
bool builder_check(struct parser *p, size_t at);
bool parse_size(struct parser *p, struct dim_table *dims, forge_dim *out);
bool parse_dtype(struct parser *p, forge_dtype *out);
/* Parses "f32[2,B]". */
bool parse_type(struct parser *p, forge_dtype *out_dtype, forge_shape *out_shape);
/* Parses "%3", a value of an earlier line. */
bool parse_value(struct parser *p, forge_value *out);

/* --- text_parse_node.c ---------------------------------------------------------------------------------- */

/* Parses a whole line: "%5 = matmul(%3, %4) transpose_b : f32[B,10] @mlp/fc1 backward". */
bool parse_node(struct parser *p);

#endif
