/* joulec/llvm/llvm_module.c - see module.h: reads a module through LLVM's C interface, versions 14 to 19.
 * These versions differ in the types of pointers.
 *
 * Note: LLVM's reader aborts on many invalid inputs. So this file reads only files that clang has just
 * written to a directory of joulec. Only clang, in a separate process, reads users' bitcode, IR and profiles.
 * All other code treats the module that this file returns as untrusted (tests/fuzz/fuzz_module.c).
 */
#include "joulec/llvm/llvm_module.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"
#include "joulec/llvm/llvm_scev.h"
#include "joulec/source/place.h"

/* The pass that names all values. Formulas refer to values by these names. */
#define NAMES "function(instnamer)"

#define MAX_WEIGHTS 64 /* maximum number of edges of a branch whose weights are read */

struct reader {
    struct arena *arena;
    struct module *out;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    struct pointers functions; /* in the order of out->functions */
    unsigned loop_kind, weight_kind;
    char here[PATH_MAX];  /* working directory; empty: unknown */
    LLVMMetadataRef file; /* the last file whose path was read */
    const char *path;     /* path of `file` */
};

/* --- names and places ----------------------------------------------------------------------------------- */

static const char *copy(struct reader *r, const char *text, size_t length)
{
    const char *result = arena_copy(r->arena, text ? text : "", text ? length : 0);
    return result ? result : "";
}

/* Returns a file's path from this program's working directory. clang may have run in another directory. NULL:
 * unknown. */
static const char *path_of(struct reader *r, LLVMMetadataRef file)
{
    unsigned length = 0, folder_length = 0;
    const char *name = LLVMDIFileGetFilename(file, &length);
    const char *folder = LLVMDIFileGetDirectory(file, &folder_length);
    if (!name || !length)
        return NULL;
    if (name[0] == '/' || !folder || !folder_length)
        return copy(r, name, length);
    if (strlen(r->here) == folder_length && memcmp(r->here, folder, folder_length) == 0)
        return copy(r, name, length);
    char path[PATH_MAX], from[PATH_MAX];
    string_print(path, sizeof path, "%.*s/%.*s", (int)folder_length, folder, (int)length, name);
    const char *shown = source_from(r->here, path, from, sizeof from);
    return copy(r, shown, strlen(shown));
}

static struct source_place place_in(struct reader *r, LLVMMetadataRef file, unsigned line, unsigned column)
{
    if (!file || !line)
        return (struct source_place){0};
    if (file != r->file)
        r->path = path_of(r, file);
    r->file = file;
    return r->path ? (struct source_place){r->path, line, column} : (struct source_place){0};
}

static struct source_place place_at(struct reader *r, LLVMMetadataRef place)
{
    LLVMMetadataRef scope = place ? LLVMDILocationGetScope(place) : NULL;
    return place_in(r, scope ? LLVMDIScopeGetFile(scope) : NULL, place ? LLVMDILocationGetLine(place) : 0,
                    place ? LLVMDILocationGetColumn(place) : 0);
}

static struct source_place place_of(struct reader *r, LLVMValueRef instruction)
{
    return place_at(r, LLVMInstructionGetDebugLoc(instruction));
}

/* Returns the location of the outermost call into which an instruction was inlined; else its own location. */
static struct source_place own_place_of(struct reader *r, LLVMValueRef instruction)
{
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(instruction), outer = place;
    while ((outer = outer ? LLVMDILocationGetInlinedAt(outer) : NULL))
        place = outer;
    return place_at(r, place);
}

/* Returns the place where the loop begins. !llvm.loop contains the places of the loop's begin and end. */
static struct source_place loop_place(struct reader *r, LLVMValueRef last)
{
    LLVMValueRef node = LLVMGetMetadata(last, r->loop_kind), operands[32];
    int count = node ? LLVMGetMDNodeNumOperands(node) : 0;
    if (count < 2 || count > (int)(sizeof operands / sizeof *operands))
        return (struct source_place){0};
    LLVMGetMDNodeOperands(node, operands);
    LLVMMetadataRef place = operands[1] ? LLVMValueAsMetadata(operands[1]) : NULL;
    if (!place || LLVMGetMetadataKind(place) != LLVMDILocationMetadataKind)
        return (struct source_place){0};
    return place_at(r, place);
}

