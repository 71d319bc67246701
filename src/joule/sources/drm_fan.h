/* joule/sources/drm_fan.h - reads the fans of a graphics board from its hardware monitor (hwmon). */
#ifndef JOULE_DRM_FAN_H
#define JOULE_DRM_FAN_H

#include "joule/sources/device.h"

/* Sets fan_rpm to the speed of the fastest fan below the hwmon folder, and fan_ratio. If has_duty is true,
 * the driver's file pwm1 contains the current duty, from which fan_ratio is set. Otherwise fan_ratio is the
 * fan's speed divided by its maximum. Changes nothing if the folder has no fan files. */
void drm_fan_read(struct joule_host *host, const char *hwmon, bool has_duty, struct device_facts *facts);

#endif
