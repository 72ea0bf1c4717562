package bridge

import (
	"slices"
	"strings"
	"time"
)

// A Preset is a list of commands that a manifest may ask for by name.
//
// A word of a command is plain, or one of these:
//
//	{NAME}       a parameter
//	{report}     the file that the preset's report goes to
//	${ENV:NAME}  a variable of the runner, one of its table
//
// The first word is a program: go, mkdir, ln, tandem or tandem-lab. The last two are what the
// commands before them built from the commit. Only the gate, tandem-lab evidence check, is the
// program that runs the request: a commit must not judge itself.
type Preset struct {
	Name   string
	Doc    string // one line
	Params []Param
	Limit  time.Duration // for all commands together

	Measures bool // its figures are meaningful only on a Mac
	Reports  bool // its commands write {report}, which the gate then checks

	commands [][]string
}

// Built returns the file of a program that presets build from the commit, relative to its files. Git
// ignores it.
func Built(program string) string { return "build/out/bridge/" + program }

// mains are the packages of the programs that presets build.
var mains = map[string]string{"tandem": "./app/cmd/tandem", "tandem-lab": "./app/cmd/lab"}

// build returns the commands that make a program, with the starter model beside it as in a release.
func build(program string) [][]string {
	return [][]string{
		{"go", "run", "./build", "setup"},
		{"go", "build", "-o", Built(program), mains[program]},
		{"mkdir", "-p", "build/out/bridge/models"},
		{"ln", "-sf", "../../../../models/starter/.deps/starter.gguf", "build/out/bridge/models/"},
	}
}

// gate is the command that decides whether a report may make its claims.
var gate = []string{"tandem-lab", "evidence", "check", "{report}"}

// isGate reports whether the words of a command call the gate.
func isGate(words []string) bool {
	return len(words) > 2 && words[0] == gate[0] && words[1] == gate[1] && words[2] == gate[2]
}

// Variables that a preset may read, with the purpose of each. None is a secret.
var variables = map[string]string{
	"TANDEM_BRIDGE_MODEL":   "the folder of the model that this Mac measures",
	"TANDEM_BRIDGE_DRAFTER": "the folder of that model's drafter",
}

// Presets returns the allow-list, in the order in which it is printed.
func Presets() []Preset {
	const model, drafter = "${ENV:TANDEM_BRIDGE_MODEL}", "${ENV:TANDEM_BRIDGE_DRAFTER}"
	samples := integer("samples", "prompts per arm", 10, 5, 50)
	tokens := integer("tokens", "tokens of an answer", 128, 16, 2048)
	measured := func(name, doc string, limit time.Duration, params []Param,
		args ...string) Preset {
		bench := append([]string{"tandem-lab", "bench"}, args...)
		return Preset{Name: name, Doc: doc, Params: params, Limit: limit, Measures: true,
			Reports: true, commands: append(build("tandem-lab"),
				append(bench, "--out", "{report}"))}
	}
	parity := func(dtype string) Preset {
		return measured("drafter-parity-"+dtype, "the drafter against its reference in "+dtype,
			30*time.Minute, nil, "drafter-parity", "--dtype", dtype)
	}
	return []Preset{
		{Name: "probe", Doc: "what the Mac has and lacks", Limit: 30 * time.Minute,
			commands: append(build("tandem"), []string{"tandem", "version"},
				[]string{"tandem", "doctor"})},
		{Name: "tests", Doc: "every deterministic test", Limit: 90 * time.Minute,
			commands: [][]string{{"go", "run", "./build", "test"}}},
		{Name: "test-path", Doc: "the Go tests of one folder", Limit: 45 * time.Minute,
			Params: []Param{folder("path", "folder of the tests, such as engine/cache")},
			commands: [][]string{{"go", "run", "./build", "setup"},
				{"go", "test", "-count=1", "-timeout=40m", "{path}"}}},
		{Name: "gate", Doc: "the Mac's evidence gate on a report of the checkout",
			Limit:    5 * time.Minute,
			Params:   []Param{reportFile("file", "the report, a file of the checkout such as reports/recall.json")},
			commands: [][]string{{"tandem-lab", "evidence", "check", "{file}"}}},
		measured("recall", "needles in a haystack", 2*time.Hour,
			[]Param{samples, choice("size", "length of the haystack", "ctx70", "ctx70", "ctx280")},
			"recall", "--model", model, "--samples", "{samples}", "--size", "{size}"),
		measured("code", "code tasks that end by themselves, in blocks of 4, 8 and 16 rows",
			2*time.Hour, []Param{tokens},
			"code", "--model", model, "--drafter", drafter, "--tokens", "{tokens}"),
		measured("block-size", "code tasks in blocks of one size", time.Hour,
			[]Param{tokens, integer("block", "rows of a block", 8, 2, 16)},
			"code", "--model", model, "--drafter", drafter, "--tokens", "{tokens}", "--block",
			"{block}"),
		measured("kvquant", "quantized caches against whole ones", 2*time.Hour, []Param{samples},
			"kvquant", "--model", model, "--samples", "{samples}"),
		parity("float32"),
		parity("bf16"),
		measured("fused-probe", "drafter and model in one graph, timed block by block",
			30*time.Minute, []Param{integer("tokens", "tokens of an answer", 16, 16, 64)},
			"code", "--probe", "fused", "--model", model, "--drafter", drafter, "--tokens",
			"{tokens}"),
		measured("scorecard", "one page on the starter model", time.Hour, nil, "scorecard"),
	}
}

// FindPreset returns the preset of a name.
func FindPreset(name string) (Preset, bool) {
	all := Presets()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return all[i], true
}

// Commands returns the commands as templates, the gate's too.
func (p Preset) Commands() [][]string {
	if p.Reports {
		return append(slices.Clone(p.commands), gate)
	}
	return p.commands
}

// Variables returns the names of the variables that the preset reads, each once.
func (p Preset) Variables() []string {
	var names []string
	for _, words := range p.Commands() {
		for _, word := range words {
			if name, ok := variableOf(word); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// param returns the parameter of a name.
func (p Preset) param(name string) (Param, bool) {
	i := slices.IndexFunc(p.Params, func(x Param) bool { return x.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return p.Params[i], true
}

// variableOf returns NAME of a word ${ENV:NAME}.
func variableOf(word string) (string, bool) {
	rest, ok := strings.CutPrefix(word, "${ENV:")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "}")
}

// fieldOf returns NAME of a word {NAME}.
func fieldOf(word string) (string, bool) {
	rest, ok := strings.CutPrefix(word, "{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "}")
}
