package bridge

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// The workflow runs on the bridge's branches alone and on our own runner. It takes actions by hash.
// No text that others can write gets into its scripts. The token is there for one step.
func TestWorkflowIsSafe(t *testing.T) {
	text := read(t, "../../"+WorkflowFile)
	var w struct {
		Name        string
		On          map[string]map[string][]string
		Permissions map[string]string
		Concurrency map[string]any
		Jobs        map[string]struct {
			RunsOn  []string `yaml:"runs-on"`
			Timeout int      `yaml:"timeout-minutes"`
			Steps   []struct {
				Name, Uses, Run, If string
				With                map[string]any
				Env                 map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true) // so neither it nor a job or step has variables or rights beside these
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	push := w.On["push"]
	if len(w.On) != 1 || len(push) != 1 || len(push["branches"]) != 1 ||
		push["branches"][0] != BranchPrefix+"**" {
		t.Errorf("it runs on %v", w.On)
	}
	if !maps.Equal(w.Permissions, map[string]string{"contents": "write"}) {
		t.Errorf("its rights are %v", w.Permissions)
	}
	if len(w.Jobs) != 1 {
		t.Errorf("it has the jobs %v", w.Jobs)
	}
	var names []string
	for _, job := range w.Jobs {
		if got := strings.Join(job.RunsOn, " "); got != "self-hosted macOS ARM64 "+Label {
			t.Errorf("it runs on %s", got)
		}
		for _, p := range Presets() {
			// The other steps take minutes.
			if most := p.Limit + queueLimit + 10*time.Minute; most > time.Duration(job.Timeout)*time.Minute {
				t.Errorf("the job may end before a run of %s that waited", p.Name)
			}
		}
		for _, step := range job.Steps {
			names = append(names, step.Name+step.Uses)
			variables := strings.Join(slices.Sorted(maps.Keys(step.Env)), " ")
			if step.Name == "Publish" {
				if variables != "BRANCH COMMIT PUSH_TOKEN URL" ||
					step.Env["URL"] != "${{ github.server_url }}/${{ github.repository }}" {
					t.Errorf("the push gets %v", step.Env)
				}
			} else if variables != "" {
				t.Errorf("%s gets %s", step.Name, variables)
			}
			if step.Name == "Run" && !strings.HasPrefix(step.Run, "exec ") {
				t.Error("a cancel's signals reach the shell in place of Tandem")
			}
			if strings.HasPrefix(step.Uses, "actions/checkout@") {
				names[len(names)-1] = "checkout"
				if step.With["persist-credentials"] != false {
					t.Error("checkout leaves the token in the checkout")
				}
				if step.With["fetch-depth"] != 2 {
					t.Error("checkout leaves out the commit that is measured")
				}
			}
			if step.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(step.Uses) {
				t.Errorf("%s is not pinned by its hash", step.Uses)
			}
			if strings.Contains(step.Run, "${{") {
				t.Errorf("a script has an expression, so whoever names a branch writes it: %s", step.Run)
			}
		}
	}
	if !slices.Equal(names, []string{"Clear", "checkout", "Run", "Publish"}) {
		t.Errorf("its steps are %q", names)
	}
	if n := strings.Count(text, "token }}"); n != 1 {
		t.Errorf("the token stands in %d places", n)
	}
	for _, word := range []string{"github.event", "head_ref", "request.json", "secrets", "toJSON"} {
		if strings.Contains(text, word) {
			t.Errorf("it uses %s", word)
		}
	}
}
