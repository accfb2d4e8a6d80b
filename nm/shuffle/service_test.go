package shuffle

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/yarn/records"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func TestRecordings(t *testing.T) {
	const secret, app = "2e37e34321da33bd", "application_1795253712789_0001"
	n := newNode(t, 20062)
	if err := n.StopApplication(testApp); err != nil { // the recorded errors are of a job unknown to the service
		t.Fatal(err)
	}
	id, err := records.ParseApplicationID(app)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := hex.DecodeString(secret)
	n.init(id, "root", key)
	// The two outputs of the recorded job, taken from the body of the response.
	recorded, err := os.ReadFile("testdata/captures/shuffle-pi-reduce.response")
	if err != nil {
		t.Fatal(err)
	}
	_, body := split(t, string(recorded))
	for m := range 2 {
		one := body[m*len(body)/2:][:len(body)/2]
		head := 1 + 37 + 3 // the attempt id with its length, and three small numbers
		size, raw := int(one[head-3]), int64(one[head-2])
		n.output(m, id, "root", fmt.Sprintf("attempt_1795253712789_0001_m_%06d_0", m), part{raw, one[head:][:size]})
	}
	files, err := filepath.Glob("testdata/*/*.request")
	if err != nil || len(files) != 11 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f, ".request")
		t.Run(filepath.Base(name), func(t *testing.T) {
			request, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(name + ".response")
			if err != nil {
				t.Fatal(err)
			}
			if got := n.exchange(string(request)); got != string(want) {
				t.Errorf("got\n%q, want\n%q", got, want)
			}
		})
	}
}

