package draft

import (
	"slices"
	"testing"

	"tandem/engine/mlx"
)

// known is a lookup that has some tokens.
type known struct {
	Draft
	tokens []int32
}

func (k known) Preview(_ []int32, n int) []int32 { return k.tokens[:min(n, len(k.tokens))] }

func (k known) Peek(history []int32, n int) int { return len(k.Preview(history, n)) }

func (k known) Features([]int32) Features { return Features{Match: 4, Count: 1, Share: 1} }

// counter guesses the numbers after the last token.
type counter struct{ Draft }

func (counter) Propose(s *mlx.Scope, history []int32, n int) Proposal {
	next := make([]int32, n)
	for i := range next {
		next[i] = history[len(history)-1] + 1 + int32(i)
	}
	return certain(s, next)
}

// A round of any depth up to the announced one gets as many drafts as it asks for: all of the
// lookup's first, then the trained drafter's.
func TestContinuedDraftProposesAtEveryDepth(t *testing.T) {
	const most = 7
	th, err := mlx.NewThread(mlx.Options{CPU: true})
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	history := []int32{9}
	for _, has := range []int{0, 1, 3, most - 1, most, most + 5} {
		lookup := known{tokens: []int32{40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51}[:has]}
		d := &continued{lookups: []Lookup{lookup}, trained: counter{}, limit: most}
		whole := 0
		if has > 0 && has < most { // else the lookup alone has nothing, or enough
			whole = most
		}
		for n := 1; n <= most+2; n++ {
			want := min(n, whole)
			if got := d.Peek(history, n); got != want {
				t.Errorf("%d known tokens: of %d drafts it announces %d, want %d", has, n, got, want)
			}
			var got []int32
			if err := th.Do(t.Context(), func(s *mlx.Scope) (err error) {
				if p := d.Propose(s, history, n); p.N > 0 {
					got, err = mlx.Read[int32](s, p.Tokens)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, []int32{40, 41, 42, 43, 44, 45, 46}[:want]) {
				t.Errorf("%d known tokens: of %d drafts it proposes %v", has, n, got)
			}
		}
	}
}
