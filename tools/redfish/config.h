/* tools/redfish/config.h - the configuration file that JOULE_REDFISH names: address, user and certificate
 * check of a management controller.
 *
 * The file has lines "key = value". The password is in another file that other users may not read; it is
 * never printed.
 *
 * Note: the controller's certificate is checked, unless the file has "verify = no".
 */
#ifndef REDFISH_CONFIG_H
#define REDFISH_CONFIG_H

#include <stdbool.h>
#include <joule/base.h>

struct config {
    char url[256]; /* "https://bmc.example.org", without a path */
    char user[64]; /* empty: no user */
    char password[256];
    char ca[256];     /* file of trusted certificates; empty: those of the system */
    char chassis[64]; /* empty: the only chassis with a computer */
    bool is_verified;
};

/* Reads the file. Returns JOULE_INVALID with a message if its contents are wrong, and JOULE_DENIED or
 * JOULE_ABSENT if it cannot be read. */
joule_status config_read(const char *path, struct config *out_config, joule_error *out_error);

#endif
