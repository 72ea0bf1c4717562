package engine

import "tandem/engine/mlx"

// A draw is a run of tokens on the device, one per row of logits, with log-probabilities where they
// are wanted. In plain decoding it is one sampled token that is dispatched and not yet read.
type draw struct {
	token              *mlx.Array // (n) int32
	chosen             *mlx.Array // (n, 1) float32, nil unless wanted
	topIDs, topLogprob *mlx.Array // (n, top), nil unless wanted

	// Under a grammar, until its mask is known, these take the place of the token: the logits to
	// draw from, and the position.
	logits *mlx.Array // (1, V)
	pos    int

	// Of the forward it comes from, where drafts tap layers: outputs (rows, H).
	layers []int
	taps   []*mlx.Array
}

// arrays lists what the draw needs evaluated.
func (d *draw) arrays() []*mlx.Array {
	if d.logits != nil {
		return append([]*mlx.Array{d.logits}, d.taps...)
	}
	list := []*mlx.Array{d.token}
	if d.chosen != nil {
		list = append(list, d.chosen)
	}
	if d.topIDs != nil {
		list = append(list, d.topIDs, d.topLogprob)
	}
	return append(list, d.taps...)
}

// keep moves the arrays out of the scope, so that they outlive the round.
func (d *draw) keep(s *mlx.Scope) {
	for _, a := range d.arrays() {
		s.Keep(a)
	}
}

func (d *draw) free() {
	if d == nil {
		return
	}
	for _, a := range d.arrays() {
		a.Free()
	}
}

// read waits for the draw and returns its tokens. All its arrays come from one
// evaluation, so only the first read can block.
func (d *draw) read(s *mlx.Scope) ([]Token, error) {
	ids, err := mlx.Read[int32](s, d.token)
	if err != nil {
		return nil, err
	}
	tokens := make([]Token, len(ids))
	for i, id := range ids {
		tokens[i].ID = id
	}
	if d.chosen == nil {
		return tokens, nil
	}
	chosen, err := mlx.Read[float32](s, d.chosen)
	if err != nil {
		return nil, err
	}
	for i := range tokens {
		tokens[i].Logprobs = &Logprobs{Logprob: chosen[i]}
	}
	if d.topIDs == nil {
		return tokens, nil
	}
	topIDs, err := mlx.Read[int32](s, d.topIDs)
	if err != nil {
		return nil, err
	}
	topLogprob, err := mlx.Read[float32](s, d.topLogprob)
	if err != nil {
		return nil, err
	}
	n := len(topIDs) / len(tokens)
	for i := range tokens {
		top := make([]TokenLogprob, n)
		for j := range top {
			top[j] = TokenLogprob{ID: topIDs[i*n+j], Logprob: topLogprob[i*n+j]}
		}
		tokens[i].Logprobs.Top = top
	}
	return tokens, nil
}

// rows returns rows [from, to) of x.
func rows(s *mlx.Scope, x *mlx.Array, from, to int) *mlx.Array {
	if from == 0 && to == x.Dim(0) {
		return x
	}
	return s.Slice(x, 0, from, to)
}
