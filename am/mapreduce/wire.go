package mapreduce

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	progressResponse struct{ Abandon bool }
	doneReport       struct {
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
		Error   string
	}
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

const authorization = "Authorization"

// sign proves that a request comes from one of the job's processes.
func sign(key []byte, r *http.Request) {
	r.Header.Set(authorization, "Heddle "+signature(key, r.Method, r.URL.RequestURI()))
}

func signature(key []byte, method, uri string) string {
	m := hmac.New(sha256.New, key)
	io.WriteString(m, method+" "+uri)
	return hex.EncodeToString(m.Sum(nil))
}

// authentic lets requests through that are signed.
func authentic(key []byte, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, ok := strings.CutPrefix(r.Header.Get(authorization), "Heddle ")
		if !ok || !hmac.Equal([]byte(got), []byte(signature(key, r.Method, r.RequestURI))) {
			http.Error(w, "the request is not signed with the job's key", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// caller calls the ApplicationMaster.
type caller struct {
	base string // http://host:port
	key  []byte
	http *http.Client
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
	sign(c.key, r)
	a, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(a.Body, 1000))
		if a.StatusCode == http.StatusGone {
			return errGone
		}
		return fmt.Errorf("%s: %s: %s", c.base+path, a.Status, strings.TrimSpace(string(text)))
	}
	if resp == nil {
		return nil
	}
	if err := json.NewDecoder(a.Body).Decode(resp); err != nil {
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

// serveJSON answers posted requests of a type with what f returns.
func serveJSON[Q, A any](f func(ctx context.Context, req *Q) (A, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		var req Q
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, err := f(r.Context(), &req)
		switch {
		case errors.Is(err, errGone):
			http.Error(w, err.Error(), http.StatusGone)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(a) // a client that has gone asks again
		}
	}
}
