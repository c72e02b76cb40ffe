/* share.c - see share.h. */
#include "cluster/share.h"

#include "cluster/kmeans_fit.h"

static size_t rounded (size_t bytes) { return (bytes + GB_ALIGN - 1) / GB_ALIGN * GB_ALIGN; }
static size_t least (size_t a, size_t b) { return a < b ? a : b; }
static size_t most (size_t a, size_t b) { return a > b ? a : b; }

static bool reads_host (const gb_kmeans_lot *l) { return gb_memory_is_host(&l->device->memory); }

/* -- segments: the points of a given piece that one lot has */

typedef struct segment {
  const gb_kmeans_piece *of;
  gb_kmeans_lot *lot;
  size_t from, n; /* in the piece */
  bool sent;
} segment;

typedef struct cursor {
  gb_kmeans_share *s;
  size_t piece, from, host; /* points of the piece, and of the host, that are before */
} cursor;

/* Points of the host before those of a lot. */
static size_t cut_of (const gb_kmeans_share *s, size_t lot) {
  const size_t blocks = (s->host + GB_CLUSTER_BLOCK - 1) / GB_CLUSTER_BLOCK;
  return least(s->host, (blocks * lot + s->nlots - 1) / s->nlots * GB_CLUSTER_BLOCK);
}

static gb_kmeans_lot *lot_on (gb_kmeans_share *s, const gb_device *dev) {
  size_t i = 0;
  while (s->lot[i].device != dev) i++;
  return &s->lot[i];
}

/* What a source opens is not cut. */
static bool next_segment (cursor *c, segment *g) {
  gb_kmeans_share *s = c->s;
  if (c->piece == s->nfrom) return false;
  const gb_kmeans_piece *p = &s->from[c->piece];
  *g = (segment){.of = p, .from = c->from, .n = p->x.n - c->from};
  if (p->device != NULL) g->lot = lot_on(s, p->device);
  else {
    size_t lot = 0;
    while (lot + 1 < s->nlots && c->host >= cut_of(s, lot + 1)) lot++;
    g->lot = &s->lot[lot];
    g->sent = !reads_host(g->lot);
    if (p->source == NULL && lot + 1 < s->nlots) g->n = least(g->n, cut_of(s, lot + 1) - c->host);
    c->host += g->n;
  }
  c->from += g->n;
  if (c->from == p->x.n) c->piece++, c->from = 0;
  return true;
}

static size_t bytes_of (const gb_points *x, size_t n) { return n * x->d * gb_dtype_size(x->dtype); }

/* Points of one piece of a segment, in slots of so many bytes. Where several devices take turns, points that stay where they are are
** cut, too. */
static size_t some_of (const gb_kmeans_share *s, const segment *g, size_t slot) {
  if (g->of->source != NULL || (!g->sent && s->nlots == 1)) return g->n;
  const size_t bytes = g->sent ? slot : GB_KMEANS_SLOT;
  return least(g->n, most(bytes / bytes_of(&g->of->x, GB_CLUSTER_BLOCK), 1) * GB_CLUSTER_BLOCK);
}

/* -- sizes */

/* Pieces of the lot from the host in slots of these bytes; 'room' holds the first 'stay' of them, of 'held' bytes. */
typedef struct sizes {
  size_t pieces, bytes, stay, held;
} sizes;

static sizes sizes_with (gb_kmeans_share *s, const gb_kmeans_lot *l, size_t slot, size_t room) {
  cursor c = {.s = s};
  segment g;
  sizes z = {0};
  while (next_segment(&c, &g)) {
    if (g.lot != l || !g.sent) continue;
    for (size_t some, left = g.n; left > 0; left -= some) {
      some = least(left, some_of(s, &g, slot));
      const size_t bytes = rounded(bytes_of(&g.of->x, some));
      if (z.stay == z.pieces && z.held + bytes <= room) z.stay++, z.held += bytes;
      z.pieces++, z.bytes += bytes;
    }
  }
  return z;
}

