/* tools/redfish/config.h - reads the configuration file that the environment variable JOULE_REDFISH names. It
 * contains the address, user and certificate check of a management controller.
 *
 * The file consists of lines "key = value". The password is in a separate file that other users may not read.
 * No message contains the password.
 *
 * Note: the controller's certificate is not checked if the file contains "verify = no".
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
    char chassis[64]; /* id of the chassis to read; empty: the only chassis with a computer */
    bool is_verified; /* the controller's certificate is checked */
};

/* Reads the configuration at `path` and the password. Returns a message with JOULE_INVALID if the contents
 * are wrong, and with JOULE_DENIED or JOULE_ABSENT if a file cannot be read. */
joule_status config_read(const char *path, struct config *out_config, joule_error *out_error);

#endif
