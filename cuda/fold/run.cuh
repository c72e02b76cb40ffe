/* run.cuh - runs the instructions of a walk: a thread evaluates GB_CUDA_BATCH elements at once, which lie along LANE or
** along TILE. Registers are [register][element of the batch][thread], so that neighbours lie side by side. */
#ifndef GB_CUDA_FOLD_RUN_CUH
#define GB_CUDA_FOLD_RUN_CUH

#include "cuda/draw.cuh"
#include "cuda/element.cuh"
#include "cuda/fold/program.h"
#include "cuda/fold/value.cuh"

enum { W = GB_CUDA_BATCH };

/* The argument of a generated kernel, which knows the length of its lists. */
template <int LISTS> struct gb_cuda_short_argument {
  gb_cuda_program program;
  char lists[LISTS];
};

/* Something in the lists of a walk. */
template <class R> GB_INLINE const R &gb_listed (const char *lists, int at) {
  return *reinterpret_cast<const R *>(lists + at);
}

/* Of a program that is the first member of an argument. */
GB_INLINE const char *gb_lists (const gb_cuda_program *p) {
  return p->elsewhere != NULL ? p->elsewhere : reinterpret_cast<const gb_cuda_argument *>(p)->lists;
}
GB_INLINE const gb_cuda_out &gb_out_of (const gb_cuda_program *p, int n) {
  return gb_listed<gb_cuda_out>(gb_lists(p), n * p->at.out);
}
GB_INLINE const gb_cuda_operand &gb_operand_of (const gb_cuda_program *p, int n) {
  return gb_listed<gb_cuda_operand>(gb_lists(p), p->at.operands + n * p->at.operand);
}
GB_INLINE gb_number gb_constant_of (const gb_cuda_program *p, int n) {
  return gb_listed<gb_number>(gb_lists(p), p->at.constants + n * (int)sizeof(gb_number));
}
GB_INLINE const gb_cuda_ins *gb_code_of (const gb_cuda_program *p) {
  return p->ins != NULL
             ? p->ins
             : &gb_listed<gb_cuda_ins>(reinterpret_cast<const gb_cuda_argument *>(p)->lists, p->at.ins);
}

/* What a thread knows of its place. Indices past an edge are those of the last element. */
template <class A> struct gb_frame {
  typedef typename A::real T;
  const gb_cuda_program *p;
  T *registers;
  size_t lane[W], tile[W];
  size_t idx[GB_FOLD_AXES]; /* OUTER and INNER indices; 0 at LANE and TILE */

  GB_DEVICE T &at (int reg, int w) { return registers[((size_t)reg * W + w) * GB_CUDA_BLOCK]; }
};

/* Index of an operand's element; along: the part that all elements of a batch share. */
template <class A>
GB_DEVICE int64_t gb_shared_index (const gb_frame<A> &f, int64_t offset, const int64_t *stride) {
  int64_t at = offset;
  for (int a = 0; a < f.p->naxes; a++) at += (int64_t)f.idx[a] * stride[a];
  return at;
}

template <class A> GB_DEVICE int64_t gb_own_index (const gb_frame<A> &f, const int64_t *stride, int w) {
  int64_t at = 0;
  if (f.p->lane >= 0) at += (int64_t)f.lane[w] * stride[f.p->lane];
  if (f.p->tile >= 0) at += (int64_t)f.tile[w] * stride[f.p->tile];
  return at;
}

template <class A>
GB_DEVICE typename A::real gb_element (const gb_frame<A> &f, const gb_cuda_operand &o, int w) {
  const int64_t at = gb_shared_index(f, o.offset, o.stride) + gb_own_index(f, o.stride, w);
  return gb_load<typename A::real>(o.at, o.dtype, at);
}

template <class A> GB_CALLED void gb_run_load (gb_frame<A> &f, const gb_cuda_ins &i) {
  const gb_cuda_operand &o = gb_operand_of(f.p, i.x);
  const int64_t at = gb_shared_index(f, o.offset, o.stride);
  for (int w = 0; w < W; w++)
    f.at(i.dst, w) = gb_load<typename A::real>(o.at, o.dtype, at + gb_own_index(f, o.stride, w));
}

