package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// MaxFrame bounds a message: the arguments of a command, or what a call takes or returns.
const MaxFrame = 64 << 20

// maxWords bounds how many arguments and variables a task has, and maxFields all that a message repeats: each takes more memory than bytes of a frame.
const (
	maxWords  = 1 << 20
	maxFields = maxWords + 100
)

// SmallFrame is the size above which Receive may refuse messages (Conn.Large).
const SmallFrame = 1 << 20

// How a lost peer is noticed. A peer whose machine or network is gone acknowledges nothing: its kernel would, also while the
// process has no time. We look at that every pingEvery, and it takes some 0.3 s, as the kernel first sends again. A process that has hung up
// its connection is noticed at once, and one that hangs, after Silence. The time in which this process is suspended itself doesn't count,
// nor that of a peer which is known to be suspended (Conn.Standstill).
const (
	Unacknowledged = 100 * time.Millisecond
	pingEvery      = 50 * time.Millisecond
	// nearEvery is pingEvery of a peer on this machine, which can't be lost without this process: only one that hangs is to be noticed. With a node and its executors, looks twenty times a
	// second would take some percent of a processor from what runs beside them.
	nearEvery = time.Second
	// Of a connection with Hasty, a loss is noticed within 100 ms: we look every hastyEvery. If something is unacknowledged then, we send a ping and look again after hastyAgain. A kernel
	// acknowledges within 40 ms, and at once what comes out of turn, so that nothing in hastyAfter means that both were lost.
	hastyEvery = 40 * time.Millisecond
	hastyAgain = 20 * time.Millisecond
	hastyAfter = 60 * time.Millisecond
	Silence    = 15 * time.Second
	// Waking is Silence of a peer that was suspended, until it says something: it may have to be paged in from a slow disk first.
	Waking = 2 * time.Minute
	// backlog is how many bytes may wait to be sent before Send waits.
	backlog = 1 << 20
)

// ErrTooLarge is wrapped by errors of messages above MaxFrame.
var ErrTooLarge = errors.New("larger than a message may be")

// ErrLost is the error of a connection whose peer's machine or network is gone.
var ErrLost = errors.New("the peer's machine acknowledges nothing")

// ErrSilent is the error of a connection whose peer hangs.
var ErrSilent = fmt.Errorf("the peer has said nothing for %v, or %v after it was suspended", Silence, Waking)

// Conn sends and receives messages. Send may be called from any goroutine, Receive from one at a time.
type Conn struct {
	conn  net.Conn
	in    *bufio.Reader
	large func() bool // nil: messages may always be

	mu      sync.Mutex
	more    sync.Cond // something waits to be sent, for the one goroutine that sends what no other does
	room    sync.Cond // for Send
	out     []byte
	spare   []byte // what out was before
	err     error
	sent    bool // something was sent since the last ping
	still   bool // the peer is suspended
	patient bool // it was suspended, and has said nothing since
	deaf    bool // its kernel acknowledged nothing when looked at last
	cut     bool // a message was sent in part
	busy    bool // a goroutine writes the waiting data
	stop    chan struct{}
	every   time.Duration // looks
	hasty   atomic.Bool
	looked  time.Time                            // when a hasty connection has looked last
	unheard func(net.Conn) (time.Duration, bool) // for how long nothing was acknowledged, and whether something should be
	writing sync.WaitGroup

	reading atomic.Bool  // Receive waits for the peer
	quiet   atomic.Int32 // looks at whether anything has come since something has
}

// NewConn makes a connection of one that is authenticated.
func NewConn(c net.Conn) *Conn {
	w := &Conn{conn: c, stop: make(chan struct{}), every: pingEvery, unheard: unheard}
	if isHere(c) {
		w.every = nearEvery
	}
	w.in = bufio.NewReaderSize(heard{w}, 64<<10)
	w.more.L, w.room.L = &w.mu, &w.mu
	w.writing.Go(w.write)
	w.writing.Go(w.ping)
	return w
}

// isHere reports whether the peer of a connection is on this machine.
func isHere(c net.Conn) bool {
	ours, ok := c.LocalAddr().(*net.TCPAddr)
	theirs, also := c.RemoteAddr().(*net.TCPAddr)
	return ok && also && ours.IP.Equal(theirs.IP)
}

// Close closes the connection. Receive returns then. Messages that Send took before are sent, if the peer takes them.
func (c *Conn) Close() {
	c.mu.Lock()
	if c.err == nil {
		c.err = net.ErrClosed
		close(c.stop)
		c.wake()
	}
	c.mu.Unlock()
	_ = c.conn.SetDeadline(time.Now().Add(time.Second))
	c.writing.Wait()
	if t, ok := c.conn.(interface{ NetConn() net.Conn }); ok && c.cut {
		// TLS would send its last record after a part of another one, and the peer would take the connection for forged.
		t.NetConn().Close()
		return
	}
	c.conn.Close()
}

