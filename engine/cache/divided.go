package cache

import (
	"errors"
	"fmt"

	"tandem/engine/mlx"
)

// A Divided layer attends window rows and restored rows together. Window rows come first, in as many
// slots for every query, and then each restored row has its place by its position. So one order
// holds for what a query adds up.
//
// Few rows are attended in the buffer of the bank: window rows are copied to its front, and nothing
// else is. More than MaxBlock rows overwrite window rows that the first of them attend. So they attend
// blocks of window rows, one of each moment, and a copy of the bank that comes after these. A block is
// filled up to whole tiles. Attention by tiles skips a tile that a query does not attend, so the
// number of blocks changes no bit. Attention in MLX's operations on the CPU adds zeros for it.
type Divided struct {
	Window *SinkWindow
	Bank   *Bank // nil = nothing is restored

	// Ordered has more than MaxBlock rows attend each window row once, in the order of positions. It is for
	// GPUs. They do not skip what blocks repeat, which is 16 times the window in a chunk of 512 rows.
	// And what a row gets depends on the length of its chunk there anyway.
	Ordered bool
}

// JoinedRows returns how many rows an update holds beside the caches, at most, while a text of n
// tokens is attended in chunks. ring is the bank's; 0 = the bank keeps every row.
func (b Bounds) JoinedRows(n, ring int, ordered bool) int {
	if n <= MaxBlock {
		return 0
	}
	chunk := min(n, MaxChunk)
	rows := (chunk + MaxBlock - 1) / MaxBlock * b.Front()
	if ordered {
		rows = b.Sink + b.Window - 1 + chunk
	}
	return rows + b.WindowRows() + b.slots(n, ring) // window rows as they were are held too
}

// A Run is what adjacent queries of an update attend.
type Run struct {
	View
	From, To int // rows of the update

	at          int // position of the first row of the update
	windowSlots int // slots of window rows
	bank        *Bank
}

// Slots returns how many slots of the view the queries of rows before to see. It depends only on
// the position of the last one.
func (r Run) Slots(to int) int {
	if r.bank == nil {
		return r.windowSlots
	}
	return r.windowSlots + r.bank.slots(r.at+to)
}

// Cut returns what queries [from, to) of the run attend. Slots that none of them sees are cut off.
func (r Run) Cut(s *mlx.Scope, from, to int) View {
	if from == r.From && to == r.To {
		return r.View
	}
	slots := r.Slots(to)
	return View{K: s.Slice(r.K, 2, 0, slots), V: s.Slice(r.V, 2, 0, slots),
		Mask: s.Slice(s.Slice(r.Mask, 0, from-r.From, to-r.From), 1, 0, slots)}
}

// Update appends n window rows k and v, which may be more than MaxBlock. It returns what the n queries
// at these positions attend, in runs of at most limit rows. Restored rows of these positions are in
// the bank already, in the same types.
func (d Divided) Update(s *mlx.Scope, k, v *mlx.Array, limit int) []Run {
	if d.Bank == nil {
		return d.windowOnly(s, k, v, min(limit, MaxBlock))
	}
	if err := d.check(k, v); err != nil {
		s.Fail(err)
	}
	if s.Err() != nil {
		return nil
	}
	switch n := k.Dim(2); {
	case n <= min(limit, MaxBlock):
		return d.inBank(s, k, v)
	case d.Ordered:
		return d.ordered(s, k, v)
	}
	return d.blocks(s, k, v, limit)
}

// check refuses window rows that cannot be attended with the bank's.
func (d Divided) check(k, v *mlx.Array) error {
	to, bank := d.Window.offset+k.Dim(2), d.Bank.buffer()
	if k.Dim(2) == 0 {
		return errors.New("cache: update with no rows")
	}
	if end := d.Bank.Offset(); end < to {
		return fmt.Errorf("cache: rows are restored up to position %d, and %d are attended", end, to)
	}
	if k.Dtype() != bank.k.Dtype() || v.Dtype() != bank.v.Dtype() {
		return fmt.Errorf("cache: window rows are %s and %s, and restored ones are %s and %s", k.Dtype(),
			v.Dtype(), bank.k.Dtype(), bank.v.Dtype())
	}
	return d.Window.buf.fits(k, v)
}

// append appends window rows in pieces. It reports whether they are in.
func (d Divided) append(s *mlx.Scope, k, v *mlx.Array) bool {
	n := k.Dim(2)
	for from := 0; from < n; from += MaxBlock {
		to := min(from+MaxBlock, n)
		if !d.Window.append(s, s.Slice(k, 2, from, to), s.Slice(v, 2, from, to)) {
			return false
		}
	}
	return true
}

// windowOnly is Update without a bank.
func (d Divided) windowOnly(s *mlx.Scope, k, v *mlx.Array, limit int) (runs []Run) {
	n, at := k.Dim(2), d.Window.offset
	for from := 0; from < n && s.Err() == nil; from += limit {
		to := min(from+limit, n)
		view := d.Window.Update(s, s.Slice(k, 2, from, to), s.Slice(v, 2, from, to))
		runs = append(runs, Run{View: view, From: from, To: to, at: at, windowSlots: d.Window.buf.rows()})
	}
	return runs
}