func TestLikeStock(t *testing.T) {
	b, err := os.ReadFile("testdata/stock.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Request, Response, End string
		KeepAlive                    bool
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 60 {
		t.Fatalf("only %d cases", len(cases))
	}
	nodes := map[bool]*node{
		false: newNode(t, 21562),
		true: newNode(t, 21562, func(c *Config) {
			c.KeepAlive, c.KeepAliveFor = true, time.Second
		}),
	}
	for _, n := range nodes {
		n.stockOutputs()
	}
	latin := func(s string) string { // JSON has the bytes as characters
		b := make([]byte, 0, len(s))
		for _, r := range s {
			b = append(b, byte(r))
		}
		return string(b)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			n := nodes[c.KeepAlive]
			var got string
			if c.End == "closed" {
				got = n.exchange(latin(c.Request))
			} else {
				var closed bool
				if got, closed = n.linger(latin(c.Request), len(latin(c.Response))); closed {
					t.Errorf("the connection is closed, stock's was %s", c.End)
				}
			}
			if strings.HasPrefix(c.Response, "sha1:") {
				got = fmt.Sprintf("sha1:%x:%d", sha1.Sum([]byte(got)), len(got))
			}
			want := c.Response
			if strings.Contains(want, "{d0}") { // the length of the path differs from the recorded one
				want = strings.ReplaceAll(want, "{d0}", n.dirs[0])
				head, body, _ := strings.Cut(want, "\r\n\r\n")
				want = head[:strings.LastIndex(head, " ")+1] + fmt.Sprint(len(body)) + "\r\n\r\n" + body
			}
			if !strings.HasPrefix(want, "sha1:") {
				want = latin(want)
			}
			if got != want {
				t.Errorf("got\n%q, want\n%q", got, want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	n := newNode(t, 0)
	n.stockOutputs()
	base := filepath.Join(n.dirs[0], "usercache/alice/appcache", testApp.String(), "output")
	mkdir := func(m int) string {
		d := filepath.Join(base, attempt(m))
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		return d
	}
	n.write(filepath.Join(mkdir(5), indexName), nil)
	n.write(filepath.Join(mkdir(6), indexName), make([]byte, 30))
	impossible := binary.BigEndian.AppendUint64(nil, 1<<63-1)
	impossible = append(impossible, impossible...)
	impossible = append(impossible, impossible[:8]...)
	impossible = binary.BigEndian.AppendUint64(impossible, uint64(crc32.ChecksumIEEE(impossible)))
	n.write(filepath.Join(mkdir(7), indexName), impossible)
	for _, c := range []struct {
		name, request, status, text string
	}{
		{"data cut off", n.get(0, "", attempt(4)), "500", "has 3 bytes, the index wants 5 at 0"},
		{"reduce negative", n.get(-1, "", attempt(0)), "500", "Invalid request  Map Id = attempt_1_0001_m_000000_0 Reducer = -1 Index Info Length = 3"},
		{"empty index", n.get(0, "", attempt(5)), "500", "index of 0 bytes is incomplete"},
		{"odd index", n.get(0, "", attempt(6)), "500", "index of 30 bytes is incomplete"},
		{"impossible index", n.get(0, "", attempt(7)), "500", "index has an invalid range for reducer 0"},
		{"no map", n.get(0, "", "", ""), "200", ""},
		{"nulls", "\x00\x00\x00\r\n\r\n", "400", "Incompatible shuffle request version"},
		{"endless line", "GET /" + strings.Repeat("x", maxHead+readBuffer), "400", "Incompatible shuffle request version"},
		{"endless headers", "GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", maxHead/5), "400", "Incompatible shuffle request version"},
		{"body too large", strings.Replace(n.get(0, "&keepAlive=true", attempt(0)), "Host", "Content-Length: 99999999999\r\nHost", 1), "200", "hello"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := n.exchange(c.request)
			head, body := split(t, got)
			if !strings.HasPrefix(head, "HTTP/1.1 "+c.status+" ") || !strings.Contains(body, c.text) {
				t.Errorf("got %q, want %s and %q", got, c.status, c.text)
			}
		})
	}
	// One long request of real maps is fine, unlike with Netty's 4 KB.
	many := slices.Repeat([]string{attempt(0)}, 500)
	got := n.exchange(n.get(0, "", many...))
	if _, body := split(t, got); strings.Count(body, "hello") != 500 {
		t.Errorf("500 maps gave %d bytes", len(body))
	}
}

// What the user put in place of his outputs must not lead anywhere else.
func TestPlantedFiles(t *testing.T) {
	n := newNode(t, 0)
	secret := filepath.Join(t.TempDir(), "secret")
	n.write(secret, []byte("secret"))
	other := n.output(1, testApp, "bob", attempt(9), part{7, "secret"})
	base := filepath.Join(n.dirs[0], "usercache/alice/appcache", testApp.String(), "output")
	plant := func(m int, f func(d string) error) string {
		d := n.output(0, testApp, "alice", attempt(m), part{7, "secret"})
		if err := f(d); err != nil {
			t.Fatal(err)
		}
		return n.get(0, "", attempt(m))
	}
	link := func(target, name string) func(string) error {
		return func(d string) error {
			p := filepath.Join(d, name)
			if err := os.RemoveAll(p); err != nil {
				return err
			}
			return os.Symlink(target, p)
		}
	}
	index := filepath.Join(other, indexName)
	for name, request := range map[string]string{
		"data":      plant(0, link(secret, dataName)),
		"index":     plant(1, link(index, indexName)),
		"directory": plant(2, func(string) error { return link(other, attempt(2))(base) }),
		"folder": plant(3, func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, dataName)), os.Mkdir(filepath.Join(d, dataName), 0o755))
		}),
		"dots":       n.get(0, "", "../../../../bob/appcache/"+testApp.String()+"/output/"+attempt(9)),
		"dot":        n.get(0, "", "."),
		"encoded":    n.get(0, "", "%2e%2e%2fx"),
		"zero":       n.get(0, "", attempt(0)+"%00"),
		"other user": n.get(0, "", attempt(9)),
	} {
		t.Run(name, func(t *testing.T) {
			got := n.exchange(request)
			if !strings.HasPrefix(got, "HTTP/1.1 500 ") || strings.HasSuffix(got, "secret") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	uid := os.Getuid()
	n := newNode(t, 0, func(c *Config) {
		c.UID = func(user string) (int, error) {
			switch user {
			case "alice":
				return uid, nil
			case "bob":
				return uid + 1, nil
			}
			return 0, fmt.Errorf("user %s is unknown", user)
		}
	})
	for i, c := range []struct{ user, want string }{
		{"alice", "hello"}, {"bob", fmt.Sprintf("uid %d, not %d", uid, uid+1)}, {"eve", "user eve is unknown"},
	} {
		n.init(testApp, c.user, testSecret)
		n.output(0, testApp, c.user, attempt(i), part{7, "hello"})
		if got := n.exchange(n.get(0, "", attempt(i))); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q in it", c.user, got, c.want)
		}
	}
}

func TestApplications(t *testing.T) {
	store := &nmtest.Store{}
	n := newNode(t, 0, func(c *Config) { c.Store = store })
	n.output(0, testApp, "alice", attempt(0), part{7, "hello"})
	if got := n.Metadata(); len(got) != 4 || int(binary.BigEndian.Uint32(got)) != n.Port() {
		t.Errorf("metadata %x, port %d", got, n.Port())
	}
	if err := n.InitApplication("alice", testApp, []byte{5}); err == nil || !strings.Contains(err.Error(), testApp.String()) {
		t.Errorf("bad service data: %v", err)
	}
	// Java leaves zeros behind the token.
	if err := n.InitApplication("alice", testApp, append(serviceData(testSecret), make([]byte, 30)...)); err != nil {
		t.Error(err)
	}
	port := n.Port()
	stop(n.Service)

	again, err := New(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	apps, err := again.Recover()
	if err != nil || !slices.Equal(apps, []records.ApplicationID{testApp}) {
		t.Errorf("recovered %v, %v", apps, err)
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	defer stop(again)
	n.Service = again
	if again.Port() != port {
		t.Errorf("the port was %d and is %d", port, again.Port())
	}
	if got := n.exchange(n.get(0, "", attempt(0))); !strings.HasSuffix(got, "hello") {
		t.Errorf("after the restart: %q", got)
	}
	if err := again.StopApplication(testApp); err != nil {
		t.Fatal(err)
	}
	if got := n.exchange(n.get(0, "", attempt(0))); !strings.HasSuffix(got, "Can't find job token for job job_1_0001 !!") {
		t.Errorf("after the application's end: %q", got)
	}
	if _, ok := store.All()[jobPrefix+testApp.String()]; ok {
		t.Error("the secret is still in the store")
	}
	stop(again)
	// Another program has the port now.
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	third, err := New(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Start(); err != nil {
		t.Fatal(err)
	}
	defer stop(third)
	if third.Port() == port {
		t.Error("two have the same port")
	}
	fixed := n.cfg
	fixed.Addr = ln.Addr().String()
	fourth, err := New(fixed)
	if err != nil {
		t.Fatal(err)
	}
	if err := fourth.Start(); err == nil || !strings.Contains(err.Error(), "mapreduce.shuffle.port") {
		t.Errorf("a taken port: %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, c := range map[string]Config{
		"Dirs":                   {},
		"max.connections":        {Dirs: nmtest.Dirs{}, MaxConnections: -1},
		"max.session-open-files": {Dirs: nmtest.Dirs{}, MaxOpenFiles: -1},
	} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
