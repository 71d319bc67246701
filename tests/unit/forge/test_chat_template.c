/* Checks chat templates: each construct of the Jinja subset, its errors and limits, and the built-in
 * families. The expected texts are those of Python's Jinja with Hugging Face's settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/chat/chat_template.h"
#include "support/check.h"

static const forge_chat_message messages[] = {
    {"system", "Be brief."},
    {"user", " Hi "},
    {"assistant", "Hello!"},
    {"user", "Bye"},
};
enum { MESSAGES = sizeof messages / sizeof *messages };

static joule_error error;

/* A template, and the expected text or the expected part of the error message. */
struct expectation {
    const char *template_text, *expected;
};

static joule_status render(const char *template_text, char **out_text)
{
    struct chat chat = {messages, MESSAGES, true, "<s>", "</s>", {0}};
    chat.now =
        (struct tm){.tm_year = 126, .tm_mon = 6, .tm_mday = 4, .tm_hour = 9, .tm_min = 5, .tm_wday = 6};
    memset(&error, 0, sizeof error);
    return chat_template_render(template_text, &chat, out_text, &error);
}

static void expect_texts(const struct expectation *expectations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = NULL;
        if (render(expectations[i].template_text, &text) != JOULE_OK)
            fail_msg("%s: %s", expectations[i].template_text, error.message);
        if (strcmp(text, expectations[i].expected) != 0)
            fail_msg("%s gives\n%s instead of\n%s", expectations[i].template_text, text,
                     expectations[i].expected);
        free(text);
    }
}

static void expect_failures(joule_status status, const struct expectation *expectations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = NULL;
        if (render(expectations[i].template_text, &text) == JOULE_OK)
            fail_msg("%s gives a text: %s", expectations[i].template_text, text);
        assert_contains(error.message, expectations[i].expected);
        if (error.status != status)
            fail_msg("%s: status %d: %s", expectations[i].template_text, (int)error.status, error.message);
    }
}

#define EXPECT_TEXTS(list)            expect_texts(list, sizeof(list) / sizeof *(list))
#define EXPECT_FAILURES(status, list) expect_failures(status, list, sizeof(list) / sizeof *(list))

/* --- statements ---------------------------------------------------------------------------------------- */

static void test_statements_run_as_in_jinja(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{% for m in messages %}{{ m.role }}:{{ m['content']|trim }};{% endfor %}",
         "system:Be brief.;user:Hi;assistant:Hello!;user:Bye;"},
        {"{% for x in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length "
         "}}"
         "{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}",
         "10TrueFalse3b;21FalseFalse3ac;32FalseTrue3b;"},
        {"{% for x in [] %}a{% else %}none{% endfor %}", "none"},
        {"{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }} {% endfor %}", "a=1 b=2 "},
        {"{% for x in range(9) if x is odd %}{{ x }}{{ ',' if not loop.last }}{% endfor %}", "1,3,5,7"},
        {"{% for x in range(9) %}{% if x == 2 %}{% continue %}{% elif x > 3 %}{% break %}{% endif %}{{ x "
         "}}{% endfor %}",
         "013"},
        {"{% if 0 %}a{% elif '' %}b{% elif messages %}c{% else %}d{% endif %}", "c"},
        {"{% set a, b = 1, 'x' %}{{ a }}{{ b }}", "1x"},
        {"{% set a %} {{ 1 + 1 }} {% endset %}[{{ a }}]", "[ 2 ]"},
        {"{% set a | upper | trim %} b {% endset %}[{{ a }}]", "[B]"},
        {"{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n "
         "}}",
         "6"},
        {"{% macro m(a, b='x', c=a) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ m(1) }}{{ m(b=3, a=4) }}{{ m() "
         "}}",
         "<1x1><434><x>"},
        {"{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
        {"{% filter upper %}a{{ 'b' }}{% endfilter %}", "AB"},
        {"{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "3False"},
        {"{% generation %}{{ bos_token }}{% endgeneration %}{{ eos_token }}", "<s></s>"},
        {"{{ add_generation_prompt }}{{ tools is none }}", "TrueTrue"},
    };
    EXPECT_TEXTS(list);
}

