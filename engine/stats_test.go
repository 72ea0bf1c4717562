package engine

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestStatsAddCoversEveryField gives both requests different figures in every field and
// compares each sum with the field's rule. A new field of Stats fails here until it has a rule.
func TestStatsAddCoversEveryField(t *testing.T) {
	first, second := Stats{Err: errors.New("first")}, Stats{Err: errors.New("second")}
	fill(reflect.ValueOf(&first).Elem(), 100)
	fill(reflect.ValueOf(&second).Elem(), 1000)
	first.AcceptedAt, second.AcceptedAt = []int{5, 3}, []int{4, 2, 1}
	first.Arms, second.Arms = []int{0, -1}, []int{0, 1}
	first.Drafters = []DrafterStats{{"a", 1, 2, 3, 4, 5, 6, 7, ""}}
	second.Drafters = []DrafterStats{{"b", 1, 1, 1, 1, 1, 1, 1, "b failed"},
		{"a", 10, 20, 30, 40, 50, 60, 70, "a failed"}}
	first.Blocks = Blocks{Count: 2, Tokens: 5, Total: 8, Early: 8, Max: 6}
	second.Blocks = Blocks{Count: 3, Tokens: 7, Total: 9, Early: 9, Max: 4}

	sum := func(a, b any) any {
		switch a := a.(type) {
		case int:
			return a + b.(int)
		case time.Duration:
			return a + b.(time.Duration)
		}
		return slices.Concat(a.([]int), b.([]int))
	}
	fromFirst := func(a, _ any) any { return a }
	fromSecond := func(_, b any) any { return b }
	is := func(want any) func(any, any) any { return func(any, any) any { return want } }
	rules := map[string]func(first, second any) any{
		"PromptTokens": fromSecond, "CompletionTokens": fromSecond, "Drafter": fromSecond,
		"NoDrafter": fromSecond,
		"Repeats":   fromSecond, "Seed": fromSecond, "Finish": fromSecond, "Err": fromSecond,
		"File":  fromSecond,
		"Filed": fromSecond, "CheckpointBytes": fromSecond,
		"KVExact": fromSecond, "KVWindow": fromSecond, "KVRestored": fromSecond,

		"Given": fromFirst, "Matched": fromFirst, "CachedTokens": fromFirst, "Miss": fromFirst,
		"Divergence": fromFirst,
		"Queue":      fromFirst, "Restore": fromFirst, "Prefill": fromFirst, "FirstToken": fromFirst,

		"Rounds": sum, "Syncs": sum, "Drafted": sum, "Accepted": sum, "Depths": sum, "Accepts": sum,
		"PredictionAccepted": sum, "PredictionRejected": sum,
		"Host": sum, "Build": sum, "Wait": sum, "Draft": sum, "Verify": sum, "Beside": sum, "Total": sum,

		"AcceptedAt": is([]int{9, 5, 1}),
		"Arms":       is([]int{0, -1, 1, 0}),
		"Drafters": is([]DrafterStats{{"a", 11, 22, 33, 44, 55, 66, 77, "a failed"},
			{"b", 1, 1, 1, 1, 1, 1, 1, "b failed"}}),
		"Decode":    is(first.Decode + second.Decode + second.Queue + second.Prefill),
		"Blocks":    is(Blocks{Count: 5, Tokens: 12, Total: 17, Early: 17, Max: 6}),
		"PeakBytes": is(max(first.PeakBytes, second.PeakBytes)),
	}

	both := first
	both.Add(second)
	for i := range reflect.TypeFor[Stats]().NumField() {
		name := reflect.TypeFor[Stats]().Field(i).Name
		rule, ok := rules[name]
		if !ok {
			t.Errorf("Stats.%s has no rule here, and perhaps none in Add", name)
			continue
		}
		field := func(s *Stats) any { return reflect.ValueOf(s).Elem().Field(i).Interface() }
		if reflect.DeepEqual(field(&first), field(&second)) {
			t.Errorf("Stats.%s is the same in both requests: the test cannot tell", name)
		}
		if got, want := field(&both), rule(field(&first), field(&second)); !reflect.DeepEqual(got,
			want) {
			t.Errorf("Stats.%s = %v, want %v", name, got, want)
		}
	}
}

// fill sets every field of a struct to a figure of its own, from n on.
func fill(v reflect.Value, n int64) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(n + int64(i))
		case reflect.Uint64:
			f.SetUint(uint64(n) + uint64(i))
		case reflect.String:
			f.SetString(v.Type().Field(i).Name + string(rune('0'+n/1000)))
		case reflect.Slice:
			if f.Type() == reflect.TypeFor[[]int]() {
				f.Set(reflect.ValueOf([]int{int(n) + i, 1}))
			}
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fill(f.Elem(), n)
		case reflect.Bool:
			f.SetBool(n > 100)
		}
	}
}

// TestStatsAddLeavesItsListsAlone expects that Add writes into no list of the first request.
func TestStatsAddLeavesItsListsAlone(t *testing.T) {
	first := Stats{AcceptedAt: append(make([]int, 0, 8), 1), Depths: append(make([]int, 0, 8), 1)}
	both := first
	both.Add(Stats{AcceptedAt: []int{1, 1}, Depths: []int{2}})
	if first.AcceptedAt[0] != 1 || first.Depths[:2][1] != 0 {
		t.Errorf("the first request's lists are now %v and %v", first.AcceptedAt, first.Depths[:2])
	}
	if !slices.Equal(both.AcceptedAt, []int{2, 1}) || !slices.Equal(both.Depths, []int{1, 2}) {
		t.Errorf("together they have %v and %v", both.AcceptedAt, both.Depths)
	}
}
