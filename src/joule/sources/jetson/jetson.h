/* joule/sources/jetson/jetson.h - which monitors are a Jetson board's own, for the sources that could read them as well.
 *
 * Owns two questions: hwmon asks so that two sources do not read one chip over a slow bus, tegrastats because it is run only
 * where nothing else reads the rails. Newcomers: the answers do not depend on what the source jetson has opened.
 */
#ifndef JOULE_JETSON_H
#define JOULE_JETSON_H

#include "joule/sources/source.h"

/* Whether the hardware monitor at `folder`, whose name is `chip`, measures the rails of a Jetson. */
bool jetson_has_chip(struct source *source, const char *folder, const char *chip);
/* Whether sysfs has a rail of this machine that may be read. */
bool jetson_has_rails(struct source *source);

#endif
