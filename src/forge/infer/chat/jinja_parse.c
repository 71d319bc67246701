/* infer/chat/jinja_parse.c - parses statements. */
#include "forge/infer/chat/jinja.h"

static struct node *parse_body(struct parser *parser, const char *const *ends);

/* Fails because of a construct that this subset of Jinja does not contain. Returns NULL. */
static struct node *fail_unsupported(struct parser *parser, const struct token *token)
{
    parser->jinja->line = token->line;
    jinja_fail(parser->jinja, JOULE_UNSUPPORTED, "'%.*s' is not supported", span_shown(token->text),
               token->text.bytes);
    return NULL;
}

/* Skips the end of a tag, "%}". Returns false if the next token is not such an end. */
static bool skip_end(struct parser *parser)
{
    if (parser->token->kind != TOKEN_BLOCK_END)
        return jinja_parse_fail(parser, "'%}'") != NULL;
    parser->token++;
    return true;
}

/* Parses the statements after a tag until {% NAME %}, which is skipped. */
static struct node *parse_block(struct parser *parser, const char *name)
{
    const char *const ends[] = {name, NULL};
    struct node *body = skip_end(parser) ? parse_body(parser, ends) : NULL;
    if (!body)
        return NULL;
    parser->token++; /* the name */
    return skip_end(parser) ? body : NULL;
}

/* --- targets and parameters ---------------------------------------------------------------------------- */

static struct node *parse_one_target(struct parser *parser)
{
    if (jinja_skip_operator(parser, "(")) {
        struct node *target = jinja_parse_target(parser);
        return !target || jinja_skip_operator(parser, ")") ? target : jinja_parse_fail(parser, "')'");
    }
    if (parser->token->kind != TOKEN_NAME)
        return jinja_parse_fail(parser, "the name of a variable");
    struct node *name = jinja_new_node(parser, NODE_NAME);
    if (!name)
        return NULL;
    name->text = parser->token++->text;
    if (!jinja_skip_operator(parser, "."))
        return name;
    struct node *attribute = jinja_new_node(parser, NODE_ATTRIBUTE);
    if (!attribute || parser->token->kind != TOKEN_NAME)
        return jinja_parse_fail(parser, "the name of an attribute");
    attribute->left = name;
    attribute->text = parser->token++->text;
    return attribute;
}

struct node *jinja_parse_target(struct parser *parser)
{
    struct node *first = jinja_enter(parser->jinja) ? parse_one_target(parser) : NULL;
    if (!first)
        return NULL;
    jinja_leave(parser->jinja);
    if (!jinja_is_operator(parser->token, ","))
        return first;
    struct node *tuple = jinja_new_node(parser, NODE_TUPLE), *last = first;
    if (!tuple)
        return NULL;
    tuple->items = first;
    while (last && jinja_skip_operator(parser, ",")) {
        if (parser->token->kind != TOKEN_NAME && !jinja_is_operator(parser->token, "("))
            break;
        last->next = parse_one_target(parser);
        last = last->next;
    }
    return last ? tuple : NULL;
}

struct node *jinja_parse_parameters(struct parser *parser)
{
    struct node *group = jinja_new_node(parser, NODE_GROUP), *last = NULL;
    if (!group || !jinja_skip_operator(parser, "("))
        return jinja_parse_fail(parser, "'('");
    while (!jinja_skip_operator(parser, ")")) {
        if (last && !jinja_skip_operator(parser, ","))
            return jinja_parse_fail(parser, "',' or ')'");
        if (parser->token->kind != TOKEN_NAME)
            return jinja_parse_fail(parser, "the name of a parameter");
        struct node *parameter = jinja_new_node(parser, NODE_ARGUMENT);
        if (!parameter)
            return NULL;
        parameter->text = parser->token++->text;
        if (jinja_skip_operator(parser, "=") && !(parameter->left = jinja_parse_expression(parser)))
            return NULL;
        *(last ? &last->next : &group->items) = parameter;
        last = parameter;
    }
    return group;
}

