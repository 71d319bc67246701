/* ir/dim.c - see dim.h.
 *
 * Note: a sum is a chain "term + rest", and a term is a chain "factor * rest". Both chains are sorted by
 * descending entry number, and a plain number comes last. All arithmetic takes chains apart and rebuilds them
 * in this order. For example, 2*A + B is the chain B + (A * 2) if B is entry 1 and A is entry 0.
 */
#include "forge/ir/dim.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/text.h"

void dim_table_free(struct dim_table *table)
{
    free(table->entries);
    *table = (struct dim_table){0};
}

bool dim_table_copy(struct dim_table *table, const struct dim_table *from)
{
    *table = (struct dim_table){0};
    if (!array_reserve((void **)&table->entries, &table->capacity, from->count, sizeof *from->entries))
        return false;
    if (from->count)
        memcpy(table->entries, from->entries, from->count * sizeof *from->entries);
    table->count = from->count;
    return true;
}

static const struct dim *entry(const struct dim_table *table, forge_dim dim)
{
    return &table->entries[-dim - 1];
}

bool dim_is_known(const struct dim_table *table, forge_dim dim)
{
    return dim >= 0 ? dim <= DIM_MAX_NUMBER : dim != DIM_FAILED && (uint64_t)-dim <= table->count;
}

static bool is_kind(const struct dim_table *table, forge_dim dim, enum dim_kind kind)
{
    return dim < 0 && dim != DIM_FAILED && entry(table, dim)->kind == kind;
}

int64_t dim_min(const struct dim_table *table, forge_dim dim)
{
    return dim >= 0 ? dim : entry(table, dim)->min;
}

int64_t dim_max(const struct dim_table *table, forge_dim dim)
{
    return dim >= 0 ? dim : entry(table, dim)->max;
}

/* Returns a number that always divides `dim`. */
static int64_t multiple_of(const struct dim_table *table, forge_dim dim)
{
    return dim >= 0 ? dim : entry(table, dim)->multiple;
}

/* --- numbers -------------------------------------------------------------------------------------------- */

/* Returns the number, or DIM_FAILED if it is above DIM_MAX_NUMBER. */
static int64_t in_range(int64_t number)
{
    return number > DIM_MAX_NUMBER ? DIM_FAILED : number;
}

static int64_t product_of(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? DIM_FAILED : in_range(product);
}

int64_t dim_apply(enum dim_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case DIM_PRODUCT:
        return product_of(a, b);
    case DIM_SUM:
        return in_range(a + b);
    default:
        return b > 0 ? a / b : DIM_FAILED;
    }
}

int64_t dim_value(const struct dim_table *table, forge_dim dim, const int64_t *values)
{
    if (dim >= 0)
        return dim;
    if (!dim_is_known(table, dim))
        return DIM_FAILED;
    const struct dim *e = entry(table, dim);
    if (e->kind == DIM_SYMBOL)
        return values[-dim - 1];
    int64_t a = dim_value(table, e->a, values), b = dim_value(table, e->b, values);
    return a < 0 || b < 0 ? DIM_FAILED : dim_apply((enum dim_kind)e->kind, a, b);
}

/* --- entries -------------------------------------------------------------------------------------------- */

static forge_dim add_entry(struct dim_table *table, const struct dim *e)
{
    if (table->count >= DIM_MAX_ENTRIES || !ARRAY_ROOM(table->entries, table->capacity, table->count))
        return DIM_FAILED;
    table->entries[table->count++] = *e;
    return -(forge_dim)table->count;
}

forge_dim dim_symbol(struct dim_table *table, const char *name, int64_t min, int64_t max, int64_t multiple)
{
    struct dim e = {.kind = DIM_SYMBOL, .min = min, .max = max, .multiple = multiple, .leaves = 1};
    if (!string_copy(e.name, sizeof e.name, name) || !*name || min < 0 || max < min || max > DIM_MAX_NUMBER ||
        multiple < 1 || dim_symbol_max(&e) < min)
        return DIM_FAILED;
    for (size_t i = 0; i < table->count; i++) {
        const struct dim *known = &table->entries[i];
        if (known->kind == DIM_SYMBOL && strcmp(known->name, name) == 0)
            return known->min == min && known->max == max && known->multiple == multiple ? -(forge_dim)i - 1
                                                                                         : DIM_FAILED;
    }
    return add_entry(table, &e);
}

