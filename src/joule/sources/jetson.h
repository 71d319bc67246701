/* joule/sources/jetson.h - which monitors are a Jetson board's own.
 *
 * Owns one question, which hwmon asks so that two sources do not read one chip over a slow bus. Newcomers: the answer does
 * not depend on what the source jetson has opened.
 */
#ifndef JOULE_JETSON_H
#define JOULE_JETSON_H

#include "joule/sources/source.h"

/* Whether the hardware monitor at `folder`, whose name is `chip`, measures the rails of a Jetson. */
bool jetson_has_chip(struct source *source, const char *folder, const char *chip);

#endif
