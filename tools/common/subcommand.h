/* tools/common/subcommand.h - runs the subcommand that the user names, and prints the help, both from one
 * table.
 *
 * Handles --help, --version, unknown subcommands, and errors of standard output. Each subcommand reads its
 * own options. The program's name is tool_name (options.h).
 */
#ifndef COMMON_SUBCOMMAND_H
#define COMMON_SUBCOMMAND_H

struct subcommand {
    const char *name; /* NULL ends the table */
    int (*main)(int argc, char **argv);
    const char *summary;
};

/* Runs the subcommand that argv[1] names. Returns the program's exit code. If argv[1] resembles no
 * subcommand, the error message ends with `hint` and argv[1]. `hint` NULL: no hint. */
int subcommand_run(const struct subcommand *table, const char *hint, int argc, char **argv);

#endif
