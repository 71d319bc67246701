/* tools/forge/forge_convert.c - `forge convert`: writes a language model as a GGUF file, optionally with
 * smaller weights. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/string.h"
#include "common/output.h"
#include "files.h"
#include "forge/infer/model/gguf_write.h"
#include "forge_commands.h"
#include "language_model.h"

struct convert_options {
    const char *model, *output, *tokenizer, *type_name;
    forge_dtype type; /* type of matrices in the new file; FORGE_DTYPE_NONE: as in the model */
};

static bool check_options(struct convert_options *o)
{
    static const char *const names[] = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q6_k", NULL};
    const char *const paths[] = {o->model, o->tokenizer, o->output};
    joule_error error = {0};
    if (o->type_name && !string_is_one_of(o->type_name, names))
        complain("convert", "--quant takes q8_0, q4_0, q4_k, q6_k, f16, bf16 or f32, not '%s'", o->type_name);
    else if (output_check_apart(paths, 2, 3, &error) != JOULE_OK ||
             output_check_file(o->output, &error) != JOULE_OK)
        complain("convert", "%s", error.message);
    else
        return true;
    return false;
}

/* Prints the sizes of the weights of both files. Opens the new file to get its size, because some matrices
 * may have kept their type. */
static joule_status print_sizes(const struct convert_options *o, uint64_t old_bytes, joule_error *error)
{
    forge_model *model = NULL;
    forge_model_facts facts = {.struct_size = sizeof facts};
    char old[BYTES_TEXT], new[BYTES_TEXT];
    joule_status status = forge_model_open(o->output, o->tokenizer, &model, error);
    if (status != JOULE_OK)
        return status;
    forge_model_query(model, &facts);
    printf("%s: %s, %" PRIu64 " weights, mostly %s, %s (before: %s)\n", o->output, facts.architecture,
           facts.parameters, forge_dtype_name(facts.dtype), bytes_text((double)facts.weight_bytes, new),
           bytes_text((double)old_bytes, old));
    forge_model_free(model);
    return JOULE_OK;
}

static int convert(const struct convert_options *o)
{
    struct model_file *file = NULL;
    joule_error error = {0};
    uint64_t bytes = 0;
    joule_status status = model_file_open(o->model, o->tokenizer, &file, &error);
    for (size_t i = 0; status == JOULE_OK && i < file->tensor_count; i++)
        bytes += file->tensors[i].size_bytes;
    if (status == JOULE_OK) {
        status = gguf_write(file, o->type, o->output, &error);
        model_file_close(file);
    }
    if (status == JOULE_OK)
        status = print_sizes(o, bytes, &error);
    if (status == JOULE_OK)
        return 0;
    complain("convert", "%s", error.message);
    return EXIT_OWN_FAILURE;
}

int convert_main(int argc, char **argv)
{
    struct convert_options o = {0};
    const struct option table[] = {
        {"quant", 'q', OPTION_TEXT, &o.type_name, "TYPE",
         "type of the new weights: q8_0, q4_0, q4_k, q6_k, f16, bf16 or f32 (default: as in MODEL)"},
        {"tokenizer", 0, OPTION_TEXT, &o.tokenizer, "FILE",
         "file with the vocabulary, for models whose file has none"},
        {NULL},
    };
    const struct command_text text = {
        "forge convert MODEL OUT.gguf [OPTIONS]", "Writes a language model as a GGUF file.",
        "MODEL is a GGUF file, a folder of Hugging Face, or a .bin file of llama2.c.\n"};
    const struct program_operand operands[] = {{"MODEL", &o.model, false}, {"OUT.gguf", &o.output, false}};
    int read = options_read_operands(table, &text, operands, 2, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!check_options(&o))
        return EXIT_USAGE;
    o.type = o.type_name ? forge_dtype_from_name(o.type_name) : FORGE_DTYPE_NONE;
    return convert(&o);
}
