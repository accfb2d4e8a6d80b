package table_test

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"

	"heddle/rm/rest/table"
)

type size struct {
	MB int64 `yarn:"memoryMB"`
}

type inner struct {
	State string `yarn:"state"`
}

type row struct {
	ID string `yarn:"id"`
	inner
	Used    size     `yarn:"used"`
	Pending *size    `yarn:"pending,omitempty"`
	Tags    []string `yarn:"tag"`
	Holds   []size   `yarn:"hold"`
	secret  string
}

// A table has all of a row's figures, those within others too; what a user chose is no formula.
func TestRowsBecomeATable(t *testing.T) {
	rows := []row{
		{ID: "=a", inner: inner{"RUNNING"}, Used: size{3}, Tags: []string{"x", "y"}, Holds: []size{{1}, {2}}, secret: "no"},
		{ID: "b,\"c\"", Pending: &size{7}},
	}
	want := [][]string{
		{"id", "state", "used.memoryMB", "pending.memoryMB", "tag", "hold"},
		{"'=a", "RUNNING", "3", "", "x y", `{"memoryMB":1} {"memoryMB":2}`},
		{`b,"c"`, "", "0", "7", "", ""},
	}
	for _, list := range []any{rows, []any{rows[0], &rows[1]}} {
		got, err := csv.NewReader(strings.NewReader(table.Of(list).Reply().Text)).ReadAll()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got := table.Of([]any{}).Reply().Text; got != "\n" && got != "\"\"\n" {
		t.Errorf("no rows: %q", got)
	}
}
