package models

import (
	"context"
	"errors"
	"sync"

	"tandem/engine/lm"
	"tandem/engine/mlx"
	"tandem/engine/native"
	"tandem/engine/tokenizer"
	"tandem/models/nn"
)

// DtypePolicy says in which type a model computes.
type DtypePolicy string

const (
	// float32 on the CPU, the checkpoint's type on Metal (default)
	DtypeAuto       DtypePolicy = "auto"
	DtypeFloat32    DtypePolicy = "float32"    // everywhere
	DtypeCheckpoint DtypePolicy = "checkpoint" // as stored
)

// Options of Load. The zero value is useful.
type Options struct {
	Dtype DtypePolicy // zero means DtypeAuto

	// Bits quantizes the plain matrices of a drafter as it is loaded: 4 or 8, 0 = none. It guesses a little
	// worse and takes less time and memory.
	Bits int

	// FewRows has a kernel of our own multiply the rows of a verify block with quantized matrices, on
	// a GPU. It is an experiment: `tandem bench verify` shows whether it gains.
	FewRows bool

	// Lane lets one of the templates that take long compute at a time. Models in one program share
	// it; nil gives this model its own.
	Lane *native.Lane

	// Progress, if set, gets how many bytes of weights are loaded. It is called on the MLX thread.
	Progress func(done, total int64)
}

// A Bundle is a loaded model, with everything in its folder.
type Bundle struct {
	Model     lm.Model
	Tokenizer *tokenizer.Tokenizer

	Chat Chat // the chat templates

	Lane *native.Lane // as in Options

	Purpose  Purpose
	Defaults Defaults
	Info     Info
	Parts    Parts
	Losses   []Loss // of a GGUF file that MLX's own products read, all of them measured whole

	thread *mlx.Thread

	mu         sync.Mutex
	vocabulary *native.Vocabulary // see Vocabulary; guarded by mu
}

// Parts are the parts of a model's forward, for benches.
type Parts = nn.Parts

// Info holds facts about a loaded model.
type Info struct {
	Architecture  string // model_type of config.json
	Parameters    int64
	FileBytes     int64  // as in Summary.Bytes
	Bytes         int64  // of the weights in memory
	Quantization  string // such as "4-bit", empty if none
	ContextLength int
	Dtype         mlx.Dtype // that it computes in
	Packed        bool      // products of our own read its quantized weights
	LeftOut       string    // see Summary.LeftOut
}

// Load is [Files.Load] for a path.
func Load(ctx context.Context, t *mlx.Thread, path string, opts Options) (*Bundle, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Load(ctx, t, opts)
}

// Load loads the model.
//
// A vocabulary larger than the tokenizer's is usual. A smaller one is refused. Added tokens alone
// may lie beyond it: checkpoints have those of a sibling that also sees images.
//
// Load holds the thread while it reads weights, and lends it to others now and then between
// tensors. Cancelling ctx stops it between two tensors. A GGUF file with a tensor that needs more bits
// than a sample of it promised is read again.
func (f *Files) Load(ctx context.Context, t *mlx.Thread, opts Options) (*Bundle, error) {
	b, err := f.load(ctx, t, opts)
	if err != nil {
		var finer *Files
		if finer, err = f.refined(ctx, err); err == nil {
			b, err = finer.load(ctx, t, opts)
		}
	}
	if err != nil {
		return nil, f.withName(err)
	}
	return b, nil
}

// named puts the model's name into its error. Errors of a context and of a closed thread stay as
// they are.
func named(err error, name string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, mlx.ErrClosed) {
		return err
	}
	e := *invalid(err).(*Error)
	e.Model, e.Message = name, oneLine(e.Message)
	return &e
}

