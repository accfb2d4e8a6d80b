package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/await"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// pair connects two ends that may have different secrets.
func pair(t *testing.T, theirs, ours []byte) (executor, pool *Conn, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := NewAccepter(ours)
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		c   *Conn
		err error
	}
	accepted := make(chan end)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			accepted <- end{nil, err}
			return
		}
		c, _, err := a.Accept(context.Background(), raw)
		accepted <- end{c, err}
	}()
	executor, err = Dial(t.Context(), l.Addr().String(), nil, theirs)
	got := <-accepted
	for _, c := range []*Conn{executor, got.c} {
		if c != nil {
			t.Cleanup(c.Close)
		}
	}
	return executor, got.c, errors.Join(err, got.err)
}

var messages = []Message{
	&Hello{Container: "container_1_0001_01_000002", Host: "node7", Slots: 4, PID: 77},
	&Task{ID: 1 << 40, What: Call, Args: []string{"python3", "", "-c\xff"}, Env: []string{"A=b"}, Dir: "/x", NeedDir: true, TimeoutMS: 5, Payload: []byte{0, 1}},
	&Cancel{ID: 3},
	&Output{ID: 4, Stream: 1, Data: bytes.Repeat([]byte("x"), 3<<20)},
	&Ended{ID: 5, Exit: 255, Signal: 9, TimedOut: true, Why: Faulty, Fault: "why", Result: []byte("r")},
	&Ended{},
	&Task{ID: 6, Left: 9, Clone: true, Input: "/in/a", Preloads: Preloads{Next: "/in/b", Gone: []string{"/in/a", "/in/c"}}},
	&NoTask{ID: 8, Left: 1, Preloads: Preloads{Next: "/in/b", Gone: []string{"/in/a"}}},
	&Greeting{Scheduler: "s1", Credentials: []byte("tokens")},
	&Lent{MemoryMB: 4096, VCores: 4},
	&Probe{Job: 7, Count: 3, Left: 10, EstimateUS: 1000, MemoryMB: 512, VCores: 1, Nice: 3, Inputs: []string{"/in/a", "/in/b"}},
	&Probe{Job: 8, Count: 1, Left: 1, MemoryMB: 1, VCores: 1, Early: true, WaitedUS: 5},
	&Probe{Job: 9, Count: 1, Left: 1, MemoryMB: 1, VCores: 1, Avoid: true},
	&Verdict{Job: 9, Rejected: 1, Long: true},
	&Ask{ID: 9, Job: 8, Bound: 3, VCores: 8},
	&Verdict{Job: 7, Accepted: 2, Rejected: 1, Reason: "the queue is full", P50US: 5, P95US: 9, Memory: true},
	&Ask{ID: 8, Job: 7, Others: 2, Staged: []string{"/in/a"}},
	&NoTask{ID: 8, Left: 1},
	&Drop{Job: 7},
	&Refusal{Reason: "no"},
	&Task{ID: 10, Ahead: true},
	&Ended{ID: 10, Began: 11},
	&Begin{ID: 10},
	&Recall{ID: 10},
	&Estimate{Job: 7, EstimateUS: 2000},
	&Idle{MemoryMB: 512, VCores: 2},
}

func TestMessagesArrive(t *testing.T) {
	secret := NewSecret()
	executor, pool, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for _, m := range messages {
			if err := executor.Send(m); err != nil {
				t.Error(err)
			}
		}
	}()
	for _, want := range messages {
		got, err := pool.Receive()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%T: got %.200v, %v", want, got, err)
		}
	}
	executor.Close()
	if m, err := pool.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, %v", m, err)
	}
	if err := executor.Send(&Cancel{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("sending on a closed connection: %v", err)
	}
}

func TestStrangersAreRefused(t *testing.T) {
	executor, pool, err := pair(t, NewSecret(), NewSecret())
	if pool != nil || !errors.Is(err, ErrStranger) {
		t.Errorf("an executor with another secret: %v", err)
	}
	if executor != nil {
		t.Error("it doesn't notice that the pool has another secret")
	}
	if _, err := Dial(t.Context(), "127.0.0.1:1", nil, []byte("short")); err == nil || !strings.Contains(err.Error(), "5 bytes") {
		t.Errorf("a secret that is none: %v", err)
	}
}

