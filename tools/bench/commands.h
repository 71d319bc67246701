/* bench/commands.h - the subcommands of this program. Each gets its own name as argv[0] and returns the exit
 * code. */
#ifndef BENCH_COMMANDS_H
#define BENCH_COMMANDS_H

int measure_main(int argc, char **argv); /* bench and compare */
int history_main(int argc, char **argv);

#endif
