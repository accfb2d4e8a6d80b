package restlist

import (
	"encoding/json"
	"testing"
)

type element struct {
	Name     string      `json:"fileName"`
	Size     json.Number `json:"fileSize"`
	Modified string      `json:"lastModifiedTime"`
}

// A list of one may be written as its only element.
func FuzzList(f *testing.F) {
	for _, text := range []string{`{"fileName":"syslog","fileSize":"12"}`, `[{"fileName":"a"},{"fileName":"b"}]`, "[]", "null", " [null]", `""`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, list List[element]
		err := json.Unmarshal([]byte(text), &got)
		var one element
		if json.Unmarshal([]byte(text), &one) != nil {
			return
		}
		if e := json.Unmarshal([]byte("["+text+"]"), &list); err != nil || e != nil || len(list) != 1 || len(got) > 1 || len(got) == 1 && got[0] != list[0] {
			t.Errorf("%q: %+v, %v; in a list %+v, %v", text, got, err, list, e)
		}
	})
}
