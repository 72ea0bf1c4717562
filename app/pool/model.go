package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"tandem/app/control"
	"tandem/app/dialect"
	"tandem/app/model"
	"tandem/engine"
	"tandem/engine/checkpoint"
	"tandem/engine/mlx"
	"tandem/engine/native"
	"tandem/engine/tokenizer"
	"tandem/models"
	"tandem/storage"
)

// A Model is a model in memory. It implements model.Model.
type Model struct {
	pool       *Pool
	row        storage.Model
	weights    string // WeightsKey at the load
	bundle     *models.Bundle
	Engine     *engine.Engine
	store      *checkpoint.Store // of the engine; nil if there is none
	context    int               // tokens of the engine; 0 = the model's
	key        string            // of the files of its checkpoints
	took       time.Duration
	longest    int        // bytes of the longest token
	vocabulary Vocabulary // for grammars
	dialect    *dialect.Dialect
	special    []int32   // tokens whose text the dialect's parser needs
	needs      demand    // of memory; zero if it is not known
	users      int       // requests that hold it; guarded by Pool.mu
	uses       int       // requests that ever held it; guarded by Pool.mu
	used       time.Time // when a request last acquired or released it; guarded by Pool.mu
	leaving    bool      // it is being evicted, and no new request gets it; guarded by Pool.mu

	own      control.ModelSettings // guarded by Pool.mu
	settings control.Settings      // at the start of the engine

	released chan struct{} // closed when no request holds it any more; nil if no change waits for that; guarded by Pool.mu

	drafter      *Drafter        // nil if there is none
	noDrafter    string          // why there is none, if there should be
	borrowers    sync.WaitGroup  // measurements, see Lend
	borrowed     context.Context // of the measurements; ended by endBorrowing
	endBorrowing context.CancelFunc
}

var (
	_ model.Model     = (*Model)(nil)
	_ model.Tokenizer = (*Model)(nil)
	_ model.Reader    = (*Model)(nil)
)

// Close ends the engine and frees the drafter, then the weights, from which the drafter borrows.
func (m *Model) Close() error {
	m.stopDrafting()
	return errors.Join(m.drafter.Close(), m.vocabulary.Close(), m.bundle.Close(), m.pool.thread.Do(context.Background(), func(s *mlx.Scope) error {
		s.ClearCache()
		return nil
	}))
}

// Describe returns what the state shows about the model.
func (m *Model) Describe() *control.Loaded {
	device := "cpu"
	if m.pool.thread.GPU() {
		device = "gpu"
	}
	name := ""
	if m.drafter != nil {
		name = m.drafter.Name()
	}
	return &control.Loaded{
		ID: m.row.ID, Architecture: m.bundle.Info.Architecture, ContextLength: m.Engine.ContextLength(),
		Device: device, Dtype: m.bundle.Model.Config().Dtype.String(),
		LoadMS: m.took.Milliseconds(), Queued: m.Engine.Queued(),
		Drafter: name, NoDrafter: m.noDrafter,
		Bytes: m.needs.weights, Needs: m.needs.bytes(),
	}
}

func (m *Model) ID() string         { return m.row.ID }
func (m *Model) Key() string        { return m.key }
func (m *Model) ContextLength() int { return m.Engine.ContextLength() }

// LongerContext reports whether the user could set a context of so many tokens in place of a
// shorter one. It implements model.Model.
func (m *Model) LongerContext(tokens int) bool {
	set, has := m.ownSettings().Context, m.ContextLength()
	most := m.row.ContextLength
	if asked := m.pool.opts.ContextLength; asked > 0 {
		most = min(most, asked)
	}
	if set == nil || *set > has || tokens > most {
		return false
	}
	drafter := ""
	if m.drafter != nil {
		drafter = m.drafter.source
	}
	size, err := m.pool.measure(m.row, drafter)
	return err == nil && size.demand(tokens).bytes() <= m.pool.Room()
}

func (m *Model) VocabSize() int { return m.bundle.Model.Config().VocabSize }

func (m *Model) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Token, error] {
	r.Speculation = m.speculate(r.Speculation)
	return m.generate(ctx, r)
}

