/* Checks graphs as text: format, complete round trips, messages, and malicious text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/compiler/pass.h"
#include "forge/ir/fields.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"

static char *print(const forge_graph *graph)
{
    char *text = NULL;
    assert_int_equal(forge_graph_print(graph, &text, NULL), JOULE_OK);
    return text;
}

static forge_graph *parse(const char *text)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    if (forge_graph_parse(text, strlen(text), &graph, &error) != JOULE_OK ||
        graph_verify(graph, &error) != JOULE_OK)
        fail_msg("%s in:\n%s", error.message, text);
    return graph;
}

/* --- equal graphs --------------------------------------------------------------------------------------- */

static void assert_same_graph(const forge_graph *a, const forge_graph *b);

static void assert_same_node(const forge_graph *a, const forge_graph *b, size_t n)
{
    const struct node *x = &a->nodes[n], *y = &b->nodes[n];
    assert_int_equal(x->op, y->op);
    assert_int_equal(x->phase, y->phase);
    assert_int_equal(x->output, y->output);
    assert_int_equal(x->output_count, y->output_count);
    assert_int_equal(x->input_count, y->input_count);
    assert_string_equal(a->scopes[x->scope], b->scopes[y->scope]);
    assert_int_equal(x->attributes_size, y->attributes_size);
    for (size_t i = 0; i < x->input_count; i++)
        assert_int_equal(node_input(a, x, i), node_input(b, y, i));
    if (x->op == OP_COMPOSITE) {
        struct composite_attributes of_x = *(const struct composite_attributes *)x->attributes,
                                    of_y = *(const struct composite_attributes *)y->attributes;
        assert_same_graph(of_x.body, of_y.body);
        of_x.body = of_y.body = NULL;
        assert_memory_equal(&of_x, &of_y, sizeof of_x);
    } else {
        assert_memory_equal(x->attributes, y->attributes, x->attributes_size);
    }
}

static void assert_same_value(const forge_graph *a, const forge_graph *b, size_t v)
{
    struct value x = a->values[v], y = b->values[v];
    assert_true(x.place ? y.place && strcmp(a->places[x.place], b->places[y.place]) == 0 : !y.place);
    /* numbers of places may differ, since text numbers them in order of appearance; names must be equal */
    x.place = y.place;
    assert_memory_equal(&x, &y, sizeof x);
}

static void assert_same_ports(const struct port *a, size_t a_count, const struct port *b, size_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (size_t i = 0; i < a_count; i++) {
        assert_string_equal(a[i].name, b[i].name);
        assert_int_equal(a[i].value, b[i].value);
    }
}

static void assert_same_slots(const forge_graph *a, const forge_graph *b)
{
    assert_int_equal(a->slot_count, b->slot_count);
    for (size_t i = 0; i < a->slot_count; i++) {
        const struct slot *x = &a->slots[i], *y = &b->slots[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->in_place, y->in_place);
        assert_int_equal(x->is_parameter, y->is_parameter);
        assert_int_equal(x->read, y->read);
        assert_int_equal(x->write, y->write);
        assert_true(forge_shape_equal(&x->shape, &y->shape));
        assert_int_equal(x->init.kind, y->init.kind);
        assert_memory_equal(&x->init.a, &y->init.a, sizeof(double));
        assert_memory_equal(&x->init.b, &y->init.b, sizeof(double));
    }
}

static void assert_same_symbols(const struct dim_table *a, const struct dim_table *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct dim *x = &a->entries[i], *y = &b->entries[i];
        assert_true(x->kind == y->kind && x->a == y->a && x->b == y->b && x->min == y->min &&
                    x->max == y->max && x->multiple == y->multiple);
        assert_string_equal(x->name, y->name);
    }
}

static void assert_same_graph(const forge_graph *a, const forge_graph *b)
{
    assert_int_equal(a->node_count, b->node_count);
    assert_int_equal(a->value_count, b->value_count);
    for (size_t n = 0; n < a->node_count; n++)
        assert_same_node(a, b, n);
    for (size_t v = 1; v < a->value_count; v++)
        assert_same_value(a, b, v);
    assert_same_ports(a->inputs, a->input_count, b->inputs, b->input_count);
    assert_same_ports(a->outputs, a->output_count, b->outputs, b->output_count);
    assert_same_slots(a, b);
    assert_same_symbols(&a->dims, &b->dims);
}

