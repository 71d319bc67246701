/* tests/corpus/joulec/expression.c - an expression of at most 255 nodes, evaluated for 16 rows of eight
 * inputs.
 *
 * The programs use recursion, a stack machine, a list of steps with numbered results, or this list with all
 * rows in each step.
 */
#include <joule/budget.h>
#include "corpus.h"

#define MAX_DEPTH 8 /* levels of nodes */
#define NODES     ((1 << MAX_DEPTH) - 1)
#define ROWS      16
#define INPUTS    8

enum { CONSTANT, INPUT, PLUS, MINUS, TIMES, OVER, LESSER, GREATER, KINDS };

struct node {
    uint8_t kind;
    uint16_t left, right; /* operands: nodes with lower numbers */
    int32_t value;        /* a constant, or the number of an input */
};

static struct node nodes[NODES];
static int node_count; /* the last node is the root */
static int32_t inputs[ROWS][INPUTS], results[ROWS];

JOULE_DEPTH(MAX_DEPTH)
static uint16_t make_formula(int level)
{
    struct node node = {0, 0, 0, 0};
    uint32_t chance = corpus_random();
    if (level == MAX_DEPTH || (level > 4 && chance % 5 == 0)) {
        node.kind = chance >> 8 & 3 ? INPUT : CONSTANT;
        node.value = (int32_t)(node.kind == INPUT ? (chance >> 16) % INPUTS : (chance >> 16) % 100);
    } else {
        node.kind = (uint8_t)(PLUS + (chance >> 8) % (KINDS - PLUS));
        node.left = make_formula(level + 1);
        node.right = make_formula(level + 1);
    }
    nodes[node_count] = node;
    return (uint16_t)node_count++;
}

static void prepare(void)
{
    node_count = 0;
    make_formula(1);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < INPUTS; i++)
            inputs[row][i] = (int32_t)(corpus_random() % 2000) - 1000;
}

/* Sums and products wrap; a division by zero gives zero. */
static inline int32_t apply(int kind, int32_t a, int32_t b)
{
    switch (kind) {
    case PLUS:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case MINUS:
        return (int32_t)((uint32_t)a - (uint32_t)b);
    case TIMES:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case OVER:
        return b == 0 ? 0 : (int32_t)((int64_t)a / b);
    case LESSER:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

JOULE_DEPTH(MAX_DEPTH)
static int32_t value_of(const struct node *node, const int32_t *row)
{
    if (node->kind == CONSTANT)
        return node->value;
    if (node->kind == INPUT)
        return row[node->value];
    int32_t left = value_of(&nodes[node->left], row);
    return apply(node->kind, left, value_of(&nodes[node->right], row));
}

static uint64_t expression_recursive(void)
{
    for (int row = 0; row < ROWS; row++)
        results[row] = value_of(&nodes[node_count - 1], inputs[row]);
    return 0;
}

static uint64_t expression_stack(void)
{
    for (int row = 0; row < ROWS; row++) {
        int32_t stack[MAX_DEPTH + 1] = {0}, *top = stack; /* next free entry */
        JOULE_LOOP(1, NODES)
        for (int i = 0; i < node_count; i++)
            switch (nodes[i].kind) {
            case CONSTANT:
                *top++ = nodes[i].value;
                break;
            case INPUT:
                *top++ = inputs[row][nodes[i].value];
                break;
            default:
                top--;
                top[-1] = apply(nodes[i].kind, top[-1], top[0]);
            }
        results[row] = stack[0];
    }
    return 0;
}

static uint64_t expression_list(void)
{
    static int32_t values[NODES];
    for (int row = 0; row < ROWS; row++) {
        JOULE_LOOP(1, NODES)
        for (int i = 0; i < node_count; i++) {
            const struct node *n = &nodes[i];
            values[i] = n->kind == CONSTANT ? n->value
                        : n->kind == INPUT  ? inputs[row][n->value]
                                            : apply(n->kind, values[n->left], values[n->right]);
        }
        results[row] = values[node_count - 1];
    }
    return 0;
}

/* Selects the operation of a step once for all rows. */
static uint64_t expression_columns(void)
{
    static int32_t values[NODES][ROWS];
    JOULE_LOOP(1, NODES)
    for (int i = 0; i < node_count; i++) {
        const struct node *n = &nodes[i];
        const int32_t *a = values[n->left], *b = values[n->right];
        if (n->kind == CONSTANT)
            for (int row = 0; row < ROWS; row++)
                values[i][row] = n->value;
        else if (n->kind == INPUT)
            for (int row = 0; row < ROWS; row++)
                values[i][row] = inputs[row][n->value];
        else
            for (int row = 0; row < ROWS; row++)
                values[i][row] = apply(n->kind, a[row], b[row]);
    }
    for (int row = 0; row < ROWS; row++)
        results[row] = values[node_count - 1][row];
    return 0;
}

const struct group expression = {prepare,
                                 results,
                                 sizeof results,
                                 {PROGRAM(expression_recursive), PROGRAM(expression_stack),
                                  PROGRAM(expression_list), PROGRAM(expression_columns)}};
