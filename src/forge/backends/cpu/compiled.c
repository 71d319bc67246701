/* backends/cpu/compiled.c - see compiled.h. */
#include "forge/backends/cpu/compiled.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/string.h"
#include "forge/backends/cpu/c_compiler.h"
#include "forge/backends/cpu/code_cache.h"
#include "forge/backends/cpu/fused.h"
#include "forge/backends/cpu/packed.h"
#include "forge/emit/dialect.h"

enum { NAME_BYTES = 40, OPTION_BYTES = 500 };

/* The code of one source. */
struct code {
    char name[NAME_BYTES]; /* hash of source, options and compiler, in hexadecimal digits */
    void *library;         /* NULL: it could not be compiled */
    compiled_fn *run;
};

struct compiled {
    enum isa isa;
    pthread_mutex_t lock; /* protects all following members */
    bool is_on;
    struct c_compiler compiler;
    char folder[CODE_CACHE_PATH];
    struct code *codes;
    size_t count, capacity;
    forge_compiled_facts facts;
};

struct compiled *compiled_new(enum isa isa)
{
    struct compiled *compiled = calloc(1, sizeof *compiled);
    if (!compiled)
        return NULL;
    compiled->isa = isa;
    pthread_mutex_init(&compiled->lock, NULL);
    return compiled;
}

void compiled_free(struct compiled *compiled)
{
    if (!compiled)
        return;
    for (size_t i = 0; i < compiled->count; i++)
        if (compiled->codes[i].library)
            dlclose(compiled->codes[i].library);
    free(compiled->codes);
    pthread_mutex_destroy(&compiled->lock);
    free(compiled);
}

joule_status compiled_set(struct compiled *compiled, bool is_on, joule_error *out_error)
{
    joule_status status = JOULE_OK;
    pthread_mutex_lock(&compiled->lock);
    compiled->is_on = false;
    if (is_on)
        status = c_compiler_find(&compiled->compiler, out_error);
    if (is_on && status == JOULE_OK)
        status = code_cache_open(compiled->folder, out_error);
    compiled->is_on = is_on && status == JOULE_OK;
    pthread_mutex_unlock(&compiled->lock);
    return status;
}

void compiled_query(struct compiled *compiled, forge_compiled_facts *out_facts)
{
    pthread_mutex_lock(&compiled->lock);
    *out_facts = compiled->facts;
    out_facts->is_on = compiled->is_on;
    if (compiled->is_on)
        string_copy(out_facts->compiler, sizeof out_facts->compiler, compiled->compiler.command);
    pthread_mutex_unlock(&compiled->lock);
}

/* --- sources -------------------------------------------------------------------------------------------- */

/* Renders the elementwise steps of a launch, except after a product in bf16 or f16, whose sums are f32, after
 * a convolution in another layout, and beside row operations. The caller frees *out_source. Returns
 * JOULE_ABSENT, without a message, if it has none. */
static joule_status render(const struct compiled *compiled, const struct launch *launch, char **out_source,
                           joule_error *error)
{
    struct fused_plan plan;
    struct fused_product product;
    struct emit_group group = {.vector_bytes = isa_vector_bytes(compiled->isa)};
    const struct composite_attributes *composite = launch->attributes;
    if (launch->op != OP_COMPOSITE || !fused_is(composite) || strcmp(composite->name, "layout_conv") == 0)
        return JOULE_ABSENT;
    if (fused_takes(launch)) {
        fused_plan(launch, &plan);
        group.fused = &plan.fused;
        group.dtypes = plan.dtypes;
        group.input_count = launch->input_count;
    } else if (fused_divide(launch, &product) && product.rest.plan.fused.count > 0 &&
               !dtype_is_narrow(product.product_output.dtype)) {
        group.fused = &product.rest.plan.fused;
        group.dtypes = product.rest.plan.dtypes;
        group.input_count = product.rest.launch.input_count;
    } else {
        return JOULE_ABSENT;
    }
    return emit_source(dialect_find("c"), &group, out_source, error);
}

