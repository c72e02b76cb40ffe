/* profile.c - which figures of a device are in force. */
#include "plan/price/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gb_profiles {
  bool fixed;                   /* chosen by call */
  void (*announce)(bool again); /* NULL: nothing is said */
  gb_device_profile *known;     /* NULL: nothing is known */
  char key[GB_WISDOM_KEY];      /* of 'known' */
  char measured[GB_WISDOM_KEY]; /* of the last one that was measured here: plans keep to it */
};

static void free_profiles (struct gb_profiles *p) {
  if (p != NULL) free(p->known);
  free(p);
}

/* Made on first use; NULL: no memory. */
static struct gb_profiles *profiles_of (gb_device *dev) {
  if (dev->profiles == NULL) dev->profiles = calloc(1, sizeof *dev->profiles);
  dev->free_profiles = free_profiles;
  return dev->profiles;
}

static const gb_price_ops *price_of (const gb_device *dev) {
  return dev->ops == NULL ? NULL : dev->ops->price;
}

void gb_device_profile_choose_fixed (gb_device *dev, bool chosen) {
  struct gb_profiles *p = profiles_of(dev);
  if (p != NULL) p->fixed = chosen;
}

void gb_device_profile_announce (gb_device *dev, void (*say)(bool again)) {
  struct gb_profiles *p = profiles_of(dev);
  if (p != NULL) p->announce = say;
}

static bool is_fixed (const struct gb_profiles *p, const gb_device *dev) {
  const char *word = getenv("GIBBOUS_RATES");
  return p == NULL || p->fixed || price_of(dev)->measure == NULL ||
         (word != NULL && strcmp(word, "fixed") == 0);
}

/* Takes 'r' over. */
static void remember (struct gb_profiles *p, const char *key, gb_device_profile *r) {
  if (p->known != r) free(p->known);
  p->known = r;
  snprintf(p->key, sizeof p->key, "%s", key);
}

/* The figures stored under the key; NULL if the file has none, or cannot be read. */
static gb_device_profile *read_stored (const gb_device *dev, const char *key) {
  char path[GB_WISDOM_PATH];
  gb_device_profile *r = calloc(1, price_of(dev)->bytes);
  if (r != NULL && gb_profile_store_path(path) && gb_profile_store_read(path, key, price_of(dev), r))
    return r;
  free(r);
  return NULL;
}

const gb_device_profile *gb_device_profile_known (gb_device *dev) {
  if (price_of(dev) == NULL) return NULL;
  struct gb_profiles *p = profiles_of(dev);
  char key[GB_WISDOM_KEY];
  if (is_fixed(p, dev)) return price_of(dev)->fixed();
  gb_profile_store_key(dev, key);
  if (p->known == NULL || strcmp(key, p->key) != 0) {
    gb_device_profile *r = read_stored(dev, key);
    if (r == NULL) return NULL;
    remember(p, key, r);
  }
  return p->known;
}

enum { PATIENCE_S = 600 }; /* what kept the machine busy is given the time to end */

static bool wants_another (const struct gb_profiles *p, const char *key) {
  const gb_device_profile *r = p->known;
  return r->calm == 0 && strcmp(p->measured, key) != 0 && !(fabs((double)time(NULL) - r->when) <= PATIENCE_S);
}

static double calmness (const gb_device_profile *r) { return r->share - r->spread; }

/* What was measured is kept where the machine was calmer than for 'old'; else it is measured again later. */
static void keep (gb_device *dev, const char *key, const gb_device_profile *old, gb_device_profile *r) {
  const gb_price_ops *price = price_of(dev);
  char path[GB_WISDOM_PATH];
  if (old != NULL && !(calmness(r) >= calmness(old))) {
    const double when = r->when;
    memcpy(r, old, price->bytes);
    r->when = when;
  }
  /* unwritable: this device knows it */
  if (gb_profile_store_path(path)) gb_profile_store_write(path, key, price, r);
  remember(dev->profiles, key, r);
}

gb_status gb_device_profile_get (gb_device *dev, const gb_device_profile **out, gb_error *err) {
  const gb_price_ops *price = price_of(dev);
  const gb_device_profile *old = *out = gb_device_profile_known(dev);
  struct gb_profiles *p = dev->profiles;
  char key[GB_WISDOM_KEY];
  if (price == NULL) return GB_OK;
  if (old == NULL) *out = price->fixed();
  if (old == price->fixed()) return GB_OK; /* asked for: nothing is measured */
  gb_profile_store_key(dev, key);
  if (old != NULL && !wants_another(p, key)) return GB_OK;
  gb_device_profile *r = calloc(1, price->bytes);
  if (r == NULL) return GB_OK;
  if (p->announce != NULL && dev->ledger.limit >= price->room) p->announce(old != NULL);
  const gb_status rc = price->measure(dev, r, err);
  if (rc != GB_OK) {
    free(r);
    return rc == GB_ENOMEM ? GB_OK : rc;
  }
  strcpy(p->measured, key);
  keep(dev, key, old, r);
  *out = p->known;
  return GB_OK;
}
