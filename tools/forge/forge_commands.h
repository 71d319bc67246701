/* tools/forge/forge_commands.h - the main functions of the subcommands. argv[0] is the subcommand's name.
 * Each function returns the exit code. */
#ifndef FORGE_COMMANDS_H
#define FORGE_COMMANDS_H

int bench_main(int argc, char **argv);
int bench_llm_main(int argc, char **argv);
int chat_main(int argc, char **argv);
int check_main(int argc, char **argv);
int compile_main(int argc, char **argv);
int convert_main(int argc, char **argv);
int devices_main(int argc, char **argv);
int generate_main(int argc, char **argv);
int inspect_main(int argc, char **argv);
int perplexity_main(int argc, char **argv);
int run_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int tokenize_main(int argc, char **argv);
int train_main(int argc, char **argv);

#endif
