package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"tandem/build/program"
	"tandem/build/setup"
)

// A connected client is set up only by what the Connect page says. The command that the page shows
// starts it.
type connected struct {
	id, name string
	feature  string // of the table
	script   string // file with the server's answers
	context  string // of the server, in tokens
	shows    string // regular expression that the output has to match
	copied   bool   // the client reads a file and writes another
	more     string // arguments behind those of the page; a model that they name is the server's
}

// The instructions of the agents fit into a context of roomy tokens, but not into one of scanty.
const roomy, scanty = "131072", "8192"

// connections returns the page's clients that can be installed here. About a prompt that is too
// long, Codex speaks in its own words, and Claude Code gives both numbers. A witness sees that the
// server told both numbers to each.
func connections() []connected {
	const greets, tool, edit, small = "set up by the Connect page", "a loop of tools",
		"an edit of a file", "told that the context is too short"
	all := []connected{
		{"curl", "curl", greets, "connect.json", roomy, `func Reverse`, false, ""},
		{"python", "openai, Python", greets, "connect.json", roomy, `func Reverse`, false, ""},
		{"javascript", "openai, Node", greets, "connect.json", roomy, `func Reverse`, false, ""},
		{"llm", "llm", greets, "connect.json", roomy, `Good day`, false, ""},
		{"aider", "Aider", edit, "aider.json", roomy, `Applied edit to copy\.txt`, true, ""},
		{"continue", "Continue CLI", tool, "continue.json", roomy, `Copied\.`, true, ""},
		{"cline", "Cline CLI", tool, "cline.json", roomy, `Copied\.`, true, ""},
		{"opencode", "OpenCode", tool, "opencode.json", roomy, `Copied\.`, true, ""},
		{"codex", "Codex CLI", tool, "codex.json", roomy, `Copied\.`, true, ""},
		{"codex", "Codex CLI", "--oss with Ollama's API", "codex.json", roomy, `Copied\.`, true, "--oss --local-provider ollama -m tandem"},
		{"codex", "Codex CLI", "additional and custom tools, which known models get", "codex-code.json", roomy, `Copied\.`, true, "-c model=gpt-5.6-sol"},
		{"codex", "Codex CLI", "tool search and patches, which known models get", "codex-patch.json", roomy, `Copied\.`, true, "-c model=gpt-5.5"},
		{"codex", "Codex CLI", small, "codex.json", scanty, `ran out of room in the model's context window`, false, ""},
		{"claude", "Claude Code", tool, "claude.json", roomy, `Copied\.`, true, ""},
		{"claude", "Claude Code", small, "claude.json", scanty, `too long.* ~?[0-9]{5} tokens \(limit 8192\)`, false, ""},
	}
	if !hasBinaries() {
		all = slices.DeleteFunc(all, func(c connected) bool {
			return c.id == "cline" ||
				c.id == "opencode"
		})
	}
	return all
}

// hasBinaries reports whether package-lock.json has the programs of Cline and OpenCode for this
// machine.
func hasBinaries() bool { return runtime.GOOS == "linux" && runtime.GOARCH == "amd64" }

// connect runs all connections, each against a fresh server.
func (t *clientTier) connect(ctx context.Context) error {
	bin := filepath.Join(t.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	programs, err := t.programs(ctx)
	if err != nil {
		return err
	}
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"),
			0o755); err != nil {
			return err
		}
	}
	var errs []error
	for _, c := range connections() {
		flags := t.scripted(c.script, "--context", c.context)
		if model, ok := strings.CutPrefix(c.more, "-c model="); ok {
			flags[1] = filepath.Join(t.dir, model)
			if err := standIn(t.Builder, flags[1]); err != nil {
				return err
			}
		}
		errs = append(errs, t.serve(ctx, flags,
			func(s *program.Server) error {
				start := time.Now()
				err := t.connectOne(ctx, c, s, bin)
				mark := "ok"
				if err != nil {
					mark, err = "FAIL", fmt.Errorf("%s: %w", c.name, err)
				} else {
					t.table.add(c.name, c.feature)
				}
				fmt.Fprintf(t.Out, "%-4s  %7.1f s  %s: %s\n",
					mark, time.Since(start).Seconds(), c.name, c.feature)
				return err
			}))
	}
	return errors.Join(errs...)
}

