// Command golang talks to a server on the scripted engine (libraries.json) with openai-go: golang BASE_URL. It is a
// module of its own, so that nothing of Tandem depends on the library.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// A talk is the client and the server's address.
type talk struct {
	openai.Client
	base string
}

func main() {
	base := os.Args[1]
	t := talk{openai.NewClient(option.WithBaseURL(base+"/v1"), option.WithAPIKey("unused"),
		option.WithMaxRetries(0)), base}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, test := range []struct {
		feature string
		run     func(context.Context) error
	}{
		{"models", t.models},
		{"chat", t.chat},
		{"chat, streamed", t.stream},
		{"completions", t.completions},
		{"tools", t.tools},
		{"tools, streamed and parallel", t.toolStream},
		{"tool_choice", t.toolChoice},
		{"reasoning", t.reasoning},
		{"JSON schema", t.schema},
		{"errors", t.errors},
		{"retries", t.retries},
		{"error amid a stream", t.errorMidway},
		{"keep-alive", t.keepAlive},
		{"disconnect", t.disconnect},
	} {
		if err := test.run(ctx); err != nil {
			fmt.Printf("%s: %v\n", test.feature, err)
			os.Exit(1)
		}
		fmt.Println("ok", test.feature)
	}
}

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "tandem",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

// weather is the function that the script calls.
func weather() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "weather",
		Parameters: shared.FunctionParameters{
			"type": "object", "required": []string{"city", "days"},
			"properties": map[string]any{"city": map[string]any{"type": "string"},
				"days": map[string]any{"type": "integer"}},
		},
	})}
}

func (t talk) models(ctx context.Context) error {
	var ids []string
	pager := t.Models.ListAutoPaging(ctx)
	for pager.Next() {
		ids = append(ids, pager.Current().ID)
	}
	if err := pager.Err(); err != nil {
		return err
	}
	if len(ids) < 2 || ids[0] != "tandem" {
		return fmt.Errorf("got %q", ids)
	}
	m, err := t.Models.Get(ctx, ids[1])
	if err == nil && m.ID != ids[1] {
		err = fmt.Errorf("the id %s finds the model %s", ids[1], m.ID)
	}
	return err
}

func (t talk) chat(ctx context.Context) error {
	whole, err := t.Chat.Completions.New(ctx, ask("say pong"))
	if err != nil {
		return err
	}
	if c := whole.Choices[0]; c.Message.Content != "pong" || c.FinishReason != "stop" {
		return fmt.Errorf("got %s", whole.RawJSON())
	}
	return nil
}

// read returns the whole answer of a stream, as the library's own accumulator builds it.
func (t talk) read(ctx context.Context, p openai.ChatCompletionNewParams,
	opts ...option.RequestOption) (openai.ChatCompletionAccumulator, error) {
	var all openai.ChatCompletionAccumulator
	stream := t.Chat.Completions.NewStreaming(ctx, p, opts...)
	defer stream.Close()
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			return all, fmt.Errorf("a chunk that belongs to no answer: %s",
				stream.Current().RawJSON())
		}
	}
	return all, stream.Err()
}

func (t talk) stream(ctx context.Context) error {
	p := ask("say pong")
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	all, err := t.read(ctx, p)
	if err != nil {
		return err
	}
	if all.Choices[0].Message.Content != "pong" || all.Usage.CompletionTokens == 0 {
		return fmt.Errorf("got %+v", all.ChatCompletion)
	}
	return nil
}

func (t talk) completions(ctx context.Context) error {
	whole, err := t.Completions.New(ctx, openai.CompletionNewParams{
		Model:  "tandem",
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("<|im_start|>user\nsay pong<|im_end|>\n<|im_start|>assistant\n")},
	})
	if err == nil && whole.Choices[0].Text != "pong" {
		err = fmt.Errorf("got %s", whole.RawJSON())
	}
	return err
}

func (t talk) tools(ctx context.Context) error {
	p := ask("What is the weather in Paris?")
	p.Tools = weather()
	answer, err := t.Chat.Completions.New(ctx, p)
	if err != nil {
		return err
	}
	m := answer.Choices[0].Message
	if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != "weather" ||
		answer.Choices[0].FinishReason != "tool_calls" {
		return fmt.Errorf("got %s", answer.RawJSON())
	}
	var args struct {
		City string
		Days int
	}
	if err := json.Unmarshal([]byte(m.ToolCalls[0].Function.Arguments), &args); err != nil ||
		args.City != "Paris" || args.Days != 2 {
		return fmt.Errorf("%v, got %s", err, answer.RawJSON())
	}
	p.Messages = append(p.Messages, m.ToParam(), openai.ToolMessage("raining", m.ToolCalls[0].ID))
	last, err := t.Chat.Completions.New(ctx, p)
	if err == nil && last.Choices[0].Message.Content != "In Paris it is raining." {
		err = fmt.Errorf("got %s", last.RawJSON())
	}
	return err
}

