package timelinereader

import (
	"encoding/json"
	"testing"
)

func FuzzAttempt(f *testing.F) {
	f.Add("")
	f.Add(`SYSTEM_INFO_PARENT_ENTITY eq {"type":"YARN_APPLICATION_ATTEMPT","id":"appattempt_1_0001_000001"}`)
	f.Add(`SYSTEM_INFO_PARENT_ENTITY ne {"type":"YARN_APPLICATION_ATTEMPT","id":"a"}`)
	f.Fuzz(func(t *testing.T, filter string) {
		id, err := parseAttempt(filter)
		if err != nil || filter == "" {
			if id != "" {
				t.Errorf("%q, %v", id, err)
			}
			return
		}
		b, err := json.Marshal(map[string]string{"type": "YARN_APPLICATION_ATTEMPT", "id": id})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseAttempt("SYSTEM_INFO_PARENT_ENTITY eq " + string(b)); again != id || err != nil {
			t.Errorf("%q is %q in its own form, %v", id, again, err)
		}
	})
}
