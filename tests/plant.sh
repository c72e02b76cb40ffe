#!/bin/bash
# plant.sh [pattern] - plants known bugs, one at a time, in a copy of the tree, and expects the C tests, of the library the
# specs, of "random programs" the fuzzer, of "far device" the tests there to turn red.
# Prints a table; exits 1 if a bug survives, does not build, no longer applies, or only makes tests take too long (TIME OUT), which
# proves nothing: another machine is slow, too. With a pattern (grep -E), only the bugs
# whose description matches. Takes minutes; run by hand, or as ctest -L plant.
# GIBBOUS_PLANT_JOBS: parallel compilations and tests (2). GIBBOUS_PLANT_DIR: where to work, kept for the next run.
cd "$(dirname "$0")/.." || exit 2
jobs=${GIBBOUS_PLANT_JOBS:-2}
work=${GIBBOUS_PLANT_DIR:-$(mktemp -d)}
[ -n "$GIBBOUS_PLANT_DIR" ] || trap 'rm -rf "$work"' EXIT
tree=$work/tree build=$work/build
mkdir -p "$tree" || exit 2

# file, sed script, what is wrong. A script that changes nothing is an error here.
plants=(
host/cpu/fold/pack.c
's/SCATTER_FROM(int64_t, AS, gb_i64_to_i32)/SCATTER_FROM(int64_t, AS, (int32_t))/'
'random programs: what i32 does not hold wraps around where a fold stores it'

host/cpu/fold/pack.c
's/GATHER(int64_t, int32_t, AS)/GATHER(int64_t, uint32_t, AS)/'
'numbers of i32 below 0 are read as large ones'

host/cpu/move/move.c
's/p->dtype == GB_I32 ?/p->dtype == GB_F16 ?/'
'positions of i32 are read as i64'

host/cpu/move/move.c
's/a\[i\] = b\[i\] < a\[i\] || b\[i\] != b\[i\] ?/a[i] = b[i] < a[i] ?/'
'a NaN is no extreme at its position'

host/cpu/move/sort.c
's/(int32_t)(a\[i\].position + 1)/(int32_t)a[i].position/'
'positions of i32 that a sort gives count from 0'

host/graph/grad/view.c
's/axis = y->op == GB_OP_KMIN ? r - 1 : (int)y->attr.i\[0\]/axis = (int)y->attr.i[0]/'
'the gradient of the few smallest goes along another axis'

cuda/move/move.cu
's/x.positions == GB_I32 ?/x.positions == GB_F16 ?/'
'positions of i32 are read as i64 on a GPU'

cuda/element.cuh
's/if (v > INT32_MAX) return INT32_MAX;//'
'what i32 does not hold wraps around on a GPU'

host/graph/build.c
's/t == GB_I32 \&\& gb_widens_input(op, from) ? GB_I64 : t/t/'
'a number beside i32 must fit i32 where the result is i64'

host/cpu/fold/cull.c
's/if (!(fabs(v) < INFINITY)) return anything;/if (!(fabs(v) < INFINITY)) continue;/'
'a tile whose box holds a NaN is left out'

host/cpu/fold/cull.c
's/rows < SEGMENT ? rows : SEGMENT, row);/rows < 8 ? rows : 8, row);/'
'boxes of rows forget their last rows'

host/cpu/fold/cull.c
's/return (x->px < 0 || is_finite(pack_hull(a, x->px)))/return (x->px < 0 || 1)/'
'0 times infinity is left out'

host/graph/canon/symmetry.c
's/symmetric(n) \&\& n->nin == 1 \&\& (n->op/symmetric(n) \&\& (n->op/'
'the identity is looked for in the inputs that a computed node has lost'

host/program/slices.c
's/if (have != 1) at += k % extent/if (have != 0) at += k % extent/'
'a matrix of its own is taken for each slice where one serves all'

host/program/slices.c
's/o->from\[a\] + at % have/at % have/'
'a failing matrix is counted in its window'

host/cpu/linalg/slices.c
's/if (k < atomic_load(&b->failed)) {/if (atomic_load(\&b->failed) == SIZE_MAX) {/'
'of two slices that fail the one that was seen first is named'

host/cpu/linalg/slices.c
's/(size_t)thread \* b->scratch/0 * (size_t)thread/'
'threads share the scratch of slices'

host/plan/tile/cut.c
's/o->in_shape\[i\].dim\[own\] == extent/o->in_shape[i].dim[own] > 0/'
'a window of a batch is cut out of the one matrix of all slices'

host/graph/grad/linalg.c
's/gb_bar_put(e, gb_ex_unbroadcast(e, bar, gb_node_shape(y->in\[i\])), in_bar, i);/gb_bar_put(e, bar, in_bar, i);/'
'a gradient keeps the batch axes along which its input was broadcast'

host/graph/grad/linalg.c
's/const int back = ndim == 1 ? 1 : 2;/const int back = ndim == 1 ? 1 : ndim;/'
'a weight of each row of a batch passes for one of columns'

host/graph/grad/vmap_rules.c
's/(b->mapped\[i\] || rank_of(in\[i\]) > 2)/b->mapped[i]/'
'nested vmap of a solve lets two batches of unequal ranks meet'

host/plan/choose/text.c
's/live\[last + 1\] -= bytes;/live[last] -= bytes;/'
'a report forgets what is live at its last step'

host/plan/choose/candidates.c
's/o->chosen = !found && o->fits/o->chosen = !found/'
'a report takes a realisation for chosen that does not fit'

host/plan/choose/text.c
's/if (a == 0xed) return b < 0xa0;//'
'surrogates pass for letters in a report'

host/cpu/fold/walk.c
's/for (size_t c = first; c < end; c++)/for (size_t k = first, c = p->ordered ? k : end - 1; k < end; k++, c += p->ordered ? 1 : (size_t)-1)/'
'chunks of a row are added from the last to the first'

host/cpu/fold/totals_arith.c
's/TREE(float, v\[l\] + v\[l + n\])/TREE(float, v[2 * l < n ? l : n + n - 1 - l] + v[l + n])/'
'the tree over virtual lanes takes one lane twice'

host/cpu/simd/plain.h
's/(q\[0\] + q\[2\]) + (q\[1\] + q\[3\])/(q[0] + q[1]) + (q[2] + q[3])/'
'the tree over virtual lanes pairs neighbours'

host/cpu/isa/contract.inc
's/^ *vd_store(total + i + h, vd_add.*/for (int q = 0; q < vd_width; q++) total[i + h + q] = (double)((T)total[i + h + q] + acc[i + h + q]);/'
'f32 chains are not flushed into f64 totals'

host/cpu/fold/walk.c
's/p->ntile - t->chunk0 < GB_CANON ? p->ntile - t->chunk0 :/p->ntile - t->chunk0 < GB_CANON ? p->ntile - t->chunk0 - (p->ntile % GB_CANON == 7) :/'
'a ragged last chunk of 7 rows loses one'

host/plan/structure/cache.c
's/^  forget_all(c);$/;/'
'change of device: a session takes cached plans to its new device'

host/graph/devices.c
's/  gb_ledger_unbook(&before->ledger, bytes);//'
'change of device: the nodes of a graph stay in the books of the device before'

host/lower/merge.c
's/if (rc == GB_OK) rc = merge_numbers(s, maker, stack);//'
'each number of a parameter is a step of its own'

host/lower/merge.c
's/    if (level\[p\] + 1 > most) most = level\[p\] + 1;//'
'a number joins the step that computes what it needs'

host/lower/kernels.c
's/while (e != NULL \&\& !serves(e, part)) e = e->next;//'
'a window of fewer columns runs the kernel of all columns'

host/lower/lower.c
's/if (how->symmetric) gb_mark_symmetric/gb_mark_symmetric/'
'a device that visits every tile is given half of them'

host/plan/tile/packed_factor.c
's/ || !gb_packs_blocks(st->opaque.unit)) continue;/) continue;/'
'factors are packed in tiles of another side than the device has'

host/program/fold.c
's/ *same_number(a->f, b->f) \&\&//'
'steps that differ in a constant share a kernel'

host/lower/kernels.c
's/ \&\& gb_fold_same_program(other, f))/)/'
'a kernel is found by its hash alone'

host/lower/kernels.c
's/    if (e->owner) gb_kernel_release(e->kernel);/    gb_kernel_release(e->kernel);/'
'a shared kernel is released twice'

host/cpu/fold/kernel.c
's/  for (size_t k = 0; k < n.outs; k++) p->out\[k\].o = to->out + k;//'
'a kernel keeps pointers into the fold that it was compiled from'

host/lower/kernels.c
's/if (gb_kernels_find(k, s, part) != NULL) return GB_OK;//'
'a fold is compiled for each candidate'

host/cpu/fold/walk.c
's/^  gb_exec_fit_links(&p);//'
'chains of a part of a fold go along the rows of the whole'

host/cpu/fold/walk.c
's/past = diagonal + GB_TI;/past = diagonal;/'
'the diagonal of a symmetric fold is counted twice'

host/cpu/fold/kernel.c
's/? gb_exec_lay_scratch(&p).bytes : SIZE_MAX/? gb_exec_lay_scratch(\&p).bytes - 64 : SIZE_MAX/'
'scratch is declared 64 bytes short'

host/cpu/fold/accumulate_select.c
's/position < pair\[1\]\.i)/position > pair[1].i)/'
'the last of equal values wins argmin'

host/arith/profile.inc
's/V(blend)(V(isnan)(a), a, V(max)(a, b))/V(max)(a, b)/'
'a maximum swallows NaN'

host/cpu/fold/chain_link.c
's/x->last > reader - c->p->f->ins) return;/x->last > reader - c->p->f->ins + 1) return;/'
'a slot of a chain is free one instruction too early'

host/cpu/fold/chain.c
's/\.step\[l->loop\]/.step[0]/'
'a loop in a chain goes along its packs by another axis'

host/cpu/fold/chain_plan.c
's/if (c->op\[n\]\.kind == GB_INS_LOOP) n = c->op\[n\]\.jump;/if (c->op[n].kind == GB_INS_LOOP \&\& c->op[n].jump < n) n++;/'
'a reader in a loop is taken for one of after the loop'

host/cpu/fold/chain_super.c
's/\.uses == 1 ? /.uses >= 1 ? /'
'a value of a chain with two readers is made for the last alone'

host/cpu/fold/chain.c
's/^    if (has_constants(l)) p->k->link_constants(l);//'
'profiles of a vanishing factor lack their constants'

host/cpu/fold/chain.c
's/return t->valid == GB_TI;/return t->valid > 0;/'
'ragged blocks of lanes run as chains'

host/cpu/fold/chain.c
's/chain(l, t->nj, /chain(l, t->nj \& ~1, /'
'chains drop an odd last row'

host/cpu/fold/chain.c
's/chain(l, t->nj, t->mirrored,/chain(l, t->nj, true,/'
'chains enter the diagonal of a symmetric fold twice'

host/cpu/fold/chain.c
's/t->mirrored, c->by_row)/t->mirrored, false)/'
'chains of a sum over both axes do not go row by row'

host/cpu/isa/chain.inc
's/V(fnma)(a\[q\]\[u\], t, b/V(fma)(a[q][u], t, b/'
'both sides of a difference have one sign'

host/cpu/linalg/trisolve.c
's/? GB_UPPER : GB_LOWER/? GB_LOWER : GB_UPPER/'
'triangular_solve reads the other triangle'

host/cpu/linalg/cholesky.c
's/diagonal += q->jitter/diagonal += 0 * q->jitter/'
'the jitter of cholesky is ignored'

host/program/packed.c
's/gb_block_extent(n, B, i) \* j \* B;/B * j * B;/'
'tiles of the last packed rows are as far apart as full ones'

host/cpu/linalg/cholesky.c
's/i - j + 2)) return false/i - j + 1)) return false/'
'an inverse in place overwrites a tile of the factor that is still read'

host/lower/emit.c
's/o->stride\[a\] += m->dim\[i\]\.coef\[a\] \* stride\[i\];/o->stride[a] += m->dim[i].coef[a] * stride[0];/'
'operands take the stride of their first dimension'

host/lower/emit.c
's/e->scope\[k->level\]\.serial == k->serial/e->scope[k->level].serial >= k->serial/'
'a value of an earlier loop stands for one of this loop'

host/lower/emit_ops.c
'/ins\.kind = GB_INS_BIND;/{n;s/= x;/= 0;/}'
'every number is bound to the first'

host/lower/emit_ops.c
's/ins\.profile = n->op == GB_OP_RANDN/stride[0]++;\n  &/'
'random numbers are drawn with a wrong stride'

host/lower/index.c
's/if (i != at) out->dim\[i\] = m->dim\[i\];/if (i != at || n->attr.i[2] < -1) out->dim[i] = m->dim[i];/'
'backward slices with a step are not sliced'

host/lower/merge.c
's/if (p == to) return true;/if (p == to) return false;/'
'folds merge although one needs the other'

host/lower/twin.c
's/out\.dim\[ndim - [12]\] = m->dim\[ndim - [12]\];//'
'the transposed twin is read untransposed'

host/lower/roles.c
's/mirrored\.stride\[lane\] = mirrored\.stride\[tile\];/mirrored.stride[lane] = mirrored.stride[tile] == 1 ? 1 : 0;/'
'the mirrored operand of a symmetric fold stands still'

host/lower/structure.c
's/h = gb_hash_u64(h, (uint64_t)t->stride\[i\]);/h = gb_hash_u64(h, 0);/'
'a cached program serves leaves of other strides'

host/lower/decide.c
's/if (numel(in) == 1 || gb_hands_on(n)) return false;/if (gb_hands_on(n)) return false;/'
'a product whose parameter has another type is not symmetric'

host/lower/decide.c
's/return !twice \&\& (number ||/return !twice \&\& (/'
'the cast of a number is a step'

host/lower/decide.c
's/if (from->stored \&\& !from->staged) add_source/if (false) add_source/'
'what values are made of is not counted'

host/graph/node.c
's/n->serial = g->next_serial++;/n->serial = g->nnodes;/'
'serial numbers are used again: a value outlives what it was computed from'

host/graph/node.c
's/h = gb_hash_bytes((uint64_t)op, attr, sizeof \*attr);/h = (uint64_t)op;/;s/memcmp(&n->attr, attr, sizeof \*attr) != 0 || //'
'nodes that differ in their attributes only are one'

host/graph/grad/rules.c
's/gb_node \*sum = gb_ex_reduce(e, GB_OP_SUM, bar, mask, false);/gb_node *sum = gb_ex_reduce(e, mask == 1 ? GB_OP_MAX : GB_OP_SUM, bar, mask, false);/'
'a gradient is not summed back over the axis that grew'

host/graph/grad/map.c
's/RULE1(cos, gb_ex_neg(e, M2(MUL, g, M1(SIN, x))))/RULE1(cos, M2(MUL, g, M1(SIN, x)))/'
'the gradient of cos has the wrong sign'

host/device/ledger.c
's/^  l->used -= b->bytes;//'
'the ledger never gives bytes back'

host/plan/place/pack.c
's/a->first <= b->last && b->first <= a->last/a->first < b->last \&\& b->first < a->last/'
'buffers overlap in the step where one ends and the other begins'

host/plan/run/bind.c
's/c->have\[b\] = !r->depends\[b\] &&/c->have[b] =/'
'a rebound loop reads the values of the step before'

host/graph/canon/symmetry.c
's/return any && (all ||/return any \&\& (true ||/'
'a symmetric matrix plus a row passes for symmetric'

host/graph/canon/sqdist.c
's/if (!cx || !cy || !gb_factor_equal(&fx, &fy) ||/if (!cx || !cy ||/'
'a scale of one side leaves a distance as if it were on both'

host/graph/grad/vmap_rules.c
's/  attr\.i\[0\] <<= 1;/  attr.i[0] <<= gb_node_shape(b->n)->ndim != 1;/'
'a mapped reduction to a vector is over the batch'

host/lower/decide.c
's/!(numel(n) > 2 \* d->source_numel) ||/!(numel(n) > 2000 * d->source_numel) ||/'
'products that should stream are stored'

host/base/draw.inc
's/c1 = index >> 32/c1 = zero/'
'random numbers repeat after 2^32'

host/cpu/move/sort.c
's/  if (v != v) return UINT64_MAX;//'
'NaN is sorted by its sign'

host/solve/frame/refine.c
's/else if (\*state == GB_COLUMN_CONVERGED || \*state == GB_COLUMN_STAGNATED)/else if (*state == GB_COLUMN_STAGNATED)/'
'a converged column is not measured again'

host/solve/frame/stopping.c
's/s->bound\[c\] \*= o->tol \* o->tol;/s->bound[c] = o->tol * o->tol;/'
'columns converge by their absolute residual'

host/solve/cg.c
's/{s->rz, s->factor};/{s->factor, s->factor};/'
'columns that move forget their own R . z'

host/solve/frame/active.c
's/return r;$/return r + 0 * live;/;s/while (r > 1 \&\& (r + 1) \/ 2 >= live)/while (0)/'
'columns that are done are still multiplied'

host/solve/frame/refine.c
's/return energy > before + RESOLVED \* fabs(before);/return false;/;s/, drifted = .*;/, drifted = false;/'
'stagnation is never seen'

host/solve/frame/refine.c
's/else if (low) leave_to_f64(q, c);/else if (0) leave_to_f64(q, c);/'
'what f32 leaves unsolved is not taken up again'

host/solve/frame/frame.c
's/(method->takes \& special\[i\].option) == 0/false/'
'a solver ignores an option that it cannot use'

host/solve/frame/frame.c
's/for (int k = 0; k < 3; k++) gb_panel_shift/for (int k = 0; k < 2; k++) gb_panel_shift/'
'a residual is left at the size of the loop'

host/solve/frame/frame.c
's/if (!(lost > 0)) return GB_OK;/return GB_OK;/'
'what a tiny solution loses in its dtype is not reported'

host/solve/cg.c
's/if (!info->f32_insufficient) return GB_OK;/if (true) return GB_OK;/'
'a log determinant is taken from steps that did not solve its probes'

host/cpu/panel/vector.c
's/if (j->plain) *\\$/if (true) \\/'
'panels forget their lists of columns'

host/cpu/panel/vector.c
's/v\[i \* x.r + at\[k\]\]/v[i * x.r + k]/'
'columns that stay do not move'

host/iterate/product.c
's/r != whole \&\& multiplies(p->plan)/0/'
'a column of a stored matrix depends on how many there are'

host/solve/op/grad.c
's/gb_ex_neg(&f, u)/gb_ex_map1(\&f, GB_OP_ABS, u)/'
'the gradient of a solve in its matrix has the wrong sign'

host/solve/op/grad.c
's/gb_substitute(slope\[k++\]/gb_substitute(slope[0 * k++]/'
'all inputs of a matrix get the gradient of the first'

host/solve/op/solver.c
's/held + most_of(making.entries, work.entries)/held + making.entries/'
'a solve declares too little scratch'

host/solve/op/solver.c
's/!op->latest.info.solve.converged \&\& op->o.missed/op->o.missed/'
'a solve that converged is said to have missed its tolerance'

host/iterate/planned_op.c
's/same &= out\[i\] == op->root\[i\];/same = false;/'
'every step makes an op of its own'

host/solve/logdet/marginal.c
's/norm\[c\] = c == 0 ? 1 : sqrt((double)q->n \/ norm\[c\])/norm[c] = 1/'
'probes keep lengths of their own'

host/solve/logdet/logdet.c
's/(double)n \* sqrt(spread \/ (k - 1))/(double)n * sqrt(spread) \/ k/'
'the standard error of log det is too small'

host/solve/precond/partial.c
's/ || (p->rows > 0 \&\& now + wait > p->bound)//'
'a block takes its candidates, whoever else is before them'

host/cpu/panel/block.c
's/for (size_t t = 0; t < blocks; t++)$/for (size_t t = blocks; t-- > 0;)/'
'products of panels: sums go from the last block to the first'

host/cpu/panel/block.c
's/if (j->x.column == NULL \&\& j->y.column == NULL)/if (j->x.column == NULL)/'
'products of panels: a list of columns is forgotten'

host/cpu/panel/block.c
's/for (size_t k = 0; k < j->to; k++) \*gb_panel_entry(&j->x, i, k) = 0;//'
'products of panels: columns that are turned keep what they were'

tests/far/panel.c
's/far_is_lost() \&\& i < x.r \* y.r/i < 0/'
'products of panels: a far device that is lost gives numbers'

host/cpu/panel/pivots.c
's/fmax(lot\[i\] - left\[i\] \* e->step\[r\], 0)/lot[i]/'
'lots that were not used up start again in each block'

host/solve/precond/partial.c
's/(\*left > tol); r++, p->rank++)/true; r++, p->rank++)/'
'a block does not end where little enough is left'

host/solve/precond/partial.c
's/return rest < 0 \&\& isfinite(v) ? 0 : rest;/return rest < 0 ? 0 : rest;/'
'a row of a preconditioner that is infinite passes'

host/device/ledger.c
's/if (m->ops->idle(m) > gb_ledger_room(l) - bytes)/if (0)/'
'pages of freed blocks take the process past the limit'

host/lower/draft.c
's/  return stands \&\& gb_shape_equal.*$/  return NULL;/'
'what is detached is copied'

host/lower/draft.c
's/const bool stands = !gb_is_leaf(made) \&\& /const bool stands = /'
'what is detached from a leaf changes with it'

host/solve/precond/precond.c
's/(double)(n - k) \* log(p->form.noise)/(double)n * log(p->form.noise)/'
'the determinant of the preconditioner counts its rank twice'

host/plan/place/signature.c
's/^    if (o->reduced >> a & 1) h = .*/    (void)a;/'
'a value that was added in another order stands for one of this plan'

host/plan/structure/cache.c
's/e->used < oldest->used/e->used > oldest->used/'
'what was used last leaves the cache first'

host/plan/run/commit.c
's/size_t bytes = wants_arena(r, arena) ? pl->arena : 0;/size_t bytes = 0 * (size_t)wants_arena(r, arena);/'
'room is made for results and not for the arena'

host/plan/run/call.c
's/^    st->refs--;//'
'a value that a callback kept is never freed'

host/plan/run/commit.c
's/^  ok = ok \&\& gb_cache_reserve(.*caches);//'
'an entry of the cache is made between steps'

host/plan/place/place.c
's/^  if (gb_step_is_idle(low, st)) return 0;//'
'a step that does not run has scratch'

host/plan/place/place.c
's/read\[b\] == GB_HOME_ARENA && p->life\[b\].last == t;/read[b] == GB_HOME_ARENA;/'
'a value is overwritten by one of its readers and not the last'

host/cpu/linalg/lu.c
's/^gb_status gb_cpu_lu_solve (const gb_opaque_call \*c) {/#include <stdlib.h>\n&\n  void *volatile p = malloc(8);\n  free(p);/'
'a solve allocates'

host/tensor/shape.c
's/^  gb_shape both = \*a;.*/  gb_shape both = *out = *a;/'
'a shape that broadcasts in place is overwritten first'

host/lua/core.c
's/if (replaced != NULL) replaced->flags/if (replaced != NULL) memcpy(gb_tensor_data(\&replaced->out[0].tensor), gb_tensor_data(value), 8);\n  &/'
'setting a parameter changes what expressions were built with'

host/lua/core.c
's/if (replaced != NULL) replaced->flags |= GB_NODE_STALE;/(void)replaced;/'
'values of a parameter that was set stay cached'

lualib/gibbous/param/init.lua
's/^  box\.value = box\.transform/  box.value = box.value or box.transform/'
'a parameter that was set keeps the value it had'

lualib/gibbous/gp/exact/objective.lua
's/ + n \* math\.log(2 \* math\.pi)//'
'the marginal likelihood lacks its constant'

host/program/ops.def
's/^\(X(TRISOLVE,.*columns, \)1,/\10,/'
'a triangular solve is written over its matrix'

host/program/ops.def
's/^\(X(SORT,.*axis,  *\)beside,/\1map,   /'
'a sort is cut along the axis that it sorts'

host/program/ops.def
's/^\(X(CUMSUM,.*cumsum,  *\)axis,/\1same,/'
'a running sum under vmap runs over the slices'

host/program/ops.def
's/^\(X(CHOL_INVERSE,.*FACTOR | PACK\),/\1 | GROW,/'
'the inverse of a growing factor is asked for'

host/program/ops.def
's/^\(X(CHOLESKY,.*DIRECT\) | KEEP,/\1,/'
'a factor is not kept'

host/program/ops.def
's/^\(X(CHOLESKY,.*DENSE\) | DIRECT/\1/'
'a refusal forgets that Cholesky is a direct method'

host/cpu/isa/chain_ops.def
'/^STEP1(RSQRT,/d'
'an op is missing among the steps of chains'

host/cpu/isa/chain_ops.def
's/^STEP2(LE,  le,  ge,/STEP2(LE,  le,  gt,/'
'a step with exchanged inputs compares strictly'

host/iterate/planned_op.c
's/  return ((const gb_planned_op \*)ud)->home_bytes;/  return 0 * ((const gb_planned_op *)ud)->home_bytes;/'
'a plan does not count what a solver takes at home'

host/plan/place/place.c
's/    if (g->low->home == g->device \&\& p->place\[s\] == t) add_life(g, \&p->within\[s\]);//'
'a plan has no room at home for a solver'

host/iterate/planned_op.c
's/  if (q->home_bytes > 0) gb_ledger_return(&q->graph->device->home->ledger);//'
'a solver keeps the account of the home that was lent to it'

host/plan/structure/home.c
's/offset -= low/offset -= 0 * low/'
'addresses of a leaf that goes home count from its element (0, ..., 0)'

host/plan/structure/home.c
's/  if (!whole) {/  if (false) {/'
'a leaf with gaps goes home without them'

host/plan/structure/home.c
's/ \&\& !h->read_there\[b\]//'
'a result that the device reads stays at home'

host/plan/structure/home.c
's/? home->ops->block : GB_BLOCK/? home->ops->block : 64/'
'a dense op at home works in other blocks'

host/plan/structure/home.c
's/    buf->elsewhere = true;/    buf->elsewhere = false;/'
'far device: a value on the device stands in for one at home'

host/plan/structure/supports.c
's/  for (int s = 0; s < low->nsteps; s++) {/  for (int s = 1; s < low->nsteps; s++) {/'
'the first step is planned for a device that does not run it'

host/plan/structure/supports.c
's/packed.packed = true;/packed.packed = s == t->factor;/'
'a factor is packed for a device on which its readers take a square one'

host/device/device.c
's/if (lack->why == NULL .*/if (lack->why == NULL) return true;/'
'a device that refuses without a reason is taken to run the step'

host/plan/tile/cut.c
's/  o->continues |= c->reduces \&\& at.lo > 0;//'
'a product in windows begins anew in each'

host/plan/tile/cut.c
's/  \*offset = \*offset \/ up \* now + \*offset % up;/  (void)now;/'
'an access to a window keeps the offset it has in the whole'

host/plan/tile/axes.c
's/^    f->c->scattered\[b\] = true;$/    f->c->scattered[b] = false;/'
'a value made before is cut where an opaque op needs one run of it'

host/plan/run/step.c
's/from += pl->grains->grain) {/from = end) {/;s/const size_t n = end - from < pl->grains->grain ? end - from : pl->grains->grain;/const size_t n = end - from;/'
'a batch is summed in windows instead of grains'

host/plan/run/run.c
's/^  p->runs.spare = NULL;$//'
'two runs of a plan at the same time have one memory'

host/plan/run/run.c
's/^  const gb_status rc = run_steps(r, outermost, err);/  gb_context_lock(g); const gb_status rc = run_steps(r, outermost, err); gb_context_unlock(g);/'
'runs of a plan wait for each other'

host/plan/run/lanes.c
's/== GB_COPY_TOTAL) return copy_total(x, c->step, err);/== GB_COPY_TOTAL) return GB_OK;/'
'totals do not go from device to device'

host/plan/place/remote.c
's/ \&\& is_read_in_windows(m, b);/;/'
'a device has only its rows of points that are columns too'

host/plan/place/place.c
's/ \&\& g->low->buf\[b\].device == g->device) add_life/) add_life/'
'the arena of each device has room for the buffers of all'

host/plan/run/commit.c
's/return device == 0 ? r->lane\[0\].arena : r->abroad\[device\].at;/return (char *)r->lane[0].arena + 0 * device;/'
'buffers of another device lie in the first one s arena'

host/graph/devices.c
's/if (fixed != NULL) .device = fixed->device;//'
'numbers take tensors with them to their own device'

host/plan/choose/choose.c
's/ \&\& !w->all \&\& c.short_of == 0;/ \&\& !w->all;/'
'a candidate is taken that another device has no room for'

host/lower/structure.c
's/(uint64_t)n->device << 32 | //'
'plans of one structure serve graphs that lie elsewhere'

host/plan/choose/partition.c
's/= \*need <= budget_of(t->x, i)/= *need <= 2 * budget_of(t->x, i)/'
'devices take twice their budgets'

host/plan/choose/water_fill.c
's/if (enough(mid, units, n, cap, speed)) high = mid;/if (!enough(mid, units, n, cap, speed)) high = mid;/'
'the time of water-filling is sought on the wrong side'

host/cpu/fold/walk.c
's/if (!x->carried || carry->first) gb_exec_identity/if (true) gb_exec_identity/'
'totals carried between parts of a fold begin anew in each'

host/plan/choose/choose.c
's/for (; chunk >= c->unit && chunk > 0 && !taken;/for (; chunk > c->unit \&\& chunk > 0 \&\& !taken;/'
'the smallest windows are not tried'

host/plan/place/orders.c
's/  o->floor = gb_add_sizes(o->from->outputs, o->from->caches);/  o->floor = 2 * gb_add_sizes(o->from->outputs, o->from->caches);/'
'orders are given up that would need less'

host/solve/logdet/logdet.c
's/sqrt(spread \/ (k - 1))/sqrt(spread \/ k)/'
'the standard error of a log determinant counts one probe too many'

host/solve/frame/trace.c
'/^void gb_trace_extremes/,/^}/s/size_t i = 0/size_t i = 1/'
'a condition leaves out the first Ritz value'

lualib/gibbous/gp/predict/parts.lua
's/return at(of.mean, now, ready, query)/return of.mean(now, ready, query)/'
'the mean of a prediction follows parameters that were set later'

lualib/gibbous/gp/predict/parts.lua
's/, model.with_data_of(self)$/, self/'
'a prediction follows data that the model was fitted to later'

lualib/gibbous/gp/posterior_cache.lua
's/state and state.stamp == (stamp or model.stamp(self)) and state or nil/state/'
'what was prepared for other parameters serves the present ones'

lualib/gibbous/gp/store.lua
's/local name <const> = d.class or/local name <const> =/'
'a saved model of another class is loaded as an exact one'

lualib/gibbous/gp/exact/posterior.lua
's/converged = converged and info.converged/converged = info.converged/'
'leaving one out converged where the last columns did'

host/lower/draft.c
's/ix->coef\[axis + 1\] = ix->coef\[axis\];/ix->coef[axis + 1] = ix->coef[axis] * (ptrdiff_t)inner;/;s/^  ix->coef\[axis\] \*= (ptrdiff_t)inner;//;s/d->extent\[axis + 1\] = inner;/d->extent[axis + 1] = d->extent[axis] \/ inner;/;s/d->extent\[axis\] \/= inner;/d->extent[axis] = inner;/'
'random programs: the halves of a split axis change places, and positions are counted the wrong way'

host/graph/grad/reduce.c
's/gb_node \*others = gb_ex_op(&e, GB_OP_WITH_SLOPE, 3, in, .*/gb_node *others = in[0];/'
'random programs: second derivatives of a product are wrong where a factor is 0'

host/graph/grad/view.c
's/^  for (int i = 2; i < r; i++) eye = gb_ex_unsqueeze(&e, eye, 0);$//'
'random programs: a batch of diagonals has no gradient, nor has a repeated letter of einsum'

host/lua/tensor.c
's/if (t == GB_I64 && whole) lgb_result/if (false \&\& whole) lgb_result/'
'random programs: whole numbers beyond 2^53 go through floats'

host/graph/grad/map.c
's/return p->attr.f\[0\] == 0 ? gb_ex_like(e, 0, x) : M2/return M2/'
'random programs: x^0 has no slope at 0'

host/graph/compose.c
's/if (p >= 1) return power(e, x, p);/if (p > 0) return power(e, x, p);/'
'random programs: norms have no slope at 0'

host/tensor/host.c
's/  if (!is_host(st)) out->storage = st->mirror;//'
'far device: elements are read where they lie'

host/tensor/host.c
's/  if (!mirrored) gb_storage_drop_mirror(src->storage);/  (void)mirrored;/'
'far device: a copy stays at home that no plan counts'

host/plan/run/call.c
's/if (gb_memory_copy(l->memory, st->block.data, lent_to_it.data, lent_to_it.bytes, NULL) != GB_OK)/if (memcpy(st->block.data, lent_to_it.data, lent_to_it.bytes) == NULL)/'
'far device: the host moves a value that a registered op keeps'

host/plan/run/memcheck.c
's/if (gb_memory_is_host(memory_of(l))) return at;/return at;/'
'far device: the watch of a run reads the arena itself'

host/iterate/values.c
's/GB_TRY(gb_memory_download(&dev->memory, some, from, m \* size, err));/__builtin_memcpy(some, from, m * size);/'
'far device: values of a solver are read where they lie'

host/solve/append.c
's/if (gb_memory_is_host(m)) return GB_OK;/return GB_OK;/'
'far device: rows of a growing factor are read where they lie'

host/lua/observe.c
's/lgb_result(L, gb_host_of(lgb_value(L, s, n), &host, &err), &err);/host = *lgb_value(L, s, n);/'
'far device: Lua reads a value where it lies'

host/lua/print.c
's/    st = gb_host_of(&corner\[c\]->out\[0\].tensor, &t, err);/    t = corner[c]->out[0].tensor;/'
'far device: the corners of a printed tensor are read where they lie'

host/shell/history.c
's/strlen(text) <= GB_HISTORY_LONGEST;/true;/'
'an entry that is too long to be drawn comes back from the history'

host/shell/history.c
's/is_cut_off(path) ? 0 : 1;/1;/'
'an entry is written behind a line of the history that was cut off'

host/shell/history.c
's/strcmp(e->id, line) != 0/e->end != GB_END_UNKNOWN/'
'the end of an entry goes to another one'

lualib/gibbous/prompt/reload.lua
's/if kept\[value\] then debug.setupvalue/if false then debug.setupvalue/'
'functions that were reloaded see the new data of their module'

lualib/gibbous/commands/attach.lua
's/return v - v == 0 and v or nil/return v/'
'the JSON of a process has NaN'

lualib/gibbous/prompt/remedies.lua
's/if rank and rank > 0 then/if not solve.largest_eigenvalue then/'
'a larger preconditioner is recommended to a solve that has none'

host/io/npy.c
's/GB_TRY(gb_host_of(t, &host, err));/host = *t;/'
'far device: an array is written from where it lies'

host/io/text/csv_write.c
's/GB_TRY(gb_host_of(column\[k\].value, &at\[k\].value, err));/at[k].value = *column[k].value;/'
'far device: a table is written from where it lies'

host/io/safetensors_write.c
's/const gb_status st = gb_host_of(t, &host, to->err);/const gb_status st = (host = *t, GB_OK);/'
'far device: tensors are written from where they lie'

host/embed/expression.c
's/in\[i\]->graph != in\[0\]->graph/false/'
'nodes of two sessions meet in one expression'

host/embed/session.c
's/gb_graph_intern(s->graph, name)/name == NULL ? "" : name/'
'a tensor keeps the name in the memory of its caller'

host/embed/session.c
's/k->to += n \* gb_dtype_size(k->dtype)/k->to += bytes/'
'a long value of another dtype is read with gaps'

host/embed/session.c
's/gb_cache_drop(s->graph, SIZE_MAX);//'
'a factor that only the library holds keeps a session open'

host/include/gibbous.h
's/char options\[1024\]/char options[1000]/'
'the public header and the library disagree on the size of an error'

tests/cuda_emulation/exec.cpp
's/stop_at(t, "a divergent barrier", first);/(void)0;/'
'the emulated CUDA: barriers of two places are one'

tests/cuda_emulation/exec.cpp
's/if (set.strict \&\& alive < threads.size())/if (false)/'
'the emulated CUDA: threads that have exited pass a barrier'

tests/cuda_emulation/exec.cpp
's/fill_raw(s.at, s.bytes);/(void)0;/'
'the emulated CUDA: shared memory keeps what the last block left'

tests/cuda_emulation/exec.cpp
's/(mask >> t.source \& 1) == 0/false/'
'the emulated CUDA: a shuffle reads outside of its mask'

tests/cuda_emulation/exec.cpp
's/if (c.group == 0 || c.group + but > mine.groups)/if (false)/'
'the emulated CUDA: asynchronous copies arrive early'

tests/cuda_emulation/stream.cpp
's/  follow(\*w, also);//'
'the emulated CUDA: events order nothing'

tests/cuda_emulation/stream.cpp
's/if (s->into == nullptr) follow_default(\*w, \*s);//'
'the emulated CUDA: the default stream waits for nobody'

tests/cuda_emulation/stream.cpp
's/if (dev.lost != cudaSuccess) return;//'
'the emulated CUDA: a lost device works on'

tests/cuda_emulation/doors.cpp
's/!may_touch(\*r)/false/'
'the emulated CUDA: a device touches the memory of all'

tests/cuda_emulation/doors.cpp
's/for (const span \&s : opened) mprotect(s.at, s.bytes, PROT_NONE);//'
'the emulated CUDA: memory stays open to host code'

tests/cuda_emulation/virtual.cpp
's/if (!p.released || p.mappings > 0) return;/if (!p.released) return;/'
'the emulated CUDA: mapped pages are given back'

tests/cuda_emulation/faults.cpp
's/  else if (ends_device(error)) d.lost = error;//'
'the emulated CUDA: no error is sticky'

tests/cuda_emulation/graph.cpp
's/: !all_joined(\*c) ? cudaErrorStreamCaptureUnjoined//'
'the emulated CUDA: a stream is lost from a graph'

tests/cuda_emulation/solver.cpp
's/    destroy(r.far, r.far_bytes);//'
'the emulated CUDA: workspaces keep their values'

tests/cuda_emulation/blas.cpp
's/of_host ? value : \*at/value/'
'the emulated CUDA: scalars of the device are read by the host'

cuda/fold/walk.cuh
's/  const size_t first = from, to = gb_least(from + GB_CANON, p->ntile);/  const size_t first = from, to = gb_least(from + GB_CANON - 1, p->ntile);/'
'CUDA: a chain of a row is one element short'

cuda/fold/walk.cuh
's/  if (p->symmetric \&\& from < block) from = block;//'
'CUDA: a symmetric row walks what its mirror has'

cuda/fold/walk.cuh
's/to = gb_least(to, first \/ GB_TI \* GB_TI);/to = gb_least(to, first \/ GB_TI * GB_TI + 1);/'
'CUDA: the mirror takes one lane too many'

cuda/fold/chains.cuh
's/^    if (o.axis >= 0) f.idx\[o.axis\] = 0;$/    f.idx[o.axis] = 0;/'
'CUDA: slopes of one dimension write before the indices'

cuda/fold/chains.cuh
's/  for (int n = GB_LANES \/ 2; n > 0; n \/= 2) {/  for (int n = 1; n < GB_LANES; n *= 2) {/'
'CUDA: the tree over virtual lanes goes the other way'

cuda/fold/chains.cuh
's/return 0xffffu << (gb_half() % 2 \* GB_LANES);/return 0xffffu;/'
'CUDA: a half-warp names the lanes of the other one'

cuda/fold/walk.cuh
's/    sink.c.valid\[w\] = lane < p->nlane;/    sink.c.valid[w] = true;/'
'CUDA: lanes past the edge count'

cuda/fold/value.cuh
's/GB_INLINE T P##_max(T a, T b) { return a > b ? a : b; }/GB_INLINE T P##_max(T a, T b) { return b > a ? b : a; }/'
'CUDA: a clamp drops NaN'

cuda/fold/run.cuh
's/      if (i.kind == GB_INS_DOT) s\[w\] = A::fma(x, y, s\[w\]);/      if (i.kind == GB_INS_DOT) s[w] = A::add(A::mul(x, y), s[w]);/'
'CUDA: a dot product rounds its products'

cuda/fold/totals.cuh
's/  else into\[1\].f = into\[1\].f \* gb_lse_power(a, top)/  else into[1].f = into[1].f/'
'CUDA: a total of exponentials keeps the scale of its first chain'

cuda/fold/totals.cuh
's/key == list\[at\].i \&\& position < list\[at + 1\].i/key == list[at].i/'
'CUDA: of equal elements the last one is remembered'

cuda/fold/store.cuh
's/^                     gb_cuda_words{own, 1});/                     gb_cuda_words{mirrored, 1});/'
'CUDA: own rows continue the sum of mirrored ones'

cuda/fold/store.cuh
's/^  if (first > 0) sum\[0\] = \*kept;//'
'CUDA: what earlier panels have mirrored is forgotten'

cuda/fold/layout.c
's/^  p->wide = p->per - first;/  p->wide = p->per - first > 1 ? p->per - first - 1 : 1;/'
'CUDA: the last rows have nothing of what a symmetric panel mirrors'

cuda/fold/store.cuh
's/gb_absorb_number(monoid, *\*sum, some\[n\]/gb_absorb_number(monoid, *sum, some[N - 1 - n]/'
'CUDA: chains of a group are absorbed from the last to the first'

cuda/fold/store.cuh
's/gb_cuda_words total = gb_kept_total(p, word, element);/gb_cuda_words total{own, 1};/'
'CUDA: totals that go on are not kept'

cuda/fold/lists.c
's/out->program.elsewhere = fits ? NULL : scratch + l->lists;/out->program.elsewhere = NULL;/'
'CUDA: lists that do not fit into an argument are looked for there'

cuda/fold/lists.c
's/  out->program.ins = (const gb_cuda_ins \*)to;//'
'CUDA: instructions that do not fit into an argument are looked for there'

cuda/fold/lists.c
's/  out.counted = w->axes;/  out.counted = w->reduced;/'
'CUDA: positions count OUTER axes alone'

cuda/fold/encode.c
's/at.constants = at.operands + f->noperands \* at.operand;/at.constants = at.operands;/'
'CUDA: numbers lie where operands do'

cuda/device/staging.c
's/^  s->to += bytes;//'
'GPU: the pieces of an upload come to the same place'

cuda/fold/passes.c
's/    p->last = ends \&\& c + 1 == combinations;/    p->last = ends \&\& c == 0;/'
'CUDA: totals are stored after the first combination of OUTER axes'

cuda/fold/passes.c
's/    p->first = false;//'
'CUDA: totals begin again with each combination of OUTER axes'

cuda/fold/passes.c
's/l->carried ? 0 : from \* p->each/from * p->each/'
'CUDA: carried totals of the second panel lie with those of the first'

cuda/fold/encode.c
's/    if (e->reg\[v\] < l) n = e->end\[l\];//'
'CUDA: a register is given away inside the loop that still reads it'

cuda/fold/encode.c
's/    to.plain = form_of_value(e, i->a) == form_of(e, i) \&\& form_of_value(e, i->b) == 0;/    to.plain = true;/'
'CUDA: a profile takes a varying factor for a number'

cuda/emit/kernel.c
's/from + %d < ntile ? from + %d : ntile;", GB_CANON, GB_CANON);/from + %d < ntile ? from + %d : ntile;", GB_CANON - 1, GB_CANON - 1);/'
'CUDA: generated chains of rows are one element short'

cuda/emit/kernel.c
'0,/"__syncthreads();"/s//"(void)0;"/'
'CUDA: generated kernels stage rows that others still read'

cuda/emit/kernel.c
'$!N;s/"}");\n  gb_text_line(&e->text, "__syncthreads();");/"}");/;P;D'
'CUDA: generated kernels read rows that are not staged yet'

cuda/emit/kernel.c
's/const T sum = gb_tree<A>(%d, c%d\[i\]\[q\]);/const T sum = (T)gb_tree<gb_double>(%d, c%d[i][q]);/'
'CUDA: the tree of a generated kernel adds in f64'

cuda/emit/kernel.c
's/  if (mirror)$/  if (false)/'
'CUDA: generated mirrors have lanes right of the diagonal'

cuda/emit/wave.c
's/"const bool mirrored = column >= diagonal + (q \/ %d + 1) \* %d;"/"const bool mirrored = column >= diagonal + q \/ %d * %d;"/'
'CUDA: a generated wave mirrors the blocks on the diagonal'

cuda/emit/wave.c
's/^    gb_text_line(&e->text, "const bool inside = column >= diagonal + q/    gb_text_line(\&e->text, "const bool inside = column >= diagonal + 0 * q/'
'CUDA: rows of a generated wave begin left of their block'

cuda/emit/wave.c
's/= from.%c, from.%c = A::identity(%d);/= from.%c, (void)from.%c, (void)A::identity(%d);/'
'CUDA: a column of a generated wave begins with the chains of another one'

cuda/emit/wave.c
's/^  gb_text_line(&e->text, "__syncwarp(gb_half_mask());");//'
'CUDA: the last place of a generated wave folds chains that are under way'

cuda/emit/wave.c
's/"const int first = (step - place) \* %d;"/"const int first = (step - place \/ 2) * %d;"/'
'CUDA: two places of a generated wave work on the same columns'

cuda/emit/wave.c
's/stage + (s \* %d + s \/ %d \* %d);/stage + s * %d + s \/ %d * %d;/'
'PTX: NVRTC 13.0 has the elements of a staged row elsewhere'

cuda/emit/wave.c
's/(%d + i) \* %d, t\[%d\];/(%d + 0 * i) * %d, t[%d];/'
'CUDA: all chains of a generated wave are those of its first column of numbers'

cuda/emit/output.c
's/both           ? "if (ok\[q\]) "/false          ? ""/'
'CUDA: generated totals count lanes past the edge'

cuda/emit/output.c
's/e->second \&\& o->y >= 0 ? o->y : o->x/o->x/'
'CUDA: a mirrored tile of a generated kernel is multiplied with its own side'

cuda/emit/value.c
's/else if (own == e->held) gb_text_join(to, GB_EXPRESSION, "w%d\[q\]", v);/else if (own == e->held) gb_text_join(to, GB_EXPRESSION, "w%d[0]", v);/'
'CUDA: all rows of a generated thread have the values of the first'

cuda/emit/kernel.c
's/"if (n - group < %d) {"/"if (n - group < 0 * %d) {"/'
'CUDA: the last group of LSE has elements behind the last row'

cuda/emit/kernel.c
's/k, e->unroll);/k, 0 * e->unroll);/'
'CUDA: what LSE holds stays where it is from turn to turn'

cuda/emit/kernel.c
's/(part \* 16 + gb_virtual_lane())/(part * 16)/'
'CUDA: all virtual lanes of a column write one list'

cuda/fold/kept.cuh
's/!(x >= v) : /!(x > v) : /'
'CUDA: the last of equal elements is the least in a generated kernel'

cuda/fold/kept.cuh
's/if (before \&\& v == v)/if (before)/'
'CUDA: the last NaN is the least in a generated kernel'

cuda/fold/kept.cuh
's/const bool here = x < key\[k\]/const bool here = x <= key[k]/'
'CUDA: equal elements of the least few change places'

cuda/compile/cache.c
's/ \&\& sum == checksum(&h, image)//'
'CUDA kernels: a file whose bytes have changed is a kernel'

cuda/compile/cache.c
's/x.tv_sec < y.tv_sec ? -1 : 1/x.tv_sec < y.tv_sec ? 1 : -1/'
'CUDA kernels: the file used last makes room'

cuda/compile/key.c
's/gb_hash_u64(key->word\[1\], (uint64_t)target)/key->word[1]/'
'CUDA kernels: another GPU has the same key'

cuda/compile/compile.c
's/k->seconds += seconds/k->seconds = seconds/'
'CUDA kernels: the time of earlier launches does not count'

cuda/compile/compile.c
's/^    gb_cuda_cache_drop(&key);//'
'CUDA kernels: an image that the GPU refuses is kept'

cuda/compile/pack.c
's/ \&\& gb_hash_bytes(0, image, n) == e->sum//'
'CUDA kernels: an image of the pack whose bytes have changed is a kernel'

cuda/compile/pack.c
's/ || sum != checksum(&p->h, p->of)//'
'CUDA kernels: the index of a pack may have changed'

cuda/compile/pack.c
's/if (memcmp(&p->h.library, &ours, sizeof ours) != 0) return/if (false) return/'
'CUDA kernels: a pack of another version is used'

cuda/compile/pack.c
's/made \/ 10 == capability \/ 10 ? /true ? /'
'CUDA kernels: a GPU runs code of the pack for an earlier generation'

cuda/compile/pack.c
's/fits > best ? bsearch/fits > 0 ? bsearch/'
'CUDA kernels: the last target of a pack that fits is taken, not the best'

cuda/compile/compile.c
's/else if (st != GB_OK) tell(s->why_no_pack, sizeof s->why_no_pack, err->text);/else if (st != GB_OK) fail(s, k, err->text);/'
'CUDA kernels: an image of the pack that the GPU refuses ends the kernel'

cuda/compile/compile.c
's/^  GB_TRY(look_into_pack(gpu, k, c, err));//'
'CUDA kernels: nobody looks into the pack'

cuda/compile/workers.c
's/^    run(j);$/    run(j), j->done = true;/'
'CUDA kernels: a thread says that it is done without the lock'

cuda/compile/workers.c
's/if (w->closing) return NULL/if (w->closing \&\& w->first == NULL) return NULL/'
'CUDA kernels: a GPU that closes compiles all that waits'

cuda/fold/passes.c
's/ \&\& r->code\[c\].source.reach == reach//'
'CUDA kernels: what lies left of the diagonal is computed by the kernel of what lies right'

cuda/fold/passes.c
's/^  gb_cuda_refuse(r->gpu, c, r->err);/  return st;/'
'CUDA kernels: a launch that is refused is an error of the fold'

cuda/compile/compile.c
's/if (k->state == ASKED) gb_cuda_workers_done(s->workers, k->job, true);/if (k->state == ASKED) continue;/'
'CUDA kernels: a device that settles waits for nothing'

cuda/compile/compile.c
's/k->used < oldest->used/k->used > oldest->used/'
'CUDA kernels: the kernel used last is unloaded'

cuda/compile/workers.c
's/^  stop_at_end(w);//'
'CUDA kernels: a process ends while a thread compiles'

cuda/device/heap.c
's/h->span\[i\].bytes < h->span\[best\].bytes/h->span[i].bytes > h->span[best].bytes/'
'memory of a GPU: the widest span gives a block'

cuda/device/heap.c
's/reaches = next < h->nspans/reaches = next + 1 < h->nspans/'
'memory of a GPU: a block does not join the last span'

cuda/device/pages.c
's/if (gb_cuda_heap_is_free(h, p->mapping\[i\].at, p->mapping\[i\].bytes)) unmap/if (gb_cuda_heap_is_free(h, p->mapping[i].at, p->page)) unmap/'
'memory of a GPU: pages of a block that lives are taken away'

cuda/device/pages.c
's/const size_t end = up(at + bytes, p->page);/const size_t end = up(at + bytes - 1, p->page) - p->page * (bytes > 3 * p->page);/'
'memory of a GPU: the last page of a long block has no memory'

cuda/device/staging.c
's/^  if (e != cudaSuccess) cudaStreamSynchronize(stream);//'
'copies to a GPU: a slot without an event is taken again'

lualib/gibbous/store/classes.lua
's/^  if not ok and raised.is_of_place(built_in) then error(built_in, 0) end//'
'sessions of a GPU: a model that is saved without room forgets what its kernel is'

host/plan/run/run.c
's/^    if (works(r, i)) GB_TRY/    GB_TRY/;s/return r->nlanes > 1 || works(r, 0) ? /return true ? /'
'sessions of a GPU: the CPU waits for a device that is lost'

cuda/device/staging.c
's/^  GB_CUDA_TRY(cudaEventSynchronize(s->done\[\*slot\]));//'
'copies to a GPU: a slot is filled before it has been read'

cuda/device/staging.c
's/^    GB_CUDA_TRY(cudaEventSynchronize(gpu->staging.done\[slot\[(p - 1) % 2\]\]));//'
'copies from a GPU: a slot is read before it has been filled'

cuda/device/pace.c
's/gpu->home->interrupted() ?/false ?/'
'a GPU: an interrupt waits until all panels are done'

cuda/device/pace.c
's/^  GB_CUDA_TRY(cudaEventSynchronize(gpu->piece\[gpu->turn\]));//'
'a GPU: any number of panels is under way'

cuda/fold/fold.c
's/    if (l.bytes > most) most = l.bytes;/    if (w == 0) most = l.bytes;/'
'plans of a GPU: a fold has the scratch of its first walk'

cuda/fold/fold.c
's/^  GB_TRY(gb_cuda_enter(gpu, err));/&\n  void *kept;\n  cudaMalloc(\&kept, 4096);/'
'plans of a GPU: a launch takes memory that no account has'

cuda/fold/fold.c
's/^  GB_TRY(gb_cuda_enter(gpu, err));/&\n  void *volatile kept = malloc(8);\n  free(kept);/'
'plans of a GPU: a launch allocates on the host'

cuda/device/status.c
's/  case cudaErrorLaunchFailure://'
'a failing kernel is not the loss of its GPU'

cuda/device/status.c
's/if (e == cudaErrorMemoryAllocation)/if (false)/'
'a GPU without room has another error'

cuda/device/memory.c
's/^  gb_cuda_heap_give(&g->heap, at, bytes);$//'
'memory of a GPU: the addresses of a block that found no pages stay taken'

cuda/device/open.c
's/if (st != GB_OK) close_gpu(gpu);//'
'a GPU that does not open keeps what it has taken'

cuda/panel/sums.cu
's/for (size_t i = 0; i < rows; i++) s += product/for (size_t i = rows; i-- > 0;) s += product/'
'a sum of a panel goes from the last row to the first'

cuda/panel/sums.cu
's/t->out\[t->at % t->w\] += sums\[e\]/t->out[t->at % t->w] = sums[e] + t->out[t->at % t->w] * (1 + 0x1p-52)/'
'sums of the blocks of a panel are rounded once more'

cuda/panel/vector.cu
's/= j.f\[k\] \* \*y + j.g\[k\] \* \*x;/= fma(j.f[k], *y, j.g[k] * *x);/'
'a product of a panel is fused'

cuda/panel/low_rank.cu
's/double s = begins ? 0 : p.work\[e\];/double s = 0;/'
'a projection forgets the rows before those that fit the room'

cuda/panel/low_rank.cu
's/^    __syncthreads();$//'
'a small triangle is solved without a barrier'

cuda/panel/pivots.cu
's/if (at == e.pivot\[r\]) v = e.root\[r\], \*left = 0;/if (at == e.pivot[r]) v = e.root[r];/'
'a pivot may be chosen again'

cuda/panel/block.cu
's/for (size_t b = 0; b < blocks; b++) s += sums/for (size_t b = blocks; b-- > 0;) s += sums/'
'sums of a product of two panels go from the last block to the first'

cuda/panel/block.cu
's/p.first + m0 + c/m0 + c/'
'later rows of a matrix that does not fit the room meet the first columns'

cuda/panel/block.cu
's/begins \&\& j0 == 0/begins/'
'columns that are turned forget the rows of the matrix that came before'

cuda/panel/view.cuh
's/else v.row = (const size_t \*)gb_cuda_work_put(w, x.row + i0/else v.row = (const size_t *)gb_cuda_work_put(w, x.row/'
'later rows of a long list are its first ones'

host/plan/run/timed.c
's/p->part = at == NULL .*;/p->part = 1;/'
'a window counts the work of its whole step'

host/plan/run/timed.c
's/p->inner = traced(r) - p->inner;/p->inner = 0;/'
'timed steps: a solver counts the steps inside it'

host/plan/run/timed.c
's/p->first = at == NULL .*;/p->first = true;/'
'timed steps: each window is predicted as all of them'

host/plan/run/timed.c
's/for (size_t i = t->n; i-- > 0;)/for (size_t i = 0; i-- > 0;)/'
'timed steps: spans that were read are kept'

host/plan/run/trace.c
's/  r->seconds += s->self;/  r->seconds += s->to - s->from;/'
'timed steps: rows have the seconds of other rows'

cuda/device/clock.c
's/gpu->clock->at\[number\].end, gpu->stream/gpu->clock->at[number].begin, gpu->stream/'
'timed steps: the end of a span is its beginning'

cuda/device/clock.c
's/if (gpu->clock->ranges != NULL) gpu->clock->ranges->nvtxRangePop();//'
'timed steps: a range of NVTX does not end'

lualib/gibbous/timing.lua
's/^  local _ <close> = core.measure()$//'
'timed steps: a value is remembered from run to run'

lualib/gibbous/timing.lua
's/2 \* (below + term) <= 0.05/2 * (below + term) <= 0.1/'
'timed steps: the interval of the median is one of 90 %'

lualib/gibbous/profile.lua
's/table.remove(recording)/table.remove(recording, 1)/'
'timed steps: off ends the recording that began first'

host/program/work.c
's/return batch \* n \* n \* n \/ 3;/return batch * n * n * n \/ 6;/'
'timed steps: half the operations of a Cholesky factor'

cuda/cluster/assign.cu
's/apart == best->apart\[m\] \&\& at < best->at\[m\]/apart == best->apart[m] \&\& at > best->at[m]/'
'CUDA cluster: of equally near centres of two threads the last is taken'

host/cluster/turns.c
's/  if (i == r->nparts) return GB_OK;/  if (i + 1 >= r->nparts) return t->next = r->nparts, GB_OK;/'
'CUDA cluster: the last part of all has no turn'

cuda/cluster/pass.c
's/  return gb_cuda_pass_send_ranks(s, c->centre, err);/  return s->p.k > 8 ? GB_OK : gb_cuda_pass_send_ranks(s, c->centre, err);/'
'CUDA cluster: centres of several pieces are those of the pass before'

cuda/cluster/moves.cuh
's/  if (from >= 0) gb_add_whole(sums + (size_t)from \* width + t, -q);//'
'CUDA cluster: points stay in the sums that they leave'

cuda/cluster/tiles.cuh
's/    gb_put_slab<T, L>(r, c, next, \&slab\[turn ^ 1\]);/    gb_put_slab<T, L>(r, c, next, \&slab[turn]);/'
'CUDA cluster: features are put where others still read'

cuda/cluster/points.cuh
's/by = GB_CUDA_LANES \/ 2; by > 0/by = GB_CUDA_LANES \/ 4; by > 0/'
'CUDA cluster: half of the lanes of a square are left out'

cuda/cluster/little.cu
's/      if (q != there)/      if (there < 0)/'
'CUDA cluster: the first centres in shared memory stay there'

cuda/cluster/range.cu
's/(p.first + row) \* (p.d + 2)/row * (p.d + 2)/'
'CUDA cluster: a bad point is counted within its launch'

cuda/cluster/range.cu
's/raw - raw == 0 ? p.d + 1 : t/t/'
'CUDA cluster: a row of length 0 has a column that is not finite'

cuda/cluster/unit.cu
's/sum, LANES \/ 2, LANES/sum, 1, LANES/; s/sum, LANES \/ 4, LANES/sum, 2, LANES/'
'CUDA cluster: the four sums of a length are added in another order'

cuda/cluster/many.cu
's/d.base + p.first + i/d.base + i/'
'CUDA cluster: lots are of the number in the launch'

cuda/cluster/many.cu
's/p.number + at;/at;/'
'CUDA cluster: candidates are numbered from the first of their pass'

cuda/cluster/many.cu
's/gb_weight(p, i) \* p.weight/p.weight/'
'CUDA cluster: candidates count points, not their weights'

cuda/cluster/bounded.cu
's/own == b.farthest ? b.next : b.most/b.next/'
'CUDA cluster: the centre that moved farthest is no rival'

cuda/cluster/bounded.cu
's/second + square - gap/second + square/'
'CUDA cluster: bounds have no margin for rounding'

cuda/cluster/bounded.cu
's/gb_lesser(best->second\[m\], gb_greater(v, best->apart\[m\]))/gb_lesser(best->second[m], v)/'
'CUDA cluster: the nearest centre is its own rival'

lualib/gibbous/kmeans/plan.lua
'/bytes = d.bounds/d'
'k-means: the plan of a device has no bounds'

cuda/dense/small.cu
's/a\[e\] + (T)p.jitter/a[e]/'
'CUDA dense: a small factor without its jitter'

cuda/dense/small.cu
's/GB_CUDA_PIVOT, k \* n + done/GB_CUDA_PIVOT, done/'
'CUDA dense: a factor that fails passes for the first of its batch'

cuda/dense/small.cu
's/done == n \&\& e < n \* n/e < n * n/'
'CUDA dense: a small matrix that has no factor is overwritten'

cuda/dense/small.cu
's/forward ? i > j : i < j/i > j/'
'CUDA dense: small systems are solved forwards alone'

cuda/dense/small.cu
's/ \&\& !infinite\[MATRIX\] \&\& !infinite\[RIGHT\]//'
'CUDA dense: NaN in a small system passes for an overflow'

cuda/dense/small.cu
's/first + CHUNK < r ? first + CHUNK : r/r/'
'CUDA dense: thread blocks of a small system write each others columns'

cuda/dense/small.c
's/have == 1 ? 0 : step\[i\]/step[i]/'
'CUDA dense: a batch axis of one small matrix is walked along'

cuda/dense/solve.c
's/ || result < pivot \/ p->n//'
'CUDA dense: a singular matrix is named before the overflow of an earlier one'

cuda/dense/sum.cu
's/  a += blockIdx.x \* n \* n;//'
'CUDA dense: all of a batch have the determinant of the first'

cuda/dense/copy.cu
's/a\[e\] + jitter/a[e]/'
'CUDA dense: a factor without its jitter'

cuda/dense/check.cu
's/ \&\& !(lower \&\& e % m > e \/ m)//'
'CUDA dense: the upper triangle is judged'

cuda/dense/gemm.c
's/k0 > 0 || p->call->o->continues/p->call->o->continues/'
'CUDA dense: a product is that of its last panel'

cuda/dense/gemm.c
's/have == 1 ? 0 : step\[i\]/step[i]/'
'CUDA dense: a batch axis of one matrix is walked along'

cuda/dense/spectral.c
's/c->out\[0\], m, n, c->scratch + p.sign, s/c->out[0], m, n, NULL, s/'
'CUDA dense: Q keeps the signs of the library'

cuda/dense/spectral.c
's/  if (n > m) {/  if (n >= m) {/'
'CUDA dense: a square matrix is factored as its transpose'

cuda/dense/copy.cu
'/tile\[ty\]\[tx\] = /{n;d}'
'CUDA dense: a transpose without a barrier'

cuda/dense/copy.cu
's/if (j > i) a\[e\] = a\[j \* n + i\];/if (j > i + 1) a[e] = a[j * n + i];/'
'CUDA dense: a mirrored triangle lacks its first diagonal'

cuda/dense/range.cu
's/half - e;/-half;/'
'CUDA dense: a solution is scaled back too little'

cuda/dense/sum.cu
's/part\[t\] += part\[t + half\]/part[t] = part[t + half]/'
'CUDA dense: a determinant of every second entry'

cuda/dense/solve.c
's/j \* GB_CUDA_DENSE_BLOCK \* size/j * size/'
'CUDA dense: a later panel of columns is the second column'

cuda/dense/solve.c
's/return inputs && found/return found/'
'CUDA dense: NaN in right-hand sides is an overflow'

cuda/dense/cholesky.c
's/j0 < n; j0 += GB_CUDA_DENSE_BLOCK/j0 < n; j0 += 2 * GB_CUDA_DENSE_BLOCK/'
'CUDA dense: an inverse without its second panel'

cuda/dense/cholesky.c
's/w.far, near, w.near/w.far - 8, near, w.near/'
'CUDA dense: a workspace shorter than what was asked for'

cuda/move/move.cu
's/position >= 1 \&\&/position >= 0 \&\&/'
'CUDA dense: position 0 is inside'

cuda/move/move.cu
's/some\[i\] != (int64_t)row + 1/some[here - 1 - i] != (int64_t)row + 1/; s/i0 + i) \* x.inner/i0 + here - 1 - i) * x.inner/'
'CUDA dense: entries are put in descending order'

cuda/move/cumsum.cu
's/part\[k\] = sum += part\[k\]/part[k] = sum + part[k], sum = k + 1 == here ? (A)0 : part[k]/'
'CUDA dense: a running sum begins again every 256 elements'

host/cluster/use.c
's/w->use->label\[first + i\] = label\[i\] + 1/w->use->label[i] = label[i] + 1/'
'k-means: labels of later points overwrite those of the first ones'

host/cluster/use.c
's/if (x.weight != NULL) x.weight += AT_ONCE;//'
'k-means: points past those that are assigned at once have the weights of the first ones'

host/cluster/use.c
's/(i % width == w->d ? w->q.weight : w->q.point)/w->q.point/'
'k-means: weights are taken for coordinates'

host/cluster/use.c
's/w->m->centre\[i\] - w->m->shift\[i % w->d\]/w->m->centre[i]/'
'k-means: centres that are known are not shifted'

host/cluster/kmeans_fit.h
's/gb_kmeans_close(piece);  *\\/(void)0; \\/'
'k-means: a tile is not closed'

host/cluster/minibatch.c
's/part->skip = from;/part->skip = 0;/'
'k-means: a batch begins with the first row of its tile'

host/cluster/minibatch.c
's/w->count\[j\] += weight;/w->count[j] = weight;/'
'k-means: centres forget the batches but the last'

host/cluster/unit.c
's/if (!(length > least)) return false;//'
'k-means: rows that cancel have a direction'

host/cluster/lloyd.c
's/if (r->part->x->unit) {/if (0) {/'
'k-means: centroids of unit vectors are their means'

host/cpu/cluster/points.c
's/return !x->unit \&\& /return /'
'k-means: rows of length 1 are read as they lie'

host/cpu/cluster/bounded.c
's/: fminf(near->lower\[i\], rest);/: near->lower[i];/'
'k-means: centres that a row is not compared to are forgotten'

host/program/bounds.h
's/(12 \* n + 16) \* u \* reach \* 1.01 + n \* 0x1p-120/0/; s/(8 \* n + 16) \* u \* 1.01 : INFINITY/0.0 : INFINITY/; s/(8 \* n + 16) \* u \* sqrt(reach) \* 1.01/0/'
'k-means: bounds have no margin for rounding'

host/cluster/kmeans_fit.h
's/gb_kmeans_round(r, v) + r->shift\[t\] - r->shift\[t\]/v/'
'k-means fits: centroids have bits that are not found again'

host/cluster/lloyd.c
's/change > 0 || filled/change > 0/'
'k-means fits: a row that filled a cluster last keeps its label'

host/cluster/kmeans.c
's/if (quanta >= spare \* 0x1p45/if (true/'
'k-means fits: the inertia beside a far row is summed in its quanta'

host/cluster/use.c
's/w->again ? NULL : r->sums/r->sums/'
'k-means fits: sums of a batch have what a second walk adds'

host/cpu/isa/cluster/nearest.inc
's/from == 0 ? square : waiting\[c\]\[v\]/square/'
'k-means: each run of features begins a sum of its own'

host/cpu/isa/cluster/nearest.inc
's/n.next\[v\] = V(min)(n.next\[v\], V(max)(sum\[c\]\[v\], n.best\[v\]))/n.next[v] = V(max)(sum[c][v], n.best[v])/'
'k-means: the second nearest centre is that of the last group'

host/cpu/cluster/points.c
's/const size_t left = r->end - first, n/const size_t left = r->x->n - first, n/'
'k-means: the last tile of a block has points of the next one'

host/cpu/isa/cluster/nearest.inc
's/group\[(t + 1) \* size + c\]/group[(t + 1) * CENTRES + c]/'
'k-means: of few features the last centres are read as a whole group'

host/cpu/isa/cluster/points.inc
's/const int back = before ? V(columns) - rest : 0/const int back = before ? 1 : 0/'
'k-means: the last features are taken one element too late'

host/cpu/isa/cluster/sums.inc
's/if (loses != NULL) loses\[d\] -= q/(void)loses/'
'k-means: a cluster keeps the weight of points that leave'

host/cpu/isa/cluster/sums.inc
's/const double w = m.weight == NULL ? 1 : m.weight\[row\]/const double w = 1/'
'k-means: points that move count once each'

host/cpu/isa/cluster/sums.inc
's/d == 3 ? square\[1\] : vd_add(square\[1\], square\[3\])/square[1]/'
'k-means: of four features one has no square'

host/cpu/isa/cluster/sums.inc
's/n <= l ? 0 : n - l < (size_t)VL ? (int)(n - l) : VL/VL/'
'k-means: a square has what lies behind the row'

host/cpu/isa/cluster/sums.inc
's/    w += vd_whole(vd_mul(rest, vd_set1(0x1p30)));//'
'k-means: what is below a quantum is lost'

host/cpu/cluster/totals.c
's/for (size_t w = 0; w < t->workers; w++)/for (size_t w = 0; w < 1; w++)/'
'k-means: the sums of other threads are lost'

host/cpu/cluster/totals.c
's/p->centres + first \* (p->d + 1) \* p->size/p->centres + first * p->d * p->size/'
'k-means: packed centres overlap'

host/cpu/isa/cluster/bounds.inc
's/if (tied) V(two_of_ties)/if (0) V(two_of_ties)/;s/out->label\[i\] = tied ?/out->label[i] = 0 ?/'
'k-means: of equally near centres the one that moved farthest is taken'

host/cpu/isa/cluster/bounds.inc
's/fall\[i\] = at == s->farthest ? s->next : s->most/fall[i] = s->next/'
'k-means: the centre that moved farthest is no rival'

host/cluster/oversample.c
's/FIRST_STREAM + round, p->first}/FIRST_STREAM + round, 0}/'
'k-means: lots are of the number in the piece'

host/cluster/oversample.c
's/    if (c->tally\[j\] == 0) continue;//'
'k-means: a candidate counts twice'

host/cluster/oversample.c
's/c->weight\[c->have\] = .*/c->weight[c->have] = 1;/'
'k-means: candidates have no weights'

host/cpu/cluster/many.c
's/p->first || got < get/got < get/'
'k-means: the first candidates are compared to what memory held'

host/cluster/lloyd.c
's/gb_status st = gb_kmeans_assign_all(r, moved, err);/GB_TRY(gb_kmeans_assign_all(r, moved, err)); gb_status st = GB_OK;/'
'k-means ranks: a pass that fails leaves the other ranks alone'

host/cluster/memory.c
's/size_t first = r->first;/size_t first = 0;/'
'k-means ranks: every rank numbers its rows from the first'

host/cluster/ranks.c
's/ \*heaviest = reach\[2 \* d\];/ ;/'
'k-means ranks: each has the heaviest weight of its own'

host/cluster/seeds.c
's/ - s->before;/;/'
'k-means ranks: a drawn number is looked for at the first rank'

host/cluster/lloyd.c
's/change = move_centres(r);/change = move_centres(r); GB_TRY(gb_comm_agree(r->o->comm, GB_OK, err));/'
'k-means ranks: an iteration sends a second message'

lualib/gibbous/kmeans/init.lua
's/facts.inertia < best.facts.inertia/facts.inertia > best.facts.inertia/'
'k-means: the worst run is kept'

lualib/gibbous/kmeans/init.lua
's/seed = o.seed + (run or 1) - 1/seed = o.seed/'
'k-means: all runs have one seed'

lualib/gibbous/kmeans/init.lua
's/if not got\[1\] then error(got\[2\], 0) end/got[2] = got[2]/'
'k-means: a fit that raised is taken for one'

lualib/gibbous/kmeans/init.lua
's/(now.centroids - now.shift) \* counts/now.centroids * counts/'
'k-means: earlier batches count from the origin'

lualib/gibbous/kmeans/init.lua
's/core.sqdist(from - f.shift:to(t), (f.centroids - f.shift):to(t), nil)/core.sqdist(from, f.centroids:to(t), nil)/'
'k-means: distances far off the origin are not shifted'

lualib/gibbous/kmeans/plan.lua
's/bytes = runs > 1 and results or 0/bytes = 0/'
'k-means: the best run so far is not planned'

host/lua/cluster/problem.c
's/t->stride\[i\[0\]\] = (ptrdiff_t)i\[2\] \* of.stride\[i\[0\]\]/t->stride[i[0]] = of.stride[i[0]]/'
'k-means: a view forgets its step'

host/lua/cluster/problem.c
's/  if (there \&\& !is_doubles(\&t)) note_mirror(p, t.storage);//'
'k-means of a GPU: the plan forgets copies of weights'

host/lua/cluster/problem.c
's/  if (is_doubles(from) \&\& !gb_memory_is_host(st->ledger->memory))/  if (false)/'
'k-means of a GPU: doubles come with a copy of their storage'

host/lua/cluster/kmeans.c
's/  if (start != NULL) lgb_note_doubles(p, start);//'
'k-means of a GPU: the plan forgets the copy of a start'

host/lua/cluster/tiles.c
's/p->first\[piece\], 1, p->piece/0, 1, p->piece/'
'k-means: every tile of an expression is its first one'

host/system/place.c
's/ | O_CLOEXEC//'
'system: a child does not hold a lock'

host/system/child.c
's/strchr("ZXx", at\[2\]) != NULL/false/'
'system: a process that has ended is gone, reaped or not'

host/system/digest.c
's/got == sizeof piece/got > 99999999/'
'system: a digest is that of the whole file'

lualib/gibbous/sweep/run/identity.lua
's/joined(tokens, first or 1, first and block_end(tokens, first) or #tokens)/joined(tokens, 1, #tokens)/'
'sweeps: a longer grid on the line of the function keeps finished trials'

lualib/gibbous/sweep/search/gp.lua
's/since % 2 == 1 and MARGIN or 0/0/'
'sweeps: a search leaves a place that has no more to give'

lualib/gibbous/bo.lua
's/FAR <const> = -20 /FAR <const> = -1e5 /'
'sweeps: the expected improvement has its digits far out'

lualib/gibbous/gp/scaling.lua
's/  if not holds_rows(f) then return M.take(out, x, y, what) end/  do return M.take(out, x, y, what) end/'
'columns and scales: a model that is conditioned keeps its scale'

lualib/gibbous/gp/scaling.lua
's/  return (known \* sd:to{dtype = "f64"}:log()):sum():item()/  return 0.0/'
'columns and scales: densities have the Jacobian'

lualib/gibbous/gp/save.lua
's/scaling = scaling.write(w, f.scaling, "scaling"),/scaling = nil,/'
'columns and scales: files have the scalers'

lualib/gibbous/likelihoods/init.lua
's/function methods:scaled(v) return self.unit and v \/ self.unit or v end/function methods:scaled(v) return v end/'
'columns and scales: known variances are in units of y squared'

lualib/gibbous/gp/frames.lua
's/  return together(f, names, like and/  return together(f, f.names, like and/'
'columns and scales: columns are found by name'

lualib/gibbous/gp/frames.lua
's/    if place\[name\] and place\[name\] ~= i then/    if false then/'
'columns and scales: columns of a tensor in another order are an error'

host/system/guard.c
's/kill(-known\[i\], SIGKILL);/;/'
'system: a guard ends the groups that it has'

host/system/guard.c
's/known\[i\] = known\[--nknown\];/;/'
'system: a group that was left is in no guard'

lualib/gibbous/sweep/command.lua
's/core.bind(math.tointeger(tonumber(parent)), true)/core.bind(math.tointeger(tonumber(parent)))/'
'sweeps left behind: a trial enters the guard of its coordinator'

lualib/gibbous/sweep/run/coordinator.lua
's/^  core.defer(true)$//'
'sweeps left behind: signals wait while a coordinator works'

host/lua/system/signals.c
's/  if (atomic_load(&gb_interrupt_count) != before) return lgb_raise_interrupted(L);//'
'sweeps left behind: a signal that a search takes for its own is raised after it'

host/shell/call.c
's/  if (gb_interrupt_is_deferred()) return;//'
'sweeps left behind: what a second Ctrl-C unwinds spares what is deferred'

host/shell/main.c
's/  lgb_end_by_interrupts();//'
'sweeps left behind: Ctrl-C at the end of a process is a status'

lualib/gibbous/sweep/store/state.lua
's/if not holders.is_held(t, machine.is_alive) then lost/if false then lost/'
'sweeps left behind: a trial whose process is gone is shown as pending'

lualib/gibbous/sweep/search/init.lua
's/ or #known(study, store) > #list)/)/'
'sweeps, at_once: a search whose cell another process has added goes on'

lualib/gibbous/sweep/run/ask.lua
's/repeat row = claim() until row or not (more and more())/row = claim() or more and more() and claim() or nil/'
'sweeps, at_once: ask adds another trial where its own was taken'

lualib/gibbous/sweep/run/coordinator.lua
's/ or store:has_pending() then/ then/'
'sweeps, at_once: a worker waits for room'

lualib/gibbous/sweep/run/coordinator.lua
's/ and not self.store:has_pending() and/ and/'
'sweeps, at_once: a search adds nothing while a cell waits for room'

lualib/gibbous/sweep/run/coordinator.lua
's/  return has_orphans(self)/  return false/'
'sweeps, at_once: the last worker waits for a trial that dies'

lualib/gibbous/sweep/store/holders.lua
's/ or M.is_claimant_there(t.token, is_alive) end/ end/'
'sweeps, at_once: a coordinator tells of its trials that die'

lualib/gibbous/sweep/store/init.lua
's/ or core.clock() > deadline then return held/ or true then return held/'
'sweeps, at_once: a run waits a moment for one that ends'

lualib/gibbous/sweep/store/run_lock.lua
's/if turns.last(folder, "run") == n then return true end/do return true end/'
'sweeps, at_once: an old number of a run is no right'

lualib/gibbous/sweep/store/run_lock.lua
's/^  if not owner and not core.file_exists(path_of(folder, n)) then return nil end$//'
'sweeps, at_once: a claim that was removed belongs to nobody'

lualib/gibbous/sweep/show/watch.lua
's/ and not store:has_more()$//'
'sweeps, at_once: a view goes on between two cells of a search'

lualib/gibbous/sweep/store/state.lua
's/then lost\[id\] = nil end$/then lost[id] = token end/'
'sweeps, at_once: a trial that ended during the look is not lost'

lualib/gibbous/sweep/command.lua
's/^  core.defer(true)  .*$//'
'sweeps, at_once: ask says what it has claimed'

lualib/gibbous/sweep/run/ask.lua
's/not store:may_end(row) or //'
'sweeps, at_once: of two that tell at once one is believed'

host/lua/system/database.c
's/(code \& 0xff) == SQLITE_BUSY \&\& gb_interrupted()/false/'
'sweeps, at_once: Ctrl-C ends a wait for a writer as an interruption'

lualib/gibbous/sweep/store/state.lua
's/return n <= most$/return true/'
'sweeps: a search has as many cells as were asked for, by any number of coordinators'

lualib/gibbous/sweep/store/journal.lua
's/if not state.has_room(self.tables, trials, most) then trials = {} end//'
'sweeps: a search has as many cells as were asked for, also in a journal'

lualib/gibbous/sweep/store/state.lua
's/if o.share and used.trials >= o.share then return {} end//'
'sweeps on devices: two coordinators do not give out one device twice'

lualib/gibbous/sweep/store/state.lua
's/o.limit - used.bytes, n)/o.limit, n)/'
'sweeps on devices: the bytes of trials that run are counted'

lualib/gibbous/sweep/run/coordinator.lua
's/if device.name then list/if false then list/'
'sweeps on devices: a trial has its device as the default one'

lualib/gibbous/sweep/run/devices.lua
's/if i == ordinal then/if i == 0 then/'
'sweeps on devices: the second GPU of a job is another one than the first'

lualib/gibbous/sweep/run/devices.lua
's/math.min(given, math.tointeger(tonumber(all)))/math.tointeger(tonumber(all))/'
'sweeps on devices: the limit that was asked for is that of each device'

lualib/gibbous/sweep/store/state.lua
"/^function changes.acknowledge/,/^end/s/ AND token = ? AND state/ AND ? IS NOT NULL AND state/"
'sweeps that are killed: the holder of a trial alone ends it'

lualib/gibbous/sweep/store/state.lua
'/^function changes.claim/,/^end/s/DELETE FROM report WHERE trial = ?/DELETE FROM report WHERE trial = ? AND 0/'
'sweeps that are killed: a new attempt begins without the reports of the last one'

lualib/gibbous/sweep/store/events.lua
's/or core.sha256(text):sub(1, DIGITS) ~= sum then/then/'
'sweeps in journals: a flipped bit in a line is seen'

lualib/gibbous/sweep/store/events.lua
's/self.place\[path\] = start + behind - 1/self.place[path] = start + #text/'
'sweeps in journals: a line that has come in part is read when it is whole'

lualib/gibbous/sweep/store/known.lua
's/if e.attempt < t.attempt then return true end//'
'sweeps in journals: what an older attempt tells changes nothing'

lualib/gibbous/sweep/search/space.lua
's/is_table and seen_tables or seen/seen/'
'sweeps: a word is another value than the table that is written so'

lualib/gibbous/gp/sgpr/bound.lua
's/1 \/ w) \/ 2 - aU \* p.r/1 \/ w) \/ 2 + aU * p.r/'
'sgpr: the slope by the noise has a wrong sign'

lualib/gibbous/gp/sgpr/bound.lua
's/ + core.linalg.diag(f.kernel:diag(z) \* JITTER)//'
'sgpr: the places have no jitter'

lualib/gibbous/gp/sgpr/bound.lua
's/traced and v + sums.trace - sums.gram:diagonal():sum() or v/v/'
'sgpr: the bound lacks its trace term'

lualib/gibbous/gp/sgpr/bound.lua
's/of_U = of_U - 2 \* of_noise/of_U = of_U - of_noise/'
'sgpr: half of the slope of fitc by U is missing'

lualib/gibbous/gp/sgpr/bound.lua
's/turned = turned - 2 \*/turned = turned + 2 */'
'sgpr: the slope of fitc by the places has a wrong sign'

lualib/gibbous/gp/sgpr/bound.lua
's/M.sums(p, trace)/M.sums(p)/'
'sgpr: the upper bound forgets the trace'

lualib/gibbous/gp/sgpr/bound.lua
's/-0.5 \* triangular_solve(p.L, half:t(), back)/-0.5 * triangular_solve(p.L, half, back)/'
'sgpr: the slope by K_zz is not transposed between its solves'

lualib/gibbous/gp/sgpr/bound.lua
's/(sums.proj \* a):sum() + 2 \* R/(sums.proj * a):sum() + R/'
'sgpr: the log determinant of B is halved'

lualib/gibbous/gp/sgpr/state.lua
's/triangular_solve(R, normals(#at.z), {transposed = true})/triangular_solve(R, normals(#at.z))/'
"sgpr: draws have the covariance of the factor's transpose"

lualib/gibbous/gp/whitened.lua
's/seed = seed \* 7919 + stream/seed = stream/'
'sgpr: draws ignore the seed'

lualib/gibbous/gp/whitened.lua
's/return squares(u) - squares(now.half(u)) end/return squares(u) end/'
'sgpr: variances take the values at the places for known'

lualib/gibbous/gp/svgp/natural.lua
's/r.g - 2 \* r.h \* r.pulled/r.g - r.h * r.pulled/'
'svgp: a natural step moves its shift by half of the curvature'

lualib/gibbous/gp/svgp/elbo.lua
's/0.5 \* A, 0.0/A, 0.0/'
'svgp: the slope by K_zz counts its diagonal twice'

lualib/gibbous/gp/svgp/elbo.lua
's/+ bend(at.Kzz, of_Kzz) - bend(p.m/- bend(at.Kzz, of_Kzz) - bend(p.m/'
'svgp: the slope by K_zz has a wrong sign'

lualib/gibbous/gp/svgp/elbo.lua
's/ - bend(p.k, over(h))$//'
'svgp: the slope by the variances of the rows is missing'

lualib/gibbous/gp/svgp/natural.lua
's/own - 2 \* push/own - push/'
'natural gradients: a diagonal q takes half of the curvature'

lualib/gibbous/gp/svgp/natural.lua
's/squares(triangular_solve(at.L, core.eye(q.count)))$/1/'
'natural gradients: without whitening the prior has unit precisions'

lualib/gibbous/gp/svgp/natural.lua
's/core.minimum(most, rate)/rate/'
'natural gradients: a step of the means overshoots'

lualib/gibbous/gp/svgp/natural.lua
's/return q.whiten and slope or triangular_solve(at.L, slope, BACK)/return slope/'
'natural gradients: without whitening the slope by the mean is that of whitened values'

lualib/gibbous/gp/svgp/natural.lua
's/(now.half(R) ^ 2):sum() + (off/(now.half(R) ^ 2):sum() - (off/'
'natural gradients: the last pass takes a fixed mean for the best one'

lualib/gibbous/gp/svgp/natural.lua
's/local root <const> = q.whiten and R or triangular_solve(L, R, BACK)/local root <const> = R/'
'natural gradients: without whitening the last pass gives precisions of whitened values'

lualib/gibbous/gp/svgp/elbo.lua
's/and h or core.minimum(h, 0)$/and h or h/'
'natural gradients: curvature of the wrong sign counts'

lualib/gibbous/gp/svgp/variational.lua
's/if new\[i\] and not f\[name\].fixed then/if new[i] then/'
'natural gradients: they move what is fixed'

lualib/gibbous/gp/svgp/natural.lua
's/(v:t():matmul(v) + core.eye(rank))/(v:t():matmul(v) + 2 * core.eye(rank))/'
'natural gradients: scales of a low-rank q forget a part of its weights'

lualib/gibbous/gp/svgp/natural.lua
's/= q.scale \* q.scale \* slope + (w/= q.scale * slope + (w/'
'natural gradients: the mean of a low-rank q moves by scales, not variances'

lualib/gibbous/gp/svgp/variational.lua
's/(s \* s):unsqueeze(-1) \* (f.latents/s:unsqueeze(-1) * (f.latents/'
'natural gradients: slopes that are written out take scales for variances'

lualib/gibbous/gp/svgp/variational.lua
's/(f.latents or 1) + 2 \* R/(f.latents or 1) - 2 * R/'
'svgp: the divergence of a full q has a wrong log determinant'

lualib/gibbous/gp/svgp/variational.lua
's/logdet = logdet + (f.latents and/logdet = logdet - (f.latents and/'
'svgp: the divergence of a low-rank q has a wrong sign'

lualib/gibbous/gp/svgp/variational.lua
's/logdet = logdet - 2 \* at.L/logdet = logdet - at.L/'
'svgp: without whitening the divergence has half a log determinant'

lualib/gibbous/gp/svgp/variational.lua
's/triangular_solve(at.L, U, {transposed = true})/triangular_solve(at.L, U)/'
'svgp: without whitening factors of q meet a transposed L'

lualib/gibbous/gp/svgp/fit.lua
's/slice(1, 1, at + b - n)/slice(1, 2, at + b - n + 1)/'
'svgp: a batch of two epochs leaves out a row'

lualib/gibbous/gp/svgp/fit.lua
's/0.999 ^ k/0.99 ^ k/'
'svgp: the second moment of Adam is divided by another bias'

lualib/gibbous/gp/svgp/fit.lua
's/seed = seed \* 7919 + epoch/seed = 7919 + epoch/'
'svgp: the order of rows ignores the seed'

lualib/gibbous/gp/svgp/fit.lua
's/noise, n \/ b, rate)/noise, 1, rate)/'
'svgp: the rows of a batch stand for themselves only'

lualib/gibbous/gp/svgp/posterior.lua
's/q.half(core.eye(#at.z)):t()/q.half(core.eye(#at.z))/'
"svgp: draws have the covariance of the factor's transpose"

lualib/gibbous/gp/svgp/whole.lua
's/2 ^ -20, 1e-11/2 ^ -20, 1e-3/'
'svgp on all rows: the search for q ends far from the best'

lualib/gibbous/gp/svgp/whole.lua
's/1, rate, noise, true)/1, rate, noise)/'
'svgp on all rows: the search for q leaves out curvature of the wrong sign'

lualib/gibbous/gp/svgp/natural.lua
's/return {sums.gram + core.eye(#sums.gram), sums.proj, L}/return {sums.gram, sums.proj, L}/'
'svgp on all rows: the best q in closed form leaves out the prior'

lualib/gibbous/gp/svgp/all_rows.lua
's/if is_closed(f) then whole.polish(self) else search(self) end/whole.restore(f.q, s.state)/'
'svgp on all rows: q stays that of another point'

lualib/gibbous/gp/svgp/all_rows.lua
's/if not ended then s.state, s.accepted = whole.state(f.q), true end/s.state, s.accepted = whole.state(f.q), true/'
'svgp on all rows: a fit that goes on searches q from where it ended'

lualib/gibbous/gp/svgp/all_rows.lua
's/^  f.search.raws = nil$//'
'svgp on all rows: a search that was interrupted leaves its q'

lualib/gibbous/gp/svgp/posterior.lua
's/by == all_rows.name and all_rows.objective(self) or whole.negative(self)/whole.negative(self)/'
'svgp on all rows: q is not the best in evaluations'

lualib/gibbous/gp/svgp/all_rows.lua
's/f.budget, bytes)$/f.budget)/'
'svgp on all rows, plans: q is not counted'

lualib/gibbous/gp/laplace/mode.lua
's/core.maximum(own or second, 0):detach()/(own or second):detach()/'
'laplace model: weights below 0 pass into the search for the mode'

lualib/gibbous/gp/laplace/mode.lua
's/b <const> = (w \* (now.f - p.mean) + g):eval()/b <const> = (w * now.f + g):eval()/'
'laplace model: a Newton step forgets the mean function'

lualib/gibbous/gp/laplace/mode.lua
's/(g - now.a - w \* moved):eval(), moved/(g - now.a + w * moved):eval(), moved/'
'laplace model: the true Newton step has a wrong sign'

lualib/gibbous/gp/laplace/evidence.lua
's/parts.kernel:matmul(at.a)):sum() \/ 2/parts.kernel:matmul(at.a)):sum()/'
'laplace model: the slope by the kernel is doubled'

lualib/gibbous/gp/laplace/evidence.lua
's/local f <const> = core.with_slope(at.f, moved, one \"f64\")/local f <const> = at.f/'
'laplace model: the evidence forgets that the mode moves'

lualib/gibbous/gp/laplace/evidence.lua
's/l:curvature(f, at.y) or second/second/'
'laplace model: the evidence takes a negative curvature'

lualib/gibbous/gp/laplace/evidence.lua
's/core.linalg.logdet(parts.b) \/ 2 - flat/core.linalg.logdet(parts.b) - flat/'
'laplace model: the log determinant of B is doubled'

lualib/gibbous/gp/laplace/posterior.lua
's/sw \* values + normals(7907)/sw * values/'
'laplace model: draws have no noise of the observations'

lualib/gibbous/gp/laplace/posterior.lua
's/return state.alpha:unsqueeze(2) - sw \* x, info/return state.alpha:unsqueeze(2) + sw * x, info/'
'laplace model: draws leave the posterior on the wrong side'

lualib/gibbous/gp/laplace/several.lua
's/for c = 1, #q do q\[c\] = q\[c\] - (w\[c\] \* w\[c\]):sum(1) end//'
'laplace model: variances of classes forget that they are coupled'

lualib/gibbous/gp/auto/choice.lua
's/c.seconds and times \* c.seconds/c.seconds/'
'auto: a model is chosen by the time of one step'

lualib/gibbous/gp/auto/choice.lua
's/^local PASSES <const> = 3$/local PASSES <const> = 0/'
'auto: passes over the rows take no time'

lualib/gibbous/gp/auto/choice.lua
's/return c.seconds and c.seconds \* n \/ #block/return c.seconds/'
'auto: a pass takes the time of one block'

lualib/gibbous/gp/auto/choice.lua
's/if fits(c, seconds) then return math.min(m, n), c end/if not c.refused then return math.min(m, n), c end/'
'auto: the number of points minds the memory only'

lualib/gibbous/likelihoods/bernoulli.lua
's/local z <const> = mean \/ (1 + var):sqrt()/local z <const> = mean/'
'likelihoods: probabilities of two classes ignore the variance'

lualib/gibbous/likelihoods/bernoulli.lua
's/return f \* (2 \* y - 1)/return f * (1 - 2 * y)/'
'likelihoods: the two classes are exchanged'

lualib/gibbous/likelihoods/beta.lua
's/(trigamma(a) + trigamma(b)) \* slope \* slope/(trigamma(a) + trigamma(b)) * slope/'
'likelihoods: the information of beta has the slope once'

lualib/gibbous/likelihoods/gamma.lua
's/(var \/ 2 - mean)/(var - mean)/'
'likelihoods: the expectation of gamma counts the variance twice'

lualib/gibbous/likelihoods/gamma.lua
's/ + core.maximum(second - first \* first, 0)}/}/'
'likelihoods: predictions of gamma forget the variance of the mean'

lualib/gibbous/likelihoods/laplace.lua
's/core.maximum(var, (LEAST \* scale) ^ 2):sqrt()/var:sqrt()/'
'likelihoods: a latent value without variance has no expectation under Laplace noise'

lualib/gibbous/likelihoods/laplace.lua
's/+ ratio \* ratio \/ 2/+ ratio * ratio/'
'likelihoods: the predictive density of Laplace noise lacks a half'

lualib/gibbous/likelihoods/negative_binomial.lua
's/var = first + spread + core/var = spread + core/'
"likelihoods: predictions of counts lack Poisson's variance"

lualib/gibbous/likelihoods/negative_binomial.lua
's/random.gamma(shape, seed), seed + 104729)/random.gamma(shape, seed), 104729)/'
'likelihoods: the counts of a draw ignore the seed'

lualib/gibbous/likelihoods/quadrature.lua
's/(x \* now - math.sqrt(k) \* before)/(x * now - math.sqrt(k + 1) * before)/'
'likelihoods: weights of quadrature by a wrong recurrence'

lualib/gibbous/likelihoods/quadrature.lua
's/core.maximum(1 \/ var - bend, 1 \/ var)/(1 \/ var + bend)/'
'likelihoods: the peak of an integrand is as wide as with the opposite curvature'

lualib/gibbous/likelihoods/softmax.lua
's/seed = self.seed}/seed = 0}/'
'likelihoods: draws of softmax ignore their seed'

lualib/gibbous/likelihoods/softmax.lua
's/core.cat({half, -half}, 1)/core.cat({half, half}, 1)/'
'likelihoods: draws of softmax come twice, not in pairs'

lualib/gibbous/likelihoods/softmax.lua
's/:logsumexp(1) - math.log(draws)/:logsumexp(1) - math.log(self.draws)/'
'likelihoods: the predictive density of softmax counts other draws'

lualib/gibbous/likelihoods/student_t.lua
's/(df + 1) \/ ((df + 3)/(df + 1) \/ ((df + 1)/'
"likelihoods: the information of Student's noise is that of another"

lualib/gibbous/likelihoods/student_t.lua
's/ \/ core.maximum(df - 2, 1e-300), math.huge)/ \/ core.maximum(df - 1, 1e-300), math.huge)/'
"likelihoods: the variance of Student's noise divides by another number"

lualib/gibbous/likelihoods/random.lua
's/uniform() ^ (1 \/ shape)/uniform() ^ shape/'
'likelihoods: gamma draws of small shapes have a wrong power'

lualib/gibbous/likelihoods/random.lua
's/uniform() < rate \/ time/uniform() < time \/ rate/'
'likelihoods: Poisson draws of large means keep all events'

lualib/gibbous/gp/classifier/prediction.lua
's/ - (#b.classes == 2 and 1 or 0))/ - 1)/'
'classifier: log densities of more classes than two are those of the class before'

lualib/gibbous/gp/classifier/labels.lua
's/^  table.sort(out)$//'
'classifier: classes come in the order of the data'

lualib/gibbous/gp/classifier/observations.lua
's/return l.kind == \"softmax\" and l.classes == count and l or/return l.kind == \"softmax\" and l or/'
'classifier: a fit with another number of classes keeps the likelihood'

lualib/gibbous/gp/classifier/prediction.lua
's/probabilities:argmax(2)/probabilities:argmax(2) * 0 + 1/'
'classifier: the first class is the most likely one'

host/plan/tile/axes.c
's/if (f->c->cut\[s\].reduces || gb_step_is_home(st)) return false;/if (gb_step_is_home(st)) return false;/'
'loops: a step with totals runs in several'

host/plan/tile/axes.c
's/f->ready\[b\] = loop + reduced;/f->ready[b] = loop;/'
'loops: totals are read in the loop that makes them'

host/plan/tile/axes.c
's/^      if (c->again\[b\]) loops\[s\] |= asked\[b\];/      if (c->again[b]) loops[s] |= asked[b] | 1u << gb_loops_before(c, s);/'
'loops: what only later ones need is made in the first, too'

host/plan/tile/axes.c
's/return !f->rules.thrifty || !is_dear(st);/return true;/'
'loops: a product is computed again where there is room for it'

host/plan/tile/axes.c
's/const bool has = has_axis(f, st), allowed = loop < f->rules.loops;/const bool has = has_axis(f, st), allowed = loop <= f->rules.loops;/'
'loops: there is one more than was allowed'

host/plan/price/step_cost.c
's/seconds += (loops > 1 ? loops : 1) \*/seconds +=/'
'loops: what is computed again costs no time'

host/plan/place/places.c
's/if (p->place\[s\] < 0) p->place\[s\] = t;/p->place[s] = t;/'
'loops: a step begins at its last place'

host/plan/report/again.c
's/all.again += times_again(pl, s) \* flops_of(st);/all.again += flops_of(st);/'
'loops: a report counts what is computed again once'

lualib/gibbous/sweep/run/ask.lua
's/  if word then$/  if false then/'
'sweeps, ask: a result that is not finite is a failure'

lualib/gibbous/sweep/words.lua
's/if not name and not is_number(word, rules) then/if not name then/'
'sweeps, ask: a word as -inf is no option'

lualib/gibbous/sweep/show/optuna.lua
's/"max" and MAXIMIZE or MINIMIZE/"max" and MINIMIZE or MAXIMIZE/'
'sweeps, ask: Optuna is told the direction'

lualib/gibbous/sweep/show/difference.lua
's/100 \* (y - x) \/ math.abs(x)/100 * (x - y) \/ math.abs(x)/'
'sweeps, diff: a change is from the first to the second'

lualib/gibbous/sweep/show/csv.lua
's/ or tonumber(v) then return quoted(v) end/ then return quoted(v) end/'
'sweeps, export: a word that looks like a number is quoted'

lualib/gibbous/sweep/show/export.lua
's/v == nil and "null" or core.json_encode(v)/core.json_encode(v or false)/'
'sweeps, export: what is not there is null in JSON'

lualib/gibbous/sweep/command.lua
's/if not raised.is(result, "io") then error(result, 0) end/do error(result, 0) end/'
'sweeps, hostile: a store that cannot be written is no mistake of the script'

lualib/gibbous/sweep/run/coordinator.lua
's/if how.exit == trial.UNTOLD then return halt_untold(self, r) end//'
'sweeps, hostile: a trial that could not tell is pending'

lualib/gibbous/sweep/run/coordinator.lua
's/r.stopped = "timeout"/r.stopped = "crashed"/'
'sweeps, hostile: a trial that its budget ended is of the class timeout'

lualib/gibbous/sweep/show/importance.lua
's/    if not out.balanced then share = adjusted(share, count, #values) end//'
'sweeps, plot: importance off a grid is less what chance explains'

lualib/gibbous/sweep/run/replay.lua
's/ or x.value ~= y.value then/ then/'
'sweeps, replay: reports are compared by their values'

lualib/gibbous/sweep/show/report.lua
's/if cause then by_cause\[cause\]\[2\] = by_cause\[cause\]\[2\] + 1 end//'
'sweeps, report: failures of one cause are counted'

lualib/gibbous/sweep/run/slurm.lua
's/if \[ "$status" -eq 99 \]/if [ "$status" -eq 98 ]/'
'sweeps, slurm: a worker whose time is over gets another turn'

lualib/gibbous/sweep/show/statistics.lua
's/    if d ~= 0 then list/    do list/'
'sweeps, statistics: the signed rank test leaves zeros out'

lualib/gibbous/sweep/show/statistics.lua
's/return M.student(s.mean \/ s.se, s.n - 1)/return M.student(s.mean \/ s.se, s.n)/'
'sweeps, statistics: the t test has one degree of freedom less than pairs'

lualib/gibbous/sweep/show/comparison.lua
's/out\[i\] = a.paired\[key\] - b.paired\[key\]/out[i] = a.values[i] - b.values[1]/'
'sweeps, table: tests pair what is equal in all else'

lualib/gibbous/sweep/show/comparison.lua
's/(goal == "max") == (c.mean > best.mean)/c.mean < best.mean/'
'sweeps, table: the best is the largest where that is the goal'

lualib/gibbous/sweep/search/tpe.lua
's/return (bell(x - m) + bell(x + m) + bell(2 - x - m))/return bell(x - m)/'
'sweeps, tpe: kernels are reflected at the ends'

lualib/gibbous/sweep/show/watch.lua
's/math.min(#lines, math.max(1, rows - 1))/#lines/'
'sweeps, watch: the view fits the window'

lualib/gibbous/base/raised.lua
's/if not ok and M.is_of_place/if false and M.is_of_place/'
'sweeps, words: Ctrl-C is not taken for a damaged line'

lualib/gibbous/sweep/command.lua
's/if not raised.is(result, "interrupted") then error(result, 0) end/error(result, 0)/'
'sweeps, words: a signal while a script is read has its status'

lualib/gibbous/sweep/show/csv.lua
's/\^\[%s#\]/^%s/'
'sweeps, words: a cell of CSV that begins as a comment is quoted'

host/solve/block_cg.c
's/  orthonormalise_once(s, s->spare);/  memset(s->spare, 0, once * once * sizeof *s->spare); for (size_t i = 0; i < once; i++) s->spare[i * once + i] = 1;/'
'block conjugate gradients: one pass of orthonormalisation is enough'

host/solve/block_cg.c
's/^    s->trace = NULL;//'
'block conjugate gradients: the trace goes on with the steps from a true residual'

host/solve/block_cg.c
's/^  s->trace = NULL;//'
'block conjugate gradients: the trace goes on with the steps of a second cycle'

host/solve/block_cg.c
's/t->diagonal\[at + i\] += s->energy\[i\]/t->diagonal[at + i] = s->energy[i]/'
'block conjugate gradients: the diagonal of T is that of D alone'

host/solve/block_cg.c
's/  gb_small_transpose(s->rank, before, s->change, s->turn);/  memcpy(s->turn, s->change, s->rank * before * sizeof *s->turn);/'
'block conjugate gradients: directions turn by z and not by its transpose'

host/solve/block_cg.c
's/  memcpy(s->c, s->product, s->rank \* r \* sizeof \*s->c);//'
'block conjugate gradients: C stays that of the first step'

host/solve/block_cg.c
's/  gb_panel_axpy(NULL, solved(s), directions(s));/  gb_panel_axpy(NULL, basis_of(s), directions(s));/'
'block conjugate gradients: directions get residuals without the preconditioner'

host/solve/block_cg.c
's/  if (number + 1 == s->due) GB_TRY/  if (number + 1 == 0) GB_TRY/'
'block conjugate gradients: true residuals are never computed within a cycle'

host/solve/block_cg.c
's/trace->first\[i \* r + s->q.at.column\[k\]\]/trace->first[i * r + k]/'
'block conjugate gradients: coefficients of right-hand sides move up where one is solved from the start'

host/solve/block_cg.c
's/s->rz\[k\] += s->c\[i \* s->live + k\] \* s->c\[i \* s->live + k\]/s->rz[k] += 0/'
'block conjugate gradients: R and its weighted square are not compared'

host/solve/block_cg.c
's/  } else if (gb_stop_measures(&q->stop)) renew(s);/  }/'
'block conjugate gradients: weighted squares are those of the last basis'

host/solve/block_cg.c
's/  if (!info->f32_insufficient) return GB_OK;/  return GB_OK;/'
'block conjugate gradients: a trace of products in f32 that were insufficient counts'

host/solve/block_cg.c
's/INDEPENDENT 1e-13/INDEPENDENT -1/'
'block conjugate gradients: directions that depend on others stay'

host/solve/block_cg.c
's/INDEPENDENT 1e-13/INDEPENDENT 1e-3/'
'block conjugate gradients: directions that nearly depend on others leave'

host/solve/block_cg.c
's/    s->q.stop.square\[s->q.at.column\[k\]\] = sum/    s->q.stop.square[k] = sum/'
'block conjugate gradients: squares of residuals go to other columns'

host/solve/block_cg.c
's/  gb_panel_turn(s->turn, p, s->q.sums, solved(s));//'
'block conjugate gradients: P^-1 Q stays as it was before the orthonormalisation'

host/solve/frame/block_trace.c
's/        out_last\[k\] += b\[i \* before + k\] \* own\[i\];//'
'block conjugate gradients: T lacks its upper triangle'

host/solve/frame/block_trace.c
's/TAIL 24.0/TAIL 9.0/'
'block conjugate gradients: the quadrature ends too soon'

host/solve/frame/block_trace.c
's/ \/ length\[c\] + log(size) : 0/ \/ length[c] : 0/'
'block conjugate gradients: the logarithm forgets the size'

host/solve/frame/block_trace.c
's/COLUMNS 16384/COLUMNS 4096/'
'block conjugate gradients: few steps are kept'

host/solve/frame/block_trace.c
's/    divide(t, x, largest_entry(t, x));//'
'block conjugate gradients: squares of powers overflow'

host/solve/frame/block_trace.c
's/y\[(size_t)j \* r + i\] -= t->below/y[(size_t)j * r + i] += t->below/'
'block conjugate gradients: the powers of T^-1 are of another matrix'

host/solve/frame/block_trace.c
's/    memcpy(next, root, p \* p \* sizeof \*next);//'
'block conjugate gradients: Schur complements are those of the last block'

host/solve/frame/block_trace.c
's/      const size_t q = t->rank\[j + 1\];/      const size_t q = p;/'
'block conjugate gradients: a block below is as wide as its own'

host/solve/frame/block_trace.c
's/POWERS 60/POWERS 3/'
'block conjugate gradients: extreme eigenvalues after three powers'

host/solve/frame/small.c
's/-= l\[k \* p + i\] \* x\[k \* r + j\]/-= l[i * p + k] * x[k * r + j]/'
'block conjugate gradients: the upper triangle is read as the lower'

host/solve/frame/small.c
's/const double share = left\[k\] \/ g\[k \* s + k\];/const double share = left[k];/'
'block conjugate gradients: vectors are chosen by what is left of them, not by the share'

host/solve/frame/small.c
's/      for (size_t k = a + 1; k <= b; k++) sum -=/      for (size_t k = a + 1; k < b; k++) sum -=/'
'block conjugate gradients: the inverse of coefficients lacks a term'

host/solve/frame/small.c
's/m\[of\[a\] \* p + b\] = sum/m[a * p + b] = sum/'
'block conjugate gradients: the inverse of coefficients is of the first vectors'

host/solve/block_cg.c
's/  return info->reason == GB_SOLVE_INDEFINITE || info->reason == GB_SOLVE_NAN;/  return info == NULL;/'
'block conjugate gradients: what a block cannot solve counts'

host/solve/block_cg.c
's/  return info->reason == GB_SOLVE_INDEFINITE/  return info->reason == GB_SOLVE_STAGNATED/'
'block conjugate gradients: columns begin again where a block has stagnated'

host/solve/logdet/logdet.c
's/trace->steps - (trace->steps + 4) \/ 5, work/trace->steps, work/'
'block conjugate gradients: the truncation of a logarithm is not measured'

host/solve/frame/block_trace.c
's/STEP 0.8/STEP 0.9/'
'block conjugate gradients: the quadrature is a bit coarse'

)

