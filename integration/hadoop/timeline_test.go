package hadoop

import (
	"encoding/json"
	"fmt"
	"testing"

	"heddle/internal/await"
)

// The timeline of a finished job is complete and in order: for each of its containers, from the ask to the end. Clients of a timeline server are answered, too.
func TestTimeline(t *testing.T) {
	t.Parallel()
	if !onHeddle {
		t.Skip("YARN has no timeline of this kind")
	}
	l := lab.Lab(t)
	j := succeed(t, l, example(t, l, "pi"), "-Dmapreduce.job.tags=a,b", "2", "10")
	url := fmt.Sprintf("http://localhost:%d/ws/v1/heddle/apps/%s/timeline", l.Port("rm-http"), j.app)
	var answer struct {
		Timeline struct {
			State                                               string
			Submitted, Accepted, Launched, Registered, Finished int64
			Container                                           []struct {
				ContainerID                                         string
				ApplicationMaster, Live                             bool
				Asked, Granted, Accepted, Localized, Started, Ended int64
				ExitStatus                                          int
			}
		}
	}
	await.Slowly(t, "the application has ended", func() bool {
		body := get(t, url)
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return answer.Timeline.State == "FINISHED" && answer.Timeline.Finished > 0 // until its last process has ended it is finishing
	})
	a := answer.Timeline
	ordered := func(what string, times ...int64) {
		t.Helper()
		for i, at := range times {
			if at == 0 || i > 0 && at < times[i-1] {
				t.Errorf("%s: %v", what, times)
				return
			}
		}
	}
	ordered("application", a.Submitted, a.Accepted, a.Launched, a.Registered, a.Finished)
	if len(a.Container) != 4 {
		t.Fatalf("%d containers, not the ApplicationMaster's, two for maps and one for the reduce: %+v", len(a.Container), a)
	}
	for i, c := range a.Container {
		// 5 ms: a node's report takes a moment, and its times are counted back from its arrival
		ordered(c.ContainerID, c.Asked, c.Granted, c.Accepted+5, c.Localized+5, c.Started+5, c.Ended+5, a.Finished+10)
		if c.ApplicationMaster != (i == 0) || c.Live || c.ExitStatus != 0 {
			t.Errorf("%+v", c)
		}
		if !c.ApplicationMaster && c.Asked < a.Registered {
			t.Errorf("%s was asked for at %d, before the ApplicationMaster registered at %d", c.ContainerID, c.Asked, a.Registered)
		}
	}
	tellsOfTheEnded(t, l, j.app)
}
