/* infer/chat/jinja_parse_expression.c - parses operands of expressions: literals, attributes, calls,
 * filters. */
#include "forge/infer/chat/jinja.h"

struct node *jinja_parse_fail(struct parser *parser, const char *expected)
{
    const struct token *token = parser->token;
    parser->jinja->line = token->line;
    if (token->kind == TOKEN_END)
        jinja_fail(parser->jinja, JOULE_INVALID, "expected %s, but the template ends", expected);
    else if (token->kind == TOKEN_OUTPUT_END || token->kind == TOKEN_BLOCK_END)
        jinja_fail(parser->jinja, JOULE_INVALID, "expected %s, but the tag ends", expected);
    else
        jinja_fail(parser->jinja, JOULE_INVALID, "expected %s, but found '%.*s'", expected,
                   span_shown(token->text), token->text.size ? token->text.bytes : "");
    return NULL;
}

struct node *jinja_new_node(struct parser *parser, enum node_kind kind)
{
    struct node *node = jinja_alloc(parser->jinja, sizeof *node);
    if (node) {
        node->kind = kind;
        node->line = parser->token->line;
    }
    return node;
}

bool jinja_is_operator(const struct token *token, const char *text)
{
    return token->kind == TOKEN_OPERATOR && span_is(token->text, text);
}

bool jinja_is_name(const struct token *token, const char *name)
{
    return token->kind == TOKEN_NAME && span_is(token->text, name);
}

bool jinja_skip_operator(struct parser *parser, const char *text)
{
    bool is_next = jinja_is_operator(parser->token, text);
    parser->token += is_next;
    return is_next;
}

bool jinja_skip_name(struct parser *parser, const char *name)
{
    bool is_next = jinja_is_name(parser->token, name);
    parser->token += is_next;
    return is_next;
}

/* If takes_text, the node gets the text of the next token, which is skipped. */
struct node *jinja_new_node_of(struct parser *parser, enum node_kind kind, struct node *left, bool takes_text)
{
    struct node *node = left ? jinja_new_node(parser, kind) : NULL;
    if (!node)
        return NULL;
    node->left = left;
    if (takes_text)
        node->text = parser->token++->text;
    return node;
}

struct node *jinja_new_pair(struct parser *parser, enum node_kind kind, struct node *left, struct node *right)
{
    struct node *node = left && right ? jinja_new_node(parser, kind) : NULL;
    if (node) {
        node->left = left;
        node->right = right;
    }
    return node;
}

/* --- literals and names -------------------------------------------------------------------------------- */

static struct node *parse_constant(struct parser *parser)
{
    const struct token *token = parser->token++;
    struct node *node = jinja_new_node(parser, NODE_CONSTANT);
    if (!node)
        return NULL;
    if (token->kind == TOKEN_INT)
        node->constant = value_int(token->integer);
    else if (token->kind == TOKEN_FLOAT)
        node->constant = value_float(token->number);
    else
        node->constant = value_span(token->text);
    if (token->kind != TOKEN_STRING || parser->token->kind != TOKEN_STRING)
        return node;
    struct buffer joined = {0}; /* adjacent strings are one string */
    buffer_add_span(parser->jinja, &joined, token->text);
    while (parser->token->kind == TOKEN_STRING)
        buffer_add_span(parser->jinja, &joined, parser->token++->text);
    node->constant = buffer_take(parser->jinja, &joined);
    return parser->jinja->has_failed ? NULL : node;
}

static struct node *parse_name(struct parser *parser)
{
    static const struct {
        const char *name;
        enum value_kind kind;
        bool truth;
    } constants[] = {{"true", VALUE_BOOL, true},   {"True", VALUE_BOOL, true}, {"false", VALUE_BOOL, false},
                     {"False", VALUE_BOOL, false}, {"none", VALUE_NONE, 0},    {"None", VALUE_NONE, 0}};
    struct node *node = jinja_new_node(parser, NODE_NAME);
    if (!node)
        return NULL;
    node->text = parser->token++->text;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (span_is(node->text, constants[i].name)) {
            node->kind = NODE_CONSTANT;
            node->constant = (struct value){.kind = constants[i].kind, .truth = constants[i].truth};
        }
    return node;
}

