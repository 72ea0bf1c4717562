package models_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tandem/engine/enginetest"
	"tandem/engine/mlx"
	"tandem/models"
)

// renamed returns the recorded shards of a model under other names, without their index.
func renamed(t *testing.T, names ...string) fstest.MapFS {
	t.Helper()
	files := recorded(t, "qwen3-untied")
	delete(files, "model.safetensors.index.json")
	var shards []*fstest.MapFile
	for i := range 3 {
		old := fmt.Sprintf("model-%05d-of-00003.safetensors", i+1)
		shards = append(shards, files[old])
		delete(files, old)
	}
	for i, name := range names {
		if name != "" {
			files[name] = shards[i]
		}
	}
	return files
}

// TestShardsWithoutAnIndexAreReadInOrderOfNames loads shards by the names that converters give.
func TestShardsWithoutAnIndexAreReadInOrderOfNames(t *testing.T) {
	th := enginetest.NewThread(t)
	want := lastLogits(t, th, recorded(t, "qwen3-untied"))
	for _, names := range [][]string{
		{"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"},
		{"model-00003-of-00003.safetensors", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors"},
		{"model-00000-of-00003.safetensors", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors"},
		{"model-1-of-3.safetensors", "model-2-of-3.safetensors", "model-3-of-3.safetensors"},
		{"model.part1.safetensors", "model_part2.safetensors", "model3.safetensors"},
		{"weights.00.safetensors", "weights.01.safetensors", "weights.02.safetensors"},
		{"part-1-of-3.safetensors", "part-2-of-3.safetensors", "part-3-of-3.safetensors"},
		{"weights-1-of-3.safetensors", "weights-2-of-3.safetensors", "weights-3-of-3.safetensors"},
	} {
		files := renamed(t, names...)
		files["adapter.safetensors"] = &fstest.MapFile{Data: []byte("another's")}
		if got := lastLogits(t, th, files); !slices.Equal(got, want) {
			t.Errorf("%s: other logits", names)
		}
	}
}

// TestMissingShardWithoutAnIndexIsNamed expects the names to tell how many shards there are.
func TestMissingShardWithoutAnIndexIsNamed(t *testing.T) {
	th := enginetest.NewThread(t)
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"model-00001-of-00003.safetensors", "", "model-00003-of-00003.safetensors"}, "model-00002-of-00003.safetensors is missing"},
		{[]string{"model-1-of-3.safetensors", "model-2-of-3.safetensors"}, "model-3-of-3.safetensors is missing"},
		{[]string{"model-00001-of-90000.safetensors"}, "is one of more than 4096 files"},
		{[]string{"other.safetensors"}, "model.safetensors is missing"},
		{nil, "model.safetensors is missing"},
	} {
		_, err := models.OpenFS(renamed(t, c.names...), "").Load(t.Context(), th, models.Options{})
		e, ok := errors.AsType[*models.Error](err)
		if !ok || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: got %v, want %s", c.names, err, c.want)
		}
	}
}

// TestOddIndexIsRead loads a model whose index spells its files with a folder, names them oddly, or
// is left over beside a single file.
func TestOddIndexIsRead(t *testing.T) {
	th := enginetest.NewThread(t)
	want := lastLogits(t, th, recorded(t, "qwen3-untied"))
	dotted := recorded(t, "qwen3-untied")
	const index = "model.safetensors.index.json"
	dotted[index] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(dotted[index].Data),
		`"model-`, `"./model-`))}
	if got := lastLogits(t, th, dotted); !slices.Equal(got, want) {
		t.Error("./NAME in the index: other logits")
	}
	odd := recorded(t, "qwen3-untied")
	text := string(odd[index].Data)
	for i, name := range []string{"c.safetensors", "a b.safetensors", "0.safetensors"} {
		old := fmt.Sprintf("model-%05d-of-00003.safetensors", i+1)
		odd[name] = odd[old]
		delete(odd, old)
		text = strings.ReplaceAll(text, old, name)
	}
	odd[index] = &fstest.MapFile{Data: []byte(text)}
	if got := lastLogits(t, th, odd); !slices.Equal(got, want) {
		t.Error("odd names in the index: other logits")
	}
	single := recorded(t, "qwen3")
	want = lastLogits(t, th, single)
	single[index] = &fstest.MapFile{Data: []byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors"}}`)}
	if got := lastLogits(t, th, single); !slices.Equal(got, want) {
		t.Error("an index left over beside a single file: other logits")
	}
}

// TestCheckpointOfManyTensorsIsRefused expects a bound on the tensors of all shards together.
func TestCheckpointOfManyTensorsIsRefused(t *testing.T) {
	th := enginetest.NewThread(t)
	files := tiny(t, "llama")
	delete(files, "model.safetensors")
	for shard := range 9 {
		var b strings.Builder
		for i := range mlx.MaxTensors {
			fmt.Fprintf(&b, `,"%d.%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, shard, i)
		}
		header := "{" + b.String()[1:] + "}"
		data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		files[fmt.Sprintf("model-%d-of-9.safetensors", shard+1)] = &fstest.MapFile{
			Data: append(data, header...)}
	}
	_, err := models.OpenFS(files, "").Load(t.Context(), th, models.Options{})
	if err == nil || !strings.Contains(err.Error(), "more than 262144 tensors") {
		t.Errorf("got %v, want a refusal", err)
	}
}
