package mapreduce

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// BenchmarkLargeJob has 900 workers do 10,000 map tasks of 20 s each and 100 reduce tasks, as messages: all that the
// ApplicationMaster does for it but the network's part, and the signing of the requests besides. It tells which part of a
// processor that would take.
func BenchmarkLargeJob(b *testing.B) {
	const workers, maps, reduces, length = 900, 10_000, 100, 20 * time.Second
	for b.Loop() {
		hosts := make([]string, maps)
		for i := range hosts {
			hosts[i] = fmt.Sprint("h", i%300)
		}
		p := newPlay(maps, reduces, hosts...)
		p.cluster.nodes = 300
		m := &master{spec: p.c.spec, tasks: p.c}
		h, s := m.handler(), signed.NewSigner(nil)
		hurried, cancel := context.WithCancel(b.Context())
		cancel() // nobody waits
		send := func(ctx context.Context, path string, req, resp any) {
			body, err := json.Marshal(req)
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)).WithContext(ctx)
			s.Sign(r, body)
			a := httptest.NewRecorder()
			h.ServeHTTP(a, r)
			if a.Code != http.StatusOK {
				b.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			if err := json.Unmarshal(a.Body.Bytes(), resp); err != nil {
				b.Fatal(err)
			}
		}
		var names []string
		for i := range workers {
			if w := p.grant(fmt.Sprint("h", i%300)); w != "" {
				names = append(names, w)
			}
		}
		doing := map[string]job.TaskID{}
		counters := job.Counters{job.TaskGroup: {job.MapInputRecords: 1, job.MapInputBytes: 2, job.MapOutputRecords: 3, job.MapOutputBytes: 4, job.SpilledRecords: 5}}
		var took time.Duration
		began := time.Now()
		for !p.c.over {
			working := 0
			for _, w := range names {
				var next job.NextResponse
				if p.c.workers[w] == nil {
					continue
				}
				send(hurried, "/worker/next", job.NextRequest{Worker: w, URL: "http://h:1"}, &next)
				if next.Task == nil {
					continue
				}
				doing[w] = next.Task.ID
				working++
			}
			if working == 0 {
				b.Fatal("nobody has anything to do")
			}
			pause := p.c.reportEvery()
			for at := pause; at < length; at += pause {
				for w, id := range doing {
					send(hurried, "/worker/progress", job.ProgressReport{Worker: w, ID: id, Progress: at.Seconds() / length.Seconds()}, &job.ProgressResponse{})
					if id.Kind == job.Reduce {
						var o job.OutputsResponse
						send(hurried, "/worker/outputs", job.OutputsRequest{Worker: w, From: 0}, &o)
					}
				}
				p.c.status(hurried, &job.StatusRequest{})
				p.c.relieve()
			}
			for w, id := range doing {
				d := job.DoneReport{Worker: w, ID: id, Counters: counters}
				if id.Kind == job.Reduce {
					d.Output = (&job.Assignment{ID: id, Output: "out/" + id.Name(testApp)}).Part()
				}
				send(hurried, "/worker/done", d, &struct{}{})
				delete(doing, w)
			}
			took += length
		}
		b.ReportMetric(100*time.Since(began).Seconds()/took.Seconds(), "%core")
	}
}