/* The first lines of each source: options of gcc that clang refuses. They hide the latency of long
 * functions. */
static const char gcc_options[] = "#ifndef __clang__\n"
                                  "#pragma GCC optimize(\"schedule-insns\", \"sched-pressure\")\n"
                                  "#endif\n";

/* Writes the compiler's options. */
static void list_options(const struct compiled *compiled, char options[OPTION_BYTES])
{
    string_print(options, OPTION_BYTES,
                 "-std=gnu17 -x c -w -shared -fPIC -nostdlib -fno-stack-protector "
                 "-fno-asynchronous-unwind-tables -Wl,-z,now -O3 %s%s",
                 dialect_find("c")->options, isa_compiler_options(compiled->isa));
}

/* Writes the name of the code: two hashes, because one has too few bits for names that nothing checks. */
static void name_code(const struct compiled *compiled, const char *source, const char *options,
                      char name[NAME_BYTES])
{
    uint64_t hashes[2];
    for (unsigned char i = 0; i < 2; i++) {
        uint64_t hash = hash_bytes(HASH_START, &i, sizeof i);
        hash = hash_bytes(hash, &compiled->compiler.identity, sizeof compiled->compiler.identity);
        hash = hash_bytes(hash, options, strlen(options) + 1);
        hash = hash_bytes(hash, gcc_options, sizeof gcc_options);
        hashes[i] = hash_bytes(hash, source, strlen(source));
    }
    string_print(name, NAME_BYTES, "%016llx%016llx", (unsigned long long)hashes[0],
                 (unsigned long long)hashes[1]);
}

/* --- code ----------------------------------------------------------------------------------------------- */

/* Compiles the source to the file `path` of the cache. */
static joule_status compile(struct compiled *compiled, const char *name, const char *source, const char *path,
                            joule_error *error)
{
    char options[OPTION_BYTES];
    struct code_draft draft;
    list_options(compiled, options);
    joule_status status = code_cache_begin(compiled->folder, name, source, &draft, error);
    if (status != JOULE_OK)
        return status;
    status = c_compiler_run(&compiled->compiler, options, draft.source, draft.object, error);
    if (status == JOULE_OK)
        return code_cache_commit(&draft, path, error);
    code_cache_discard(&draft);
    return status;
}

