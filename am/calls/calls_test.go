package calls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"heddle/am/pool"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

func frame(what byte, id uint64, rest string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(headBytes+len(rest)))
	return append(binary.BigEndian.AppendUint64(append(b, what), id), rest...)
}

// A program that ends leaves no calls; those that wait are canceled. Frames that are none end it.
func TestServe(t *testing.T) {
	for _, test := range []struct {
		in, out []byte
		fails   bool
	}{
		{in: nil},
		{in: frame(submit, 7, "call"), out: frame(canceled, 7, "")},
		{in: append(frame(submit, 7, "call"), frame(cancel, 7, "")...), out: frame(canceled, 7, "")},
		{in: frame(cancel, 99, "")},
		{in: frame(9, 1, ""), fails: true},
		{in: frame(submit, 1, "abc")[:14], fails: true},
		{in: []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, fails: true},
		{in: append(frame(submit, 7, ""), frame(submit, 7, "")...), out: frame(canceled, 7, ""), fails: true},
	} {
		p, err := pool.New(pool.Options{Secret: wire.NewSecret(), Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = Serve(context.Background(), bytes.NewReader(test.in), &out, p, Interpreter{Args: []string{"none"}}, 0)
		if (err != nil) != test.fails || !bytes.Equal(out.Bytes(), test.out) {
			t.Errorf("%q: %q, %v", test.in, out.Bytes(), err)
		}
		p.Close()
	}
}

// An interrupt ends all calls, though the program that makes them says nothing.
func TestInterrupt(t *testing.T) {
	p, err := pool.New(pool.Options{Secret: wire.NewSecret(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	why := errors.New("interrupt")
	ctx, interrupt := context.WithCancelCause(t.Context())
	in, program := io.Pipe()
	defer program.Close()
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, in, &out, p, Interpreter{Args: []string{"none"}}, 0) }()
	if _, err := program.Write(frame(submit, 7, "call")); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the call", func() bool { return p.State().Waiting == 1 })
	interrupt(why)
	err = await.Value(t, "the end", func() (error, bool) {
		select {
		case err := <-done:
			return err, true
		default:
			return nil, false
		}
	})
	if !errors.Is(err, why) || !bytes.Equal(out.Bytes(), frame(canceled, 7, "")) {
		t.Errorf("%q, %v", out.Bytes(), err)
	}
	// What is said later isn't heard.
	if _, err := program.Write(frame(submit, 8, "late")); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(frame(submit, 1, "call"))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReader(bytes.NewReader(b))
		for left := b; ; {
			what, id, rest, err := readFrame(in)
			if errors.Is(err, io.EOF) && len(left) > 0 {
				t.Fatalf("the end after %d of %d bytes", len(b)-len(left), len(b))
			}
			if err != nil {
				return
			}
			again := frame(what, id, string(rest))
			if !bytes.HasPrefix(left, again) {
				t.Fatalf("%q became %q", left, again)
			}
			left = left[len(again):]
		}
	})
}

// lost ends each task as one that nobody takes.
type lost struct{}

func (lost) Submit(tasks ...*pool.Task) {
	for _, t := range tasks {
		t.Done(wire.Ended{}, errors.New("nobody takes it"))
	}
}

func (lost) Cancel(*pool.Task) {}

// However a program's frames come, each call that was taken has one answer.
func FuzzServe(f *testing.F) {
	f.Add(append(frame(submit, 1, "call"), frame(cancel, 1, "")...))
	f.Add(append(frame(submit, 7, ""), frame(submit, 7, "")...))
	f.Add(append(frame(submit, 7, ""), frame(9, 8, "")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		calls := 0
		for in := bufio.NewReader(bytes.NewReader(b)); ; calls++ {
			what, _, _, err := readFrame(in)
			if err != nil || what > cancel {
				break
			}
			if what == cancel {
				calls--
			}
		}
		var out bytes.Buffer
		Serve(t.Context(), bytes.NewReader(b), &out, lost{}, Interpreter{Args: []string{"none"}}, 0)
		answers := 0
		for in := bufio.NewReader(&out); ; answers++ {
			if _, _, _, err := readFrame(in); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%q: what comes back is broken off: %v", b, err)
			}
		}
		if answers != calls {
			t.Errorf("%q: %d calls have %d answers", b, calls, answers)
		}
	})
}
