package rm

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"heddle/internal/await"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// timelineServer notes the events that are posted, with the ids of their subjects.
type timelineServer struct {
	mu     sync.Mutex
	events []string
	info   map[string]any
}

func (s *timelineServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var posted struct {
		Entities []struct {
			Entity    string
			Events    []struct{ EventType string }
			OtherInfo map[string]any
		}
	}
	if err := json.Unmarshal(body, &posted); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range posted.Entities {
		s.events = append(s.events, e.Entity+" "+strings.TrimPrefix(e.Events[0].EventType, "YARN_"))
		for k, v := range e.OtherInfo {
			s.info[k] = v
		}
	}
	_, _ = w.Write([]byte("{}"))
}

// take returns what has come since the last call, once the last event is there.
func (s *timelineServer) take(t *testing.T, last string) (events []string) {
	t.Helper()
	await.Until(t, last, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.ContainsFunc(s.events, func(e string) bool { return strings.HasSuffix(e, last) }) {
			return false
		}
		events, s.events = s.events, nil
		return true
	})
	return events
}

// A timeline server gets the events of an application in their order, and after a restart again those that a leader could have failed to send.
func TestTimelineServer(t *testing.T) {
	s := &timelineServer{info: map[string]any{}}
	web := httptest.NewServer(s)
	defer web.Close()
	c := settingsFor(t, t.TempDir(), 1)
	c.Set("yarn.timeline-service.enabled", "true")
	c.Set("yarn.system-metrics-publisher.enabled", "true")
	c.Set("yarn.timeline-service.webapp.address", web.Listener.Addr().String())
	m := startOne(t, c, 0)
	w := newWorld(t, []*member{m})
	n := w.node()
	id := w.submit("alice")
	launch := <-n.started
	am := w.master(launch)
	call(w, protocol.RegisterApplicationMaster, am, &pb.RegisterApplicationMasterRequest{})
	call(w, protocol.Allocate, am, allocateRequest(0, 2))
	finish := &pb.FinishApplicationMasterRequest{}
	finish.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
	call(w, protocol.FinishApplicationMaster, am, finish)
	attempt := records.AttemptID{App: id, Attempt: 1}
	container := func(n int64) records.ContainerID { return records.ContainerID{Attempt: attempt, ID: n} }
	first := container(1)
	n.heartbeat(&first, 0)
	app := id.String()
	want := []string{
		app + " APPLICATION_CREATED", app + " APPLICATION_ACLS_UPDATED", first.String() + " CONTAINER_CREATED", app + " APPLICATION_LAUNCHED",
		app + " APPLICATION_STATE_UPDATED", attempt.String() + " APPLICATION_ATTEMPT_REGISTERED",
		container(2).String() + " CONTAINER_CREATED", container(3).String() + " CONTAINER_CREATED",
		first.String() + " CONTAINER_FINISHED", container(2).String() + " CONTAINER_FINISHED", container(3).String() + " CONTAINER_FINISHED",
		attempt.String() + " APPLICATION_ATTEMPT_FINISHED", app + " APPLICATION_FINISHED",
	}
	got := s.take(t, "APPLICATION_FINISHED")
	slices.Sort(got[8:11]) // containers of an application that ends, in any order
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s.info["YARN_APPLICATION_USER"] != "alice" || s.info["YARN_APPLICATION_QUEUE"] != "root.default" || s.info["YARN_CONTAINER_ALLOCATED_HOST"] != n.ID.Host {
		t.Errorf("%v", s.info)
	}
	m.halt(t)
	m = startOne(t, c, 0)
	defer m.halt(t)
	slices.Sort(want)
	got = s.take(t, "APPLICATION_FINISHED")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("events after a restart:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