/* Loads a file of the cache. Returns false if it is not the code with this name. */
static bool load(const char *path, struct code *code)
{
    void *library = code_cache_check(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return false;
    const char *name = dlsym(library, "forge_name");
    *(void **)&code->run = dlsym(library, "forge_group");
    code->library = library;
    if (name && code->run && strcmp(name, code->name) == 0)
        return true;
    dlclose(library);
    code->library = NULL;
    code->run = NULL;
    return false;
}

/* Loads the code from the cache, or compiles it. A file that is damaged is replaced. */
static joule_status load_or_compile(struct compiled *compiled, struct code *code, const char *source,
                                    joule_error *error)
{
    char path[CODE_CACHE_PATH + NAME_BYTES + 8], *whole;
    string_print(path, sizeof path, "%s/%s.so", compiled->folder, code->name);
    if (load(path, code)) {
        compiled->facts.cached++;
        return JOULE_OK;
    }
    size_t size = sizeof gcc_options + strlen(source) + NAME_BYTES + 40;
    whole = malloc(size);
    if (!whole)
        return error_set(error, JOULE_NO_MEMORY, "cannot compile fused operations: out of memory");
    string_print(whole, size, "%s%s\nconst char forge_name[] = \"%s\";\n", gcc_options, source, code->name);
    joule_status status = compile(compiled, code->name, whole, path, error);
    free(whole);
    if (status == JOULE_OK && !load(path, code))
        status = error_set(error, JOULE_FAILED, "cannot load compiled code: %s is not code for this machine",
                           path);
    if (status == JOULE_OK)
        compiled->facts.compiled++;
    return status;
}

/* Returns the code of this source; a code without `run` if it could not be compiled. NULL: out of memory. */
static const struct code *find(struct compiled *compiled, const char *source, joule_error *error)
{
    char options[OPTION_BYTES];
    struct code code = {.run = NULL};
    list_options(compiled, options);
    name_code(compiled, source, options, code.name);
    for (size_t i = 0; i < compiled->count; i++)
        if (strcmp(compiled->codes[i].name, code.name) == 0)
            return &compiled->codes[i];
    if (!ARRAY_ROOM(compiled->codes, compiled->capacity, compiled->count)) {
        error_set(error, JOULE_NO_MEMORY, "cannot compile fused operations: out of memory");
        return NULL;
    }
    if (load_or_compile(compiled, &code, source, error) != JOULE_OK)
        compiled->facts.failed++;
    compiled->codes[compiled->count] = code;
    return &compiled->codes[compiled->count++];
}

compiled_fn *compiled_find(struct compiled *compiled, const struct launch *launch)
{
    char *source = NULL;
    joule_error error = {0};
    const struct code *code = NULL;
    int64_t begin_ns = clock_now_ns();
    pthread_mutex_lock(&compiled->lock);
    joule_status status = compiled->is_on ? render(compiled, launch, &source, &error) : JOULE_ABSENT;
    if (status == JOULE_OK)
        code = find(compiled, source, &error);
    if (status != JOULE_ABSENT && !code)
        compiled->facts.failed++;
    if (compiled->is_on && *error.message)
        string_copy(compiled->facts.reason, sizeof compiled->facts.reason, error.message);
    if (compiled->is_on)
        compiled->facts.seconds += clock_seconds(clock_now_ns() - begin_ns);
    compiled_fn *run = code ? code->run : NULL;
    pthread_mutex_unlock(&compiled->lock);
    free(source);
    return run;
}

/* --- running -------------------------------------------------------------------------------------------- */

struct compiled_work compiled_work_of(const struct launch *launch, compiled_fn *code)
{
    struct compiled_work work = {.code = code,
                                 .input_count = launch->input_count,
                                 .out_bytes = forge_dtype_block_bytes(launch->outputs[0].dtype)};
    for (size_t i = 0; i < launch->input_count; i++)
        work.input_bytes[i] = forge_dtype_block_bytes(launch->inputs[i].dtype);
    return work;
}

static bool is_near(int64_t step)
{
    return step == 0 || step == 1;
}

void compiled_run(const void *context, const struct run *run)
{
    const struct compiled_work *w = context;
    const void *inputs[FUSED_MAX_INPUTS];
    int64_t steps[FUSED_MAX_INPUTS];
    bool all_near = true;
    for (size_t i = 0; i < w->input_count; i++)
        all_near &= is_near(run->steps[i]);
    if (all_near) {
        w->code(run->inputs, run->steps, run->out, run->count);
        return;
    }
    for (size_t done = 0, count; done < run->count; done += count) {
        count = run->count - done < FUSED_TILE ? run->count - done : FUSED_TILE;
        for (size_t i = 0; i < w->input_count; i++) {
            const char *from =
                (const char *)run->inputs[i] + (int64_t)(done * w->input_bytes[i]) * run->steps[i];
            steps[i] = is_near(run->steps[i]) ? run->steps[i] : 1;
            inputs[i] = is_near(run->steps[i]) ? (const void *)from : w->copies + i * FUSED_VALUE_BYTES;
            if (!is_near(run->steps[i]))
                runs_copy(w->copies + i * FUSED_VALUE_BYTES, from, run->steps[i], count, w->input_bytes[i]);
        }
        w->code(inputs, steps, (char *)run->out + done * w->out_bytes, count);
    }
}
