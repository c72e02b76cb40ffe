/* graph.cpp - graphs: what is queued in a stream that records becomes nodes instead of work, and a launch queues their work
** anew, as often as wanted. Other streams join a recording by events, and must be joined again before it ends. A call
** that would wait, or take memory, while a stream records spoils the recording, as on a device. */
#include "graph.h"

#include <algorithm>

struct CUgraph_st {
  std::vector<std::shared_ptr<emu::work>> nodes; /* each after those that it depends on */
};
struct CUgraphExec_st {
  std::vector<std::shared_ptr<emu::work>> nodes;
  std::shared_ptr<emu::work> last; /* launches of one graph follow each other */
};

namespace emu {

struct capture {
  stream *origin;
  cudaStreamCaptureMode mode;
  bool spoiled;
  cudaGraph_t graph;
  std::vector<std::pair<stream *, std::shared_ptr<work>>> joined; /* with the work that came last before */
};
static std::set<capture *> active;
static auto &ended = *new std::vector<capture *>; /* nodes name them, until the process ends */
static std::set<cudaGraph_t> graphs;
static std::set<cudaGraphExec_t> executables;

void record (stream &s, const std::shared_ptr<work> &w) {
  w->captured = s.into;
  s.into->graph->nodes.push_back(w);
}

static void join (stream &s, capture *c) {
  c->joined.push_back({&s, s.last});
  s.into = c;
  s.last = nullptr;
}

cudaError_t follow_across (stream &s, const std::shared_ptr<work> &event) {
  if (event->captured == nullptr && s.into == nullptr) return cudaSuccess;
  if (event->captured == nullptr) {
    s.into->spoiled = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (active.count(event->captured) == 0) return cudaErrorInvalidValue; /* of a recording that has ended */
  if (s.into == nullptr) join(s, event->captured);
  return s.into == event->captured ? cudaSuccess : cudaErrorStreamCaptureMerge;
}

cudaError_t not_while_recording (void) {
  cudaError_t e = cudaSuccess;
  for (capture *c : active) {
    if (c->mode == cudaStreamCaptureModeRelaxed) continue;
    c->spoiled = true;
    e = cudaErrorStreamCaptureUnsupported;
  }
  return e;
}
cudaError_t not_recorded (const stream *s, const std::shared_ptr<work> &w) {
  capture *c = s != nullptr && s->into != nullptr ? s->into : w != nullptr ? w->captured : nullptr;
  if (c == nullptr) return cudaSuccess;
  if (active.count(c) != 0) c->spoiled = true;
  return cudaErrorStreamCaptureUnsupported;
}

/* The default stream would wait for those that record. */
cudaError_t not_default (const stream *s) {
  if (s != devices()[(size_t)s->device].legacy.get()) return cudaSuccess;
  cudaError_t e = cudaSuccess;
  for (capture *c : active) {
    if ((c->origin->flags & cudaStreamNonBlocking) != 0 || c->origin->device != s->device) continue;
    c->spoiled = true;
    e = cudaErrorStreamCaptureImplicit;
  }
  return e;
}

static cudaError_t begin (stream *s, cudaStreamCaptureMode mode) {
  if (s == devices()[(size_t)s->device].legacy.get()) return cudaErrorStreamCaptureUnsupported;
  if (s->into != nullptr) return cudaErrorIllegalState;
  capture *c = new capture{s, mode, false, new CUgraph_st, {}};
  graphs.insert(c->graph);
  active.insert(c);
  join(*s, c);
  return cudaSuccess;
}

/* Whether the origin's last node comes after all that the other streams recorded. */
static bool all_joined (const capture &c) {
  std::set<const work *> before;
  std::vector<const work *> path = {c.origin->last.get()};
  while (!path.empty()) {
    const work *w = path.back();
    path.pop_back();
    if (w == nullptr || !before.insert(w).second) continue;
    for (auto &a : w->after) path.push_back(a.get());
  }
  for (auto &j : c.joined)
    if (j.first->last != nullptr && before.count(j.first->last.get()) == 0) return false;
  return true;
}

static cudaError_t end (stream *s, cudaGraph_t *out) {
  capture *c = s->into;
  *out = nullptr;
  if (c == nullptr) return cudaErrorIllegalState;
  if (c->origin != s) return cudaErrorStreamCaptureUnmatched;
  const cudaError_t e = c->spoiled        ? cudaErrorStreamCaptureInvalidated
                        : !all_joined(*c) ? cudaErrorStreamCaptureUnjoined
                                          : cudaSuccess;
  for (auto &j : c->joined) {
    j.first->into = nullptr;
    j.first->last = j.second;
  }
  if (e == cudaSuccess) *out = c->graph;
  else {
    graphs.erase(c->graph);
    delete c->graph;
  }
  active.erase(c);
  ended.push_back(c);
  return e;
}

/* Work of the graph's nodes, after what the stream holds; the stream goes on after all of it. */
static void replay (cudaGraphExec_t g, stream *s) {
  std::map<const work *, std::shared_ptr<work>> made;
  const auto begin = enqueue(
      s, task::mark, "cudaGraphLaunch", 2e-6, [] {}, g->last);
  std::vector<std::shared_ptr<work>> all = {begin};
  for (auto &node : g->nodes) {
    auto w = std::make_shared<work>();
    w->body = node->body;
    w->what = node->what;
    w->of = node->of;
    w->device = node->device;
    w->seconds = node->seconds;
    w->after.push_back(begin);
    for (auto &a : node->after) w->after.push_back(made.at(a.get()));
    made[node.get()] = w;
    all.push_back(w);
    queue_work(w);
  }
  g->last = enqueue_after(s, "cudaGraphLaunch", all);
}

}   // namespace emu

using namespace emu;
extern "C" {

cudaError_t cudaStreamBeginCapture (cudaStream_t handle, cudaStreamCaptureMode mode) {
  EMU_CALL("cudaStreamBeginCapture");
  return remember(begin(stream_of(handle), mode));
}
cudaError_t cudaStreamEndCapture (cudaStream_t handle, cudaGraph_t *out) {
  EMU_CALL("cudaStreamEndCapture");
  return remember(end(stream_of(handle), out));
}
cudaError_t cudaStreamIsCapturing (cudaStream_t handle, cudaStreamCaptureStatus *out) {
  EMU_CALL("cudaStreamIsCapturing");
  const capture *c = stream_of(handle)->into;
  *out = c == nullptr ? cudaStreamCaptureStatusNone
         : c->spoiled ? cudaStreamCaptureStatusInvalidated
                      : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes (cudaGraph_t g, cudaGraphNode_t *nodes, size_t *count) {
  EMU_CALL("cudaGraphGetNodes");
  if (graphs.count(g) == 0) return remember(cudaErrorInvalidValue);
  for (size_t i = 0; nodes != nullptr && i < std::min(*count, g->nodes.size()); i++)
    nodes[i] = (cudaGraphNode_t)g->nodes[i].get();
  *count = g->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy (cudaGraph_t g) {
  EMU_CALL("cudaGraphDestroy");
  if (graphs.erase(g) == 0) return remember(cudaErrorInvalidValue);
  delete g;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate (cudaGraphExec_t *out, cudaGraph_t g, unsigned long long) {
  EMU_CALL("cudaGraphInstantiate");
  if (graphs.count(g) == 0) return remember(cudaErrorInvalidValue);
  *out = new CUgraphExec_st{g->nodes, nullptr};
  executables.insert(*out);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags (cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags) {
  return cudaGraphInstantiate(out, g, flags);
}
cudaError_t cudaGraphLaunch (cudaGraphExec_t g, cudaStream_t handle) {
  EMU_CALL("cudaGraphLaunch");
  stream *s;
  const cudaError_t e = check_stream(handle, &s);
  if (e != cudaSuccess) return remember(e);
  if (executables.count(g) == 0) stop("%p is no graph that can run, or was destroyed", (void *)g);
  if (s->into != nullptr) return remember(cudaErrorStreamCaptureUnsupported);
  replay(g, s);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy (cudaGraphExec_t g) {
  EMU_CALL("cudaGraphExecDestroy");
  if (executables.erase(g) == 0) return remember(cudaErrorInvalidValue);
  delete g;
  return cudaSuccess;
}
}
