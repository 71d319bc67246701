/* infer/chat/jinja_eval.c - evaluates expressions. */
#include "forge/infer/chat/jinja.h"

enum { MAX_ARGUMENTS = 16 }; /* maximum number of arguments without a keyword in a call */

/* --- names, literals ----------------------------------------------------------------------------------- */

static struct value eval_name(struct jinja *jinja, struct span name)
{
    if (span_is(name, "loop") && jinja->loop)
        return (struct value){.kind = VALUE_LOOP, .loop = jinja->loop};
    for (const struct scope *scope = jinja->scope; scope; scope = scope->parent) {
        const struct value *found = dict_find_name(jinja, &scope->variables, name);
        if (found)
            return *found;
        if (!jinja_charge(jinja, 1))
            break;
    }
    const struct builtin *function = jinja_find_function(name);
    if (function)
        return (struct value){.kind = VALUE_FUNCTION, .function = function};
    return (struct value){.kind = VALUE_UNDEFINED, .string = name};
}

static struct value eval_list(struct jinja *jinja, const struct node *node)
{
    struct list *list = list_new(jinja, node->kind == NODE_TUPLE ? LIST_TUPLE : LIST_PLAIN);
    for (const struct node *item = node->items; item && !jinja->has_failed; item = item->next)
        list_add(jinja, list, jinja_eval(jinja, item));
    return value_list(list);
}

/* Returns true if a value can be the key of a dict. */
static bool is_key(struct jinja *jinja, struct value key)
{
    bool is_scalar = key.kind >= VALUE_NONE && key.kind <= VALUE_STRING;
    if (!is_scalar && key.kind != VALUE_UNDEFINED &&
        !(key.kind == VALUE_LIST && key.list->kind == LIST_TUPLE))
        jinja_fail(jinja, JOULE_INVALID, "a value of type %s cannot be a key", value_kind_name(key));
    return !jinja->has_failed;
}

static struct value eval_dict(struct jinja *jinja, const struct node *node)
{
    struct dict *dict = dict_new(jinja);
    for (const struct node *item = node->items; item && !jinja->has_failed; item = item->next) {
        struct value key = jinja_eval(jinja, item->left);
        if (is_key(jinja, key))
            dict_set(jinja, dict, key, jinja_eval(jinja, item->right));
    }
    return value_dict(dict);
}

/* --- attributes and items ------------------------------------------------------------------------------ */

static struct value loop_attribute(struct jinja *jinja, const struct loop *loop, struct span name)
{
    size_t count = loop->items->count, i = loop->index;
    if (span_is(name, "index0"))
        return value_int((int64_t)i);
    if (span_is(name, "index"))
        return value_int((int64_t)i + 1);
    if (span_is(name, "first"))
        return value_bool(i == 0);
    if (span_is(name, "last"))
        return value_bool(i + 1 >= count);
    if (span_is(name, "length"))
        return value_int((int64_t)count);
    if (span_is(name, "revindex"))
        return value_int((int64_t)(count - i));
    if (span_is(name, "revindex0"))
        return value_int((int64_t)(count - i) - 1);
    if (span_is(name, "previtem") && i > 0)
        return loop->items->items[i - 1];
    if (span_is(name, "nextitem") && i + 1 < count)
        return loop->items->items[i + 1];
    if (span_is(name, "depth"))
        return value_int(loop->depth);
    if (span_is(name, "depth0"))
        return value_int(loop->depth - 1);
    if (span_is(name, "changed") || span_is(name, "cycle"))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "loop.%.*s is not supported", span_shown(name),
                          name.bytes);
    return (struct value){.kind = VALUE_UNDEFINED, .string = name};
}

/* Returns a method with its object, or an undefined value. */
static struct value bind_method(struct jinja *jinja, struct value object, struct span name)
{
    const struct builtin *builtin = jinja_find_method(object.kind, name);
    struct method *method = builtin ? jinja_alloc(jinja, sizeof *method) : NULL;
    if (!method)
        return (struct value){.kind = VALUE_UNDEFINED, .string = name};
    *method = (struct method){builtin, object};
    return (struct value){.kind = VALUE_METHOD, .method = method};
}