// connectOne lets a server write the file that a client reads, and runs the command that the page
// shows with it.
func (t *clientTier) connectOne(
	ctx context.Context, c connected, s *program.Server, bin string,
) error {
	written, err := writtenFor(ctx, s, c.id)
	if err != nil {
		return err
	}
	var told *witness
	if c.context == scanty {
		if told, err = between(s.URL, written.File); err != nil {
			return err
		}
		defer told.close()
	}
	// A program in JavaScript looks for its package in node_modules.
	if err := setup.Link(filepath.Join(s.Home, "node_modules"), t.modules); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clientLimit)
	defer cancel()
	cmd, err := t.isolated(ctx, "sh", "-c", strings.TrimSpace(written.Use+" "+c.more))
	if err != nil {
		return err
	}
	from, to := filepath.Join(cmd.Dir, "note.txt"), filepath.Join(cmd.Dir, "copy.txt")
	if err := os.WriteFile(from, []byte("the word is heron\n"), 0o644); err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "PATH="+bin+":/usr/bin:/bin", "CODEX_OSS_BASE_URL="+s.URL+"/v1",
		fmt.Sprintf("TASK=Copy %s to %s now", from, to))
	out, err := cmd.CombinedOutput()
	if told != nil {
		refusal, err := told.length()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		fmt.Fprintf(t.Out, "      the server to %s: %s\n", c.name, refusal)
	}
	if found := regexp.MustCompile(c.shows).Match(out); !found || c.copied && err != nil {
		return fmt.Errorf("the output does not match %s: %v\n$ %s\n%s",
			c.shows, err, written.Use, out)
	}
	if text, err := os.ReadFile(to); c.copied &&
		strings.TrimSpace(string(text)) != "the word was heron" {
		return fmt.Errorf("the client wrote %q, %v\n%s", text, err, out)
	}
	return nil
}

// A writtenFile is a client's file, and the command that uses it.
type writtenFile struct{ File, Use string }

// writtenFor lets a server write the file of a client of the Connect page.
func writtenFor(ctx context.Context, s *program.Server, id string) (c writtenFile, err error) {
	if id == "cline" {
		return filledIn(ctx, s)
	}
	if status, err := connectPage(ctx, s, "/"+id, "{}", &c); err != nil || c.Use == "" {
		return c, fmt.Errorf("the Connect page has no file for %s: %s, %v", id, status, err)
	}
	return c, nil
}

// filledIn returns the same for Cline, which reads no file. Its command line takes what the page
// tells a person to fill in.
func filledIn(ctx context.Context, s *program.Server) (c writtenFile, err error) {
	var page struct{ Connections []struct{ ID, Text string } }
	if _, err := connectPage(ctx, s, "", "", &page); err != nil {
		return c, err
	}
	for _, x := range page.Connections {
		if x.ID == "cline" {
			c.Use, err = clineAuth(x.Text)
			return c, err
		}
	}
	return c, errors.New("the Connect page has no cline")
}

// clineAuth returns the command that fills in the fields which a text of the page names.
func clineAuth(text string) (string, error) {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fields[name] = value
	}
	use := "cline auth --provider openai-compatible"
	for _, f := range [...]struct{ name, flag string }{{"Base URL", "baseurl"},
		{"API Key", "apikey"}, {"Model ID", "modelid"}} {
		value := fields[f.name]
		if value == "" {
			return "", fmt.Errorf("the Connect page's text for cline has no %s:\n%s", f.name, text)
		}
		use += fmt.Sprintf(" --%s '%s'", f.flag, value)
	}
	return use + " && cline", nil
}

