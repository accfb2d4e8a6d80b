package localizer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/internal/within"
	"heddle/yarn/records"
)

// storePrefix is the prefix of this package's keys. The rest of a key is the path of the slot.
const storePrefix = "localizer/"

// saved is a record of the store. It is written before any file of a resource is on disk, again when all are, and
// deleted when none is left.
type saved struct {
	Visibility Visibility `json:"visibility"`
	User       string     `json:"user,omitempty"`
	App        string     `json:"app,omitempty"`
	Dir        string     `json:"dir"`
	Sub        string     `json:"sub,omitempty"`
	Number     int64      `json:"number"`
	Location   Location   `json:"location"`
	Type       Type       `json:"type"`
	Timestamp  int64      `json:"timestamp"`
	Size       int64      `json:"size"` // as in the request
	Pattern    string     `json:"pattern,omitempty"`
	Done       bool       `json:"done"`
	Bytes      int64      `json:"bytes"` // size on disk
}

func (e *entry) storeKey() string {
	return storePrefix + filepath.Join(e.cache.cacheDir(e.dir), e.sub, e.slot())
}

// record stores that e is being downloaded, or is localized. If that fails, the next restart costs a download.
func (l *Localizer) record(e *entry, done bool) {
	if l.cfg.Store == nil {
		return
	}
	s := saved{
		Visibility: e.cache.visibility, User: e.cache.user,
		Dir: e.dir, Sub: e.sub, Number: e.number,
		Location: e.res.Location, Type: e.res.Type, Timestamp: e.res.Timestamp, Size: e.res.Size, Pattern: e.res.Pattern,
		Done: done, Bytes: e.size,
	}
	if e.cache.visibility == Application {
		s.App = e.cache.app.String()
	}
	value, err := json.Marshal(s)
	if err == nil {
		err = l.cfg.Store.Put(e.storeKey(), value)
	}
	if err != nil {
		l.cfg.Log.WithFields(logrus.Fields{"path": e.path, logrus.ErrorKey: err}).Warn("cannot record a localized resource")
	}
}

// forget removes the record of e.
func (l *Localizer) forget(e *entry) {
	if l.cfg.Store == nil {
		return
	}
	if err := l.cfg.Store.Delete(e.storeKey()); err != nil {
		l.cfg.Log.WithFields(logrus.Fields{"path": e.path, logrus.ErrorKey: err}).Warn("cannot remove the record of a localized resource")
	}
}

// recoveryPatience is how long Recover waits for disks. Tests change it.
var recoveryPatience = 20 * time.Second

// Recover takes up the caches of an earlier NodeManager. A resource counts if it was complete, and if its files are not
// smaller than they were, as they may be after a power failure. Recover removes everything else in the caches:
// incomplete downloads, and slots without a record.
//
// It searches all disks at the same time. A slow disk isn't used until its search has ended, and Recover doesn't wait
// for it.
func (l *Localizer) Recover() error {
	if l.cfg.Store == nil {
		return errors.New("localizer: no store to recover from")
	}
	records := map[string][]byte{}
	err := l.cfg.Store.ForEach(storePrefix, func(key string, value []byte) error {
		records[key] = value
		return nil
	})
	if err != nil {
		return fmt.Errorf("localizer: read the store: %w", err)
	}
	readable := l.cfg.Dirs.Readable()
	found := map[string][]*recorded{} // by local directory
	l.mu.Lock()
	for key, value := range records {
		r := &recorded{key: key}
		if r.err = l.parse(r, value); r.err == nil && !slices.Contains(readable, r.dir) {
			r.err = fmt.Errorf("%s is not a local directory, or not a healthy one", r.dir)
		}
		if r.err != nil {
			r.dir = "" // ignore it
		}
		found[r.dir] = append(found[r.dir], r)
	}
	for _, dir := range readable {
		l.unready[dir] = true
	}
	l.mu.Unlock()
	if err := l.dismiss(found[""]); err != nil {
		return err
	}
	var ready sync.WaitGroup
	for _, dir := range readable {
		ready.Add(1)
		l.wg.Go(func() {
			defer ready.Done()
			l.recoverDir(dir, found[dir])
		})
	}
	ctx, cancel := context.WithTimeout(l.ctx, recoveryPatience)
	defer cancel()
	if _, err := within.Do(ctx, func() (struct{}, error) { ready.Wait(); return struct{}{}, nil }); err != nil {
		l.mu.Lock()
		slow := slices.Sorted(maps.Keys(l.unready))
		l.mu.Unlock()
		l.cfg.Log.Warnf("the search of %s takes longer than %v; the directory is not used before it ends", strings.Join(slow, ", "), recoveryPatience)
	}
	return nil
}

// recorded is a resource in the store.
type recorded struct {
	*entry
	key   string
	bytes int64
	sub   int   // number of its sub-directory
	err   error // why it doesn't count
}

