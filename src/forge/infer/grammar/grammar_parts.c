/* infer/grammar/grammar_parts.c - see grammar_parts.h. */
#include "forge/infer/grammar/grammar_parts.h"

#include <string.h>

enum { MAX_DIGITS = 16, MAX_EXPONENT_DIGITS = 2, MAX_INDENT = 20 };

/* --- characters ----------------------------------------------------------------------------------------- */

static void hex_digits(struct draft *d, uint32_t source, uint8_t first, uint32_t target)
{
    if (first <= '9')
        draft_bytes(d, source, first, '9', target);
    draft_bytes(d, source, first > 'a' ? first : 'a', 'f', target);
    draft_bytes(d, source, first > 'a' ? first - 32 : 'A', 'F', target);
}

/* Adds the four digits of the escape \uXXXX, except for NUL (0000) and surrogates (D800 to DFFF). */
static void four_digits(struct draft *d, uint32_t source, uint32_t target)
{
    /* left[i]: node before i digits of any value; zeros[i]: node after i digits '0'. */
    uint32_t left[4], zeros[4], after_d = draft_node(d);
    left[0] = target;
    zeros[0] = source;
    for (uint32_t i = 1; i < 4; i++) {
        left[i] = draft_node(d);
        zeros[i] = draft_node(d);
        hex_digits(d, left[i], '0', left[i - 1]);
        draft_bytes(d, zeros[i - 1], '0', '0', zeros[i]);
    }
    for (uint32_t i = 1; i < 4; i++)
        hex_digits(d, zeros[i], '1', left[3 - i]);
    draft_bytes(d, source, '1', '9', left[3]);
    draft_bytes(d, source, 'a', 'c', left[3]);
    draft_bytes(d, source, 'A', 'C', left[3]);
    draft_bytes(d, source, 'e', 'f', left[3]);
    draft_bytes(d, source, 'E', 'F', left[3]);
    draft_bytes(d, source, 'd', 'd', after_d);
    draft_bytes(d, source, 'D', 'D', after_d);
    draft_bytes(d, after_d, '0', '7', left[2]);
}

static void escape(struct draft *d, uint32_t source, uint32_t target)
{
    uint32_t after_backslash = draft_node(d), after_u = draft_node(d);
    draft_bytes(d, source, '\\', '\\', after_backslash);
    for (const char *c = "\"\\/bfnrt"; *c; c++)
        draft_bytes(d, after_backslash, (uint8_t)*c, (uint8_t)*c, target);
    draft_bytes(d, after_backslash, 'u', 'u', after_u);
    four_digits(d, after_u, target);
}

/* Adds the characters of 2 to 4 bytes of valid UTF-8, without overlong forms and surrogates. */
static void several_bytes(struct draft *d, uint32_t source, uint32_t target)
{
    static const struct {
        uint8_t first_low, first_high, second_low, second_high, more;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 0}, {0xe0, 0xe0, 0xa0, 0xbf, 1}, {0xe1, 0xec, 0x80, 0xbf, 1},
        {0xed, 0xed, 0x80, 0x9f, 1}, {0xee, 0xef, 0x80, 0xbf, 1}, {0xf0, 0xf0, 0x90, 0xbf, 2},
        {0xf1, 0xf3, 0x80, 0xbf, 2}, {0xf4, 0xf4, 0x80, 0x8f, 2},
    };
    uint32_t left[3] = {target, draft_node(d), draft_node(d)}; /* left[i]: i more bytes */
    draft_bytes(d, left[1], 0x80, 0xbf, left[0]);
    draft_bytes(d, left[2], 0x80, 0xbf, left[1]);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        uint32_t second = draft_node(d);
        draft_bytes(d, source, forms[i].first_low, forms[i].first_high, second);
        draft_bytes(d, second, forms[i].second_low, forms[i].second_high, left[forms[i].more]);
    }
}

/* Note: DEL is excluded, because schema_compile_literal escapes it, and a name must have only one form. */
void part_character(struct draft *d, uint32_t source, uint32_t target)
{
    draft_bytes(d, source, 0x5d, 0x7e, target);
    draft_bytes(d, source, 0x23, 0x5b, target);
    draft_bytes(d, source, 0x20, 0x21, target);
    several_bytes(d, source, target);
    escape(d, source, target);
}

