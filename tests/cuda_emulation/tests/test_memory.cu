/* test_memory.cu - memory of devices and of the host: limits, copies and what they refuse, pinned memory, two devices and
** what one may touch of the other, the driver's reserved addresses and pages. */
#include <cuda.h>
#include <math.h>

#include "cuda_emulation/tests/test.h"

#define assert_driver(call) assert_int_equal((call), CUDA_SUCCESS)
static const size_t mib = size_t(1) << 20;

__global__ void set_all (int n, int v, int *out) {
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) out[i] = v;
}

static int reset (void **) {
  assert_done(cudaSetDevice(0));
  emu_begin();
  return emu_pieces() == 0 ? 0 : -1;
}

static void a_device_has_a_limit (void **) {
  void *p, *q;
  size_t idle, total;
  assert_true(emu_set("BYTES", "1048576"));
  assert_done(cudaMemGetInfo(&idle, &total));
  assert_int_equal(total, mib);
  assert_int_equal(idle, mib);
  assert_done(cudaMalloc(&p, mib - 512));
  assert_int_equal(cudaMalloc(&q, 513), cudaErrorMemoryAllocation);
  assert_null(q);
  assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
  assert_done(cudaGetLastError());
  assert_done(cudaMalloc(&q, 1));
  assert_int_equal(emu_bytes(0), mib);
  assert_done(cudaFree(p));
  assert_done(cudaFree(q));
  assert_done(cudaFree(nullptr));
  assert_int_equal(emu_bytes(0), 0);
  assert_int_equal(emu_most_bytes(0), mib);
  assert_int_equal(cudaFree(&idle), cudaErrorInvalidValue);
  assert_true(emu_set("BYTES", nullptr));
  cudaGetLastError();
}

static void fresh_memory_is_nan (void **) {
  float *p;
  assert_done(cudaMalloc(&p, 100 * sizeof *p));
  for (float v : from_device(p, 100)) assert_true(isnan(v));
  assert_done(cudaFree(p));
}

