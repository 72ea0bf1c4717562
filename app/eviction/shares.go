package eviction

// A Share is the memory of one model beside the needs of all, in bytes.
type Share struct {
	Sequences   int64 // that its sequences in flight may take, a whole context at least
	Checkpoints int64 // 0 if requests leave none of it
}

// Shares returns the share of each model in memory: for sequences a whole context of its own, and an equal
// part of what all models leave; for checkpoints an equal part of their memory. A model that is being
// loaded counts as one of them; coming is its need, or zero.
func (s State) Shares(coming Need) []Share {
	spare, parts := s.Left()-coming.Bytes(), int64(len(s.Models))
	if coming != (Need{}) {
		parts++
	}
	checkpoints, keepers := s.CheckpointBudget(coming)
	shares := make([]Share, len(s.Models))
	for i, m := range s.Models {
		shares[i].Sequences = m.Need.Cache + max(0, spare)/parts
		if m.KeepsCheckpoints {
			shares[i].Checkpoints = checkpoints / keepers
		}
	}
	return shares
}

// CheckpointBudget returns how much memory checkpoints may take now, in bytes, beside a model that is
// coming, and how many models share it. The models' needs come first, since the setting for checkpoints
// may have grown since they were loaded.
func (s State) CheckpointBudget(coming Need) (bytes, keepers int64) {
	left := s.besideTexts() - coming.Bytes()
	for _, m := range s.Models {
		left -= m.Need.Bytes()
		if m.KeepsCheckpoints {
			keepers++
		}
	}
	bytes = min(s.Checkpoints, max(0, left))
	if s.CheckpointLimit > 0 {
		bytes = min(bytes, s.CheckpointLimit)
	}
	return bytes, keepers
}

// Overdrawn returns the id of a model whose sequences in flight take more than its share beside a model
// that is coming, or "".
func (s State) Overdrawn(coming Need) string {
	for i, share := range s.Shares(coming) {
		if s.Models[i].InFlight > share.Sequences {
			return s.Models[i].ID
		}
	}
	return ""
}
