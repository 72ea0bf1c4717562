package pool

import "testing"

// A measurement gives way to requests. So a borrowed model notices each of them.
func TestBorrowedModelNoticesARequest(t *testing.T) {
	r := start(t, setup{})
	m, err := r.pool.Borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if m.IsQuiet() {
		t.Error("a held model is quiet")
	}
	m.Release()
	if err := m.AwaitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := m.users.now().last
	disturbed := m.Watch()
	if m.users.now().last == before {
		t.Error("a measurement is no use of the model, which may be unloaded as idle")
	}
	if disturbed() {
		t.Error("the model is disturbed without a request")
	}
	r.complete(t, "tandem", "x")
	if !disturbed() {
		t.Error("a request went unnoticed")
	}
}
