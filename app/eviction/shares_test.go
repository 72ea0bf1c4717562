package eviction

import (
	"slices"
	"testing"
)

// Each model has memory for a whole context, and an equal part of the rest. A model whose texts take
// more beside one that comes is overdrawn.
func TestTextSharesAreAWholeContextAndAnEqualPart(t *testing.T) {
	one := Model{ID: "one", Need: Need{Weights: 100, Cache: 200}, InFlight: 400}
	two := Model{ID: "two", Need: Need{Weights: 50, Cache: 50}}
	for _, c := range []struct {
		name      string
		models    []Model
		coming    Need
		want      []int64
		overdrawn string
	}{
		{"alone", []Model{one}, Need{}, []int64{900}, ""},
		{"two", []Model{one, two}, Need{}, []int64{200 + 300, 50 + 300}, ""},
		{"one beside one that comes", []Model{one}, Need{Weights: 100, Cache: 100}, []int64{200 + 250}, ""},
		{"one that takes much comes", []Model{two, one}, Need{Weights: 300, Cache: 100}, []int64{50 + 66, 200 + 66}, "one"},
		{"one that takes all comes", []Model{one}, Need{Weights: 500, Cache: 500}, []int64{200}, "one"},
	} {
		s := State{Limits: Limits{Memory: 2<<30 + 1000}, Models: c.models}
		var got []int64
		for _, share := range s.Shares(c.coming) {
			got = append(got, share.Sequences)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if got := s.Overdrawn(c.coming); got != c.overdrawn {
			t.Errorf("%s: overdrawn is %q, want %q", c.name, got, c.overdrawn)
		}
	}
}

// Checkpoints have the memory that the settings give them, as far as the models leave it, in equal
// parts for the models that leave some.
func TestCheckpointsTakeNothingThatModelsNeed(t *testing.T) {
	one := Model{ID: "one", Need: Need{Weights: 300}, KeepsCheckpoints: true}
	two := Model{ID: "two", Need: Need{Weights: 100}, KeepsCheckpoints: true}
	vectors := Model{ID: "vectors", Need: Need{Weights: 100}}
	for _, c := range []struct {
		name   string
		models []Model
		coming int64
		limit  int64
		want   []int64
	}{
		{"as set", []Model{one}, 0, 0, []int64{400}},
		{"shared", []Model{one, two, vectors}, 0, 0, []int64{200, 200, 0}},
		{"a model comes", []Model{one, two, vectors}, 300, 0, []int64{100, 100, 0}},
		{"nothing is left", []Model{one}, 700, 0, []int64{0}},
		{"in a shortage", []Model{one, two}, 0, 50, []int64{25, 25}},
	} {
		s := State{Limits: Limits{Memory: 2<<30 + 1000, Checkpoints: 400}, Models: c.models,
			CheckpointLimit: c.limit}
		var got []int64
		for _, share := range s.Shares(Need{Weights: c.coming}) {
			got = append(got, share.Checkpoints)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A model gets another drafter that fits, beside the old one if there is room for both.
func TestDrafterIsSwappedWhereItFits(t *testing.T) {
	m := Model{ID: "one", Need: Need{Weights: 300, Cache: 100, Context: 100}}
	for _, c := range []struct {
		name  string
		room  int64
		other Model
		old   int64
		both  bool
		ok    bool
	}{
		{"it fits", 700, Model{}, 0, true, true},
		{"it does not", 699, Model{}, 0, true, false},
		{"the old one takes the place of texts meanwhile", 700, Model{}, 90, true, true},
		{"the old one goes first", 700, Model{}, 101, false, true},
		{"another model's texts are in the way", 1200, Model{ID: "two", Need: Need{Weights: 300}, InFlight: 300}, 10, false, true},
		{"another model is", 700, Model{ID: "two", Need: Need{Weights: 100}}, 0, true, false},
	} {
		s := State{Limits: Limits{Memory: 2<<30 + c.room}}
		if c.other.ID != "" {
			s.Models = []Model{c.other}
		}
		n, both, err := s.SwapDrafter(m, Size{Bytes: linear{600, 1}.Bytes}, c.old)
		if n.Bytes() != 700 || both != c.both || (err == nil) != c.ok {
			t.Errorf("%s: %d bytes, both %t, %v; want 700 bytes, both %t, ok %t",
				c.name, n.Bytes(), both, err, c.both, c.ok)
		}
	}
}
