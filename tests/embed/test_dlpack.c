/* Tensors given to another library and taken from it, as a program sees it, with the structures of its dlpack.h. */
#include <gibbous.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

static gb_session *session;
static gb_error err;

#define OK(call)                                                                                             \
  do {                                                                                                       \
    if ((call) != GB_OK) fail_msg("%s", err.text);                                                           \
  } while (0)

static int begin (void **state) {
  (void)state;
  return gibbous_open(&(gb_session_options){.threads = 2, .limit = (size_t)64 << 20}, &session, &err) == GB_OK
             ? 0
             : -1;
}

/* The session closes only if no node is held. */
static int end (void **state) {
  (void)state;
  return gibbous_close(session, &err) == GB_OK ? 0 : -1;
}

static gb_node *leaf (gb_dtype t, size_t rows, size_t cols, const void *data) {
  gb_node *x;
  OK(gibbous_tensor(session, t, &(gb_shape){.ndim = 2, .dim = {rows, cols}}, data, "x", &x, &err));
  return x;
}

static void a_value_is_given_without_a_copy (void **state) {
  (void)state;
  const double v[6] = {1, 2, 3, 4, 5, 6};
  gb_node *x = leaf(GB_F64, 2, 3, v), *y, *in[] = {x, x};
  OK(gibbous_map("add", 2, in, &y, &err));
  DLManagedTensorVersioned *d, *again;
  OK(gibbous_to_dlpack(y, &d, &err));
  OK(gibbous_to_dlpack(y, &again, &err));
  assert_int_equal(d->version.major, 1);
  assert_int_equal(d->flags, 1);
  const DLTensor *t = &d->dl_tensor;
  assert_int_equal(t->device.device_type, 1);
  assert_true(t->dtype.code == 2 && t->dtype.bits == 64 && t->dtype.lanes == 1);
  assert_true(t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3 && t->strides[0] == 3 &&
              t->strides[1] == 1);
  assert_int_equal(t->byte_offset, 0);
  assert_ptr_equal(t->data, again->dl_tensor.data);
  for (int i = 0; i < 6; i++) assert_true(((const double *)t->data)[i] == 2 * v[i]);
  gibbous_unref(x);
  gibbous_unref(y);
  assert_int_equal(gibbous_close(session, &err), GB_EOPTION); /* the consumer holds it still */
  again->deleter(again);
  assert_true(((const double *)t->data)[5] == 12);
  d->deleter(d);
}

static void a_transposed_value_and_an_older_consumer_get_copies (void **state) {
  (void)state;
  const float v[6] = {1, 2, 3, 4, 5, 6};
  gb_node *x = leaf(GB_F32, 2, 3, v), *y;
  OK(gibbous_transpose(x, &y, &err));
  DLManagedTensorVersioned *d;
  DLManagedTensor *older;
  OK(gibbous_to_dlpack(y, &d, &err));
  assert_true(d->dl_tensor.shape[0] == 3 && d->dl_tensor.strides[0] == 2);
  for (int i = 0; i < 6; i++) assert_true(((const float *)d->dl_tensor.data)[i] == v[i % 2 * 3 + i / 2]);
  OK(gibbous_to_dlpack_legacy(x, &older, &err));
  ((float *)older->dl_tensor.data)[0] = 100;
  float back[6];
  OK(gibbous_read(x, GB_F32, back, 6, &err));
  assert_true(back[0] == 1);
  older->deleter(older);
  d->deleter(d);
  gibbous_unref(x);
  gibbous_unref(y);
}

/* A value is row-major whatever view it was made by. */
static void views_are_given_as_they_look (void **state) {
  (void)state;
  const double v[6] = {1, 2, 3, 4, 5, 6};
  gb_node *x = leaf(GB_F64, 2, 3, v), *y[3];
  OK(gibbous_slice(x, 1, 2, -2, 2, &y[0], &err));
  OK(gibbous_slice(x, 0, 1, 1, 1, &y[1], &err));
  OK(gibbous_expand(y[1], &(gb_shape){.ndim = 2, .dim = {2, 3}}, &y[2], &err));
  static const double want[3][6] = {{3, 1, 6, 4}, {4, 5, 6}, {4, 5, 6, 4, 5, 6}};
  static const int n[] = {4, 3, 6};
  for (int i = 0; i < 3; i++) {
    DLManagedTensorVersioned *d;
    OK(gibbous_to_dlpack(y[i], &d, &err));
    assert_int_equal(d->dl_tensor.strides[0], d->dl_tensor.shape[1]);
    assert_memory_equal(d->dl_tensor.data, want[i], (size_t)n[i] * sizeof(double));
    d->deleter(d);
    gibbous_unref(y[i]);
  }
  gibbous_unref(x);
}

static int deleted;
static void count_deleted (DLManagedTensorVersioned *self) { deleted += self->manager_ctx == &deleted; }
static void count_older (DLManagedTensor *self) { deleted += self->manager_ctx == &deleted; }

