package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"tandem/app/control"
	"tandem/app/model"
	"tandem/app/wire"
	"tandem/engine"
)

// progressPause is the time between two events of a verification. It gives people time to read
// them.
const progressPause = 200 * time.Millisecond

// A verification is a run's answer that is to be computed again.
type verification struct {
	run    int64
	how    Replay
	text   []int32 // prompt and answer
	prompt int     // tokens of text
	key    string  // of the model as it was loaded
	model  string  // the model's id
}

// VerifyRun computes the answer of a run again and compares the ids. It restores nothing and drafts
// nothing.
func (a *API) VerifyRun(w http.ResponseWriter, r *http.Request) error {
	q, err := control.VerifyRun.ReadParams(r)
	if err != nil {
		return err
	}
	f, err := a.ReadObject(w, r)
	if err != nil {
		return err
	}
	if err := wire.Decode(f, &q); err != nil {
		return err
	}
	v, err := a.verification(r.Context(), q.Run)
	if err != nil {
		return err
	}
	if q.Progress {
		return a.Progress(w, r, func(ctx context.Context, send func(any)) error {
			var told time.Time
			out, err := a.verify(ctx, v, func(same int) {
				if now := time.Now(); now.Sub(told) >= progressPause {
					told = now
					send(control.VerifyProgress{Same: same, Tokens: len(v.text) - v.prompt})
				}
			})
			if err == nil {
				send(control.VerifyProgress{Same: out.Same, Tokens: out.Tokens, Verdict: &out})
			}
			return err
		})
	}
	out, err := a.verify(r.Context(), v, func(int) {})
	if err != nil {
		return err
	}
	return wire.WriteJSON(w, out)
}

// verification reads what is needed to repeat a run, or says why it cannot be repeated.
func (a *API) verification(ctx context.Context, id int64) (v verification, err error) {
	row, err := a.To.Runs.Run(ctx, id)
	switch {
	case err != nil:
		return v, err
	case row.EndedAt.IsZero():
		return v, control.Errorf(control.CodeNotKept,
			"Run %d is still running; check its answer once it has ended.", id)
	case row.CompletionTokens == 0 && row.FinishReason != string(engine.FinishStop):
		return v, control.Errorf(control.CodeNotKept,
			"Run %d has no answer to check: it ended before its first token.", id)
	}
	kept, err := a.To.Texts.RunText(ctx, id)
	if err != nil {
		return v, err
	}
	v = verification{run: id, key: kept.Key, model: row.Model}
	if err := json.Unmarshal(kept.Replay, &v.how); err != nil {
		return v, err
	}
	if v.how.Drafts {
		return v, control.Errorf(control.CodeNotKept,
			"Run %d cannot be repeated: under the rejection rule what is drawn depends on what "+
				"was drafted.", id)
	}
	v.text, err = a.runText(ctx, kept)
	v.prompt = min(kept.Prompt, len(v.text))
	return v, err
}

// verify computes an answer again, keeps the verdict and returns it. progress gets the number of
// tokens that were the same so far.
func (a *API) verify(ctx context.Context, v verification,
	progress func(same int)) (out control.Replayed, err error) {
	m, err := a.Acquire(ctx, v.model, false)
	if err != nil {
		return out, err
	}
	defer m.Release()
	if v.key != m.Key() {
		return out, control.Errorf(control.CodeNotKept,
			"The model %s has changed since run %d, or is loaded differently, so another answer "+
				"would prove nothing.", control.Word(m.ID()), v.run)
	}
	if limit := m.ContextLength(); len(v.text) > limit {
		return out, control.Errorf(control.CodeNotKept,
			"Run %d has %d tokens, and the model's context is %d now.", v.run, len(v.text), limit)
	}
	progress(0)
	n := len(v.text) - v.prompt
	out = control.Replayed{Run: v.run, Tokens: n}
	whole := true
	for _, span := range v.how.generatedSpans(n) {
		if whole, err = a.compare(ctx, m, v, span, &out, progress); err != nil {
			return out, err
		}
		if !whole {
			break
		}
	}
	if whole {
		out.Same = n
	}
	out.At = time.Now().UTC()
	if err := a.To.Runs.KeepVerdict(context.WithoutCancel(ctx), out); err != nil {
		a.Log.Warn("cannot keep a verdict", "run", out.Run, "err", err)
	}
	return out, nil
}

// compare computes a stretch of a run's answer again and reports whether it is the same. It ends at
// the first token that differs or is missing.
func (a *API) compare(ctx context.Context, m model.Model, v verification, span Span,
	out *control.Replayed, progress func(same int)) (whole bool, err error) {
	how, answer, end := v.how, v.text[v.prompt:], span.At+span.N
	req := engine.Request{
		Prompt: v.text[:v.prompt], Generated: answer[:span.At], MaxTokens: new(end),
		Speculation: engine.Speculation{Drafter: engine.None, Exact: how.Exact}, Fresh: true,
		Logprobs: true, TopLogprobs: 2,
	}
	if err := how.apply(&req); err != nil {
		return false, err
	}
	if how.Grammar != nil {
		matcher, err := m.Matcher(ctx, *how.Grammar)
		if err != nil {
			return false, err
		}
		defer matcher.Close()
		req.Grammar = matcher
	}
	out.Same = 0
	for t, err := range m.Generate(ctx, req) {
		if err != nil {
			return false, err
		}
		if want := answer[out.Same]; t.ID != want {
			out.Answered, out.Now = string(m.Tokenizer().TokenBytes(want)),
				string(m.Tokenizer().TokenBytes(t.ID))
			out.Tie = isTie(req, t, want)
			return false, nil
		}
		out.Same++
		progress(out.Same)
	}
	return out.Same == end, nil
}

// isTie reports whether token t of a greedy request and other are the model's best two, and equally
// likely within rounding. Under a grammar the best two are not known.
func isTie(r engine.Request, t engine.Token, other int32) bool {
	const rounding = 1e-4 // nats
	p := r.Sampling
	raw := r.Grammar == nil && p.Temperature == 0 && len(p.LogitBias) == 0 &&
		(p.RepetitionPenalty == 0 || p.RepetitionPenalty == 1) &&
		p.PresencePenalty == 0 && p.FrequencyPenalty == 0
	top := t.Logprobs.Top
	return raw && len(top) == 2 && (top[0].ID == other || top[1].ID == other) &&
		top[0].Logprob-top[1].Logprob < rounding
}
