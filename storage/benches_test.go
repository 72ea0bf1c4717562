package storage

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// TestNewestBenchesAreKept expects the newest benches, at most KeepBenches of them, newest first.
func TestNewestBenchesAreKept(t *testing.T) {
	db := mustOpen(t, "")
	var want []Bench
	for i := range KeepBenches + 2 {
		b, err := db.AddBench(t.Context(), Bench{Model: "m", Machine: "a chip", Version: "1",
			Result: json.RawMessage(fmt.Sprintf(`{"seconds":%d}`, i))})
		if err != nil || b.ID == 0 || b.At.IsZero() {
			t.Fatalf("added as %+v, %v; want an id and a time", b, err)
		}
		want = append([]Bench{b}, want...)
	}
	want = want[:KeepBenches]
	if got, err := db.Benches(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d benches, %v, first %+v; want %d, first %+v",
			len(got), err, got[0], len(want), want[0])
	}
	if err := db.DeleteBench(t.Context(), want[0].ID); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Benches(t.Context()); err != nil || !reflect.DeepEqual(got, want[1:]) {
		t.Errorf("%d benches after a deletion, %v; want %d", len(got), err, len(want)-1)
	}
	wantCode(t, db.DeleteBench(t.Context(), want[0].ID), NotFound)
}
