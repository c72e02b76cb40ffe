/* ticker.c - a line on the terminal for what the core computes longer than half a second. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lua/lgb.h"
#include "plan/run/busy.h"
#include "shell/host.h"

#define PATIENCE 0.5         /* seconds of which nothing is said */
#define PERIOD_NS 200000000L /* between two looks */

static void put (const char *text, size_t n) {
  if (write(STDERR_FILENO, text, n) < 0) return; /* stderr is closed */
}

static size_t columns (void) {
  const size_t wide = lgb_columns(STDERR_FILENO);
  return wide > 0 ? wide : 80;
}

/* These LAPACK calls poll nothing until they return. */
static const char *warning (const char *what) {
  return strncmp(what, "eigh", 4) == 0 || strncmp(what, "svd", 3) == 0 ? "  Ctrl-C waits for it" : "";
}

static void draw (const gb_busy *b) {
  char text[256], of[48] = "";
  if (b->total > 1) snprintf(of, sizeof of, "  %zu of %zu", b->done + 1, b->total);
  const int n = snprintf(text, sizeof text, "%s%s%s%s%s  %.0f s%s", b->what, *b->where != '\0' ? " (" : "",
                         b->where, *b->where != '\0' ? ")" : "", of, b->seconds, warning(b->what));
  const size_t room = columns() - 1, size = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
  put("\r", 1);
  put(text, size < room ? size : room);
  put("\033[K", 3);
}

static void clear (void) { put("\r\033[K", 4); }

static void *watch (void *unused) {
  (void)unused;
  const struct timespec period = {.tv_nsec = PERIOD_NS};
  for (;;) {
    nanosleep(&period, NULL);
    gb_busy_look(PATIENCE, draw, clear);
  }
  return NULL;
}

/* Signals are for the main thread: Ctrl-C must wake its waits. */
void lgb_start_ticker (void) {
  if (isatty(STDERR_FILENO) != 1) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}