say () { printf '%-10s %-24s %s\n' "$@"; }

# The C tests, and nothing that needs the interpreter; for the library, only what does; random programs, where it says so.
names=$(sed -n 's/^gb_test([a-z]*\/\([a-z0-9_][a-z0-9_]*\).*/\1/p' tests/CMakeLists.txt | grep -vE '^(plot|csv|npy)$')
suite_of () {                     # file, what is wrong
  case $2 in
    'random programs: '*) targets=gibbous filter=fuzz; return ;;
    'timed steps: '*)
      targets='gibbous gibbous_far gibbous_cuda_emulated' filter='spec/plan/timing_spec.lua spec/plan/profile_spec.lua'; return ;;
    'k-means: '*)
      case $1 in
        host/cluster/minibatch.c) targets=gibbous filter=spec/cluster/kmeans_spec.lua ;;
        host/cluster/unit.c | host/cluster/lloyd.c | host/cpu/cluster/points.c)
          targets=gibbous filter=spec/cluster/spherical_spec.lua ;;
        host/cpu/cluster/bounded.c | host/cpu/isa/*) targets='test_elkan test_isa_cluster' filter='^(elkan|isa_cluster)$' ;;
        host/cpu/cluster/cluster.c | host/cpu/cluster/totals.c) targets=test_kmeans filter='^kmeans$' ;;
        host/cluster/oversample.c | host/cpu/cluster/many.c)
          targets='test_kmeans test_oversample' filter='^(kmeans|oversample)$' ;;
        host/cluster/*) targets=test_kmeans filter='^kmeans$' ;;
        *) targets=gibbous filter=spec/cluster/kmeans_spec.lua ;;
      esac
      return ;;
    'k-means of a GPU: '*) targets='gibbous gibbous_cuda_emulated' filter='^cuda_spec/kmeans_bytes$'; return ;;
    'k-means fits: '*) targets=gibbous filter=spec/cluster/kmeans_spec.lua; return ;;
    'k-means ranks: '*) targets=test_kmeans_ranks filter='^kmeans_ranks$'; return ;;
    'block conjugate gradients: '*) targets=test_block_cg filter='^block_cg$'; return ;;
    'products of panels: '*) targets='test_panel gibbous_far' filter='^(far/)?panel$'; return ;;
    'system: '*) targets=test_system filter='^system$'; return ;;
    'sweeps left behind: '*) targets=gibbous filter=spec/sweep/left_behind_spec.lua; return ;;
    'sweeps on devices: '*) targets='gibbous gibbous_far' filter=spec/sweep/devices_spec.lua; return ;;
    'sweeps that are killed: '*) targets=gibbous filter=spec/sweep/kills_spec.lua; return ;;
    'sweeps in journals: '*) targets=gibbous filter=spec/sweep/journal_spec.lua; return ;;
    'sweeps, '*) filter=${2#sweeps, } targets=gibbous filter=spec/sweep/${filter%%:*}_spec.lua; return ;; # its spec is named
    'sweeps: a search '* | 'sweeps: a word '*) targets=gibbous filter=spec/sweep/search_spec.lua; return ;;
    'sweeps: '*) targets=gibbous filter='spec/sweep/run_spec.lua spec/sweep/search_spec.lua'; return ;;
    'columns and scales: '*)
      targets=gibbous filter='spec/gp/model/scaling_spec.lua spec/gp/model/columns_spec.lua'; return ;;
    'loops: '*) targets=gibbous filter=spec/plan/loops_spec.lua; return ;;
    'sgpr: '*) targets=gibbous filter=spec/gp/sparse/sgpr_spec.lua; return ;;
    'natural gradients: '*) targets=gibbous filter=spec/gp/sparse/natural_spec.lua; return ;;
    'svgp: '*) targets=gibbous filter=spec/gp/sparse/svgp_spec.lua; return ;;
    'svgp on all rows: '*) targets=gibbous filter=spec/gp/sparse/svgp_lbfgs_spec.lua; return ;;
    'svgp on all rows, plans: '*) targets=gibbous filter=spec/gp/sparse/memory_spec.lua; return ;;
    'auto: '*) targets=gibbous filter=spec/gp/sparse/auto_spec.lua; return ;;
    'laplace model: '*)
      targets=gibbous filter='spec/gp/laplace/algorithms_spec.lua spec/gp/laplace/model_spec.lua'; return ;;
    'likelihoods: '*)
      targets=gibbous filter='spec/gp/likelihoods/interface_spec.lua spec/gp/likelihoods/values_spec.lua'; return ;;
    'classifier: '*) targets=gibbous filter=spec/gp/classifier/classifier_spec.lua; return ;;
    'change of device: '*) targets='gibbous gibbous_far' filter=spec/host/session_device_spec.lua; return ;;
    'PTX: '*) targets='gibbous_cuda_emulated test_cuda_fold_chains' filter='^cuda_ptx/chains$'; return ;;
    'CUDA kernels: '*)
      targets='test_cuda_compile test_cuda_compile_tsan test_cuda_adopt' filter='^cuda/(compile|adopt)'; return ;;
  esac
  case $2:$1 in
    'far device: '*:host/lua/*) targets='gibbous gibbous_far' filter='^far/spec$'; return ;;
    'far device: '*) targets=$(echo "$names" | sed 's/^/test_/') filter="^far/($(echo $names | tr ' ' '|'))\$"; return ;;
  esac
  case $2 in
    'sessions of a GPU: '*) targets='gibbous gibbous_cuda_emulated' filter='^cuda_spec/(faults|devices)$'; return ;;
    'plans of a GPU: '*) targets='gibbous_cuda_emulated test_cuda_plan' filter='^cuda/plan$'; return ;;
  esac
  case $1 in
    cuda/device/pace.c) targets='gibbous gibbous_cuda_emulated' filter='^cuda_spec/interrupts$' ;;
    lualib/* | host/lua/*) targets=gibbous filter='^spec$' ;;
    tests/cuda_emulation/*)
      targets=$(echo dense faults graph kernels memory streams wrong | sed 's/[a-z][a-z]*/test_emulation_&/g')
      filter='^cuda_emulation/(dense|faults|graph|kernels|memory|streams|wrong)$' ;;
    cuda/device/* | cuda/panel/*)
      targets='test_cuda_clock test_cuda_heap test_cuda_memory test_cuda_faults test_cuda_panel' filter='^cuda/(clock|heap|memory|faults|panel)$' ;;
    cuda/cluster/*) targets=test_cuda_cluster filter='^cuda/cluster$' ;;
    cuda/emit/* | cuda/fold/kept.cuh) targets=test_cuda_generated filter='^cuda/generated$' ;;
    cuda/dense/* | cuda/move/* | cuda/element.cuh) targets='test_cuda_dense test_cuda_move' filter='^cuda/(dense|move)$' ;;
    cuda/*) targets='gibbous_cuda_emulated test_cuda_fold test_cuda_fold_chains' filter='^cuda_fold' ;;
    host/embed/* | host/include/*) targets='test_embed test_abi' filter='^(embed|abi)$' ;;
    *) targets=$(echo "$names" | sed 's/^/test_/') filter="^($(echo $names | tr ' ' '|'))\$" ;;
  esac
}

# Did the tests that have run end by their time alone? status: of run_tests.
timed_out () {
  if [[ $filter == spec/* || $filter == fuzz ]]; then [ "$1" -eq 124 ] && [ -z "$(red_tests)" ]; return; fi
  grep -q '\*\*\*Timeout' "$work/test.log" && ! grep '\*\*\*' "$work/test.log" | grep -qv '\*\*\*Timeout'
}

compile () { ninja -C "$build" -j "$jobs" $targets > "$work/build.log" 2>&1; }
run_tests () {
  if [ "$filter" = fuzz ]; then
    (cd "$tree" && GIBBOUS_FUZZ=6000 timeout 900 "$build/gibbous" spec/fuzz/run.lua) > "$work/test.log" 2>&1
    return
  fi
  if [[ $filter == spec/* ]]; then
    # shellcheck disable=SC2086
    (cd "$tree" && GIBBOUS_RATES=fixed GIBBOUS_THREADS=2 timeout 300 "$build/gibbous" "$(command -v busted)" --output=TAP $filter) \
      > "$work/test.log" 2>&1
    return
  fi
  ctest --test-dir "$build" -R "$filter" -j "$jobs" --timeout 300 --stop-on-failure > "$work/test.log" 2>&1
}
red_tests () {
  [ "$filter" != fuzz ] || { sed -n 's/^-- \(seed [0-9]*\)$/fuzz \1/p' "$work/test.log" | head -1; return; }
  [[ $filter != spec/* ]] || { sed -n 's/^not ok \([0-9]*\).*/spec \1/p' "$work/test.log" | head -1; return; }
  sed -n 's/^.*Test *#[0-9]*: \([a-z0-9_/]*\) .*\*\*\*.*/\1/p' "$work/test.log" | sort -u | paste -sd ' '
}