static void test_variables_of_a_loop_end_with_its_iteration(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{% set a = 1 %}{% for i in [1, 2] %}{{ a }}{% set a = 5 %}{{ a }}{% endfor %}{{ a }}", "15151"},
        {"{% if true %}{% set a = 7 %}{% endif %}{{ a }}", "7"},
        {"{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}",
         "12False"},
        {"{% macro m() %}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}", "L"},
        {"{% for i in 'ab' %}{% for j in 'cd' %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
         "121122"},
    };
    EXPECT_TEXTS(list);
}

static void test_white_space_is_removed_as_with_trim_blocks_and_lstrip_blocks(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"a\n  {% if 1 %}  \n b\n  {% endif %}\n c\n", "a\n  \n b\n c"},
        {"a  {%- if 1 -%}  \n b {%- endif -%} \n c", "abc"},
        {"a \n {{- 1 -}} \n b", "a1b"},
        {"  {{ 1 }}\n  {{ 2 }}  \n", "  1\n  2  "},
        {"x\n  {%+ if 1 %}a{% endif +%}\ny", "x\n  a\ny"},
        {"a\n  {# c #}\nb{#- d -#} \n c {# {{ x }} #}d", "a\nbc d"},
        {"a {%- raw -%} {{ x }} {%- endraw -%} b{% raw %}\n{% if %}{% endraw %}\nc", "a{{ x }}b\n{% if %}c"},
        {"a\r\n{% if 1 %}\r\nb\r{% endif %}\r\nc\r\n", "a\nb\nc"},
        {"\xe3\x80\x80{%- if 1 -%}\xc2\xa0\x62{% endif %}", "b"},
        {"a {% if 1 %}\n  {% if 1 %}\nb{% endif %}{% endif %}", "a b"},
    };
    EXPECT_TEXTS(list);
}

/* --- expressions --------------------------------------------------------------------------------------- */

static void test_operators_have_pythons_results(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }}",
         "7 3 -4 2 3.5 1024"},
        {"{{ 'a' ~ 1 ~ none ~ true }} {{ 'a' + 'b' * 2 }} {{ [1] + [2] }} {{ (1,) + (2,) }}",
         "a1NoneTrue abb [1, 2] (1, 2)"},
        {"{{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 }} {{ 1_000 }}", "1.0 1e+16 1e-05 0.1 1000"},
        {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 == 1.0 }}",
         "True False True True True"},
        {"{{ 'ell' in 'hello' }} {{ 2 not in [1] }} {{ 'a' in {'a': 1} }} {{ 1 in missing }}",
         "True True True False"},
        {"{{ 1 and 0 or 5 }} {{ not 1 == 2 }} {{ 'y' if 0 else 'n' }}{{ 'y' if 0 }}", "5 True n"},
        {"{{ 'hello'[1:3] }} {{ 'hello'[::-1] }} {{ [1, 2, 3, 4][3:0:-2] }} {{ 'abc'[-2:] }} {{ 'abc'[9:] }}",
         "el olleh [4, 2] bc "},
        {"{{ '\xe6\x97\xa5\xe6\x9c\xac'[1] }} {{ '\xe6\x97\xa5\xe6\x9c\xac'|length }} {{ 'ab'[-1] }}{{ "
         "'ab'[7] }}",
         "\xe6\x9c\xac 2 b"},
        {"{{ missing }}{{ messages[0].missing }}{{ none.missing }}{{ 'x' if missing else 'y' }}", "y"},
        {"{{ missing == other }} {{ 1 is defined }} {{ missing is defined }}", "True True False"},
        {"{{ '\\n\\t\\x41\\u00e9\\'' 'b' }}", "\n\tA\xc3\xa9'b"},
        {"{{ {'a': {'b': [1]}}.a['b'][0] }}{{ {'items': 1}['items'] }}{{ [[5]].0.0 }}", "115"},
        {"{{ ['it\\'s', \"d\", none, true, 1.5, {'k': ()}] }} {{ 1, 2 }}",
         "[\"it's\", 'd', None, True, 1.5, {'k': ()}] (1, 2)"},
        {"{{ -1|abs }} {{ (-1)|abs }} {{ 1 - 1 - 1 }} {{ 'a' ~ 'b' == 'ab' }}", "1 1 -1 True"},
    };
    EXPECT_TEXTS(list);
}

