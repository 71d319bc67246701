/* tools/joulec/check/others.h - sources beside C, of which joulec judges nothing.
 *
 * Owns whether one of them has a budget all the same. Newcomers: those without are built as clang builds them, in silence, as most
 * projects have some.
 */
#ifndef CHECK_OTHERS_H
#define CHECK_OTHERS_H

#include "arguments.h"

/* A quick look at a file's text, for most have none. */
bool others_may_have_budget(const char *path);
/* One has a budget in its own text, which would go by unseen; after a message, about the first. */
bool others_have_budget(struct arena *arena, const struct arguments *arguments);

#endif
