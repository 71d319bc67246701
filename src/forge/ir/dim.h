/* ir/dim.h - symbolic sizes: a graph's table of symbols and expressions, and their arithmetic.
 *
 * Every expression is a sum of products in canonical order. Equal polynomials so have the same number, and
 * shapes compare by bytes.
 *
 * Note: a forge_dim from 0 on is a plain number; a negative one is an entry of this table. DIM_FAILED is the
 * result of an overflow, a division by 0 or an unknown entry. Arithmetic with DIM_FAILED gives DIM_FAILED.
 */
#ifndef FORGE_IR_DIM_H
#define FORGE_IR_DIM_H

#include <forge/graph.h>
#include "base/string.h"

#define DIM_FAILED     INT64_MIN
#define DIM_MAX_NUMBER (INT64_C(1) << 48)
/* Limits on the work that untrusted text can cause: entries of one table, and leaves of one expression. */
enum { DIM_MAX_ENTRIES = 4096, DIM_MAX_LEAVES = 256 };

enum dim_kind { DIM_SYMBOL, DIM_PRODUCT, DIM_SUM, DIM_QUOTIENT };

/* No padding: program files contain it byte for byte. */
struct dim {
    uint32_t kind;    /* enum dim_kind */
    uint32_t leaves;  /* symbols and numbers in the expression, written out */
    forge_dim a, b;   /* operands; b is the rest of a product or sum. 0 for symbols */
    int64_t min, max; /* bounds over all values of the symbols */
    int64_t multiple; /* a number from 1 on that always divides it */
    char name[32];    /* of a symbol, else empty */
};

struct dim_table {
    struct dim *entries;
    size_t count, capacity;
};

void dim_table_free(struct dim_table *table);
bool dim_table_copy(struct dim_table *table, const struct dim_table *from);

/* Returns the symbol with this name; adds it if it is new. DIM_FAILED: invalid bounds, no multiple of
 * `multiple` within them, a symbol of this name with other bounds, too many entries, or out of memory. */
forge_dim dim_symbol(struct dim_table *table, const char *name, int64_t min, int64_t max, int64_t multiple);
forge_dim dim_add(struct dim_table *table, forge_dim a, forge_dim b);
/* Returns DIM_FAILED also if the difference is not provably a sum of such products. */
forge_dim dim_sub(struct dim_table *table, forge_dim a, forge_dim b);
forge_dim dim_mul(struct dim_table *table, forge_dim a, forge_dim b);
/* Exact if every term of `a` is divisible by `b`, else a quotient that is rounded down. */
forge_dim dim_div(struct dim_table *table, forge_dim a, forge_dim b);

bool dim_is_known(const struct dim_table *table, forge_dim dim);
int64_t dim_min(const struct dim_table *table, forge_dim dim);
int64_t dim_max(const struct dim_table *table, forge_dim dim);
/* Returns true if a <= b provably holds for all values of the symbols. */
bool dim_is_at_most(struct dim_table *table, forge_dim a, forge_dim b);
/* Returns the value of `dim`. values[i]: value of table entry i, read for symbols only. */
int64_t dim_value(const struct dim_table *table, forge_dim dim, const int64_t *values);
/* Returns `a kind b` for two numbers, or DIM_FAILED. */
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
/* Writes the entry for `a kind b`. Returns false if a bound overflows, or if it has too many leaves. */
bool dim_make_entry(const struct dim_table *table, enum dim_kind kind, forge_dim a, forge_dim b,
                    struct dim *out);

/* --- sizes as numbers: dim_values.c --------------------------------------------------------------------- */

/* Returns true if each entry is a valid symbol, or exactly what arithmetic makes of earlier entries, so that
 * its bounds hold. Used for tables from files. */
bool dim_table_is_valid(const struct dim_table *table);
/* Returns the entry of a symbol, or NULL if there is none with this name. */
const struct dim *dim_find(const struct dim_table *table, const char *name);
/* Returns JOULE_OK if the symbol can have this value; *out_symbol (may be NULL) gets its entry's index.
 * JOULE_ABSENT: no such symbol; the message lists those that exist. JOULE_INVALID: out of bounds, or not a
 * multiple. */
joule_status dim_check(const struct dim_table *table, const char *name, int64_t number, size_t *out_symbol,
                       joule_error *out_error);
/* The largest and the smallest value of a symbol. */
int64_t dim_symbol_max(const struct dim *symbol);
int64_t dim_symbol_min(const struct dim *symbol);
/* Set values[i] of each symbol to its largest or smallest value, and those of other entries to 0. */
void dim_set_max(const struct dim_table *table, int64_t *values);
void dim_set_min(const struct dim_table *table, int64_t *values);
/* Computes the values of all other entries from those of the symbols. Returns false on overflow or division
 * by 0. */
bool dim_evaluate(const struct dim_table *table, int64_t *values);
/* Returns an upper bound for each dimension. The symbols may not allow all of them at once. */
forge_shape dim_max_shape(const struct dim_table *table, const forge_shape *shape);
/* Returns `dim`, with an entry replaced by its value. values[i]: a number or another expression for entry
 * i. */
static inline forge_dim dim_substitute(forge_dim dim, const forge_dim *values)
{
    return dim < 0 ? values[-dim - 1] : dim;
}
forge_shape dim_substitute_shape(const forge_shape *shape, const forge_dim *values);
bool dim_shape_has_symbols(const forge_shape *shape);
/* Translates `from` into another table, with numbers for the symbols in `sizes`. values[i]: the result for
 * entry i. Returns false if one is DIM_FAILED. */
bool dim_table_bind(const struct dim_table *from, const forge_size *sizes, size_t count,
                    struct dim_table *table, forge_dim *values);

/* Returns the product of a shape's dimensions. */
forge_dim dim_elements(struct dim_table *table, const forge_shape *shape);

/* Prints "B", "(T*(B*4))", "((B+1)/2)"; a symbol whose name is no word stands in quotes. */
void dim_print(const struct dim_table *table, forge_dim dim, struct text *text);
/* Prints "[B,784]". */
void dim_print_shape(const struct dim_table *table, const forge_shape *shape, struct text *text);

#endif