// wake makes all waiting calls look again. The lock is held.
func (c *Conn) wake() {
	c.more.Signal()
	c.room.Broadcast()
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.stop)
		c.wake()
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // Receive returns
	}
}

// Send sends a message, soon. It waits while too many bytes have not been sent. Its errors are of earlier messages, of a closed connection,
// or ErrTooLarge.
func (c *Conn) Send(m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.add(m); err != nil {
		return err
	}
	if !c.busy {
		c.more.Signal()
	}
	return nil
}

// Write sends messages like Send, but now, unless others are just being sent: no other goroutine has to wake up for it. It returns how many were taken before an
// error.
func (c *Conn) Write(all ...Message) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(all) && err == nil {
		if !c.busy && len(c.out) >= backlog {
			c.flush()
		}
		if err = c.add(all[n]); err == nil {
			n++
		}
	}
	if !c.busy {
		c.flush()
	}
	return n, err
}

// add has a message sent with what waits. The lock is held, but not while it waits for room.
func (c *Conn) add(m Message) error {
	for len(c.out) >= backlog && c.err == nil {
		c.room.Wait()
	}
	if c.err != nil {
		return c.err
	}
	b, err := appendFrame(c.out, m)
	if err != nil {
		return err
	}
	c.out, c.sent = b, true
	return nil
}

// appendFrame appends a message with its length.
func appendFrame(b []byte, m Message) ([]byte, error) {
	at := len(b)
	if t, ok := m.(*Task); ok && len(t.Args)+len(t.Env) > maxWords {
		return b, fmt.Errorf("a task of %d arguments and %d variables is %w, which is %d", len(t.Args), len(t.Env),
			ErrTooLarge, maxWords)
	}
	b = append(b, 0, 0, 0, 0)
	var kind Kind
	if m == nil {
		b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(KindPing), protowire.VarintType), 1)
	} else {
		kind = m.(interface{ kind() Kind }).kind()
		b = protowire.AppendTag(b, protowire.Number(kind), protowire.BytesType)
		// The length comes first. One of five bytes fits all messages.
		length := len(b)
		b = append(b, 0x80, 0x80, 0x80, 0x80, 0)
		b = m.append(b)
		n := len(b) - length - 5
		for i := range 5 {
			b[length+i] = byte(n>>(7*i)) & 0x7f
			if i < 4 {
				b[length+i] |= 0x80
			}
		}
	}
	n := len(b) - at - 4
	if n > MaxFrame {
		return b[:at], fmt.Errorf("a message of %d bytes is %w, which is %d", n, ErrTooLarge, MaxFrame)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(n))
	return b, nil
}

// write sends what waits, until the connection is closed and all is sent, or it fails.
func (c *Conn) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.busy || len(c.out) == 0 && c.err == nil {
			c.more.Wait()
		}
		if len(c.out) == 0 || c.cut {
			return
		}
		c.flush()
	}
}

// flush sends what waits, all at once, and what comes meanwhile. The lock is held, but not while it sends.
func (c *Conn) flush() {
	c.busy = true
	for len(c.out) > 0 && !c.cut {
		buf := c.out
		c.out = c.spare[:0]
		c.room.Broadcast()
		c.mu.Unlock()
		_, err := c.conn.Write(buf)
		if err != nil {
			c.fail(err)
		}
		c.mu.Lock()
		c.cut = err != nil
		if c.spare = buf; cap(buf) > 2*backlog {
			c.spare = nil
		}
	}
	if c.busy = false; c.err != nil {
		c.more.Signal() // nothing is sent any more
	}
}

// ping sends pings while nothing else is sent, and notices that a peer is silent. It counts its looks, and not the time: that passes
// also while this process is suspended.
func (c *Conn) ping() {
	t := time.NewTicker(c.every)
	defer t.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
		}
		if c.every == pingEvery && c.hasty.Load() {
			c.every = hastyEvery
			t.Reset(c.every)
		}
		if c.every == hastyEvery && c.lost() {
			c.fail(ErrLost)
		} else if err := c.look(); err != nil {
			c.fail(err)
		}
	}
}

// Hasty has the loss of the peer's machine noticed within 100 ms instead of 300 ms, at the price of more pings, and of taking it for lost when its network
// is gone for no longer than that.
func (c *Conn) Hasty() { c.hasty.Store(true) }

