package nn

// Kept is what one layer keeps of a text while the model answers.
type Kept struct {
	Row    int // elements a position, in the type that the model computes in; 0 of a recurrent layer
	Window int // positions that the layer looks back; 0 = all
	State  int // float32 elements, however long the text is
}

// KeptRows is the Kept of an attention layer.
func (a *Args) KeptRows(window int) Kept {
	return Kept{Row: 2 * a.NumKeyValueHeads * a.HeadDim, Window: window}
}
