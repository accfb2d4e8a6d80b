package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// removeLogs removes an application's logs from all log directories.
func removeLogs(dirs Dirs, app records.ApplicationID) error {
	var errs []error
	for _, dir := range dirs.Readable() {
		errs = append(errs, userfiles.RemoveAll(dir, app.String()))
	}
	return errors.Join(errs...)
}

const keepPrefix = "logs/keep/"

// Keeper removes the logs of applications some time after their end (yarn.nodemanager.log.retain-seconds): all of them
// if log aggregation is off, otherwise those that could not be aggregated.
type Keeper struct {
	dirs   Dirs
	retain time.Duration
	store  Store
	now    func() time.Time
	log    *logrus.Entry

	mu   sync.Mutex
	due  map[records.ApplicationID]time.Time
	more chan struct{} // the next removal is due earlier than before
}

// NewKeeper returns a Keeper. store may be nil. now defaults to time.Now; with a nil log nothing is logged.
func NewKeeper(dirs Dirs, retain time.Duration, store Store, now func() time.Time, log *logrus.Entry) *Keeper {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		l := logrus.New()
		l.SetOutput(io.Discard)
		log = logrus.NewEntry(l)
	}
	return &Keeper{
		dirs: dirs, retain: max(0, retain), store: store, now: now, log: log,
		due: map[records.ApplicationID]time.Time{}, more: make(chan struct{}, 1),
	}
}

// savedDue is the record of an application whose logs will be removed.
type savedDue struct {
	At int64 `json:"at"` // ms since 1970
}

// Recover restores the removals that an earlier NodeManager had scheduled.
func (k *Keeper) Recover() error {
	if k.store == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.store.ForEach(keepPrefix, func(key string, value []byte) error {
		app, err := records.ParseApplicationID(strings.TrimPrefix(key, keepPrefix))
		var s savedDue
		if err == nil {
			err = json.Unmarshal(value, &s)
		}
		if err != nil {
			k.log.WithFields(logrus.Fields{"key": key, logrus.ErrorKey: err}).Error("removing the record of logs to remove, which is damaged")
			return k.store.Delete(key)
		}
		k.due[app] = time.UnixMilli(s.At)
		return nil
	})
	if err != nil {
		return fmt.Errorf("recover the logs to remove: %w", err)
	}
	return nil
}

// Keep schedules the removal of an ended application's logs.
func (k *Keeper) Keep(app records.ApplicationID) error {
	at := k.now().Add(k.retain)
	k.mu.Lock()
	k.due[app] = at
	k.mu.Unlock()
	select {
	case k.more <- struct{}{}:
	default:
	}
	if k.store == nil {
		return nil
	}
	b, err := json.Marshal(savedDue{At: at.UnixMilli()})
	if err == nil {
		err = k.store.Put(keepPrefix+app.String(), b)
	}
	if err != nil {
		return fmt.Errorf("application %s: record when to remove its logs: %w", app, err)
	}
	return nil
}

// Adopt schedules the removal of logs of unknown applications, which a NodeManager without recovery leaves.
func (k *Keeper) Adopt(known func(records.ApplicationID) bool) error {
	var errs []error
	for _, dir := range k.dirs.Readable() {
		entries, err := userfiles.ReadDir(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, e := range entries {
			app, err := records.ParseApplicationID(e.Name())
			if err != nil || !e.IsDir() || known(app) {
				continue
			}
			k.mu.Lock()
			_, already := k.due[app]
			k.mu.Unlock()
			if !already {
				errs = append(errs, k.Keep(app))
			}
		}
	}
	return errors.Join(errs...)
}

// Run removes logs when they are due, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		next := k.removeDue()
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(max(time.Second, next.Sub(k.now())))
		}
		select {
		case <-ctx.Done():
			return
		case <-k.more:
		case <-timer:
		}
	}
}

