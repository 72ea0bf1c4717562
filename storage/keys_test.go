package storage

import (
	"testing"
	"time"
)

func TestKeysAreAddedUsedAndDeleted(t *testing.T) {
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	db, err := Open("", Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	zed, err := db.AddKey(ctx, "zed", "aa")
	if err != nil || zed.ID == 0 || !zed.CreatedAt.Equal(now) {
		t.Fatalf("added as %+v, %v; want an id and the time", zed, err)
	}
	_, err = db.AddKey(ctx, "zed", "bb")
	wantCode(t, err, Conflict)
	phone, err := db.AddKey(ctx, "phone", "cc")
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if err := db.UseKey(ctx, phone.ID); err != nil {
		t.Fatal(err)
	}
	list, err := db.Keys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("len(list) = %v, want 2", len(list))
	}
	if list[0] != zed {
		t.Errorf("list[0] = %v, want %v", list[0], zed)
	}
	if list[1].Name != "phone" {
		t.Errorf(`list[1].Name = %q, want "phone"`, list[1].Name)
	}
	if list[1].Hash != "cc" {
		t.Errorf(`list[1].Hash = %q, want "cc"`, list[1].Hash)
	}
	if !list[1].UsedAt.Equal(now) {
		t.Errorf("list[1].UsedAt = %v, want %v", list[1].UsedAt, now)
	}
	if err := db.DeleteKey(ctx, zed.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, db.DeleteKey(ctx, zed.ID), NotFound)
	if list, err := db.Keys(ctx); err != nil || len(list) != 1 || list[0].ID != phone.ID {
		t.Errorf("keys %+v, %v; want phone alone", list, err)
	}
}
