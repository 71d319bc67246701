/* ir/dim.h - sizes that are expressions of symbols.
 *
 * Owns the table of symbols and expressions of one graph, and their arithmetic: every expression is kept as a sum of
 * products in one order, so that equal polynomials are the same number and shapes compare by bytes.
 * Newcomers: numbers from 0 on are themselves; a negative forge_dim is an entry of this table. DIM_FAILED comes out of
 * what overflowed, divided by 0 or met an unknown entry, and stays so through further arithmetic.
 */
#ifndef FORGE_IR_DIM_H
#define FORGE_IR_DIM_H

#include <forge/graph.h>
#include "base/string.h"

#define DIM_FAILED     INT64_MIN
#define DIM_MAX_NUMBER (INT64_C(1) << 48)
/* So that no text can ask for endless work: entries of one table, and symbols and numbers in one expression. */
enum { DIM_MAX_ENTRIES = 4096, DIM_MAX_LEAVES = 256 };

enum dim_kind { DIM_SYMBOL, DIM_PRODUCT, DIM_SUM, DIM_QUOTIENT };

/* No padding: it stands in programs' files as it is. */
struct dim {
    uint32_t kind;    /* enum dim_kind */
    uint32_t leaves;  /* symbols and numbers when it is written out */
    forge_dim a, b;   /* of what; a product's or sum's rest is in b. Symbols: unused */
    int64_t min, max; /* whatever the symbols are */
    int64_t multiple; /* a number that always divides it, 1 or more */
    char name[32];    /* of a symbol */
};

struct dim_table {
    struct dim *entries;
    size_t count, capacity;
};

void dim_table_free(struct dim_table *table);
bool dim_table_copy(struct dim_table *table, const struct dim_table *from);

/* DIM_FAILED: bad bounds, or no number within them that is such a multiple, another symbol of this name with others, too many
 * entries, no memory. */
forge_dim dim_symbol(struct dim_table *table, const char *name, int64_t min, int64_t max, int64_t multiple);
forge_dim dim_add(struct dim_table *table, forge_dim a, forge_dim b);
/* DIM_FAILED also where the difference is no sum of such products. */
forge_dim dim_sub(struct dim_table *table, forge_dim a, forge_dim b);
forge_dim dim_mul(struct dim_table *table, forge_dim a, forge_dim b);
/* Exact where every term of `a` can be divided, else a quotient rounded down. */
forge_dim dim_div(struct dim_table *table, forge_dim a, forge_dim b);

bool dim_is_known(const struct dim_table *table, forge_dim dim);
int64_t dim_min(const struct dim_table *table, forge_dim dim);
int64_t dim_max(const struct dim_table *table, forge_dim dim);
/* Whether it can be shown that a <= b, whatever the symbols are. */
bool dim_is_at_most(struct dim_table *table, forge_dim a, forge_dim b);
/* The number that it is where symbol entry i has the value values[i]. */
int64_t dim_value(const struct dim_table *table, forge_dim dim, const int64_t *values);
/* The number that `kind` makes of two. */
int64_t dim_apply(enum dim_kind kind, int64_t a, int64_t b);
/* Of two numbers from 0 on. */
static inline int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
/* What `kind` makes of two, as an entry; false: DIM_FAILED. */
bool dim_make(const struct dim_table *table, enum dim_kind kind, forge_dim a, forge_dim b, struct dim *out);

/* --- sizes as numbers, in dim_values.c ----------------------------------------------------------------------- */

/* Whether every entry is one that arithmetic makes of those before it, so that its bounds hold: of a table from a file. */
bool dim_table_is_sound(const struct dim_table *table);
/* The entry of a symbol; NULL: there is none of this name. */
const struct dim *dim_find(const struct dim_table *table, const char *name);
/* Whether the symbol with this name can be this number; *out_symbol (may be NULL) gets its entry's index. ABSENT: there is no
 * such symbol, and these there are; INVALID: why not. */
joule_status dim_check(const struct dim_table *table, const char *name, int64_t number, size_t *out_symbol,
                       joule_error *out_error);
/* The largest number that a symbol can be, and the least. */
int64_t dim_largest(const struct dim *symbol);
int64_t dim_least(const struct dim *symbol);
/* Fills values[i] for each symbol with the largest, or least, that it can be, the others with 0. */
void dim_take_largest(const struct dim_table *table, int64_t *values);
void dim_take_least(const struct dim_table *table, int64_t *values);
/* Fills in the other entries' values where those of symbols are there. False: one is too large, or divided by 0. */
bool dim_fill(const struct dim_table *table, int64_t *values);
/* Every size at most; each on its own, so that it may be more than the symbols allow at once. */
forge_shape dim_most(const struct dim_table *table, const forge_shape *shape);
/* Numbers, or other expressions, in place of those whose entry i is values[i]. */
static inline forge_dim dim_put(forge_dim dim, const forge_dim *values)
{
    return dim < 0 ? values[-dim - 1] : dim;
}
forge_shape dim_put_shape(const forge_shape *shape, const forge_dim *values);
bool dim_shape_has_symbols(const forge_shape *shape);
/* Fills values[i] with what entry i of `from` is in another table, where the symbols named there are the numbers given.
 * False: DIM_FAILED. */
bool dim_table_bind(const struct dim_table *from, const forge_size *sizes, size_t count,
                    struct dim_table *table, forge_dim *values);

/* The product of a shape's dims. */
forge_dim dim_elements(struct dim_table *table, const forge_shape *shape);

/* "B", "(T*(B*4))", "((B+1)/2)"; a symbol whose name is no word stands in quotes. */
void dim_print(const struct dim_table *table, forge_dim dim, struct text *text);
/* "[B,784]". */
void dim_print_shape(const struct dim_table *table, const forge_shape *shape, struct text *text);

#endif