static void test_filters_have_jinjas_results(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{{ ' a '|trim }}{{ 'xax'|trim('x') }}{{ 'Ab'|upper }}{{ 'Ab'|lower }}{{ 'aB c'|capitalize }}",
         "aaABabAb c"},
        {"{{ 'foo bAR-baz (qux'|title }} {{ 'aXbX'|replace('X', '-') }} {{ 'aXbX'|replace('X', '-', 1) }}",
         "Foo Bar-Baz (Qux a-b- a-bX"},
        {"{{ [1, 'a', none]|join('-') }} {{ messages|join(',', attribute='role') }}",
         "1-a-None system,user,assistant,user"},
        {"{{ [1, 2]|first }}{{ [1, 2]|last }}{{ []|first }}{{ 'abc'|last }} {{ 'ab'|list }} {{ {'a': "
         "1}|items|list }}",
         "12c ['a', 'b'] [('a', 1)]"},
        {"{{ missing|default('d') }}{{ ''|default('d') }}{{ ''|d('e', true) }}{{ none|default('z', "
         "boolean=true) }}",
         "dez"},
        {"{{ {'a': [1, 2.5, none, true, 'x\\n\\\"\xc3\xa9<'], 'b': {}}|tojson }}",
         "{\"a\": [1, 2.5, null, true, \"x\\n\\\"\xc3\xa9<\"], \"b\": {}}"},
        {"{{ {'b': [1, []], 'a': 2}|tojson(indent=2) }}",
         "{\n  \"b\": [\n    1,\n    []\n  ],\n  \"a\": 2\n}"},
        {"{{ {'b': 1, 'a': '\xc3\xa9'}|tojson(sort_keys=true, separators=(',', ':'), ensure_ascii=true) }}",
         "{\"a\":\"\\u00e9\",\"b\":1}"},
        {"{{ '12'|int + 1 }} {{ 'x'|int(7) }} {{ '3.7'|int }} {{ '1.5'|float }} {{ 42|string + 'x' }}",
         "13 7 3 1.5 42x"},
        {"{{ {'b': 1, 'A': 2}|dictsort }} {{ ['b', 'A', 'c']|sort }} {{ [3, 1]|sort(reverse=true) }}",
         "[('A', 2), ('b', 1)] ['A', 'b', 'c'] [3, 1]"},
        {"{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|list }}",
         "[' Hi ', 'Bye']"},
        {"{{ messages|rejectattr('role', 'in', ['user', 'system'])|list|length }}", "1"},
        {"{{ messages|map(attribute='role')|unique|join(' ') }} {{ [1, 2, 3]|select('odd')|list }}",
         "system user assistant [1, 3]"},
        {"{{ [1, 2]|reverse|list }} {{ 'abc'|reverse }} {{ '<a b=\"c\">&'|e }} {{ '<b>'|safe }}",
         "[2, 1] cba &lt;a b=&#34;c&#34;&gt;&amp; <b>"},
        {"{{ 'a\\nb\\n\\nc'|indent(2) }}|{{ 'a\\nb'|indent(first=true) }}", "a\n  b\n\n  c|    a\n    b"},
        {"{{ [3, 1, 2]|min }}{{ [3, 1, 2]|max }}{{ [3, 1, 2]|sum }}", "136"},
    };
    EXPECT_TEXTS(list);
}

