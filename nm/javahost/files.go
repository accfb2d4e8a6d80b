package javahost

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/nm/localizer"
)

// Operations of java/Files.java.
const (
	fileHello byte = iota + 1
	fileStat
	fileList
	fileOpen
	fileRead
	fileClose
)

// Bounds of the JVMs that read files: in all, of one user, and how long one waits for the next file.
const (
	maxReaders = 4
	maxPerUser = 2
	readerIdle = 30 * time.Second
)

// FilesConfig configures Files.
type FilesConfig struct {
	// JVM returns how a JVM is started that reads for a user, and which processes it consists of; "" is the NodeManager itself.
	JVM func(user string) (Config, error)
	Dir string // of host.jar. It must exist
	// Patience is how long a call may take, the first one with the start of the JVM.
	Patience time.Duration
}

// Files reads files by Hadoop's FileSystem classes (fs.SCHEME.impl), in JVMs that read for one user each. It starts one once it is needed, and ends
// it 30 s after the last file. It is a localizer.Source, and safe for concurrent use.
type Files struct {
	cfg FilesConfig
	jar func() (string, error)

	mu      sync.Mutex
	idle    []*reader
	users   map[string]int // processes by user, idle ones included
	all     map[*reader]bool
	running int           // those that are being started, too
	changed chan struct{} // closed when a process is free or has ended; another one afterwards
	closed  bool
}

var _ localizer.Source = (*Files)(nil)

// reader is a JVM that reads for a user with certain credentials.
type reader struct {
	*jvm
	user  string
	key   [sha256.Size]byte
	timer *time.Timer // ends it while it is idle
}

// NewFiles returns Files without a JVM.
func NewFiles(cfg FilesConfig) *Files {
	return &Files{cfg: cfg, users: map[string]int{}, all: map[*reader]bool{}, changed: make(chan struct{}), jar: sync.OnceValues(func() (string, error) {
		path := filepath.Join(cfg.Dir, "heddle-javahost.jar")
		return path, writeJar(path)
	})}
}

// Close ends all JVMs. Readers that are open fail.
func (f *Files) Close() {
	f.mu.Lock()
	f.closed, f.idle = true, nil
	all := f.all
	f.all = map[*reader]bool{}
	f.wake()
	f.mu.Unlock()
	for r := range all {
		r.kill()
	}
}

// wake tells those who wait for a process. The lock is held.
func (f *Files) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

var errClosed = errors.New("the node is ending")

// acquire returns a process that reads for a user.
func (f *Files) acquire(ctx context.Context, by localizer.Reader) (*reader, error) {
	user, tokens := by.User, by.Tokens
	if by.Public {
		user, tokens = "", nil
	}
	key := sha256.Sum256(append([]byte(user+"\x00"), tokens...))
	for {
		r, fresh, wait, err := f.pick(user, key)
		switch {
		case err != nil:
			return nil, err
		case fresh:
			return f.start(ctx, user, key, tokens)
		case r != nil:
			return r, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pick returns an idle process, or that a new one may be started, or what to wait for.
func (f *Files) pick(user string, key [sha256.Size]byte) (r *reader, fresh bool, wait chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, nil, errClosed
	}
	var other *reader
	for i, r := range f.idle {
		if r.key == key && r.timer.Stop() {
			f.idle = append(f.idle[:i:i], f.idle[i+1:]...)
			return r, false, nil, nil
		}
		other = r
	}
	if f.running < maxReaders && f.users[user] < maxPerUser {
		f.running++
		f.users[user]++
		return nil, true, nil, nil
	}
	if other != nil && other.timer.Stop() { // it has to make room
		other.timer.Reset(0)
	}
	return nil, false, f.changed, nil
}

// start starts a process, for which there is room.
func (f *Files) start(ctx context.Context, user string, key [sha256.Size]byte, tokens []byte) (*reader, error) {
	r := &reader{user: user, key: key}
	err := func() error {
		cfg, err := f.cfg.JVM(user)
		if err != nil {
			return err
		}
		jar, err := f.jar()
		if err != nil {
			return err
		}
		if r.jvm, err = cfg.startJVM(jar, filesMain); err != nil {
			return err
		}
		f.mu.Lock()
		f.all[r] = true
		closed := f.closed
		f.mu.Unlock()
		if closed {
			return errClosed
		}
		var m message
		m.texts(cfg.Properties).text(cfg.Hostname).text(user).bytes(tokens)
		_, err = f.call(ctx, r, fileHello, m.b)
		return err
	}()
	if err != nil {
		f.end(r)
		return nil, fmt.Errorf("start Java's file systems for user %q: %w", user, err)
	}
	return r, nil
}

// end ends a process and makes room for another one.
func (f *Files) end(r *reader) {
	if r.jvm != nil {
		r.kill()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.users[r.user]--; f.users[r.user] == 0 {
		delete(f.users, r.user)
	}
	delete(f.all, r)
	f.wake()
}

// release gives a process back, which is of use only if it has answered.
func (f *Files) release(r *reader, err error) {
	var refused *Refused
	f.mu.Lock()
	if f.closed || err != nil && !errors.As(err, &refused) {
		f.mu.Unlock()
		f.end(r)
		return
	}
	defer f.mu.Unlock()
	r.timer = time.AfterFunc(readerIdle, func() {
		if f.retire(r) {
			f.end(r)
		}
	})
	f.idle = append(f.idle, r)
	f.wake()
}

// retire takes a process out of the idle ones; it reports false if it isn't there any more.
func (f *Files) retire(r *reader) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.idle {
		if x == r {
			f.idle = append(f.idle[:i:i], f.idle[i+1:]...)
			return true
		}
	}
	return false
}

// call is one call, during which the end of ctx ends the process.
func (f *Files) call(ctx context.Context, r *reader, op byte, args []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, r.kill)
	defer stop()
	b, err := r.jvm.call(op, args, f.cfg.Patience)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer within %v (heddle.nodemanager.java.patience-ms)", f.cfg.Patience)
	}
	return b, err
}