func TestTooLargeMessagesAreRefused(t *testing.T) {
	secret := NewSecret()
	executor, pool, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := executor.Send(&Ended{Result: make([]byte, MaxFrame)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if err := executor.Send(&Cancel{ID: 7}); err != nil {
		t.Fatalf("the connection isn't good any more: %v", err)
	}
	if m, err := pool.Receive(); err != nil || m.(*Cancel).ID != 7 {
		t.Errorf("%v, %v", m, err)
	}
}

// A name says whose secret counts.
func TestNamesHaveSecretsOfTheirOwn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secrets := map[string][]byte{"anna": NewSecret(), "bert": NewSecret()}
	unknown := errors.New("nobody is called that")
	a := NewNamedAccepter(func(name []byte) ([]byte, error) {
		if s := secrets[string(name)]; s != nil {
			return s, nil
		}
		return nil, unknown
	})
	for _, test := range []struct {
		name, secret string
		want         error
	}{{"anna", "anna", nil}, {"anna", "bert", ErrStranger}, {"carl", "anna", unknown}} {
		accepted := make(chan error)
		go func() {
			raw, err := l.Accept()
			if err != nil {
				accepted <- err
				return
			}
			c, name, err := a.Accept(context.Background(), raw)
			if c != nil {
				c.Close()
				if string(name) != test.name {
					t.Errorf("%q came as %q", test.name, name)
				}
			}
			accepted <- err
		}()
		c, err := Dial(t.Context(), l.Addr().String(), []byte(test.name), secrets[test.secret])
		if got := <-accepted; !errors.Is(got, test.want) || test.want != nil && err == nil {
			t.Errorf("%s with the secret of %s: %v, and for itself %v", test.name, test.secret, got, err)
		}
		if c != nil {
			c.Close()
		}
	}
	if _, err := Dial(t.Context(), l.Addr().String(), make([]byte, maxName+1), secrets["anna"]); err == nil {
		t.Error("a name may have any length")
	}
	for _, head := range []string{"", "HTSK", "GET / HTTP/1.1\r\n", "HTSK\xff\xffab"} {
		if name, err := readName(strings.NewReader(head)); err == nil {
			t.Errorf("%q begins with the name %q", head, name)
		}
	}
}

// A length takes no memory; only bytes that have come do.
func TestALengthTakesNoMemory(t *testing.T) {
	frame := binary.BigEndian.AppendUint32(nil, MaxFrame)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		if _, err := readFrame(bufio.NewReader(bytes.NewReader(append(frame, "abc"...)))); err == nil {
			t.Fatal("a part of a frame is taken for a frame")
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 {
		t.Errorf("20 frames that never came took %d bytes", took)
	}
	tooLong := binary.BigEndian.AppendUint32(nil, MaxFrame+1)
	if _, err := readFrame(bufio.NewReader(bytes.NewReader(tooLong))); !errors.Is(err, ErrMalformed) {
		t.Errorf("a frame that is too long: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	var all []byte
	for _, m := range append(append(messages[:3:3], messages[4:]...), nil) {
		b, err := appendFrame(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		all = append(all, b...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReader(bytes.NewReader(b))
		for {
			body, err := readFrame(in)
			if err != nil {
				return
			}
			m, err := decode(body)
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Fatalf("%v", err)
			}
			if m == nil {
				continue
			}
			again, err := appendFrame(nil, m)
			if err != nil {
				t.Fatal(err)
			}
			back, err := decode(again[4:])
			if err != nil {
				t.Fatalf("%#v: %v", m, err)
			}
			if more, err := appendFrame(nil, back); err != nil || !bytes.Equal(more, again) {
				t.Fatalf("%#v comes back as %#v, %v", m, back, err)
			}
		}
	})
}

func BenchmarkTasks(b *testing.B) {
	var buf []byte
	task := &Task{ID: 1, What: Nothing}
	for b.Loop() {
		buf, _ = appendFrame(buf[:0], task)
		if _, err := decode(buf[4:]); err != nil {
			b.Fatal(err)
		}
	}
}

// near is one end of a connection in memory, and far what the other end says; all that it hears it counts.
func near(t *testing.T) (c *Conn, far net.Conn, hears *atomic.Int64) {
	ours, far := net.Pipe()
	hears = new(atomic.Int64)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		b := make([]byte, 1<<10)
		for {
			n, err := far.Read(b)
			if hears.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	c = NewConn(ours)
	t.Cleanup(func() {
		far.Close()
		c.Close()
		<-heard
	})
	return c, far, hears
}

// A peer that hangs is noticed. One that is known to stand still may be silent, and isn't talked to unless it talks.
func TestPeersThatStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far, hears := near(t)
		received := make(chan error, 1)
		go func() {
			_, err := c.Receive()
			received <- err
		}()
		speak := func() {
			ping, _ := appendFrame(nil, nil)
			if _, err := far.Write(ping); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(Silence - time.Second)
		speak()
		time.Sleep(Silence - time.Second)
		if hears.Load() == 0 {
			t.Error("no pings")
		}
		c.Standstill(true)
		time.Sleep(pingEvery)
		before := hears.Load()
		time.Sleep(time.Hour)
		if n := hears.Load() - before; n != 0 {
			t.Errorf("%d bytes for one that stands still", n)
		}
		speak()
		time.Sleep(time.Second)
		if n := hears.Load() - before; n == 0 || n > 16 {
			t.Errorf("%d bytes in answer to one that runs for a moment", n)
		}
		c.Standstill(false)
		time.Sleep(Waking - time.Second) // it may be paged in all that time
		speak()
		began := time.Now()
		if err := <-received; !errors.Is(err, ErrSilent) {
			t.Errorf("one that hangs: %v", err)
		}
		if took := time.Since(began); took < Silence-time.Second || took > Silence+time.Second {
			t.Errorf("noticed after %v", took)
		}
	})
}

// One that stood still and never says anything again is noticed, too.
func TestPeersThatNeverWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := near(t)
		c.Standstill(true)
		began := time.Now()
		time.AfterFunc(time.Hour, func() { c.Standstill(false) })
		_, err := c.Receive()
		if took := time.Since(began) - time.Hour; !errors.Is(err, ErrSilent) || took < Waking-time.Second || took > Waking+time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// When a connection ends in the middle of a message, the other side is told the truth: it has ended. It isn't told that somebody forges records.
func TestACutConnectionHasEnded(t *testing.T) {
	secret := NewSecret()
	executor, pool, err := pair(t, secret, secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.conn.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := pool.Send(&Cancel{ID: 1}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it can't be sent", func() bool { return errors.Is(pool.Send(&Cancel{ID: 2}), os.ErrDeadlineExceeded) })
	pool.Close()
	if _, err := executor.Receive(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it ends with %v", err)
	}
}

// Nobody is silent as long as nobody listens.
func TestWhoIsBusyHearsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, far, _ := near(t)
		time.Sleep(4 * Silence)
		said := make(chan error, 1)
		go func() {
			b, _ := appendFrame(nil, &Cancel{ID: 3})
			_, err := far.Write(b)
			said <- err
		}()
		if m, err := c.Receive(); err != nil || m.(*Cancel).ID != 3 {
			t.Errorf("%v, %v", m, err)
		}
		if err := <-said; err != nil {
			t.Error(err)
		}
	})
}

// What comes before the proof of a secret takes no more than a name, and begins with the word that we know.
func FuzzReadName(f *testing.F) {
	f.Add([]byte(magic + "\x00\x04annarest"))
	f.Add([]byte(magic + "\xff\xffab"))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		name, err := readName(in)
		if err != nil {
			return
		}
		head := append(binary.BigEndian.AppendUint16([]byte(magic), uint16(len(name))), name...)
		if len(name) > maxName || !bytes.Equal(head, b[:len(b)-in.Len()]) {
			t.Errorf("%q begins with the name %q", b, name)
		}
	})
}