// removeDue removes logs that are due. It returns when the next removal is due; zero if there is none.
func (k *Keeper) removeDue() (next time.Time) {
	now := k.now()
	k.mu.Lock()
	var ready []records.ApplicationID
	for app, at := range k.due {
		switch {
		case !at.After(now):
			ready = append(ready, app)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	k.mu.Unlock()
	for _, app := range ready {
		if err := removeLogs(k.dirs, app); err != nil {
			k.log.WithFields(logrus.Fields{"application": app.String(), logrus.ErrorKey: err}).Warn("cannot remove logs")
			retry := now.Add(time.Minute)
			k.mu.Lock()
			k.due[app] = retry
			k.mu.Unlock()
			if next.IsZero() || retry.Before(next) {
				next = retry
			}
			continue
		}
		k.mu.Lock()
		delete(k.due, app)
		k.mu.Unlock()
		if k.store != nil {
			if err := k.store.Delete(keepPrefix + app.String()); err != nil {
				k.log.WithFields(logrus.Fields{"application": app.String(), logrus.ErrorKey: err}).Warn("cannot delete the record of removed logs")
			}
		}
	}
	return next
}

// Kept returns the applications whose logs will be removed.
func (k *Keeper) Kept() []records.ApplicationID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.SortedFunc(maps.Keys(k.due), records.ApplicationID.Compare)
}

// DeleteAggregated removes aggregated logs that were last written before cutoff (yarn.log-aggregation.retain-seconds;
// YARN's AggregatedLogDeletionService). Of a finished application it removes everything if all of it is that old; of a
// running one it removes single files. It skips what can't be removed, and names it in the error. It touches only
// directories of aggregated logs.
func DeleteAggregated(ctx context.Context, remote FS, root string, cutoff time.Time, finished func(context.Context, records.ApplicationID) (bool, error)) (removed int, err error) {
	d := deletion{ctx: ctx, fs: remote, cutoff: cutoff.UnixMilli(), finished: finished}
	root = strings.TrimSuffix(root, "/")
	for _, user := range d.dirs(root) {
		for _, suffix := range d.dirs(root + "/" + user) {
			if !strings.HasPrefix(suffix, bucketPrefix) {
				continue
			}
			base := root + "/" + user + "/" + suffix
			for _, b := range d.dirs(base) {
				d.bucket(base + "/" + b)
			}
		}
	}
	return d.removed, errors.Join(d.errs...)
}

type deletion struct {
	ctx      context.Context
	fs       FS
	cutoff   int64
	finished func(context.Context, records.ApplicationID) (bool, error)
	removed  int
	errs     []error
}

func (d *deletion) list(dir string) []FileInfo {
	if d.ctx.Err() != nil {
		return nil
	}
	infos, err := d.fs.List(d.ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.errs = append(d.errs, err)
	}
	return infos
}

func (d *deletion) dirs(dir string) []string {
	var names []string
	for _, i := range d.list(dir) {
		if i.Mode.IsDir() {
			names = append(names, i.Name)
		}
	}
	return names
}

// bucket searches a directory of applications.
func (d *deletion) bucket(dir string) {
	for _, i := range d.list(dir) {
		app, err := records.ParseApplicationID(i.Name)
		if err != nil || !i.Mode.IsDir() || i.ModTime >= d.cutoff {
			continue
		}
		ended, err := d.finished(d.ctx, app)
		if err != nil {
			d.errs = append(d.errs, fmt.Errorf("application %s: %w", app, err))
			continue
		}
		d.application(dir+"/"+i.Name, ended)
	}
}

func (d *deletion) application(dir string, ended bool) {
	files := d.list(dir)
	old := func(i FileInfo) bool { return i.ModTime < d.cutoff }
	if ended {
		if !slices.ContainsFunc(files, func(i FileInfo) bool { return !old(i) }) {
			d.remove(dir)
		}
		return
	}
	for _, i := range files {
		if old(i) {
			d.remove(dir + "/" + i.Name)
		}
	}
}

func (d *deletion) remove(name string) {
	if err := d.fs.Remove(d.ctx, name, true); err != nil {
		d.errs = append(d.errs, err)
		return
	}
	d.removed++
}