func (t talk) toolStream(ctx context.Context) error {
	p := ask("the weather in Oslo and Rome?")
	p.Tools = weather()
	all, err := t.read(ctx, p)
	if err != nil {
		return err
	}
	var got []string
	for _, c := range all.Choices[0].Message.ToolCalls {
		var args struct{ City string }
		if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
			return err
		}
		got = append(got, c.Function.Name+" "+args.City)
	}
	if strings.Join(got, ", ") != "weather Oslo, weather Rome" ||
		all.Choices[0].FinishReason != "tool_calls" {
		return fmt.Errorf("got %q, %s", got, all.Choices[0].FinishReason)
	}
	return nil
}

func (t talk) errors(ctx context.Context) error {
	unknown, hot, long := ask("say pong"), ask("say pong"), ask(strings.Repeat("a b ", 100_000))
	unknown.Model, hot.Temperature = "no-such-model", openai.Float(-1)
	for _, test := range []struct {
		params openai.ChatCompletionNewParams
		status int
		code   string
		says   string
	}{
		{unknown, 404, "model_not_found", "no-such-model"},
		{hot, 400, "invalid_request", "temperature"},
		{long, 400, "context_length_exceeded", "maximum context length is 131072 tokens"},
	} {
		_, err := t.Chat.Completions.New(ctx, test.params)
		e, ok := errors.AsType[*openai.Error](err)
		if !ok || e.StatusCode != test.status || e.Code != test.code ||
			!strings.Contains(e.Message, test.says) {
			return fmt.Errorf("want %d %s, got %v", test.status, test.code, err)
		}
	}
	return nil
}

// retries checks that the library repeats a request that the server refused for the moment, at the
// time that the server named. The library does not repeat a request that failed.
func (t talk) retries(ctx context.Context) error {
	before, err := t.refusals(ctx, 503)
	if err != nil {
		return err
	}
	start := time.Now()
	all, err := t.Chat.Completions.New(ctx, ask("come again"), option.WithMaxRetries(2))
	if err != nil {
		return err
	}
	took := time.Since(start)
	after, err := t.refusals(ctx, 503)
	if err != nil {
		return err
	}
	if said := all.Choices[0].Message.Content; said != "pong" || after != before+1 {
		return fmt.Errorf("%q, refused %v times", said, after-before)
	}
	// Without a time from the server, the library waits half a second.
	if took < 900*time.Millisecond {
		return fmt.Errorf("the request was repeated after %v; the server asked for 1 s", took)
	}
	if before, err = t.refusals(ctx, 500); err != nil {
		return err
	}
	_, failed := t.Chat.Completions.New(ctx, ask("fail midway"), option.WithMaxRetries(2))
	if after, err = t.refusals(ctx, 500); err != nil {
		return err
	}
	if failed == nil || after != before+1 {
		return fmt.Errorf("a request that failed was sent %v times, want 1: %v",
			after-before, failed)
	}
	return nil
}

func (t talk) errorMidway(ctx context.Context) error {
	all, err := t.read(ctx, ask("fail midway"))
	if err == nil || len(all.Choices) == 0 ||
		!strings.HasPrefix(all.Choices[0].Message.Content, "half") {
		return fmt.Errorf("error %v after %+v", err, all.ChatCompletion)
	}
	return nil
}

// keepAlive checks a client that waits 3 s for the headers, which is less than the answer takes. The
// headers come with the first sign of life.
func (t talk) keepAlive(ctx context.Context) error {
	hasty := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 3 * time.Second}}
	all, err := t.read(ctx, ask("think for long"), option.WithHTTPClient(hasty))
	if err == nil && all.Choices[0].Message.Content != "done" {
		err = fmt.Errorf("got %+v", all.ChatCompletion)
	}
	return err
}

func (t talk) disconnect(ctx context.Context) error {
	stream := t.Chat.Completions.NewStreaming(ctx, ask("count slowly"))
	if !stream.Next() {
		return stream.Err()
	}
	if n, err := t.inFlight(ctx); n != "1" {
		return fmt.Errorf("%s requests in flight while one streams, %v", n, err)
	}
	if err := stream.Close(); err != nil {
		return err
	}
	for range 100 {
		if n, err := t.inFlight(ctx); n == "0" || err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the request goes on after its client left")
}

// inFlight returns how many requests the server is working on.
func (t talk) inFlight(ctx context.Context) (string, error) {
	text, err := t.metrics(ctx)
	if err != nil {
		return "", err
	}
	m := busy.FindStringSubmatch(text)
	if m == nil {
		return "", errors.New("the metrics lack tandem_requests_in_flight")
	}
	return m[1], nil
}

var (
	busy   = regexp.MustCompile(`(?m)^tandem_requests_in_flight (\S+)$`)
	counts = regexp.MustCompile(`(?m)^tandem_requests_total\{code="(\d+)",\S* (\S+)$`)
)

// refusals returns how many requests the server has answered with a status.
func (t talk) refusals(ctx context.Context, status int) (n float64, err error) {
	text, err := t.metrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range counts.FindAllStringSubmatch(text, -1) {
		if m[1] != strconv.Itoa(status) {
			continue
		}
		x, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return 0, err
		}
		n += x
	}
	return n, nil
}

func (t talk) metrics(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+"/metrics", nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
