/* ir/dim.h - symbolic sizes: a graph's table of symbols and expressions, and their arithmetic.
 *
 * Every expression is a sum of products in canonical order. Equal polynomials therefore have the same
 * forge_dim, and shapes can be compared byte by byte.
 *
 * Note: a forge_dim >= 0 is a plain number. A negative forge_dim identifies an entry of this table: -1 is
 * entry 0, -2 is entry 1. DIM_FAILED is the result of an overflow, a division by 0 or an unknown entry.
 * Arithmetic with DIM_FAILED returns DIM_FAILED.
 */
#ifndef FORGE_IR_DIM_H
#define FORGE_IR_DIM_H

#include <forge/graph.h>
#include "base/string.h"

#define DIM_FAILED     INT64_MIN
#define DIM_MAX_NUMBER (INT64_C(1) << 48) /* the largest size */
/* Limits on the work that untrusted text can cause: entries of one table, and leaves of one expression. */
enum { DIM_MAX_ENTRIES = 4096, DIM_MAX_LEAVES = 256 };

enum dim_kind { DIM_SYMBOL, DIM_PRODUCT, DIM_SUM, DIM_QUOTIENT };

/* A symbol or an expression. It has no padding, because program files contain it byte for byte. */
struct dim {
    uint32_t kind;    /* enum dim_kind */
    uint32_t leaves;  /* number of symbols and numbers in the written-out expression */
    forge_dim a, b;   /* operands, 0 for symbols; in a product or sum, b is the product or sum of all operands
                       * but the first */
    int64_t min, max; /* bounds over all values of the symbols */
    int64_t multiple; /* a number >= 1 that always divides the value */
    char name[32];    /* name of a symbol; empty for other kinds */
};

/* The symbols and expressions of a graph. All zeros: an empty table. */
struct dim_table {
    struct dim *entries;
    size_t count, capacity;
};

/* Frees the entries; the table is then empty. */
void dim_table_free(struct dim_table *table);
/* Copies `from` to *table, whose old contents are ignored. Returns false if out of memory; *table is then
 * empty. */
bool dim_table_copy(struct dim_table *table, const struct dim_table *from);

/* Returns the symbol with this name; adds the symbol if it is new. Its values are the multiples of `multiple`
 * from `min` to `max`. Returns DIM_FAILED if the name is not 1 to 31 bytes or there is no such value. Also
 * returns DIM_FAILED if an existing symbol has other bounds, or no entry can be added. */
forge_dim dim_symbol(struct dim_table *table, const char *name, int64_t min, int64_t max, int64_t multiple);
/* Return the sum or the product, or DIM_FAILED. They add an entry if the expression is new. */
forge_dim dim_add(struct dim_table *table, forge_dim a, forge_dim b);
forge_dim dim_mul(struct dim_table *table, forge_dim a, forge_dim b);
/* Returns a - b. Also returns DIM_FAILED if the difference cannot be written as a sum of products with
 * coefficients >= 0. */
forge_dim dim_sub(struct dim_table *table, forge_dim a, forge_dim b);
/* Returns a / b, or DIM_FAILED. The quotient is exact if every term of `a` is divisible by `b`; otherwise it
 * is rounded down. */
forge_dim dim_div(struct dim_table *table, forge_dim a, forge_dim b);

/* Returns true if `dim` is a number from 0 to DIM_MAX_NUMBER or an entry of the table. */
bool dim_is_known(const struct dim_table *table, forge_dim dim);
/* Return the lower and the upper bound of `dim` over all values of the symbols. */
int64_t dim_min(const struct dim_table *table, forge_dim dim);
int64_t dim_max(const struct dim_table *table, forge_dim dim);
/* Returns true if a <= b provably holds for all values of the symbols. */
bool dim_is_at_most(struct dim_table *table, forge_dim a, forge_dim b);
/* Returns the value of `dim`. values[i]: value of table entry i, read for symbols only. */
int64_t dim_value(const struct dim_table *table, forge_dim dim, const int64_t *values);
/* Returns a * b, a + b, or a / b rounded down, as `kind` says. a and b must be >= 0. Returns DIM_FAILED on
 * overflow or division by 0. */
