---@meta

---@class gibbous.tensor
local tensor = {}

---@class gibbous
local gb = {}

--- The same elements in row-major order under another shape; one extent may be -1.
---@param ... integer  extents, one of them -1, or a list
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:reshape(-1))
---```
function tensor:reshape(...) end

--- Dimensions in another order: result dimension i is dimension p_i of x.
---@param ... integer  every dimension once
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:permute(2, 1))
---```
function tensor:permute(...) end

--- The last two dimensions exchanged.
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:t())
---```
function tensor:t() end

--- A new dimension of extent 1 at d.
---@param d integer
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:unsqueeze(1).shape)
---```
function tensor:unsqueeze(d) end

--- Drops dimension d, which must have extent 1.
---@param d integer
---@return gibbous.tensor
---```lua
--- print(gb.ones(3, 1):squeeze(2))
---```
function tensor:squeeze(d) end

--- Extents of 1 grow to the given shape; -1 keeps an extent.
---@param ... integer  extents, or a list
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{1, 2}}:expand(2, -1))
---```
function tensor:expand(...) end

--- Repeats x along each dimension.
---@param ... integer  how often, for each dimension
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:tile(1, 2))
---```
function tensor:tile(...) end

--- The order along d reversed.
---@param d integer
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:flip(1))
---```
function tensor:flip(d) end

--- Positions i, i + step, ... up to j of dimension d; j = i - 1 gives none.
---@param d integer
---@param i integer?  default: 1
---@param j integer?  default: -1
---@param step integer?  default: 1
---@return gibbous.tensor
---```lua
--- print(gb.range(1, 9):slice(1, 2, 4))
---```
function tensor:slice(d, i, j, step) end

--- Position i of dimension d, which is dropped.
---@param d integer
---@param i integer
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:select(1, 2))
---```
function tensor:select(d, i) end

--- The entries at the given positions of dimension d; a mask is observed.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer  positions (i64 or i32) or a mask (bool)
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:index(1, {2, 1, 2}))
---```
function tensor:index(d, idx) end

--- x with the entries at the given positions of dimension d replaced by y, which may broadcast.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:put(1, {2}, 0))
---```
function tensor:put(d, idx, y) end

--- x with y added at the given positions of dimension d, in their order; y may broadcast.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.tensor{1, 2}:index_add(1, {1, 1}, 10))
---```
function tensor:index_add(d, idx, y) end

--- x with the larger of itself and y at the given positions of dimension d; y may broadcast. NaN if either is; those that attain the
--- result share the gradient.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.tensor{1, 2}:index_max(1, {1}, 10))
---```
function tensor:index_max(d, idx, y) end

--- x with the smaller of itself and y at the given positions of dimension d; otherwise as index_max.
---@param d integer
---@param idx gibbous.tensor|integer[]|boolean[]|integer
---@param y gibbous.operand
---@return gibbous.tensor
---```lua
--- print(gb.tensor{1, 2}:index_min(1, {1}, -1))
---```
function tensor:index_min(d, idx, y) end

--- out[i, j] = x[i, index[i, j]] along d, here the last of two: one position an element.
---@param d integer
---@param index gibbous.tensor  i64 or i32, the shape of x but for dimension d
---@return gibbous.tensor  the shape of index
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:gather(2, gb.tensor({{1}, {2}}, {dtype = "i64"})))
---```
function tensor:gather(d, index) end

--- x with src[i, j] added at [i, index[i, j]] along d, here the last of two, in their order: the reverse of gather.
---@param d integer
---@param index gibbous.tensor  i64 or i32, the shape of x but for dimension d
---@param src gibbous.tensor|number  the shape of index
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:scatter_add(2, gb.tensor({{1}, {2}}, {dtype = "i64"}), gb.ones(2, 1)))
---```
function tensor:scatter_add(d, index, src) end

--- v where mask holds, else x.
---@param mask gibbous.tensor  bool
---@param v gibbous.operand
---@return gibbous.tensor
---```lua
--- local x = gb.tensor{1, -2, 3}
--- print(x:masked_fill(x:lt(0), 0))
---```
function tensor:masked_fill(mask, v) end

--- Moves elements by 'shift' along d; those that leave come in at the other end.
---@param shift integer
---@param d integer
---@return gibbous.tensor
---```lua
--- print(gb.range(1, 4):roll(1, 1))
---```
function tensor:roll(shift, d) end

--- A list of views along d: parts of 'sizes' entries, the last perhaps smaller, or of the sizes in a list.
---@param sizes integer|integer[]
---@param d integer?  default: 1
---@return gibbous.tensor[]
---```lua
--- print(gb.range(1, 5):split(2)[2])
---```
function tensor:split(sizes, d) end

--- A list of at most 'count' views along d, all of one size but the last.
---@param count integer
---@param d integer?  default: 1
---@return gibbous.tensor[]
---```lua
--- print(gb.range(1, 4):chunk(2)[1])
---```
function tensor:chunk(count, d) end

---@class gibbous.pad.options
---@field value? number|boolean  default: 0
---@field mode? "constant"|"reflect"|"replicate"|"circular"  default: "constant"

--- x with 'before' entries in front of dimension d and 'after' behind it: of a value, or by mode, "reflect" those beyond the first
--- and the last mirrored, "replicate" the first and the last, "circular" those from the other end.
---@param d integer
---@param before integer
---@param after integer?  before
---@param o gibbous.pad.options?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{1, 2}:pad(1, 1, 2, {value = 9}))
---```
function tensor:pad(d, before, after, o) end

--- Windows of 'size' entries of dimension d, each 'step' further: d counts them, a new last dimension their entries.
---@param d integer
---@param size integer
---@param step integer?  default: 1
---@return gibbous.tensor
---```lua
--- print(gb.range(1, 4):unfold(1, 2))
---```
function tensor:unfold(d, size, step) end

--- The lower triangle of the last two dimensions: diagonal k (0) and all below; others 0.
---@param k integer?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:tril())
---```
function tensor:tril(k) end

--- The upper triangle of the last two dimensions: diagonal k (0) and all above; others 0.
---@param k integer?
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:triu())
---```
function tensor:triu(k) end

--- The sum of x[i, i] over the last two dimensions.
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:trace():item())
---```
function tensor:trace() end

--- x[i, i] of the last two dimensions.
---@return gibbous.tensor
---```lua
--- print(gb.tensor{{3, 1}, {2, 4}}:diagonal())
---```
function tensor:diagonal() end

--- Joins tensors along dimension d.
---@param list gibbous.tensor[]
---@param d integer?  default: 1
---@return gibbous.tensor
---```lua
--- print(gb.cat({gb.zeros(2), gb.ones(1)}))
---```
function gb.cat(list, d) end

--- Joins tensors of one shape along a new dimension at d.
---@param list gibbous.tensor[]
---@param d integer?  default: 1
---@return gibbous.tensor
---```lua
--- print(gb.stack({gb.zeros(2), gb.ones(2)}, 1))
---```
function gb.stack(list, d) end
