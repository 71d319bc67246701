/* ir/dim.h - sizes that are expressions of symbols.
 *
 * Owns the table of symbols and expressions of one graph, and their arithmetic: every expression is kept as a sum of
 * products in one order, so that equal polynomials are the same number and shapes compare by bytes.
 * Newcomers: numbers from 0 on are themselves; a negative forge_dim is an entry of this table. DIM_FAILED comes out of
 * what overflowed, divided by 0 or met an unknown entry, and stays so through further arithmetic.
 */
#ifndef FORGE_IR_DIM_H
#define FORGE_IR_DIM_H

#include <forge/tensor.h>
#include "base/string.h"

#define DIM_FAILED     INT64_MIN
#define DIM_MAX_NUMBER (INT64_C(1) << 48)
/* So that no text can ask for endless work: entries of one table, and symbols and numbers in one expression. */
enum { DIM_MAX_ENTRIES = 4096, DIM_MAX_LEAVES = 256 };

enum dim_kind { DIM_SYMBOL, DIM_PRODUCT, DIM_SUM, DIM_QUOTIENT };

struct dim {
    enum dim_kind kind;
    forge_dim a, b;   /* of what; a product's or sum's rest is in b. Symbols: unused */
    int64_t min, max; /* whatever the symbols are */
    int64_t multiple; /* a number that always divides it, 1 or more */
    uint32_t leaves;  /* symbols and numbers when it is written out */
    char name[32];    /* of a symbol */
};

struct dim_table {
    struct dim *entries;
    size_t count, capacity;
};

void dim_table_free(struct dim_table *table);
bool dim_table_copy(struct dim_table *table, const struct dim_table *from);

/* DIM_FAILED: bad bounds, another symbol of this name with others, too many entries, no memory. */
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
/* The product of a shape's dims. */
forge_dim dim_elements(struct dim_table *table, const forge_shape *shape);

/* "B", "(T*(B*4))", "((B+1)/2)"; a symbol whose name is no word stands in quotes. */
void dim_print(const struct dim_table *table, forge_dim dim, struct text *text);
/* "[B,784]". */
void dim_print_shape(const struct dim_table *table, const forge_shape *shape, struct text *text);

#endif