static uint32_t leaves_of(const struct dim_table *table, forge_dim dim)
{
    return dim >= 0 ? 1 : entry(table, dim)->leaves;
}

/* Returns the entry of the expression `a kind b`; adds the entry if it is new. Returns DIM_FAILED on failure.
 * a and b are already in chain order. */
static forge_dim intern(struct dim_table *table, enum dim_kind kind, forge_dim a, forge_dim b)
{
    struct dim e;
    if (a == DIM_FAILED || b == DIM_FAILED)
        return DIM_FAILED;
    for (size_t i = 0; i < table->count; i++) {
        const struct dim *known = &table->entries[i];
        if (known->kind == kind && known->a == a && known->b == b)
            return -(forge_dim)i - 1;
    }
    return dim_make_entry(table, kind, a, b, &e) ? add_entry(table, &e) : DIM_FAILED;
}

bool dim_make_entry(const struct dim_table *table, enum dim_kind kind, forge_dim a, forge_dim b,
                    struct dim *out)
{
    struct dim e = {.kind = kind, .a = a, .b = b, .leaves = leaves_of(table, a) + leaves_of(table, b)};
    int64_t min_a = dim_min(table, a), min_b = dim_min(table, b), max_a = dim_max(table, a),
            max_b = dim_max(table, b);
    bool divides = kind == DIM_QUOTIENT;
    e.min = dim_apply(kind, min_a, divides ? max_b : min_b);
    e.max = dim_apply(kind, max_a, divides ? (min_b ? min_b : 1) : max_b);
    int64_t ma = multiple_of(table, a), mb = multiple_of(table, b);
    e.multiple = kind == DIM_PRODUCT ? product_of(ma, mb)
                 : kind == DIM_SUM   ? greatest_common_divisor(ma, mb)
                                     : 1;
    if (e.multiple < 1)
        e.multiple = 1;
    *out = e;
    return e.min != DIM_FAILED && e.max != DIM_FAILED && e.leaves <= DIM_MAX_LEAVES;
}

/* --- products: factor * (factor * ... number) ----------------------------------------------------------- */

/* Returns factor * term in canonical order. term: in canonical order; factor: not a sum or product. */
static forge_dim times_factor(struct dim_table *table, forge_dim factor, forge_dim term)
{
    if (factor == DIM_FAILED || term == DIM_FAILED || factor == 0 || term == 0)
        return factor == DIM_FAILED || term == DIM_FAILED ? DIM_FAILED : 0;
    if (factor == 1 || term == 1)
        return factor == 1 ? term : factor;
    if (factor > 0 && term > 0)
        return product_of(factor, term);
    forge_dim head = term, rest = 1;
    if (is_kind(table, term, DIM_PRODUCT)) {
        head = entry(table, term)->a;
        rest = entry(table, term)->b;
    }
    if (factor < head || (factor == head && rest == 1))
        return intern(table, DIM_PRODUCT, factor, term);
    forge_dim tail = times_factor(table, factor, rest);
    return tail == 1 ? head : intern(table, DIM_PRODUCT, head, tail);
}

static forge_dim times_term(struct dim_table *table, forge_dim a, forge_dim b)
{
    while (is_kind(table, a, DIM_PRODUCT)) {
        struct dim e = *entry(table, a);
        b = times_factor(table, e.a, b);
        a = e.b;
    }
    return times_factor(table, a, b);
}

/* Returns the coefficient of a term, which is the number among its factors; 1 if there is none. *out_rest
 * gets the product of the term's other factors. */
