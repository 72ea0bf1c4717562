package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tandem/engine/lm"
	"tandem/engine/tokenizer"
)

// A Kind says what a model is for.
type Kind string

const (
	KindText      Kind = ""          // generates text
	KindEmbedding Kind = "embedding" // makes vectors of texts
	KindReranker  Kind = "reranker"  // says whether texts answer a query; generates text too
)

// A Purpose says what a model is for, and how. The package comment says where it comes from.
type Purpose struct {
	Kind Kind

	// Of KindEmbedding.
	Pooling   lm.Pooling
	Normalize bool // to a length of one

	// Yes and No are the tokens between which a KindReranker decides.
	Yes, No int32
}

// Words of Qwen3-Reranker, where no file names their ids.
const (
	rerankerName = "qwen3-reranker"
	yesToken     = "yes"
	noToken      = "no"
)

// maxModules bounds the modules of sentence-transformers.
const maxModules = 16

// readPurpose finds out what a model is for. name is the folder's. Yes and No are negative if the
// tokenizer has to give them. endTexts reports whether the tokenizer does what endsTexts says.
func readPurpose(fsys fs.FS, cfg *config, name string, endTexts func() bool) (Purpose, error) {
	for _, name := range cfg.Architectures {
		if strings.HasSuffix(name, "ForSequenceClassification") {
			return Purpose{}, errorf(CodeUnsupported,
				"is a classifier (%s), which is not supported; "+
					"a supported reranker is Qwen3-Reranker, in the form that its authors publish",
				name)
		}
	}
	p, told, err := readModules(fsys, cfg.text)
	if err != nil {
		return p, err
	}
	if !told && cfg.ModelType == "qwen3" {
		switch {
		case endTexts():
			p = Purpose{Kind: KindEmbedding, Pooling: lm.PoolLast, Normalize: true}
		case strings.HasPrefix(strings.ToLower(modelName(name)), rerankerName):
			p = Purpose{Kind: KindReranker, Yes: -1, No: -1}
		}
	}
	if p.Kind == KindReranker && cfg.ModelType != "qwen3" {
		return p, errorf(CodeUnsupported, "is a reranker of the type %q; "+
			"supported are rerankers with the layers and the prompt of Qwen3-Reranker",
			cfg.ModelType)
	}
	if p.Kind == KindEmbedding {
		err = checkCausal(cfg.text)
	}
	return p, err
}

// modelName returns the name of the model in a folder. The folder may be a snapshot in a hub's
// cache: models--ORG--NAME/snapshots/COMMIT.
func modelName(dir string) string {
	if above := filepath.Dir(dir); filepath.Base(above) == "snapshots" {
		folder := strings.TrimPrefix(filepath.Base(filepath.Dir(above)), "models--")
		_, name, _ := strings.Cut(folder, "--")
		return name
	}
	return filepath.Base(dir)
}

// causalOnly is the advice about models whose tokens see what follows them.
const causalOnly = "take an embedding model whose tokens see only what precedes them, " +
	"such as Qwen3-Embedding"