# Only what differs, so that what was planted before is compiled again and nothing else.
git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do
  [ ! -f "$f" ] || cmp -s "$f" "$tree/$f" || { mkdir -p "$tree/$(dirname "$f")" && cp -p "$f" "$tree/$f" && touch "$tree/$f"; }
done
cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug > "$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 2; }
# Which plants, and their suites are green without them.
chosen=() checked=
for ((i = 0; i < ${#plants[@]}; i += 3)); do
  [[ ${plants[i + 2]} =~ ${1:-.} ]] || continue
  chosen+=($i)
  suite_of "${plants[i]}" "${plants[i + 2]}"
  [[ $checked == *"$filter"* ]] && continue
  checked+=$filter
  compile || { tail -20 "$work/build.log"; exit 2; }
  run_tests || { echo "the tests are red without a bug: $(red_tests)"; exit 2; }
done

bad=0
for i in "${chosen[@]}"; do
  file=${plants[i]} script=${plants[i + 1]} what=${plants[i + 2]}
  suite_of "$file" "$what"
  cp "$tree/$file" "$work/kept"
  sed -i "$script" "$tree/$file"
  if cmp -s "$work/kept" "$tree/$file"; then
    say 'NO MATCH' "$file" "$what"
    bad=$((bad + 1))
    continue
  fi
  if ! compile; then
    say 'NO BUILD' "$file" "$what"
    bad=$((bad + 1))
  else
    run_tests
    status=$?
    if [ "$status" -eq 0 ]; then
      say SURVIVES "$file" "$what"
      bad=$((bad + 1))
    elif timed_out "$status"; then
      say 'TIME OUT' "$(red_tests)" "$what"
      bad=$((bad + 1))
    else
      say caught "$(red_tests)" "$what"
    fi
  fi
  cp "$work/kept" "$tree/$file"
done
echo "${#chosen[@]} bugs planted, $bad not proven to be caught"
[ "$bad" -eq 0 ]
