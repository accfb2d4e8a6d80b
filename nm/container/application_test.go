package container

import (
	"errors"
	"sync/atomic"
	"testing"

	"heddle/internal/userfiles"
	"heddle/nm/application"
	"heddle/yarn/records"
)

func nobodyKnown(string) (*userfiles.User, error) { return nil, errors.New("the directory is down") }

// failing fails to make an application's folders, and to look after its logs, for a while.
type failing struct {
	Localizer
	Logs
	times, logTimes atomic.Int32
}

func (f *failing) InitApplication(user string, app records.ApplicationID) ([]string, error) {
	if f.times.Add(-1) >= 0 {
		return nil, errors.New("no space left on device")
	}
	return f.Localizer.InitApplication(user, app)
}

func (f *failing) StartApplication(app application.Info) error {
	if f.logTimes.Add(-1) >= 0 {
		return errors.New("no space left on device")
	}
	return f.Logs.StartApplication(app)
}

// A disk that is full for a moment must not keep a node from an application for good.
func TestAnApplicationIsTriedAgainAfterAFailure(t *testing.T) {
	f := &failing{}
	f.times.Store(1)
	f.logTimes.Store(2)
	l := newLab(t, func(o *Options) {
		f.Localizer, f.Logs = o.Localizer, o.Logs
		o.Localizer, o.Logs = f, f
	})
	if s := waitDone(t, l.run(job{id: containerID(1, 1), command: "true"})); s.ExitCode == 0 {
		t.Errorf("without folders: exit code %d", s.ExitCode)
	}
	for n := int64(2); n <= 3; n++ {
		if s := waitDone(t, l.run(job{id: containerID(1, n), command: "true"})); s.ExitCode != 0 {
			t.Errorf("container %d: exit code %d, %q", n, s.ExitCode, s.Diagnostics)
		}
	}
	l.node.logs.mu.Lock()
	defer l.node.logs.mu.Unlock()
	if _, ok := l.node.logs.started[appID(1)]; !ok {
		t.Error("nobody looks after the application's logs")
	}
}
