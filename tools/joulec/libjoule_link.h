/* tools/joulec/libjoule_link.h - decides whether a link needs libjoule, and with which arguments.
 *
 * Note: a program that does not call libjoule is linked exactly as clang would link it. Configure scripts
 * probe the linker and must get clang's results.
 */
#ifndef JOULEC_LIBJOULE_LINK_H
#define JOULEC_LIBJOULE_LINK_H

#include "arguments.h"

/* Returns the arguments to append to the link, terminated by NULL. The list is empty if nothing calls
 * libjoule. is_called: an instrumented source of this command calls libjoule. The list is allocated in
 * `arena` or static. Returns NULL after a message. */
const char **library_arguments(struct arena *arena, const struct arguments *arguments, bool is_called);

#endif
