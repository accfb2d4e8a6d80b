package queuesettings

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a queue's settings are written from is what they are read as.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"root.a:capacity=50,state=RUNNING;root.b:x=", `root.a:acl=x\,y`, "root", ":a=b", "root.a:=b", ";;"} {
		f.Add(text)
	}
	f.Add(`a:x=\`)
	f.Fuzz(func(t *testing.T, text string) {
		queues, err := Parse(text)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, q := range queues {
			b.WriteString(q.Queue + ":")
			for _, s := range q.Params.Entry {
				if strings.HasSuffix(s.Key, `\`) || s.Value != nil && strings.HasSuffix(*s.Value, `\`) {
					return // only the last setting can end so
				}
				b.WriteString(strings.ReplaceAll(s.Key, ",", `\,`) + "=")
				if s.Value != nil {
					b.WriteString(strings.ReplaceAll(*s.Value, ",", `\,`))
				}
				b.WriteString(",")
			}
			b.WriteString(";")
		}
		again, err := Parse(b.String())
		was, _ := json.Marshal(queues)
		is, _ := json.Marshal(again)
		if err != nil || string(was) != string(is) {
			t.Errorf("%q: %s came back as %s, %v", text, was, is, err)
		}
	})
}
