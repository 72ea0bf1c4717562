//go:build long

package bench

import (
	"testing"

	"tandem/engine/enginetest"
	"tandem/models"
)

// starterFile is the starter model, which `go run ./build setup` fetches.
const starterFile = "../../models/starter/.deps/starter.gguf"

// Models that people get decode with drafts as without, often enough for each count of accepted drafts.
func TestDraftsOfServedModelsKeepTheirAnswers(t *testing.T) {
	for _, dir := range []string{"", starterFile} {
		t.Run(ModelName(dir), func(t *testing.T) {
			th, b, err := OpenModel(t.Context(), dir, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer th.Close()
			defer b.Close()
			(&losslessBench{thread: th, bundle: b, least: 50, blocks: []int{2, 4, 8, 16}}).check(t)
		})
	}
}

// Models that people get, rings and recurrent states restore what flows share, come back after a restart
// and stay within their memory.
func TestCheckpointsOfServedModelsKeepTheirPromises(t *testing.T) {
	for _, dir := range []string{"", starterFile, enginetest.TinyModel(t, "gemma3_text"),
		enginetest.TinyModel(t, "qwen3_5")} {
		t.Run(ModelName(dir), func(t *testing.T) {
			b := openCheckpointSuite(t, dir)
			b.probes, b.texts, b.mixed = 20, 8, 500
			b.restores(t)
			b.comesBack(t, min(4000, b.bundle.Model.Config().ContextLength-8))
			b.keepsBudget(t)
		})
	}
}