/* Parses items until `close`, which is skipped. Returns `node`, or NULL after a failure. */
static struct node *parse_items(struct parser *parser, struct node *node, const char *close, bool has_values)
{
    struct node **end = node ? &node->items : NULL;
    while (node && !jinja_skip_operator(parser, close)) {
        if (node->items && !jinja_skip_operator(parser, ","))
            return jinja_parse_fail(parser, "',' or a closing bracket");
        if (jinja_skip_operator(parser, close))
            break;
        struct node *item = jinja_parse_expression(parser);
        if (has_values) {
            if (item && !jinja_skip_operator(parser, ":"))
                return jinja_parse_fail(parser, "':'");
            item = item ? jinja_new_pair(parser, NODE_PAIR, item, jinja_parse_expression(parser)) : NULL;
        }
        if (!item)
            return NULL;
        *end = item;
        end = &item->next;
    }
    return node;
}

static struct node *parse_item(struct parser *parser, bool allows_condition)
{
    return allows_condition ? jinja_parse_expression(parser) : jinja_parse_or(parser);
}

struct node *jinja_parse_tuple(struct parser *parser, bool allows_condition)
{
    struct node *first = parse_item(parser, allows_condition);
    if (!first || !jinja_is_operator(parser->token, ","))
        return first;
    struct node *tuple = jinja_new_node(parser, NODE_TUPLE);
    struct node *last = first;
    if (tuple)
        tuple->items = first;
    while (tuple && jinja_skip_operator(parser, ",")) {
        enum token_kind kind = parser->token->kind;
        if (kind == TOKEN_BLOCK_END || kind == TOKEN_OUTPUT_END || jinja_is_operator(parser->token, ")"))
            break;
        last->next = parse_item(parser, allows_condition);
        last = last->next;
        if (!last)
            return NULL;
    }
    return tuple;
}

static struct node *parse_parentheses(struct parser *parser)
{
    if (jinja_skip_operator(parser, ")"))
        return jinja_new_node(parser, NODE_TUPLE);
    struct node *node = jinja_parse_tuple(parser, true);
    return !node || jinja_skip_operator(parser, ")") ? node : jinja_parse_fail(parser, "')'");
}

static struct node *parse_primary(struct parser *parser)
{
    const struct token *token = parser->token;
    if (token->kind == TOKEN_NAME)
        return parse_name(parser);
    if (token->kind == TOKEN_STRING || token->kind == TOKEN_INT || token->kind == TOKEN_FLOAT)
        return parse_constant(parser);
    if (jinja_skip_operator(parser, "("))
        return parse_parentheses(parser);
    if (jinja_skip_operator(parser, "["))
        return parse_items(parser, jinja_new_node(parser, NODE_LIST), "]", false);
    if (jinja_skip_operator(parser, "{"))
        return parse_items(parser, jinja_new_node(parser, NODE_DICT), "}", true);
    return jinja_parse_fail(parser, "an expression");
}

/* --- attributes, calls, filters, tests ----------------------------------------------------------------- */

/* Parses arguments after '(' until ')'. */
static bool parse_arguments(struct parser *parser, struct node *call)
{
    struct node **end = &call->items;
    while (!jinja_skip_operator(parser, ")")) {
        if (call->items && !jinja_skip_operator(parser, ","))
            return jinja_parse_fail(parser, "',' or ')'") != NULL;
        if (jinja_skip_operator(parser, ")"))
            break;
        if (jinja_is_operator(parser->token, "*") || jinja_is_operator(parser->token, "**")) {
            parser->jinja->line = parser->token->line;
            jinja_fail(parser->jinja, JOULE_UNSUPPORTED, "arguments with '*' are not supported");
            return false;
        }
        struct node *argument = jinja_new_node(parser, NODE_ARGUMENT);
        if (!argument)
            return false;
        if (parser->token->kind == TOKEN_NAME && jinja_is_operator(parser->token + 1, "=")) {
            argument->text = parser->token->text;
            parser->token += 2;
        }
        argument->left = jinja_parse_expression(parser);
        if (!argument->left)
            return false;
        *end = argument;
        end = &argument->next;
    }
    return true;
}

/* Returns an optional bound of a slice. */
static struct node *parse_bound(struct parser *parser)
{
    if (jinja_is_operator(parser->token, ":") || jinja_is_operator(parser->token, "]"))
        return NULL;
    return jinja_parse_expression(parser);
}

/* Parses an index or a slice, after '['. */
static struct node *parse_index(struct parser *parser, struct node *left)
{
    struct node *node = jinja_new_node_of(parser, NODE_INDEX, left, false);
    if (!node)
        return NULL;
    node->right = parse_bound(parser);
    if (jinja_skip_operator(parser, ":")) {
        node->kind = NODE_SLICE;
        node->other = parse_bound(parser);
        if (jinja_skip_operator(parser, ":"))
            node->third = parse_bound(parser);
    } else if (!node->right) {
        return jinja_parse_fail(parser, "an index");
    }
    if (!jinja_skip_operator(parser, "]"))
        return jinja_parse_fail(parser, "']'");
    return parser->jinja->has_failed ? NULL : node;
}

