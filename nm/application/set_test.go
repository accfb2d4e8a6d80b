package application

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is what a set works with. It notes what the set does.
type world struct {
	mu      sync.Mutex
	did     []string
	kept    map[string]string
	failing map[string]bool // what fails
	running sync.WaitGroup
	ctx     context.Context
}

func newWorld(ctx context.Context) *world {
	return &world{ctx: ctx, kept: make(map[string]string), failing: make(map[string]bool)}
}

var errNo = errors.New("no")

func (w *world) do(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, what)
	if w.failing[what] {
		return errNo
	}
	return nil
}

func (w *world) fail(what string, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing[what] = is
}

func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.did, ", ")
}

func (w *world) InitApplication(string, records.ApplicationID) ([]string, error) {
	return nil, w.do("make folders")
}

func (w *world) EndApplication(string, records.ApplicationID) error { return w.do("remove folders") }

func (w *world) StartApplication(Info) error { return w.do("look after logs") }

func (w *world) FinishApplication(context.Context, records.ApplicationID) error {
	return w.do("deal with logs")
}
func (w *world) StopApplication(records.ApplicationID) { _ = w.do("stop services") }

func (w *world) Begin(key string, value []byte) <-chan error {
	w.mu.Lock()
	w.kept[key] = string(value)
	w.mu.Unlock()
	done := make(chan error, 1)
	done <- w.do("save")
	return done
}

func (w *world) Delete(key string) error {
	w.mu.Lock()
	delete(w.kept, key)
	w.mu.Unlock()
	return w.do("forget")
}

func (w *world) ForEach(_ string, f func(string, []byte) error) error {
	for k, v := range w.kept {
		if err := f(k, []byte(v)); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// set is a life of a node.
func (w *world) set(delay time.Duration) *Set {
	log := logrus.New()
	log.Out = io.Discard
	return NewSet(w.ctx, Options{
		Folders: w, Logs: w, Services: w, Records: w, DeleteDelay: delay, Log: logrus.NewEntry(log),
		Private: func(records.ApplicationID) error { return w.do("remove private files") },
		Gone:    func(records.ApplicationID) { _ = w.do("gone") },
		Go:      func(f func()) { w.running.Go(f) },
	})
}

type container struct {
	id     records.ContainerID
	killed chan string
}

func (c *container) ID() records.ContainerID { return c.id }
func (c *container) Kill(code int, why string) {
	c.killed <- fmt.Sprintf("%d %s", code, why)
}

var app = records.ApplicationID{ClusterTimestamp: 1, ID: 2}

func newContainer(n int64) *container {
	return &container{records.ContainerID{Attempt: records.AttemptID{App: app, Attempt: 1}, ID: n}, make(chan string, 1)}
}

func first() First {
	lc := &pb.ContainerLaunchContext{}
	lc.SetTokens([]byte("secret"))
	return First{ID: app, User: "ann", Launch: lc}
}

// opened is a set with the application and a container.
func opened(t *testing.T, w *world, delay time.Duration) (*Set, *container) {
	t.Helper()
	s, c := w.set(delay), newContainer(1)
	if !s.Open(first()) || s.Open(first()) {
		t.Error("not fresh, or twice")
	}
	if err := s.Save(app); err != nil || !s.Add(c) {
		t.Errorf("not taken: %v", err)
	}
	if err := s.Ready(t.Context(), app); err != nil {
		t.Error(err)
	}
	return s, c
}

func stateOf(s *Set) State {
	synctest.Wait()
	is, _ := s.Get(app)
	return is.State
}

// An application goes through its states, and is cleaned up only when its last container has ended.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t.Context())
		s, c := opened(t, w, time.Hour)
		if is, ok := s.Get(app); !ok || is.State != Running || is.User != "ann" || string(is.Tokens) != "secret" || !slices.Equal(is.Containers, []records.ContainerID{c.id}) {
			t.Errorf("%+v, %v", is, ok)
		}
		s.Finish(app, "because")
		s.Finish(app, "twice")
		if why := <-c.killed; why != fmt.Sprintf("%d Container killed on application-finish event: because\n", records.ExitKilledAfterAppCompletion) {
			t.Errorf("killed: %q", why)
		}
		if got := stateOf(s); got != FinishingContainersWait {
			t.Errorf("it is %s with a container", got)
		}
		if s.Add(newContainer(2)) {
			t.Error("it takes a container at its end")
		}
		s.Remove(newContainer(2).id)
		s.Remove(c.id)
		synctest.Wait()
		const end = "save, look after logs, make folders, save, stop services, remove private files, deal with logs, forget, gone"
		if got := w.said(); got != end || s.Len() != 0 || len(w.kept) != 0 {
			t.Errorf("it did %s; %d are left, %v is kept", got, s.Len(), w.kept)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.said(); got != end+", remove folders" {
			t.Errorf("after the delay: %s", got)
		}
		w.running.Wait()
		if err := s.Ready(t.Context(), app); err == nil || s.Add(c) || s.Save(app) == nil {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// What failed for one container is tried again for the next. Logs that can't be looked after hold up nobody.
func TestTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t.Context())
		w.fail("make folders", true)
		w.fail("look after logs", true)
		s := w.set(0)
		s.Open(first())
		if err := s.Ready(t.Context(), app); !errors.Is(err, errNo) || stateOf(s) != Initing {
			t.Errorf("%v, %s", err, stateOf(s))
		}
		w.fail("make folders", false)
		for range 2 {
			if err := s.Ready(t.Context(), app); err != nil || stateOf(s) != Running {
				t.Errorf("%v, %s", err, stateOf(s))
			}
		}
		w.fail("look after logs", false)
		for range 3 {
			if err := s.Ready(t.Context(), app); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(w.said(), "look after logs"); got != 4 {
			t.Errorf("logs were tried %d times: %s", got, w.said())
		}
	})
}

// The next life knows an application, and goes on ending it.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t.Context())
		s, c := opened(t, w, 0)
		s.Finish(app, "because")
		<-c.killed
		kept := maps.Clone(w.kept)
		s.Remove(c.id)
		w.running.Wait()
		// as if it had died before the container ended
		w.kept, w.did = kept, nil
		s = w.set(0)
		if err := s.Recover(); err != nil || s.Open(first()) {
			t.Fatalf("it isn't known: %v", err)
		}
		if s.Add(c) {
			t.Error("it isn't being ended any more")
		}
		s.Resume()
		if got := stateOf(s); got != FinishingContainersWait {
			t.Errorf("it is %s", got)
		}
		s.Remove(c.id)
		w.running.Wait()
		if s.Len() != 0 || len(w.kept) != 0 || !strings.HasSuffix(w.said(), "gone") {
			t.Errorf("%d are left; %s", s.Len(), w.said())
		}
	})
}

