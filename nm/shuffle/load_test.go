package shuffle

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"heddle/internal/await"
)

func newTestReader(b []byte) *bufio.Reader { return bufio.NewReaderSize(bytes.NewReader(b), 64) }

// count reads a counter.
func count(t testing.TB, c prometheus.Collector) float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

// bigOutput writes a map output of size bytes for its only reducer.
func (n *node) bigOutput(m int, size int64) {
	n.t.Helper()
	d := n.output(0, testApp, "alice", attempt(m), part{size, ""})
	f, err := os.Create(filepath.Join(d, dataName))
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for left := size; left > 0; left -= int64(len(block)) {
		if _, err := f.Write(block[:min(left, int64(len(block)))]); err != nil {
			n.t.Fatal(err)
		}
	}
	index := binary.BigEndian.AppendUint64(indexOf([]part{{size, ""}})[:16], uint64(size))
	n.write(filepath.Join(d, indexName), binary.BigEndian.AppendUint64(index, uint64(crc32.ChecksumIEEE(index))))
}

func TestTooManyConnections(t *testing.T) {
	n := newNode(t, 0, func(c *Config) { c.MaxConnections = 2 })
	n.stockOutputs()
	held := []net.Conn{n.dial(), n.dial()}
	await.Until(t, "both are counted", func() bool { return n.active.Load() == 2 })
	const want = "HTTP/1.1 429 TOO MANY REQUESTS\r\ncontent-type: text/plain; charset=UTF-8\r\nname: mapreduce\r\nversion: 1.0.0\r\n" +
		"Retry-After: 1000\r\ncontent-length: 0\r\n\r\n"
	for range 3 {
		if got := n.exchange(n.get(0, "", attempt(0))); got != want {
			t.Errorf("got %q", got)
		}
	}
	if got := count(t, n.metrics.refused); got != 3 {
		t.Errorf("%v connections counted as refused", got)
	}
	held[0].Close()
	await.Until(t, "there is room again", func() bool { return n.active.Load() == 1 })
	if got := n.exchange(n.get(0, "", attempt(0))); !strings.HasSuffix(got, "hello") {
		t.Errorf("got %q", got)
	}
}

// Reducers that leave in the middle, stand still or never ask cost nothing in the end, and hold nobody up.
func TestBadReducers(t *testing.T) {
	n := newNode(t, 0, func(c *Config) {
		// long enough for those who mean to read, on a machine that stands still for a while
		c.HeadTimeout = 4 * time.Second
		c.StallTimeout = 4 * time.Second
	})
	n.stockOutputs()
	n.bigOutput(10, 64<<20)
	var conns []net.Conn
	for i := range 30 {
		c := n.dial()
		conns = append(conns, c)
		switch i % 5 {
		case 0: // says nothing
		case 1:
			io.WriteString(c, "GET /mapOutput?job=")
		case 2: // stands still with the response unread
			c.(*net.TCPConn).SetReadBuffer(4096)
			io.WriteString(c, n.get(0, "", attempt(10)))
		case 3: // leaves in the middle
			io.WriteString(c, n.get(0, "", attempt(10)))
			if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			c.Close()
		case 4: // resets
			io.WriteString(c, n.get(0, "", attempt(10), attempt(10)))
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}
	if got := n.exchange(n.get(0, "", attempt(0))); !strings.HasSuffix(got, "hello") {
		t.Errorf("a good reducer got %q", got)
	}
	await.Until(t, "all bad connections are gone", func() bool { return n.active.Load() == 0 })
	for _, c := range conns {
		c.Close()
	}
	if left := openFiles(t, dataName); left != 0 {
		t.Errorf("%d map outputs are still open", left)
	}
}

// openFiles counts the open files of this process whose path ends in suffix.
func openFiles(t testing.TB, suffix string) int {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(fds) == 0 {
		t.Skip("this system has no /proc")
	}
	n := 0
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasSuffix(target, suffix) {
			n++
		}
	}
	return n
}

