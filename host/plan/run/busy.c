/* busy.c - the state of the outermost run, under a lock: it is read while it is drawn. */
#include "plan/run/busy.h"

#include <pthread.h>

#include "base/clock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int depth;
static double began;
static gb_busy now;
static void (*to_clear)(void); /* NULL: nothing was drawn */

bool gb_busy_begin (void) {
  pthread_mutex_lock(&lock);
  const bool outermost = depth++ == 0;
  if (outermost) {
    began = gb_clock();
    now = (gb_busy){.what = "", .where = ""};
  }
  pthread_mutex_unlock(&lock);
  return outermost;
}

void gb_busy_step (const char *what, const char *where, size_t done, size_t total) {
  pthread_mutex_lock(&lock);
  now = (gb_busy){.what = what, .where = where, .done = done, .total = total};
  pthread_mutex_unlock(&lock);
}

void gb_busy_end (bool outermost) {
  pthread_mutex_lock(&lock);
  depth--;
  if (outermost) now.what = now.where = "";
  if (outermost && to_clear != NULL) {
    to_clear();
    to_clear = NULL;
  }
  pthread_mutex_unlock(&lock);
}

gb_busy gb_busy_peek (void) {
  gb_busy b = now;
  if (depth == 0) b.what = "";
  b.seconds = gb_clock() - began;
  return b;
}

void gb_busy_look (double seconds, void (*draw)(const gb_busy *), void (*clear)(void)) {
  pthread_mutex_lock(&lock);
  now.seconds = gb_clock() - began;
  if (depth > 0 && now.seconds >= seconds && *now.what != '\0') {
    draw(&now);
    to_clear = clear;
  }
  pthread_mutex_unlock(&lock);
}