/* Prints, parses and prints the graph, and asserts that nothing changes. Returns the text. */
static char *assert_round_trip(const forge_graph *graph)
{
    char *text = print(graph);
    forge_graph *again = parse(text);
    char *second = print(again);
    assert_string_equal(text, second);
    assert_same_graph(graph, again);
    assert_int_equal(again->dims.count, graph->dims.count);
    forge_graph_free(again);
    free(second);
    return text;
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static const char layer[] = "forge graph 1\n"
                            "symbol B : 1..64 by 8\n"
                            "size (B*2)\n"
                            "slot \"fc1.weight\" : f32[10,784] = uniform(-0.5, 0.5) parameter\n"
                            "slot \"steps\" : i64[] = constant(3)\n"
                            "%1 = input \"x\" : f32[(B*2),784]\n"
                            "%2 = read \"fc1.weight\" : f32[10,784]\n"
                            "%3 = matmul(%1, %2) transpose_b : f32[(B*2),10] @mlp/fc1\n"
                            "%4 = unary.relu(%3) : f32[(B*2),10] @mlp/fc1\n"
                            "%5 = reduce.sum(%4) axes=[0,1] : f32[] @\"mlp/my loss\" backward\n"
                            "%6 = read \"steps\" : i64[]\n"
                            "%7 = constant {1} : i64[] optimiser\n"
                            "%8 = binary.add(%6, %7) : i64[] optimiser\n"
                            "output \"loss\" = %5\n"
                            "write \"steps\" = %8 in_place\n";

static void test_printed_text_equals_the_parsed_text(void **state)
{
    (void)state;
    forge_graph *graph = parse(layer);
    char *text = assert_round_trip(graph);
    assert_string_equal(text, layer);
    assert_int_equal(graph->slots[1].in_place, true);
    assert_int_equal(graph->nodes[4].phase, FORGE_PHASE_BACKWARD);
    free(text);
    forge_graph_free(graph);
}

static void test_spaces_and_comments_are_accepted(void **state)
{
    (void)state;
    forge_graph *graph =
        parse("# a graph\nforge graph 1 \n\n  symbol \"B\" : 1..8\r\n"
              "%1 = input x:f32[B] # no quotes\n\n%2=unary . neg ( %1 ):f32[B]\n"
              "%3 = unary.neg(%1) : f32[B] @twice\n%4 = binary.add(%2, %3) : f32[B]\noutput y = %4");
    assert_int_equal(forge_graph_nodes(graph), 3); /* equal nodes are merged */
    forge_graph_free(graph);
}

static void test_numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *type, *elements;
    } constants[] = {{"f32[4]", "{0.1, -0, 3.4028235e+38, 1e-45}"},
                     {"f32[4]", "{nan, inf, -inf, 0x7fc00001}"},
                     {"f64[2]", "{0.1, 5e-324}"},
                     {"f64[1]", "{0xfff8000000000000}"},
                     {"f16[3]", "{0.1, 65504, 6e-08}"},
                     {"bf16[2]", "{0.1, 1e+38}"},
                     {"f8_e4m3[3]", "{0.1, 448, nan}"},
                     {"f8_e5m2[2]", "{0.09, inf}"},
                     {"bool[3]", "{true, false, 0x02}"},
                     {"u64[2]", "{0, 18446744073709551615}"},
                     {"i64[2]", "{-9223372036854775808, 9223372036854775807}"},
                     {"i8[2]", "{-128, 127}"},
                     {"u4[3]", "{210f}"},
                     {"q4_0[32]", "{ff00112233445566778899aabbccddeeff01}"},
                     {"f32[0,3]", "{}"},
                     {"f32[]", "{1}"}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        char text[300];
        snprintf(text, sizeof text, "forge graph 1\n%%1 = constant %s : %s\noutput \"y\" = %%1\n",
                 constants[i].elements, constants[i].type);
        forge_graph *graph = parse(text);
        char *printed = assert_round_trip(graph);
        assert_string_equal(printed, text);
        free(printed);
        forge_graph_free(graph);
    }
}

static void test_random_graphs_read_back(void **state)
{
    (void)state;
    bool has[OP_COUNT] = {false};
    for (uint64_t seed = 0; seed < 200; seed++) {
        forge_graph *graph = random_graph(seed, 20 + seed % 40, (unsigned)seed % 8), *plain = NULL;
        for (size_t n = 0; n < graph->node_count; n++)
            has[graph->nodes[n].op] = true;
        free(assert_round_trip(graph));
        if (seed % 4 == 0) { /* graphs after passes must also survive */
            assert_int_equal(pass_expand(graph, NULL, NULL, &plain, NULL), JOULE_OK);
            free(assert_round_trip(plain));
            forge_graph_free(plain);
        }
        forge_graph_free(graph);
    }
    for (unsigned op = 0; op < OP_COUNT; op++)
        if (!has[op])
            fail_msg("no random graph has a %s: give it a maker in tests/support/random_graph.c",
                     op_name((enum op)op));
}

