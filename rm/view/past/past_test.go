package past

import (
	"testing"

	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// still is a ledger that doesn't change.
type still struct{ *ledger.State }

func (s still) Read(f func(*ledger.State)) { f(s.State) }

func (still) Leader() *leader.Leader { return nil }

// An application's ended containers are shown beside those that live, each by its own attempt, and a failed attempt keeps its address.
func TestWhatHasEnded(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 7}
	first, second := records.AttemptID{App: id, Attempt: 1}, records.AttemptID{App: id, Attempt: 2}
	s := ledger.New()
	s.Apps[id] = &ledger.Application{
		ID: id, User: "alice",
		Attempts: []*ledger.Attempt{{ID: first, RegisterTime: 3, Host: "w1", RPCPort: 9, State: ledger.AttemptFailed}, {ID: second, Host: "w2"}},
		Past: ledger.PastOf(
			&ledger.Container{ID: records.ContainerID{Attempt: first, ID: 2}, State: ledger.ContainerCompleted},
			&ledger.Container{ID: records.ContainerID{Attempt: first, ID: 1}, State: ledger.ContainerCompleted},
			&ledger.Container{ID: records.ContainerID{Attempt: second, ID: 3}, State: ledger.ContainerCompleted},
		),
	}
	v := &view.Viewer{Source: still{s}, Web: "rm:8088"}
	list, ok := Containers(v, first)
	if !ok || len(list) != 2 || list[0].ID.ID != 1 || list[1].ID.ID != 2 || list[0].User != "alice" {
		t.Fatalf("%v, %+v", ok, list)
	}
	if got, want := LogsURL(v, &list[0]), "http://rm:8088/cluster/logs/:0/container_1_0007_01_000001/container_1_0007_01_000001/alice"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, ok := Containers(v, records.AttemptID{App: id, Attempt: 3}); ok {
		t.Error("there is a third attempt")
	}
	if c, ok := Container(v, records.ContainerID{Attempt: second, ID: 3}); !ok || c.ID.ID != 3 {
		t.Errorf("%v, %+v", ok, c)
	}
	if _, ok := Container(v, records.ContainerID{Attempt: second, ID: 1}); ok {
		t.Error("a container is of two attempts")
	}
	for id, want := range map[records.AttemptID]string{first: "w1", second: "N/A"} {
		if host, _ := Address(v, id); host != want {
			t.Errorf("%v: %s, want %s", id, host, want)
		}
	}
	if exit, text := Aborted(records.ExitKilledByResourceManager, ""); exit != records.ExitAborted || text == "" {
		t.Errorf("%d, %q", exit, text)
	}
	if exit, text := Aborted(1, "bad"); exit != 1 || text != "bad" {
		t.Errorf("%d, %q", exit, text)
	}
}