struct value jinja_attribute(struct jinja *jinja, struct value object, struct span name)
{
    if (jinja_is_undefined(jinja, object))
        return object;
    if (object.kind == VALUE_LOOP)
        return loop_attribute(jinja, object.loop, name);
    struct value method = bind_method(jinja, object, name);
    if (method.kind == VALUE_METHOD || (object.kind != VALUE_DICT && object.kind != VALUE_NAMESPACE))
        return method;
    const struct value *found = dict_find_name(jinja, object.dict, name);
    return found ? *found : method;
}

static struct value character(struct jinja *jinja, struct span span, int64_t index)
{
    if (!jinja_charge(jinja, span.size / 16))
        return value_none();
    if (index < 0)
        index += (int64_t)span_length(span);
    for (; index >= 0 && span.size; index--) {
        size_t size = span_first(span);
        if (index == 0)
            return value_span((struct span){span.bytes, size});
        span = (struct span){span.bytes + size, span.size - size};
    }
    return (struct value){.kind = VALUE_UNDEFINED, .string = SPAN("a character beyond the end of a string")};
}

struct value jinja_item(struct jinja *jinja, struct value object, struct value key)
{
    struct value undefined = {.kind = VALUE_UNDEFINED, .string = SPAN("an item of a list")};
    int64_t index;
    if (jinja_is_undefined(jinja, object))
        return object;
    if (object.kind == VALUE_DICT) {
        const struct value *found = dict_find(jinja, object.dict, key);
        if (found)
            return *found;
    }
    if (key.kind == VALUE_STRING)
        return object.kind == VALUE_DICT ? bind_method(jinja, object, key.string)
                                         : jinja_attribute(jinja, object, key.string);
    if (!value_is_whole(key, &index))
        return undefined;
    if (object.kind == VALUE_STRING)
        return character(jinja, object.string, index);
    if (object.kind != VALUE_LIST)
        return undefined;
    index += index < 0 ? (int64_t)object.list->count : 0;
    return index >= 0 && index < (int64_t)object.list->count ? object.list->items[index] : undefined;
}

static struct value eval_slice(struct jinja *jinja, const struct node *node)
{
    const struct node *const nodes[] = {node->right, node->other, node->third};
    struct value object = jinja_eval(jinja, node->left), bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = nodes[i] ? jinja_eval(jinja, nodes[i]) : value_none();
    if (jinja->has_failed || jinja_is_undefined(jinja, object))
        return object;
    return jinja_slice(jinja, object, bounds);
}

/* --- calls --------------------------------------------------------------------------------------------- */

/* Evaluates arguments. positional: memory for MAX_ARGUMENTS values. */
static struct arguments eval_arguments(struct jinja *jinja, const struct node *nodes,
                                       struct value *positional)
{
    struct arguments arguments = {.positional = positional};
    struct dict *named = NULL;
    for (; nodes && !jinja->has_failed; nodes = nodes->next) {
        struct value value = jinja_eval(jinja, nodes->left);
        if (nodes->text.size) {
            named = named ? named : dict_new(jinja);
            dict_set(jinja, named, value_span(nodes->text), value);
        } else if (arguments.count < MAX_ARGUMENTS) {
            positional[arguments.count++] = value;
        } else {
            jinja_fail(jinja, JOULE_UNSUPPORTED, "more than %d arguments are not supported", MAX_ARGUMENTS);
        }
    }
    arguments.named = named;
    return arguments;
}

