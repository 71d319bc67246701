/* joule/sources/drm_fan.h - the fans of a graphics board, by its hardware monitor. */
#ifndef JOULE_DRM_FAN_H
#define JOULE_DRM_FAN_H

#include "joule/sources/device.h"

/* Sets the fan facts to the speed of the fastest fan below the hwmon folder. If has_duty is true, the
 * driver's pwm1 is the current duty, which becomes the ratio. Otherwise the ratio is the speed divided by the
 * highest speed. Changes nothing if there is no fan. */
void drm_fan_read(struct joule_host *host, const char *hwmon, bool has_duty, struct device_facts *facts);

#endif
