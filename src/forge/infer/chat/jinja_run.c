/* infer/chat/jinja_run.c - evaluates statements and macros. */
#include "forge/infer/chat/jinja.h"
#include <stdlib.h>

/* Returns a new scope for the variables of a block. */
static struct scope *push_scope(struct jinja *jinja, struct scope *parent)
{
    struct scope *scope = jinja_alloc(jinja, sizeof *scope);
    if (scope)
        scope->parent = parent;
    return scope;
}

/* Runs statements in `scope`. */
static void run_in(struct jinja *jinja, struct scope *scope, const struct node *statements)
{
    struct scope *outer = jinja->scope;
    if (!scope)
        return;
    jinja->scope = scope;
    jinja_run(jinja, statements);
    jinja->scope = outer;
}

/* Runs statements in a scope of their own. Returns their text. */
static struct value run_to_text(struct jinja *jinja, const struct node *statements)
{
    struct buffer buffer = {0}, *out = jinja->out;
    jinja->out = &buffer;
    run_in(jinja, push_scope(jinja, jinja->scope), statements);
    jinja->out = out;
    return buffer_take(jinja, &buffer);
}

/* --- assignment ---------------------------------------------------------------------------------------- */

static void assign(struct jinja *jinja, const struct node *target, struct value value);

static void assign_items(struct jinja *jinja, const struct node *target, struct value value)
{
    const struct list *items = jinja_is_undefined(jinja, value) ? NULL : value_items(jinja, value);
    size_t count = 0;
    for (const struct node *item = target->items; item; item = item->next)
        count++;
    if (items && items->count != count)
        jinja_fail(jinja, JOULE_INVALID, "cannot assign %zu values to %zu names", items->count, count);
    count = 0;
    for (const struct node *item = target->items; items && item && !jinja->has_failed; item = item->next)
        assign(jinja, item, items->items[count++]);
}

static void assign_attribute(struct jinja *jinja, const struct node *target, struct value value)
{
    struct value object = jinja_eval(jinja, target->left);
    if (jinja->has_failed || jinja_is_undefined(jinja, object))
        return;
    if (object.kind == VALUE_NAMESPACE)
        dict_set(jinja, object.dict, value_span(target->text), value);
    else
        jinja_fail(jinja, JOULE_INVALID, "only attributes of a namespace can be set");
}

static void assign(struct jinja *jinja, const struct node *target, struct value value)
{
    if (!jinja_enter(jinja))
        return;
    if (target->kind == NODE_TUPLE)
        assign_items(jinja, target, value);
    else if (target->kind == NODE_ATTRIBUTE)
        assign_attribute(jinja, target, value);
    else
        dict_set(jinja, &jinja->scope->variables, value_span(target->text), value);
    jinja_leave(jinja);
}

static void run_set(struct jinja *jinja, const struct node *node)
{
    struct value value = node->right ? jinja_eval(jinja, node->right) : run_to_text(jinja, node->items);
    if (!node->right && node->other && !jinja->has_failed)
        value = jinja_filter(jinja, node->other, value);
    if (!jinja->has_failed)
        assign(jinja, node->left, value);
}

/* --- blocks -------------------------------------------------------------------------------------------- */

static void run_if(struct jinja *jinja, const struct node *node)
{
    for (const struct node *branch = node->items; branch && !jinja->has_failed; branch = branch->next)
        if (!branch->left || value_truth(jinja_eval(jinja, branch->left))) {
            jinja_run(jinja, branch->items);
            return;
        }
}

/* Returns a scope for the next iteration. The old scope is emptied and reused, unless a macro that was
 * defined in it may use it later. */
static struct scope *next_scope(struct jinja *jinja, struct scope *scope)
{
    if (!scope || scope->is_captured)
        return push_scope(jinja, jinja->scope);
    scope->variables.count = 0;
    return scope;
}

/* Returns the items for which the loop's condition holds. */
static const struct list *filter_items(struct jinja *jinja, const struct node *node, const struct list *items)
{
    struct list *chosen = list_new(jinja, LIST_PLAIN);
    struct scope *outer = jinja->scope, *scope = NULL;
    for (size_t i = 0; i < items->count && jinja_charge(jinja, 2); i++) {
        scope = next_scope(jinja, scope);
        if (!scope)
            break;
        jinja->scope = scope;
        assign(jinja, node->left, items->items[i]);
        if (!jinja->has_failed && value_truth(jinja_eval(jinja, node->third)))
            list_add(jinja, chosen, items->items[i]);
        jinja->scope = outer;
    }
    return jinja->has_failed ? NULL : chosen;
}

/* Runs the body for each item. Returns true if at least one iteration reached the end of the body. Otherwise
 * the loop's else block runs, as in Jinja, even if all iterations ended with break or continue. */
static bool run_iterations(struct jinja *jinja, const struct node *node, const struct list *items)
{
    struct loop *loop = jinja_alloc(jinja, sizeof *loop), *outer_loop = jinja->loop;
    struct scope *outer = jinja->scope, *scope = NULL;
    bool has_completed = false;
    if (!loop)
        return true;
    loop->items = items;
    loop->depth = outer_loop ? outer_loop->depth + 1 : 1;
    for (; loop->index < items->count && jinja_charge(jinja, 2); loop->index++) {
        scope = next_scope(jinja, scope);
        if (!scope)
            break;
        jinja->scope = scope;
        jinja->loop = loop;
        assign(jinja, node->left, items->items[loop->index]);
        if (!jinja->has_failed)
            jinja_run(jinja, node->items);
        jinja->scope = outer;
        bool ends = jinja->flow == JINJA_BREAKS;
        has_completed = has_completed || jinja->flow == JINJA_RUNS;
        jinja->flow = JINJA_RUNS;
        if (ends)
            break;
    }
    jinja->scope = outer;
    jinja->loop = outer_loop;
    return has_completed;
}

