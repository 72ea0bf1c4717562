package cache

import (
	"fmt"

	"tandem/engine/mlx"
)

// A Divided layer attends own rows and restored rows at once. Own rows come first, in as many slots for
// every query, and then each restored row has its place by its position. So one order holds for what a
// query adds up.
//
// Few rows are attended in the buffer of the bank: own rows are copied to its front, and nothing else is.
// For more than MaxBlock rows, own rows of several moments are needed. They lie there in blocks, and one
// copy of the bank comes after them. A block is filled up to whole tiles, and a tile that a query does
// not attend changes nothing of what it adds up. So the number of blocks makes no difference to the bit.
type Divided struct {
	Own  *SinkWindow
	Bank *Bank // nil = nothing is restored
}

// JoinedRows returns how many rows are copied so that the largest chunk of n tokens attends own rows and
// so many restored ones, beside those that are copied to the front of the bank.
func (b Bounds) JoinedRows(n, restored int) int {
	if n <= MaxBlock {
		return 0
	}
	return (min(n, MaxChunk)+MaxBlock-1)/MaxBlock*b.Front() + restored
}

// A Run is what adjacent queries of an update attend.
type Run struct {
	View
	From, To int // rows of the update

	at   int // position of the first row of the update
	own  int // slots of own rows
	bank *Bank
}

// Slots returns how many slots of the view the queries of rows before to see. It depends on the position
// of the last one alone.
func (r Run) Slots(to int) int {
	if r.bank == nil {
		return r.own
	}
	return r.own + r.bank.slots(r.at+to)
}

// Update appends n own rows k and v, which may be more than MaxBlock. It returns what the n queries at
// these positions attend, in runs of at most so many rows. Restored rows of these positions are in the
// bank already.
func (d Divided) Update(s *mlx.Scope, k, v *mlx.Array, most int) (runs []Run) {
	if d.Bank == nil {
		most = min(most, MaxBlock)
	}
	n, at := k.Dim(2), d.Own.offset
	for from := 0; from < n && s.Err() == nil; from += most {
		r := Run{From: from, To: min(from+most, n), at: at, bank: d.Bank}
		rows := func(x *mlx.Array) *mlx.Array { return s.Slice(x, 2, r.From, r.To) }
		if d.Bank == nil {
			r.View, r.own = d.Own.Update(s, rows(k), rows(v)), d.Own.buf.rows()
		} else {
			r.View, r.own = d.join(s, rows(k), rows(v))
		}
		runs = append(runs, r)
	}
	return runs
}

// join appends own rows. It returns what their queries attend, and how many of its slots are for own
// rows.
func (d Divided) join(s *mlx.Scope, k, v *mlx.Array) (View, int) {
	n, at, front := k.Dim(2), d.Own.offset, d.Bank.bounds.Front()
	own, bank := &d.Own.buf, d.Bank.buffer()
	if end := d.Bank.Offset(); end < at+n {
		s.Fail(fmt.Errorf("cache: rows are restored up to position %d, and %d are attended", end, at+n))
	}
	var ks, vs []*mlx.Array // blocks of own rows
	for from := 0; from < n; from += MaxBlock {
		to := min(from+MaxBlock, n)
		if !d.Own.append(s, s.Slice(k, 2, from, to), s.Slice(v, 2, from, to)) {
			return View{}, 0
		}
		ks, vs = append(ks, s.Slice(own.k, 2, 0, own.rows())), append(vs, s.Slice(own.v, 2, 0, own.rows()))
	}
	blocks, slots := len(ks), d.Bank.slots(at+n)
	key := boundsKey{Bounds: d.Bank.bounds, from: at, to: at + n, slots: blocks*front + slots,
		blocks: blocks, ring: bank.ring}
	mask := key.mask(s, func(row []bool, q int) {
		d.Own.attended(row[(q-at)/MaxBlock*front:], q)
		d.Bank.attended(row[(blocks-1)*front:], q)
	})
	if blocks == 1 && k.Dtype() == bank.k.Dtype() && v.Dtype() == bank.v.Dtype() {
		bank.set(s, s.SliceUpdate(bank.k, ks[0], 2, 0), s.SliceUpdate(bank.v, vs[0], 2, 0))
		return View{K: s.Slice(bank.k, 2, 0, front+slots), V: s.Slice(bank.v, 2, 0, front+slots),
			Mask: mask}, front
	}
	joined := func(own []*mlx.Array, restored *mlx.Array) *mlx.Array {
		var list []*mlx.Array
		for _, x := range own {
			list = append(list, x)
			if more := front - x.Dim(2); more > 0 {
				list = append(list, s.Zeros(x.Dtype(), 1, x.Dim(1), more, x.Dim(3)))
			}
		}
		return s.Concat(2, append(list, s.Slice(restored, 2, front, front+slots))...)
	}
	return View{K: joined(ks, bank.k), V: joined(vs, bank.v), Mask: mask}, blocks * front
}
