/* infer/grammar/grammar_object.c - compiles objects: their properties in order, and other members; see
 * grammar_schema.h. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/infer/grammar/grammar_schema.h"

enum { MAX_OPTIONAL = 100 };

struct property {
    const char *name;
    uint32_t part;
    bool is_required;
};

/* The members of an object. */
struct members {
    struct property *properties;
    size_t count, capacity;
    struct index index; /* maps a name to its number in properties */
    bool has_others;    /* other members are allowed */
    uint32_t others;    /* start of the part for their values */
};

static struct index_key key_of_property(const void *context, uint32_t number)
{
    return index_name(((const struct members *)context)->properties[number].name);
}

static bool add_property(struct compiler *c, struct members *m, const char *name, uint32_t part)
{
    if (!ARRAY_ROOM(m->properties, m->capacity, m->count))
        return schema_fail_memory(c);
    m->properties[m->count] = (struct property){name, part, false};
    if (!index_add(&m->index, m, (uint32_t)m->count))
        return schema_fail_memory(c);
    m->count++;
    return true;
}

static bool read_required(struct compiler *c, const struct json_value *required, struct members *m)
{
    if (required && required->kind != JSON_ARRAY)
        return schema_fail(c, JOULE_INVALID, "required is not an array");
    for (const struct json_value *item = required ? required->first : NULL; item; item = item->next) {
        const char *name = json_text_of(item);
        if (!name)
            return schema_fail(c, JOULE_INVALID, "required contains a value that is not a string");
        uint32_t number = index_find(&m->index, m, index_name(name));
        if (number == INDEX_NONE) {
            number = (uint32_t)m->count;
            if (!add_property(c, m, name, c->any))
                return false;
        }
        m->properties[number].is_required = true;
    }
    return true;
}

static bool read_members(struct compiler *c, const struct keywords *k, struct members *m)
{
    const struct json_value *properties = k->of[KEY_PROPERTIES], *others = k->of[KEY_ADDITIONAL];
    size_t optional = 0;
    if (properties && properties->kind != JSON_OBJECT)
        return schema_fail(c, JOULE_INVALID, "properties is not an object");
    for (const struct json_value *p = properties ? properties->first : NULL; p; p = p->next) {
        if (index_find(&m->index, m, index_name(p->name)) != INDEX_NONE)
            return schema_fail(c, JOULE_INVALID, "there are two properties '%.80s'", p->name);
        if (!add_property(c, m, p->name, schema_part(c, p)))
            return false;
    }
    if (!read_required(c, k->of[KEY_REQUIRED], m))
        return false;
    for (size_t i = 0; i < m->count; i++) {
        optional = m->properties[i].is_required ? 0 : optional + 1;
        if (optional > MAX_OPTIONAL)
            return schema_fail(c, JOULE_UNSUPPORTED, "more than %d properties in a row are not required",
                               MAX_OPTIONAL);
    }
    m->has_others = others ? others->kind != JSON_FALSE : !properties;
    m->others = others ? schema_part(c, others) : c->any;
    return true;
}

/* Compiles a member's name with its quotes. Returns the node after it. */
static uint32_t compile_name(struct compiler *c, uint32_t source, const char *name)
{
    const struct json_value value = {.kind = JSON_STRING, .text = name};
    return schema_compile_literal(c, source, &value);
}

/* Compiles ':' and the value after a name. Returns the node after it. */
static uint32_t compile_member(struct compiler *c, uint32_t source, uint32_t part)
{
    uint32_t colon = draft_node(&c->draft);
    draft_bytes(&c->draft, source, ':', ':', colon);
    return schema_call(c, part_space(&c->draft, colon, c->newline), part);
}

/* The state of the traversal at a node of the tree of names. model: the node that the same bytes reach in a
 * string without restrictions; NO_NODE: the node is after a whole name. */
struct tree_node {
    uint32_t model;
    bool is_escape; /* the bytes so far end within an escape */
};

/* Adds the edges by which names leave the tree: from each node of the tree, a byte that continues no name of
 * the tree leads to `rest`, the rest of a string without restrictions. The nodes of the tree are `tree` and
 * all nodes from number `first` on; parents come before children. */