static void read_branch_places(struct reader *r, LLVMValueRef last, struct block *out)
{
    out->loop_place = loop_place(r, last);
    out->branch_place = place_of(r, last);
}

/* --- functions ------------------------------------------------------------------------------------------ */

/* Adds an assumption to block->assumptions, which is large enough. */
static void read_assumption(struct reader *r, LLVMValueRef instruction, struct block *block)
{
    block->assumptions[block->assumption_count++] = (struct assumption){
        llvm_condition(r->arena, LLVMGetOperand(instruction, 0)), .calls_before = block->call_count};
}

/* Adds a call to block->calls, which is large enough. Returns false if out of memory. */
static bool read_call(struct reader *r, LLVMValueRef instruction, struct function *function,
                      struct block *block)
{
    LLVMValueRef callee = llvm_called_function(instruction), body = llvm_body_of(instruction);
    if (callee && strcmp(LLVMGetValueName2(callee, &(size_t){0}), "llvm.assume") == 0)
        read_assumption(r, instruction, block);
    if (!llvm_is_real_call(instruction))
        return true;
    struct call call = {.name = llvm_call_name(r->arena, instruction),
                        .type = llvm_call_type(r->arena, instruction),
                        .callee = body ? llvm_number_of(&r->functions.numbers, body) : -1,
                        .place = place_of(r, instruction),
                        .number = (uint32_t)function->call_count++,
                        .argument_count = LLVMGetNumArgOperands(instruction),
                        .arguments = llvm_arguments(r->arena, instruction, callee)};
    bool is_good = call.name || llvm_find_targets(r->arena, &r->functions, instruction, &call);
    block->calls[block->call_count++] = call;
    block->is_cold = block->is_cold || llvm_attribute(instruction, llvm_attribute_kind("cold"));
    return call.arguments && is_good;
}

static bool alloc_calls(struct reader *r, LLVMBasicBlockRef from, struct block *out)
{
    size_t count = 1;
    for (LLVMValueRef v = LLVMGetFirstInstruction(from); v; v = LLVMGetNextInstruction(v))
        count += llvm_is_call(v);
    out->calls = arena_alloc(r->arena, count * sizeof *out->calls);
    out->assumptions = arena_alloc(r->arena, count * sizeof *out->assumptions);
    return out->calls && out->assumptions;
}

/* Reads the weights of a branch's edges from its !prof node. The node contains a name, since LLVM 19 the
 * origin of the weights, and then the weights. A weight from a profile is the edge's count + 1, possibly
 * scaled down. Returns false if the branch has no weights. */
static bool read_weights(struct reader *r, LLVMValueRef last, size_t edge_count, double *out_weights)
{
    LLVMValueRef node = last ? LLVMGetMetadata(last, r->weight_kind) : NULL;
    LLVMValueRef operands[MAX_WEIGHTS + 2];
    int count = node ? LLVMGetMDNodeNumOperands(node) : 0, first = count - (int)edge_count;
    double sum = 0;
    if (edge_count > MAX_WEIGHTS || first < 1 || first > 2)
        return false;
    LLVMGetMDNodeOperands(node, operands);
    for (size_t i = 0; i < edge_count; i++) {
        LLVMValueRef weight = operands[first + (int)i];
        if (!weight || !LLVMIsAConstantInt(weight) || LLVMGetIntTypeWidth(LLVMTypeOf(weight)) > 64)
            return false;
        out_weights[i] = (double)LLVMConstIntGetZExtValue(weight);
        sum += out_weights[i];
    }
    return sum > 0;
}

