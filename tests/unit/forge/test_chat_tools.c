/* Checks that chat templates print tools, documents and calls of tools, as with Hugging Face's libraries. The
 * expected texts are those of Jinja 3.1.6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/chat/chat_template.h"
#include "support/check.h"

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"Adds \\\""
    "\303\251\\\"\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"num"
    "ber\",\"default\":1.50},\"n\":{\"minimum\":-3,\"enum\":[1,null,true]}},\"required\":[\"x"
    "\"]}}}]";
static const char documents[] = "[{\"title\":\"A\",\"text\":\"b c\"},{\"title\":\"D\",\"text\":\"\"}]";
static const char calls[] =
    "{\"tool_calls\": [{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"ad"
    "d\", \"arguments\": {\"x\": 2, \"y\": [2.0, 1000.0]}}}]}";
static const char response[] = "{\"tool_call_id\": \"c1\", \"name\": \"add\"}";

static const forge_chat_message messages[] = {{"user", "2+2?"}, {"assistant", NULL}, {"tool", "4"}};
enum { MESSAGES = sizeof messages / sizeof *messages };

static joule_error error;
static struct arena arena;

static const struct json_value *parse(const char *text)
{
    char *copy = arena_copy(&arena, text, strlen(text));
    const struct json_value *value = json_parse(&arena, copy, strlen(text), "the test", &error);
    assert_non_null(value);
    return value;
}

static joule_status render(const char *template_text, bool has_tools, char **out_text)
{
    const struct json_value *members[MESSAGES] = {NULL, parse(calls), parse(response)};
    struct chat chat = {.messages = messages, .count = MESSAGES, .adds_generation_prompt = true};
    if (has_tools) {
        chat.tools = parse(tools);
        chat.documents = parse(documents);
        chat.members = members;
    }
    memset(&error, 0, sizeof error);
    joule_status status = chat_template_render(template_text, &chat, out_text, &error);
    arena_free(&arena);
    return status;
}

static void test_tools_and_documents_are_printed_as_in_jinja(void **state)
{
    (void)state;
    static const struct {
        const char *template_text, *expected;
    } list[] = {{"{{ tools|tojson }}",
                 "[{\"type\": \"function\", \"function\": {\"name\": \"add\", \"description\": \"Adds \\\""
                 "\303\251\\\"\", \"parameters\": {\"type\": \"object\", \"properties\": {\"x\": {\"type\""
                 ": \"number\", \"default\": 1.5}, \"n\": {\"minimum\": -3, \"enum\": [1, null, true]}}, "
                 "\"required\": [\"x\"]}}}]"},
                {"{{ tools }}",
                 "[{'type': 'function', 'function': {'name': 'add', 'description': 'Adds \"\303\251\"', 'p"
                 "arameters': {'type': 'object', 'properties': {'x': {'type': 'number', 'default': 1.5}, '"
                 "n': {'minimum': -3, 'enum': [1, None, True]}}, 'required': ['x']}}}]"},
                {"{{ tools|tojson(indent=1) }}", "[\n"
                                                 " {\n"
                                                 "  \"type\": \"function\",\n"
                                                 "  \"function\": {\n"
                                                 "   \"name\": \"add\",\n"
                                                 "   \"description\": \"Adds \\\"\303\251\\\"\",\n"
                                                 "   \"parameters\": {\n"
                                                 "    \"type\": \"object\",\n"
                                                 "    \"properties\": {\n"
                                                 "     \"x\": {\n"
                                                 "      \"type\": \"number\",\n"
                                                 "      \"default\": 1.5\n"
                                                 "     },\n"
                                                 "     \"n\": {\n"
                                                 "      \"minimum\": -3,\n"
                                                 "      \"enum\": [\n"
                                                 "       1,\n"
                                                 "       null,\n"
                                                 "       true\n"
                                                 "      ]\n"
                                                 "     }\n"
                                                 "    },\n"
                                                 "    \"required\": [\n"
                                                 "     \"x\"\n"
                                                 "    ]\n"
                                                 "   }\n"
                                                 "  }\n"
                                                 " }\n"
                                                 "]"},
                {"{% for t in tools %}{{ t.function.name }}({% for k, v in t.function.parameters.propertie"
                 "s.items() %}{{ k }}:{{ v.type }},{% endfor %}){% endfor %}",
                 "add(x:number,n:,)"},
                {"{% for d in documents %}{{ loop.index }}. {{ d.title }}: {{ d['text'] }};{% endfor %}",
                 "1. A: b c;2. D: ;"},
                {"{% for m in messages if m.tool_calls is defined %}{{ m.tool_calls[0].function.arguments."
                 "y }}{% endfor %}|{{ messages[2].tool_call_id }}|{{ messages[2].name }}|{{ messages[0].na"
                 "me is defined }}",
                 "[2.0, 1000.0]|c1|add|False"},
                {"{{ tools[0].function.parameters.properties.n.enum|tojson }}", "[1, null, true]"},
                {"{%- if tools %}\n"
                 "    {{- '<|im_start|>system\\n' }}\n"
                 "    {%- if messages[0]['role'] == 'system' %}\n"
                 "        {{- messages[0]['content'] }}\n"
                 "    {%- else %}\n"
                 "        {{- 'You are Qwen.' }}\n"
                 "    {%- endif %}\n"
                 "    {{- \"\\n\\n# Tools\\n\\n<tools>\" }}\n"
                 "    {%- for tool in tools %}\n"
                 "        {{- \"\\n\" }}\n"
                 "        {{- tool | tojson }}\n"
                 "    {%- endfor %}\n"
                 "    {{- \"\\n</tools><|im_end|>\\n\" }}\n"
                 "{%- endif %}\n"
                 "{%- for message in messages %}\n"
                 "    {%- if message.role == \"user\" or (message.role == \"assistant\" and not message.to"
                 "ol_calls) %}\n"
                 "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\"
                 "n' }}\n"
                 "    {%- elif message.role == \"assistant\" %}\n"
                 "        {{- '<|im_start|>' + message.role }}\n"
                 "        {%- if message.content %}\n"
                 "            {{- '\\n' + message.content }}\n"
                 "        {%- endif %}\n"
                 "        {%- for tool_call in message.tool_calls %}\n"
                 "            {%- if tool_call.function is defined %}\n"
                 "                {%- set tool_call = tool_call.function %}\n"
                 "            {%- endif %}\n"
                 "            {{- '\\n<tool_call>\\n{\"name\": \"' }}\n"
                 "            {{- tool_call.name }}\n"
                 "            {{- '\", \"arguments\": ' }}\n"
                 "            {{- tool_call.arguments | tojson }}\n"
                 "            {{- '}\\n</tool_call>' }}\n"
                 "        {%- endfor %}\n"
                 "        {{- '<|im_end|>\\n' }}\n"
                 "    {%- elif message.role == \"tool\" %}\n"
                 "        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_respo"
                 "nse><|im_end|>\\n' }}\n"
                 "    {%- endif %}\n"
                 "{%- endfor %}\n"
                 "{%- if add_generation_prompt %}\n"
                 "    {{- '<|im_start|>assistant\\n' }}\n"
                 "{%- endif %}\n",
                 "<|im_start|>system\n"
                 "You are Qwen.\n"
                 "\n"
                 "# Tools\n"
                 "\n"
                 "<tools>\n"
                 "{\"type\": \"function\", \"function\": {\"name\": \"add\", \"description\": \"Adds \\\""
                 "\303\251\\\"\", \"parameters\": {\"type\": \"object\", \"properties\": {\"x\": {\"type\""
                 ": \"number\", \"default\": 1.5}, \"n\": {\"minimum\": -3, \"enum\": [1, null, true]}}, "
                 "\"required\": [\"x\"]}}}\n"
                 "</tools><|im_end|>\n"
                 "<|im_start|>user\n"
                 "2+2?<|im_end|>\n"
                 "<|im_start|>assistant\n"
                 "<tool_call>\n"
                 "{\"name\": \"add\", \"arguments\": {\"x\": 2, \"y\": [2.0, 1000.0]}}\n"
                 "</tool_call><|im_end|>\n"
                 "<|im_start|>user\n"
                 "<tool_response>\n"
                 "4\n"
                 "</tool_response><|im_end|>\n"
                 "<|im_start|>assistant\n"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char *text = NULL;
        assert_ok(render(list[i].template_text, true, &text), &error);
        assert_string_equal(text, list[i].expected);
        free(text);
    }
}

static void test_absent_tools_are_none(void **state)
{
    (void)state;
    char *text = NULL;
    assert_ok(render("{{ tools is none }}{{ documents is none }}{{ messages[1].tool_calls is defined }}",
                     false, &text),
              &error);
    assert_string_equal(text, "TrueTrueFalse");
    free(text);
}

static void test_members_do_not_replace_role_and_content(void **state)
{
    (void)state;
    const struct json_value *members[1] = {parse("{\"role\": \"system\", \"content\": \"b\", \"x\": 1}")};
    struct chat chat = {.messages = messages, .count = 1, .members = members};
    char *text = NULL;
    assert_ok(chat_template_render("{{ messages }}", &chat, &text, &error), &error);
    assert_string_equal(text, "[{'role': 'user', 'content': '2+2?', 'x': 1}]");
    free(text);
    arena_free(&arena);
}

static void test_numbers_are_read_as_in_python(void **state)
{
    (void)state;
    struct chat chat = {.tools = parse("[1, -0, 1.0, 1e2, 9223372036854775807, 9223372036854775808, 0.1]")};
    char *text = NULL;
    assert_ok(chat_template_render("{% for x in tools %}{{ x }};{% endfor %}", &chat, &text, &error), &error);
    /* Python has integers of any size; here, a larger one is a float. */
    assert_string_equal(text, "1;0;1.0;100.0;9223372036854775807;9.223372036854776e+18;0.1;");
    free(text);
    arena_free(&arena);
}

/* Members of an object are searched one by one, so an object with many members exceeds the number of
 * steps. */
static void test_large_objects_are_refused_in_limited_time(void **state)
{
    (void)state;
    enum { MEMBERS = 200000, SIZE = 14 };
    char *json = malloc(MEMBERS * SIZE + 3), *at = json, *text = NULL;
    *at++ = '{';
    for (int i = 0; i < MEMBERS; i++)
        at += snprintf(at, SIZE, "%s\"%d\":1", i ? "," : "", i);
    strcpy(at, "}");
    struct chat chat = {.tools = parse(json)};
    assert_int_equal(chat_template_render("{{ tools|length }}", &chat, &text, &error), JOULE_INVALID);
    assert_contains(error.message, "steps");
    free(json);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tools_and_documents_are_printed_as_in_jinja),
        cmocka_unit_test(test_absent_tools_are_none),
        cmocka_unit_test(test_members_do_not_replace_role_and_content),
        cmocka_unit_test(test_numbers_are_read_as_in_python),
        cmocka_unit_test(test_large_objects_are_refused_in_limited_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
