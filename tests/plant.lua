-- plant.lua - the bugs of plant.sh and what plants them. Each edit replaces a text that occurs exactly once in its file.

-- What is wrong, file, then pairs: text as it is, text with the bug.
local bugs <const> = {
  {"a chain is flushed but not emptied", "host/cpu/isa_contract.inc",
    "    total[i] += (double)acc[i];\n    acc[i] = 0;\n", "    total[i] += (double)acc[i];\n"},
  {"chains run downwards", "host/cpu/isa_contract.inc",
    "    UNROLL for (size_t r = 0; r < cols; r++) {\n      const VEC w = V(set1)(v[j * vstride + r]);\n",
    "    UNROLL for (size_t r = 0; r < cols; r++) {\n      const VEC w = V(set1)(v[(nj - 1 - j) * vstride + r]);\n"},
  {"the last lanes of a ragged edge are lost", "host/cpu/exec_total.c",
    "  return rest < GB_TI ? rest : GB_TI;\n", "  return rest < GB_TI ? rest - (rest > 1) : GB_TI;\n"},
  {"the diagonal block of a symmetric fold is mirrored onto itself", "host/cpu/exec.c",
    "past < to ? past : to, false)", "past < to ? past : to, true)"},
  {"a NaN is swallowed by maximum", "host/cpu/isa_math.inc",
    "(VEC a, VEC b) { return V(blend)(V(isnan)(a), a, V(max)(a, b)); }", "(VEC a, VEC b) { return V(max)(b, a); }"},
  {"a view's offset is forgotten", "host/fold/emit.c",
    "    o->offset += m->dim[i].off * stride[i];\n", ""},
  {"plans are shared between leaves of different strides", "host/fold/structure.c",
    "h = gb_hash_u64(h, (uint64_t)t->stride[i]);\n    return", "h = gb_hash_u64(h, (uint64_t)i);\n    return"},
  {"two views of one storage are one leaf", "host/graph/node.c",
    "  if (v->storage != t->storage || v->offset != t->offset || v->dtype != t->dtype) return false;\n",
    "  if (v->storage != t->storage || v->dtype != t->dtype) return false;\n",
    "  h = gb_hash_u64(h, t->offset);\n", ""},
  {"a gradient is not summed back after broadcasting", "host/graph/grad_rules.c",
    "  return gb_formula_take(&e, gb_ex_unbroadcast(&e, bar, shape), out);\n",
    "  return gb_formula_take(&e, gb_node_shape(bar)->ndim == shape->ndim ? bar : gb_ex_unbroadcast(&e, bar, shape), out);\n"},
  {"the gradient of a distance loses its factor", "host/graph/grad_reduce.c",
    "gb_node *twice = gb_ex_scale(&e, bar[i], 2);", "gb_node *twice = gb_ex_scale(&e, bar[i], i == 0 ? 2 : 1);"},
  {"buffers that meet in one step share bytes", "host/plan/pack.c",
    "return a->first <= b->last && b->first <= a->last;", "return a->first < b->last && b->first < a->last;"},
  {"folds declare half of their scratch", "host/plan/place.c",
    "return be->ops->fold_scratch(be, &s->fold);", "return be->ops->fold_scratch(be, &s->fold) / 2;"},
  {"a freed block stays in the account", "host/mem/ledger.c",
    "  l->blocks--;\n  l->used -= b->bytes;\n", "  l->blocks--;\n"},
  {"a column may grow into an outer form", "host/tensor/shape.c",
    "  return a->ndim == b->ndim || !(grew_a && grew_b);\n", "  return grew_a || grew_b || true;\n"},
  {"a key of the random numbers is off by one", "host/base/rng.c", "k1 += 0xBB67AE85u;", "k1 += 0xBB67AE84u;"},
  {"a block of a Cholesky factor is added", "host/cpu/cholesky.c",
    "nj, B, -1.0, lik, n, ljk, n, 1.0, c, n);", "nj, B, 1.0, lik, n, ljk, n, 1.0, c, n);"},
  {"transposed triangular systems run forward", "host/cpu/trisolve.c",
    "const bool forward = (q->uplo == GB_LOWER) != q->trans;", "const bool forward = q->uplo == GB_LOWER;"},
  {"values of replaced parameters stay cached", "host/plan/cache.c",
    "if ((e->lost && !e->held) || e->stale) drop", "if (e->lost && !e->held) drop"},
  {"the first line of a file is always skipped", "host/io/csv.c",
    "  size_t skip = r->o->skip;\n", "  size_t skip = r->o->skip + 1;\n"},
  {"a parameter's upper bound is a lower one", "lualib/gibbous/param.lua",
    "forward = function(raw) return max - raw:exp() end", "forward = function(raw) return max + raw:exp() end"},
  {"an interrupted fit ends where it happened to be", "lualib/gibbous/optim.lua",
    "    space:write(best_x)                 -- nothing is lost: the best point stays\n", ""},
  {"new observations have no noise", "lualib/gibbous/gp/exact.lua",
    "return noise and p.f_var + noise or p.f_var", "return p.f_var"},
  {"a product adds the variances of its factors", "lualib/gibbous/kernels.lua",
    "param.hyper((a.value * b.value):item()", "param.hyper((a.value + b.value):item()"},
}

