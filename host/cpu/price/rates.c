/* rates.c - measured rates of the processor's vector kernels, on one thread and on all. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"
#include "cpu/isa/isa.h"
#include "cpu/linalg/blas.h"
#include "cpu/price/profile.h"

enum { MOST_THREADS = 256 }; /* most threads whose rates are added */

typedef struct fma_job {
  double seconds, rate[MOST_THREADS];
} fma_job;

static void fma_on_thread (void *ud, int thread) {
  fma_job *job = ud;
  if (thread < MOST_THREADS) job->rate[thread] = gb_isa_active->rate_fma(job->seconds);
}

static double fma_rate (gb_pool *pool, double seconds) {
  fma_job job = {.seconds = seconds};
  double sum = 0;
  gb_pool_run(pool, fma_on_thread, &job);
  for (int t = 0; t < gb_pool_threads(pool) && t < MOST_THREADS; t++) sum += job.rate[t];
  return sum;
}

void gb_cpu_measure_rates (gb_device *dev, double seconds, gb_cpu_rates *out) {
  const double each = seconds / 3;
  out->fma = gb_isa_active->rate_fma(each);
  out->issue = gb_isa_active->rate_issue(each);
  out->scaling = gb_pool_threads(dev->pool) > 1 ? fma_rate(dev->pool, each) / out->fma : 1;
}

gb_status gb_cpu_peak (int threads, double seconds, gb_device_peak *out, gb_error *err) {
  gb_pool *pool;
  GB_TRY(gb_pool_new(threads, &pool, err));
  out->fma = fma_rate(pool, seconds);
  gb_pool_free(pool);
  out->issue = gb_isa_active->rate_issue(seconds);
  out->exp2 = gb_isa_active->rate_exp2(seconds);
  return GB_OK;
}

/* "AMD EPYC 7763 64-Core Processor"; "" if the system does not tell. */
static void processor (char *text, size_t size) {
  char line[256];
  FILE *f = fopen("/proc/cpuinfo", "r");
  *text = '\0';
  while (f != NULL && *text == '\0' && fgets(line, sizeof line, f) != NULL) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) == 0 && colon != NULL)
      snprintf(text, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
  }
  if (f != NULL) fclose(f);
}

void gb_cpu_identity (const gb_device *dev, char *text, size_t size) {
  char model[128];
  processor(model, sizeof model);
  snprintf(text, size, "cpu%s, %s, %s", model, gb_device_isa(dev), gb_device_library(dev));
}