/* Points of each lot and what follows from their number; the least slot that works, and the greatest that is of use. */
static void count (gb_kmeans_share *s, size_t *smallest, size_t *largest) {
  cursor c = {.s = s};
  segment g;
  while (next_segment(&c, &g)) {
    const size_t lot = (size_t)(g.lot - s->lot);
    g.lot->n += g.n;
    if (s->fit != NULL) {
      const gb_points x = {.dtype = g.of->x.dtype, .n = g.n};
      g.lot->near += gb_kmeans_row_bytes(s->fit, &x);
    }
    if (!g.sent) continue;
    const size_t one = g.of->source != NULL ? g.n : least(g.n, GB_CLUSTER_BLOCK);
    smallest[lot] = most(smallest[lot], rounded(bytes_of(&g.of->x, one)));
    largest[lot] = most(largest[lot], rounded(bytes_of(&g.of->x, g.n)));
  }
}

/* Of the room for points that do not all fit, the two slots have a fourth: what stays is not copied again. */
enum { SLOTS = 8 };

static void size_lot (gb_kmeans_share *s, gb_kmeans_lot *l, size_t smallest, size_t largest) {
  if (!reads_host(l)) {
    l->labels = s->fit != NULL ? rounded(l->n * sizeof(int32_t)) : 0;
    l->weights = s->weighted ? rounded(l->n * sizeof(double)) : 0;
  }
  l->minimum = gb_kmeans_lot_bytes(l);
  if (largest == 0) return;
  const size_t line = rounded(s->from->x.d * sizeof(double)), base = l->minimum + line;
  const size_t room = l->room > base ? l->room - base : 0;
  l->minimum = base + least(2 * smallest, sizes_with(s, l, smallest, 0).bytes);
  l->slot = most(smallest, least(largest, GB_KMEANS_SLOT));
  sizes z = sizes_with(s, l, l->slot, room);
  if (z.stay < z.pieces) {
    l->slot = most(smallest, least(l->slot, room / SLOTS / GB_ALIGN * GB_ALIGN));
    z = sizes_with(s, l, l->slot, room > 2 * l->slot ? room - 2 * l->slot : 0);
  }
  if (z.stay < z.pieces && z.bytes <= 2 * l->slot) z.stay = z.pieces, z.held = z.bytes;
  l->sent = z.pieces;
  l->stay = z.stay;
  l->rows = line + z.held + (z.stay < z.pieces ? 2 * l->slot : 0);
}

void gb_kmeans_share_out (gb_kmeans_share *s) {
  size_t smallest[GB_DEVICES] = {0}, largest[GB_DEVICES] = {0};
  s->host = s->npieces = 0;
  for (size_t i = 0; i < s->nfrom; i++)
    if (s->from[i].device == NULL) s->host += s->from[i].x.n;
  for (size_t i = 0; i < s->nlots; i++) s->lot[i].n = s->lot[i].near = 0;
  count(s, smallest, largest);
  for (size_t i = 0; i < s->nlots; i++) size_lot(s, &s->lot[i], smallest[i], largest[i]);
  cursor c = {.s = s};
  segment g;
  while (next_segment(&c, &g)) {
    const size_t some = some_of(s, &g, g.lot->slot);
    s->npieces += g.n == 0 ? 1 : (g.n + some - 1) / some;
  }
}

/* -- pieces */

/* Some points of a given piece, where they lie. */
static gb_kmeans_piece part_of (const gb_kmeans_piece *p, size_t from, size_t n) {
  gb_kmeans_piece part = *p;
  part.x.n = n;
  part.skip += from;
  if (p->source == NULL && p->x.at != NULL) part.x.at = gb_kmeans_row(&p->x, from);
  if (p->weight != NULL) part.weight = p->weight + from;
  part.x.weight = part.weight;
  return part;
}

static gb_status open_sent (void *share, size_t number, const void **at, gb_error *err);
static gb_status row_sent (void *share, size_t number, size_t row, const void **at, gb_error *err);
static void close_sent (void *share, size_t number) { (void)share, (void)number; }

