package bridge

import (
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The workflow runs on the bridge's branches alone and on our own runner, takes actions by hash, and
// puts nothing into a script that others can write.
func TestWorkflowIsSafe(t *testing.T) {
	text := read(t, "../../"+WorkflowFile)
	var w struct {
		On   map[string]map[string][]string
		Jobs map[string]struct {
			RunsOn []string `yaml:"runs-on"`
			Steps  []struct {
				Uses, Run string
				With      map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	push := w.On["push"]
	if len(w.On) != 1 || len(push) != 1 || len(push["branches"]) != 1 ||
		push["branches"][0] != BranchPrefix+"**" {
		t.Errorf("it runs on %v", w.On)
	}
	if len(w.Jobs) != 1 {
		t.Errorf("it has the jobs %v", w.Jobs)
	}
	for _, job := range w.Jobs {
		if got := strings.Join(job.RunsOn, " "); got != "self-hosted macOS ARM64 "+Label {
			t.Errorf("it runs on %s", got)
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(step.Uses) {
				t.Errorf("%s is not pinned by its hash", step.Uses)
			}
			if strings.HasPrefix(step.Uses, "actions/checkout@") &&
				step.With["persist-credentials"] != false {
				t.Error("checkout leaves the token in the checkout")
			}
			if strings.Contains(step.Run, "${{") {
				t.Errorf("a script has an expression, so whoever names a branch writes it: %s", step.Run)
			}
		}
	}
	for _, word := range []string{"github.event", "head_ref", "request.json", "secrets."} {
		if strings.Contains(text, word) {
			t.Errorf("it uses %s", word)
		}
	}
}
