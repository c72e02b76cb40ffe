/* test.h - what the tests of the emulation share: cmocka, a kernel that must be stopped, memory of a device. */
#pragma once
extern "C" {
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
}
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "cuda_emulation/device.h"
#include "cuda_emulation/emulation.h"

#define assert_done(call) assert_int_equal((call), cudaSuccess)

/* Runs 'body' in a child process: its exit status (or minus its signal), and what it said. */
struct outcome {
  int status;
  std::string said;
};
inline outcome in_child (const std::function<void()> &body) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    emu_begin(); /* its own handlers of signals, not cmocka's */
    body();
    _exit(0);
  }
  close(ends[1]);
  outcome o = {0, ""};
  char piece[512];
  for (ssize_t n; (n = read(ends[0], piece, sizeof piece)) > 0;) o.said.append(piece, (size_t)n);
  close(ends[0]);
  int status;
  waitpid(child, &status, 0);
  o.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return o;
}
inline void assert_stopped (const char *words, const std::function<void()> &body) {
  const outcome o = in_child(body);
  if (o.status != 86 || o.said.find(words) == std::string::npos)
    fail_msg("status %d, expected to be stopped with '%s', said: %s", o.status, words, o.said.c_str());
}

template <class T> T *on_device (const std::vector<T> &values) {
  T *p;
  assert_done(cudaMalloc(&p, values.size() * sizeof(T)));
  assert_done(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T> std::vector<T> from_device (const T *p, size_t n) {
  std::vector<T> values(n);
  assert_done(cudaMemcpy(values.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
