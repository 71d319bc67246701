/* support/joulec/scev_expression.c - see scev_text.h: the grammar of one expression.
 *
 *   expression = [type] integer | name | "@" name | "(" sum ")" flags
 *              | "{" expression {",+," expression} "}" flags "<" name ">"
 *   sum        = cast type expression "to" type | expression { operator expression }
 *
 * Note: all operators in one pair of parentheses must be equal. If the text in parentheses is not understood,
 * such as a cast of pointers, the expression is unknown, and reading continues after the parentheses.
 * Names of globals keep their '@'; no other name begins with '@'.
 */
#include "support/joulec/scev_text.h"

#include <string.h>

#define MAX_OPERANDS 64

struct reader {
    struct expr_pool *pool;
    const char *at, *end;
    unsigned depth;
};

static const struct expr *read_expression(struct reader *reader);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at == ' ')
        reader->at++;
}

static char peek(const struct reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

/* Skips `word` and returns true if it is next. */
static bool accept(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool read_integer(struct reader *reader, int64_t *out_value)
{
    const char *from = reader->at;
    bool is_negative = accept(reader, "-");
    uint64_t value = 0, max = is_negative ? (uint64_t)1 << 63 : INT64_MAX;
    if (!is_digit(peek(reader))) {
        reader->at = from;
        return false;
    }
    for (; is_digit(peek(reader)); reader->at++) {
        unsigned digit = (unsigned)(*reader->at - '0');
        if (value > (max - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out_value = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* Reads an integer type such as "i32" and sets its width in bits. Returns false for other types. */
static bool read_type(struct reader *reader, uint32_t *out_bits)
{
    const char *from = reader->at;
    int64_t bits = 0;
    if (accept(reader, "i") && is_digit(peek(reader)) && read_integer(reader, &bits) && bits >= 1 &&
        bits <= 1 << 23) {
        *out_bits = (uint32_t)bits;
        return true;
    }
    reader->at = from;
    return false;
}

static bool is_of_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
           c == '$' || c == '-';
}

/* Reads a name after its '%' or '@', without quotes. Returns false for a name with an escape. */
static bool read_name(struct reader *reader, uint32_t *out_name)
{
    const char *from = reader->at;
    if (peek(reader) == '"') {
        from++;
        do
            reader->at++;
        while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\\' && *reader->at != '\0');
        if (peek(reader) != '"')
            return false;
        *out_name = expr_name(reader->pool, from, (size_t)(reader->at - from));
        reader->at++;
        return *out_name != INDEX_NONE;
    }
    while (reader->at < reader->end && is_of_name(*reader->at))
        reader->at++;
    if (reader->at == from)
        return false;
    *out_name = expr_name(reader->pool, from, (size_t)(reader->at - from));
    return *out_name != INDEX_NONE;
}

static void skip_flags(struct reader *reader)
{
    while (accept(reader, "<nuw>") || accept(reader, "<nsw>") || accept(reader, "<nw>"))
        ;
}

/* Skips to the end of the bracket that was opened before `at`. Quoted names may contain brackets. */
static bool skip_to_close(struct reader *reader)
{
    size_t open = 1;
    bool is_quoted = false;
    for (; reader->at < reader->end && open > 0; reader->at++) {
        char c = *reader->at;
        if (c == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted && (c == '(' || c == '{'))
            open++;
        else if (!is_quoted && (c == ')' || c == '}'))
            open--;
    }
    return open == 0;
}

static bool read_cast_kind(struct reader *reader, enum expr_kind *out_kind)
{
    static const struct {
        const char *word;
        enum expr_kind kind;
    } casts[] = {{"zext ", EXPR_ZEXT}, {"sext ", EXPR_SEXT}, {"trunc ", EXPR_TRUNC}};
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (!accept(reader, casts[i].word))
            continue;
        *out_kind = casts[i].kind;
        return true;
    }
    return false;
}

static const struct expr *read_cast(struct reader *reader, enum expr_kind kind)
{
    uint32_t from = 0, to = 0;
    if (!read_type(reader, &from) || !accept(reader, " "))
        return NULL;
    const struct expr *operand = read_expression(reader);
    if (!operand || !accept(reader, " to ") || !read_type(reader, &to))
        return NULL;
    return expr_cast(reader->pool, kind, operand, from < to ? from : to, to);
}

static bool read_operator(struct reader *reader, enum expr_kind *out_kind)
{
    static const struct {
        const char *word;
        enum expr_kind kind;
    } operators[] = {{" + ", EXPR_ADD},     {" * ", EXPR_MUL},         {" /u ", EXPR_UDIV},
                     {" umin ", EXPR_UMIN}, {" umin_seq ", EXPR_UMIN}, {" umax ", EXPR_UMAX},
                     {" smin ", EXPR_SMIN}, {" smax ", EXPR_SMAX}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!accept(reader, operators[i].word))
            continue;
        *out_kind = operators[i].kind;
        return true;
    }
    return false;
}

static const struct expr *read_operands(struct reader *reader)
{
    const struct expr *operands[MAX_OPERANDS];
    size_t count = 0;
    enum expr_kind kind = EXPR_UNKNOWN, next;
    for (;;) {
        const struct expr *operand = read_expression(reader);
        if (!operand || count == MAX_OPERANDS)
            return NULL;
        operands[count++] = operand;
        if (!read_operator(reader, &next))
            break;
        if (count > 1 && next != kind)
            return NULL;
        kind = next;
    }
    return count == 1 ? operands[0] : expr_nary(reader->pool, kind, operands, count);
}

static const struct expr *read_parenthesis(struct reader *reader)
{
    const char *inside = reader->at;
    enum expr_kind kind = EXPR_UNKNOWN;
    const struct expr *expr = read_cast_kind(reader, &kind) ? read_cast(reader, kind) : read_operands(reader);
    if (expr && !accept(reader, ")"))
        expr = NULL;
    if (!expr) {
        reader->at = inside;
        if (!skip_to_close(reader))
            return NULL;
        expr = expr_unknown();
    }
    skip_flags(reader);
    return expr;
}

static const struct expr *read_recurrence(struct reader *reader)
{
    const struct expr *operands[MAX_OPERANDS];
    size_t count = 0;
    uint32_t loop = INDEX_NONE;
    do {
        if (count == MAX_OPERANDS)
            return NULL;
        operands[count] = read_expression(reader);
        if (!operands[count++])
            return NULL;
    } while (accept(reader, ",+,"));
    if (!accept(reader, "}"))
        return NULL;
    skip_flags(reader);
    if (!accept(reader, "<%") || !read_name(reader, &loop) || !accept(reader, ">"))
        return NULL;
    return expr_recurrence(reader->pool, operands, count, loop);
}

/* Reads "@name". */
static const struct expr *read_global(struct reader *reader)
{
    const char *from = reader->at++;
    while (reader->at < reader->end && is_of_name(*reader->at))
        reader->at++;
    uint32_t name = expr_name(reader->pool, from, (size_t)(reader->at - from));
    return reader->at > from + 1 && name != INDEX_NONE ? expr_symbol(reader->pool, name) : NULL;
}

static const struct expr *read_atom(struct reader *reader)
{
    int64_t value = 0;
    uint32_t name = INDEX_NONE, bits = 0;
    if (peek(reader) == '@')
        return read_global(reader);
    if (accept(reader, "%"))
        return read_name(reader, &name) ? expr_symbol(reader->pool, name) : NULL;
    if (read_type(reader, &bits) && !accept(reader, " "))
        return NULL;
    return read_integer(reader, &value) ? expr_integer(reader->pool, value) : NULL;
}

/* Reads an expression. Returns NULL if the text is not understood. */
static const struct expr *read_expression(struct reader *reader)
{
    if (reader->depth >= EXPR_MAX_DEPTH)
        return NULL;
    reader->depth++;
    const struct expr *expr;
    if (accept(reader, "("))
        expr = read_parenthesis(reader);
    else if (accept(reader, "{"))
        expr = read_recurrence(reader);
    else
        expr = read_atom(reader);
    reader->depth--;
    return expr;
}

const struct expr *scev_expression(struct expr_pool *pool, const char *text, size_t length)
{
    struct reader reader = {.pool = pool, .at = text, .end = text + length};
    skip_blanks(&reader);
    const struct expr *expr = read_expression(&reader);
    skip_blanks(&reader);
    return expr && reader.at == reader.end ? expr : expr_unknown();
}