func (f *Files) load(ctx context.Context, t *mlx.Thread, opts Options) (*Bundle, error) {
	b := &Bundle{thread: t, Lane: opts.Lane}
	cfg, err := b.readSmallFiles(f)
	if err != nil {
		return nil, err
	}
	if b.Defaults, err = f.readDefaults(); err != nil {
		return nil, err
	}
	h, err := f.readWeights()
	if err != nil {
		return nil, err
	}
	fsys, err := f.files()
	if err != nil {
		return nil, err
	}
	c, err := openWeightFiles(ctx, fsys, h, opts.Progress)
	if err != nil {
		return nil, err
	}
	defer c.close()
	err = c.build(t, cfg.Quantization, opts, func(w *nn.Weights) error {
		if err := b.assemble(w, cfg); err != nil {
			return describeMisfit(fsys, err)
		}
		conf := b.Model.Config()
		b.Parts = w.Parts()
		b.Info = Info{
			Architecture:  cfg.ModelType,
			Parameters:    w.Parameters(),
			FileBytes:     c.stored,
			Bytes:         w.Bytes(),
			Quantization:  w.QuantizationName(),
			ContextLength: conf.ContextLength,
			Dtype:         conf.Dtype,
			Packed:        w.Packs() && w.QuantizationName() != "",
			LeftOut:       leftOut(fsys, w),
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !b.Info.Packed {
		b.Losses = losses(fsys)
	}
	b.Chat = f.chat(opts.Lane)
	return b, nil
}

// readSmallFiles reads what is needed before the weights, but the defaults.
func (b *Bundle) readSmallFiles(f *Files) (cfg *config, err error) {
	if cfg, err = f.readModel(); err != nil {
		return nil, err
	}
	if b.Purpose, err = f.readPurpose(cfg); err != nil {
		return nil, err
	}
	t, err := f.readTokens()
	b.Tokenizer = t.tokenizer
	return cfg, err
}

// assemble makes the model of weights, which are read or only checked, and refuses files that do
// not belong together.
func (b *Bundle) assemble(w *nn.Weights, cfg *config) error {
	w.NoHead = b.Purpose.Kind == KindEmbedding
	arch, err := cfg.architecture()
	if err != nil {
		return err
	}
	w.Sanitize(arch.Sanitize)
	m := arch.New(w)
	if err := w.Err(); err != nil {
		return err
	}
	conf := m.Config()
	if n := b.Tokenizer.BaseSize(); n > conf.VocabSize {
		return errorf(CodeInvalid,
			"tokenizer.json has ids up to %d, but the model's vocab_size is %d: "+
				"they do not belong together; download both again, from one place",
			n-1, conf.VocabSize)
	}
	if err := b.Purpose.resolve(b.Tokenizer, conf.VocabSize); err != nil {
		return err
	}
	id, has := b.Tokenizer.EOS()
	named := []tokenIDs{b.Defaults.eos, cfg.EOS, cfg.Text.EOS}
	if has {
		named = append(named, tokenIDs{id})
	}
	named = append(named, fillEnds(b.Tokenizer))
	conf.EOS = joinEOS(conf.VocabSize, named...)
	b.Model = &model{Model: m, config: conf, layers: cacheSpecs(arch)}
	return nil
}

// fillEnds returns the tokens with which Qwen's coders end a text that they filled in: what follows
// is another file. Neither config.json nor generation_config.json names them, and tokenizer.json
// does not call them special.
//
// Source: README.md of Qwen/Qwen2.5-Coder-32B on the hub.
func fillEnds(t *tokenizer.Tokenizer) (ids tokenIDs) {
	if _, fills := t.ID("<|fim_middle|>"); !fills {
		return nil
	}
	for _, token := range []string{"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"} {
		if id, ok := t.ID(token); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// build hands the weights to fn on the thread. They are freed if fn fails.
func (c *weightFiles) build(t *mlx.Thread, q *nn.Quantization, opts Options,
	fn func(w *nn.Weights) error) error {
	return t.DoLong(c.ctx, func(s *mlx.Scope) error {
		w := nn.NewWeights(s, c, q)
		if opts.Dtype == DtypeFloat32 || opts.Dtype != DtypeCheckpoint && !t.GPU() {
			w.Dtype = mlx.Float32
		} else if c.half {
			w.Dtype = mlx.BFloat16
		}
		w.FewRows, w.Bits = opts.FewRows && t.GPU(), opts.Bits
		ok := false
		defer func() {
			if !ok { // also after a panic
				w.Free()
			}
		}()
		err := fn(w)
		ok = err == nil
		return err
	})
}

// Thread returns the thread that the model is on.
func (b *Bundle) Thread() *mlx.Thread { return b.thread }

// Vocabulary returns the vocabulary of a model that has a token to end a text, for grammars. The first
// call makes it, and Close frees it.
func (b *Bundle) Vocabulary() (*native.Vocabulary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vocabulary != nil {
		return b.vocabulary, nil
	}
	config := b.Model.Config()
	made, err := native.NewVocabulary(config.VocabSize, func(id int32) ([]byte, bool) {
		return b.Tokenizer.TokenBytes(id), b.Tokenizer.IsSpecial(id)
	}, config.EOS, b.Lane)
	if err == nil {
		b.vocabulary = made
	}
	return made, err
}

// Close releases weights, template and vocabulary. The model must not be in use; matchers stay valid.
func (b *Bundle) Close() error {
	err := b.thread.Do(context.Background(), func(*mlx.Scope) error {
		b.Model.Free()
		return nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vocabulary != nil {
		err = errors.Join(err, b.vocabulary.Close())
	}
	return errors.Join(err, b.Chat.close())
}

// model adds what only the folder's other files know.
type model struct {
	nn.Model
	config lm.Config
	layers []nn.CacheSpec // what they keep
}

// Config implements lm.Model.
func (m *model) Config() lm.Config { return m.config }

// CutHead implements nn.HeadCutter. All architectures are decoders with one head.
func (m *model) CutHead(w *nn.Weights, ids *mlx.Array) *nn.Linear {
	return m.Model.(nn.HeadCutter).CutHead(w, ids)
}
