package openai_test

import (
	"strings"
	"testing"

	"tandem/app/control"
	"tandem/app/roomtest"
)

// TestServedContextIsReported: clients get the context length that will be served.
func TestServedContextIsReported(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnState = func(s *control.State) { s.ContextLimit = 100 }
	w := roomtest.Get(serve(fake), "/v1/models/other")
	if !strings.Contains(w.Body.String(), `"context_length":100,"max_model_len":100`) ||
		strings.Contains(w.Body.String(), "short_context") {
		t.Error(w.Body)
	}
}

// TestContextThatCannotBeHadIsReported: clients are told why a model has less than was asked for.
func TestContextThatCannotBeHadIsReported(t *testing.T) {
	fake := roomtest.NewBackend()
	fake.OnState = func(s *control.State) { s.ContextLimit = 1_000_000 }
	w := roomtest.Get(serve(fake), "/v1/models/other")
	if !strings.Contains(w.Body.String(),
		`"short_context":"--context asks for 1,000,000 tokens, and the model was made for `) {
		t.Error(w.Body)
	}
}
