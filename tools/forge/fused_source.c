/* tools/forge/fused_source.c - see fused_source.h. */
#include "fused_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/emit/emit.h"
#include "forge/ir/program.h"
#include "forge/ir/text.h"

enum { VECTOR_BYTES = 64 };

static joule_status refuse(const char *name, joule_error *error)
{
    char known[100];
    struct text text;
    text_init(&text, known, sizeof known);
    for (size_t i = 0; dialect_at(i); i++)
        text_printf(&text, "%s%s", i ? ", " : "", dialect_name(dialect_at(i)));
    return error_set(error, JOULE_INVALID, "unknown dialect '%s'; known: %s", name, known);
}

/* Returns the attributes of a launch of fused elementwise operations, NULL: it is another launch. */
static const struct composite_attributes *fused_attributes(const forge_program *program, size_t i)
{
    const struct program_launch *launch = &program_launches(program)[i];
    const struct composite_attributes *attributes = program_attributes(program, launch);
    return launch->op == OP_COMPOSITE && strcmp(attributes->name, "fused") == 0 ? attributes : NULL;
}

/* Returns true if a launch before `i` has the same operations on the same types. attributes: of launch i. */
static bool is_repeated(const forge_program *program, size_t i, const struct composite_attributes *attributes)
{
    const struct program_launch *launches = program_launches(program);
    const struct program_binding *bindings = program_bindings(program);
    for (size_t k = 0; k < i; k++) {
        const struct composite_attributes *earlier = fused_attributes(program, k);
        bool is_same = earlier && launches[k].input_count == launches[i].input_count &&
                       memcmp(earlier->code, attributes->code, sizeof earlier->code) == 0;
        for (size_t n = 0; is_same && n < launches[i].input_count; n++)
            is_same = bindings[launches[k].first_binding + n].dtype ==
                      bindings[launches[i].first_binding + n].dtype;
        if (is_same)
            return true;
    }
    return false;
}

static joule_status print(const forge_program *program, size_t i,
                          const struct composite_attributes *attributes, const struct dialect *dialect,
                          joule_error *error)
{
    const struct program_launch *launch = &program_launches(program)[i];
    const struct program_binding *bindings = &program_bindings(program)[launch->first_binding];
    forge_dtype dtypes[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {FORGE_DTYPE_NONE};
    struct fused fused;
    char *source = NULL;
    if (!fused_read(attributes, launch->input_count, &fused))
        return error_set(error, JOULE_INVALID, "launch %zu: its code is invalid", i);
    for (size_t n = 0; n < launch->input_count; n++)
        dtypes[n] = (forge_dtype)bindings[n].dtype;
    for (uint32_t n = 0; n < fused.count; n++)
        dtypes[FUSED_MAX_INPUTS + n] = fused_dtype(&fused.steps[n], dtypes);
    uint32_t rank = bindings[launch->input_count].shape.rank;
    const struct emit_group group = {&fused, dtypes, launch->input_count, VECTOR_BYTES, rank ? rank : 1};
    joule_status status = emit_source(dialect, &group, &source, error);
    if (status != JOULE_OK)
        return status;
    printf("/* launch %zu */\n%s\n", i, source);
    free(source);
    return JOULE_OK;
}

joule_status fused_source_print(const forge_program *program, const char *dialect, joule_error *error)
{
    const struct dialect *found = dialect_find(dialect);
    joule_status status = JOULE_OK;
    bool has_groups = false;
    if (!found)
        return refuse(dialect, error);
    for (size_t i = 0; status == JOULE_OK && i < program->launches.count; i++) {
        const struct composite_attributes *attributes = fused_attributes(program, i);
        if (!attributes || is_repeated(program, i, attributes))
            continue;
        has_groups = true;
        status = print(program, i, attributes, found, error);
    }
    if (status == JOULE_OK && !has_groups)
        return error_set(error, JOULE_ABSENT, "the program has no fused elementwise operations");
    return status;
}