struct value jinja_call_builtin(struct jinja *jinja, const struct builtin *builtin, struct value self,
                                const struct arguments *arguments)
{
    struct value values[JINJA_PARAMETERS];
    size_t named = 0;
    if (builtin->call_any)
        return builtin->call_any(jinja, arguments);
    for (size_t i = 0; i < JINJA_PARAMETERS; i++) {
        const char *name = builtin->parameters[i];
        const struct value *found =
            name && arguments->named ? dict_find_name(jinja, arguments->named, span_of(name)) : NULL;
        values[i] = (struct value){.kind = VALUE_ABSENT};
        if (i < arguments->count)
            values[i] = arguments->positional[i];
        else if (found)
            values[i] = *found;
        named += found && i >= arguments->count;
        if ((i < arguments->count && !name) || (i < builtin->required && values[i].kind == VALUE_ABSENT))
            return jinja_fail(jinja, JOULE_INVALID, "%s: wrong number of arguments", builtin->name);
    }
    if (arguments->count > JINJA_PARAMETERS || (arguments->named && named < arguments->named->count))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "%s: an argument is not supported", builtin->name);
    size_t size = self.kind == VALUE_STRING ? self.string.size : 0;
    return jinja_charge(jinja, size / STEP_BYTES) ? builtin->call(jinja, self, values) : self;
}

struct value jinja_call(struct jinja *jinja, struct value callee, const struct arguments *arguments)
{
    if (callee.kind == VALUE_MACRO)
        return jinja_call_macro(jinja, callee.macro, arguments);
    if (callee.kind == VALUE_FUNCTION)
        return jinja_call_builtin(jinja, callee.function, callee, arguments);
    if (callee.kind == VALUE_METHOD)
        return jinja_call_builtin(jinja, callee.method->builtin, callee.method->self, arguments);
    if (!jinja_is_undefined(jinja, callee))
        jinja_fail(jinja, JOULE_INVALID, "a value of type %s cannot be called", value_kind_name(callee));
    return callee;
}

static struct value eval_call(struct jinja *jinja, const struct node *node)
{
    struct value positional[MAX_ARGUMENTS];
    const struct node *name = node->left;
    struct value callee, object = value_none();
    if (name->kind == NODE_ATTRIBUTE) {
        object = jinja_eval(jinja, name->left);
        callee = jinja->has_failed ? object : jinja_attribute(jinja, object, name->text);
    } else {
        callee = jinja_eval(jinja, name);
    }
    if (jinja->has_failed)
        return callee;
    jinja->line = node->line;
    bool is_method = name->kind == NODE_ATTRIBUTE && callee.kind == VALUE_UNDEFINED;
    if (is_method && (object.kind == VALUE_STRING || object.kind == VALUE_LIST || object.kind == VALUE_DICT))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "the method '%.*s' of a %s is not supported",
                          span_shown(name->text), name->text.bytes, value_kind_name(object));
    struct arguments arguments = eval_arguments(jinja, node->items, positional);
    return jinja->has_failed ? callee : jinja_call(jinja, callee, &arguments);
}

static struct value call_named(struct jinja *jinja, const struct node *node, const struct builtin *builtin,
                               struct value self)
{
    struct value positional[MAX_ARGUMENTS];
    jinja->line = node->line;
    if (jinja->has_failed)
        return self;
    if (!builtin)
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "the %s '%.*s' is not supported",
                          node->kind == NODE_TEST ? "test" : "filter", span_shown(node->text),
                          node->text.bytes);
    struct arguments arguments = eval_arguments(jinja, node->items, positional);
    return jinja->has_failed ? self : jinja_call_builtin(jinja, builtin, self, &arguments);
}

struct value jinja_filter(struct jinja *jinja, const struct node *node, struct value self)
{
    if (node->left)
        self = jinja_filter(jinja, node->left, self);
    return call_named(jinja, node, jinja_find_filter(node->text), self);
}

/* --- operators ----------------------------------------------------------------------------------------- */

static struct value eval_comparison(struct jinja *jinja, const struct node *node)
{
    struct value left = jinja_eval(jinja, node->left);
    bool holds = true;
    for (const struct node *operand = node->items; operand && holds && !jinja->has_failed;
         operand = operand->next) {
        struct value right = jinja_eval(jinja, operand->left);
        holds = !jinja->has_failed && jinja_compare(jinja, operand->text, left, right);
        left = right;
    }
    return value_bool(holds);
}