// A request for many maps keeps no more than so many files open.
func TestOpenFiles(t *testing.T) {
	n := newNode(t, 0, func(c *Config) { c.MaxOpenFiles = 2 })
	var maps []string
	for m := range 20 {
		n.bigOutput(m, 1<<20)
		maps = append(maps, attempt(m))
	}
	c := n.dial()
	c.(*net.TCPConn).SetReadBuffer(256 << 10)
	io.WriteString(c, n.get(0, "", maps...))
	if _, err := io.ReadFull(c, make([]byte, 5<<20)); err != nil { // the third map or later
		t.Fatal(err)
	}
	if got := openFiles(t, dataName); got > 3 {
		t.Errorf("%d files are open", got)
	}
	rest, err := io.ReadAll(c)
	if err != nil || len(rest) < 15<<20 {
		t.Errorf("then came %d bytes, %v", len(rest), err)
	}
}

func TestThousandsOfConnections(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	many := min(2000, int(limit.Cur)/3)
	n := newNode(t, 0)
	n.stockOutputs()
	conns := make([]net.Conn, many)
	for i := range conns {
		conns[i] = n.dial()
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			io.WriteString(c, n.get(1, "", attempt(0), attempt(1)))
			b, err := io.ReadAll(c)
			if err != nil || len(b) < 70000 || !bytes.HasPrefix(b, []byte("HTTP/1.1 200 OK")) {
				t.Errorf("got %d bytes, %v", len(b), err)
			}
		})
	}
	wg.Wait()
	if got := count(t, n.metrics.outputs); got != float64(2*many) {
		t.Errorf("%v outputs counted, want %d", got, 2*many)
	}
	if got := count(t, n.metrics.bytes); got != float64(many*70010) {
		t.Errorf("%v bytes counted, want %d", got, many*70010)
	}
}

func TestStop(t *testing.T) {
	n := newNode(t, 0, func(c *Config) { c.KeepAliveFor = patience })
	n.stockOutputs()
	n.bigOutput(10, 64<<20)
	idle := n.dial()
	kept := n.dial()
	io.WriteString(kept, n.get(0, "&keepAlive=true", attempt(0)))
	if _, err := io.ReadFull(kept, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	stuck := n.dial()
	io.WriteString(stuck, n.get(0, "", attempt(10)))
	if _, err := io.ReadFull(stuck, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all three are served", func() bool { return n.active.Load() == 3 })
	began := time.Now()
	stop(n.Service)
	if took := time.Since(began); took < 900*time.Millisecond || took > patience {
		t.Errorf("stopped after %v, want the second that transmissions are given", took)
	}
	for _, c := range []net.Conn{idle, kept, stuck} {
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection is still open")
		}
	}
	if _, err := net.Dial("tcp", n.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t, 0, func(c *Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	})
	n.bigOutput(1, 3<<20)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	req := n.get(0, "", attempt(1))
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(req)))
	if err != nil {
		t.Fatal(err)
	}
	r.RequestURI = ""
	r.URL.Scheme, r.URL.Host = "https", n.Addr().String()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || int64(len(b)) != res.ContentLength || len(b) < 3<<20 {
		t.Errorf("%s with %d bytes of %d, %v", res.Status, len(b), res.ContentLength, err)
	}
}

func BenchmarkLargeOutput(b *testing.B) {
	n := newNode(b, 0)
	const size = 256 << 20
	n.bigOutput(0, size)
	request := n.get(0, "", attempt(0))
	buf := make([]byte, 1<<20)
	b.SetBytes(size)
	for b.Loop() {
		c := n.dial()
		io.WriteString(c, request)
		total := 0
		for {
			m, err := c.Read(buf)
			total += m
			if err != nil {
				break
			}
		}
		c.Close()
		if total < size {
			b.Fatalf("got %d bytes", total)
		}
	}
}

func BenchmarkSmallOutputs(b *testing.B) {
	n := newNode(b, 0)
	var maps []string
	for m := range 20 {
		n.output(m%2, testApp, "alice", attempt(m), part{1000, strings.Repeat("x", 1000)})
		maps = append(maps, attempt(m))
	}
	request := n.get(0, "&keepAlive=true", maps...)
	c := n.dial()
	in := bufio.NewReaderSize(c, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		io.WriteString(c, request)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		if m, err := io.Copy(io.Discard, res.Body); err != nil || m < 20000 {
			b.Fatal(m, err)
		}
	}
	b.ReportMetric(float64(b.N*20)/b.Elapsed().Seconds(), "outputs/s")
}
