package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// These functions check answers in a form, and thoughts before an answer.

func (t talk) toolChoice(ctx context.Context) error {
	none := ask("say pong")
	none.Tools = weather()
	none.ToolChoice.OfAuto = openai.String("none")
	answer, err := t.Chat.Completions.New(ctx, none)
	if err != nil {
		return err
	}
	if answer.Choices[0].Message.Content != "pong" {
		return fmt.Errorf("none: got %s", answer.RawJSON())
	}
	named := ask("call it")
	named.Tools = weather()
	named.MaxTokens = openai.Int(400)
	named.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "weather"})
	answer, err = t.Chat.Completions.New(ctx, named)
	if err != nil {
		return err
	}
	if calls := answer.Choices[0].Message.ToolCalls; len(calls) == 0 ||
		calls[0].Function.Name != "weather" {
		return fmt.Errorf("named: got %s", answer.RawJSON())
	}
	return nil
}

func (t talk) reasoning(ctx context.Context) error {
	answer, err := t.Chat.Completions.New(ctx, ask("Think, then add 2 and 2."))
	if err != nil {
		return err
	}
	m := answer.Choices[0].Message
	var thought string // the library has no field for it
	if err := json.Unmarshal([]byte(m.JSON.ExtraFields["reasoning_content"].Raw()),
		&thought); err != nil {
		return fmt.Errorf("%w: got %s", err, answer.RawJSON())
	}
	if m.Content != "Four." || thought != "Two and two." {
		return fmt.Errorf("got %s", answer.RawJSON())
	}
	return nil
}

func (t talk) schema(ctx context.Context) error {
	p := ask("say pong in JSON")
	p.MaxTokens = openai.Int(200)
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "w", Strict: openai.Bool(true), Schema: map[string]any{
			"type": "object", "required": []string{"word"}, "additionalProperties": false,
			"properties": map[string]any{"word": map[string]any{"enum": []string{"pong"}}},
		},
	}}
	answer, err := t.Chat.Completions.New(ctx, p)
	if err != nil {
		return err
	}
	var said map[string]string
	if err := json.Unmarshal([]byte(answer.Choices[0].Message.Content), &said); err != nil ||
		len(said) != 1 || said["word"] != "pong" {
		return fmt.Errorf("%v: got %s", err, answer.RawJSON())
	}
	return nil
}
