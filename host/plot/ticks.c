/* ticks.c - steps of 1, 2, 2.5 and 5 times a power of ten; decades; labels with a common power and offset. */
#include "plot/ticks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A label with more significant digits than this shows its distance from an offset instead. */
enum { MOST_DIGITS = 6 };

const char *gb_tick_label (const gb_tick *t) { return t->name != NULL ? t->name : t->text; }

static void append (char *buf, size_t room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void append (char *buf, size_t room, const char *fmt, ...) {
  const size_t used = strlen(buf);
  va_list args;
  va_start(args, fmt);
  vsnprintf(buf + used, room - used, fmt, args);
  va_end(args);
}

/* Ten to the power e: 10 with raised digits, or 1e-6. */
static void append_power (char *buf, size_t room, int e, bool ascii) {
  static const char *const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                       "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  char digits[16];
  snprintf(digits, sizeof digits, "%d", e);
  append(buf, room, ascii ? "1e%s" : "10", digits);
  for (const char *d = digits; !ascii && *d != '\0'; d++)
    append(buf, room, "%s", *d == '-' ? "\u207b" : raised[*d - '0']);
}

static int exponent_of (double v) { return (int)floor(log10(fabs(v)) + 1e-9); }

/* -- linear */

/* step = mantissa x 10^exponent; the digits of 2.5 reach one place further. */
typedef struct round_step {
  double step;
  int last_digit; /* exponent of its last digit */
} round_step;

static round_step step_of (double raw) {
  static const double mantissa[] = {1, 2, 2.5, 5, 10};
  const int e = (int)floor(log10(raw));
  int i = 0;
  while (i < 4 && mantissa[i] * pow(10, e) < raw * (1 - 1e-9)) i++;
  return (round_step){mantissa[i] * pow(10, e), e - (i == 2) + (i == 4)};
}

/* Labels of the multiples first .. first + n - 1 of the step, exactly: as multiples, less those of an offset. */
static void label_linear (gb_ticks *out, round_step s, double first, bool ascii) {
  const double last = first + (double)(out->n - 1), largest = fmax(fabs(first), fabs(last)) * s.step;
  double origin = 0;
  int power = largest > 0 ? exponent_of(largest) : 0;
  if (largest > 0 && power - s.last_digit + 1 > MOST_DIGITS && out->n > 1) {
    const double whole = round(pow(10, ceil(log10((last - first) * s.step) - 1e-9)) / s.step);
    origin = floor(first / whole) * whole;
    power = exponent_of(fmax(last - origin, 1) * s.step);
  }
  if (power < 6 && power > -4) power = 0;
  const int decimals = power > s.last_digit ? power - s.last_digit : 0;
  for (size_t i = 0; i < out->n; i++) {
    const double v = (first + (double)i - origin) * s.step * pow(10, -power);
    snprintf(out->tick[i].text, sizeof out->tick[i].text, "%.*f", decimals, v == 0 ? 0 : v);
  }
  if (power != 0) {
    append(out->note, sizeof out->note, ascii ? "x" : "\u00d7");
    append_power(out->note, sizeof out->note, power, ascii);
  }
  if (origin != 0)
    append(out->note, sizeof out->note, "%s%s %.15g", power != 0 ? " " : "", origin < 0 ? "-" : "+",
           fabs(origin * s.step));
}

/* Steps that doubles cannot count by, or label, have no ticks. */
static bool is_countable (double step) { return step > 1e-305 && step < 1e308; }

static void make_linear (const gb_scale *s, size_t most, bool ascii, gb_ticks *out) {
  if (!is_countable(s->hi / (double)most - s->lo / (double)most)) return;
  round_step step = step_of(s->hi / (double)most - s->lo / (double)most);
  double first, last;
  for (;;) {
    first = ceil(s->lo / step.step - 1e-9), last = floor(s->hi / step.step + 1e-9);
    if (!(last - first + 1 > (double)most) || !is_countable(step.step)) break;
    step = step_of(step.step * 1.01);
  }
  out->n = last < first || !is_countable(step.step) ? 0 : (size_t)(last - first) + 1;
  for (size_t i = 0; i < out->n; i++) out->tick[i].at = (first + (double)i) * step.step;
  if (out->n > 0) label_linear(out, step, first, ascii);
}

/* -- logarithmic */

static void label_log (gb_tick *t, int mantissa, int e, bool plain, bool ascii) {
  t->at = mantissa * pow(10, e);
  t->text[0] = '\0';
  if (plain) {
    snprintf(t->text, sizeof t->text, "%.*f", e < 0 ? -e : 0, t->at);
    return;
  }
  if (mantissa > 1 && ascii) {
    snprintf(t->text, sizeof t->text, "%de%d", mantissa, e);
    return;
  }
  if (mantissa > 1) snprintf(t->text, sizeof t->text, "%d\u00d7", mantissa);
  append_power(t->text, sizeof t->text, e, ascii);
}

/* Multiples of a decade that have labels: 1; 1, 2 and 5 where there are few decades. */
static size_t make_decades (const gb_scale *s, size_t most, int stride, bool fine, bool ascii,
                            gb_ticks *out) {
  static const int mantissa[] = {1, 2, 5};
  const int from = (int)floor(log10(s->lo) + 1e-9), to = (int)ceil(log10(s->hi) - 1e-9);
  const bool plain = from >= -3 && to <= 5;
  out->n = 0;
  for (int e = from; e <= to; e++)
    for (int k = 0; k < (fine ? 3 : 1); k++) {
      const double at = mantissa[k] * pow(10, e);
      if (!(at >= s->lo * (1 - 1e-9) && at <= s->hi * (1 + 1e-9)) || e % stride != 0) continue;
      if (out->n == most) return most + 1;
      label_log(&out->tick[out->n++], mantissa[k], e, plain, ascii);
    }
  return out->n;
}

static void add_minor (const gb_scale *s, gb_ticks *out) {
  const int from = (int)floor(log10(s->lo)), to = (int)ceil(log10(s->hi));
  if (to - from > GB_MOST_MINOR / 8) return;
  for (int e = from; e < to; e++)
    for (int k = 2; k < 10; k++) {
      const double at = k * pow(10, e);
      if (at >= s->lo && at <= s->hi && out->nminor < GB_MOST_MINOR) out->minor[out->nminor++] = at;
    }
}

static void make_log (const gb_scale *s, size_t most, bool ascii, gb_ticks *out) {
  const double decades = log10(s->hi) - log10(s->lo);
  if (decades < 3) {
    const size_t n = make_decades(s, most, 1, true, ascii, out);
    if (n >= 3 && n <= most) {
      add_minor(s, out);
      return;
    }
  }
  if (decades < 1.2) {
    make_linear(s, most, ascii, out);
    return;
  }
  int stride = 1;
  while (make_decades(s, most, stride, false, ascii, out) > most) stride++;
  if (stride == 1) add_minor(s, out);
}

/* -- names, and what fits */

/* Every stride-th name that lies in the range. */
static void make_named (const gb_axis *a, const gb_scale *s, size_t most, gb_ticks *out) {
  const double edge = 1e-9;
  size_t inside = 0, seen = 0;
  for (size_t i = 0; i < a->nticks; i++) {
    const double at = gb_scale_at(s, a->tick_at[i]);
    inside += at >= -edge && at <= 1 + edge;
  }
  const size_t stride = inside / most + (inside % most != 0);
  for (size_t i = 0; i < a->nticks && out->n < GB_MOST_TICKS; i++) {
    const double at = gb_scale_at(s, a->tick_at[i]);
    if (!(at >= -edge && at <= 1 + edge) || seen++ % stride != 0) continue;
    out->tick[out->n++] = (gb_tick){.at = a->tick_at[i], .name = a->tick_name[i]};
  }
}

static void drop_first (gb_ticks *t) {
  memmove(t->tick, t->tick + 1, (t->n - 1) * sizeof t->tick[0]);
  t->n--;
}

/* Outer labels that reach too far are dropped with their ticks; then, do the others stand apart? */
static bool fits (const gb_scale *s, const gb_ruler *r, gb_ticks *t) {
  const double length = r->length;
  while (t->n > 0) {
    const double at = gb_scale_at(s, t->tick[0].at) * length,
                 half = r->extent(r->ud, gb_tick_label(&t->tick[0])) / 2;
    if (at - half >= -r->before - 1e-9) break;
    drop_first(t);
  }
  while (t->n > 0) {
    const gb_tick *last = &t->tick[t->n - 1];
    const double at = gb_scale_at(s, last->at) * length, half = r->extent(r->ud, gb_tick_label(last)) / 2;
    if (at + half <= length + r->after + 1e-9) break;
    t->n--;
  }
  for (size_t i = 1; i < t->n; i++) {
    const double apart = fabs(gb_scale_at(s, t->tick[i].at) - gb_scale_at(s, t->tick[i - 1].at)) * length;
    const double both = r->extent(r->ud, gb_tick_label(&t->tick[i - 1])) +
                        r->extent(r->ud, gb_tick_label(&t->tick[i]));
    if (!(apart >= both / 2 + r->gap)) return false;
  }
  return true;
}

static void make (const gb_axis *a, const gb_scale *s, size_t most, bool ascii, gb_ticks *out) {
  out->n = out->nminor = 0;
  out->note[0] = '\0';
  for (size_t i = 0; i < GB_MOST_TICKS; i++) out->tick[i].name = NULL;
  if (a->nticks > 0) make_named(a, s, most, out);
  else if (s->log) make_log(s, most, ascii, out);
  else make_linear(s, most, ascii, out);
}

void gb_ticks_fit (const gb_axis *a, const gb_scale *s, const gb_ruler *r, gb_ticks *out) {
  const bool named = a->nticks > 0;
  const size_t cap = named ? GB_MOST_TICKS : r->most;
  size_t single = 0; /* the largest 'most' that leaves one label */
  for (size_t most = cap < GB_MOST_TICKS ? cap : GB_MOST_TICKS; most > 0; most--) {
    make(a, s, most, r->ascii, out);
    if (!fits(s, r, out)) continue;
    if (out->n >= 2 || (named && out->n == a->nticks)) return;
    if (out->n == 1 && single == 0) single = most;
  }
  if (single > 0) {
    make(a, s, single, r->ascii, out);
    if (fits(s, r, out)) return;
  }
  out->n = out->nminor = 0;
  out->note[0] = '\0';
}