static void copies_refuse_what_leaves_a_piece (void **) {
  int *p = on_device(std::vector<int>(10, 3)), here[16] = {0};
  assert_int_equal(cudaMemcpy(p, here, 44, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpy(here, p + 1, 40, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  assert_int_equal(cudaMemcpy(here, p, 40, cudaMemcpyHostToDevice),
                   cudaErrorInvalidValue); /* the wrong way */
  assert_int_equal(cudaMemcpy(p, here, 40, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  assert_int_equal(cudaMemset(here, 0, 40), cudaErrorInvalidValue);
  assert_done(cudaMemcpy(here, p, 40, cudaMemcpyDefault));
  assert_int_equal(here[9], 3);
  assert_done(cudaMemset(p, 0, 40));
  assert_int_equal(from_device(p, 10)[9], 0);
  assert_done(cudaFree(p));
  cudaGetLastError();
}

static void rectangles_keep_what_lies_between (void **) {
  std::vector<int> a(24);
  for (int i = 0; i < 24; i++) a[i] = i;
  int *p = on_device(std::vector<int>(24, -1));
  assert_done(cudaMemcpy2D(p, 24, a.data(), 16, 12, 4, cudaMemcpyHostToDevice)); /* 3 of 4 into 3 of 6 */
  const std::vector<int> got = from_device(p, 24);
  for (int row = 0; row < 4; row++)
    for (int i = 0; i < 6; i++) assert_int_equal(got[row * 6 + i], i < 3 ? row * 4 + i : -1);
  assert_int_equal(cudaMemcpy2D(p, 8, a.data(), 16, 12, 2, cudaMemcpyHostToDevice),
                   cudaErrorInvalidPitchValue);
  assert_int_equal(cudaMemcpy2D(p, 24, a.data(), 16, 12, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  assert_done(cudaMemset2DAsync(p, 24, 0, 8, 4, nullptr));
  assert_int_equal(from_device(p, 24)[7], 0);
  assert_int_equal(from_device(p, 24)[8], 6);
  assert_done(cudaFree(p));
  cudaGetLastError();
}

static void pinned_memory_is_read_late_and_other_memory_at_once (void **) {
  int *p = on_device(std::vector<int>(4, 0)), *pinned, pageable[4] = {1, 1, 1, 1};
  cudaPointerAttributes what;
  assert_done(cudaMallocHost(&pinned, 16));
  assert_done(cudaPointerGetAttributes(&what, pinned));
  assert_int_equal(what.type, cudaMemoryTypeHost);
  assert_true(emu_set("SCHEDULE", "lazy"));
  pinned[0] = 5;
  assert_done(cudaMemcpyAsync(p, pinned, 16, cudaMemcpyHostToDevice, nullptr));
  pinned[0] = 6; /* too early: the copy has not run */
  assert_done(cudaStreamSynchronize(nullptr));
  assert_int_equal(from_device(p, 1)[0], 6);
  assert_done(cudaMemcpyAsync(p, pageable, 16, cudaMemcpyHostToDevice, nullptr));
  pageable[0] = 9;
  assert_int_equal(from_device(p, 1)[0], 1);
  assert_done(cudaMemcpyAsync(pageable, p, 16, cudaMemcpyDeviceToHost, nullptr)); /* waits */
  assert_int_equal(pageable[0], 1);
  assert_done(cudaHostRegister(pageable, 16, 0));
  assert_int_equal(cudaHostRegister(pageable + 1, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  GB_LAUNCH(set_all, 1, 4, 0, nullptr, 4, 8, p);
  assert_done(cudaMemcpyAsync(pageable, p, 16, cudaMemcpyDeviceToHost, nullptr));
  assert_int_equal(pageable[0], 1); /* pinned now: nobody has waited */
  assert_done(cudaHostUnregister(pageable));
  assert_int_equal(pageable[0], 8);
  assert_int_equal(cudaHostUnregister(pageable), cudaErrorHostMemoryNotRegistered);
  assert_true(emu_set("SCHEDULE", nullptr));
  assert_done(cudaFreeHost(pinned));
  assert_done(cudaFree(p));
  cudaGetLastError();
}

static void a_device_touches_its_own_memory_and_its_peers (void **) {
  assert_done(cudaSetDevice(1));
  int *p = on_device(std::vector<int>(4, 1)), yes;
  assert_done(cudaSetDevice(0));
  assert_done(cudaDeviceCanAccessPeer(&yes, 0, 1));
  assert_true(yes);
  assert_stopped("a kernel touches", [=] {
    GB_LAUNCH(set_all, 1, 4, 0, nullptr, 4, 7, p);
    cudaDeviceSynchronize();
  });
  assert_done(cudaDeviceEnablePeerAccess(1, 0));
  assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  GB_LAUNCH(set_all, 1, 4, 0, nullptr, 4, 7, p);
  assert_done(cudaDeviceSynchronize());
  assert_int_equal(from_device(p, 1)[0], 7);
  assert_done(cudaDeviceDisablePeerAccess(1));
  int *q = on_device(std::vector<int>(4, 2));
  assert_done(cudaMemcpyPeer(q, 0, p, 1, 16)); /* copies need no access */
  assert_int_equal(from_device(q, 1)[0], 7);
  assert_int_equal(cudaMemcpyPeer(q, 1, p, 1, 16), cudaErrorInvalidValue);
  assert_done(cudaFree(p));
  assert_done(cudaFree(q));
  cudaGetLastError();
}

/* -- the driver */

static struct {
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) unreserve;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) access;
  decltype(&cuMemGetAllocationGranularity) granularity;
} driver;
template <class F> static void find (const char *name, F *out) {
  cudaDriverEntryPointQueryResult found;
  assert_done(cudaGetDriverEntryPointByVersion(name, (void **)out, 12000, cudaEnableDefault, &found));
  assert_int_equal(found, cudaDriverEntryPointSuccess);
}
static void find_driver (void) {
  find("cuMemAddressReserve", &driver.reserve);
  find("cuMemAddressFree", &driver.unreserve);
  find("cuMemCreate", &driver.create);
  find("cuMemRelease", &driver.release);
  find("cuMemMap", &driver.map);
  find("cuMemUnmap", &driver.unmap);
  find("cuMemSetAccess", &driver.access);
  find("cuMemGetAllocationGranularity", &driver.granularity);
  void *none;
  cudaDriverEntryPointQueryResult found;
  assert_done(cudaGetDriverEntryPointByVersion("cuNothing", &none, 12000, cudaEnableDefault, &found));
  assert_int_equal(found, cudaDriverEntryPointSymbolNotFound);
}
static CUmemAllocationProp of_device (int d) {
  CUmemAllocationProp p = {};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = d;
  return p;
}
static CUmemAccessDesc open_to (int d) {
  CUmemAccessDesc a = {};
  a.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  a.location.id = d;
  a.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return a;
}

static void pages_are_mapped_where_addresses_are_reserved (void **) {
  find_driver();
  const CUmemAllocationProp how = of_device(0);
  const CUmemAccessDesc open = open_to(0);
  CUmemGenericAllocationHandle a, b;
  CUdeviceptr at;
  size_t g;
  assert_driver(driver.granularity(&g, &how, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  assert_int_equal(driver.reserve(&at, g + 1, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  assert_driver(driver.reserve(&at, 64 * g, 0, 0, 0));
  assert_int_equal(emu_bytes(0), 0); /* addresses cost nothing */
  assert_int_equal(driver.create(&a, g / 2, &how, 0), CUDA_ERROR_INVALID_VALUE);
  assert_driver(driver.create(&a, g, &how, 0));
  assert_driver(driver.create(&b, 2 * g, &how, 0));
  assert_int_equal(emu_bytes(0), 3 * g);
  assert_driver(driver.map(at, g, 0, a, 0));
  assert_int_equal(driver.map(at, g, 0, b, 0), CUDA_ERROR_INVALID_VALUE);          /* taken */
  assert_int_equal(driver.map(at + 64 * g, g, 0, b, 0), CUDA_ERROR_INVALID_VALUE); /* not reserved */
  assert_driver(driver.map(at + g, 2 * g, 0, b, 0));
  assert_driver(driver.access(at, 3 * g, &open, 1));
  float *p = (float *)at;
  for (float v : from_device(p + g / 4 - 2, 4)) assert_true(isnan(v)); /* one copy over both */
  GB_LAUNCH(set_all, 1, 64, 0, nullptr, (int)(g / 2), 5, (int *)at);
  assert_int_equal(from_device((int *)at, g / 2)[g / 2 - 1], 5);
  assert_int_equal(driver.unmap(at + g, g), CUDA_ERROR_INVALID_VALUE);      /* half of a mapping */
  assert_int_equal(driver.unreserve(at, 64 * g), CUDA_ERROR_INVALID_VALUE); /* not empty */
  assert_driver(driver.unmap(at, g));
  assert_driver(driver.map(at + 8 * g, g, 0, a, 0)); /* pages keep their values */
  assert_driver(driver.access(at + 8 * g, g, &open, 1));
  assert_int_equal(from_device((int *)(at + 8 * g), 1)[0], 5);
  assert_driver(driver.release(a));
  assert_driver(driver.release(b));
  assert_int_equal(emu_bytes(0), 3 * g); /* until they are unmapped */
  assert_driver(driver.unmap(at + 8 * g, g));
  assert_driver(driver.unmap(at + g, 2 * g));
  assert_int_equal(emu_bytes(0), 0);
  assert_int_equal(driver.release(a), CUDA_ERROR_INVALID_VALUE);
  assert_driver(driver.unreserve(at, 64 * g));
}

static void pages_without_access_are_closed (void **) {
  find_driver();
  const CUmemAllocationProp how = of_device(1);
  const CUmemAccessDesc open[2] = {open_to(1), open_to(0)};
  CUmemGenericAllocationHandle a;
  CUdeviceptr at;
  const size_t g = 2 * mib;
  assert_true(emu_set("BYTES", "4194304,2097152"));
  assert_driver(driver.reserve(&at, g, 0, 0, 0));
  assert_driver(driver.create(&a, g, &how, 0));
  CUmemGenericAllocationHandle more;
  assert_int_equal(driver.create(&more, g, &how, 0), CUDA_ERROR_OUT_OF_MEMORY);
  assert_driver(driver.map(at, g, 0, a, 0));
  const auto touch = [=] {
    GB_LAUNCH(set_all, 1, 4, 0, nullptr, 4, 7, (int *)at);
    cudaDeviceSynchronize();
  };
  assert_stopped("a kernel touches", touch); /* open to nobody */
  assert_driver(driver.access(at, g, open, 1));
  assert_stopped("a kernel touches", touch); /* open to device 1, device 0 runs */
  assert_driver(driver.access(at, g, open, 2));
  touch();
  assert_int_equal(from_device((int *)at, 4)[3], 7);
  const outcome o = in_child([=] { fprintf(stderr, "%d", *(int *)at); });
  assert_non_null(strstr(o.said.c_str(), "host code touches"));
  assert_driver(driver.unmap(at, g));
  assert_driver(driver.release(a));
  assert_driver(driver.unreserve(at, g));
  assert_true(emu_set("BYTES", nullptr));
}

static void a_library_may_be_left_unprotected (void **) {
  int *p = on_device(std::vector<int>(4, 3));
  assert_true(emu_set("PROTECT", "0"));
  assert_int_equal(p[0], 3);
  assert_true(emu_set("PROTECT", nullptr));
  assert_done(cudaFree(p));
}

static void settings_are_checked (void **) {
  assert_false(emu_set("ORDER", "sideways"));
  assert_false(emu_set("BYTES", "1,x"));
  assert_false(emu_set("FAIL", "cudaMalloc=2"));
  assert_false(emu_set("NOTHING", "1"));
  assert_true(emu_set("ORDER", nullptr));
  const outcome o = in_child([] {
    setenv("EMU_STACK", "12", 1);
    execl("/proc/self/exe", "again", (char *)nullptr);
  });
  assert_int_equal(o.status, 86);
  assert_non_null(strstr(o.said.c_str(), "EMU_STACK=12 is not understood"));
}

int main (void) {
  setenv("EMU_DEVICES", "2", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_device_has_a_limit, reset),
      cmocka_unit_test_setup(fresh_memory_is_nan, reset),
      cmocka_unit_test_setup(copies_refuse_what_leaves_a_piece, reset),
      cmocka_unit_test_setup(rectangles_keep_what_lies_between, reset),
      cmocka_unit_test_setup(pinned_memory_is_read_late_and_other_memory_at_once, reset),
      cmocka_unit_test_setup(a_device_touches_its_own_memory_and_its_peers, reset),
      cmocka_unit_test_setup(pages_are_mapped_where_addresses_are_reserved, reset),
      cmocka_unit_test_setup(pages_without_access_are_closed, reset),
      cmocka_unit_test_setup(a_library_may_be_left_unprotected, reset),
      cmocka_unit_test_setup(settings_are_checked, reset),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
