package bridge

import (
	"fmt"
	"strings"
	"testing"
)

// Of a long log head and tail are kept.
func TestLogIsBounded(t *testing.T) {
	var out strings.Builder
	l := &boundedLog{to: &out, head: 10, most: 5}
	for i := range 100 {
		fmt.Fprintf(l, "%02d", i)
		if len(l.tail) > 3*l.most {
			t.Fatalf("%d bytes are held", len(l.tail))
		}
	}
	if err := l.close(); err != nil ||
		out.String() != "0001020304\n[185 bytes are left out here]\n79899" {
		t.Errorf("kept %q, %v", out.String(), err)
	}
	b := newBench(t, "head -c 5000000 /dev/zero | tr '\\0' 'a'; echo; echo last words\n")
	b.ask("tests", "nonce-1", nil)
	b.run(t.Context())
	log := b.result("nonce-1", "0-go.log")
	if len(log) > logHead+logTail+100 || !strings.HasSuffix(log, "a\nlast words\n") ||
		!strings.Contains(log, " bytes are left out here]") {
		t.Errorf("the log has %d bytes and ends in %q", len(log), log[len(log)-30:])
	}
}
