package pool

import (
	"reflect"
	"testing"
	"time"

	"tandem/engine/checkpoint"
)

// A field of an entry that its row lacks fails the test. So do two fields in each other's place.
func TestCheckpointEntryKeepsEveryFieldInItsRow(t *testing.T) {
	var want checkpoint.Entry
	v := reflect.ValueOf(&want).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(1000 + i))
		case reflect.Struct:
			f.Set(reflect.ValueOf(time.UnixMilli(int64(i))))
		default:
			t.Fatalf("no value for %s", v.Type().Field(i).Name)
		}
	}
	row := checkpointIndex{model: "org/model"}.row(want)
	if got := entryOf(row); got != want || row.Model != "org/model" {
		t.Errorf("the row of %+v is %+v, and its entry %+v", want, row, got)
	}
}
