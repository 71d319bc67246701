/* joule/api/framed.h - regions that belong to a call: they end with it, however it is left.
 *
 * Owns what budget_scope.c needs of region.c beside the public functions. Newcomers: which regions of a thread are open is only
 * known from its slot; those that found no place there (the 65th and deeper) are lost where they are left by longjmp.
 */
#ifndef JOULE_FRAMED_H
#define JOULE_FRAMED_H

#include <joule/region.h>

/* joule_begin_with, of a region that is left with the call that began it. */
joule_region region_begin_framed(uint32_t tag, uint32_t flags);
/* Ends those of this thread that began after since_ns and run. */
void region_end_framed_since(int64_t since_ns);
/* Counts a call of a tag without stamps. Async-signal-safe once the thread had a region. */
void region_count(uint32_t tag);
/* What lies between the stamps of a region with nothing in it, at least, on this thread now; NaN: unknown. */
double region_stamp_seconds(void);

#endif
