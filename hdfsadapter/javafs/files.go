package javafs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"heddle/hdfsadapter/jvm"
)

// Operations of jvm/java/Files.java.
const (
	opHello byte = iota + 1
	opSession
	opEnd
	opStat
	opList
	opMore
	opOpen
	opRead
	opCreate
	opAppend
	opWrite
	opFlush
	opClose
	opAbandon
	opRename
	opRemove
	opMkdirs
	opChmod
	opChown
	opChtimes
	opBlocks
)

// Bounds: users that have a JVM at the same time, how long one waits for the next call, calls of a user at a time, and sessions that are kept for the next file.
const (
	maxUsers    = 4
	idleFor     = 30 * time.Second
	maxCalls    = 32
	maxSessions = 16
	// longer is how much longer calls may take that write, as a store may copy a whole file then.
	longer = 10
)

// PatienceKey names the setting that bounds a call.
const PatienceKey = "heddle.nodemanager.java.patience-ms"

// Config configures Files.
type Config struct {
	// JVM returns how a JVM is started that works for a user; "" is this process's own.
	JVM func(user string) (jvm.Config, error)
	// Jar writes the programs, and returns their path.
	Jar func() (string, error)
	// Patience is how long a call may take that reads, the first one with the start of the JVM; one that writes may take ten times as long.
	Patience   time.Duration
	Properties []string // settings, keys and values in turn, which replace those of the files
	Account    Account  // of this process's own user
	Host       string   // for _HOST in a principal
}

// Account is how a daemon logs in to Kerberos: by the settings of these names. The zero value doesn't log in: who has tickets uses them.
type Account struct {
	Login             bool
	Keytab, Principal string
}

// Who reads or writes.
type Who struct {
	User   string // "": this process itself
	Tokens []byte // credentials, as in a container's launch context; nil: none
}

// Files are the file systems. It is safe for concurrent use.
type Files struct {
	cfg Config
	jar func() (string, error)

	mu      sync.Mutex
	users   map[string]*process
	ending  int           // processes that are not in users any more, and still count
	changed chan struct{} // closed when there is room for another user; another one afterwards
	closed  bool
}

// process is a JVM that works for a user.
type process struct {
	*jvm.Process
	user  string
	ready chan struct{} // closed when it has started, or has failed to
	err   error         // why it has failed; valid once ready is closed
	calls chan struct{} // has room for those under way

	// guarded by Files.mu
	used     int // by sessions in use
	idle     *time.Timer
	gone     bool // not in Files.users any more
	sessions map[[sha256.Size]byte]*session
	uses     int64 // of sessions so far
}

// session is a user with certain tokens in a process.
type session struct {
	files   *Files
	process *process
	key     [sha256.Size]byte
	tokens  []byte
	used    int   // guarded by Files.mu
	last    int64 // guarded by Files.mu

	mu sync.Mutex // held while it begins
	id int32      // 0: not yet begun
}

// New returns Files without a JVM.
func New(cfg Config) *Files {
	return &Files{cfg: cfg, jar: sync.OnceValues(cfg.Jar), users: map[string]*process{}, changed: make(chan struct{})}
}

var errClosed = errors.New("the file systems of Java are closed")

// Close ends all JVMs. Files that are open fail.
func (f *Files) Close() {
	f.mu.Lock()
	f.closed = true
	var all []*process
	for _, p := range f.users {
		all = append(all, p)
	}
	f.wake()
	f.mu.Unlock()
	for _, p := range all {
		f.remove(p)
	}
}

// wake tells those who wait for room. The lock is held.
func (f *Files) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// acquire returns a session of a user, whose process runs.
func (f *Files) acquire(ctx context.Context, by Who) (*session, error) {
	for {
		s, wait, err := f.pick(by)
		if err != nil {
			return nil, err
		}
		if s == nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, fmt.Errorf("%d other users' file systems are in use: %w", maxUsers, ctx.Err())
			}
		}
		select {
		case <-s.process.ready:
			err = s.process.err
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			err = s.begin(ctx)
		}
		if err != nil {
			f.release(s)
			return nil, err
		}
		return s, nil
	}
}

// pick returns a session whose process may still be starting, or what to wait for.
func (f *Files) pick(by Who) (*session, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, errClosed
	}
	p := f.users[by.User]
	if p == nil {
		if by.User != "" && f.others() >= maxUsers {
			f.makeRoom()
			return nil, f.changed, nil
		}
		p = &process{user: by.User, ready: make(chan struct{}), calls: make(chan struct{}, maxCalls), sessions: map[[sha256.Size]byte]*session{}}
		f.users[by.User] = p
		go f.start(p)
	}
	if p.idle != nil {
		p.idle.Stop()
		p.idle = nil
	}
	key := sha256.Sum256(by.Tokens)
	s := p.sessions[key]
	if s == nil {
		s = &session{files: f, process: p, key: key, tokens: by.Tokens}
		p.sessions[key] = s
	}
	p.uses++
	s.last = p.uses
	s.used++
	p.used++
	return s, nil, nil
}

// others returns how many users besides this process's own have a process: what users have that hang doesn't keep a node from its own files. The lock is held.
func (f *Files) others() int {
	n := len(f.users) + f.ending
	if f.users[""] != nil {
		n--
	}
	return n
}