static int64_t coefficient(struct dim_table *table, forge_dim term, forge_dim *out_rest)
{
    if (term >= 0) {
        *out_rest = 1;
        return term;
    }
    if (!is_kind(table, term, DIM_PRODUCT)) {
        *out_rest = term;
        return 1;
    }
    struct dim e = *entry(table, term);
    forge_dim rest;
    int64_t number = coefficient(table, e.b, &rest);
    *out_rest = rest == 1 ? e.a : intern(table, DIM_PRODUCT, e.a, rest);
    return number;
}

/* --- sums: term + (term + ... number) ------------------------------------------------------------------- */

/* Returns sum + term in canonical order. Merges terms that differ only in their coefficients, for example 2*B
 * and 3*B. term: not a sum. */
static forge_dim plus_term(struct dim_table *table, forge_dim term, forge_dim sum)
{
    if (term == DIM_FAILED || sum == DIM_FAILED)
        return DIM_FAILED;
    if (term == 0 || sum == 0)
        return term == 0 ? sum : term;
    forge_dim head = sum, rest = 0, term_rest, head_rest;
    if (is_kind(table, sum, DIM_SUM)) {
        head = entry(table, sum)->a;
        rest = entry(table, sum)->b;
    }
    int64_t term_number = coefficient(table, term, &term_rest),
            head_number = coefficient(table, head, &head_rest);
    if (term_rest == DIM_FAILED || head_rest == DIM_FAILED)
        return DIM_FAILED;
    if (term_rest == head_rest) {
        int64_t number = in_range(term_number + head_number);
        forge_dim both = term_rest == 1 ? number : times_term(table, number, term_rest);
        return rest == 0 ? both : intern(table, DIM_SUM, both, rest);
    }
    if (term_rest < head_rest)
        return intern(table, DIM_SUM, term, sum);
    forge_dim tail = plus_term(table, term, rest);
    return intern(table, DIM_SUM, head, tail);
}

forge_dim dim_add(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (!dim_is_known(table, a) || !dim_is_known(table, b))
        return DIM_FAILED;
    while (is_kind(table, a, DIM_SUM)) {
        struct dim e = *entry(table, a);
        b = plus_term(table, e.a, b);
        a = e.b;
    }
    return plus_term(table, a, b);
}

/* Returns sum - term in canonical order. Returns DIM_FAILED unless a term of the sum has the same factors and
 * at least the same coefficient. */
static forge_dim minus_term(struct dim_table *table, forge_dim sum, forge_dim term)
{
    forge_dim head = sum, rest = 0, term_rest, head_rest;
    if (is_kind(table, sum, DIM_SUM)) {
        head = entry(table, sum)->a;
        rest = entry(table, sum)->b;
    }
    int64_t number = -coefficient(table, term, &term_rest) + coefficient(table, head, &head_rest);
    if (term_rest == DIM_FAILED || head_rest == DIM_FAILED)
        return DIM_FAILED;
    if (term_rest == head_rest && number == 0)
        return rest;
    if (term_rest == head_rest && number > 0)
        return plus_term(table, term_rest == 1 ? number : times_term(table, number, term_rest), rest);
    forge_dim tail = term_rest == head_rest || rest == 0 ? DIM_FAILED : minus_term(table, rest, term);
    return tail == 0 ? head : intern(table, DIM_SUM, head, tail);
}

forge_dim dim_sub(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (!dim_is_known(table, a) || !dim_is_known(table, b))
        return DIM_FAILED;
    while (a != DIM_FAILED && is_kind(table, b, DIM_SUM)) {
        struct dim e = *entry(table, b);
        a = minus_term(table, a, e.a);
        b = e.b;
    }
    return a == DIM_FAILED || b == 0 ? a : minus_term(table, a, b);
}

bool dim_is_at_most(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (!dim_is_known(table, a) || !dim_is_known(table, b))
        return false;
    if (a == b || dim_max(table, a) <= dim_min(table, b) || dim_sub(table, b, a) != DIM_FAILED)
        return true;
    return is_kind(table, a, DIM_QUOTIENT) && dim_is_at_most(table, entry(table, a)->a, b);
}