// recoverDir takes up the recorded resources of a local directory, and makes the directory usable.
func (l *Localizer) recoverDir(dir string, all []*recorded) {
	for _, r := range all {
		size, err := l.sizeOf(r.entry)
		// It may be larger. Python, for example, leaves its byte code beside the unpacked sources.
		if err == nil && size < r.bytes {
			err = fmt.Errorf("%s has %d bytes; it had %d", r.path, size, r.bytes)
		}
		r.err = err
	}
	l.mu.Lock()
	for _, r := range all {
		ca := l.cache(r.cache.scope)
		if r.err == nil && ca.entries[r.res.Key()] != nil {
			r.err = errors.New("the resource was recorded twice")
		}
		if r.err != nil {
			continue
		}
		r.cache = ca
		ca.entries[r.res.Key()] = r.entry
		if ca.visibility != Application {
			ca.subdirs(dir, l.cfg.MaxFiles).add(r.sub)
		}
	}
	l.mu.Unlock()
	if err := l.dismiss(all); err != nil {
		l.cfg.Log.WithError(err).Warn("cannot remove the records of localized resources")
	}
	old := l.leftovers(dir)
	l.mu.Lock()
	delete(l.unready, dir)
	l.mu.Unlock()
	// A user may have put millions of files there. There is no wait for that: the numbers of these slots are not used again.
	for _, elems := range old {
		if l.ctx.Err() != nil {
			return
		}
		if err := userfiles.RemoveAll(dir, elems...); err != nil {
			l.cfg.Log.WithFields(logrus.Fields{"path": filepath.Join(elems...), logrus.ErrorKey: err}).Warn("cannot remove a leftover")
		}
	}
}

// dismiss removes the records of resources that don't count.
func (l *Localizer) dismiss(all []*recorded) error {
	for _, r := range all {
		if r.err == nil {
			continue
		}
		l.cfg.Log.WithFields(logrus.Fields{"key": r.key, logrus.ErrorKey: r.err}).Warn("localized resource not recovered")
		if err := l.cfg.Store.Delete(r.key); err != nil {
			return fmt.Errorf("localizer: delete %s: %w", r.key, err)
		}
	}
	return nil
}

// parse parses a record. The caller has the lock.
func (l *Localizer) parse(r *recorded, value []byte) error {
	r.entry = &entry{}
	var s saved
	if err := json.Unmarshal(value, &s); err != nil {
		return err
	}
	res := Resource{
		Location: s.Location, Type: s.Type, Visibility: s.Visibility,
		Size: s.Size, Timestamp: s.Timestamp, Pattern: s.Pattern,
	}
	if err := res.validate(); err != nil {
		return err
	}
	sc, err := s.scope()
	if err != nil {
		return err
	}
	if r.sub, err = subdirNumber(s.Sub); err != nil {
		return err
	}
	ca := l.cache(sc)
	r.bytes = s.Bytes
	r.entry = &entry{
		cache: ca, res: res, ready: true, size: s.Bytes, used: l.cfg.Now(), cancel: func() {},
		place: place{dir: s.Dir, sub: s.Sub, number: s.Number},
	}
	r.path = r.place.file(sc, res)
	if s.Number <= lastSlot {
		ca.last = max(ca.last, s.Number) // numbers are never used twice
	}
	switch {
	case r.storeKey() != r.key || s.Number <= firstSlot || s.Number > lastSlot:
		return errors.New("the record doesn't match its key")
	case !s.Done:
		return errors.New("the download was not finished")
	}
	return nil
}

// usable removes directories that Recover has not finished.
func (l *Localizer) usable(dirs []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return l.unready[dir] })
}

func (s saved) scope() (scope, error) {
	switch s.Visibility {
	case Public:
		return scope{visibility: Public}, nil
	case Private, Application:
	}
	if err := validName(s.User); err != nil {
		return scope{}, err
	}
	if s.Visibility == Private {
		return scope{visibility: Private, user: s.User}, nil
	}
	app, err := records.ParseApplicationID(s.App)
	if err != nil {
		return scope{}, err
	}
	return scope{visibility: Application, user: s.User, app: app}, nil
}

// sizeOf adds up the files of the resource of e.
func (l *Localizer) sizeOf(e *entry) (int64, error) {
	parent, err := userfiles.OpenDir(e.dir, append(stepNames(e.cache.slotSteps(e.sub)), e.slot())...)
	if err != nil {
		return 0, err
	}
	defer parent.Close()
	left := mostFiles
	return sizeOf(parent, e.res.Location.Name(), 0, &left)
}

// mostFiles is how many files and directories are looked at in a resource, to which its user may have added any number.
const mostFiles = 4 << 20

// sizeOf adds up the files at or below the entry name of d. It counts left down for each.
func sizeOf(d *userfiles.Dir, name string, depth int, left *int) (size int64, err error) {
	fi, err := d.Stat(name)
	*left--
	switch {
	case *left < 0:
		return 0, fmt.Errorf("%s: more than %d files", d.Name(), mostFiles)
	case err != nil:
		return 0, err
	case fi.Mode()&fs.ModeSymlink != 0:
		return 0, nil
	case !fi.IsDir():
		return fi.Size(), nil
	case depth > 2*maxDepth: // its user may have added directories
		return 0, fmt.Errorf("%s: more than %d directories deep", d.Name(), depth)
	}
	sub, err := d.Enter(name)
	if err != nil {
		return 0, err
	}
	defer sub.Close()
	err = sub.Each(func(e fs.FileInfo) error {
		n, err := sizeOf(sub, e.Name(), depth+1, left)
		size += n
		return err
	})
	return size, err
}

