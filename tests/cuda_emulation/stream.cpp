/* stream.cpp - streams and events: queued work with what it must run after. Eager: work runs where it is queued. Lazy:
** it runs when something waits for it, and nothing else does. Seeded: pieces of work that do not depend on each other
** run in any order before that. So an order that was not asked for is one that does not happen. Work that has waited
** long is run from the oldest on, as a device's queue is bounded. A model clock, not the host's, gives times. */
#include "graph.h"
#include "internal.h"

#include <algorithm>
#include <deque>

namespace emu {

struct event {
  int device;
  bool timed;
  std::shared_ptr<work> last; /* what was recorded; empty: nothing yet */
};

static const size_t most_queued = 1024;
static std::deque<std::shared_ptr<work>> queue; /* oldest first; done ones are dropped from the front */
static std::set<stream *> streams;
static std::set<event *> events;
static std::mt19937_64 random_order;
static uint64_t seeded_with;
static bool in_host;
const work *running_work;

bool in_host_function (void) { return in_host; }

/* -- running */

static void run_body (work &w) {
  device &dev = devices()[(size_t)w.device];
  if (dev.lost != cudaSuccess) return;
  const work *before = running_work;
  running_work = &w;
  if (w.of == task::host) {
    in_host = true;
    w.body();
    in_host = false;
  } else {
    device_side open(w.device, w.of == task::copy);
    const cudaError_t e = run_guarded(w.body);
    if (e != cudaSuccess) lose(w.device, e);
    if (w.of != task::mark) check_canaries(w.what.c_str());
  }
  running_work = before;
}

static void run_one (const std::shared_ptr<work> &w) {
  if (w->done) return;
  w->done = true;
  double begin = 0;
  for (auto &a : w->after) begin = std::max(begin, a->end);
  w->end = begin + w->seconds;
  w->after.clear();
  run_body(*w);
  w->body = nullptr;
}

/* Runs a piece of work after all that it waits for; by hand, because a chain may be long. */
static void run_with_what_precedes (const std::shared_ptr<work> &last) {
  std::vector<std::shared_ptr<work>> path = {last};
  while (!path.empty()) {
    const std::shared_ptr<work> w = path.back();
    auto waits = std::find_if(w->after.begin(), w->after.end(), [] (auto &a) { return !a->done; });
    if (waits != w->after.end()) {
      path.push_back(*waits);
      continue;
    }
    path.pop_back();
    run_one(w);
  }
}

static void drop_done (void) {
  while (!queue.empty() && queue.front()->done) queue.pop_front();
}

static uint64_t next_random (void) {
  if (seeded_with != set.stream_seed) random_order.seed(seeded_with = set.stream_seed);
  return random_order();
}

static void run_any (void) {
  drop_done();
  if (!queue.empty()) run_with_what_precedes(queue[(size_t)(next_random() % queue.size())]);
}

cudaError_t wait_for (const std::shared_ptr<work> &w) {
  if (w == nullptr) return current().lost;
  if (w->captured != nullptr) stop("a wait for %s, which a graph records", w->what.c_str());
  while (set.streams == schedule::seeded && !w->done && next_random() % 4 != 0) run_any();
  run_with_what_precedes(w);
  drop_done();
  return current().lost;
}

void run_all (int device) {
  const std::deque<std::shared_ptr<work>> all = queue; /* host functions cannot add to it */
  if (set.streams == schedule::seeded)
    for (size_t i = 0; i < all.size(); i++) run_any();
  for (auto &w : all)
    if (device < 0 || w->device == device) run_with_what_precedes(w);
  drop_done();
}

void lose (int device, cudaError_t e) { devices()[(size_t)device].lost = e; }

/* -- queueing */

static void follow (work &w, const std::shared_ptr<work> &before) {
  if (before != nullptr) w.after.push_back(before);
}

/* The default stream waits for all blocking streams of its device, and they wait for it. */
static void follow_default (work &w, stream &s) {
  stream *legacy = devices()[(size_t)s.device].legacy.get();
  if (&s != legacy) {
    if ((s.flags & cudaStreamNonBlocking) == 0) follow(w, legacy->last);
    return;
  }
  for (stream *other : streams)
    if (other->device == s.device && other->into == nullptr && (other->flags & cudaStreamNonBlocking) == 0)
      follow(w, other->last);
}

std::shared_ptr<work> enqueue (stream *s, task of, const char *what, double seconds,
                               std::function<void()> body, const std::shared_ptr<work> &also) {
  auto w = std::make_shared<work>();
  w->body = std::move(body);
  w->what = what;
  w->of = of;
  w->device = s->device;
  w->seconds = seconds;
  follow(*w, s->last);
  if (s->into == nullptr) follow_default(*w, *s);
  follow(*w, also);
  s->last = w;
  if (s->into != nullptr) record(*s, w);
  else queue_work(w);
  return w;
}

void queue_work (const std::shared_ptr<work> &w) {
  queue.push_back(w);
  if (set.streams == schedule::eager) run_with_what_precedes(w);
  while (queue.size() > most_queued) {
    run_with_what_precedes(queue.front());
    drop_done();
  }
  drop_done();
}

std::shared_ptr<work> enqueue_after (stream *s, const char *what,
                                     const std::vector<std::shared_ptr<work>> &all) {
  auto w = std::make_shared<work>();
  w->what = what;
  w->of = task::mark;
  w->device = s->device;
  w->body = [] {};
  w->after = all;
  s->last = w;
  queue_work(w);
  return w;
}

/* -- handles */

stream *stream_of (cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current().legacy.get();
  if (handle == cudaStreamPerThread) stop("the stream of a thread is not emulated");
  stream *s = (stream *)handle;
  if (streams.count(s) == 0) stop("%p is no stream, or was destroyed", (void *)handle);
  return s;
}
cudaError_t check_stream (cudaStream_t handle, stream **out) {
  *out = stream_of(handle);
  return (*out)->device == current_device() ? not_default(*out) : cudaErrorInvalidResourceHandle;
}
static event *event_of (cudaEvent_t handle) {
  event *e = (event *)handle;
  if (events.count(e) == 0) stop("%p is no event, or was destroyed", (void *)handle);
  return e;
}

static cudaError_t make_stream (cudaStream_t *out, unsigned flags) {
  if (out == nullptr || (flags & ~(unsigned)cudaStreamNonBlocking) != 0) return cudaErrorInvalidValue;
  stream *s = new stream{current_device(), flags, nullptr};
  streams.insert(s);
  *out = (cudaStream_t)s;
  return cudaSuccess;
}
static cudaError_t make_event (cudaEvent_t *out, unsigned flags) {
  if (out == nullptr) return cudaErrorInvalidValue;
  event *e = new event{current_device(), (flags & cudaEventDisableTiming) == 0, nullptr};
  events.insert(e);
  *out = (cudaEvent_t)e;
  return cudaSuccess;
}

/* Asking whether work is done lets some of it run: at the fourth question at the latest. */
static bool is_done (const std::shared_ptr<work> &w) {
  static unsigned asked;
  if (w == nullptr || w->done) return true;
  if (set.streams == schedule::seeded) run_any();
  if (++asked % 4 == 0) run_with_what_precedes(w);
  return w->done;
}

}   // namespace emu