// A damaged record of one application ended the NodeManager at each start.
func TestADamagedRecordIsItsApplicationsLossAlone(t *testing.T) {
	for key, value := range map[string]string{"nonsense": "{}", app.String(): "{", "application_1_2": "{}"} {
		w := newWorld(t.Context())
		const other = "application_1_0077"
		w.kept[key], w.kept[other] = value, "{}"
		s := w.set(0)
		if err := s.Recover(); err != nil || s.Len() != 1 || len(w.kept) != 1 || w.kept[other] == "" {
			t.Errorf("%q=%q: %v, %d applications, %v", key, value, err, s.Len(), w.kept)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(app.String(), `{"user":"ann","acls":{"1":"*"},"tokens":"SERUUw==","logContext":"CgF4","finishing":true}`)
	f.Add(app.String(), "null")
	f.Add("application_1_1", `{"acls":{"-5":"x"},"logContext":"AAAA"}`)
	f.Fuzz(func(t *testing.T, key, value string) {
		w := newWorld(t.Context())
		w.kept[key] = value
		s := w.set(0)
		if s.Recover() != nil {
			return
		}
		for _, is := range s.All() {
			if _, ok := s.Get(is.ID); !ok || is.State.String() != "NEW" {
				t.Errorf("%+v", is)
			}
		}
	})
}

func TestNamesOfStates(t *testing.T) {
	for s, name := range stateNames {
		if got, ok := ParseState(name); !ok || got != State(s) || got.String() != name {
			t.Errorf("%q is %v, %v", name, got, ok)
		}
	}
	if _, ok := ParseState("DONE"); ok {
		t.Error("DONE is no state of an application")
	}
}