// leftovers returns the slots of the local directory dir that have no entry, as paths below it. There are no downloads
// to it yet.
func (l *Localizer) leftovers(dir string) (all [][]string) {
	known := map[string]bool{}
	l.mu.Lock()
	for _, ca := range l.caches {
		for _, e := range ca.entries {
			if e.dir == dir {
				known[filepath.Join(ca.cacheDir(dir), e.sub, e.slot())] = true
			}
		}
	}
	l.mu.Unlock()
	scopes := []scope{{visibility: Public}}
	for _, user := range names(dir, UserCache) {
		scopes = append(scopes, scope{visibility: Private, user: user})
		for _, name := range names(dir, UserCache, user, AppCache) {
			if app, err := records.ParseApplicationID(name); err == nil {
				scopes = append(scopes, scope{visibility: Application, user: user, app: app})
			}
		}
	}
	for _, s := range scopes {
		d, err := userfiles.OpenDir(dir, stepNames(s.cacheSteps())...)
		if err != nil {
			continue // it doesn't exist, or its user has replaced it
		}
		all = append(all, l.leftIn(d, s, s.cacheDir(dir), stepNames(s.cacheSteps()), known)...)
		d.Close()
	}
	return all
}

// leftIn returns the leftovers in a directory of slots and its sub-directories. elems lead to it.
func (l *Localizer) leftIn(d *userfiles.Dir, s scope, path string, elems []string, known map[string]bool) (all [][]string) {
	entries, err := d.List()
	if err != nil {
		l.cfg.Log.WithFields(logrus.Fields{"path": path, logrus.ErrorKey: err}).Warn("cannot look for all leftovers")
	}
	for _, e := range entries {
		below := append(slices.Clone(elems), e.Name())
		full := filepath.Join(path, e.Name())
		if n, ok := slotNumber(e.Name()); ok {
			if known[full] {
				continue
			}
			l.mu.Lock()
			ca := l.cache(s)
			ca.last = max(ca.last, n)
			l.mu.Unlock()
			all = append(all, below)
			continue
		}
		if len(e.Name()) == 1 && e.IsDir() && s.visibility != Application {
			if sub, err := d.Enter(e.Name()); err == nil {
				all = append(all, l.leftIn(sub, s, full, below, known)...)
				sub.Close()
			}
		}
	}
	return all
}

// names lists the directories in the directory that elems lead to from dir, if that exists.
func names(dir string, elems ...string) []string {
	entries, _ := userfiles.ReadDir(dir, elems...)
	var ns []string
	for _, e := range entries {
		if e.IsDir() {
			ns = append(ns, e.Name())
		}
	}
	return ns
}

// doomed marks directories that are being removed, as in YARN.
const doomed = "_DEL_"

// Wipe empties the local directories instead of recovering them: all caches and working directories, and the
// NodeManager's private files. It renames them at once. The returned function removes them, which may take long,
// together with those that an earlier call left. No container may be running.
func (l *Localizer) Wipe() (remove func() error, err error) {
	type doomedDir struct{ dir, name string }
	var old []doomedDir
	for _, dir := range l.cfg.Dirs.Readable() {
		names, err := doom(dir, doomed+fmt.Sprint(l.cfg.Now().UnixMilli()))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			old = append(old, doomedDir{dir, n})
		}
	}
	if err := l.forgetAll(); err != nil {
		return nil, err
	}
	return func() error {
		var errs []error
		for _, o := range old {
			errs = append(errs, userfiles.RemoveAll(o.dir, o.name))
		}
		return errors.Join(errs...)
	}, nil
}

// doom renames in a local directory what Wipe removes, and returns the new names.
func doom(dir, suffix string) (old []string, err error) {
	d, err := userfiles.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for _, name := range names(dir) {
		base, _, was := strings.Cut(name, doomed)
		if base != FileCache && base != UserCache && base != NMPrivate {
			continue
		}
		if !was {
			if err := d.Rename(name, d, name+suffix); err != nil {
				return nil, err
			}
			name += suffix
		}
		old = append(old, name)
	}
	return old, nil
}

// forgetAll empties the store.
func (l *Localizer) forgetAll() error {
	if l.cfg.Store == nil {
		return nil
	}
	var keys []string
	err := l.cfg.Store.ForEach(storePrefix, func(key string, _ []byte) error {
		keys = append(keys, key)
		return nil
	})
	if err != nil {
		return fmt.Errorf("localizer: read the store: %w", err)
	}
	for _, k := range keys {
		if err := l.cfg.Store.Delete(k); err != nil {
			return fmt.Errorf("localizer: delete %s: %w", k, err)
		}
	}
	return nil
}
