package command

import (
	"encoding/json"
	"strings"
	"testing"
)

// Labels come out as they went in, and none is without a name.
func FuzzLabels(f *testing.F) {
	for _, text := range []string{"gpu", "gpu(exclusive=false)", "gpu(exclusive=)", "(", "n1:80=a", "n1,a", ":1=a", "n1:65536=a", "n1=a b", "n1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := parseLabel(text); err == nil {
			name := l.GetName()
			if name == "" || name != strings.TrimSpace(name) || strings.Contains(name, "(") || !strings.HasPrefix(strings.TrimSpace(text), name) {
				t.Errorf("%q is the label %q", text, name)
			}
			if !l.GetIsExclusive() && !strings.Contains(text, "exclusive") {
				t.Errorf("%q isn't exclusive", text)
			}
		} else if l != nil {
			t.Errorf("%q: a label and the error %v", text, err)
		}
		if m, err := parseNodeLabels(text); err == nil {
			id := m.GetNodeId()
			if id.GetHost() == "" || !strings.HasPrefix(text, id.GetHost()) || id.GetPort() < 0 || id.GetPort() > 65535 || len(m.GetNodeLabels()) > 1 {
				t.Errorf("%q: %v", text, m)
			}
		}
	})
}

// A list of one may be written as its only element.
func FuzzOneOrMore(f *testing.F) {
	for _, text := range []string{`{"fileName":"syslog","fileSize":"12"}`, `[{"fileName":"a"},{"fileName":"b"}]`, "[]", "null", " [null]", `""`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, list oneOrMore[remoteFile]
		err := json.Unmarshal([]byte(text), &got)
		var one remoteFile
		if json.Unmarshal([]byte(text), &one) != nil {
			return
		}
		if e := json.Unmarshal([]byte("["+text+"]"), &list); err != nil || e != nil || len(list) != 1 || len(got) > 1 || len(got) == 1 && got[0] != list[0] {
			t.Errorf("%q: %+v, %v; in a list %+v, %v", text, got, err, list, e)
		}
	})
}
