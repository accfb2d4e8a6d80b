package ssl

import (
	"crypto/tls"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// reloading is a configuration that is read again when files change. It looks at them when it is asked, and no more often than every so often.
type reloading struct {
	read  func() (*tls.Config, error)
	files []string
	every time.Duration // 0: never
	log   *logrus.Entry

	mu     sync.Mutex
	seen   []state
	looked time.Time
	last   *tls.Config
}

// state tells one content of a file from another.
type state struct {
	size  int64
	mtime time.Time
	inode os.FileInfo
}

func (a state) same(b state) bool {
	return a.size == b.size && a.mtime.Equal(b.mtime) && (a.inode == nil) == (b.inode == nil) && (a.inode == nil || os.SameFile(a.inode, b.inode))
}

func (r *reloading) states() (all []state) {
	for _, name := range r.files {
		st, err := os.Stat(name)
		if err != nil {
			all = append(all, state{})
			continue
		}
		all = append(all, state{st.Size(), st.ModTime(), st})
	}
	return all
}

// first reads the files. Without them there is nothing to serve with.
func (r *reloading) first() error {
	r.seen, r.looked = r.states(), time.Now() // before they are read: a change meanwhile is seen later
	c, err := r.read()
	r.last = c
	return err
}

// current returns what was read last. If files have changed, and can't be read, the last ones stay, and the log says why.
func (r *reloading) current() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.every == 0 || time.Since(r.looked) < r.every {
		return r.last
	}
	r.looked = time.Now()
	now := r.states()
	if slices.EqualFunc(now, r.seen, state.same) {
		return r.last
	}
	r.seen = now
	c, err := r.read()
	switch {
	case err == nil:
		r.last = c
		r.say().Info("Certificates have changed, and were read again")
	default:
		r.say().WithError(err).Error("Changed certificates can't be read; the ones from before stay in use")
	}
	return r.last
}

func (r *reloading) say() *logrus.Entry {
	if r.log != nil {
		return r.log.WithField("files", r.files)
	}
	l := logrus.New()
	l.SetLevel(logrus.PanicLevel)
	return logrus.NewEntry(l)
}
