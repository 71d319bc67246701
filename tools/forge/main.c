/* tools/forge/main.c - the table of the subcommands of `forge`.
 *
 * Note: each subcommand has a separate file, which also reads its options. A new subcommand needs a row in
 * the table.
 */
#include <stddef.h>
#include "forge_commands.h"
#include "common/subcommand.h"
#include "common/options.h"

const char tool_name[] = "forge";

static const struct subcommand subcommands[] = {
    {"bench", bench_main, "measure the limits of this machine and the speed of TensorForge"},
    {"bench-llm", bench_llm_main, "measure the speed and the energy of a language model"},
    {"chat", chat_main, "talk to a language model"},
    {"check", check_main, "check or time every operation on a device"},
    {"compile", compile_main, "compile the text of a graph to a program"},
    {"convert", convert_main, "write a language model as a GGUF file, also with smaller weights"},
    {"devices", devices_main, "list the devices that programs can run on"},
    {"generate", generate_main, "continue a text with a language model"},
    {"inspect", inspect_main, "show the contents of a graph, program, checkpoint or file of tensors"},
    {"perplexity", perplexity_main, "measure how well a language model predicts a text"},
    {"run", run_main, "run a program and print the time and energy of its launches"},
    {"serve", serve_main, "answer requests to a language model over HTTP"},
    {"tokenize", tokenize_main, "convert text to the tokens of a language model, and back"},
    {"train", train_main, "train a network and print the energy of its operations"},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    return subcommand_run(subcommands, NULL, argc, argv);
}
