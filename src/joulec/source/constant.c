/* joulec/source/constant.c - see constant.h. */
#include "joulec/source/constant.h"

#include <stdbool.h>
#include <string.h>
#include "base/error.h"

#define MAX_DEPTH 32 /* nested parentheses and signs */

/* State of the evaluation: the text, the position in it, and the depth of parentheses. */
struct reading {
    const char *text;
    size_t at, size;
    unsigned depth;
    joule_error *error;
};

/* Operators from lowest to highest precedence; all are left-associative. */
static const char *const operators[] = {"<>", "+-", "*/%"};
#define LEVELS (sizeof operators / sizeof *operators)

static bool read_level(struct reading *r, size_t level, int64_t *out);

static bool fail(struct reading *r, const char *message)
{
    error_set(r->error, JOULE_INVALID, "%s", message);
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips blanks. Returns the next character without consuming it; 0: end of the text. */
static char peek(struct reading *r)
{
    while (r->at < r->size && (r->text[r->at] == ' ' || r->text[r->at] == '\t'))
        r->at++;
    return r->at < r->size ? r->text[r->at] : '\0';
}

/* Returns the length in bytes of the next token, which is a number, a name, or one character. */
static size_t word_length(const struct reading *r)
{
    size_t length = 0, left = r->size - r->at;
    while (length < left && (is_letter(r->text[r->at + length]) || is_digit(r->text[r->at + length]) ||
                             (length && (r->text[r->at + length] == '.' || r->text[r->at + length] == '\''))))
        length++;
    return length ? length : left > 0;
}

static bool fail_at_word(struct reading *r)
{
    size_t length = word_length(r);
    if (!length)
        return fail(r, "a number is missing");
    error_set(r->error, JOULE_INVALID, "'%.*s' is not a whole number", (int)(length < 64 ? length : 64),
              r->text + r->at);
    return false;
}

static int digit_of(char c)
{
    char low = (char)(c | 0x20);
    return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : 16;
}

static bool is_suffix(const char *word, size_t length)
{
    bool is_good = length <= 3;
    for (size_t i = 0; i < length && is_good; i++)
        is_good = strchr("uUlL", word[i]) != NULL;
    return is_good;
}

static bool read_digits(struct reading *r, int64_t *out)
{
    const char *word = r->text + r->at;
    size_t length = word_length(r), i = 0;
    int base = 10;
    if (length > 1 && word[0] == '0') {
        base = word[1] == 'x' || word[1] == 'X' ? 16 : word[1] == 'b' || word[1] == 'B' ? 2 : 8;
        i = base == 8 ? 1 : 2;
    }
    *out = 0;
    size_t first = i;
    for (; i < length && digit_of(word[i]) < base; i++)
        if (__builtin_mul_overflow(*out, base, out) || __builtin_add_overflow(*out, digit_of(word[i]), out))
            return fail(r, "a number is too large");
    if ((i == first && base != 8) || !is_suffix(word + i, length - i))
        return fail_at_word(r);
    r->at += length;
    return true;
}

static bool read_nested(struct reading *r, int64_t *out)
{
    char sign = r->text[r->at++];
    if (++r->depth > MAX_DEPTH)
        return fail(r, "parentheses and signs are nested too deep");
    if (sign == '(') {
        if (!read_level(r, 0, out))
            return false;
        if (peek(r) != ')')
            return peek(r) ? fail_at_word(r) : fail(r, "a parenthesis is not closed");
        r->at++;
    } else {
        if (!read_level(r, LEVELS, out))
            return false;
        if (sign == '-' && __builtin_sub_overflow((int64_t)0, *out, out))
            return fail(r, "a number is too large");
    }
    r->depth--;
    return true;
}

static bool apply(struct reading *r, char operator, int64_t * left, int64_t right)
{
    bool overflows = false;
    switch (operator) {
    case '+':
        overflows = __builtin_add_overflow(*left, right, left);
        break;
    case '-':
        overflows = __builtin_sub_overflow(*left, right, left);
        break;
    case '*':
        overflows = __builtin_mul_overflow(*left, right, left);
        break;
    case '<':
        if (right < 0 || right > 62 || *left < 0)
            return fail(r, "a shift is out of range");
        overflows = __builtin_mul_overflow(*left, (int64_t)1 << right, left);
        break;
    case '>':
        if (right < 0 || right > 62 || *left < 0)
            return fail(r, "a shift is out of range");
        *left >>= right;
        break;
    default:
        if (right == 0 || (*left == INT64_MIN && right == -1))
            return fail(r, "division by 0");
        *left = operator== '/' ? *left / right : * left % right;
    }
    return !overflows || fail(r, "a number is too large");
}

/* Evaluates operators of `level` and higher levels. At level LEVELS, reads a number with an optional sign, or
 * an expression in parentheses. Returns false, with an error, if the text is not a constant. */
static bool read_level(struct reading *r, size_t level, int64_t *out)
{
    *out = 0;
    if (level == LEVELS) {
        char c = peek(r);
        if (is_digit(c))
            return read_digits(r, out);
        return c && strchr("(+-", c) ? read_nested(r, out) : fail_at_word(r);
    }
    if (!read_level(r, level + 1, out))
        return false;
    for (char c = peek(r); c && strchr(operators[level], c); c = peek(r)) {
        int64_t right;
        if (level == 0 && (r->size - r->at < 2 || r->text[r->at + 1] != c)) /* a single "<" or ">" is not an
                                                                             * operator */
            return fail_at_word(r);
        r->at += level == 0 ? 2 : 1;
        if (!read_level(r, level + 1, &right) || !apply(r, c, out, right))
            return false;
    }
    return true;
}

joule_status constant_read(const char *text, size_t size, int64_t *out_value, size_t *out_end,
                           joule_error *out_error)
{
    struct reading r = {text, 0, size, 0, out_error};
    bool is_good = read_level(&r, 0, out_value);
    if (is_good && peek(&r) && !strchr(",)", peek(&r)))
        is_good = fail_at_word(&r);
    *out_end = r.at;
    return is_good ? JOULE_OK : JOULE_INVALID;
}