// makeRoom ends a process without calls. The lock is held.
func (f *Files) makeRoom() {
	for _, p := range f.users {
		if p.used == 0 && p.user != "" && f.detach(p) {
			go f.kill(p)
			return
		}
	}
}

// release ends the use of a session.
func (f *Files) release(s *session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := s.process
	s.used--
	p.used--
	if len(p.sessions) > maxSessions {
		f.forget(p)
	}
	if p.used > 0 || p.gone {
		return
	}
	p.idle = time.AfterFunc(idleFor, func() {
		f.mu.Lock()
		unused := p.used == 0 && f.detach(p)
		f.mu.Unlock()
		if unused {
			f.kill(p)
		}
	})
	f.wake() // it may make room
}

// forget ends the session that was unused for longest. The lock is held.
func (f *Files) forget(p *process) {
	var oldest *session
	for _, s := range p.sessions {
		if s.used == 0 && (oldest == nil || s.last < oldest.last) {
			oldest = s
		}
	}
	if oldest == nil {
		return
	}
	delete(p.sessions, oldest.key)
	go func() {
		if oldest.id != 0 {
			_, _ = oldest.call(context.Background(), opEnd, nil, nil) // it ends with the process at the latest
		}
	}()
}

// remove ends a process, and then makes room for another one.
func (f *Files) remove(p *process) {
	f.mu.Lock()
	first := f.detach(p)
	f.mu.Unlock()
	if first {
		f.kill(p)
	}
}

// detach has the next call of the user start another process. It reports false if that was done before. The lock is held.
func (f *Files) detach(p *process) bool {
	if p.gone {
		return false
	}
	p.gone = true
	delete(f.users, p.user)
	f.ending++
	if p.idle != nil {
		p.idle.Stop()
	}
	return true
}

// kill ends a process that is detached.
func (f *Files) kill(p *process) {
	<-p.ready
	if p.Process != nil {
		p.Kill()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending--
	f.wake()
}

// start starts a process.
func (f *Files) start(p *process) {
	err := func() error {
		cfg, err := f.cfg.JVM(p.user)
		if err != nil {
			return err
		}
		jar, err := f.jar()
		if err != nil {
			return err
		}
		if p.Process, err = cfg.Start(jar, jvm.FilesMain); err != nil {
			return err
		}
		var m jvm.Message
		m.Texts(f.cfg.Properties).Text(f.cfg.Host).Text(f.cfg.Account.Keytab).Text(f.cfg.Account.Principal).Flag(f.cfg.Account.Login && p.user == "")
		_, err = p.Call(opHello, m.B, f.cfg.Patience)
		return f.explain(p, err, f.cfg.Patience)
	}()
	if err != nil {
		p.err = fmt.Errorf("start Java's file systems for user %q: %w", p.user, err)
	}
	close(p.ready)
	if err != nil {
		f.remove(p)
	}
}

// explain says why a call got no answer.
func (f *Files) explain(p *process, err error, limit time.Duration) error {
	var refused *jvm.Refused
	switch {
	case err == nil, errors.As(err, &refused):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer within %v (%s)", limit, PatienceKey)
	case p.Wait(2*time.Second) && p.Ended() != nil:
		return fmt.Errorf("the JVM has ended: %w; the log has what it printed", p.Ended())
	}
	return fmt.Errorf("the JVM has ended: %w", err)
}

// begin tells the process of the session, once.
func (s *session) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != 0 {
		return nil
	}
	var m jvm.Message
	m.Text(s.process.user).Bytes(s.tokens)
	b, err := s.do(ctx, opSession, m.B, nil)
	x := jvm.Fields{B: b}
	if err == nil {
		s.id = x.Integer()
		err = x.Err
	}
	return err
}

// call is one call of a session. late gets the results of one that ctx has ended before.
func (s *session) call(ctx context.Context, op byte, args []byte, late func(results []byte)) ([]byte, error) {
	var m jvm.Message
	m.Integer(s.id)
	b, err := s.do(ctx, op, append(m.B, args...), late)
	return b, failure(err)
}

func (s *session) do(ctx context.Context, op byte, args []byte, late func(results []byte)) ([]byte, error) {
	p, limit := s.process, s.files.cfg.Patience
	if op >= opCreate && op <= opRemove {
		limit *= longer
	}
	select {
	case p.calls <- struct{}{}:
	case <-p.Done():
		return nil, errDied
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type outcome struct {
		results []byte
		err     error
	}
	over := make(chan outcome, 1)
	var taken atomic.Bool // by the first of them: the answer, or the end of ctx
	go func() {
		defer func() { <-p.calls }()
		b, err := p.Call(op, args, limit)
		var refused *jvm.Refused
		if err != nil && !errors.As(err, &refused) {
			go s.files.remove(p) // a call that hangs ends its process
			err = s.files.explain(p, err, limit)
		}
		if taken.CompareAndSwap(false, true) {
			over <- outcome{b, err}
		} else if err == nil && late != nil {
			late(b)
		}
	}()
	select {
	case o := <-over:
		return o.results, o.err
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return nil, ctx.Err()
		}
		o := <-over
		return o.results, o.err
	}
}

var errDied = errors.New("the JVM has ended")