static bool read_edges(struct reader *r, LLVMValueRef last, const struct numbering *blocks,
                       struct function *function, struct block *out)
{
    double weights[MAX_WEIGHTS], sum = 0;
    out->edge_count = last ? LLVMGetNumSuccessors(last) : 0;
    out->edges = arena_alloc(r->arena, (out->edge_count + 1) * sizeof *out->edges);
    bool has_weights = out->edge_count > 1 && read_weights(r, last, out->edge_count, weights);
    for (size_t i = 0; has_weights && i < out->edge_count; i++)
        sum += weights[i];
    for (size_t i = 0; out->edges && i < out->edge_count; i++)
        out->edges[i] = (struct edge){
            .to = (uint32_t)llvm_number_of(blocks, LLVMGetSuccessor(last, (unsigned)i)),
            .number = (uint32_t)function->edge_count++,
            .probability = has_weights ? weights[i] / sum : NAN,
            .profiled_count =
                has_weights && !isnan(function->profiled_calls) ? fmax(weights[i] - 1, 0) : NAN};
    return out->edges != NULL;
}

/* Returns the fraction of a product's micro-operations that is counted as multiplications. In vector
 * products, two multiplications count as one, because cores start two vector multiplications per cycle, but
 * only one scalar multiplication. The other micro-operations shuffle the operands. */
static double multiply_part(LLVMValueRef value, double bits)
{
    bool is_vector = bits > 0 && LLVMGetInstructionOpcode(value) == LLVMMul;
    return is_vector ? llvm_vector_multiplies(value) / llvm_vector_uops(value) / 2 : 1;
}

static void add_work(struct block *out, LLVMValueRef value, enum work work)
{
    double parts = llvm_uops(value), bits = llvm_vector_bits(value), part = multiply_part(value, bits);
    out->work[work] += part * parts;
    out->work[WORK_INT] += (1 - part) * parts;
    double additional = llvm_is_division(value) ? llvm_division_int_uops(value) : 0;
    if (additional > 0)
        out->work[WORK_INT] += additional * parts / llvm_division_uops(value);
    if (bits > 256)
        out->simd_512 += parts;
    else if (bits > 128)
        out->simd_256 += parts;
}

static bool read_block(struct reader *r, LLVMBasicBlockRef from, const struct numbering *blocks,
                       struct function *function, struct block *out)
{
    LLVMValueRef last = LLVMGetBasicBlockTerminator(from);
    *out = (struct block){.name = llvm_name(r->arena, LLVMBasicBlockAsValue(from))};
    if (!alloc_calls(r, from, out))
        return false;
    for (LLVMValueRef v = LLVMGetFirstInstruction(from); v; v = LLVMGetNextInstruction(v)) {
        enum work work = llvm_work(v);
        if (work < WORK_KINDS)
            add_work(out, v, work);
        if (llvm_is_call(v) && !read_call(r, v, function, out))
            return false;
        if (!out->place.file) {
            out->place = place_of(r, v);
            out->own_place = own_place_of(r, v);
        }
    }
    if (last)
        read_branch_places(r, last, out);
    if (last && LLVMIsABranchInst(last) && LLVMIsConditional(last))
        out->condition = llvm_condition(r->arena, LLVMGetCondition(last));
    else if (last && LLVMIsASwitchInst(last) && LLVMGetNumSuccessors(last) > 2)
        out->condition = llvm_switch_condition(r->arena, last);
    out->is_dead_end = last && LLVMGetInstructionOpcode(last) == LLVMUnreachable;
    out->is_by_data = llvm_is_by_data(from, &out->branch_test);
    return read_edges(r, last, blocks, function, out) && llvm_read_accesses(r->arena, r->layout, from, out);
}

static void mark_calls_in_loops(struct function *function, const struct loops *loops)
{
    for (size_t i = 0; i < loops->flow.reached; i++) {
        uint32_t block = loops->flow.order[i];
        for (size_t c = 0; c < function->blocks[block].call_count; c++)
            function->blocks[block].calls[c].is_in_loop = loops->innermost[block] >= 0;
    }
}