/* Parses an attribute, after '.'. */
static struct node *parse_attribute(struct parser *parser, struct node *left)
{
    if (parser->token->kind == TOKEN_NAME)
        return jinja_new_node_of(parser, NODE_ATTRIBUTE, left, true);
    if (parser->token->kind == TOKEN_INT)
        return jinja_new_pair(parser, NODE_INDEX, left, parse_constant(parser));
    return jinja_parse_fail(parser, "the name of an attribute");
}

/* Parses the attributes, indices and calls that follow an expression. */
static struct node *parse_postfix(struct parser *parser, struct node *node)
{
    while (node) {
        if (jinja_skip_operator(parser, ".")) {
            node = parse_attribute(parser, node);
        } else if (jinja_skip_operator(parser, "[")) {
            node = parse_index(parser, node);
        } else if (jinja_skip_operator(parser, "(")) {
            node = jinja_new_node_of(parser, NODE_CALL, node, false);
            node = node && parse_arguments(parser, node) ? node : NULL;
        } else {
            break;
        }
    }
    return node;
}

/* Parses a filter after '|', or a test after 'is'. */
static struct node *parse_named(struct parser *parser, enum node_kind kind, struct node *left)
{
    if (parser->token->kind != TOKEN_NAME)
        return jinja_parse_fail(parser, kind == NODE_FILTER ? "the name of a filter" : "the name of a test");
    struct node *node = jinja_new_node(parser, kind);
    if (!node)
        return NULL;
    node->left = left;
    node->text = parser->token++->text;
    if (jinja_skip_operator(parser, "("))
        return parse_arguments(parser, node) ? node : NULL;
    return node;
}

/* Parses the argument of a test without parentheses, as in "x is divisibleby 3". */
static bool parse_test_argument(struct parser *parser, struct node *test)
{
    const struct token *token = parser->token;
    bool is_operand = token->kind == TOKEN_STRING || token->kind == TOKEN_INT || token->kind == TOKEN_FLOAT ||
                      jinja_is_operator(token, "[") || jinja_is_operator(token, "{");
    bool is_word = jinja_is_name(token, "else") || jinja_is_name(token, "or") ||
                   jinja_is_name(token, "and") || jinja_is_name(token, "if") || jinja_is_name(token, "is");
    if (!is_operand && (token->kind != TOKEN_NAME || is_word))
        return true;
    struct node *argument = jinja_new_node(parser, NODE_ARGUMENT);
    if (argument)
        argument->left = parse_postfix(parser, parse_primary(parser));
    test->items = argument;
    return argument && argument->left;
}

static struct node *parse_test(struct parser *parser, struct node *left)
{
    bool is_negated = jinja_skip_name(parser, "not");
    struct node *test = parse_named(parser, NODE_TEST, left);
    if (!test ||
        (!test->items && !jinja_is_operator(parser->token - 1, ")") && !parse_test_argument(parser, test)))
        return NULL;
    return is_negated ? jinja_new_node_of(parser, NODE_NOT, test, false) : test;
}

struct node *jinja_parse_filters(struct parser *parser, struct node *left, bool has_bar)
{
    struct node *node = has_bar ? left : parse_named(parser, NODE_FILTER, left);
    while (has_bar || node) {
        if (jinja_skip_operator(parser, "|"))
            node = parse_named(parser, NODE_FILTER, node);
        else if (node && jinja_skip_name(parser, "is"))
            node = parse_test(parser, node);
        else if (node && jinja_is_operator(parser->token, "("))
            node = parse_postfix(parser, node);
        else
            break;
        if (!node)
            return NULL;
    }
    return node;
}

struct node *jinja_parse_unary(struct parser *parser, bool has_filters)
{
    struct node *node;
    if (!jinja_enter(parser->jinja))
        return NULL;
    if (jinja_skip_operator(parser, "-"))
        node = jinja_new_node_of(parser, NODE_NEGATE, jinja_parse_unary(parser, false), false);
    else if (jinja_skip_operator(parser, "+"))
        node = jinja_new_node_of(parser, NODE_POSITIVE, jinja_parse_unary(parser, false), false);
    else
        node = parse_primary(parser);
    node = parse_postfix(parser, node);
    if (node && has_filters)
        node = jinja_parse_filters(parser, node, true);
    jinja_leave(parser->jinja);
    return node;
}
