/* tools/forge/step_page.h - writes a self-contained HTML page of a step's time and joules, by module and
 * launch.
 *
 * Note: figures are means over the runs that the instance has measured. Without a meter the joules are
 * unknown.
 */
#ifndef FORGE_STEP_PAGE_H
#define FORGE_STEP_PAGE_H

#include <forge/program.h>

/* Writes the page to path; "-" is standard output. Markup in `title` is escaped. INVALID: the instance has
 * not run. Other errors: those of output_write. */
joule_status step_page_write(const char *path, forge_instance *instance, const char *title,
                             joule_error *out_error);

#endif