/* 'data' as 2-d; shape and strides stay the caller's. */
static DLManagedTensorVersioned foreign (void *data, int64_t shape[2], int64_t strides[2]) {
  return (DLManagedTensorVersioned){.version = {1, 0},
                                    .manager_ctx = &deleted,
                                    .deleter = count_deleted,
                                    .dl_tensor = {.data = data,
                                                  .device = {1, 0},
                                                  .ndim = 2,
                                                  .dtype = {2, 64, 1},
                                                  .shape = shape,
                                                  .strides = strides}};
}

static void foreign_memory_is_a_leaf_until_it_goes (void **state) {
  (void)state;
  _Alignas(64) static double v[16];
  for (int i = 0; i < 16; i++) v[i] = i;
  DLManagedTensorVersioned d = foreign(v, (int64_t[]){2, 8}, NULL), *back;
  gb_node *x, *y;
  deleted = 0;
  OK(gibbous_from_dlpack(session, &d, "x", &x, &err));
  OK(gibbous_to_dlpack(x, &back, &err));
  assert_ptr_equal(back->dl_tensor.data, v); /* there and back again, without a copy */
  back->deleter(back);
  OK(gibbous_reduce("sum", x, 0, false, &y, &err));
  double sum;
  OK(gibbous_read(y, GB_F64, &sum, 1, &err));
  assert_true(sum == 120);
  assert_int_equal(deleted, 0);
  gibbous_unref(y);
  gibbous_unref(x);
  assert_int_equal(deleted, 1);
}

static void strided_and_unaligned_memory_is_copied (void **state) {
  (void)state;
  _Alignas(64) static double v[17];
  for (int i = 0; i < 17; i++) v[i] = i;
  DLManagedTensorVersioned columns = foreign(v, (int64_t[]){2, 3}, (int64_t[]){1, 2});
  DLManagedTensor older = {.dl_tensor = foreign(v, (int64_t[]){2, 8}, NULL).dl_tensor,
                           .manager_ctx = &deleted,
                           .deleter = count_older};
  older.dl_tensor.byte_offset = 8;
  gb_node *x, *y;
  double back[16];
  deleted = 0;
  OK(gibbous_from_dlpack(session, &columns, NULL, &x, &err));
  OK(gibbous_from_dlpack_legacy(session, &older, NULL, &y, &err));
  assert_int_equal(deleted, 2); /* they were copied */
  v[0] = v[1] = -1;
  OK(gibbous_read(x, GB_F64, back, 6, &err));
  for (int i = 0; i < 6; i++) assert_true(back[i] == i / 3 + 2 * (i % 3));
  OK(gibbous_read(y, GB_F64, back, 16, &err));
  for (int i = 0; i < 16; i++) assert_true(back[i] == i + 1);
  gibbous_unref(x);
  gibbous_unref(y);
}

static void what_cannot_be_taken_stays_the_callers (void **state) {
  (void)state;
  _Alignas(64) static double v[16];
  gb_node *x;
  deleted = 0;
  for (int i = 0; i < 6; i++) {
    static const gb_status want[] = {GB_EDEVICE, GB_EDTYPE, GB_EDTYPE, GB_ESHAPE, GB_EOPTION, GB_ESHAPE};
    DLManagedTensorVersioned d = foreign(v, (int64_t[]){2, i == 5 ? -1 : 8}, NULL);
    if (i == 0) d.dl_tensor.device.device_type = 2;
    if (i == 1) d.dl_tensor.dtype.lanes = 2;
    if (i == 2) d.dl_tensor.dtype = (DLDataType){5, 128, 1};
    if (i == 3) d.dl_tensor.ndim = 9;
    if (i == 4) d.version.major = 2;
    assert_int_equal(gibbous_from_dlpack(session, &d, NULL, &x, &err), want[i]);
    assert_null(x);
    assert_true(strncmp(err.text, "from_dlpack: ", 13) == 0);
  }
  DLManagedTensorVersioned large = foreign(v, (int64_t[]){1 << 14, 1 << 10}, (int64_t[]){0, 0}); /* 128 MiB */
  assert_int_equal(gibbous_from_dlpack(session, &large, NULL, &x, &err), GB_ENOMEM);
  assert_int_equal(gibbous_from_dlpack(session, NULL, NULL, &x, &err), GB_EOPTION);
  assert_int_equal(gibbous_to_dlpack(NULL, &(DLManagedTensorVersioned *){0}, &err), GB_EOPTION);
  assert_int_equal(deleted, 0);
}

int main (void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_value_is_given_without_a_copy, begin, end),
      cmocka_unit_test_setup_teardown(a_transposed_value_and_an_older_consumer_get_copies, begin, end),
      cmocka_unit_test_setup_teardown(views_are_given_as_they_look, begin, end),
      cmocka_unit_test_setup_teardown(foreign_memory_is_a_leaf_until_it_goes, begin, end),
      cmocka_unit_test_setup_teardown(strided_and_unaligned_memory_is_copied, begin, end),
      cmocka_unit_test_setup_teardown(what_cannot_be_taken_stays_the_callers, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