using namespace emu;
extern "C" {

cudaError_t cudaStreamCreateWithFlags (cudaStream_t *out, unsigned flags) {
  EMU_CALL("cudaStreamCreate");
  return remember(make_stream(out, flags));
}
cudaError_t cudaStreamCreateWithPriority (cudaStream_t *out, unsigned flags, int) {
  EMU_CALL("cudaStreamCreate");
  return remember(make_stream(out, flags));
}
cudaError_t cudaStreamCreate (cudaStream_t *out) {
  EMU_CALL("cudaStreamCreate");
  return remember(make_stream(out, 0));
}
cudaError_t cudaStreamDestroy (cudaStream_t handle) {
  EMU_CALL("cudaStreamDestroy");
  stream *s = stream_of(handle);
  if (s == devices()[(size_t)s->device].legacy.get()) return remember(cudaErrorInvalidResourceHandle);
  if (s->last != nullptr) wait_for(s->last);
  streams.erase(s);
  delete s;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize (cudaStream_t handle) {
  EMU_CALL("cudaStreamSynchronize");
  stream *s = stream_of(handle);
  const cudaError_t recorded = not_recorded(s, nullptr);
  if (recorded != cudaSuccess) return remember(recorded);
  const cudaError_t e = wait_for(s->last);
  const cudaError_t own = devices()[(size_t)s->device].lost;
  return remember(own != cudaSuccess ? own : e);
}
cudaError_t cudaStreamQuery (cudaStream_t handle) {
  EMU_CALL("cudaStreamQuery");
  const cudaError_t e = not_recorded(stream_of(handle), nullptr);
  if (e != cudaSuccess) return remember(e);
  if (!is_done(stream_of(handle)->last)) return remember(cudaErrorNotReady);
  return remember(current().lost);
}
cudaError_t cudaStreamWaitEvent (cudaStream_t handle, cudaEvent_t e, unsigned) {
  EMU_CALL("cudaStreamWaitEvent");
  stream *s = stream_of(handle);
  const auto last = event_of(e)->last;
  const cudaError_t across = last != nullptr ? follow_across(*s, last) : cudaSuccess;
  if (across != cudaSuccess) return remember(across);
  if (last != nullptr)
    enqueue(
        s, task::mark, "cudaStreamWaitEvent", 0, [] {}, last);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc (cudaStream_t handle, cudaHostFn_t function, void *data) {
  EMU_CALL("cudaLaunchHostFunc");
  stream *s;
  const cudaError_t e = check_stream(handle, &s);
  if (e != cudaSuccess) return remember(e);
  if (function == nullptr) return remember(cudaErrorInvalidValue);
  enqueue(s, task::host, "cudaLaunchHostFunc", 10e-6, [=] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize (void) {
  EMU_CALL("cudaDeviceSynchronize");
  const cudaError_t e = not_while_recording();
  if (e != cudaSuccess) return remember(e);
  run_all(current_device());
  return remember(current().lost);
}
cudaError_t cudaDeviceGetStreamPriorityRange (int *least, int *most) {
  EMU_CALL("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *most = -5;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags (cudaEvent_t *out, unsigned flags) {
  EMU_CALL("cudaEventCreate");
  return remember(make_event(out, flags));
}
cudaError_t cudaEventCreate (cudaEvent_t *out) {
  EMU_CALL("cudaEventCreate");
  return remember(make_event(out, 0));
}
cudaError_t cudaEventDestroy (cudaEvent_t handle) {
  EMU_CALL("cudaEventDestroy");
  event *e = event_of(handle);
  events.erase(e);
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord (cudaEvent_t handle, cudaStream_t where) {
  EMU_CALL("cudaEventRecord");
  event *e = event_of(handle);
  stream *s = stream_of(where);
  if (e->device != s->device) return remember(cudaErrorInvalidResourceHandle);
  e->last = enqueue(s, task::mark, "cudaEventRecord", 1e-6, [] {});
  return cudaSuccess;
}
cudaError_t cudaEventQuery (cudaEvent_t handle) {
  EMU_CALL("cudaEventQuery");
  const cudaError_t e = not_recorded(nullptr, event_of(handle)->last);
  if (e != cudaSuccess) return remember(e);
  return remember(is_done(event_of(handle)->last) ? current().lost : cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize (cudaEvent_t handle) {
  EMU_CALL("cudaEventSynchronize");
  const cudaError_t e = not_recorded(nullptr, event_of(handle)->last);
  return remember(e != cudaSuccess ? e : wait_for(event_of(handle)->last));
}
cudaError_t cudaEventElapsedTime (float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
  EMU_CALL("cudaEventElapsedTime");
  event *a = event_of(from), *b = event_of(to);
  if (!a->timed || !b->timed || a->last == nullptr || b->last == nullptr)
    return remember(cudaErrorInvalidResourceHandle);
  if (!a->last->done || !b->last->done) return remember(cudaErrorNotReady);
  *milliseconds = (float)((b->last->end - a->last->end) * 1e3);
  return cudaSuccess;
}
}