/* --- statements ---------------------------------------------------------------------------------------- */

static struct node *parse_if(struct parser *parser)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last_end[] = {"endif", NULL};
    struct node *node = jinja_new_node(parser, NODE_IF);
    struct node **end = node ? &node->items : NULL;
    for (bool is_else = false; node;) {
        struct node *branch = jinja_new_node(parser, NODE_BRANCH);
        if (branch && !is_else)
            branch->left = jinja_parse_tuple(parser, true);
        if (!branch || (!is_else && !branch->left) || !skip_end(parser))
            return NULL;
        branch->items = parse_body(parser, is_else ? last_end : ends);
        if (!branch->items)
            return NULL;
        *end = branch;
        end = &branch->next;
        if (jinja_skip_name(parser, "endif"))
            return skip_end(parser) ? node : NULL;
        is_else = jinja_is_name(parser->token++, "else");
    }
    return NULL;
}

static struct node *parse_for(struct parser *parser)
{
    static const char *const ends[] = {"else", "endfor", NULL}, *const last_end[] = {"endfor", NULL};
    struct node *node = jinja_new_node(parser, NODE_FOR);
    if (!node || !(node->left = jinja_parse_target(parser)))
        return NULL;
    if (!jinja_skip_name(parser, "in"))
        return jinja_parse_fail(parser, "'in'");
    if (!(node->right = jinja_parse_tuple(parser, false)))
        return NULL;
    if (jinja_skip_name(parser, "if") && !(node->third = jinja_parse_expression(parser)))
        return NULL;
    if (jinja_is_name(parser->token, "recursive"))
        return fail_unsupported(parser, parser->token);
    if (!skip_end(parser) || !(node->items = parse_body(parser, ends)))
        return NULL;
    if (jinja_skip_name(parser, "else") &&
        (!skip_end(parser) || !(node->other = parse_body(parser, last_end))))
        return NULL;
    return jinja_skip_name(parser, "endfor") && skip_end(parser) ? node : NULL;
}

/* Parses "target = value". */
static struct node *parse_assignment(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_SET);
    if (!node || !(node->left = jinja_parse_target(parser)))
        return NULL;
    if (!jinja_skip_operator(parser, "="))
        return node;
    node->right = jinja_parse_tuple(parser, true);
    return node->right ? node : NULL;
}

static struct node *parse_set(struct parser *parser)
{
    struct node *node = parse_assignment(parser);
    if (!node)
        return NULL;
    if (node->right)
        return skip_end(parser) ? node : NULL;
    node->other = jinja_parse_filters(parser, NULL, true);
    if (parser->jinja->has_failed)
        return NULL;
    node->items = parse_block(parser, "endset");
    return node->items ? node : NULL;
}

static struct node *parse_macro(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_MACRO);
    if (!node || parser->token->kind != TOKEN_NAME)
        return jinja_parse_fail(parser, "the name of a macro");
    node->text = parser->token++->text;
    node->other = jinja_parse_parameters(parser);
    node->items = node->other ? parse_block(parser, "endmacro") : NULL;
    return node->items ? node : NULL;
}

static struct node *parse_filtered(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_FILTERED);
    if (!node || !(node->other = jinja_parse_filters(parser, NULL, false)))
        return NULL;
    node->items = parse_block(parser, "endfilter");
    return node->items ? node : NULL;
}

static struct node *parse_with(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_WITH);
    struct node **end = node ? &node->other : NULL;
    while (node && parser->token->kind != TOKEN_BLOCK_END) {
        if (node->other && !jinja_skip_operator(parser, ","))
            return jinja_parse_fail(parser, "','");
        struct node *set = jinja_new_node(parser, NODE_SET);
        if (!set || !(set->left = parse_one_target(parser)))
            return NULL;
        if (!jinja_skip_operator(parser, "="))
            return jinja_parse_fail(parser, "'='");
        if (!(set->right = jinja_parse_expression(parser)))
            return NULL;
        *end = set;
        end = &set->next;
    }
    if (node)
        node->items = parse_block(parser, "endwith");
    return node && node->items ? node : NULL;
}

