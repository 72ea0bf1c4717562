package bridge

import (
	"context"
	"strings"
	"testing"
)

// Tokens and passwords of the runner reach neither commands nor logs.
func TestCommandsGetNoSecrets(t *testing.T) {
	b := newBench(t, "env; cat; exit 1\n")
	secret := "s3cr3t"
	for _, name := range []string{"GITHUB_TOKEN", "PUSH_TOKEN", "HF_TOKEN", "ACTIONS_RUNTIME_TOKEN",
		"TANDEM_BRIDGE_RUNNER_TOKEN", "TANDEM_API_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD",
		"GIT_CONFIG_VALUE_1"} {
		b.env[name] = secret
	}
	b.env["HTTPS_PROXY"] = "http://me:" + secret + "@proxy:80"
	b.env["GOPROXY"] = "https://me:" + secret + "@example.org,direct"
	b.env["HTTP_PROXY"] = "http://proxy:80"
	b.env["GOCACHE"] = "/cache"
	b.env["RUNNER_TRACKING_ID"] = "github_1"
	// Folders of Homebrew's versions have an @ in their names.
	b.env["PATH"] += ":/opt/homebrew/opt/python@3.12/bin"
	b.env["HOME"] = "/Users/me@home"
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	log := b.result("nonce-1", "0-go.log")
	if strings.Contains(log, secret) || strings.Contains(log, "GOPROXY") {
		t.Errorf("the command got\n%s", log)
	}
	for _, want := range []string{"GOCACHE=/cache", "PATH=" + b.env["PATH"], "HOME=/Users/me@home",
		"HTTP_PROXY=http://proxy:80", "RUNNER_TRACKING_ID=github_1", "GOFLAGS=-count=1"} {
		if !strings.Contains("\n"+log, "\n"+want+"\n") {
			t.Errorf("the command did not get %s but\n%s", want, log)
		}
	}
	if strings.Contains(b.result("nonce-1", summaryFile)+b.messages.String(), secret) {
		t.Error("the summary or the messages show a secret")
	}
}

// A variable of a preset must be there and lead to something, or nothing starts. Variables that are
// not in the table cannot be read at all.
func TestVariablesAreChecked(t *testing.T) {
	for value, want := range map[string]string{
		"":                        "set TANDEM_BRIDGE_MODEL on the Mac to the folder of the model",
		"models/x":                "must be an absolute path",
		"-x":                      "must be an absolute path",
		"/nowhere/at/all":         "leads to nothing",
		"/tmp\n/x":                "is no path",
		strings.Repeat("/a", 4e3): "is no path",
	} {
		b := newBench(t, "exit 0\n")
		b.runner.start = func(context.Context, command) (int, error) {
			t.Errorf("%.20q: a process was started", value)
			return 0, nil
		}
		b.withModel()
		b.env["TANDEM_BRIDGE_MODEL"] = value
		b.ask("recall", "nonce-1", nil)
		_, err := b.runner.Run(t.Context(), ManifestFile)
		if ExitCode(err) != ExitIncapable || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", value, err, want)
		}
		// The client learns why.
		if s := b.result(rejectedFolder, summaryFile); !strings.Contains(s, "TANDEM_BRIDGE_MODEL") {
			t.Errorf("%.20q: the summary is %s", value, s)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "HOME", "PATH", "TANDEM_BRIDGE_RUNNER_TOKEN", ""} {
		if v, err := variable(name, func(string) string { return "/tmp" }); err == nil || v != "" {
			t.Errorf("a preset could read %s", name)
		}
	}
}
