package api_test

import (
	"strings"
	"testing"

	"tandem/app/roomtest"
)

func TestMetricsAreWritten(t *testing.T) {
	s := serve(roomtest.NewBackend())
	for _, body := range []string{
		`{"model":"tandem","prompt":"secret"}`,
		`{"model":"tandem","prompt":"secret","max_tokens":2,"n":2,"stream":true}`,
		`{"model":"gpt-secret","prompt":"x"}`,
	} {
		roomtest.Post(s, "/v1/completions", body)
	}
	w := roomtest.Get(s, "/metrics")
	text := w.Body.String()
	for _, line := range []string{
		`tandem_requests_total{code="200",endpoint="/v1/completions"} 2`,
		`tandem_requests_total{code="404",endpoint="/v1/completions"} 1`,
		`tandem_request_seconds_count{endpoint="/v1/completions"} 3`,
		`tandem_prompt_tokens_total 14`,
		`tandem_completion_tokens_total 17`,
		`tandem_cached_tokens_total 6`,
		`tandem_time_to_first_token_seconds_count 2`,
		`tandem_inter_token_seconds_count 15`,
		`tandem_requests_in_flight 0`,
		`tandem_models_loaded 1`,
		`tandem_mlx_active_bytes 1.048576e+06`,
		`tandem_queue_depth 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("the figures have text of the request")
	}
	if !strings.Contains(text, "go_goroutines ") ||
		!strings.Contains(text, "process_start_time_seconds ") {
		t.Error("the figures of the process are missing")
	}
	if t.Failed() {
		t.Log(text)
	}
}