/* Parses {% generation %}, which marks the assistant's text in templates for training. The body is rendered
 * as if the tags were absent. */
static struct node *parse_generation(struct parser *parser)
{
    return parse_block(parser, "endgeneration");
}

static struct node *parse_break(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_BREAK);
    return node && skip_end(parser) ? node : NULL;
}

static struct node *parse_continue(struct parser *parser)
{
    struct node *node = jinja_new_node(parser, NODE_CONTINUE);
    return node && skip_end(parser) ? node : NULL;
}

static struct node *parse_statement(struct parser *parser)
{
    static const struct {
        const char *name;
        struct node *(*parse)(struct parser *parser);
    } statements[] = {
        {"if", parse_if},       {"for", parse_for},           {"set", parse_set},
        {"macro", parse_macro}, {"with", parse_with},         {"filter", parse_filtered},
        {"break", parse_break}, {"continue", parse_continue}, {"generation", parse_generation},
    };
    static const char *const others[] = {"include", "import", "from",  "extends",    "block",
                                         "call",    "do",     "trans", "autoescape", "debug"};
    const struct token *token = parser->token;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        if (jinja_skip_name(parser, statements[i].name))
            return statements[i].parse(parser);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (jinja_is_name(token, others[i]))
            return fail_unsupported(parser, token);
    return jinja_parse_fail(parser, "a statement");
}

/* --- bodies -------------------------------------------------------------------------------------------- */

static bool is_end(const struct token *token, const char *const *ends)
{
    for (; *ends; ends++)
        if (jinja_is_name(token, *ends))
            return true;
    return false;
}

/* Parses text or an output. */
static struct node *parse_text(struct parser *parser)
{
    const struct token *token = parser->token++;
    struct node *node = jinja_new_node(parser, token->kind == TOKEN_DATA ? NODE_TEXT : NODE_OUTPUT);
    if (!node || token->kind == TOKEN_DATA) {
        if (node)
            node->text = token->text;
        return node;
    }
    node->left = jinja_parse_tuple(parser, true);
    if (!node->left)
        return NULL;
    if (parser->token->kind != TOKEN_OUTPUT_END)
        return jinja_parse_fail(parser, "'}}'");
    parser->token++;
    return node;
}

/* Parses statements until a tag whose name is one of `ends`, which is then the next token. Returns a
 * group. */
static struct node *parse_statements(struct parser *parser, const char *const *ends)
{
    struct node *group = jinja_new_node(parser, NODE_GROUP);
    struct node **end = group ? &group->items : NULL;
    while (group) {
        struct node *node;
        if (parser->token->kind == TOKEN_END)
            return *ends ? jinja_parse_fail(parser, ends[1] ? "the end of a block" : *ends) : group;
        if (parser->token->kind == TOKEN_BLOCK) {
            parser->token++;
            if (is_end(parser->token, ends))
                return group;
            node = parse_statement(parser);
        } else {
            node = parse_text(parser);
        }
        if (!node)
            return NULL;
        *end = node;
        end = &node->next;
    }
    return NULL;
}

static struct node *parse_body(struct parser *parser, const char *const *ends)
{
    struct node *body = jinja_enter(parser->jinja) ? parse_statements(parser, ends) : NULL;
    if (body)
        jinja_leave(parser->jinja);
    return body;
}

struct node *jinja_parse(struct jinja *jinja, const struct token *tokens)
{
    static const char *const no_ends[] = {NULL};
    struct parser parser = {jinja, tokens};
    return parse_body(&parser, no_ends);
}
