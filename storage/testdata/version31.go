// Version31 writes a database as the program of commit 7afd6426 left it, with a row or more in each
// kind of record. That program made the schema by 31 migrations. To make version31.db.gz again:
//
//	git worktree add /tmp/old 7afd6426
//	mkdir /tmp/old/storage/version31
//	cp storage/testdata/version31.go /tmp/old/storage/version31/main.go
//	(cd /tmp/old && go run ./storage/version31 /tmp/version31.db)
//	gzip -9n < /tmp/version31.db > storage/testdata/version31.db.gz
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"tandem/storage"
)

func main() {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	db, err := storage.Open(os.Args[1], storage.Options{Now: func() time.Time {
		at = at.Add(time.Second)
		return at
	}})
	must(err)
	ctx := context.Background()

	_, err = db.Models.Register(ctx, storage.Model{ID: "org/name", Path: "/models/name",
		Source: storage.SourceHub, Revision: "abc", Architecture: "qwen3", Quantization: "affine 4-bit/64",
		Dtype: "bfloat16", Parameters: 600_000_000, Bytes: 335_000_000, ContextLength: 40_960,
		DownloadedByUs: true})
	must(err)
	must(db.Models.SetLoadTime(ctx, "org/name", 1234*time.Millisecond))
	must(db.SetSetting(ctx, "model", `"org/name"`))
	must(db.SetSetting(ctx, "hub_cache", `"/cache"`))
	temperature := 0.7
	must(db.Models.SetSettings(ctx, storage.ModelSettings{Model: "org/name", Temperature: &temperature,
		KeepLoaded: true}))
	must(db.Models.SetDrafter(ctx, "org/name", "auto"))
	must(db.Models.SetReading(ctx, storage.Reading{Model: "org/name", Drafter: "/models/drafter",
		Settings: json.RawMessage(`{"window":8}`), Trials: json.RawMessage(`[3]`)}))
	must(db.Models.SetPolicy(ctx, storage.Policy{Model: "org/name", Drafter: "ngram", Bucket: 1024,
		State: json.RawMessage(`{"depth":4}`)}))
	key, err := db.AddKey(ctx, "editor", "0f")
	must(err)

	run, err := db.Runs.Begin(ctx, storage.Run{Model: "org/name", Client: "editor",
		Endpoint: "/v1/chat/completions", Seed: 16})
	must(err)
	must(db.Runs.SetText(ctx, storage.RunText{Run: run.ID, Model: "org/name", Key: "k", Prompt: 40,
		File: "c1", Tokens: 40, Tail: []byte{7, 0, 0, 0}, Replay: json.RawMessage("{}")}))
	run.PromptTokens, run.CachedTokens, run.CompletionTokens = 100, 60, 42
	run.Drafted, run.Accepted, run.TotalMS, run.FinishReason = 30, 20, 321.5, "stop"
	must(db.Runs.Finish(ctx, run))
	must(db.Checkpoints.Add(ctx, storage.Checkpoint{ID: "c1", Model: "org/name", Key: "k",
		Kind: "prompt", ToToken: 40, Bytes: 4096, Digest: "d", Run: run.ID}))
	must(db.Checkpoints.SetName(ctx, "c1", "the manual"))
	must(db.Checkpoints.SetPinned(ctx, "c1", true))

	chat, err := db.Chats.Add(ctx, storage.Chat{Kind: storage.ChatTalk, System: "Be brief."})
	must(err)
	question, err := db.Chats.AddMessage(ctx, storage.Message{Chat: chat.ID, Role: storage.RoleUser,
		Content: "Why is the sky blue?"})
	must(err)
	_, err = db.Chats.AddMessage(ctx, storage.Message{Chat: chat.ID, Parent: question.ID,
		Role: storage.RoleAssistant, Content: "Air scatters blue light most.", Model: "org/name",
		Finish: "stop", Run: run.ID})
	must(err)
	pinned := true
	_, err = db.Chats.Update(ctx, chat.ID, storage.ChatChange{Pinned: &pinned})
	must(err)

	must(db.Responses.Add(ctx, storage.Response{ID: "resp_1", Owner: "editor", Run: run.ID,
		Input: json.RawMessage(`[]`), Output: json.RawMessage(`[{"type":"message"}]`),
		Response: json.RawMessage(`{"id":"resp_1"}`)}))
	must(db.Responses.AddThought(ctx, storage.Thought{Owner: key.ID, Model: "org/name", History: "h",
		Run: run.ID, Tokens: 3, Sealed: []byte("sealed")}))
	_, err = db.AddBench(ctx, storage.Bench{Model: "org/name", Machine: "Mac", Version: "0.1.0",
		Result: json.RawMessage(`{"decode":60}`)})
	must(err)
	must(db.Models.SetDownload(ctx, storage.Download{ID: "org/other", Paused: true, Done: 5, Total: 10,
		Blobs: []string{"b"}, Cache: "/cache"}))
	must(db.Models.SetDrafterFile(ctx, storage.DrafterFile{ID: "org/drafter", Path: "/models/drafter",
		Revision: "def", DownloadedByUs: true}))
	must(db.Close())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
