package gguf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// headPrefix begins the names of a head for multi-token prediction, as its makers have them among
// the tensors of the model.
const headPrefix = "mtp."

// headNames has what a layer that predicts a further token has in addition to other layers'
// tensors. llama.cpp calls the two norms after the embedding and the hidden state that they take.
var headNames = map[string]string{
	"nextn.eh_proj":          "fc",
	"nextn.enorm":            "pre_fc_norm_embedding",
	"nextn.hnorm":            "pre_fc_norm_hidden",
	"nextn.shared_head_norm": "norm",
}

// head returns what becomes of the tensors of the layers that predict further tokens, which begin
// at depth. If such a head is not supported, the list is nil and why says so in one sentence. The
// model can still be loaded.
func (m *model) head(f *family, c *config, depth int, tensors []tensor) (
	list []*source, why string, err error) {
	n := c.predictors()
	switch {
	case len(tensors) == 0:
		return nil, "", nil
	case !f.predicts:
		return nil, fmt.Sprintf("its layers that predict further tokens (%d) can't draft: "+
			"only those of the architectures qwen35 and qwen35moe can", n), nil
	case n != 1:
		return nil, fmt.Sprintf("its %d layers that predict further tokens can't draft: "+
			"one is supported", n), nil
	}
	const cannot = "its layer that predicts a further token can't draft: the file "
	lost := m.losses
	defer func() { m.losses = lost }() // what the head loses is not the model's loss
	missing := maps.Clone(headNames)
	for _, t := range tensors {
		to, err := f.renameHead(t.name, depth)
		s := &source{tensor: t, to: headPrefix + to}
		if err == nil {
			err = m.finish(f, c, s)
		}
		if _, unfit := errors.AsType[*UnsupportedError](err); unfit {
			return nil, cannot + err.Error(), nil
		}
		if err != nil {
			return nil, "", err
		}
		delete(missing, headStem(t.name))
		list = append(list, s)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		return nil, fmt.Sprintf("%slacks blk.%d.%s.weight", cannot, depth, name), nil
	}
	return list, "", nil
}

// headStem returns what follows the layer in the name of a weight.
func headStem(name string) string {
	_, stem, _ := layerOf(strings.TrimSuffix(name, ".weight"))
	return stem
}

// renameHead returns what a head calls the tensor of a layer that predicts a further token.
func (f *family) renameHead(name string, layer int) (string, error) {
	if to := headNames[headStem(name)]; to != "" {
		return to + ".weight", nil
	}
	to, err := f.rename(name)
	return strings.Replace(to, fmt.Sprintf("model.layers.%d.", layer), "layers.0.", 1), err
}
