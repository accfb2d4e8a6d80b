package worker

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
	"heddle/am/mapreduce/signed"
	"heddle/conf"
	"heddle/conf/ssl"
	"heddle/yarn/records"
	"heddle/yarn/writable"
)

var testAttempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, Attempt: 1}

// node is a shuffle service that has the outputs which workers leave in a folder of one application's.
type node struct {
	*httptest.Server
	local  string
	secret []byte
	refuse bool
}

func newNode(t *testing.T) *node {
	n := &node{local: t.TempDir(), secret: served.Secret([]byte("key"))}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

func (n *node) at() string { return strings.TrimPrefix(n.URL, "http://") }

func (n *node) port() int {
	_, port, _ := net.SplitHostPort(n.at())
	p, _ := strconv.Atoi(port)
	return p
}

func (n *node) sign(text string) string {
	h := hmac.New(sha1.New, n.secret)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hash := r.Header.Get("UrlHash")
	if hash != n.sign(strconv.Itoa(n.port())+r.RequestURI) || r.Header.Get("name") != "mapreduce" || r.Header.Get("version") != "1.0.0" {
		http.Error(w, "Verification of the hashReply failed", http.StatusUnauthorized)
		return
	}
	q := r.URL.Query()
	dir := filepath.Join(n.local, "output", q.Get("map"))
	index, err := os.ReadFile(filepath.Join(dir, "file.out.index"))
	if err != nil || n.refuse || q.Get("job") != "job_1_0002" {
		http.Error(w, "Could not find it", http.StatusInternalServerError)
		return
	}
	reduce, _ := strconv.Atoi(q.Get("reduce"))
	in := writable.NewReader(index[24*reduce:])
	var part [3]int64 // offset, length in the end, length in the file
	for i := range part {
		part[i], _ = in.Int64()
	}
	data, err := os.ReadFile(filepath.Join(dir, "file.out"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	b := writable.AppendText(nil, q.Get("map"))
	for _, v := range []int64{part[2], part[1], int64(reduce)} {
		b = writable.AppendVLong(b, v)
	}
	b = append(b, data[part[0]:part[0]+part[2]]...)
	w.Header().Set("ReplyHash", n.sign(hash))
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Write(b)
}

// sealed is the output of a map for two reduces.
func sealed(t *testing.T) lines.File {
	t.Helper()
	dir := t.TempDir()
	s := &lines.Sorter{
		Partitions: 2, Key: func(l []byte) []byte { return l }, Limit: 1 << 20, Factor: 10, Sealed: true,
		File: func(name string) string { return filepath.Join(dir, name) }, Memory: &lines.Memory{},
	}
	for _, l := range []string{"a", "b", "c", "d"} {
		if err := s.Add(t.Context(), []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func leavingWorker(n *node) *worker {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return &worker{
		spec: &job.Spec{Key: []byte("key")}, app: testAttempt.App, attempt: testAttempt, host: "127.0.0.1", locals: []string{n.local}, shuffle: n.port(),
		log: logrus.NewEntry(log),
	}
}

// A worker leaves outputs to its node, but for one that doesn't give the first.
func TestWorkerLeavesOutputsToItsNode(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		n := newNode(t)
		n.refuse = refuse
		w := leavingWorker(n)
		for m := range 2 {
			f := sealed(t)
			want := n.port()
			if refuse {
				want = 0
			}
			if got := w.leave(t.Context(), job.TaskID{Kind: job.Map, Index: m}, &f); got != want {
				t.Errorf("refuses: %v; port %d instead of %d", refuse, got, want)
			}
			if _, err := os.Stat(f.Path); err != nil {
				t.Errorf("the worker can't serve it: %v", err)
			}
		}
	}
}

// Where nodes serve by TLS, workers and reduces ask so, and trust whom the job's submitter trusts. They show the submitter's certificate. A node that they can't trust
// gets no output, and neither does one that wants a certificate if there is none.
func TestOutputsOfNodesByTLS(t *testing.T) {
	n := newNode(t)
	n.Close()
	n.Server = httptest.NewUnstartedServer(n)
	n.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	n.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	n.StartTLS()
	t.Cleanup(n.Close)
	n.URL = strings.Replace(n.URL, "https://", "http://", 1) // see at
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.Certificate().Raw})
	key, err := x509.MarshalPKCS8PrivateKey(n.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	own := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), known...)
	for _, x := range []struct {
		authorities, shown []byte
		works              bool
	}{{known, own, true}, {nil, own, false}, {known, nil, false}} {
		w := leavingWorker(n)
		w.spec.ServeTLS = true
		if w.trust, err = ssl.Trusting(c, x.authorities); err != nil {
			t.Fatal(err)
		}
		if err := w.trust.Show(x.shown); err != nil {
			t.Fatal(err)
		}
		f := sealed(t)
		want, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		want = want[f.Segments[1].Offset:][:f.Segments[1].Length]
		if got := w.leave(t.Context(), job.TaskID{Kind: job.Map}, &f); (got == n.port()) != x.works {
			t.Errorf("with %d bytes of authorities and %d of a certificate: port %d", len(x.authorities), len(x.shown), got)
		}
		if !x.works {
			continue
		}
		s := testShuffle(t, 1, 1<<20, once([]job.MapOutput{{Node: n.at()}}))
		s.by, s.secret, s.client = testAttempt, n.secret, w.fetcher(1)
		defer s.client.HTTP.CloseIdleConnections()
		if err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.merge(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%q instead of %q, %v", &out, want, err)
		}
	}
}

// A reduce fetches from the node, in memory or on disk. What this refuses the worker may have, as long as it is there; otherwise it has gone.
func TestShuffleFetchesFromNodes(t *testing.T) {
	for _, x := range []struct {
		limit          int64
		refuse, worker bool
	}{{1 << 20, false, false}, {1, false, false}, {1 << 20, true, true}, {1 << 20, true, false}} {
		n := newNode(t)
		f := sealed(t)
		want, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		g := f.Segments[1]
		want = want[g.Offset : g.Offset+g.Length]
		if leavingWorker(n).leave(t.Context(), job.TaskID{Kind: job.Map}, &f) == 0 {
			t.Fatal("the node doesn't serve")
		}
		n.refuse = x.refuse
		o := &outputs{}
		if x.worker {
			o.put(0, 0, f)
		}
		server := httptest.NewServer(signed.NewGuard([]byte("key")).Protect(o))
		s := testShuffle(t, 1, x.limit, once([]job.MapOutput{{URL: server.URL, Node: n.at()}}))
		s.by, s.secret = testAttempt, n.secret
		var failure job.FetchFailure
		missing := errors.New("it is missing")
		s.failed = func(_ context.Context, f job.FetchFailure) (bool, error) {
			failure = f
			return false, missing
		}
		err = s.run(t.Context())
		server.Close()
		if x.refuse && !x.worker {
			if !errors.Is(err, missing) || !failure.Gone {
				t.Errorf("%+v: %v, %+v", x, err, failure)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		var out bytes.Buffer
		if err := s.merge(t.Context(), &out); err != nil || !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%+v: %q instead of %q, %v", x, &out, want, err)
		}
	}
}

// What a node sends is compared with its sum.
func TestBrokenOutputsOfNodesAreNotTaken(t *testing.T) {
	n := newNode(t)
	f := sealed(t)
	w := leavingWorker(n)
	w.leave(t.Context(), job.TaskID{Kind: job.Map}, &f)
	b, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Segments {
		b[f.Segments[i].Offset] ^= 1
	}
	if err := os.WriteFile(f.Path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{1, 1 << 20} {
		s := testShuffle(t, 1, limit, nil)
		s.by, s.secret = testAttempt, n.secret
		if err := s.fetchOnce(t.Context(), job.MapOutput{Node: n.at()}); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}