static bool read_loops(struct reader *r, LLVMBasicBlockRef *blocks, const struct numbering *numbers,
                       struct function *function)
{
    struct loops loops;
    bool is_good = loops_find(r->arena, function, &loops) == JOULE_OK &&
                   llvm_find_chains(r->layout, blocks, function, &loops) &&
                   llvm_find_monotonic_phis(r->arena, r->layout, blocks, numbers, function, &loops);
    if (is_good)
        mark_calls_in_loops(function, &loops);
    if (is_good)
        llvm_find_merged(blocks, numbers, function, &loops);
    function->has_loops = is_good && loops.count > 0;
    return is_good;
}

/* Returns the number of the function's calls in a profile; NaN: there is no profile. */
static double read_profiled_calls(struct reader *r, LLVMValueRef function)
{
    size_t count = 0;
    double calls = NAN;
    LLVMValueMetadataEntry *all = LLVMGlobalCopyAllMetadata(function, &count);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operands[2];
        if (LLVMValueMetadataEntriesGetKind(all, i) != r->weight_kind)
            continue;
        LLVMValueRef node =
            LLVMMetadataAsValue(LLVMGetModuleContext(r->module), LLVMValueMetadataEntriesGetMetadata(all, i));
        if (LLVMGetMDNodeNumOperands(node) != 2)
            continue;
        LLVMGetMDNodeOperands(node, operands);
        if (operands[1] && LLVMIsAConstantInt(operands[1]) &&
            LLVMGetIntTypeWidth(LLVMTypeOf(operands[1])) <= 64)
            calls = (double)LLVMConstIntGetZExtValue(operands[1]);
    }
    if (all)
        LLVMDisposeValueMetadataEntries(all);
    return calls;
}

static bool read_function(struct reader *r, LLVMValueRef value, struct function *out)
{
    out->name = llvm_name(r->arena, value);
    out->profiled_calls = read_profiled_calls(r, value);
    out->block_count = LLVMCountBasicBlocks(value);
    out->blocks = arena_alloc(r->arena, (out->block_count + 1) * sizeof *out->blocks);
    LLVMBasicBlockRef *blocks = arena_alloc(r->arena, (out->block_count + 1) * sizeof *blocks);
    out->parameter_count = LLVMCountParams(value);
    out->parameters = llvm_parameters(r->arena, value);
    if (!out->blocks || !blocks || !out->parameters)
        return false;
    LLVMGetBasicBlocks(value, blocks);
    LLVMMetadataRef program = LLVMGetSubprogram(value);
    if (program)
        out->place = place_in(r, LLVMDIScopeGetFile(program), LLVMDISubprogramGetLine(program), 0);
    struct numbering numbers;
    bool is_good = llvm_number_all(r->arena, (void *const *)blocks, out->block_count, &numbers);
    for (size_t i = 0; i < out->block_count && is_good; i++)
        is_good = read_block(r, blocks[i], &numbers, out, &out->blocks[i]);
    return is_good && llvm_read_locals(r->arena, r->layout, blocks[0], out) &&
           read_loops(r, blocks, &numbers, out);
}

/* Lists for each function the functions that were inlined into it. Returns false if out of memory. */
static bool read_inlined(struct reader *r)
{
    size_t count = r->out->function_count;
    struct numbering programs;
    LLVMMetadataRef *list = arena_alloc(r->arena, (count + 1) * sizeof *list);
    for (size_t i = 0; i < count && list; i++)
        list[i] = LLVMGetSubprogram(r->functions.functions[i]);
    bool is_good = list && llvm_number_all(r->arena, (void *const *)list, count, &programs);
    for (size_t i = 0; i < count && is_good; i++)
        is_good = llvm_find_inlined(r->arena, r->functions.functions[i], &programs, r->out->functions,
                                    &r->out->functions[i]);
    return is_good;
}

