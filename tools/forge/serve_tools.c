/* tools/forge/serve_tools.c - see serve_tools.h. */
#include "serve_tools.h"

#include <string.h>
#include "serve_tokens.h"

/* --- copies --------------------------------------------------------------------------------------------- */

/* A copy of JSON without control tokens. */
struct copying {
    const struct call *call;
    struct arena *arena;
    size_t bytes;          /* size of all texts so far */
    bool parses_arguments; /* members "arguments" that are texts become values */
};

static struct json_value *fail_memory(const struct copying *c)
{
    failure_set_no_memory(c->call->failure);
    return NULL;
}

static const char *copy_text(struct copying *c, const char *text)
{
    const char *copy = control_tokens_divide(c->call->server->control_tokens, text, c->arena);
    if (!copy)
        fail_memory(c);
    c->bytes += strlen(text);
    return copy;
}

/* Returns the value of arguments, which are a text with JSON; an empty text means no arguments. Returns NULL
 * with a failure if the text is not JSON. */
static const struct json_value *parse_arguments(struct copying *c, const struct json_value *arguments)
{
    joule_error error = {0};
    const char *json = *arguments->text ? arguments->text : "{}";
    size_t size = strlen(json);
    char *text = arena_copy(c->arena, json, size);
    const struct json_value *value = text ? json_parse(c->arena, text, size, "arguments", &error) : NULL;
    if (!value && (!text || error.status == JOULE_NO_MEMORY))
        fail_memory(c);
    else if (!value)
        failure_set(c->call->failure, "messages", "the arguments of a tool call are not JSON: %s",
                    error.message);
    return value;
}

/* Returns a copy of a value; NULL with a failure. */
static struct json_value *copy_value(struct copying *c, const struct json_value *value)
{
    struct json_value *copy = arena_alloc(c->arena, sizeof *copy);
    const char *name = value->name;
    if (!copy)
        return fail_memory(c);
    if (c->parses_arguments && name && strcmp(name, "arguments") == 0 && value->kind == JSON_STRING &&
        !(value = parse_arguments(c, value)))
        return NULL;
    copy->kind = value->kind;
    copy->name = name ? copy_text(c, name) : NULL;
    copy->text = value->kind == JSON_STRING ? copy_text(c, value->text) : value->text;
    if ((name && !copy->name) || (value->text && !copy->text))
        return NULL;
    const struct json_value **link = &copy->first;
    for (const struct json_value *item = value->first; item; item = item->next) {
        struct json_value *item_copy = copy_value(c, item);
        if (!item_copy)
            return NULL;
        *link = item_copy;
        link = &item_copy->next;
    }
    return copy;
}

/* Sets *out_list to a copy of the array of objects in the field `name`; NULL: the field is absent, or the
 * array is empty. */
static bool copy_objects(const struct call *call, const char *name, struct arena *arena,
                         const struct json_value **out_list)
{
    const struct fields fields = {call->body, call->failure};
    const struct json_value *list = field_find(&fields, name);
    struct copying copying = {.call = call, .arena = arena};
    *out_list = NULL;
    for (const struct json_value *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind != JSON_OBJECT)
            return failure_set(call->failure, name, "'%s' must be an array of objects", name);
    if (list && list->kind != JSON_ARRAY)
        return failure_set(call->failure, name, "'%s' must be an array of objects", name);
    if (!list || !list->first)
        return true;
    *out_list = copy_value(&copying, list);
    return *out_list && check_text_size(call->server, copying.bytes, name, call->failure);
}

/* --- fields --------------------------------------------------------------------------------------------- */

/* Reads "tool_choice". *out_is_none: the request does not allow calls of tools. */
static bool read_choice(const struct call *call, bool *out_is_none)
{
    const struct fields fields = {call->body, call->failure};
    const struct json_value *choice = field_find(&fields, "tool_choice");
    const char *name = json_text_of(choice);
    *out_is_none = name && strcmp(name, "none") == 0;
    return !choice || *out_is_none || (name && strcmp(name, "auto") == 0) ||
           failure_set(call->failure, "tool_choice",
                       "'tool_choice' must be 'auto' or 'none': this server cannot force the model to call a "
                       "tool");
}

static bool check_tool(const struct call *call, const struct json_value *tool, size_t i)
{
    const char *type = json_text_of(json_member(tool, "type"));
    const char *name = json_text_of(json_member(json_member(tool, "function"), "name"));
    if (!type || strcmp(type, "function") != 0)
        return failure_set(call->failure, "tools", "'tools[%zu].type' must be 'function'", i);
    return (name && *name) ||
           failure_set(call->failure, "tools", "'tools[%zu].function.name' must be a string", i);
}

bool tools_read(const struct call *call, struct arena *arena, const struct json_value **out_tools)
{
    bool is_none;
    size_t i = 0;
    if (!read_choice(call, &is_none) || !copy_objects(call, "tools", arena, out_tools))
        return false;
    for (const struct json_value *tool = *out_tools ? (*out_tools)->first : NULL; tool; tool = tool->next)
        if (!check_tool(call, tool, i++))
            return false;
    if (is_none)
        *out_tools = NULL;
    return true;
}

bool documents_read(const struct call *call, struct arena *arena, const struct json_value **out_documents)
{
    return copy_objects(call, "documents", arena, out_documents);
}

static bool check_member(const struct call *call, const struct json_value *member, size_t i)
{
    bool is_calls = strcmp(member->name, "tool_calls") == 0;
    return member->kind == (is_calls ? JSON_ARRAY : JSON_STRING) ||
           failure_set(call->failure, "messages", "'messages[%zu].%s' must be %s", i, member->name,
                       is_calls ? "an array" : "a string");
}

bool message_members_read(const struct call *call, const struct json_value *message, size_t i,
                          struct arena *arena, size_t *bytes, const struct json_value **out_members)
{
    static const char *const names[] = {"tool_calls", "tool_call_id", "name"};
    struct copying copying = {.call = call, .arena = arena, .parses_arguments = true};
    const struct fields fields = {message, call->failure};
    struct json_value *members = NULL;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const struct json_value *member = field_find(&fields, names[k]);
        if (!member)
            continue;
        if (!check_member(call, member, i))
            return false;
        if (!members && !(members = arena_alloc(arena, sizeof *members)))
            return fail_memory(&copying);
        struct json_value *copy = copy_value(&copying, member);
        if (!copy)
            return false;
        copy->next = members->first;
        members->first = copy;
        members->kind = JSON_OBJECT;
    }
    *out_members = members;
    *bytes += copying.bytes;
    return true;
}
