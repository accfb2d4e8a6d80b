package daemon

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Traffic counts requests, for the bean HttpServer2-<port>. The zero value is ready for use.
type Traffic struct {
	mu                sync.Mutex
	since             time.Time
	active, activeMax int
	total             int64
	classes           [6]int64 // answers by the first digit of their status
	bytes             int64
	longest, sum      float64 // ms
	squares           float64 // of ms
}

// Wrap counts the requests that next serves.
func (t *Traffic) Wrap(next http.Handler) http.Handler {
	t.since = time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		t.mu.Lock()
		t.total++
		t.active++
		t.activeMax = max(t.activeMax, t.active)
		t.mu.Unlock()
		c := &counted{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			took := float64(time.Since(began)) / float64(time.Millisecond)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.active--
			t.classes[min(c.status/100, 5)]++
			t.bytes += c.bytes
			t.longest = max(t.longest, took)
			t.sum += took
			t.squares += took * took
		}()
		next.ServeHTTP(c, r)
	})
}

// Bean returns the counts for a service on a port.
func (t *Traffic) Bean(service, host string, port int) Bean {
	t.mu.Lock()
	defer t.mu.Unlock()
	var mean, deviation float64
	if n := float64(t.total - int64(t.active)); n > 0 {
		mean = t.sum / n
		deviation = math.Sqrt(max(0, t.squares/n-mean*mean))
	}
	name := "HttpServer2-" + strconv.Itoa(port)
	return Bean{"Hadoop:service=" + service + ",name=" + name, name, []Attr{
		{"tag.Context", "http"},
		{"tag.Hostname", host},
		{"Dispatched", t.total},
		{"AsyncDispatches", 0},
		{"AsyncRequests", 0},
		{"AsyncRequestsWaiting", 0},
		{"AsyncRequestsWaitingMax", 0},
		{"DispatchedActive", t.active},
		{"DispatchedActiveMax", t.activeMax},
		{"DispatchedTimeMax", int64(t.longest)},
		{"DispatchedTimeMean", mean},
		{"DispatchedTimeStdDev", deviation},
		{"DispatchedTimeTotal", int64(t.sum)},
		{"RequestsActive", t.active},
		{"RequestsActiveMax", t.activeMax},
		{"RequestTimeMax", int64(t.longest)},
		{"RequestTimeMean", mean},
		{"RequestTimeStdDev", deviation},
		{"RequestTimeTotal", int64(t.sum)},
		{"Responses1xx", t.classes[1]},
		{"Responses2xx", t.classes[2]},
		{"Responses3xx", t.classes[3]},
		{"Responses4xx", t.classes[4]},
		{"Responses5xx", t.classes[5]},
		{"ResponsesBytesTotal", t.bytes},
		{"StatsOnMs", time.Since(t.since).Milliseconds()},
		{"Expires", 0},
		{"Requests", t.total},
	}}
}

// counted records the status and size of an answer.
type counted struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}

// ReadFrom lets the kernel copy files to the socket.
func (c *counted) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(c.ResponseWriter, r)
	c.bytes += n
	return n, err
}

// Unwrap serves http.ResponseController.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }
