/* tools/forge/step_page.h - where the time and joules of a step go, as a page to look at.
 *
 * Owns an HTML file that needs nothing else: phases, modules with what is inside them, and every launch. Newcomers: it shows
 * means over the runs that the instance has spans of; joules are unknown where no meter has told them.
 */
#ifndef FORGE_STEP_PAGE_H
#define FORGE_STEP_PAGE_H

#include <forge/program.h>

/* `title` is shown as it is. INVALID: the instance has not run. Otherwise as output_write; "-": to standard output. */
joule_status step_page_write(const char *path, forge_instance *instance, const char *title,
                             joule_error *out_error);

#endif