/* SQDIST and DOT along the feature axis, ascending. */
template <class A> GB_CALLED void gb_run_front (gb_frame<A> &f, const gb_cuda_ins &i) {
  typedef typename A::real T;
  T s[W];
  for (int w = 0; w < W; w++) s[w] = 0;
  for (size_t k = 0; k < f.p->extent[i.axis]; k++) {
    f.idx[i.axis] = k;
    for (int w = 0; w < W; w++) {
      const T x = gb_element(f, gb_operand_of(f.p, i.x), w), y = gb_element(f, gb_operand_of(f.p, i.y), w);
      if (i.kind == GB_INS_DOT) s[w] = A::fma(x, y, s[w]);
      else {
        const T t = A::sub(x, y);
        s[w] = A::fma(i.w < 0 ? t : A::mul(gb_element(f, gb_operand_of(f.p, i.w), w), t), t, s[w]);
      }
    }
  }
  f.idx[i.axis] = 0;
  for (int w = 0; w < W; w++) f.at(i.dst, w) = s[w];
}

/* (1 + u / (2 alpha))^-alpha and its derivatives where alpha differs by element. */
static GB_CALLED double gb_rational_quadratic (const gb_cuda_ins &i, double u, double alpha) {
  const double z = u / (2 * alpha), l = log1p(z), n = alpha + i.order;
  double f = exp(-n * l), rate = n * z / (alpha * (1 + z)) - l;
  if (i.order == 1) f *= -0.5;
  if (i.order == 2) {
    f *= (alpha + 1) / (4 * alpha);
    rate += 1 / (alpha + 1) - 1 / alpha;
  }
  return i.dalpha ? f * rate : f;
}

template <class A> GB_CALLED void gb_run_radial (gb_frame<A> &f, const gb_cuda_ins &i) {
  typedef typename A::real T;
  for (int w = 0; w < W; w++) {
    const T a = f.at(i.a, w), b = f.at(i.b, w);
    const double alpha = i.c < 0 ? 0 : (double)f.at(i.c, w);
    T r;
    if (i.varying) r = (T)gb_rational_quadratic(i, (double)A::mul(b, a), alpha);
    else if (i.plain) r = A::radial(i.profile, i.order, i.dalpha, a, (double)b, alpha);
    else r = A::radial(i.profile, i.order, i.dalpha, A::mul(b, a), 1, alpha);
    f.at(i.dst, w) = r;
  }
}

/* Element numbers: of an axis, or those that an operand gives. */
template <class A> GB_DEVICE int64_t gb_number_of (const gb_frame<A> &f, const gb_cuda_ins &i, int w) {
  if (i.axis < 0) {
    const gb_cuda_operand &o = gb_operand_of(f.p, i.x);
    return gb_shared_index(f, o.offset, o.stride) + gb_own_index(f, o.stride, w);
  }
  return (int64_t)(i.axis == f.p->lane ? f.lane[w] : i.axis == f.p->tile ? f.tile[w] : f.idx[i.axis]);
}

GB_INLINE int64_t gb_ramp (const gb_cuda_ins &i, int64_t at, int64_t) {
  return (int64_t)((uint64_t)at * (uint64_t)i.step + (uint64_t)i.start);
}
GB_INLINE double gb_ramp (const gb_cuda_ins &i, int64_t at, double) { return (double)at * i.f + i.g; }
GB_INLINE float gb_ramp (const gb_cuda_ins &i, int64_t at, float) { return (float)((double)at * i.f + i.g); }

GB_INLINE int64_t gb_bound (gb_number n, int64_t) { return n.i; }
GB_INLINE double gb_bound (gb_number n, double) { return n.f; }
GB_INLINE float gb_bound (gb_number n, float) { return (float)n.f; }

/* Uniform in (0, 1), or standard normal. */
static GB_CALLED double gb_draw (bool normal, const uint64_t seed[2], uint64_t number) {
  return normal ? gb_draw_normal(seed[0], seed[1], number) : gb_draw_uniform(seed[0], seed[1], number);
}