static void add_piece (gb_kmeans_share *s, const segment *g, size_t from, size_t n, size_t *stay) {
  const size_t i = s->npieces++;
  gb_kmeans_piece *p = &s->piece[i];
  *p = part_of(g->of, from, n);
  p->device = g->lot->device;
  s->sent[i] = (gb_kmeans_sent){0};
  if (!g->sent) return;
  s->sent[i] = (gb_kmeans_sent){.from = *p, .lot = g->lot, .stays = *stay > 0};
  if (*stay > 0) --*stay;
  p->x = gb_points_packed(&p->x, NULL);
  p->source = &s->source;
  p->number = i;
  p->skip = 0;
}

void gb_kmeans_share_cut (gb_kmeans_share *s) {
  size_t stay[GB_DEVICES];
  cursor c = {.s = s};
  segment g;
  s->source = (gb_kmeans_source){.open = open_sent, .close = close_sent, .row = row_sent, .ud = s};
  s->npieces = 0;
  for (size_t i = 0; i < s->nlots; i++) stay[i] = s->lot[i].stay;
  while (next_segment(&c, &g)) {
    const size_t some = some_of(s, &g, g.lot->slot);
    for (size_t i = 0; i < g.n || i == 0; i += most(some, 1))
      add_piece(s, &g, g.from + i, least(g.n - i, some), &stay[g.lot - s->lot]);
  }
}

/* -- points on their way */

static gb_status feed (gb_kmeans_lot *l, const gb_points *x, char *to, gb_error *err) {
  return gb_device_checked(l->device, l->device->ops->cluster->feed(l->device, x, to, err), err);
}

static gb_status fed (gb_kmeans_lot *l, gb_error *err) {
  gb_kmeans_sent *p = l->coming;
  l->coming = NULL;
  const gb_status st = gb_device_checked(l->device, l->device->ops->cluster->fed(l->device, err), err);
  if (p != NULL) p->there = st == GB_OK;
  return st;
}

/* Where the piece goes: the slot that is not open. */
static char *place (gb_kmeans_lot *l, gb_kmeans_sent *p) {
  if (p->stays) return p->at;
  const int i = l->in_slot[0] != NULL && l->in_slot[0] == l->open;
  if (l->in_slot[i] != NULL) l->in_slot[i]->there = false;
  l->in_slot[i] = p;
  return p->at = l->slots + (size_t)i * l->slot;
}

static gb_status start (gb_kmeans_lot *l, gb_kmeans_sent *p, gb_error *err) {
  gb_points x;
  char *to = place(l, p);
  GB_TRY(gb_kmeans_open(&p->from, &x, err));
  gb_status st = feed(l, &x, to, err);
  if (st == GB_OK) l->coming = p;
  if (st == GB_OK && p->from.source != NULL) st = fed(l, err); /* before it is closed */
  gb_kmeans_close(&p->from);
  return st;
}

/* What passes go over after this piece, of the same device. */
static gb_kmeans_sent *after (gb_kmeans_share *s, size_t number) {
  size_t i = number;
  do i = i + 1 < s->npieces ? i + 1 : 0;
  while (s->sent[i].lot != s->sent[number].lot);
  return &s->sent[i];
}

static gb_status open_sent (void *share, size_t number, const void **at, gb_error *err) {
  gb_kmeans_share *s = share;
  gb_kmeans_sent *p = &s->sent[number];
  gb_kmeans_lot *l = p->lot;
  if (l->coming != NULL) GB_TRY(fed(l, err));
  l->open = NULL;
  if (!p->there) {
    GB_TRY(start(l, p, err));
    if (l->coming != NULL) GB_TRY(fed(l, err));
  }
  l->open = p;
  *at = p->at;
  gb_kmeans_sent *next = after(s, number);
  return next->there || next->from.source != NULL ? GB_OK : start(l, next, err);
}