// argument is a location as requests have it.
func argument(at localizer.Location) []byte {
	authority := at.Host
	if at.Port > 0 {
		authority = net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	}
	if at.UserInfo != "" {
		authority = at.UserInfo + "@" + authority
	}
	var m message
	m.text(at.Scheme).text(authority).text(at.Path)
	return m.b
}

// failure returns the error of a call about a location, as a file system of Go would.
func failure(at localizer.Location, err error) error {
	var refused *Refused
	if !errors.As(err, &refused) {
		return fmt.Errorf("%s: %w", at, err)
	}
	class, _, _ := strings.Cut(refused.Text, ":")
	switch class {
	case "java.io.FileNotFoundException":
		return fmt.Errorf("%s: %s: %w", at, refused.Text, fs.ErrNotExist)
	case "org.apache.hadoop.security.AccessControlException", "java.nio.file.AccessDeniedException":
		return fmt.Errorf("%s: %s: %w", at, refused.Text, fs.ErrPermission)
	case "org.apache.hadoop.fs.UnsupportedFileSystemException":
		return fmt.Errorf("%s: %s: set fs.%s.impl to a class, and name its jar in heddle.nodemanager.java.class-path or HADOOP_CLASSPATH of heddle nm", at, refused.Text, at.Scheme)
	}
	return fmt.Errorf("%s: %s", at, refused.Text)
}

// ask makes one call about a location.
func (f *Files) ask(ctx context.Context, by localizer.Reader, op byte, at localizer.Location) ([]byte, error) {
	r, err := f.acquire(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	b, err := f.call(ctx, r, op, argument(at))
	f.release(r, err)
	if err != nil {
		return nil, failure(at, err)
	}
	return b, nil
}

// Stat implements localizer.Source.
func (f *Files) Stat(ctx context.Context, by localizer.Reader, at localizer.Location) (localizer.Info, error) {
	b, err := f.ask(ctx, by, fileStat, at)
	if err != nil {
		return localizer.Info{}, err
	}
	x := fields{b: b}
	info := x.info()
	return info, x.err
}

// List implements localizer.Source.
func (f *Files) List(ctx context.Context, by localizer.Reader, at localizer.Location) ([]localizer.Info, error) {
	b, err := f.ask(ctx, by, fileList, at)
	if err != nil {
		return nil, err
	}
	return decodeList(b)
}

// maxEntries bounds the entries of a folder; java/Files.java has the same number.
const maxEntries = 10000

func decodeList(b []byte) (all []localizer.Info, err error) {
	x := fields{b: b}
	n := x.integer()
	if x.err != nil || n < 0 || n > maxEntries {
		return nil, fmt.Errorf("a reply with %d entries", n)
	}
	for range n {
		if info := x.info(); x.err == nil {
			all = append(all, info)
		}
	}
	return all, x.err
}

// info reads the description of a file.
func (f *fields) info() localizer.Info {
	i := localizer.Info{Name: f.text()}
	isDir := f.octet() == 1
	i.Size, i.ModTime, i.Mode = f.number(), f.number(), fs.FileMode(f.integer())&fs.ModePerm
	if isDir {
		i.Mode |= fs.ModeDir
	}
	return i
}

// Open implements localizer.Source.
func (f *Files) Open(ctx context.Context, by localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	r, err := f.acquire(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if _, err := f.call(ctx, r, fileOpen, argument(at)); err != nil {
		f.release(r, err)
		return nil, failure(at, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &file{files: f, reader: r, at: at, ctx: ctx, cancel: cancel}, nil
}

// file is an open file.
type file struct {
	files  *Files
	reader *reader
	at     localizer.Location
	ctx    context.Context
	cancel context.CancelFunc

	once sync.Once
	mu   sync.Mutex // held during a call
	rest []byte     // of the last chunk
	err  error      // after which nothing comes
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rest) == 0 && f.err == nil {
		b, err := f.files.call(f.ctx, f.reader, fileRead, nil)
		x := fields{b: b}
		switch {
		case err != nil:
			f.err = failure(f.at, err)
		default:
			if f.rest = x.bytes(); x.err != nil {
				f.err = x.err
			} else if len(f.rest) == 0 {
				f.err = io.EOF
			}
		}
	}
	if len(f.rest) == 0 {
		return 0, f.err
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer. A Read that waits ends, and its process with it.
func (f *file) Close() error {
	f.once.Do(func() {
		err := context.Canceled
		if f.mu.TryLock() {
			_, err = f.files.call(f.ctx, f.reader, fileClose, nil)
			f.mu.Unlock()
		}
		f.cancel()
		f.mu.Lock() // until a Read has ended
		defer f.mu.Unlock()
		if f.err == nil {
			f.err = fs.ErrClosed
		}
		f.files.release(f.reader, err)
	})
	return nil
}
