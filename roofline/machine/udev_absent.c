/* A static libhwloc wants libudev, which Debian ships as a shared library only, to name block
 * devices. Those are not looked at here, so udev is declared absent: udev_new() returning NULL is
 * what hwloc expects where udev does not run. */
#include <stddef.h>

struct udev;
struct udev_device;

struct udev* udev_new(void) { return NULL; }
struct udev* udev_unref(struct udev* udev) {
  (void)udev;
  return NULL;
}
struct udev_device* udev_device_new_from_subsystem_sysname(struct udev* udev,
                                                           const char* subsystem,
                                                           const char* sysname) {
  (void)udev, (void)subsystem, (void)sysname;
  return NULL;
}
const char* udev_device_get_property_value(struct udev_device* device, const char* key) {
  (void)device, (void)key;
  return NULL;
}
struct udev_device* udev_device_unref(struct udev_device* device) {
  (void)device;
  return NULL;
}
