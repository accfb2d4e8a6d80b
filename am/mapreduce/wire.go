package mapreduce

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"heddle/yarn/records"
)

// kind is which half of a job a task belongs to.
type kind string

const (
	mapTask    kind = "map"
	reduceTask kind = "reduce"
)

// taskID names an attempt at a task within an attempt at the application.
type taskID struct {
	Kind    kind
	Index   int
	Attempt int
}

func (t taskID) String() string {
	return fmt.Sprintf("%s task %d, attempt %d", t.Kind, t.Index, t.Attempt)
}

// name is the attempt's name as Hadoop writes it.
func (t taskID) name(app records.ApplicationID) string {
	return fmt.Sprintf("attempt_%d_%04d_%c_%06d_%d", app.ClusterTimestamp, app.ID, t.Kind[0], t.Index, t.Attempt)
}

// assignment is a task for a worker.
type assignment struct {
	ID     taskID
	Split  *split // of map tasks
	Output string // folder for the task's part of the job's output; "" for map tasks whose output is shuffled
}

// check verifies that a job has such a task.
func (a *assignment) check(s *spec) error {
	of, writes := s.Maps, s.Job.Reduces == 0
	if a.ID.Kind == reduceTask {
		of, writes = s.Job.Reduces, true
	}
	bad := a.ID.Kind != mapTask && a.ID.Kind != reduceTask || a.ID.Index < 0 || a.ID.Index >= of || a.ID.Attempt < 0 ||
		(a.ID.Kind == mapTask) != (a.Split != nil) || writes != (a.Output != "")
	if a.Split != nil {
		for _, p := range a.Split.Pieces {
			bad = bad || p.Offset < 0 || p.Length < 0 || p.Offset > math.MaxInt64-p.Length
		}
	}
	if bad {
		return fmt.Errorf("the ApplicationMaster assigns a task that the job doesn't have: %v", a.ID)
	}
	return nil
}

// What workers and the user's side say to the ApplicationMaster, and what it answers.
type (
	nextRequest struct {
		Worker string // container
		Host   string
		URL    string // where it serves map outputs
	}
	nextResponse struct {
		Task *assignment
		Exit bool // there is nothing more to do
	}
	progressReport struct {
		Worker   string
		ID       taskID
		Progress float64
		Counters Counters
		Status   string
	}
	progressResponse struct {
		Abandon bool
		Pause   time.Duration // until the next report
	}
	doneReport struct {
		Worker   string
		ID       taskID
		Counters Counters
		Error    string // of a task that failed
		Stderr   []string
		Output   string // file that is to become part of the job's output
	}
	fetchFailure struct {
		Worker  string
		Map     int
		Attempt int
		Gone    bool // its worker says that it doesn't have it
		Error   string
	}
	fetchVerdict struct{ Again bool } // it is to be fetched from the same worker once more
	// mapOutput says where a map task's output is, or that it isn't there any more.
	mapOutput struct {
		Map     int
		Attempt int
		URL     string
		Lost    bool
	}
	outputsRequest struct {
		Worker string
		From   int
	}
	outputsResponse struct {
		Events []mapOutput
		Next   int
	}
)

// Status is where a job is.
type Status struct {
	Maps, Reduces Stage
	Counters      Counters
	Failures      []Failure // of tasks, the latest last
	Version       int64     // another one says that something has changed
	Ended         bool      // nothing will change any more
	Error         string    // of a job that has failed
}

// Stage is where one half of a job is.
type Stage struct {
	Total, Running, Done, Failed int
	Progress                     float64 // from 0 to 1
}

// Failure is a task that failed, or was lost.
type Failure struct {
	Task   string
	Host   string
	Error  string
	Stderr []string // last lines of it
}

func (f Failure) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s: %s", f.Task, f.Host, f.Error)
	for _, line := range f.Stderr {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

// caller calls the ApplicationMaster.
type caller struct {
	base   string // http://host:port
	signer *signer
	http   *http.Client
}

// errGone means that the ApplicationMaster doesn't want to hear from this worker any more.
var errGone = errors.New("the ApplicationMaster has no use for this worker any more")

// call posts a request and reads the response, as long as ctx lasts; it tries once.
func (c *caller) call(ctx context.Context, path string, req, resp any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signature := c.signer.sign(r, body)
	a, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	body, err = io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.base+path, err)
	case len(body) > maxAnswer:
		return fmt.Errorf("%s: an answer of more than %d bytes", c.base+path, maxAnswer)
	}
	genuine := hmac.Equal([]byte(a.Header.Get(answerHeader)), []byte(answerMAC(c.signer.key, signature, a.StatusCode, body)))
	switch {
	case genuine && a.StatusCode == http.StatusGone:
		return errGone
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", c.base+path, a.Status, strings.TrimSpace(string(body[:min(len(body), 1000)])))
	case !genuine:
		return fmt.Errorf("%s: the answer is not signed with the job's key", c.base+path)
	case resp == nil:
		return nil
	}
	if err := json.Unmarshal(body, resp); err != nil {
		return fmt.Errorf("%s: %w", c.base+path, err)
	}
	return nil
}

// Pauses between attempts at a call, and how long it is attempted: the ApplicationMaster doesn't come back elsewhere; when it
// is dead the NodeManagers end its containers.
const (
	callPause    = 200 * time.Millisecond
	callPatience = 60 * time.Second
)

// insist repeats a call until there is an answer.
func (c *caller) insist(ctx context.Context, path string, req, resp any) error {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	for {
		err := c.call(ctx, path, req, resp)
		if err == nil || errors.Is(err, errGone) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the ApplicationMaster doesn't answer: %w", err)
		case <-time.After(callPause):
		}
	}
}

// serve answers posted requests of a type, which a guard lets through, with what f returns.
func serve[Q, A any](g *guard, f func(ctx context.Context, req *Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		signature, body, err := g.check(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		answer := func(status int, body []byte) {
			w.Header().Set(answerHeader, answerMAC(g.key, signature, status, body))
			w.WriteHeader(status)
			_, _ = w.Write(body) // a client that has gone asks again
		}
		var req Q
		if err := json.Unmarshal(body, &req); err != nil {
			answer(http.StatusBadRequest, []byte(err.Error()))
			return
		}
		a, err := f(r.Context(), &req)
		switch {
		case errors.Is(err, errGone):
			answer(http.StatusGone, []byte(err.Error()))
			return
		case err != nil:
			answer(http.StatusInternalServerError, []byte(err.Error()))
			return
		}
		if body, err = json.Marshal(a); err != nil {
			answer(http.StatusInternalServerError, []byte(err.Error()))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer(http.StatusOK, body)
	})
}