forge_dim dim_mul(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (!dim_is_known(table, a) || !dim_is_known(table, b))
        return DIM_FAILED;
    if (is_kind(table, a, DIM_SUM)) {
        struct dim e = *entry(table, a);
        forge_dim first = dim_mul(table, e.a, b);
        return first == DIM_FAILED ? DIM_FAILED : dim_add(table, first, dim_mul(table, e.b, b));
    }
    if (is_kind(table, b, DIM_SUM))
        return dim_mul(table, b, a);
    return times_term(table, a, b);
}

/* --- quotients ------------------------------------------------------------------------------------------ */

/* Returns term / factor if the quotient is exact, else DIM_FAILED. */
static forge_dim without_factor(struct dim_table *table, forge_dim term, forge_dim factor)
{
    if (term == factor)
        return 1;
    if (term >= 0 && factor > 0)
        return term % factor == 0 ? term / factor : DIM_FAILED;
    if (!is_kind(table, term, DIM_PRODUCT))
        return DIM_FAILED;
    struct dim e = *entry(table, term);
    if (e.a == factor)
        return e.b;
    return times_term(table, e.a, without_factor(table, e.b, factor));
}

/* Returns a / b if every term of `a` provably contains every factor of `b`, else DIM_FAILED. */
static forge_dim exact_quotient(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (is_kind(table, a, DIM_SUM)) {
        struct dim e = *entry(table, a);
        forge_dim first = exact_quotient(table, e.a, b);
        return first == DIM_FAILED ? DIM_FAILED : dim_add(table, first, exact_quotient(table, e.b, b));
    }
    while (a != DIM_FAILED && is_kind(table, b, DIM_PRODUCT)) {
        struct dim e = *entry(table, b);
        a = without_factor(table, a, e.a);
        b = e.b;
    }
    return a == DIM_FAILED ? DIM_FAILED : without_factor(table, a, b);
}

forge_dim dim_div(struct dim_table *table, forge_dim a, forge_dim b)
{
    if (!dim_is_known(table, a) || !dim_is_known(table, b) || b == 0)
        return DIM_FAILED;
    if (b == 1 || a == 0)
        return a;
    if (a == b)
        return 1;
    if (a >= 0 && b > 0)
        return a / b;
    forge_dim exact = exact_quotient(table, a, b);
    return exact != DIM_FAILED ? exact : intern(table, DIM_QUOTIENT, a, b);
}

forge_dim dim_elements(struct dim_table *table, const forge_shape *shape)
{
    forge_dim product = 1;
    for (uint32_t i = 0; i < shape->rank; i++)
        product = dim_mul(table, product, shape->dims[i]);
    return product;
}

/* --- text ----------------------------------------------------------------------------------------------- */

void dim_print(const struct dim_table *table, forge_dim dim, struct text *text)
{
    static const char sign[] = {[DIM_PRODUCT] = '*', [DIM_SUM] = '+', [DIM_QUOTIENT] = '/'};
    if (!dim_is_known(table, dim)) {
        text_add(text, "?");
    } else if (dim >= 0) {
        text_printf(text, "%lld", (long long)dim);
    } else if (entry(table, dim)->kind == DIM_SYMBOL) {
        text_add_word(text, entry(table, dim)->name);
    } else {
        text_add(text, "(");
        dim_print(table, entry(table, dim)->a, text);
        text_printf(text, "%c", sign[entry(table, dim)->kind]);
        dim_print(table, entry(table, dim)->b, text);
        text_add(text, ")");
    }
}

void dim_print_shape(const struct dim_table *table, const forge_shape *shape, struct text *text)
{
    text_add(text, "[");
    for (uint32_t i = 0; i < shape->rank; i++) {
        text_add(text, i ? "," : "");
        dim_print(table, shape->dims[i], text);
    }
    text_add(text, "]");
}
