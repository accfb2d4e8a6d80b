package mapreduce

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
)

// FuzzMessages sends the ApplicationMaster whatever may be in a message: the account that it keeps stays right.
func FuzzMessages(f *testing.F) {
	for i, s := range []string{
		`{"Worker":"W","Host":"h","URL":"http://h:1"}`, `{"Worker":"W","ID":{"Kind":"map","Index":0,"Attempt":0},"Progress":0.5}`,
		`{"Worker":"W","ID":{"Kind":"map","Index":0,"Attempt":0},"Counters":{"a":{"b":1}},"Output":""}`, `{"Worker":"W","From":-1}`,
		`{"Worker":"W","Map":0,"Attempt":0,"Gone":true}`, `{"Version":0}`, `{"Worker":"W","ID":{"Kind":"map","Index":0},"Progress":0.5,"Stopped":{"Order":1,"Piece":0,"Offset":7}}`,
		`{"Worker":"W","ID":{"Kind":"map","Index":0},"Stopped":{"Order":-1,"Piece":9,"Offset":-7}}`, `{"Worker":"W","ID":{"Kind":"x","Index":-1,"Attempt":9},"Progress":1e300}`,
	} {
		f.Add([]byte(s), uint8(i), []byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, first []byte, to1 uint8, second []byte, to2 uint8) {
		p := newPlayOf(job.Job{Reduces: 1, Speculation: job.SpeculateSplit}, 3, 2)
		for i := range p.c.splits {
			p.c.splits[i] = input.Split{Pieces: []input.Piece{{Path: "in", Length: 10}, {Path: "in.gz", Length: 10}}, Length: 20}
		}
		w := p.grant("a")
		m := &master{spec: p.c.spec, tasks: p.c}
		m.spec.Key = []byte("key")
		h, s := m.handler(), signed.NewSigner(m.spec.Key)
		paths := []string{"/worker/next", "/worker/progress", "/worker/done", "/worker/outputs", "/worker/lost", "/status"}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody waits
		send := func(path string, body []byte) {
			body = bytes.ReplaceAll(body, []byte(`"W"`), []byte(`"`+w+`"`))
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)).WithContext(ctx)
			s.Sign(r, body)
			a := httptest.NewRecorder()
			h.ServeHTTP(a, r)
			if a.Code == http.StatusForbidden || a.Header().Get(signed.AnswerHeader) == "" {
				t.Fatalf("%s: %d %s", path, a.Code, a.Body)
			}
			p.check(t)
		}
		id, err := p.next(w)
		if err != nil || id.Task == nil {
			t.Fatal(err)
		}
		send(paths[int(to1)%len(paths)], first)
		send(paths[int(to2)%len(paths)], second)
		p.pass(time.Second)
		p.check(t)
	})
}