/* One point, apart from its piece. */
static gb_status row_sent (void *share, size_t number, size_t row, const void **at, gb_error *err) {
  gb_kmeans_sent *p = &((gb_kmeans_share *)share)->sent[number];
  gb_kmeans_lot *l = p->lot;
  gb_points x;
  if (l->coming != NULL) GB_TRY(fed(l, err));
  GB_TRY(gb_kmeans_open_row(&p->from, row, &x, err));
  gb_status st = feed(l, &x, l->line, err);
  if (st == GB_OK) st = fed(l, err);
  gb_kmeans_close(&p->from);
  *at = l->line;
  return st;
}

/* -- while it runs */

static gb_status open_lot (gb_kmeans_lot *l, gb_error *err) {
  const size_t bytes = l->labels + l->weights + l->rows;
  l->open = l->coming = l->in_slot[0] = l->in_slot[1] = NULL;
  if (bytes == 0) return GB_OK;
  GB_TRY(gb_ledger_alloc(&l->device->ledger, GB_MEM_WORKSPACE, bytes, "", "k-means", &l->held, err));
  l->line = (char *)l->held.data + l->labels + l->weights;
  l->slots = (char *)l->held.data + bytes - (l->stay < l->sent ? 2 * l->slot : 0);
  return GB_OK;
}

/* Labels, weights and places of the pieces of a device that does not read the host's memory. */
static gb_status furnish_lot (gb_kmeans_share *s, gb_kmeans_lot *l, gb_error *err) {
  char *at = l->held.data, *stays = l->line + rounded(s->from->x.d * sizeof(double));
  double *weight = (double *)(void *)(at + l->labels);
  int32_t *label = (int32_t *)(void *)at;
  for (size_t i = 0; i < s->npieces; i++) {
    gb_kmeans_piece *p = &s->piece[i];
    if (p->device != l->device) continue;
    if (s->fit != NULL) s->label[i] = label, label += p->x.n;
    if (s->sent[i].stays) s->sent[i].at = stays, stays += rounded(bytes_of(&p->x, p->x.n));
    s->sent[i].there = false;
    if (p->weight == NULL) continue;
    p->x.weight = weight;
    GB_TRY(gb_memory_upload(&l->device->memory, weight, p->weight, p->x.n * sizeof *weight, err));
    weight += p->x.n;
  }
  return GB_OK;
}

static gb_status open_share (gb_kmeans_share *s, int32_t *labels, gb_error *err) {
  for (size_t i = 0; s->fit != NULL && i < s->npieces; labels += s->piece[i++].x.n) s->label[i] = labels;
  for (size_t i = 0; i < s->nlots; i++) {
    GB_TRY(open_lot(&s->lot[i], err));
    if (!reads_host(&s->lot[i])) GB_TRY(furnish_lot(s, &s->lot[i], err));
  }
  return GB_OK;
}

static gb_status collect (gb_kmeans_share *s, int32_t *labels, gb_error *err) {
  for (size_t i = 0; s->fit != NULL && i < s->npieces; labels += s->piece[i++].x.n)
    if (s->label[i] != labels)
      GB_TRY(gb_memory_download(&s->piece[i].device->memory, labels, s->label[i],
                                s->piece[i].x.n * sizeof *labels, err));
  return GB_OK;
}

/* What is on its way arrives before its memory is given to others. */
static void close_share (gb_kmeans_share *s) {
  gb_error err;
  for (size_t i = 0; i < s->nlots; i++) {
    if (s->lot[i].coming != NULL) fed(&s->lot[i], &err);
    gb_ledger_free(&s->lot[i].device->ledger, &s->lot[i].held);
  }
}

gb_status gb_kmeans_share_run (gb_kmeans_share *s, int32_t *labels,
                               gb_status (*work)(void *ud, gb_error *err), void *ud, gb_error *err) {
  gb_status st = open_share(s, labels, err);
  if (st == GB_OK) st = work(ud, err);
  if (st == GB_OK) st = collect(s, labels, err);
  close_share(s);
  return st;
}
