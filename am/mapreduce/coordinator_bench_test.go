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
		h, s := m.handler(), newSigner(nil)
		hurried, cancel := context.WithCancel(b.Context())
		cancel() // nobody waits
		send := func(ctx context.Context, path string, req, resp any) {
			body, err := json.Marshal(req)
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)).WithContext(ctx)
			s.sign(r, body)
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
		doing := map[string]taskID{}
		counters := Counters{taskGroup: {mapInputRecords: 1, mapInputBytes: 2, mapOutputRecords: 3, mapOutputBytes: 4, spilledRecords: 5}}
		var took time.Duration
		began := time.Now()
		for !p.c.over {
			working := 0
			for _, w := range names {
				var next nextResponse
				p.c.mu.Lock()
				ready := p.c.workers[w] != nil && p.c.pick(p.c.workers[w]) != nil
				p.c.mu.Unlock()
				if !ready {
					continue
				}
				send(b.Context(), "/worker/next", nextRequest{Worker: w, URL: "http://h:1"}, &next)
				doing[w] = next.Task.ID
				working++
			}
			if working == 0 {
				b.Fatal("nobody has anything to do")
			}
			pause := reportEvery
			for at := pause; at < length; at += pause {
				for w, id := range doing {
					var r progressResponse
					send(hurried, "/worker/progress", progressReport{Worker: w, ID: id, Progress: at.Seconds() / length.Seconds()}, &r)
					pause = r.Pause
					if id.Kind == reduceTask {
						var o outputsResponse
						send(hurried, "/worker/outputs", outputsRequest{Worker: w, From: 0}, &o)
					}
				}
				p.c.status(hurried, &statusRequest{})
				p.c.relieve()
			}
			for w, id := range doing {
				d := doneReport{Worker: w, ID: id, Counters: counters}
				if id.Kind == reduceTask {
					d.Output = (&assignment{ID: id, Output: "out/" + id.name(testApp)}).part()
				}
				send(hurried, "/worker/done", d, &struct{}{})
				delete(doing, w)
			}
			took += length
		}
		b.ReportMetric(100*time.Since(began).Seconds()/took.Seconds(), "%core")
	}
}