// connectPage gets a path of a server's Connect page, or posts a body there.
func connectPage(
	ctx context.Context, s *program.Server, path, body string, into any,
) (status string, err error) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://tandem/app/connect"+path,
		strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := bySocket(s).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Status, json.NewDecoder(resp.Body).Decode(into)
}

// bySocket returns a client of a server's control routes.
func bySocket(s *program.Server) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix",
				filepath.Join(s.Home, "run", "control.sock"))
		}}}
}

// programs returns a script for each program that the page's commands start, by its name. A client
// that would open a screen gets a task instead. A script also turns off requests to other servers
// for updates and lists of models.
func (t *clientTier) programs(ctx context.Context) (map[string]string, error) {
	node, err := t.Output(t.Command(ctx, "node", "-p", "process.execPath"))
	if err != nil {
		return nil, err
	}
	claude, err := t.installed("@anthropic-ai", "claude-code-*", "claude")
	if err != nil {
		return nil, err
	}
	cline, opencode := "", ""
	if hasBinaries() {
		if cline, err = t.installed("@cline", "cli-*", "bin", "cline"); err != nil {
			return nil, err
		}
		if opencode, err = t.installed("opencode-*", "bin", "opencode"); err != nil {
			return nil, err
		}
	}
	codex, cn := filepath.Join(t.modules, "@openai", "codex", "bin", "codex.js"),
		filepath.Join(t.modules, "@continuedev", "cli", "dist", "cn.js")
	const prices = `"$HOME/.aider/caches/model_prices_and_context_window.json"`
	return map[string]string{
		"node":    fmt.Sprintf("exec '%s' \"$@\"", node),
		"python3": fmt.Sprintf("exec '%s' \"$@\"", t.python),
		"llm":     fmt.Sprintf("exec '%s' \"$@\"", filepath.Join(filepath.Dir(t.python), "llm")),
		"aider": fmt.Sprintf("mkdir -p \"$HOME/.aider/caches\" && echo {} >%s && export LITELLM_LOCAL_MODEL_COST_MAP=True\n"+
			"exec '%s' --no-git --yes-always --no-check-update --no-show-release-notes --no-analytics --message \"$TASK\" \"$@\" note.txt",
			prices, filepath.Join(filepath.Dir(t.aider), "aider")),
		"cn": fmt.Sprintf("export CONTINUE_TELEMETRY_ENABLED=0 CONTINUE_CLI_ENABLE_TELEMETRY=0 CONTINUE_METRICS_ENABLED=0 CONTINUE_CLI_AUTO_UPDATED=1\nexec '%s' '%s' \"$@\" --allow Write -p \"$TASK\"",
			node, cn),
		// Without these variables Cline leaves a process running for its next start. It also asks
		// its maker for features, despite its settings.
		"cline": fmt.Sprintf("mkdir -p \"$HOME/.cline/data/settings\" && echo '{\"telemetryOptOut\": true, \"autoUpdateEnabled\": false}' >\"$HOME/.cline/data/settings/global-settings.json\"\n"+
			"export CLINE_SESSION_BACKEND_MODE=local HTTPS_PROXY=http://127.0.0.1:9\n[ $# -gt 0 ] || set -- \"$TASK\"\nexec '%s' \"$@\"", cline),
		"opencode": fmt.Sprintf("export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1\nexec '%s' run --pure \"$TASK\"",
			opencode),
		"codex": fmt.Sprintf("exec '%s' '%s' exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \"$@\" \"$TASK\"",
			node, codex),
		"claude": fmt.Sprintf("exec '%s' --allowed-tools Read,Write -p \"$TASK\"", claude),
	}, nil
}

// installed returns the one program below the modules that was installed for this machine.
func (t *clientTier) installed(path ...string) (string, error) {
	found, err := filepath.Glob(filepath.Join(append([]string{t.modules}, path...)...))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d programs are installed as %s, want one: %v",
			len(found), filepath.Join(path...), err)
	}
	return found[0], nil
}
