package makeway

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/nm/admission"
	"heddle/yarn/records"
)

// fake is a container whose calls answer as a test says.
type fake struct {
	calls    []string
	give     error
	backs    []error // of ComeBack, in turn; nil resumes it
	overtook bool
	yielded  bool
	ends     bool
}

func (f *fake) GiveWay() error {
	f.calls = append(f.calls, "give")
	f.yielded = f.give == nil
	return f.give
}

func (f *fake) ComeBack() (bool, error) {
	f.calls = append(f.calls, "back")
	err := f.backs[0]
	f.backs = f.backs[1:]
	f.yielded = err != nil
	return f.overtook, err
}

func (f *fake) Yielded() bool { return f.yielded }
func (f *fake) Ends() bool    { return f.ends }

func (f *fake) Kill(code int, why string) {
	f.calls = append(f.calls, fmt.Sprintf("kill %d %s", code, why))
}

const killed = "kill -108 Container Killed to make room for Guaranteed Container.\n"

func TestMakingWay(t *testing.T) {
	log := logrus.New()
	log.Out = io.Discard
	failure := errors.New("it is not running")
	for name, c := range map[string]struct {
		pause bool
		f     fake
		want  string
	}{
		"killed":                      {false, fake{}, fmt.Sprintf("%q", []string{killed})},
		"paused":                      {true, fake{backs: []error{nil}}, `["give" "back"]`},
		"overtaken by another":        {true, fake{backs: []error{failure, nil}, overtook: true}, `["give" "back" "back"]`},
		"can't come back":             {true, fake{backs: []error{failure}}, `["give" "back"]`},
		"has not begun":               {true, fake{give: failure}, fmt.Sprintf("%q", []string{"give", killed})},
		"ends before it has made way": {true, fake{give: failure, ends: true}, `["give"]`},
	} {
		if Do(&c.f, c.pause, logrus.NewEntry(log)); fmt.Sprintf("%q", c.f.calls) != c.want {
			t.Errorf("%s: %q, want %s", name, c.f.calls, c.want)
		}
	}
}

func TestSentAway(t *testing.T) {
	var f fake
	SentAway(&f, errors.New("other"))
	SentAway(&f, fmt.Errorf("enter: %w", admission.ErrShed))
	if len(f.calls) != 1 || f.calls[0] != fmt.Sprintf("kill %d Container De-queued to meet NM queuing limits.\n", records.ExitKilledByScheduler) {
		t.Errorf("%q", f.calls)
	}
}
