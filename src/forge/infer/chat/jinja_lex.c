/* infer/chat/jinja_lex.c - splits a template into tokens, and removes the white space that Jinja removes
 * around blocks with trim_blocks and lstrip_blocks. */
#include "forge/infer/chat/jinja.h"
#include "base/string.h"

enum { MAX_BRACKETS = 64 };

struct lexer {
    struct jinja *jinja;
    const char *text;
    size_t size, at;
    bool begins_line; /* `at` is the beginning of a line */
    struct token *tokens;
    size_t count, capacity;
    char brackets[MAX_BRACKETS]; /* closing brackets that are missing */
    size_t bracket_count;
};

static bool fail(struct lexer *lexer, const char *what)
{
    jinja_fail(lexer->jinja, JOULE_INVALID, "%s", what);
    return false;
}

static bool starts(const struct lexer *lexer, size_t at, const char *text)
{
    size_t size = strlen(text);
    return size <= lexer->size - at && memcmp(lexer->text + at, text, size) == 0;
}

static bool add(struct lexer *lexer, struct token token)
{
    if (lexer->count == lexer->capacity) {
        size_t capacity = lexer->capacity ? 2 * lexer->capacity : 64;
        struct token *grown = jinja_alloc(lexer->jinja, capacity * sizeof *grown);
        if (!grown)
            return false;
        if (lexer->count)
            memcpy(grown, lexer->tokens, lexer->count * sizeof *grown);
        lexer->tokens = grown;
        lexer->capacity = capacity;
    }
    token.line = lexer->jinja->line;
    lexer->tokens[lexer->count++] = token;
    return true;
}

/* Moves to offset `to`, and counts the lines up to there. */
static void advance(struct lexer *lexer, size_t to)
{
    for (; lexer->at < to; lexer->at++)
        lexer->jinja->line += lexer->text[lexer->at] == '\n';
    lexer->begins_line = to > 0 && lexer->text[to - 1] == '\n';
}

/* Returns the offset after the white space at `at`. */
static size_t after_space(const struct lexer *lexer, size_t at)
{
    struct span rest = {lexer->text + at, lexer->size - at};
    return lexer->size - span_strip(rest, (struct span){0}, true, false).size;
}

/* Returns the offset after the end of a tag at `at`, and after the white space that this end removes;
 * SIZE_MAX: the tag does not end at `at`. end: two bytes, for example "%}". A sign may stand in front of
 * them: "-%}", "+%}". */
static size_t after_end(const struct lexer *lexer, size_t at, const char *end, bool trims)
{
    char sign = at < lexer->size ? lexer->text[at] : '\0';
    bool has_sign = sign == '-' || (sign == '+' && trims);
    if (!starts(lexer, at + has_sign, end))
        return SIZE_MAX;
    at += has_sign + strlen(end);
    if (sign == '-')
        return after_space(lexer, at);
    return trims && !has_sign && at < lexer->size && lexer->text[at] == '\n' ? at + 1 : at;
}

/* --- text ---------------------------------------------------------------------------------------------- */

/* Adds the text from lexer->at to a tag at `end`. Removes white space at its end as the tag requires. */
static bool add_data(struct lexer *lexer, size_t end, bool is_output)
{
    struct span data = {lexer->text + lexer->at, end - lexer->at};
    char sign = end + 2 < lexer->size ? lexer->text[end + 2] : '\0';
    if (sign == '-') {
        data = span_strip(data, (struct span){0}, false, true);
    } else if (sign != '+' && !is_output) {
        size_t line = data.size;
        while (line > 0 && data.bytes[line - 1] != '\n')
            line--;
        struct span start = {data.bytes + line, data.size - line};
        if ((line > 0 || lexer->begins_line) && !span_strip(start, (struct span){0}, true, false).size)
            data.size = line;
    }
    bool is_added = !data.size || add(lexer, (struct token){.kind = TOKEN_DATA, .text = data});
    advance(lexer, end);
    return is_added;
}

static bool skip_comment(struct lexer *lexer)
{
    for (size_t i = lexer->at; i + 1 < lexer->size; i++) {
        size_t end = after_end(lexer, i, "#}", true);
        if (end != SIZE_MAX) {
            advance(lexer, end);
            return true;
        }
    }
    return fail(lexer, "the comment {# has no end");
}

/* Returns the offset after `word` and the white space around it, or SIZE_MAX if another word is at `at`. */
static size_t after_word(const struct lexer *lexer, size_t at, const char *word)
{
    at = after_space(lexer, at);
    return starts(lexer, at, word) ? after_space(lexer, at + strlen(word)) : SIZE_MAX;
}