// lost reports whether two messages in a row were lost on a hasty connection. It knows nothing if this process itself had no time to look.
func (c *Conn) lost() bool {
	before := c.looked
	if c.looked = time.Now(); c.looked.Sub(before) > 2*hastyEvery {
		return false
	}
	if _, waits := c.unheard(c.conn); !waits {
		return false
	}
	c.mu.Lock()
	still := c.still || c.patient
	if !still && c.err == nil && !c.cut {
		c.out, _ = appendFrame(c.out, nil) // a ping is small
		c.more.Signal()
	}
	c.mu.Unlock()
	if still {
		return false
	}
	asked := time.Now()
	select {
	case <-c.stop:
		return false
	case <-time.After(hastyAgain):
	}
	age, waits := c.unheard(c.conn)
	return waits && age >= hastyAfter && time.Since(asked) <= 2*hastyAgain
}

// look sends a ping if nothing else was sent. It returns an error if nothing has come for too many looks in a row, or if the peer's kernel has
// acknowledged nothing at two looks. A suspended peer gets a ping only when it has said something: it runs for a moment then. Unread pings
// would fill its buffer.
func (c *Conn) look() error {
	quiet := 0
	if c.reading.Load() {
		quiet = int(c.quiet.Add(1))
	}
	spoke := quiet == 1
	unheard := !spoke && deaf(c.conn, Unacknowledged) // a peer that has just sent data has acknowledged ours
	c.mu.Lock()
	defer c.mu.Unlock()
	if unheard && c.deaf && !c.still && !c.patient { // else its machine's loss is for the ResourceManager to notice
		return ErrLost
	}
	c.deaf = unheard
	if !c.sent && len(c.out) == 0 && c.err == nil && (!c.still || spoke) {
		c.out, _ = appendFrame(c.out, nil) // a ping is small
		c.more.Signal()
	}
	c.sent = false
	if c.still {
		return nil
	}
	most := Silence
	if c.patient = c.patient && !spoke; c.patient {
		most = Waking
	}
	if quiet >= int(most/c.every) {
		return ErrSilent
	}
	return nil
}

// Standstill says that the peer is suspended, or continues, as its container is suspended, or resumes. As long as it is suspended it may be silent.
// Messages sent before are received when it continues.
func (c *Conn) Standstill(still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still == still {
		return
	}
	c.still = still
	if still {
		c.patient = true
	}
	c.quiet.Store(1) // it has said nothing just now
}

// heard reads what a peer says, and notes that it does.
type heard struct{ c *Conn }

func (h heard) Read(b []byte) (int, error) {
	h.c.reading.Store(true)
	n, err := h.c.conn.Read(b)
	h.c.quiet.Store(0)
	h.c.reading.Store(false)
	return n, err
}

// Large makes Receive take messages larger than SmallFrame only while a function says so, as each takes memory before it is known what it is. Of
// others it returns ErrTooLarge, and the next message then. It is called before the first Receive.
func (c *Conn) Large(may func() bool) { c.large = may }

// Receive returns the next message that isn't a ping. The message is good until the next call, unless large.
func (c *Conn) Receive() (Message, error) {
	for {
		body, err := c.next()
		if err != nil {
			c.mu.Lock()
			if c.err != nil {
				err = c.err
			}
			c.mu.Unlock()
			return nil, err
		}
		m, err := decode(body)
		if m != nil || err != nil {
			return m, err
		}
	}
}

// next returns the body of the next frame.
func (c *Conn) next() ([]byte, error) {
	if c.large != nil {
		head, err := c.in.Peek(4)
		if err != nil {
			return nil, err
		}
		if n := int(binary.BigEndian.Uint32(head)); n > SmallFrame && n <= MaxFrame && !c.large() {
			if _, err := c.in.Discard(4 + n); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("a message of %d bytes, where no task was asked for, is %w", n, ErrTooLarge)
		}
	}
	return readFrame(c.in)
}

// readFrame returns the body of the next frame.
func readFrame(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head))
	if n > MaxFrame {
		return nil, fmt.Errorf("%w: its length is %d, at most %d is allowed", ErrMalformed, n, MaxFrame)
	}
	if _, err := in.Discard(4); err != nil {
		return nil, err
	}
	return ReadBytes(in, n)
}

// ReadBytes reads n bytes. It takes memory as bytes arrive, not as a length promises.
func ReadBytes(in io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	body := make([]byte, 0, min(n, step))
	for len(body) < n {
		at := len(body)
		body = append(body, make([]byte, min(n-at, step))...)
		if _, err := io.ReadFull(in, body[at:]); err != nil {
			return nil, err
		}
	}
	return body, nil
}
