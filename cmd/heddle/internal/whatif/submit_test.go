package whatif

import (
	"testing"

	"heddle/yarn/records"
)

// FuzzInWords: a job in words is read or refused, and is bounded.
func FuzzInWords(f *testing.F) {
	f.Add("queue=root.a,user=u,containers=3,memory=1024,vcores=1,seconds=2.5")
	f.Add("containers=1e99")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 200 {
			return
		}
		j, err := inWords(text, records.NewResource(1024, 1))
		if err != nil {
			return
		}
		if n := len(j.Stages[0].Tasks); n > maxContainers || j.Queue == "" || j.User == "" || n > 0 && j.Stages[0].Tasks[0].Duration < 0 {
			t.Errorf("%q: %d tasks in %q of %q", text, n, j.Queue, j.User)
		}
	})
}
