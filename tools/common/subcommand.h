/* tools/common/subcommand.h - choice of a subcommand, and the help, from one table.
 *
 * Handles --help, --version, unknown subcommands, and errors of standard output. Each subcommand reads its
 * own options. The program's name is tool_name (options.h), which its main.c defines.
 */
#ifndef COMMON_SUBCOMMAND_H
#define COMMON_SUBCOMMAND_H

struct subcommand {
    const char *name; /* NULL ends the table */
    int (*main)(int argc, char **argv);
    const char *summary;
};

/* Runs the subcommand that argv[1] names. Returns the program's exit code. If the word resembles no
 * subcommand, `hint` and the word end the error message; NULL: no hint. */
int subcommand_run(const struct subcommand *table, const char *hint, int argc, char **argv);

#endif
