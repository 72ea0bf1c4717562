package control

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The tags that bound a model's settings have the same bounds as the constants of speculation.
func TestModelSettingsAreBoundedLikeRequests(t *testing.T) {
	tag := func(field, key string) string {
		f, ok := reflect.TypeFor[ModelSettings]().FieldByName(field)
		if !ok {
			t.Fatalf("there is no field %s", field)
		}
		return f.Tag.Get(key)
	}
	if got := tag("Depth", "max"); got != fmt.Sprint(MaxDepth) {
		t.Errorf("depth is at most %s, MaxDepth is %d", got, MaxDepth)
	}
	if got, want := tag("Rule", "oneof"), strings.Join(Rules, ","); got != want {
		t.Errorf("rule is one of %s, Rules are %s", got, want)
	}
}