static void test_tests_methods_and_functions_have_pythons_results(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{{ 'a' is string }}{{ {} is mapping }}{{ [] is iterable }}{{ [] is sequence }}{{ 1 is number }}"
         "{{ true is boolean }}{{ true is true }}{{ 1 is true }}{{ none is none }}{{ 1 is not string }}",
         "TrueTrueTrueTrueTrueTrueTrueFalseTrueTrue"},
        {"{{ 1 is equalto 1 }}{{ 4 is divisibleby 2 }}{{ 1 is in [1] }}{{ missing is undefined and 1 }}",
         "TrueTrueTrue1"},
        {"{{ ' x '.strip() }}{{ 'xay'.lstrip('x') }}{{ 'ay'.rstrip('y') }}", "xaya"},
        {"{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(maxsplit=1) }} {{ "
         "'a-b-c'.rsplit('-', 1) }}",
         "['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] ['a-b', 'c']"},
        {"{{ 'hello'.startswith('he') }}{{ 'hello'.endswith(('x', 'lo')) }}{{ \"they're\".title() }}",
         "TrueTrueThey'Re"},
        {"{{ 'aa'.replace('a', 'b') }}{{ 'A'.lower() }}{{ 'a'.upper() }}{{ '{}-{}'.format(1, 'x') }}",
         "bbaA1-x"},
        {"{{ {'a': 1}.items()|list }}{{ {'a': 1}.keys()|list }}{{ {'a': 1}.values()|list }}{{ {'a': "
         "1}.get('b', 2) }}",
         "[('a', 1)]['a'][1]2"},
        {"{% set l = [1] %}{% set _ = l.append(2) %}{{ l }}{{ l.pop(0) }}{{ l }}", "[1, 2]1[2]"},
        {"{{ range(3)|list }}{{ range(5, 0, -2)|list }}{{ dict(a=1) }}", "[0, 1, 2][5, 3, 1]{'a': 1}"},
        {"{{ strftime_now('%d %b %Y, %A %H:%M %-m %B %y %%') }}", "04 Jul 2026, Saturday 09:05 7 July 26 %"},
        {"{{ '\xd0\x9f\xc3\xa9'.lower() }}{{ '\xce\xb1\xc3\xa9'|upper }}",
         "\xd0\xbf\xc3\xa9\xce\x91\xc3\x89"},
    };
    EXPECT_TEXTS(list);
}

/* --- errors -------------------------------------------------------------------------------------------- */

static void test_a_template_can_refuse_a_conversation(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"a\n{{ raise_exception('roles must ' ~ 'alternate') }}",
         "line 2: the template refuses the conversation: roles must alternate"},
    };
    EXPECT_FAILURES(JOULE_INVALID, list);
}

static void test_unsupported_constructs_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"a\n\n{% include 'x' %}", "line 3: 'include' is not supported"},
        {"\n{{ 1|wordwrap }}", "line 2: the filter 'wordwrap' is not supported"},
        {"{{ 1 is sameas 1 }}", "line 1: the test 'sameas' is not supported"},
        {"{{ 'a'.zfill(3) }}", "the method 'zfill' of a string is not supported"},
        {"{{ f(*messages) }}", "arguments with '*'"},
        {"{{ '%s' % 1 }}", "operator '%' for a string"},
        {"{{ 9223372036854775807 + 1 }}", "integers above 64 bits"},
        {"{{ strftime_now('%Q') }}", "strftime_now: %Q"},
        {"{{ 'a'|tojson(other=1) }}", "tojson: an argument is not supported"},
    };
    EXPECT_FAILURES(JOULE_UNSUPPORTED, list);
}

