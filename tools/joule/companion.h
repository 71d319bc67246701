/* tools/joule/companion.h - subcommands that are programs of their own.
 *
 * Owns finding joule-NAME, and becoming it. What needs a library beside libc (a terminal's, a web server's) lives in such a
 * program, so that `joule run` loads none of it.
 * Newcomers: they lie in libexec/joule, which is looked for from where this program lies, so that an installed tree can be
 * moved; a build has the same folders. CMakeLists.txt tells where.
 */
#ifndef JOULE_COMPANION_H
#define JOULE_COMPANION_H

/* Becomes the program `name` of that folder. Returns after a message where it cannot. */
void companion_become(const char *subcommand, const char *name, char **argv);
/* A subcommand: becomes joule-NAME, where NAME is argv[0], with the same arguments. Returns only where that failed. */
int companion_main(int argc, char **argv);

#endif
