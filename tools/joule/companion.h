/* tools/joule/companion.h - starts subcommands that are separate programs.
 *
 * A subcommand that needs a library beside libc, for example for a terminal, is a separate program. So `joule
 * run` does not load that library.
 *
 * Note: the programs are in libexec/joule, found relative to this program, so that an installed tree can be
 * moved. A build tree has the same layout (CMakeLists.txt).
 */
#ifndef JOULE_COMPANION_H
#define JOULE_COMPANION_H

/* Replaces this process by the program `name` of libexec/joule. If the program cannot be started, prints a
 * message and returns. */
void companion_become(const char *subcommand, const char *name, char **argv);
/* A subcommand that replaces this process by joule-NAME, where NAME is argv[0], with the same arguments.
 * Returns EXIT_OWN_FAILURE after a message if the program cannot be started. */
int companion_main(int argc, char **argv);
/* Like companion_main, for a subcommand of joule-bench, which gets the name joule-NAME as argv[0]. */
int companion_bench_main(int argc, char **argv);

#endif
