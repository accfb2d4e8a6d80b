package hdfsadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/rpc"
	"heddle/conf/ssl"
	"heddle/hdfsadapter/access"
	"heddle/hdfsadapter/javafs"
	"heddle/yarn/ipc"
	"heddle/yarn/token"
)

// Options are settings that the configuration lacks. Zero values mean the defaults at the fields.
type Options struct {
	Host  string        // this host, as DataNodes on it are named: the place of local files' blocks; default: its name
	Log   *logrus.Entry // nil: nothing is logged
	Retry time.Duration // how long to try to reach a NameNode; default: one minute, or 20 s if there is only one
	Trust *ssl.Trust    // whom calls of Key Management Servers trust; default: as ssl-client.xml says
	// Login logs this process in to Kerberos, for its own calls (As("")); all others need tokens. nil: calls without a token use the tickets of kinit.
	Login func() (Login, error)
	// Java are file systems of other schemes; the adapter doesn't close them. nil: JVMs of this process's own user, which start once one is needed.
	Java *javafs.Files
	// JavaAccount is the account that such a JVM logs in with, where there is Kerberos.
	JavaAccount javafs.Account
}

// Adapter gives access to file systems. It is safe for concurrent use.
type Adapter struct {
	conf    *conf.Config
	options Options
	umask   fs.FileMode
	self    string // the user of this process
	deflt   Location
	local   *localStore
	client  *ipc.Client
	data    *dataNodes

	access *access.Access
	web    func() (http.RoundTripper, error) // to Key Management Servers

	javaOnce sync.Once
	java     *javafs.Files // by others
	javaEnd  func()        // nil: they are another's

	mu      sync.Mutex
	schemes map[string]error // what lacks for others' schemes

	ctx   context.Context // of all open files; ends with Close
	close context.CancelCauseFunc
}

// New returns an adapter for a configuration. It connects to nothing yet. It fails if fs.defaultFS is not a supported
// file system.
func New(c *conf.Config, o Options) (*Adapter, error) {
	if o.Log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		o.Log = logrus.NewEntry(l)
	}
	if o.Host == "" {
		name, err := os.Hostname()
		if err != nil {
			name = "localhost"
		}
		o.Host = name
	}
	a := &Adapter{conf: c, options: o, self: "nobody", schemes: map[string]error{}, umask: umask(c.Text("fs.permissions.umask-mode"))}
	if u, err := user.Current(); err == nil {
		a.self = u.Username
	}
	uri := c.Text("fs.defaultFS")
	scheme, authority, rest, err := split(uri)
	if err != nil {
		return nil, conf.ErrorAt(c, "fs.defaultFS", err)
	}
	if scheme == "" && strings.HasPrefix(rest, "/") {
		scheme = SchemeFile
	}
	if !native(scheme) {
		if err := javafs.Usable(c, scheme); err != nil {
			return nil, conf.ErrorAt(c, "fs.defaultFS", err)
		}
	}
	if scheme == SchemeHDFS && authority == "" {
		return nil, conf.ErrorAt(c, "fs.defaultFS", errors.New("must name a NameNode or nameservice"))
	}
	a.deflt = Location{scheme, authority, "/"}
	a.local = newLocalStore(o.Host, a.umask)
	a.data = newDataNodes(c.Bool("dfs.client.use.datanode.hostname"), c.Duration("dfs.client.socket-timeout"))
	a.ctx, a.close = context.WithCancelCause(context.Background())
	protection, err := rpc.Protection(c)
	if err != nil {
		return nil, err
	}
	if a.access, err = access.FromConf(c, o.Login); err != nil {
		return nil, err
	}
	a.web = sync.OnceValues(func() (http.RoundTripper, error) { return web(c, o.Trust) })
	if user := a.access.User(); user != "" {
		a.self = user
	}
	a.client = ipc.NewClient(ipc.ClientConfig{
		ConnectTimeout:    c.Duration("ipc.client.connect.timeout"),
		PingInterval:      c.Duration("ipc.ping.interval"),
		MaxIdle:           c.Duration("ipc.client.connection.maxidletime"),
		MaxResponseLength: c.Int("ipc.maximum.response.length"),
		CallerContext:     "heddle", Protection: protection, Log: o.Log,
	})
	return a, nil
}

// web returns how Key Management Servers are called.
func web(c *conf.Config, trust *ssl.Trust) (t http.RoundTripper, err error) {
	if trust == nil {
		if trust, err = ssl.Client(c); err != nil {
			return nil, err
		}
	}
	return trust.Transport(), nil
}