int64_t dim_apply(enum dim_kind kind, int64_t a, int64_t b);
/* Returns the greatest common divisor of two numbers >= 0. */
static inline int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
/* Writes the entry of the expression `a kind b`, for example a * b, to *out without adding it to the table.
 * Returns false if a bound overflows, or if the expression has more than DIM_MAX_LEAVES leaves. */
bool dim_make_entry(const struct dim_table *table, enum dim_kind kind, forge_dim a, forge_dim b,
                    struct dim *out);

/* --- sizes as numbers: dim_values.c --------------------------------------------------------------------- */

/* Returns true if each entry is a valid symbol, or equals the entry that dim_make_entry computes from earlier
 * entries. The stored bounds can then be trusted. Used for tables from files. */
bool dim_table_is_valid(const struct dim_table *table);
/* Returns the entry of the symbol with this name, or NULL if there is none. */
const struct dim *dim_find(const struct dim_table *table, const char *name);
/* Returns JOULE_OK if the symbol can have this value. *out_symbol (may be NULL) gets the index of the
 * symbol's entry. Returns JOULE_ABSENT if there is no such symbol; the message lists the existing symbols.
 * Returns JOULE_INVALID if `number` is out of bounds or not a multiple of symbol->multiple. */
joule_status dim_check(const struct dim_table *table, const char *name, int64_t number, size_t *out_symbol,
                       joule_error *out_error);
/* Return the largest and the smallest value of a symbol, which are multiples of symbol->multiple. */
int64_t dim_symbol_max(const struct dim *symbol);
int64_t dim_symbol_min(const struct dim *symbol);
/* values: [table->count]. Set the entry of each symbol to its largest or smallest value, and all other
 * entries to 0. */
void dim_set_max(const struct dim_table *table, int64_t *values);
void dim_set_min(const struct dim_table *table, int64_t *values);
/* Computes the values of all expressions from the values of the symbols. values: [table->count]. Returns
 * false on overflow or division by 0. */
bool dim_evaluate(const struct dim_table *table, int64_t *values);
/* Returns an upper bound for each dimension. The symbols may not be able to reach all bounds at once. */
forge_shape dim_max_shape(const struct dim_table *table, const forge_shape *shape);
/* Returns values[i] if `dim` is entry i, else `dim`. values[i]: a number or another expression. */
static inline forge_dim dim_substitute(forge_dim dim, const forge_dim *values)
{
    return dim < 0 ? values[-dim - 1] : dim;
}
/* Returns the shape with dim_substitute applied to each dimension. */
forge_shape dim_substitute_shape(const forge_shape *shape, const forge_dim *values);
/* Returns true if a dimension is a symbol or an expression. */
bool dim_shape_has_symbols(const forge_shape *shape);
/* Translates the entries of `from` into `table`, with the symbols in `sizes` replaced by their numbers.
 * sizes: [count]. values: [from->count], gets the translation of each entry. Returns false if one of them is
 * DIM_FAILED. */
bool dim_table_bind(const struct dim_table *from, const forge_size *sizes, size_t count,
                    struct dim_table *table, forge_dim *values);

/* Returns the product of a shape's dimensions, or DIM_FAILED. */
forge_dim dim_elements(struct dim_table *table, const forge_shape *shape);

/* Prints "B", "(T*(B*4))", "((B+1)/2)". A symbol whose name is not a word is printed in quotes. */
void dim_print(const struct dim_table *table, forge_dim dim, struct text *text);
/* Prints "[B,784]". */
void dim_print_shape(const struct dim_table *table, const forge_shape *shape, struct text *text);

#endif
