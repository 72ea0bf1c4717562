package lab

import (
	"context"
	"iter"

	"github.com/spf13/pflag"

	"tandem/app/bench"
	"tandem/app/model"
	"tandem/engine"
)

// A Stage is a Tandem in a temporary home folder. It serves endpoints in this process, and a
// [Generating] function watches or replaces their engine.
type Stage interface {
	// Serve opens an endpoint on a free port and returns its address. Its models generate by the
	// function.
	Serve(generate Generating) (url string, err error)
	// Close ends it. The caller waits for its requests first.
	Close() error
}

// A Generating function is called in place of a model's Generate, which it may call.
type Generating = func(context.Context, model.Model, engine.Request) iter.Seq2[engine.Token, error]

// An OpenStage function opens a Tandem with the pocket model and a drafter; empty is auto. Package app
// provides it.
type OpenStage func(ctx context.Context, drafter string) (Stage, error)

// Retrieval returns the folder of the retrieval model: it only finds codes, and has a drafter and
// an f_theta.
type Retrieval func() (string, error)

// RetrievalModel is the name of that model. It is not a file: a folder of the same name is
// ./retrieval.
const RetrievalModel = "retrieval"

// orRetrieval is the help for that name at the --model of a bench that otherwise measures the
// pocket model.
func orRetrieval(f *pflag.FlagSet) {
	f.Lookup("model").Usage = "`DIR` of the model, or retrieval (default: the pocket model)"
}

// folder returns the folder of a model that a flag names.
func (r Retrieval) folder(name string) (string, error) {
	if name != RetrievalModel {
		return name, nil
	}
	return r()
}

// Benches returns all benches, in the order in which help lists them. starter is the path of the
// starter model, tandem the file of a tandem that serves unless a flag names another. Each may be
// "".
func Benches(starter, tandem string, retrieval Retrieval, open OpenStage) []bench.Bench {
	of := subjectOptions{starter: starter, retrieval: retrieval}
	plain := plainOptions{retrieval: retrieval}
	return []bench.Bench{
		{Name: "contexts", Doc: "plain decode and prefill after contexts of several lengths, tokens per second",
			New: func() bench.Options { return &contextOptions{plain} }},
		{Name: "load", Doc: "how fast GGUF files of 1 GB load, by what they hold",
			New: func() bench.Options { return &loadOptions{} }},
		{Name: "start", Doc: "milliseconds from start to the first answer of /health",
			New: func() bench.Options { return &startOptions{tandem} }},
		{Name: "memory", Doc: "memory held, and what 200 requests add to it",
			New: func() bench.Options { return &memoryOptions{plain} }},
		{Name: "endpoint", Doc: "what the endpoint adds to a token and to a request, how requests share the model, and what 1,000 requests leave behind",
			New: func() bench.Options { return &endpointOptions{open: open, program: tandem} }},
		{Name: "journey", Doc: "the stages from a forward of the whole text for each token to adaptive drafts, and what each reading of a drafter with sliding layers accepts",
			New: func() bench.Options { return &journeyOptions{retrieval: retrieval} }},
		{Name: "recall", Doc: "needles in a haystack, with full caches, bounded ones and restored rows",
			New: func() bench.Options { return &recallOptions{subjectOptions: of} }},
		{Name: "kvquant", Doc: "what fewer bits for keys and values cost: codecs on captured rows, and the caches of --kv-bits",
			New: func() bench.Options { return &kvquantOptions{subjectOptions: of} }},
		{Name: "code", Doc: "Python tasks that end by themselves, with drafts and without, by rows of a block",
			New: func() bench.Options { return &codeOptions{subjectOptions: of} }},
		{Name: "drafter-parity", Doc: "our forward of a DFlash drafter against recorded guesses of a reference",
			New: func() bench.Options { return &parityOptions{} }},
		{Name: "scorecard", Doc: "one page on a model: recall, bytes, speed and exactness, as the gate admits them",
			New: func() bench.Options { return &scorecardOptions{subjectOptions: of} }},
	}
}