// checkCausal refuses models whose tokens see what follows them. The layers here do not.
func checkCausal(config []byte) error {
	var c struct {
		Bidirectional bool  `json:"use_bidirectional_attention"`
		Causal        *bool `json:"is_causal"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return errorf(CodeInvalid, "config.json: %w", err)
	}
	switch {
	case c.Bidirectional:
		return errorf(CodeUnsupported,
			"config.json: use_bidirectional_attention is not supported; %s", causalOnly)
	case c.Causal != nil && !*c.Causal:
		return errorf(CodeUnsupported, "config.json: is_causal false is not supported; %s",
			causalOnly)
	}
	return nil
}

// readModules reads modules.json. told is false if there is none.
func readModules(fsys fs.FS, config []byte) (p Purpose, told bool, err error) {
	const name = "modules.json"
	text, err := readJSON(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	var modules []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	if err := json.Unmarshal(text, &modules); err != nil {
		return p, false, errorf(CodeInvalid, "%s: %w", name, err)
	}
	if len(modules) > maxModules {
		return p, false, errorf(CodeInvalid, "%s names more than %d modules", name, maxModules)
	}
	for i, m := range modules {
		// The names of packages have changed between versions, the names of classes have not.
		class := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		switch {
		case i == 0 && class == "Transformer" && m.Path == "":
		case i == 1 && class == "Pooling":
			p.Kind = KindEmbedding
			p.Pooling, err = readPooling(fsys, path.Join(m.Path, "config.json"), config)
		case i == 1 && class == "LogitScore":
			p.Kind = KindReranker
			p.Yes, p.No, err = readLogitScore(fsys, path.Join(m.Path, "config.json"))
		case i == 2 && class == "Normalize" && p.Kind == KindEmbedding:
			p.Normalize = true
		default:
			return p, false, errorf(CodeUnsupported, "%s: module %d (%s) is not supported; "+
				"supported are Transformer, Pooling and Normalize of embedding models, "+
				"and Transformer and LogitScore of rerankers, in this order", name, i, m.Type)
		}
		if err != nil {
			return p, false, err
		}
	}
	return p, true, nil
}

// readModule reads the config.json of a module into v.
func readModule(fsys fs.FS, name string, v any) error {
	text, err := readJSON(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return missingFile(name)
	}
	if errors.Is(err, fs.ErrInvalid) {
		return errorf(CodeInvalid, "modules.json names %s, which is not in the model's folder",
			name)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return errorf(CodeInvalid, "%s: %w", name, err)
	}
	return nil
}

// readPooling reads the config.json of a Pooling. It names a mode, or sets flags in older versions.
func readPooling(fsys fs.FS, name string, config []byte) (lm.Pooling, error) {
	var c struct {
		Modes         oneOrMore[string] `json:"pooling_mode"`
		CLS           bool              `json:"pooling_mode_cls_token"`
		Max           bool              `json:"pooling_mode_max_tokens"`
		Mean          bool              `json:"pooling_mode_mean_tokens"`
		MeanSqrt      bool              `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted      bool              `json:"pooling_mode_weightedmean_tokens"`
		Last          bool              `json:"pooling_mode_lasttoken"`
		IncludePrompt *bool             `json:"include_prompt"`
		Dimension     int               `json:"embedding_dimension"`
		OldDimension  int               `json:"word_embedding_dimension"`
	}
	if err := readModule(fsys, name, &c); err != nil {
		return "", err
	}
	modes := c.Modes
	if modes == nil {
		for _, flag := range []struct {
			set  bool
			name string
		}{
			{c.CLS, "cls"}, {c.Max, "max"}, {c.Mean, "mean"},
			{c.MeanSqrt, "mean_sqrt_len_tokens"}, {c.Weighted, "weightedmean"}, {c.Last, "lasttoken"},
		} {
			if flag.set {
				modes = append(modes, flag.name)
			}
		}
		if modes == nil {
			modes = []string{"mean"}
		}
	}
	var args struct {
		HiddenSize int `json:"hidden_size"`
	}
	if err := json.Unmarshal(config, &args); err != nil {
		return "", errorf(CodeInvalid, "config.json: %w", err)
	}
	if n := max(c.Dimension, c.OldDimension); n != 0 && args.HiddenSize != 0 &&
		n != args.HiddenSize {
		return "", errorf(CodeInvalid,
			"%s speaks of %d dimensions, config.json has a hidden_size of %d: "+
				"they do not belong together; download both again, from one place", name, n,
			args.HiddenSize)
	}
	pooling := lm.Pooling(strings.Join(modes, " and "))
	switch {
	case !slices.Contains([]lm.Pooling{lm.PoolLast, lm.PoolMean, lm.PoolFirst}, pooling):
		return "", errorf(CodeUnsupported,
			"%s: the pooling %s is not supported; supported are lasttoken, mean and cls", name,
			pooling)
	case c.IncludePrompt != nil && !*c.IncludePrompt && pooling != lm.PoolLast:
		return "", errorf(CodeUnsupported, "%s: include_prompt false is not supported, "+
			"because Tandem does not know where a prompt ends", name)
	}
	return pooling, nil
}

// readLogitScore reads the config.json of a LogitScore.
func readLogitScore(fsys fs.FS, name string) (yes, no int32, err error) {
	var c struct {
		True  *int32 `json:"true_token_id"`
		False *int32 `json:"false_token_id"`
	}
	if err := readModule(fsys, name, &c); err != nil {
		return 0, 0, err
	}
	switch {
	case c.True == nil || *c.True < 0 || c.False != nil && *c.False < 0:
		return 0, 0, errorf(CodeInvalid, "%s names no true_token_id; download the model again",
			name)
	case c.False == nil:
		return 0, 0, errorf(CodeUnsupported, "%s: a score of one token alone is not supported; "+
			"Qwen3-Reranker scores yes against no", name)
	}
	return *c.True, *c.False, nil
}

// endsTexts reports whether the tokenizer in a tokenizer.json puts a token of its own after each text. Only tokenizers
// of embedding models do. Conversions to MLX keep it, and drop the files of sentence-transformers.
func endsTexts(text []byte) bool {
	if !bytes.Contains(text, []byte(`"TemplateProcessing"`)) {
		return false // most models, and the file may be long
	}
	type processor struct {
		Type   string `json:"type"`
		Single []struct {
			SpecialToken json.RawMessage `json:"SpecialToken"`
		} `json:"single"`
	}
	var file struct {
		PostProcessor *struct {
			processor
			Processors []processor `json:"processors"`
		} `json:"post_processor"`
	}
	if json.Unmarshal(text, &file) != nil || file.PostProcessor == nil {
		return false // package tokenizer reports what is wrong
	}
	for _, p := range append(file.PostProcessor.Processors, file.PostProcessor.processor) {
		if n := len(p.Single); p.Type == "TemplateProcessing" && n > 0 &&
			p.Single[n-1].SpecialToken != nil {
			return true
		}
	}
	return false
}

// resolve looks up the token ids that no file names, and checks them against the vocabulary.
func (p *Purpose) resolve(t *tokenizer.Tokenizer, vocab int) error {
	if p.Kind != KindReranker {
		return nil
	}
	if p.Yes < 0 {
		yes, hasYes := t.ID(yesToken)
		no, hasNo := t.ID(noToken)
		if !hasYes || !hasNo {
			*p = Purpose{} // it has the name of a reranker and is none
			return nil
		}
		p.Yes, p.No = yes, no
	}
	if int(max(p.Yes, p.No)) >= vocab {
		return errorf(CodeInvalid,
			"it decides between the tokens %d and %d, but its vocab_size is %d: "+
				"its files do not belong together; download them again, from one place", p.Yes, p.No,
			vocab)
	}
	return nil
}
