/* tools/common/front_door.h - a program's front door: one table of subcommands gives the choice and the help.
 *
 * Owns --help, --version, what is said about a subcommand that there is not, and about what could not be printed; each
 * subcommand reads its own options.
 * Newcomers: the program's name is tool_name (options.h), which its main.c defines.
 */
#ifndef COMMON_FRONT_DOOR_H
#define COMMON_FRONT_DOOR_H

struct subcommand {
    const char *name; /* NULL ends the table */
    int (*main)(int argc, char **argv);
    const char *summary;
};

/* The program's exit code. `hint`, which may be NULL, goes before the word that is not like any subcommand, at the end of
 * the message about it. */
int front_door(const struct subcommand *table, const char *hint, int argc, char **argv);

#endif
