package shuffle

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/nm/nmtest"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// The application of stock.json.
var (
	testApp    = records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	testSecret = []byte{1, 2, 3, 4, 5, 6, 7, 8}
)

// node is a service with local directories.
type node struct {
	*Service
	t    testing.TB
	dirs nmtest.Dirs
	cfg  Config
}

// newNode serves testApp of user alice. Reducers sign the given port, or that of the service if it is 0.
func newNode(t testing.TB, port int, adjust ...func(*Config)) *node {
	t.Helper()
	base := t.TempDir()
	n := &node{t: t, dirs: nmtest.Dirs{filepath.Join(base, "d0"), filepath.Join(base, "d1")}}
	for _, d := range n.dirs {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.cfg = Config{Addr: "127.0.0.1:0", Dirs: n.dirs}
	for _, f := range adjust {
		f(&n.cfg)
	}
	s, err := New(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Service = s
	if port == 0 {
		err = s.Start()
	} else {
		var ln net.Listener
		if ln, err = s.listen(); err == nil {
			s.run(ln, port)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(s) })
	n.init(testApp, "alice", testSecret)
	return n
}

func stop(s *Service) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.Stop(ctx)
}

func serviceData(secret []byte) []byte {
	return token.Token{Identifier: []byte("job"), Password: secret, Kind: "mapreduce.job", Service: "job"}.AppendWritable(nil)
}

func (n *node) init(app records.ApplicationID, user string, secret []byte) {
	n.t.Helper()
	if err := n.InitApplication(user, app, serviceData(secret)); err != nil {
		n.t.Fatal(err)
	}
}

// part is what one reducer gets of a map's output.
type part struct {
	raw  int64
	data string
}

func indexOf(parts []part) []byte {
	var b []byte
	at := 0
	for _, p := range parts {
		b = append(b, indexRecord(int64(at), p.raw, int64(len(p.data)))...)
		at += len(p.data)
	}
	return sealed(b)
}

// indexRecord is what an index says of one reducer's part.
func indexRecord(start, raw, size int64) (b []byte) {
	for _, v := range []int64{start, raw, size} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// sealed is an index with its checksum.
func sealed(b []byte) []byte { return binary.BigEndian.AppendUint64(b, uint64(crc32.ChecksumIEEE(b))) }

// output writes a map output of app to a local directory, and returns its directory.
func (n *node) output(dir int, app records.ApplicationID, user, attempt string, parts ...part) string {
	n.t.Helper()
	d := filepath.Join(n.dirs[dir], "usercache", user, "appcache", app.String(), "output", attempt)
	if err := os.MkdirAll(d, 0o755); err != nil {
		n.t.Fatal(err)
	}
	var data strings.Builder
	for _, p := range parts {
		data.WriteString(p.data)
	}
	n.write(filepath.Join(d, dataName), []byte(data.String()))
	n.write(filepath.Join(d, indexName), indexOf(parts))
	return d
}

func (n *node) write(path string, content []byte) {
	n.t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func attempt(m int) string { return fmt.Sprintf("attempt_1_0001_m_%06d_0", m) }

// stockOutputs are the map outputs that stock.json was recorded with.
func (n *node) stockOutputs() {
	n.output(0, testApp, "alice", attempt(0), part{7, "hello"}, part{3, strings.Repeat("x", 10)}, part{2, ""})
	n.output(1, testApp, "alice", attempt(1), part{300, strings.Repeat("y", 300)}, part{70000, strings.Repeat("z", 70000)}, part{6, "last!!"})
	d := n.output(0, testApp, "alice", attempt(2), part{7, "hello"})
	index, err := os.ReadFile(filepath.Join(d, indexName))
	if err != nil {
		n.t.Fatal(err)
	}
	index[len(index)-1] ^= 1
	n.write(filepath.Join(d, indexName), index)
	d = n.output(0, testApp, "alice", attempt(3), part{7, "hello"}, part{3, strings.Repeat("x", 10)})
	if err := os.Remove(filepath.Join(d, dataName)); err != nil {
		n.t.Fatal(err)
	}
	n.output(0, testApp, "alice", attempt(4), part{7, "hello"}, part{3, strings.Repeat("x", 10)})
	if err := os.Truncate(filepath.Join(n.dirs[0], "usercache/alice/appcache", testApp.String(), "output", attempt(4), dataName), 3); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) dial() net.Conn {
	n.t.Helper()
	c, err := net.Dial("tcp", n.Addr().String())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { c.Close() })
	return c
}

// patience is how long the end of a connection is waited for. It only passes where a test fails.
const patience = time.Minute

// exchange sends a request and returns all that comes back until the connection is closed. One that stays open fails the test.
func (n *node) exchange(request string) string {
	n.t.Helper()
	c := n.send(request)
	c.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(c)
	if err != nil {
		n.t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// linger sends a request and returns what comes back: at first size bytes, then what else comes within a moment, and whether the
// connection is closed by then. It begins anew if all that took so long that a kept connection may be closed.
func (n *node) linger(request string, size int) (response string, closed bool) {
	n.t.Helper()
	for {
		c, began := n.send(request), time.Now()
		first := make([]byte, size)
		c.SetReadDeadline(began.Add(patience))
		got, err := io.ReadFull(c, first)
		if err != nil {
			return string(first[:got]), !errors.Is(err, os.ErrDeadlineExceeded)
		}
		c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		rest, err := io.ReadAll(c)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			n.t.Fatal(err)
		}
		c.Close()
		if err != nil || time.Since(began) < n.Service.cfg.KeepAliveFor {
			return string(first) + string(rest), err == nil
		}
	}
}

func (n *node) send(request string) net.Conn {
	n.t.Helper()
	c := n.dial()
	if _, err := io.WriteString(c, request); err != nil {
		n.t.Fatal(err)
	}
	return c
}

// get is a request for maps, signed.
func (n *node) get(reduce int, more string, maps ...string) string {
	uri := fmt.Sprintf("/mapOutput?job=job_1_0001&reduce=%d&map=%s%s", reduce, strings.Join(maps, ","), more)
	return n.request(uri)
}

func (n *node) request(uri string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nUrlHash: %s\r\nname: mapreduce\r\nversion: 1.0.0\r\nHost: localhost\r\n\r\n", uri,
		base64.StdEncoding.EncodeToString(sign(testSecret, signedText(n.Port(), uri))))
}

func split(t testing.TB, response string) (head, body string) {
	t.Helper()
	head, body, ok := strings.Cut(response, "\r\n\r\n")
	if !ok {
		t.Fatalf("no end of the headers in %.300q", response)
	}
	return head, body
}