template <class A> GB_CALLED void gb_run_leaf (gb_frame<A> &f, const gb_cuda_ins &i) {
  typedef typename A::real T;
  for (int w = 0; w < W; w++) {
    T &to = f.at(i.dst, w);
    switch (i.kind) {
      case GB_INS_CONST: to = (T)i.f; break;
      case GB_INS_BIND: to = gb_bound(gb_constant_of(f.p, i.x), (T)0); break;
      case GB_INS_IOTA: to = gb_ramp(i, gb_number_of(f, i, w), (T)0); break;
      default: {
        const uint64_t number = (uint64_t)gb_number_of(f, i, w);
        const double u = gb_draw(i.profile != 0, i.seed, number);
        to = (T)(i.profile != 0 || u < i.f ? u : i.f);
      }
    }
  }
}

template <class A> GB_CALLED void gb_run_map (gb_frame<A> &f, const gb_cuda_ins &i) {
  typedef typename A::real T;
  for (int w = 0; w < W; w++) {
    const T x = f.at(i.a, w), y = i.b < 0 ? 0 : f.at(i.b, w), z = i.c < 0 ? 0 : f.at(i.c, w);
    f.at(i.dst, w) = A::map(i.op, x, y, z);
  }
}

template <class A> GB_CALLED void gb_run_acc (gb_frame<A> &f, const gb_cuda_ins &i) {
  typedef typename A::real T;
  for (int w = 0; w < W; w++) {
    T &acc = f.at(i.dst, w);
    const T a = f.at(i.a, w);
    acc = i.monoid == GB_LSE ? A::lse2(acc, a) : A::combine(i.monoid, acc, a);
  }
}

/* Accumulators of the loop at 'pc', not of loops inside it, to their identities. Returns the next pc: the end of the loop
** if its extent is 0. */
template <class A> GB_DEVICE int gb_begin_loop (gb_frame<A> &f, const gb_cuda_ins *code, int pc) {
  for (int q = pc + 1; q < code[pc].jump; q++) {
    if (code[q].kind == GB_INS_LOOP) q = code[q].jump;
    else if (code[q].kind == GB_INS_ACC)
      for (int w = 0; w < W; w++) f.at(code[q].dst, w) = A::identity(code[q].monoid);
  }
  f.idx[code[pc].axis] = 0;
  return f.p->extent[code[pc].axis] > 0 ? pc : code[pc].jump;
}

/* The instructions of a level; 'sink' takes the values of EMIT. */
template <class A, class SINK> GB_CALLED void gb_run (gb_frame<A> &f, gb_cuda_level level, SINK &sink) {
  const gb_cuda_ins *code = gb_code_of(f.p) + f.p->code[level];
  for (int pc = 0; pc < f.p->ncode[level]; pc++) {
    const gb_cuda_ins &i = code[pc];
    switch (i.kind) {
      case GB_INS_LOAD: gb_run_load(f, i); break;
      case GB_INS_MAP: gb_run_map(f, i); break;
      case GB_INS_SQDIST:
      case GB_INS_DOT: gb_run_front(f, i); break;
      case GB_INS_RADIAL: gb_run_radial(f, i); break;
      case GB_INS_ACC: gb_run_acc(f, i); break;
      case GB_INS_EMIT: sink.take(f, gb_out_of(f.p, i.x), i.a); break;
      case GB_INS_LOOP: pc = gb_begin_loop(f, code, pc); break;
      case GB_INS_ENDLOOP: {
        const int axis = code[i.jump].axis;
        if (++f.idx[axis] < f.p->extent[axis]) pc = i.jump;
        else f.idx[axis] = 0;
        break;
      }
      default: gb_run_leaf(f, i);
    }
  }
}

/* The slot of an output at the current INNER indices. */
template <class A> GB_DEVICE int gb_slot (const gb_frame<A> &f, const gb_cuda_out &o) {
  size_t s = 0;
  for (int a = 0; a < f.p->naxes; a++)
    if (o.slotted >> a & 1) s += f.idx[a] * (size_t)o.mul[a];
  return (int)s;
}

/* The position that ARG* and KSMALLEST remember: from 1, in row-major order of the reduced axes. */
template <class A> GB_DEVICE int64_t gb_position (const gb_frame<A> &f, const gb_cuda_out &o, int w) {
  size_t at = 0;
  for (int a = 0; a < f.p->naxes; a++)
    if (o.counted >> a & 1)
      at = at * f.p->extent[a] + (a == f.p->lane ? f.lane[w] : a == f.p->tile ? f.tile[w] : f.idx[a]);
  return (int64_t)at + 1;
}

#endif
