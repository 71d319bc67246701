/* joule/meter/cover_choice.h - chooses the domains that make up a total.
 *
 * Note: zones form trees, by parent_zone. A zone in the cover includes all zones inside it. If a zone's
 * sensor stands still or cannot be read, the cover contains the zones inside it instead.
 */
#ifndef JOULE_COVER_CHOICE_H
#define JOULE_COVER_CHOICE_H

#include "joule/meter/engine.h"

/* Fills an empty cover with the domains of JOULE_TOTAL, JOULE_CPU or JOULE_GPU over a window. */
void cover_choose(joule_meter *meter, int32_t group, int64_t begin_ns, int64_t end_ns,
                  struct cover *out_cover);
/* Returns true for channels of whole devices and of whole machines. Other channels are parts: a cover
 * contains them only if the sensor of the enclosing zone cannot be used. */
bool cover_can_count(const struct channel *channel);
/* Returns true if the group (JOULE_TOTAL, JOULE_CPU or JOULE_GPU) sums zones of this scope. */
bool cover_is_wanted(joule_scope scope, int32_t group);

#endif
