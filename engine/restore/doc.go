// Package restore bounds what the attention layers of a model keep. A bounded layer keeps its own
// rows at the beginning and at the end of a text. At the positions between, it attends rows that are
// restored from the layers of a drafter.
package restore