// Those who say nothing keep nobody out: the oldest of them is sent away.
func TestACrowdOfStrangers(t *testing.T) {
	secret := NewSecret()
	a, err := NewAccepter(secret)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var going sync.WaitGroup
	defer going.Wait()
	defer l.Close()
	first := make(chan error, maxStrangers+3)
	going.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			going.Go(func() {
				c, _, err := a.Accept(t.Context(), raw)
				if err != nil {
					first <- err
					return
				}
				c.Close()
			})
		}
	})
	for i := range maxStrangers + 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 { // it has said a part of what it must
			if _, err := c.Write([]byte("HTSK\x00\x00")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		if err := <-first; !errors.Is(err, errCrowd) {
			t.Errorf("%v", err)
		}
	}
	c, err := Dial(t.Context(), l.Addr().String(), nil, secret)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// A message may not take much more memory than it has bytes.
func TestAMessageOfManyFields(t *testing.T) {
	if _, err := appendFrame(nil, &Task{Args: make([]string, maxWords), Env: []string{"A=B"}}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	b, err := appendFrame(nil, &Task{ID: 1, Args: make([]string, maxWords), Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := decode(b[4:]); err != nil || len(m.(*Task).Args) != maxWords {
		t.Errorf("%v", err)
	}
	b, err = appendFrame(nil, &Probe{Inputs: make([]string, maxFields+1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(b[4:]); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
}