static void leave_tree(struct draft *d, uint32_t tree, uint32_t first, uint32_t rest,
                       struct tree_node *tree_nodes)
{
    uint32_t count = (uint32_t)d->node_count;
    for (uint32_t node = tree; node < count; node = node == tree ? first : node + 1) {
        struct tree_node state = node == tree ? (struct tree_node){rest, false} : tree_nodes[node - first];
        if (state.model == NO_NODE)
            continue; /* the node is after a whole name */
        for (uint32_t e = d->nodes[node].first; e != NO_NODE; e = d->edges[e].next) {
            uint8_t byte = d->edges[e].edge.low;
            uint32_t next = part_target(d, state.model, byte);
            bool is_end = byte == '"' && !state.is_escape;
            tree_nodes[d->edges[e].edge.target - first] = (struct tree_node){
                is_end ? NO_NODE : next, next != rest && (state.is_escape || byte == '\\')};
        }
        if (!state.is_escape)
            part_complement(d, node, state.model);
    }
}

/* Compiles any name except those of the properties. Returns the node after it. The names of the properties
 * form a tree. A name leaves the tree at the first byte at which it differs from all of them. This byte must
 * not be a backslash, because an escape can spell the same name differently. The last nodes of the tree have
 * no edges, so the names of properties are not accepted. */
static uint32_t compile_other_name(struct compiler *c, uint32_t source, const struct members *m)
{
    struct draft *d = &c->draft;
    uint32_t tree = draft_node(d), rest = draft_node(d), end = draft_node(d);
    draft_bytes(d, rest, '"', '"', end);
    part_character(d, rest, rest);
    uint32_t first = (uint32_t)d->node_count, before = draft_node(d);
    draft_bytes(d, before, '"', '"', tree); /* `before` exists only to build the tree */
    for (size_t i = 0; i < m->count; i++)
        compile_name(c, before, m->properties[i].name);
    draft_bytes(d, source, '"', '"', tree);
    struct tree_node *tree_nodes = calloc(d->node_count - first + 1, sizeof *tree_nodes);
    if (!tree_nodes)
        schema_fail_memory(c);
    else if (d->status == JOULE_OK)
        leave_tree(d, tree, first + 1, rest, tree_nodes);
    free(tree_nodes);
    return end;
}

static bool compile_members(struct compiler *c, const struct members *m, uint32_t start)
{
    struct draft *d = &c->draft;
    size_t first_end = 0; /* the object may end after this number of properties */
    for (size_t i = 0; i < m->count; i++)
        first_end = m->properties[i].is_required ? i + 1 : first_end;
    uint32_t opened = draft_node(d), closing = draft_node(d), end = draft_node(d);
    draft_bytes(d, start, '{', '{', opened);
    draft_bytes(d, part_space(d, closing, c->newline), '}', '}', end);
    draft_final(d, end);
    if (first_end == 0)
        draft_empty(d, opened, closing);
    uint32_t node = part_space(d, opened, c->newline); /* before a member */
    for (size_t i = 0; i <= m->count && !c->has_failed && d->status == JOULE_OK; i++) {
        bool is_property = i < m->count;
        uint32_t next = is_property ? draft_node(d) : node, comma = draft_node(d), named;
        if (!is_property && !m->has_others)
            break;
        named = is_property ? compile_name(c, node, m->properties[i].name) : compile_other_name(c, node, m);
        uint32_t after = compile_member(c, named, is_property ? m->properties[i].part : m->others);
        if (is_property && !m->properties[i].is_required)
            draft_empty(d, node, next);
        if (i + 1 >= first_end)
            draft_empty(d, after, closing);
        draft_bytes(d, after, ',', ',', comma);
        draft_empty(d, part_space(d, comma, c->newline), next);
        node = next;
    }
    return !c->has_failed;
}

bool schema_compile_object(struct compiler *c, const struct keywords *k, uint32_t start)
{
    struct members members = {.index = {.key_of = key_of_property}};
    bool is_ok = read_members(c, k, &members) && compile_members(c, &members, start);
    free(members.properties);
    index_free(&members.index);
    return is_ok;
}
