package lm

// A Pooling says which hidden states of a text make its embedding. The names are those of
// sentence-transformers.
type Pooling string

const (
	PoolLast  Pooling = "lasttoken" // that of the last token
	PoolMean  Pooling = "mean"      // the mean of all
	PoolFirst Pooling = "cls"       // that of the first token
)