/* Adds the text of a raw block, which begins at lexer->at. */
static bool add_raw(struct lexer *lexer)
{
    for (size_t i = lexer->at; i + 1 < lexer->size; i++) {
        if (!starts(lexer, i, "{%"))
            continue;
        bool has_sign = starts(lexer, i + 2, "-") || starts(lexer, i + 2, "+");
        size_t end = after_word(lexer, i + 2 + has_sign, "endraw");
        end = end == SIZE_MAX ? end : after_end(lexer, end, "%}", true);
        if (end == SIZE_MAX)
            continue;
        if (!add_data(lexer, i, false))
            return false;
        advance(lexer, end);
        return true;
    }
    return fail(lexer, "the block {% raw %} has no end");
}

/* --- expressions --------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits: `count` if base is 16, 1 to `count` if base is 8. Returns their number. */
static size_t read_digits(const char *text, size_t size, size_t count, uint32_t base, uint32_t *out_code)
{
    size_t i = 0;
    for (*out_code = 0; i < count && i < size; i++) {
        char c = text[i], lower = (char)(c | 32);
        uint32_t digit = is_digit(c)                    ? (uint32_t)(c - '0')
                         : lower >= 'a' && lower <= 'f' ? (uint32_t)(lower - 'a' + 10)
                                                        : 99;
        if (digit >= base)
            break;
        *out_code = *out_code * base + digit;
    }
    return i;
}

/* Decodes the escape sequence after a backslash. Returns its size, and the decoded bytes. */
static size_t decode_escape(const char *text, size_t size, char out[4], size_t *out_size)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    uint32_t code;
    size_t digits = *text == 'x' ? 2 : *text == 'u' ? 4 : *text == 'U' ? 8 : 0;
    const char *simple = strchr(from, *text);
    *out_size = 1;
    if (*text == '\n') {
        *out_size = 0;
        return 1;
    }
    if (simple && *text) {
        out[0] = to[simple - from];
        return 1;
    }
    if (*text >= '0' && *text <= '7') {
        size_t used = read_digits(text, size, 3, 8, &code);
        *out_size = code_encode(code, out);
        return used;
    }
    if (digits && read_digits(text + 1, size - 1, digits, 16, &code) == digits && code <= 0x10ffff) {
        *out_size = code_encode(code, out);
        return 1 + digits;
    }
    out[0] = '\\';
    return 0;
}

static bool add_string(struct lexer *lexer)
{
    size_t begin = lexer->at + 1, end = begin;
    char quote = lexer->text[lexer->at];
    while (end < lexer->size && lexer->text[end] != quote)
        end += lexer->text[end] == '\\' && end + 1 < lexer->size ? 2 : 1;
    if (end >= lexer->size)
        return fail(lexer, "a string has no end");
    char *decoded = jinja_alloc(lexer->jinja, end - begin + 4);
    if (!decoded)
        return false;
    size_t size = 0;
    for (size_t i = begin; i < end;) {
        size_t added = 1;
        if (lexer->text[i] != '\\')
            decoded[size] = lexer->text[i++];
        else
            i += 1 + decode_escape(lexer->text + i + 1, end - i - 1, decoded + size, &added);
        size += added;
    }
    struct token token = {.kind = TOKEN_STRING, .text = {decoded, size}};
    bool is_added = add(lexer, token);
    advance(lexer, end + 1);
    return is_added;
}

static bool add_number(struct lexer *lexer)
{
    char digits[64];
    size_t end = lexer->at, size = 0;
    const struct token *last = lexer->count ? &lexer->tokens[lexer->count - 1] : NULL;
    bool is_attribute = last && jinja_is_operator(last, "."), is_float = false;
    for (; end < lexer->size && size + 1 < sizeof digits; end++) {
        char c = lexer->text[end], next = end + 1 < lexer->size ? lexer->text[end + 1] : '\0';
        bool is_point = c == '.' && is_digit(next) && !is_float && !is_attribute;
        bool is_exponent = (c | 32) == 'e' && !is_attribute &&
                           (is_digit(next) || ((next == '-' || next == '+') && end + 2 < lexer->size &&
                                               is_digit(lexer->text[end + 2])));
        bool is_sign = (c == '-' || c == '+') && size && (digits[size - 1] | 32) == 'e';
        if (!is_digit(c) && c != '_' && !is_point && !is_exponent && !is_sign)
            break;
        is_float = is_float || is_point || is_exponent;
        if (c != '_')
            digits[size++] = c;
    }
    digits[size] = '\0';
    struct token token = {.kind = is_float ? TOKEN_FLOAT : TOKEN_INT,
                          .text = {lexer->text + lexer->at, end - lexer->at}};
    if (is_float ? !string_to_double(digits, &token.number) : !string_to_i64(digits, 10, &token.integer))
        return fail(lexer, "a number is too large or malformed");
    advance(lexer, end);
    return add(lexer, token);
}

/* Tracks the open brackets. Returns false if `c` does not close the innermost open bracket. */
static bool match_bracket(struct lexer *lexer, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        if (lexer->bracket_count == MAX_BRACKETS)
            return fail(lexer, "brackets are nested too deep");
        lexer->brackets[lexer->bracket_count++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (!lexer->bracket_count || lexer->brackets[--lexer->bracket_count] != c)
            return fail(lexer, "a closing bracket has no opening bracket");
    }
    return true;
}