static void test_invalid_templates_are_rejected(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{% if 1 %}", "expected the end of a block, but the template ends"},
        {"{% for x in [1 %}{% endfor %}", "line 1"},
        {"\n{{ 'a }}", "line 2: a string has no end"},
        {"{{ 1 2 }}", "expected '}}', but found '2'"},
        {"{{ }}", "expected an expression, but the tag ends"},
        {"{# a", "the comment {# has no end"},
        {"{% raw %}", "the block {% raw %} has no end"},
        {"{{ a", "{{ has no end"},
        {"{% endif %}", "expected a statement, but found 'endif'"},
        {"{{ (1] }}", "bracket"},
        {"{{ missing.a }}", "'missing' is undefined"},
        {"{{ messages[0].missing.a }}", "'missing' is undefined"},
        {"{{ missing + 1 }}", "'missing' is undefined"},
        {"{{ 1 + 'a' }}", "operator '+' does not accept the types int and string"},
        {"{{ 1 < 'a' }}", "cannot compare values of the types int and string"},
        {"{{ 1 / 0 }}", "division by zero"},
        {"{% for x in 5 %}{% endfor %}", "a value of type int is not iterable"},
        {"{% for a, b in [1] %}{% endfor %}", "is not iterable"},
        {"{% set a.b = 1 %}", "'a' is undefined"},
        {"{% break %}", "outside of a loop"},
        {"{{ 'a'|replace('b') }}", "replace: wrong number of arguments"},
        {"{{ range(200000) }}", "range: more than 100000 items"},
    };
    EXPECT_FAILURES(JOULE_INVALID, list);
}

static void test_evaluation_ends_within_its_limits(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{% endfor %}{% "
         "endfor %}{% endfor %}",
         "the template needs more than"},
        {"{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
         "the template needs more than"},
        {"{% set ns = namespace(s='ab') %}{% for x in range(90) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
         "the template needs more than"},
        {"{{ 'a' * 99999999999 }}", "the template needs more than"},
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nested deeper than"},
        {"{% set ns = namespace(l=[]) %}{% for x in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l "
         "}}",
         "nested deeper than"},
        {"{% set l = [1] %}{% set _ = l.append(l) %}{{ l|tojson }}", "nested deeper than"},
        {"{% set l = [1] %}{% set _ = l.append(l) %}{% set k = [1] %}{% set _ = k.append(k) %}{{ l == k }}",
         "nested deeper than"},
        {"{% for x in range(99999) %}{{ messages|tojson * 99 }}{% endfor %}", "the template needs more than"},
    };
    EXPECT_FAILURES(JOULE_INVALID, list);
}

static void test_deep_nesting_of_a_template_is_rejected(void **state)
{
    (void)state;
    static const char *const parts[] = {"(", "[", "-", "not ", "{% if 1 %}", "a if b else "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t size = strlen(parts[i]), count = 100000;
        char *text = calloc(1, 3 + size * count + 1), *out = NULL;
        assert_non_null(text);
        strcpy(text, parts[i][0] == '{' ? "" : "{{ ");
        for (size_t k = 0, at = strlen(text); k < count; k++, at += size)
            memcpy(text + at, parts[i], size);
        assert_int_equal(render(text, &out), JOULE_INVALID);
        free(text);
    }
}

/* --- families ------------------------------------------------------------------------------------------ */

static char *render_family(const char *family, size_t first, size_t count)
{
    char *text = NULL;
    assert_ok(forge_chat_render(NULL, family, messages + first, count, true, "<s>", "</s>", &text, &error),
              &error);
    return text;
}

