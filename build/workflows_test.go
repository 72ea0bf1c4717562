package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestActionsArePinnedByHash expects of each action in a workflow the hash of a commit, with the
// version beside it. A tag can be moved to other code.
func TestActionsArePinnedByHash(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows found", err)
	}
	pinned := regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimRight(line, "\n"); strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s: pin the action by hash and version: %s", file, strings.TrimSpace(line))
			}
		}
	}
}

// TestWorkflowRunsEveryTier expects a job of ci.yml for each line of .ci/run.
func TestWorkflowRunsEveryTier(t *testing.T) {
	run, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	workflow, err := os.ReadFile("../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, verbs, _ := strings.Cut(string(workflow), "verb: [")
	verbs, _, _ = strings.Cut(verbs, "]")
	jobs := map[string]bool{}
	for verb := range strings.SplitSeq(verbs, ", ") {
		jobs[verb] = true
	}
	tiers := regexp.MustCompile(`(?m)^timed go run \./build (.+)$`).FindAllStringSubmatch(string(run), -1)
	if len(tiers) == 0 {
		t.Error(".ci/run has no tier")
	}
	for _, tier := range tiers {
		if !jobs[tier[1]] {
			t.Errorf(".github/workflows/ci.yml has no job for %q", tier[1])
		}
	}
}