static bool read_functions(struct reader *r)
{
    size_t count = 0, i = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        count += !LLVMIsDeclaration(f);
    LLVMValueRef *functions = arena_alloc(r->arena, (count + 1) * sizeof *functions);
    r->out->functions = arena_alloc(r->arena, (count + 1) * sizeof *r->out->functions);
    if (!functions || !r->out->functions)
        return false;
    for (LLVMValueRef f = LLVMGetFirstFunction(r->module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            functions[i++] = f;
    r->out->function_count = count;
    r->functions.functions = functions;
    r->functions.is_address_taken = llvm_find_address_taken(r->arena, functions, count);
    bool is_good = r->functions.is_address_taken &&
                   llvm_number_all(r->arena, (void *const *)functions, count, &r->functions.numbers);
    for (i = 0; i < count && is_good; i++)
        is_good = read_function(r, functions[i], &r->out->functions[i]);
    for (i = 0; i < count && is_good; i++)
        r->out->functions[i].is_local =
            !r->functions.is_address_taken[i] && llvm_is_local(r->module, functions[i]);
    return is_good && read_inlined(r);
}

/* --- annotations ---------------------------------------------------------------------------------------- */

/* Removes casts between typed pointers, which LLVM uses before version 15. */
static LLVMValueRef strip_casts(LLVMValueRef value)
{
    while (value && LLVMIsAConstantExpr(value))
        value = LLVMGetOperand(value, 0);
    return value;
}

static bool add_annotation(struct reader *r, LLVMValueRef entry)
{
    LLVMValueRef function = strip_casts(LLVMGetOperand(entry, 0)),
                 global = strip_casts(LLVMGetOperand(entry, 1));
    LLVMValueRef text = global && LLVMIsAGlobalVariable(global) ? LLVMGetInitializer(global) : NULL;
    int32_t index = llvm_number_of(&r->functions.numbers, function);
    size_t length;
    if (llvm_is_bodiless(function))
        r->out->bodiless = llvm_name(r->arena, function);
    if (index < 0 || !text || !LLVMIsConstantString(text))
        return true;
    const char *annotation = LLVMGetAsString(text, &length);
    struct function *f = &r->out->functions[index];
    const char **list = arena_push(r->arena, f->annotations, f->annotation_count,
                                   copy(r, annotation, strnlen(annotation, length)));
    if (!list)
        return false;
    f->annotations = list;
    f->annotation_count++;
    return true;
}

static bool read_annotations(struct reader *r)
{
    LLVMValueRef all = LLVMGetNamedGlobal(r->module, "llvm.global.annotations");
    LLVMValueRef list = all ? LLVMGetInitializer(all) : NULL;
    bool is_good = true;
    r->out->has_dropped_bodies = llvm_has_dropped_bodies(r->module);
    for (int i = 0; list && is_good && i < LLVMGetNumOperands(list); i++)
        is_good = add_annotation(r, LLVMGetOperand(list, (unsigned)i));
    return is_good;
}

/* --- scalar evolution ----------------------------------------------------------------------------------- */

static joule_status name_values(struct reader *r, joule_error *error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef problem = LLVMRunPasses(r->module, NAMES, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (!problem)
        return JOULE_OK;
    char *message = LLVMGetErrorMessage(problem);
    joule_status status = error_set(error, JOULE_FAILED, "cannot run LLVM's pass %s: %s", NAMES, message);
    LLVMDisposeErrorMessage(message);
    return status;
}

static joule_status read_scev(struct reader *r, joule_error *error)
{
    r->out->scev = arena_alloc(r->arena, sizeof *r->out->scev);
    return r->out->scev && llvm_read_scev(r->module, r->out->scev)
               ? JOULE_OK
               : error_set(error, JOULE_NO_MEMORY, "out of memory");
}

/* --- the build ------------------------------------------------------------------------------------------ */

static bool read_built_loops(struct reader *r, LLVMValueRef value, struct function *out)
{
    struct function built = {0};
    struct loops loops;
    if (!out->has_loops)
        return true;
    if (!read_function(r, value, &built) || loops_find(r->arena, &built, &loops) != JOULE_OK)
        return false;
    LLVMBasicBlockRef *blocks = arena_alloc(r->arena, (built.block_count + 1) * sizeof *blocks);
    if (!blocks)
        return false;
    LLVMGetBasicBlocks(value, blocks);
    return llvm_read_built_loops(r->arena, blocks, &built, &loops, out);
}

/* Reads the loops of the user's build from a copy of the module, because the passes change the module.
 * Returns false if out of memory. */
static bool read_build(struct reader *r, const struct module_build *build)
{
    r->out->is_built = build && !build->vectorises && !build->packs && !build->unrolls;
    if (!build || r->out->is_built)
        return true;
    struct reader copy = *r;
    bool is_good = true;
    size_t i = 0;
    copy.module = LLVMCloneModule(r->module);
    copy.layout = LLVMGetModuleDataLayout(copy.module);
    /* Calls in the copy are not resolved; their work is counted in the original module */
    copy.functions.numbers.count = 0;
    r->out->is_built = llvm_build_loops(copy.module, build);
    for (LLVMValueRef f = LLVMGetFirstFunction(copy.module); f && r->out->is_built && is_good;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            is_good = read_built_loops(&copy, f, &r->out->functions[i++]);
    LLVMDisposeModule(copy.module);
    return is_good;
}

/* --- a module ------------------------------------------------------------------------------------------- */

/* Writes the architecture of a triple, with one name for all processors of a family. */
static void architecture_of(const char *triple, char out[16])
{
    string_print(out, 16, "%.*s", (int)strcspn(triple, "-"), triple);
    if (strcmp(out, "x86_64") == 0 || strcmp(out, "amd64") == 0 || (out[0] == 'i' && string_ends(out, "86")))
        string_copy(out, 16, "x86");
    else if (strcmp(out, "arm64") == 0)
        string_copy(out, 16, "aarch64");
}

/* Sets out->foreign if the module's architecture differs from that of this machine. Returns false if out of
 * memory. */
static bool read_architecture(struct reader *r)
{
    char own[16], here[16], *triple = LLVMGetDefaultTargetTriple();
    if (!triple)
        return false;
    architecture_of(LLVMGetTarget(r->module), own);
    architecture_of(triple, here);
    LLVMDisposeMessage(triple);
    if (own[0] && strcmp(own, here) != 0)
        r->out->foreign = copy(r, own, strlen(own));
    return !r->arena->is_out_of_memory;
}

static joule_status read_parsed(struct reader *r, const struct module_build *build, joule_error *error)
{
    joule_status status = name_values(r, error);
    r->layout = LLVMGetModuleDataLayout(r->module);
    if (status == JOULE_OK &&
        !(read_architecture(r) && read_functions(r) && read_annotations(r) &&
          llvm_read_globals(r->arena, r->layout, r->module, r->out) && read_build(r, build)))
        status = error_set(error, JOULE_NO_MEMORY, "out of memory");
    return status == JOULE_OK ? read_scev(r, error) : status;
}

joule_status llvm_parse(LLVMContextRef context, const char *path, LLVMModuleRef *out_module,
                        joule_error *out_error)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer;
    joule_status status = JOULE_OK;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message))
        status = error_set(out_error, JOULE_INVALID, "%s: %s", path, message);
    else if (LLVMParseIRInContext(context, buffer, out_module, &message))
        status =
            error_set(out_error, JOULE_INVALID, "%s is neither LLVM bitcode nor LLVM IR: %s", path, message);
    if (status != JOULE_OK)
        LLVMDisposeMessage(message);
    return status;
}

joule_status module_read(const char *path, const struct module_build *build, struct module *out_module,
                         joule_error *out_error)
{
    *out_module = (struct module){0};
    LLVMContextRef context = LLVMContextCreate();
    struct reader r = {.arena = &out_module->arena,
                       .out = out_module,
                       .loop_kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9),
                       .weight_kind = LLVMGetMDKindIDInContext(context, "prof", 4)};
    if (!getcwd(r.here, sizeof r.here))
        r.here[0] = '\0';
    joule_status status = llvm_parse(context, path, &r.module, out_error);
    if (status == JOULE_OK) {
        status = read_parsed(&r, build, out_error);
        LLVMDisposeModule(r.module);
    }
    LLVMContextDispose(context);
    if (status != JOULE_OK)
        module_free(out_module);
    return status;
}

void module_free(struct module *module)
{
    if (module->scev)
        scev_facts_free(module->scev);
    arena_free(&module->arena);
    *module = (struct module){0};
}
