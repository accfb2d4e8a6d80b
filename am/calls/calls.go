// Package calls is the pipe between a program in another language and executors: `heddle calls` reads calls from
// standard input and writes what becomes of them to standard output. heddle's Python library uses it.
//
// A frame is a length of four bytes, big-endian, of what follows: a byte that says what it is, a number of eight bytes that the program has given
// the call, and the rest.
//
//	to us    0  a call; the rest is handed to an interpreter (heddle/am/executor)
//	         1  cancel a call
//	from us  0  the result of a call
//	         1  standard output of a call, not its end
//	         2  standard error of a call, not its end
//	         3  the call has failed, without an answer of the interpreter's; the rest says why
//	         4  the call is canceled
//	         5  the call has taken too long
//
// Results come in any order. At the end of the input all calls are canceled.
package calls

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"heddle/am/pool"
	"heddle/yarn/wire"
)

// Kinds of frames.
const (
	submit = 0
	cancel = 1

	result   = 0
	failure  = 3
	canceled = 4
	late     = 5
)

// headBytes are those of a frame after its length and before its rest.
const headBytes = 9

// Interpreter says who takes calls.
type Interpreter struct {
	Args      []string
	Env       []string
	Dir       string
	TimeoutMS uint64
}

// Serve passes on calls until the input or ctx ends, no more than most at a time (0: any number). It returns when all calls have been answered. The
// error is that of the input or the output, or the cause of ctx's end. After that end a call may still wait for the input, which can't be hastened.
func Serve(ctx context.Context, in io.Reader, out io.Writer, to Executors, i Interpreter, most int) error {
	if most > 0 {
		to = newWindow(to, most)
	}
	s := &server{to: to, i: i, out: bufio.NewWriterSize(out, 64<<10), open: map[uint64]*pool.Task{}}
	read := make(chan error, 1)
	go func() { read <- s.read(bufio.NewReaderSize(in, 64<<10)) }()
	var err error
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.submitting.Lock()
	s.over = true
	s.submitting.Unlock()
	s.mu.Lock()
	var rest []*pool.Task
	for _, t := range s.open {
		rest = append(rest, t)
	}
	s.mu.Unlock()
	for _, t := range rest {
		to.Cancel(t)
	}
	s.calls.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, s.err)
}

type server struct {
	to    Executors
	i     Interpreter
	calls sync.WaitGroup

	submitting sync.Mutex // held while a call is entered and handed to executors
	over       bool       // no call is taken any more

	mu   sync.Mutex
	out  *bufio.Writer
	err  error
	open map[uint64]*pool.Task
}

func (s *server) read(in *bufio.Reader) error {
	for {
		what, id, rest, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch what {
		case submit:
			if err := s.submit(id, rest); err != nil {
				return err
			}
		case cancel:
			s.mu.Lock()
			t := s.open[id]
			s.mu.Unlock()
			if t != nil {
				s.to.Cancel(t)
			}
		default:
			return fmt.Errorf("a frame is of kind %d: 0 and 1 are known", what)
		}
	}
}

func (s *server) submit(id uint64, payload []byte) error {
	var written kept
	t := &pool.Task{
		Task: wire.Task{
			What: wire.Call, Args: s.i.Args, Env: s.i.Env, Dir: s.i.Dir, TimeoutMS: s.i.TimeoutMS,
			Payload: payload,
		},
		Output:  written.add,
		Restart: written.forget,
		Done: func(e wire.Ended, err error) {
			defer s.calls.Done()
			if lost := written.replay(func(stream int, b []byte) { s.write(byte(stream+1), id, b) }); lost != nil {
				s.write(2, id, fmt.Appendf(nil, "heddle: output of the call is lost: %v\n", lost))
			}
			s.answer(id, &e, err)
		},
	}
	s.submitting.Lock()
	defer s.submitting.Unlock()
	if s.over {
		return nil
	}
	s.mu.Lock()
	_, twice := s.open[id]
	if !twice {
		s.open[id] = t
	}
	s.mu.Unlock()
	if twice {
		return fmt.Errorf("call %d is there already", id)
	}
	s.calls.Add(1)
	s.to.Submit(t)
	return nil
}

func (s *server) answer(id uint64, e *wire.Ended, err error) {
	s.mu.Lock()
	delete(s.open, id)
	s.mu.Unlock()
	switch {
	case err != nil:
		s.write(failure, id, []byte(err.Error()))
	case e.TimedOut:
		s.write(late, id, nil)
	case e.Why == wire.Canceled:
		s.write(canceled, id, nil)
	case e.Why == wire.Missing:
		s.write(failure, id, fmt.Appendf(nil, "there is no %s on the node", s.i.Args[0]))
	case e.Why == wire.Forbidden:
		s.write(failure, id, fmt.Appendf(nil, "%s can't be executed on the node", s.i.Args[0]))
	case e.Why != wire.Ran:
		s.write(failure, id, []byte(e.Fault))
	default:
		s.write(result, id, e.Result)
	}
}

// write remembers the first error, and is silent after it: the reader is gone.
func (s *server) write(what byte, id uint64, rest []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(headBytes+len(rest)))
	head = binary.BigEndian.AppendUint64(append(head, what), id)
	for _, b := range [][]byte{head, rest} {
		if _, err := s.out.Write(b); err != nil {
			s.err = err
			return
		}
	}
	s.err = s.out.Flush()
}

// readFrame returns io.EOF at the end of the input.
func readFrame(in *bufio.Reader) (what byte, id uint64, rest []byte, err error) {
	var head [4 + headBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < headBytes || n > wire.MaxFrame {
		return 0, 0, nil, fmt.Errorf("a frame has a length of %d bytes, %d to %d are allowed", n, headBytes, wire.MaxFrame)
	}
	n -= headBytes
	if rest, err = wire.ReadBytes(in, n); err != nil {
		return 0, 0, nil, fmt.Errorf("a frame breaks off: %w", io.ErrUnexpectedEOF)
	}
	return head[4], binary.BigEndian.Uint64(head[5:]), rest, nil
}