// inBank is Update of at most MaxBlock rows, in one run.
func (d Divided) inBank(s *mlx.Scope, k, v *mlx.Array) []Run {
	n, at := k.Dim(2), d.Window.offset
	if !d.append(s, k, v) {
		return nil
	}
	window, bank, front := &d.Window.buf, d.Bank.buffer(), d.Bank.bounds.Front()
	bank.set(s, s.SliceUpdate(bank.k, window.k, 2, 0), s.SliceUpdate(bank.v, window.v, 2, 0))
	d.Bank.copyNext(s, n) // after the write to the front, with which copies would compete
	end := front + d.Bank.slots(at+n)
	return []Run{{View: View{K: s.Slice(bank.k, 2, 0, end), V: s.Slice(bank.v, 2, 0, end),
		Mask: d.mask(s, at, at+n)}, To: n, at: at, windowSlots: front, bank: d.Bank}}
}

// blocks is Update with copies of the bank, which come after the blocks of each run.
func (d Divided) blocks(s *mlx.Scope, k, v *mlx.Array, limit int) (runs []Run) {
	n, at := k.Dim(2), d.Window.offset
	window, bank, front := &d.Window.buf, d.Bank.buffer(), d.Bank.bounds.Front()
	pad := front - d.Bank.bounds.WindowRows()
	window.reserve(s, d.Bank.bounds.WindowRows(), k, v)
	for from := 0; from < n; from += limit {
		to := min(from+limit, n)
		end := front + d.Bank.slots(at+to)
		join := func(held, rows, bank *mlx.Array) *mlx.Array {
			var list []*mlx.Array
			for block := from; block < to; block += MaxBlock {
				list = append(list, window.overlay(s, held, rows, at, at+min(block+MaxBlock, to))...)
				if pad > 0 {
					list = append(list, s.Zeros(rows.Dtype(), 1, rows.Dim(1), pad, rows.Dim(3)))
				}
			}
			return s.Concat(2, append(list, s.Slice(bank, 2, front, end))...)
		}
		runs = append(runs, Run{View: View{K: join(window.k, k, bank.k), V: join(window.v, v, bank.v),
			Mask: d.mask(s, at+from, at+to)}, From: from, To: to, at: at, bank: d.Bank,
			windowSlots: (to - from + MaxBlock - 1) / MaxBlock * front})
	}
	return d.done(s, k, v, runs)
}

// ordered is Update with one copy of the bank, which comes after window rows ordered by position.
func (d Divided) ordered(s *mlx.Scope, k, v *mlx.Array) []Run {
	n, at, b := k.Dim(2), d.Window.offset, d.Bank.bounds
	window, bank, front := &d.Window.buf, d.Bank.buffer(), b.Front()
	sink := min(at, b.Sink)
	first := max(sink, at-(b.Window-1)) // the rows at positions [0, sink) and [first, at) come first
	end := front + d.Bank.slots(at+n)
	join := func(held, rows, bank *mlx.Array) *mlx.Array {
		var list []*mlx.Array
		for _, w := range append(window.spans(0, sink), window.spans(first, at)...) {
			if w.start < w.stop {
				list = append(list, s.Slice(held, 2, w.start, w.stop))
			}
		}
		return s.Concat(2, append(list, rows, s.Slice(bank, 2, front, end))...)
	}
	slots := sink + at - first + n
	key := boundsKey{Bounds: b, from: at, to: at + n, slots: slots + end - front, ring: bank.ring,
		ordered: true}
	mask := key.mask(s, func(row []bool, q int) {
		d.Bank.attended(row[slots:], q)
		for p := b.reached(q); p <= q; p++ {
			switch {
			case p < sink:
				row[p] = true
			case p < b.Sink || p > q-b.Window:
				row[p-first+sink] = true
			default:
				p = q - b.Window
			}
		}
	})
	return d.done(s, k, v, []Run{{View: View{K: join(window.k, k, bank.k), V: join(window.v, v, bank.v),
		Mask: mask}, To: n, at: at, windowSlots: slots, bank: d.Bank}})
}

// done appends the window rows of runs that have copies of what was there before.
func (d Divided) done(s *mlx.Scope, k, v *mlx.Array, runs []Run) []Run {
	if s.Err() != nil || !d.append(s, k, v) {
		return nil
	}
	d.Bank.copyNext(s, k.Dim(2))
	return runs
}

// mask returns what the queries at positions [from, to) of a run attend of it.
func (d Divided) mask(s *mlx.Scope, from, to int) *mlx.Array {
	front, blocks := d.Bank.bounds.Front(), (to-from+MaxBlock-1)/MaxBlock
	key := boundsKey{Bounds: d.Bank.bounds, from: from, to: to, blocks: blocks,
		slots: blocks*front + d.Bank.slots(to), ring: d.Bank.buffer().ring}
	return key.mask(s, func(row []bool, q int) {
		d.Window.attended(row[(q-from)/MaxBlock*front:], q)
		d.Bank.attended(row[blocks*front:], q)
	})
}

// overlay returns pieces of all rows of a buffer with a sink, as they are after a write up to position
// to. x has the rows of positions from on, and held is the array before them.
func (b *buffer) overlay(s *mlx.Scope, held, x *mlx.Array, from, to int) (pieces []*mlx.Array) {
	at := 0                            // rows that the pieces have
	put := func(start, first, n int) { // n rows of x
		if n <= 0 {
			return
		}
		if start > at {
			pieces = append(pieces, s.Slice(held, 2, at, start))
		}
		pieces = append(pieces, s.Slice(x, 2, first, first+n))
		at = start + n
	}
	put(from, 0, min(to, b.sink)-from)
	if first := max(from, b.sink, to-b.ring); first < to {
		start, n := (first-b.sink)%b.ring, to-first
		around := max(0, start+n-b.ring)
		put(b.sink, to-around-from, around)
		put(b.sink+start, first-from, n-around)
	}
	if rows := b.sink + b.ring; at < rows {
		pieces = append(pieces, s.Slice(held, 2, at, rows))
	}
	return pieces
}