func (m *Model) Encode(text string, addSpecial bool) ([]int32, error) {
	return m.encode(text, tokenizer.EncodeOptions{AddSpecial: addSpecial})
}

func (m *Model) EncodePlain(text string) ([]int32, error) {
	return m.encode(text, tokenizer.EncodeOptions{NoSpecial: true})
}

func (m *Model) encode(text string, o tokenizer.EncodeOptions) ([]int32, error) {
	ids, err := m.bundle.Tokenizer.Encode(text, o)
	if e, ok := errors.AsType[*tokenizer.Error](err); ok && e.Code == tokenizer.CodeTooSlow {
		return nil, &control.Error{Code: control.CodeInvalid, Message: err.Error(), Err: err}
	}
	return ids, err
}

func (m *Model) Decode(ids []int32) string { return m.bundle.Tokenizer.Decode(ids, false) }

func (m *Model) LongestToken() int { return m.longest }

// longestToken returns the bytes of the longest token, at least 1.
func longestToken(t *tokenizer.Tokenizer) int {
	n := 1
	for id := range t.Size() {
		n = max(n, len(t.TokenBytes(int32(id))))
	}
	return n
}

// Tokenizer implements model.Model.
func (m *Model) Tokenizer() model.Tokenizer { return m }

// Reader implements model.Model.
func (m *Model) Reader() model.Reader { return m }

// Dialect implements model.Model.
func (m *Model) Dialect() *dialect.Dialect { return m.dialect }

// Special implements model.Model.
func (m *Model) Special() []int32 { return m.special }

// detectDialect finds out how the model writes thoughts and calls, and the special tokens that its
// parser needs.
func (m *Model) detectDialect() {
	tokens := m.bundle.Tokenizer
	m.dialect = dialectOf(m.bundle.TemplateSource, tokens)
	for _, text := range m.dialect.Special() {
		if id, ok := tokens.ID(text); ok {
			m.special = append(m.special, id)
		}
	}
}

func (m *Model) TokenBytes(id int32) []byte { return m.bundle.Tokenizer.TokenBytes(id) }

func (m *Model) FIM() (model.FIM, bool) { return fimOf(m.bundle.Tokenizer) }

func (m *Model) RenderChat(vars []byte) (string, error) {
	if m.bundle.Template == nil {
		return "", model.ErrNoTemplate
	}
	vars, err := m.templateVars(vars)
	if err != nil {
		return "", err
	}
	text, err := m.bundle.Template.Render(vars)
	e, ok := errors.AsType[*native.TemplateError](err)
	if ok && e.Kind == native.KindLimit && len(vars) > maxTemplateText {
		return "", &control.Error{Code: control.Code(engine.CodeContextLength), Err: err,
			Message: fmt.Sprintf(
				"This model's maximum context length is %d tokens. However, you requested more than the %d MiB of text that a chat template may print, which is at least %d tokens in the prompt. Please shorten it.",
				m.ContextLength(), maxTemplateText>>20, maxTemplateText/m.longest)}
	}
	if ok {
		return "", control.Errorf(control.CodeInvalid,
			"The model's chat template refuses these messages: %s", e.Message)
	}
	return text, err
}

// maxTemplateText is engine/native's limit of the text that a template prints, in bytes.
const maxTemplateText = 4 << 20 // bytes

// templateVars adds the variables that transformers always passes, in front of the request's. If
// two members have one name, the later one counts.
func (m *Model) templateVars(vars []byte) ([]byte, error) {
	always := struct {
		Tools     *struct{} `json:"tools"`
		Documents *struct{} `json:"documents"`
		BOSToken  string    `json:"bos_token"`
		EOSToken  string    `json:"eos_token"`
	}{}
	if id, ok := m.bundle.Tokenizer.BOS(); ok {
		always.BOSToken = m.bundle.Tokenizer.Token(id)
	}
	if id, ok := m.bundle.Tokenizer.EOS(); ok {
		always.EOSToken = m.bundle.Tokenizer.Token(id)
	}
	out, err := json.Marshal(always)
	if err != nil {
		return nil, err
	}
	out[len(out)-1] = ','
	return append(out, vars[1:]...), nil
}