static void run_for(struct jinja *jinja, const struct node *node)
{
    struct value value = jinja_eval(jinja, node->right);
    const struct list *items = jinja->has_failed ? NULL : value_items(jinja, value);
    if (items && node->third)
        items = filter_items(jinja, node, items);
    if (items && !run_iterations(jinja, node, items) && node->other && !jinja->has_failed)
        run_in(jinja, push_scope(jinja, jinja->scope), node->other);
}

static void run_with(struct jinja *jinja, const struct node *node)
{
    struct scope *outer = jinja->scope, *scope = push_scope(jinja, outer);
    for (const struct node *set = node->other; set && scope && !jinja->has_failed; set = set->next) {
        struct value value = jinja_eval(jinja, set->right);
        jinja->scope = scope;
        if (!jinja->has_failed)
            assign(jinja, set->left, value);
        jinja->scope = outer;
    }
    if (!jinja->has_failed)
        run_in(jinja, scope, node->items);
}

static void run_filtered(struct jinja *jinja, const struct node *node)
{
    struct value value = run_to_text(jinja, node->items);
    if (!jinja->has_failed)
        value = jinja_filter(jinja, node->other, value);
    if (!jinja->has_failed)
        value_print(jinja, jinja->out, value);
}

/* --- macros -------------------------------------------------------------------------------------------- */

static void define_macro(struct jinja *jinja, const struct node *node)
{
    struct macro *macro = jinja_alloc(jinja, sizeof *macro);
    if (!macro)
        return;
    *macro = (struct macro){node, jinja->scope};
    for (struct scope *scope = jinja->scope; scope && !scope->is_captured; scope = scope->parent)
        scope->is_captured = true;
    struct value value = {.kind = VALUE_MACRO, .macro = macro};
    dict_set(jinja, &jinja->scope->variables, value_span(node->text), value);
}

/* Assigns arguments to the parameters of a macro, in its scope. */
static void assign_parameters(struct jinja *jinja, const struct node *node, const struct arguments *arguments)
{
    size_t i = 0, named = 0;
    for (const struct node *parameter = node->other->items; parameter; parameter = parameter->next, i++) {
        struct value value = {.kind = VALUE_UNDEFINED, .string = parameter->text};
        const struct value *found = NULL;
        if (arguments->named)
            found = dict_find_name(jinja, arguments->named, parameter->text);
        if (i < arguments->count)
            value = arguments->positional[i];
        else if (found)
            value = *found;
        else if (parameter->left)
            value = jinja_eval(jinja, parameter->left);
        named += found && i >= arguments->count;
        if (jinja->has_failed ||
            !dict_set(jinja, &jinja->scope->variables, value_span(parameter->text), value))
            return;
    }
    if (i < arguments->count || (arguments->named && named < arguments->named->count))
        jinja_fail(jinja, JOULE_INVALID, "the macro '%.*s' does not take these arguments",
                   span_shown(node->text), node->text.bytes);
}

struct value jinja_call_macro(struct jinja *jinja, const struct macro *macro,
                              const struct arguments *arguments)
{
    struct buffer buffer = {0}, *out = jinja->out;
    struct scope *outer = jinja->scope, *scope = push_scope(jinja, macro->scope);
    struct loop *loop = jinja->loop;
    if (!scope)
        return value_none();
    jinja->scope = scope;
    jinja->loop = NULL;
    jinja->out = &buffer;
    assign_parameters(jinja, macro->node, arguments);
    if (!jinja->has_failed)
        jinja_run(jinja, macro->node->items);
    jinja->scope = outer;
    jinja->loop = loop;
    jinja->out = out;
    return buffer_take(jinja, &buffer);
}

/* --- statements ---------------------------------------------------------------------------------------- */

static void run_output(struct jinja *jinja, const struct node *node)
{
    struct value value = jinja_eval(jinja, node->left);
    if (!jinja->has_failed)
        value_print(jinja, jinja->out, value);
}

static void run_statement(struct jinja *jinja, const struct node *node)
{
    switch (node->kind) {
    case NODE_TEXT:
        buffer_add_span(jinja, jinja->out, node->text);
        return;
    case NODE_OUTPUT:
        run_output(jinja, node);
        return;
    case NODE_IF:
        run_if(jinja, node);
        return;
    case NODE_FOR:
        run_for(jinja, node);
        return;
    case NODE_SET:
        run_set(jinja, node);
        return;
    case NODE_MACRO:
        define_macro(jinja, node);
        return;
    case NODE_FILTERED:
        run_filtered(jinja, node);
        return;
    case NODE_WITH:
        run_with(jinja, node);
        return;
    case NODE_GROUP:
        jinja_run(jinja, node);
        return;
    case NODE_BREAK:
    case NODE_CONTINUE:
        if (!jinja->loop)
            jinja_fail(jinja, JOULE_INVALID, "break or continue is outside of a loop");
        jinja->flow = node->kind == NODE_BREAK ? JINJA_BREAKS : JINJA_CONTINUES;
        return;
    default:
        jinja_eval(jinja, node);
    }
}

void jinja_run(struct jinja *jinja, const struct node *group)
{
    if (!jinja_enter(jinja))
        return;
    for (const struct node *node = group->items; node && jinja->flow == JINJA_RUNS; node = node->next) {
        if (!jinja_charge(jinja, 1))
            break;
        jinja->line = node->line;
        run_statement(jinja, node);
        if (jinja->has_failed)
            break;
    }
    jinja_leave(jinja);
}