// umask parses fs.permissions.umask-mode, which is octal. Hadoop's symbolic form counts as 022.
func umask(s string) fs.FileMode {
	m, err := strconv.ParseUint(s, 8, 32)
	if err != nil || m > 0o777 {
		return 0o022
	}
	return fs.FileMode(m)
}

// Close closes all connections. Open files fail from then on.
func (a *Adapter) Close() error {
	a.close(errClosed)
	a.client.Close()
	a.javaOnce.Do(func() {}) // none starts any more
	if a.javaEnd != nil {
		a.javaEnd()
	}
	return nil
}

// As returns a user's view; an empty name stands for this process's user. Of the tokens it uses those of the NameNode
// that it talks to.
func (a *Adapter) As(user string, tokens ...token.Token) *FS {
	own := user == ""
	if own {
		user = a.self
	}
	return &FS{a: a, user: user, own: own, tokens: tokens, stores: map[string]*hdfsStore{}}
}

// FS is one user's view of the file systems. It is safe for concurrent use, and needs no closing.
type FS struct {
	a      *Adapter
	user   string
	own    bool // it is this process's own
	tokens []token.Token
	// credentials are all that a container has, for the file systems of Java; nil: tokens are all.
	credentials []byte

	mu     sync.Mutex
	stores map[string]*hdfsStore // by authority
}

// Locate returns the location of a file by its name. fs.defaultFS completes names without a scheme. Relative paths
// start in the user's home directory, and in the working directory locally.
func (f *FS) Locate(name string) (Location, error) {
	scheme, authority, rest, err := split(name)
	if err != nil {
		return Location{}, fmt.Errorf("%q: %w", name, err)
	}
	if scheme == "" {
		scheme = f.a.deflt.Scheme
	}
	if scheme == SchemeFile {
		if authority != "" && authority != "localhost" {
			return Location{}, fmt.Errorf("%q: a file: name has no host; begin it with three slashes", name)
		}
		wd := "/"
		if !strings.HasPrefix(rest, "/") {
			if wd, err = os.Getwd(); err != nil {
				return Location{}, fmt.Errorf("%q: %w", name, err)
			}
		}
		return Location{SchemeFile, "", clean(rest, wd)}, nil
	}
	if authority == "" && scheme == f.a.deflt.Scheme {
		authority = f.a.deflt.Authority
	}
	if authority == "" && scheme == SchemeHDFS {
		if f.a.deflt.Scheme != SchemeHDFS {
			return Location{}, fmt.Errorf("%q names no NameNode, and fs.defaultFS (%s) doesn't either", name, f.a.deflt)
		}
	}
	if rest == "" {
		rest = "/"
	}
	return Location{scheme, authority, clean(rest, "/user/"+f.user)}, nil
}

// store returns the file system of a location.
func (f *FS) store(at Location) (store, error) {
	if at.Scheme == SchemeFile {
		return f.a.local, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := context.Cause(f.a.ctx); err != nil {
		return nil, err
	}
	if at.Scheme != SchemeHDFS {
		return f.other(at)
	}
	s := f.stores[at.Authority]
	if s == nil {
		addrs, err := access.NameNodes(f.a.conf, at.Authority)
		if err != nil {
			return nil, err
		}
		who, err := f.a.access.Identity(f.user, f.own, access.ChooseToken(f.tokens, at.Authority, addrs), addrs)
		if err != nil {
			return nil, err
		}
		s = newHDFSStore(f.a, addrs, f.user, who)
		s.own, s.tokens = f.own, f.tokens
		f.stores[at.Authority] = s
	}
	return s, nil
}

// errClosed is the error of calls after Adapter.Close.
var errClosed = errors.New("the adapter of file systems is closed")

// store is one file system. Its paths are absolute. Its errors need no file names: FS adds them.
type store interface {
	stat(ctx context.Context, path string) (Info, error)
	list(ctx context.Context, path string) ([]Info, error)            // by name
	open(ctx context.Context, path string, here bool) (Reader, error) // here: only replicas on this host are read
	create(ctx context.Context, path string, o CreateOptions) (Writer, error)
	append(ctx context.Context, path string) (Writer, error)
	rename(ctx context.Context, from, to string, overwrite bool) error
	remove(ctx context.Context, path string, recursive bool) error
	mkdirs(ctx context.Context, path string, perm fs.FileMode) error
	chmod(ctx context.Context, path string, perm fs.FileMode) error
	chown(ctx context.Context, path, owner, group string) error
	chtimes(ctx context.Context, path string, modTime, accessTime int64) error
	blocks(ctx context.Context, path string, offset, length int64) ([]Block, error)
}

func (i Info) at(l Location) Info {
	i.Path, i.Name = l.String(), path.Base(l.Path)
	return i
}
