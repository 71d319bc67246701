/* infer/chat/jinja_parse_operators.c - parses operators. The levels of precedence are those of Jinja: '~'
 * binds closer than '+', and a filter applies to an operand with its sign. */
#include "forge/infer/chat/jinja.h"

enum { LEVEL_ADD, LEVEL_JOIN, LEVEL_MULTIPLY, LEVEL_POWER, LEVEL_UNARY };

/* Parses operators of a level and of the levels that bind closer. All associate to the left. */
static struct node *parse_level(struct parser *parser, int level)
{
    static const char *const operators[][4] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
    if (level == LEVEL_UNARY)
        return jinja_parse_unary(parser, true);
    struct node *left = parse_level(parser, level + 1);
    for (int i = 0; left && i < 4 && operators[level][i]; i++) {
        if (!jinja_is_operator(parser->token, operators[level][i]))
            continue;
        struct node *node = jinja_new_node_of(parser, NODE_BINARY, left, true);
        if (node)
            node->right = parse_level(parser, level + 1);
        left = node && node->right ? node : NULL;
        i = -1;
    }
    return left;
}

/* Skips a comparison operator. Returns its text, or an empty span. */
static struct span skip_comparison(struct parser *parser)
{
    static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};
    const struct token *token = parser->token;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (jinja_skip_operator(parser, operators[i]))
            return token->text;
    if (jinja_skip_name(parser, "in"))
        return token->text;
    if (!jinja_is_name(token, "not") || !jinja_is_name(token + 1, "in"))
        return (struct span){0};
    parser->token += 2;
    return SPAN("not in");
}

static struct node *parse_comparison(struct parser *parser)
{
    struct node *left = parse_level(parser, LEVEL_ADD), *node = NULL, **end = NULL;
    struct span text;
    while (left && (text = skip_comparison(parser)).size) {
        if (!node) {
            node = jinja_new_node_of(parser, NODE_COMPARE, left, false);
            end = node ? &node->items : NULL;
        }
        struct node *operand =
            node ? jinja_new_node_of(parser, NODE_OPERAND, parse_level(parser, LEVEL_ADD), false) : NULL;
        if (!operand)
            return NULL;
        operand->text = text;
        *end = operand;
        end = &operand->next;
    }
    return node ? node : left;
}

static struct node *parse_not(struct parser *parser)
{
    if (!jinja_skip_name(parser, "not"))
        return parse_comparison(parser);
    if (!jinja_enter(parser->jinja))
        return NULL;
    struct node *node = jinja_new_node_of(parser, NODE_NOT, parse_not(parser), false);
    jinja_leave(parser->jinja);
    return node;
}

static struct node *parse_and(struct parser *parser)
{
    struct node *node = parse_not(parser);
    while (node && jinja_skip_name(parser, "and"))
        node = jinja_new_pair(parser, NODE_AND, node, parse_not(parser));
    return node;
}

struct node *jinja_parse_or(struct parser *parser)
{
    struct node *node = parse_and(parser);
    while (node && jinja_skip_name(parser, "or"))
        node = jinja_new_pair(parser, NODE_OR, node, parse_and(parser));
    return node;
}

struct node *jinja_parse_expression(struct parser *parser)
{
    if (!jinja_enter(parser->jinja))
        return NULL;
    struct node *node = jinja_parse_or(parser);
    while (node && jinja_skip_name(parser, "if")) {
        struct node *condition = jinja_new_pair(parser, NODE_CONDITION, jinja_parse_or(parser), node);
        node = condition;
        if (node && jinja_skip_name(parser, "else")) {
            node->other = jinja_parse_expression(parser);
            node = node->other ? node : NULL;
        }
    }
    jinja_leave(parser->jinja);
    return node;
}
