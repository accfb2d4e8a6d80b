package worker

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// FuzzAnswers gives a worker whatever may be in an answer: it takes no task that the job doesn't have.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"Task":{"ID":{"Kind":"map","Index":1,"Attempt":0},"Split":{"Pieces":[{"Path":"a","Offset":0,"Length":5}],"Length":5}}}`), []byte(`{"Events":[{"Map":0,"URL":"http://h:1"}],"Next":1}`))
	f.Add([]byte(`{"Task":{"ID":{"Kind":"","Index":-1}}}`), []byte(`{"Events":[{"Map":-7,"Lost":true}],"Next":-1}`))
	f.Fuzz(func(t *testing.T, next, events []byte) {
		var answers [][]byte
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signature, _, err := signed.NewGuard([]byte("key")).Check(r)
			if err != nil {
				t.Fatal(err)
			}
			body := answers[0]
			w.Header().Set(signed.AnswerHeader, signed.AnswerMAC([]byte("key"), signature, http.StatusOK, body))
			_, _ = w.Write(body)
		})
		c := &signed.Caller{Base: "http://am:1", Signer: signed.NewSigner([]byte("key")), HTTP: &http.Client{Transport: direct{server}}}
		s := &job.Spec{Maps: 3, Job: job.Job{Reduces: 2}}
		answers = [][]byte{next}
		var n job.NextResponse
		if c.Call(t.Context(), "/worker/next", job.NextRequest{}, &n) == nil && n.Task != nil && n.Task.Check(s) == nil {
			id := n.Task.ID
			w := &worker{disks: []string{"a", "b", "c"}}
			_, _, _ = id.Name(testApp), w.disk(id), n.Task.Part()
			if id.Index >= 3 || (id.Kind == job.Map) != (n.Task.Split != nil) {
				t.Fatalf("%+v is taken", n.Task)
			}
		}
		answers = [][]byte{events}
		var o job.OutputsResponse
		if c.Call(t.Context(), "/worker/outputs", job.OutputsRequest{}, &o) == nil && o.Check(0, s) == nil {
			for _, e := range o.Events {
				if e.Map < 0 || e.Map >= s.Maps {
					t.Fatalf("%+v is taken", e)
				}
			}
		}
	})
}

// direct is a way to a handler without a network.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	a, b := httptest.NewRecorder(), r.Clone(r.Context())
	b.RequestURI, b.Host = r.URL.RequestURI(), r.URL.Host
	d.h.ServeHTTP(a, b)
	return a.Result(), nil
}
