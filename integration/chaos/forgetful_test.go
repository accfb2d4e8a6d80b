package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/rm"
)

// forgetfulRounds is the number of folders that are lost; every second one gets an older copy instead.
const forgetfulRounds = 6

// One member after the other loses its folder, or gets an older copy of it, while another member lags or all are killed under load. Nothing that
// was acknowledged is lost, and the member is a full one again afterwards.
func TestFoldersAreLostAndPutBack(t *testing.T) {
	w := newWorld(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copies := filepath.Join(t.TempDir(), "copies")
	state := func(id string) string { return filepath.Join(w.Home(id), "state") }
	for _, id := range w.ResourceManagers {
		must(w.Stop(id))
		must(os.CopyFS(filepath.Join(copies, id), os.DirFS(state(id))))
		must(w.Start(id))
		w.caughtUp(id)
	}
	for round := range forgetfulRounds {
		lead := w.leader("")
		var rest []string
		for _, id := range w.ResourceManagers {
			if id != lead {
				rest = append(rest, id)
			}
		}
		forgetful, lagging := rest[0], rest[1]
		if round%3 != 2 { // else all are killed while none lags
			w.Kill(lagging)
		}
		w.work()
		for _, id := range w.ResourceManagers {
			w.Kill(id)
		}
		must(os.RemoveAll(state(forgetful)))
		what := "emptied"
		if round%2 == 1 {
			what = "put back"
			must(os.CopyFS(state(forgetful), os.DirFS(filepath.Join(copies, forgetful))))
		}
		t.Logf("round %d: %s is %s, %s lags, %s led", round, forgetful, what, lagging, lead)
		must(w.Start(forgetful))
		must(w.Start(lagging))
		must(w.Start(lead))
		w.leader("")
		for _, id := range w.ResourceManagers {
			w.caughtUp(id)
		}
		w.ForgetGrants()
	}
	w.rest()
	must(w.LookForAll(t.Context()))
	checked, err := w.Check()
	must(err)
	t.Logf("%d acknowledged submissions, all there; %d containers", checked.Acknowledged, checked.Containers)
}

// caughtUp waits until a member has a vote and the log. A member that ended, as it met another that knew better, is started again.
func (w *world) caughtUp(id string) {
	w.tb.Helper()
	await.Until(w.tb, id+" is a full member", func() bool {
		for _, e := range w.Ended() {
			if err := w.Start(e.Name); err != nil {
				w.tb.Fatal(err)
			}
		}
		list, err := w.members()
		if err != nil {
			return false
		}
		for _, m := range list {
			if m.ID == id {
				return m.Voter && m.Reachable && m.Behind < 1000 && m.Problem == ""
			}
		}
		return false
	})
}

// onRecord is a member as the leader's REST API shows it.
type onRecord struct {
	ID        string `json:"id"`
	Voter     bool   `json:"voter"`
	Reachable bool   `json:"reachable"`
	Behind    uint64 `json:"behind"`
	Problem   string `json:"problem"`
}

// members asks the leader for the members on the group's record.
func (w *world) members() ([]onRecord, error) {
	ctx, cancel := context.WithTimeout(w.tb.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Address(w.leader(""), rm.WebAddress)+"/ws/v1/heddle/members", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body struct {
		Members struct {
			Member []onRecord `json:"member"`
		} `json:"members"`
	}
	err = json.NewDecoder(resp.Body).Decode(&body)
	return body.Members.Member, err
}