static void test_families_have_their_formats(void **state)
{
    (void)state;
    static const struct expectation list[] = {
        {"chatml",
         "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
         "<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n"},
        {"llama2", "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello! </s><s>[INST] Bye [/INST]"},
        {"llama3", "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>"
                   "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n"},
        {"mistral", "<s>[INST] Be brief.\n\n Hi  [/INST] Hello!</s>[INST] Bye [/INST]"},
        {"zephyr", "<|system|>\nBe brief.</s>\n<|user|>\n Hi "
                   "</s>\n<|assistant|>\nHello!</s>\n<|user|>\nBye</s>\n<|assistant|>\n"},
        {"gemma",
         "<s><start_of_turn>user\nBe brief.\n\n Hi<end_of_turn>\n<start_of_turn>model\nHello!<end_of_turn>\n"
         "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n"},
        {"phi3", "<|system|>\nBe brief.<|end|>\n<|user|>\n Hi "
                 "<|end|>\n<|assistant|>\nHello!<|end|>\n<|user|>\nBye<|end|>\n<|assistant|>\n"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char *text = render_family(list[i].template_text, 0, MESSAGES);
        assert_string_equal(text, list[i].expected);
        free(text);
        text = render_family(list[i].template_text, 3, 1);
        assert_contains(text, "Bye");
        free(text);
    }
}

static void test_family_follows_from_markers_only(void **state)
{
    (void)state;
    assert_null(forge_chat_family_of(NULL));
    assert_null(forge_chat_family_of("{{ messages[0].content }}"));
    assert_null(forge_chat_family_of("<|im_start|>"));
    assert_null(forge_chat_family_of("<|im_start|><|im_end|><start_of_turn><end_of_turn>"));
    assert_null(forge_chat_family_of("[SYSTEM_PROMPT][INST][/INST]"));
    static const struct expectation list[] = {
        {"{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' }}", "chatml"},
        {"{{ '[INST] ' + x + ' [/INST]' }}", "mistral"},
        {"{{ '[INST] <<SYS>>' + x + ' [/INST]' }}", "llama2"},
        {"{{ '<|start_header_id|>' + r + '<|end_header_id|>' + c + '<|eot_id|>' }}", "llama3"},
        {"{{ '<|user|>\\n' + c + eos_token }}{{ '<|assistant|>' }}", "zephyr"},
        {"{{ '<|user|>\\n' + c + '<|end|>' + eos_token }}{{ '<|assistant|>' }}", "phi3"},
        {"{{ '<start_of_turn>' + c + '<end_of_turn>' }}", "gemma"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        assert_string_equal(forge_chat_family_of(list[i].template_text), list[i].expected);
}

static void test_wrong_arguments_are_rejected(void **state)
{
    (void)state;
    char *text = NULL;
    forge_chat_message no_role = {NULL, "a"}, no_content = {"user", NULL};
    assert_int_equal(forge_chat_render(NULL, NULL, messages, 1, true, NULL, NULL, &text, &error),
                     JOULE_INVALID);
    assert_int_equal(forge_chat_render(NULL, "other", messages, 1, true, NULL, NULL, &text, &error),
                     JOULE_INVALID);
    assert_contains(error.message, "there is no built-in family other");
    assert_int_equal(forge_chat_render("", NULL, NULL, 1, true, NULL, NULL, &text, &error), JOULE_INVALID);
    assert_int_equal(forge_chat_render("", NULL, messages, 1, true, NULL, NULL, NULL, &error), JOULE_INVALID);
    assert_int_equal(forge_chat_render("", NULL, &no_role, 1, true, NULL, NULL, &text, &error),
                     JOULE_INVALID);
    assert_contains(error.message, "message 0 has no role");
    assert_ok(forge_chat_render("{{ messages[0].content is none }}{{ bos_token }}", NULL, &no_content, 1,
                                true, NULL, NULL, &text, &error),
              &error);
    assert_string_equal(text, "True");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements_run_as_in_jinja),
        cmocka_unit_test(test_variables_of_a_loop_end_with_its_iteration),
        cmocka_unit_test(test_white_space_is_removed_as_with_trim_blocks_and_lstrip_blocks),
        cmocka_unit_test(test_operators_have_pythons_results),
        cmocka_unit_test(test_filters_have_jinjas_results),
        cmocka_unit_test(test_tests_methods_and_functions_have_pythons_results),
        cmocka_unit_test(test_a_template_can_refuse_a_conversation),
        cmocka_unit_test(test_unsupported_constructs_are_named_with_their_line),
        cmocka_unit_test(test_invalid_templates_are_rejected),
        cmocka_unit_test(test_evaluation_ends_within_its_limits),
        cmocka_unit_test(test_deep_nesting_of_a_template_is_rejected),
        cmocka_unit_test(test_families_have_their_formats),
        cmocka_unit_test(test_family_follows_from_markers_only),
        cmocka_unit_test(test_wrong_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