static void test_longest_scope_reads_back(void **state)
{
    (void)state;
    char name[512];
    memset(name, 's', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    forge_builder *b = forge_builder_new();
    forge_scope_push(b, name);
    forge_output(b, "y", forge_neg(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2))));
    forge_graph *graph = graph_of(b);
    free(assert_round_trip(graph));
    forge_graph_free(graph);
    b = forge_builder_new();
    forge_scope_push(b, "s");
    forge_scope_push(b, name);
    assert_builder_refused(b, "s: '"); /* the long name fills the rest of the message */
}

/* The body uses its operand's size and adds a new size expression. */
static forge_value halves(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    (void)count, (void)context;
    forge_dim half = forge_dim_div(b, forge_dim_add(b, forge_value_shape(b, inputs[0]).dims[0], 1), 2);
    return forge_add(b, inputs[0],
                     forge_reduce(b, FORGE_SUM, forge_iota(b, FORGE_F32, forge_shape_of(half), 0), 1, true));
}

static void test_sizes_keep_their_order(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim batch = forge_symbol(b, "batch", 1, 8, 1), time = forge_symbol(b, "1 time", 1, 9, 3);
    forge_dim odd = forge_dim_div(b, forge_dim_add(b, forge_dim_mul(b, time, 3), batch), 7);
    forge_dim all =
        forge_dim_mul(b, forge_dim_add(b, odd, batch), forge_dim_add(b, forge_dim_mul(b, odd, time), 5));
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(all, odd));
    forge_value y = forge_input(b, "y", FORGE_F32, forge_shape_of(batch));
    y = forge_composite(b, "halves", &y, 1, halves, NULL);
    forge_output(b, "x", forge_reshape(b, x, forge_shape_of(forge_dim_mul(b, odd, all))));
    forge_output(b, "y", forge_composite(b, "halves", &y, 1, halves, NULL));
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    free(assert_round_trip(graph));
    forge_graph_free(graph);
}

/* --- messages ------------------------------------------------------------------------------------------- */

static void assert_refused(const char *text, const char *words)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    assert_int_equal(forge_graph_parse(text, strlen(text), &graph, &error), JOULE_INVALID);
    assert_null(graph);
    assert_contains(error.message, words);
}

#define X "forge graph 1\n%1 = input \"x\" : f32[2]\n"

static void test_messages_name_the_place(void **state)
{
    (void)state;
    assert_refused("", "line 1, column 1: expected 'forge', and found the end of the text");
    assert_refused("forge graph 2", "line 1, column 13: expected '1', and found '2'");
    assert_refused(X "%2 = unary.rely(%1) : f32[2]", "line 3, column 12: expected a kind of this operation");
    assert_refused(X "%2 = rely(%1) : f32[2]",
                   "line 3, column 6: expected an operation, and found 'rely(%1)'");
    assert_refused(X "%2 = unary.relu(%1) : f32[3]",
                   "line 3, column 1: expected the type f32[2], the result of unary");
    assert_refused(X "%3 = unary.relu(%1) : f32[2]",
                   "line 3, column 1: expected %2: values are numbered in order");
    assert_refused(X "%2 = unary.relu(%2) : f32[2]",
                   "line 3, column 17: expected a value of an earlier line, and found %2");
    assert_refused(X "%2 = unary.relu(%1 : f32[2]", "line 3, column 20: expected ','");
    assert_refused(X "%2 = unary.not(%1) : f32[2]",
                   "line 3, column 1: unary(f32[2]): not does not support f32");
    assert_refused(X "%2 = unary.relu(%1) colour : f32[2]", "expected ':', and found 'colour'");
    assert_refused(X "%2 = unary.relu(%1) : f33[2]",
                   "line 3, column 23: expected a type such as f32[2,3], and found 'f33[2]'");
    assert_refused(X "%2 = unary.relu(%1) : f32[C]", "expected a symbol, and 'C' is not one");
    assert_refused(X "%2 = unary.relu(%1) : f32[2] sideways",
                   "expected the end of the line, and found 'sideways'");
    assert_refused(X "%2 = constant {1 } : f32[2]\n", "expected ',', and found '}'");
    assert_refused(X "%2 = constant {1, x} : f32[2]\n",
                   "line 3, column 19: expected an element of f32, and found 'x}'");
    assert_refused(X "%2 = constant {300} : u8[1]\n", "expected an element of u8");
    assert_refused(X "%2 = read \"w\" : f32[2]", "expected a slot of an earlier line, and 'w' is not one");
    assert_refused(X "%2 = composite.f(%1) body=$0 : f32[2]", "expected an earlier body, and found $0");
    assert_refused(X "slot \"w\" : f32[2] = constant(0)\nslot \"w\" : f32[2] = constant(1)\n",
                   "expected a new name");
    assert_refused(X, "needs an output");
    assert_refused(X "output \"y\" = %1\n}",
                   "line 4, column 1: expected a value (%1 = ...), slot, output or write");
    assert_refused("forge graph 1\nsymbol B : 5..1\n", "line 2, column 7: expected a new symbol");
    assert_refused("forge graph 1\nbody $0 {\n%1 = input \"x\" : f32[2]\n",
                   "expected '}', and found the end of the text");
}