/* Adds copies of `edge` for the ranges of its bytes that are not in `taken`. */
static void complement_edge(struct draft *d, uint32_t source, struct grammar_edge edge, const bool taken[256])
{
    for (unsigned low = edge.low; low <= edge.high;) {
        unsigned high = low;
        if (taken[low]) {
            low++;
            continue;
        }
        while (high < edge.high && !taken[high + 1])
            high++;
        draft_bytes(d, source, (uint8_t)low, (uint8_t)high, edge.target);
        low = high + 1;
    }
}

void part_complement(struct draft *d, uint32_t source, uint32_t model)
{
    bool taken[256] = {['\\'] = true};
    if (d->status != JOULE_OK)
        return;
    for (uint32_t e = d->nodes[source].first; e != NO_NODE; e = d->edges[e].next)
        for (unsigned byte = d->edges[e].edge.low; byte <= d->edges[e].edge.high; byte++)
            taken[byte] = true;
    for (uint32_t e = d->nodes[model].first; e != NO_NODE && d->status == JOULE_OK; e = d->edges[e].next)
        complement_edge(d, source, d->edges[e].edge, taken);
}

uint32_t part_target(const struct draft *d, uint32_t node, uint8_t byte)
{
    for (uint32_t e = d->nodes[node].first; e != NO_NODE; e = d->edges[e].next)
        if (byte >= d->edges[e].edge.low && byte <= d->edges[e].edge.high)
            return d->edges[e].edge.target;
    return NO_NODE;
}

/* --- strings, numbers, white space ---------------------------------------------------------------------- */

uint32_t part_string(struct draft *d, uint32_t source, uint64_t min, uint64_t max)
{
    uint32_t node = draft_node(d), end = draft_node(d);
    draft_bytes(d, source, '"', '"', node);
    for (uint64_t length = 0; d->status == JOULE_OK; length++) {
        if (length >= min)
            draft_bytes(d, node, '"', '"', end);
        if (length >= max)
            return end;
        if (length >= min && max == UINT64_MAX) {
            part_character(d, node, node);
            return end;
        }
        uint32_t next = draft_node(d);
        part_character(d, node, next);
        node = next;
    }
    return end;
}

/* Adds 1 to max digits. Returns the node after them. */
static uint32_t digits(struct draft *d, uint32_t source, size_t max)
{
    uint32_t end = draft_node(d);
    for (size_t i = 0; i < max; i++) {
        uint32_t next = draft_node(d);
        draft_bytes(d, source, '0', '9', next);
        draft_empty(d, next, end);
        source = next;
    }
    return end;
}

uint32_t part_number(struct draft *d, uint32_t source, bool is_integer)
{
    uint32_t unsigned_start = draft_node(d), after_first = draft_node(d), whole = draft_node(d);
    draft_bytes(d, source, '-', '-', unsigned_start);
    draft_empty(d, source, unsigned_start);
    draft_bytes(d, unsigned_start, '0', '0', whole);
    draft_bytes(d, unsigned_start, '1', '9', after_first);
    draft_empty(d, after_first, whole);
    draft_empty(d, digits(d, after_first, MAX_DIGITS - 1), whole);
    if (is_integer)
        return whole;
    uint32_t point = draft_node(d), fraction = draft_node(d), e = draft_node(d), sign = draft_node(d);
    uint32_t end = draft_node(d);
    draft_bytes(d, whole, '.', '.', point);
    draft_empty(d, digits(d, point, MAX_DIGITS), fraction);
    draft_empty(d, whole, fraction);
    draft_bytes(d, fraction, 'e', 'e', e);
    draft_bytes(d, fraction, 'E', 'E', e);
    draft_bytes(d, e, '+', '+', sign);
    draft_bytes(d, e, '-', '-', sign);
    draft_empty(d, e, sign);
    draft_empty(d, digits(d, sign, MAX_EXPONENT_DIGITS), end);
    draft_empty(d, fraction, end);
    return end;
}

uint32_t part_newline(struct draft *d)
{
    uint32_t start = draft_node(d), node = draft_node(d);
    draft_bytes(d, start, '\n', '\n', node);
    for (size_t i = 0; i < MAX_INDENT; i++) {
        uint32_t next = draft_node(d);
        draft_final(d, node);
        draft_bytes(d, node, ' ', ' ', next);
        node = next;
    }
    draft_final(d, node);
    return start;
}

uint32_t part_space(struct draft *d, uint32_t source, uint32_t newline)
{
    uint32_t end = draft_node(d);
    draft_bytes(d, source, ' ', ' ', end);
    draft_call(d, source, newline, end);
    draft_empty(d, source, end);
    return end;
}
