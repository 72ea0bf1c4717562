package clients

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/build/setup"
)

func TestFeatureTableHasALinePerFeature(t *testing.T) {
	var f featureTable
	f.add("one", "chat")
	f.add("two", "tools")
	f.add("two", "chat")
	const want = "| checked | one | two |\n| --- | --- | --- |\n| chat | yes | yes |\n| tools |     | yes |\n"
	if got := f.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestClineAuthRefusesUnknownFields expects an error for a field that the Connect page does not
// name.
func TestClineAuthRefusesUnknownFields(t *testing.T) {
	const base, key, id = "Base URL: http://127.0.0.1:1/v1", "API Key: tandem", "Model ID: tandem"
	const want = "cline auth --provider openai-compatible --baseurl 'http://127.0.0.1:1/v1' --apikey 'tandem' --modelid 'tandem' && cline"
	if got, err := clineAuth(strings.Join([]string{base, key, id, "Context Window Size: 4096"},
		"\n")); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, lines := range [][]string{{key, id}, {base, id}, {base, key}, {base, key, "Model ID:"},
		nil} {
		if got, err := clineAuth(strings.Join(lines, "\n")); err == nil {
			t.Errorf("of %q it makes %q", lines, got)
		}
	}
}

// TestStandInIsALoadableModel expects a weights file as long as its header says, and the stand-in's
// template.
func TestStandInIsALoadableModel(t *testing.T) {
	b := &setup.Builder{Root: "../.."}
	dir := filepath.Join(t.TempDir(), "model")
	if err := standIn(b, dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	n := 8 + int(binary.LittleEndian.Uint64(file))
	var header map[string]struct {
		Shape   []int
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:n], &header); err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for name, h := range header {
		size := 4
		for _, d := range h.Shape {
			size *= d
		}
		if h.Offsets[1]-h.Offsets[0] != size {
			t.Errorf("%s has the offsets %v for the shape %v", name, h.Offsets, h.Shape)
		}
		bytes += size
	}
	if len(file) != n+bytes {
		t.Errorf("%d bytes, want %d", len(file), n+bytes)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja")); err != nil ||
		!strings.Contains(string(text), "<think>") {
		t.Errorf("%v, %s", err, text)
	}
}

// TestClientHasAHomeOfItsOwn expects a different home for each client. Of the caller's environment
// a client gets only PATH.
func TestClientHasAHomeOfItsOwn(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN",
		"TANDEM_API_KEY"} {
		t.Setenv(name, "a real one")
	}
	tier := &clientTier{Builder: &setup.Builder{Root: "../.."}, dir: t.TempDir()}
	homes := map[string]bool{}
	for range 2 {
		cmd, err := tier.isolated(t.Context(), "env")
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "HOME":
				homes[value] = true
				if value != cmd.Dir || filepath.Dir(value) != tier.dir {
					t.Errorf("its home is %s, it runs in %s", value, cmd.Dir)
				}
			case "PATH", "LANG", "PYTHONDONTWRITEBYTECODE", "PWD", "_":
			default:
				t.Errorf("it gets %s", strings.TrimSpace(line))
			}
		}
	}
	if len(homes) != 2 {
		t.Errorf("two clients have the homes %v", homes)
	}
}

// TestClientLocksPinEverything expects a version and a hash for each package, and none bound to a
// registry.
func TestClientLocksPinEverything(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no lists of packages", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "://") {
			t.Errorf("%s names an address", file)
		}
		for entry := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", ""), "\n") {
			if entry == "" || strings.HasPrefix(strings.TrimSpace(entry), "#") {
				continue
			}
			if !strings.Contains(entry, "==") || !strings.Contains(entry, "--hash=sha256:") {
				t.Errorf("%s: %.60s... is not pinned", file, entry)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join("node", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && (p.Version == "" || p.Integrity == "" || p.Resolved != "") {
			t.Errorf("package-lock.json has %s as %+v", name, p)
		}
	}
}

// TestEveryOperationHasToBeTried counts the operations of our description and holds schemathesis to
// that number.
func TestEveryOperationHasToBeTried(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", describedRoutes))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := operations(text); err != nil || n < 20 {
		t.Errorf("%d operations, %v", n, err)
	}
	if n, err := operations([]byte(`{"paths": {"/a": {"get": {}, "post": {}, "parameters": []}, "/b": {"delete": {}}}}`)); err != nil ||
		n != 3 {
		t.Errorf("%d operations, %v", n, err)
	}
	const said = "API Operations:\n  Selected: 23/23\n  Tested: 21\n\nTest Phases:\n"
	if err := triedAll([]byte(said), 21); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		said string
		want int
	}{{said, 23}, {"All is well.", 0}} {
		if triedAll([]byte(c.said), c.want) == nil {
			t.Errorf("%q is accepted as %d operations", c.said, c.want)
		}
	}
}
