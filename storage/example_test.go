package storage_test

import (
	"context"
	"fmt"
	"time"

	"tandem/storage"
)

// An empty path opens a database in memory, which ends with Close.
func Example() {
	now := func() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }
	db, err := storage.Open("", storage.Options{Now: now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx := context.Background()

	// A run is recorded as it begins, and again as it ends.
	run, err := db.Runs.Begin(ctx, storage.Run{Model: "org/model", Client: "curl"})
	if err != nil {
		fmt.Println(err)
		return
	}
	run.CompletionTokens, run.FinishReason = 42, "stop"
	if err := db.Runs.Finish(ctx, run); err != nil {
		fmt.Println(err)
		return
	}
	runs, _, err := db.Runs.List(ctx, storage.RunQuery{Model: "org/model"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range runs {
		fmt.Println(r.ID, r.Client, r.CompletionTokens, r.FinishReason, r.EndedAt)
	}
	// Output: 1 curl 42 stop 2026-11-24 12:00:00 +0000 UTC
}

// An error tells by its code what a caller can do.
func ExampleError() {
	db, err := storage.Open("", storage.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = db.Models.Get(context.Background(), "org/model")
	fmt.Println(storage.IsNotFound(err), err)
	// Output: true find model "org/model": no such model is registered
}
