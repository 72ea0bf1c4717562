package models_test

import (
	"fmt"
	"slices"
	"testing"

	"tandem/engine"
	"tandem/engine/draft"
	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/engine/texts"
)

// cutHead leaves one token in eight out of the head of the drafter in a folder, which it returns.
func cutHead(t *testing.T, dir string, vocab int) string {
	t.Helper()
	var ids []int32
	for id := range int32(vocab) {
		if id%8 != 3 {
			ids = append(ids, id)
		}
	}
	enginetest.CutDrafterHead(t, dir, mlx.Int32, ids...)
	return dir
}

// readIDs returns the ids of an array, nil for a nil one.
func readIDs(s *mlx.Scope, ids *mlx.Array) ([]int32, error) {
	if ids == nil {
		return nil, nil
	}
	list, err := mlx.Read[int32](s, ids)
	return slices.Clone(list), err
}

// A piece of an answer that is remembered for drafters that go on where a match ends, in tokens. A match
// takes a suffix of minSuffix, so the rest is what is known.
const (
	recalledPiece = 6
	minSuffix     = 3
)

// recalledTexts remember texts for drafting, for each request by a client of its own.
type recalledTexts struct {
	t       *testing.T
	store   *texts.Store
	clients int
}

func newRecalledTexts(t *testing.T) *recalledTexts {
	return &recalledTexts{t: t, store: texts.NewStore(texts.Options{Dir: t.TempDir()})}
}

// giveTexts gives a request a client that said its answer before, if its drafter looks there. The
// caller closes the request's texts.
//
// For the drafter memory, every eleventh token is wrong. For one that goes on where a match ends, the
// answer was said in short pieces, so that every match ends soon. Every second piece has a wrong token.
func (m *recalledTexts) giveTexts(r *engine.Request, d draft.Drafter, answer []int32) {
	said := slices.Clone(answer)
	size := len(said)
	switch d.(type) {
	case draft.Memory:
		for i := 8; i < len(said); i += 11 {
			said[i] = (said[i] + 1) % 128 // below every vocabulary here
		}
	case *draft.Continued:
		size = recalledPiece
		for i := recalledPiece + 4; i < len(said); i += 2 * recalledPiece {
			said[i] = (said[i] + 1) % 128
		}
	default:
		return
	}
	m.clients++
	owner := texts.Owner{Client: fmt.Sprint(m.clients)}
	r.Texts = m.store.Open(owner, texts.Origin{})
	for piece := range slices.Chunk(said, size) {
		r.Texts.Add(texts.Text{Tokens: piece})
	}
	m.store.Flush()
}

// wentOn reports whether a round accepted more than the memory knew of the answer.
func wentOn(s engine.Stats) bool {
	at := 1 // tokens of the answer
	for i, n := range s.Accepts {
		within := at % recalledPiece
		if s.Depths[i] > 0 && within >= minSuffix && n > recalledPiece-within {
			return true
		}
		at += 1 + n
	}
	return false
}
