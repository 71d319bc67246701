/* ir/dim_values.c - values of symbolic sizes, and checks of tables from files; see dim.h.
 *
 * Note: only dim_table_bind allocates memory. So a program's sizes can change between runs without an
 * allocation.
 */
#include <string.h>
#include "base/error.h"
#include "forge/ir/dim.h"
#include "forge/ir/text.h"

int64_t dim_symbol_max(const struct dim *symbol)
{
    return symbol->max / symbol->multiple * symbol->multiple;
}

const struct dim *dim_find(const struct dim_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].kind == DIM_SYMBOL && strcmp(table->entries[i].name, name) == 0)
            return &table->entries[i];
    return NULL;
}

static void print_names(const struct dim_table *table, struct text *text)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->entries[i].kind != DIM_SYMBOL)
            continue;
        text_add(text, text->length ? ", " : "");
        text_add_word(text, table->entries[i].name);
    }
    if (!text->length)
        text_add(text, "none");
}

joule_status dim_check(const struct dim_table *table, const char *name, int64_t number, size_t *out_symbol,
                       joule_error *out_error)
{
    const struct dim *symbol = dim_find(table, name);
    char names[200];
    struct text text;
    text_init(&text, names, sizeof names);
    if (!symbol) {
        print_names(table, &text);
        return error_set(out_error, JOULE_ABSENT, "unknown symbol '%s'; known symbols: %s", name, names);
    }
    if (number < symbol->min || number > symbol->max || number % symbol->multiple) {
        if (symbol->multiple > 1)
            text_printf(&text, ", a multiple of %lld", (long long)symbol->multiple);
        return error_set(out_error, JOULE_INVALID, "%s must be from %lld to %lld%s, not %lld", name,
                         (long long)symbol->min, (long long)symbol->max, names, (long long)number);
    }
    if (out_symbol)
        *out_symbol = (size_t)(symbol - table->entries);
    return JOULE_OK;
}

/* --- tables from files ---------------------------------------------------------------------------------- */

static bool is_symbol(const struct dim_table *earlier, const struct dim *e)
{
    return memchr(e->name, '\0', sizeof e->name) && e->name[0] && e->a == 0 && e->b == 0 && e->leaves == 1 &&
           e->min >= 0 && e->max >= e->min && e->max <= DIM_MAX_NUMBER && e->multiple >= 1 &&
           dim_symbol_max(e) >= e->min && !dim_find(earlier, e->name);
}

static bool is_expression(const struct dim_table *earlier, const struct dim *e)
{
    struct dim expected;
    return e->kind <= DIM_QUOTIENT && dim_is_known(earlier, e->a) && dim_is_known(earlier, e->b) &&
           dim_make_entry(earlier, (enum dim_kind)e->kind, e->a, e->b, &expected) &&
           memcmp(&expected, e, sizeof expected) == 0;
}

bool dim_table_is_valid(const struct dim_table *table)
{
    if (table->count > DIM_MAX_ENTRIES)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        struct dim_table earlier = {.entries = table->entries, .count = i};
        const struct dim *e = &table->entries[i];
        if (e->kind == DIM_SYMBOL ? !is_symbol(&earlier, e) : !is_expression(&earlier, e))
            return false;
    }
    return true;
}

/* --- numbers -------------------------------------------------------------------------------------------- */

int64_t dim_symbol_min(const struct dim *symbol)
{
    return (symbol->min + symbol->multiple - 1) / symbol->multiple * symbol->multiple;
}

void dim_set_min(const struct dim_table *table, int64_t *values)
{
    for (size_t i = 0; i < table->count; i++)
        values[i] = table->entries[i].kind == DIM_SYMBOL ? dim_symbol_min(&table->entries[i]) : 0;
}

void dim_set_max(const struct dim_table *table, int64_t *values)
{
    for (size_t i = 0; i < table->count; i++)
        values[i] = table->entries[i].kind == DIM_SYMBOL ? dim_symbol_max(&table->entries[i]) : 0;
}

bool dim_evaluate(const struct dim_table *table, int64_t *values)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct dim *e = &table->entries[i];
        if (e->kind != DIM_SYMBOL)
            values[i] =
                dim_apply((enum dim_kind)e->kind, dim_substitute(e->a, values), dim_substitute(e->b, values));
        if (values[i] < 0)
            return false;
    }
    return true;
}

forge_shape dim_max_shape(const struct dim_table *table, const forge_shape *shape)
{
    forge_shape bounds = *shape;
    for (uint32_t i = 0; i < shape->rank; i++)
        bounds.dims[i] = dim_max(table, shape->dims[i]);
    return bounds;
}

forge_shape dim_substitute_shape(const forge_shape *shape, const forge_dim *values)
{
    forge_shape result = *shape;
    for (uint32_t i = 0; i < shape->rank; i++)
        result.dims[i] = dim_substitute(shape->dims[i], values);
    return result;
}

bool dim_shape_has_symbols(const forge_shape *shape)
{
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0)
            return true;
    return false;
}

/* --- other expressions ---------------------------------------------------------------------------------- */

/* Returns the symbol's number in `sizes`. If there is none, returns the symbol of this name in `table`, and
 * adds the symbol if it is new. */
static forge_dim bind_symbol(const struct dim *symbol, const forge_size *sizes, size_t count,
                             struct dim_table *table)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(sizes[i].symbol, symbol->name) == 0)
            return sizes[i].value;
    return dim_symbol(table, symbol->name, symbol->min, symbol->max, symbol->multiple);
}

bool dim_table_bind(const struct dim_table *from, const forge_size *sizes, size_t count,
                    struct dim_table *table, forge_dim *values)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct dim *e = &from->entries[i];
        forge_dim a = dim_substitute(e->a, values), b = dim_substitute(e->b, values);
        values[i] = e->kind == DIM_SYMBOL    ? bind_symbol(e, sizes, count, table)
                    : e->kind == DIM_PRODUCT ? dim_mul(table, a, b)
                    : e->kind == DIM_SUM     ? dim_add(table, a, b)
                                             : dim_div(table, a, b);
        if (values[i] == DIM_FAILED)
            return false;
    }
    return true;
}