static bool add_operator(struct lexer *lexer)
{
    static const char *const operators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "*",
                                            "/",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                            "=",  "<",  ">",  ".",  ":",  "|",  ",", ";"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (starts(lexer, lexer->at, operators[i])) {
            struct span text = {operators[i], strlen(operators[i])};
            if (!match_bracket(lexer, text.bytes[0]))
                return false;
            advance(lexer, lexer->at + text.size);
            return add(lexer, (struct token){.kind = TOKEN_OPERATOR, .text = text});
        }
    jinja_fail(lexer->jinja, JOULE_INVALID, "unexpected character '%c'", lexer->text[lexer->at]);
    return false;
}

static bool add_token(struct lexer *lexer)
{
    char c = lexer->text[lexer->at];
    if (is_digit(c))
        return add_number(lexer);
    if (c == '"' || c == '\'')
        return add_string(lexer);
    if (!is_word(c))
        return add_operator(lexer);
    size_t end = lexer->at;
    while (end < lexer->size && is_word(lexer->text[end]))
        end++;
    struct token token = {.kind = TOKEN_NAME, .text = {lexer->text + lexer->at, end - lexer->at}};
    advance(lexer, end);
    return add(lexer, token);
}

/* Adds the tokens of a tag, which begins at lexer->at. */
static bool add_tag(struct lexer *lexer, bool is_output)
{
    lexer->bracket_count = 0;
    if (!add(lexer, (struct token){.kind = is_output ? TOKEN_OUTPUT : TOKEN_BLOCK}))
        return false;
    for (;;) {
        advance(lexer, after_space(lexer, lexer->at));
        if (lexer->at == lexer->size)
            return fail(lexer, is_output ? "{{ has no end" : "{% has no end");
        size_t end = lexer->bracket_count ? SIZE_MAX
                                          : after_end(lexer, lexer->at, is_output ? "}}" : "%}", !is_output);
        if (end != SIZE_MAX) {
            bool is_added =
                add(lexer, (struct token){.kind = is_output ? TOKEN_OUTPUT_END : TOKEN_BLOCK_END});
            advance(lexer, end);
            return is_added;
        }
        if (!add_token(lexer))
            return false;
    }
}

/* --- template ------------------------------------------------------------------------------------------ */

/* Adds the text before the next tag, and the tag. */
static bool add_next(struct lexer *lexer)
{
    size_t begin = lexer->at;
    while (begin + 1 < lexer->size &&
           (lexer->text[begin] != '{' || !strchr("{%#", lexer->text[begin + 1]) || !lexer->text[begin + 1]))
        begin++;
    if (begin + 1 >= lexer->size) {
        struct token rest = {.kind = TOKEN_DATA, .text = {lexer->text + lexer->at, lexer->size - lexer->at}};
        lexer->at = lexer->size;
        return add(lexer, rest);
    }
    char kind = lexer->text[begin + 1];
    if (!add_data(lexer, begin, kind == '{'))
        return false;
    bool has_sign = starts(lexer, begin + 2, "-") || starts(lexer, begin + 2, "+");
    advance(lexer, begin + 2 + has_sign);
    if (kind == '#')
        return skip_comment(lexer);
    size_t raw = kind == '%' ? after_word(lexer, lexer->at, "raw") : SIZE_MAX;
    raw = raw == SIZE_MAX ? raw : after_end(lexer, raw, "%}", false);
    if (raw == SIZE_MAX)
        return add_tag(lexer, kind == '{');
    advance(lexer, raw);
    return add_raw(lexer);
}

/* Copies a template with newlines as "\n", without a newline at its end. */
static bool copy_template(struct lexer *lexer, const char *text, size_t size)
{
    char *copy = jinja_alloc(lexer->jinja, size + 1);
    if (!copy)
        return false;
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\r')
            copy[lexer->size++] = text[i];
        else if (i + 1 == size || text[i + 1] != '\n')
            copy[lexer->size++] = '\n';
    lexer->size -= lexer->size && copy[lexer->size - 1] == '\n';
    lexer->text = copy;
    return true;
}

const struct token *jinja_lex(struct jinja *jinja, const char *text, size_t size)
{
    struct lexer lexer = {.jinja = jinja, .begins_line = true};
    if (size > JINJA_MAX_TEMPLATE) {
        jinja_fail(jinja, JOULE_INVALID, "the template has more than %d bytes", JINJA_MAX_TEMPLATE);
        return NULL;
    }
    if (!copy_template(&lexer, text, size))
        return NULL;
    jinja->line = 1;
    while (lexer.at < lexer.size)
        if (!add_next(&lexer))
            return NULL;
    return add(&lexer, (struct token){.kind = TOKEN_END}) ? lexer.tokens : NULL;
}