/* --- malicious input ------------------------------------------------------------------------------------ */

static void assert_refused_freely(char *text)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    assert_int_equal(forge_graph_parse(text, strlen(text), &graph, &error), JOULE_INVALID);
    free(text);
}

static char *repeat(const char *head, const char *piece, size_t times)
{
    size_t size = strlen(head), step = strlen(piece);
    char *text = malloc(size + step * times + 1);
    memcpy(text, head, size + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(text + size + i * step, piece, step + 1);
    return text;
}

static void test_nesting_is_limited(void **state)
{
    (void)state;
    assert_refused_freely(repeat("forge graph 1\nsymbol A : 1..2\nsize ", "(", 100000));
    assert_refused_freely(repeat("forge graph 1\nsymbol A : 1..2\nsize ", "(A*", 100000));
    assert_refused_freely(repeat("forge graph 1\n%1 = constant ", "{", 100000));
    assert_refused_freely(repeat("forge graph 1\n%1 = input \"x\" : f32[", "2,", 100000));
    assert_refused(X "%2 = constant {1} : f32[4000000000]", "as many elements as the type has");
    assert_refused(X "%2 = constant {ff} : q8_0[4000000000]", "as many elements as the type has");
    char *text = repeat("forge graph 1\n", "", 0), line[200];
    for (int i = 0; i < 40; i++) { /* each body uses the previous body twice, so the expanded graph would have
                                    * 2^40 nodes */
        snprintf(line, sizeof line, "body $%d {\n%%1 = input \"0\" : f32[2]\n", i);
        size_t length = strlen(text);
        text = realloc(text, length + 1000);
        if (i)
            snprintf(text + length, 1000,
                     "%s%%2 = composite.f(%%1) body=$%d : f32[2]\n%%3 = composite.f(%%2) body=$%d : f32[2]\n"
                     "output \"0\" = %%3\n}\n",
                     line, i - 1, i - 1);
        else
            snprintf(text + length, 1000, "%soutput \"0\" = %%1\n}\n", line);
    }
    assert_refused(text, "expected bodies that nest at most 32 levels deep");
    free(text);
}

static void test_truncated_and_damaged_texts_are_harmless(void **state)
{
    (void)state;
    forge_graph *graph = random_graph(7, 30, 3);
    char *text = print(graph);
    size_t length = strlen(text);
    forge_graph_free(graph);
    for (size_t i = 0; i < length; i += 1 + i / 100) {
        joule_error error = {0};
        /* separate allocation, so that a sanitizer finds reads beyond the end */
        char *cut = malloc(i ? i : 1), kept = text[i];
        memcpy(cut, text, i);
        graph = NULL;
        if (forge_graph_parse(cut, i, &graph, &error) == JOULE_OK)
            forge_graph_free(graph);
        else
            assert_contains(error.message, "line ");
        free(cut);
        text[i] = (char)(kept ^ (1 << i % 8));
        graph = NULL;
        if (forge_graph_parse(text, length, &graph, &error) == JOULE_OK)
            free(assert_round_trip(graph));
        forge_graph_free(graph);
        text[i] = kept;
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed_text_equals_the_parsed_text),
        cmocka_unit_test(test_spaces_and_comments_are_accepted),
        cmocka_unit_test(test_numbers_are_exact),
        cmocka_unit_test(test_random_graphs_read_back),
        cmocka_unit_test(test_longest_scope_reads_back),
        cmocka_unit_test(test_sizes_keep_their_order),
        cmocka_unit_test(test_messages_name_the_place),
        cmocka_unit_test(test_nesting_is_limited),
        cmocka_unit_test(test_truncated_and_damaged_texts_are_harmless),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
