package pool

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/records"
)

// Executors have fewer slots where containers are small, and as many tasks run at a time.
func TestExecutorsFitIntoContainers(t *testing.T) {
	for _, test := range []struct {
		largest     records.Resource
		slots, most int
	}{
		{records.NewResource(8192, 8), 4, 13},
		{records.NewResource(1100, 8), 2, 26},
		{records.NewResource(8192, 1), 1, 52},
	} {
		c := Containers{Slots: 4, Memory: 512, Most: 13}
		if c.fit(test.largest); c.Slots != test.slots || c.Most != test.most {
			t.Errorf("%v: %d executors of %d slots, want %d of %d", test.largest, c.Most, c.Slots, test.most, test.slots)
		}
	}
}

// Who waits for a full queue is told so, and nobody else is.
func TestUsersAreToldThatTheyWait(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	for _, test := range []struct {
		state State
		want  string
	}{
		{State{Waiting: 3}, "heddle app -why " + id.String()},
		{State{Waiting: 3, Executors: 1}, ""},
		{State{}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			l := logrus.New()
			l.SetOutput(&said)
			defer remind(logrus.NewEntry(l), id, func() State { return test.state }).Stop()
			time.Sleep(2 * remindAfter)
			synctest.Wait()
			if got := said.String(); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%+v: %q", test.state, got)
			}
		})
	}
}