local function run(command)
  local pipe <close> = assert(io.popen(command .. " 2>&1"))
  local out <const> = pipe:read "a"
  local ok <const> = pipe:close()
  return ok == true, out
end

local function must(command)
  local ok <const>, out <const> = run(command)
  if not ok then
    io.stderr:write(command, "\n", out)
    os.exit(2)
  end
  return out
end

local function read(path)
  local f <close> = assert(io.open(path, "rb"))
  return (f:read "a")
end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local function replaced(text, from, to, path)
  local at <const>, stop <const> = text:find(from, 1, true)
  if not at or text:find(from, stop + 1, true) then
    io.stderr:write(("plant: %s: the text to replace %s:\n%s\n"):format(path, at and "occurs twice" or "is not there", from))
    os.exit(2)
  end
  return text:sub(1, at - 1) .. to .. text:sub(stop + 1)
end

local chosen <const>, without <const> = {}, {"hostile", "repl", "layers"}
do
  local i = 1
  while arg[i] do
    if arg[i] == "--without" then
      i = i + 1
      without[#without + 1] = arg[i]
    else
      chosen[math.tointeger(tonumber(arg[i]))] = true
    end
    i = i + 1
  end
end

local root <const> = must "mktemp -d":gsub("%s+$", "")

local function finish(code)
  run("rm -r " .. root)
  os.exit(code)
end

must(("cp -r CMakeLists.txt CMakePresets.json docs host lualib scripts spec tests %s"):format(root))
must(("cmake -S %s -B %s/build -G Ninja -DCMAKE_BUILD_TYPE=Debug"):format(root, root))

local build <const> = ("ninja -C %s/build"):format(root)
local suite <const> = ("ctest --test-dir %s/build -j 2 --timeout 300 --stop-on-failure -E '%s'"):format(root,
  table.concat(without, "|"))

must(build)
print "the suite without a bug"
local clean <const>, report <const> = run(suite)
if not clean then
  io.stderr:write(report, "plant: the suite is red before anything is planted\n")
  finish(2)
end

local planted, found = 0, 0
for i, bug in ipairs(bugs) do
  if next(chosen) == nil or chosen[i] then
    local path <const> = root .. "/" .. bug[2]
    local text <const> = read(path)
    local with = text
    for at = 3, #bug, 2 do with = replaced(with, bug[at], bug[at + 1], bug[2]) end
    write(path, with)
    must(build)
    local green <const>, out <const> = run(suite)
    planted = planted + 1
    if not green then found = found + 1 end
    print(("%-5s %2d  %s  (%s)"):format(green and "GREEN" or "red", i, bug[1],
      green and bug[2] or out:match "Test +#%d+: ([%w_]+) %.+%**[^\n]-%*%*%*" or "ctest"))
    write(path, text)
  end
end

print(("%d bugs planted, %d found"):format(planted, found))
finish(found == planted)