static struct value eval_sign(struct jinja *jinja, const struct node *node)
{
    struct value value = jinja_eval(jinja, node->left);
    int64_t integer, result;
    if (jinja->has_failed || jinja_is_undefined(jinja, value))
        return value;
    if (value.kind == VALUE_FLOAT)
        return value_float(node->kind == NODE_NEGATE ? -value.number : value.number);
    if (!value_is_whole(value, &integer))
        return jinja_fail(jinja, JOULE_INVALID, "a value of type %s has no sign", value_kind_name(value));
    if (node->kind == NODE_POSITIVE)
        return value_int(integer);
    if (__builtin_sub_overflow(INT64_C(0), integer, &result))
        return jinja_fail(jinja, JOULE_UNSUPPORTED, "integers above 64 bits are not supported");
    return value_int(result);
}

static struct value eval_binary(struct jinja *jinja, const struct node *node)
{
    struct value left = jinja_eval(jinja, node->left);
    struct value right = jinja_eval(jinja, node->right);
    jinja->line = node->line;
    return jinja->has_failed ? left : jinja_binary(jinja, node->text, left, right);
}

/* Evaluates `not`, `and`, `or` or `a if b else c`. The last three evaluate an operand only if it is
 * needed. */
static struct value eval_choice(struct jinja *jinja, const struct node *node)
{
    struct value left = jinja_eval(jinja, node->left);
    if (jinja->has_failed)
        return left;
    bool is_true = value_truth(left);
    if (node->kind == NODE_NOT)
        return value_bool(!is_true);
    if (node->kind == NODE_AND || node->kind == NODE_OR)
        return is_true == (node->kind == NODE_AND) ? jinja_eval(jinja, node->right) : left;
    const struct node *chosen = is_true ? node->right : node->other;
    return chosen ? jinja_eval(jinja, chosen) : (struct value){.kind = VALUE_UNDEFINED};
}

static struct value eval_index(struct jinja *jinja, const struct node *node)
{
    struct value object = jinja_eval(jinja, node->left), key = jinja_eval(jinja, node->right);
    jinja->line = node->line;
    return jinja->has_failed ? object : jinja_item(jinja, object, key);
}

static struct value eval_attribute(struct jinja *jinja, const struct node *node)
{
    struct value object = jinja_eval(jinja, node->left);
    jinja->line = node->line;
    return jinja->has_failed ? object : jinja_attribute(jinja, object, node->text);
}

static struct value eval_node(struct jinja *jinja, const struct node *node)
{
    switch (node->kind) {
    case NODE_CONSTANT:
        return node->constant;
    case NODE_NAME:
        return eval_name(jinja, node->text);
    case NODE_LIST:
    case NODE_TUPLE:
        return eval_list(jinja, node);
    case NODE_DICT:
        return eval_dict(jinja, node);
    case NODE_ATTRIBUTE:
        return eval_attribute(jinja, node);
    case NODE_INDEX:
        return eval_index(jinja, node);
    case NODE_SLICE:
        return eval_slice(jinja, node);
    case NODE_CALL:
        return eval_call(jinja, node);
    case NODE_FILTER:
        return call_named(jinja, node, jinja_find_filter(node->text), jinja_eval(jinja, node->left));
    case NODE_TEST:
        return call_named(jinja, node, jinja_find_test(node->text), jinja_eval(jinja, node->left));
    case NODE_NEGATE:
    case NODE_POSITIVE:
        return eval_sign(jinja, node);
    case NODE_BINARY:
        return eval_binary(jinja, node);
    case NODE_COMPARE:
        return eval_comparison(jinja, node);
    default:
        return eval_choice(jinja, node);
    }
}

struct value jinja_eval(struct jinja *jinja, const struct node *node)
{
    struct value value = {.kind = VALUE_UNDEFINED};
    if (!jinja_charge(jinja, 1) || !jinja_enter(jinja))
        return value;
    jinja->line = node->line;
    value = eval_node(jinja, node);
    jinja_leave(jinja);
    return value;
}
