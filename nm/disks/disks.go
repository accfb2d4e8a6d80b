// Package disks manages the folders of yarn.nodemanager.local-dirs and yarn.nodemanager.log-dirs, usually one of each
// on every disk. It chooses folders for new files, and watches whether folders are writable and full. A full disk gets
// no new files, but can be read. A failed disk isn't used at all until it recovers.
package disks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/statedir"
	"heddle/internal/trust"
	"heddle/internal/within"
)

// Config has the settings of YARN's disk health checker. Their defaults are in brackets.
type Config struct {
	Local, Logs []string // absolute

	Check          bool    // yarn.nodemanager.disk-health-checker.enable (true); false: all disks always count as good
	MinHealthy     float64 // ….min-healthy-disks (0.25): the fraction of each list below which the node is unhealthy
	MaxUsedPercent float64 // ….max-disk-utilization-per-disk-percentage (90); 0 or 100: no limit
	LowUsedPercent float64 // ….disk-utilization-watermark-low-per-disk-percentage: a full disk is good again from here; 0: MaxUsedPercent
	MinFreeMB      int64   // ….min-free-space-per-disk-mb (0)

	// LogMode is the mode of containers' log folders where these are the NodeManager's
	// (yarn.nodemanager.default-container-executor.log-dirs.permissions); 0: 0710.
	LogMode os.FileMode
	// Users: containers run as users of the machine, who must be able to pass through the folders.
	Users bool
	// Inside are the names of folders in each local folder that are the NodeManager's, too.
	Inside []string
	// Former reports whether a user is an account for daemons, which runs no containers here: a NodeManager of root's takes over the folders of a
	// NodeManager that ran as this user. nil: none is.
	Former func(uid int) bool

	Patience time.Duration // how long a disk may take to answer; 0: 10 s
}

// Space is the capacity and use of a file system.
type Space struct {
	Total, Free int64  // bytes; Free: for unprivileged processes
	Inodes      uint64 // free ones; 0 if the file system doesn't count them
	Counts      bool   // Inodes is meaningful
}

// leastInodes is how many inodes a folder must have free to get new files. A download needs as many (nm/localizer).
const leastInodes = 256

// Disks has the state of all folders. It is safe for concurrent use.
type Disks struct {
	Local, Logs *Folders

	cfg   Config
	log   *logrus.Entry
	space func(path string) (Space, error)
	look  func(path string) seen
}

// Folders are the folders of one kind, one on each disk. It is safe for concurrent use.
type Folders struct {
	name string // local-dirs or log-dirs

	mu   sync.Mutex
	all  []*folder
	next int // index at which the next Pick begins
}

type folder struct {
	path string
	full string // why it gets no new files; "" if it does
	bad  string // why it can't be used at all; "" if it can

	looking bool // a check waits for the disk
}

func (f *folder) good() bool { return f.full == "" && f.bad == "" }

// New makes the folders and checks them. It takes over those of Config.Former. It fails if no folder of one kind can be used, or if other users of the machine
// can replace one. If space is nil, it asks
// the file system.
func New(cfg Config, log *logrus.Entry, space func(string) (Space, error)) (*Disks, error) {
	if space == nil {
		space = Free
	}
	if cfg.Patience == 0 {
		cfg.Patience = patience
	}
	d := &Disks{
		cfg: cfg, log: log, space: space, look: usable,
		Local: newFolders("local-dirs", cfg.Local), Logs: newFolders("log-dirs", cfg.Logs),
	}
	if err := d.takeOver(); err != nil {
		return nil, fmt.Errorf("take over the folders of another account's NodeManager: %w", err)
	}
	d.Check()
	if err := d.checkTrust(); err != nil {
		return nil, err
	}
	for _, l := range []*Folders{d.Local, d.Logs} {
		if slices.ContainsFunc(l.all, func(f *folder) bool { return f.bad == "" }) {
			continue
		}
		if len(l.all) == 0 {
			return nil, fmt.Errorf("yarn.nodemanager.%s names no folder", l.name)
		}
		return nil, fmt.Errorf("none of yarn.nodemanager.%s can be used: %s", l.name, l.all[0].bad)
	}
	return d, nil
}

func newFolders(name string, paths []string) *Folders {
	l := &Folders{name: name}
	for _, p := range paths {
		l.all = append(l.all, &folder{path: filepath.Clean(p)})
	}
	return l
}

// checkTrust names all folders that other users of the machine can replace. It leaves out disks that don't answer.
func (d *Disks) checkTrust() error {
	var found []error
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Patience)
	defer cancel()
	for _, l := range []*Folders{d.Local, d.Logs} {
		for _, path := range l.paths(func(f *folder) bool { return !f.looking }) {
			_, err := within.Do(ctx, func() (struct{}, error) { return struct{}{}, d.trustIn(path) })
			var culprit *trust.Error
			if errors.As(err, &culprit) {
				found = append(found, err)
			}
		}
	}
	if err := errors.Join(found...); err != nil {
		return fmt.Errorf("yarn.nodemanager.local-dirs and log-dirs: %w", err)
	}
	return nil
}

// trustIn checks a folder and those in it that are the NodeManager's.
func (d *Disks) trustIn(path string) error {
	found := []error{trust.Check(path)}
	for _, name := range d.cfg.Inside {
		if found[0] == nil {
			found = append(found, trust.Check(filepath.Join(path, name)))
		}
	}
	return errors.Join(found...)
}

// LogMode returns the mode of containers' log folders where these are the NodeManager's.
func (d *Disks) LogMode() os.FileMode { return cmp.Or(d.cfg.LogMode, 0o710) }

// patience is the default of Config.Patience.
const patience = 10 * time.Second

// Check checks every folder, and reports whether anything has changed. It checks all folders at the same time, so that
// its duration is bounded however many disks don't answer. A disk that doesn't answer is bad, because its users would
// wait, too. The next check of it begins when it has answered.
func (d *Disks) Check() (changed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Patience)
	defer cancel()
	var looking sync.WaitGroup
	var some atomic.Bool
	for _, l := range []*Folders{d.Local, d.Logs} {
		for _, f := range l.all {
			if !l.begin(f) {
				continue // the previous check still waits for an answer
			}
			looking.Go(func() {
				if d.lookAt(ctx, l, f) {
					some.Store(true)
				}
			})
		}
	}
	looking.Wait()
	return some.Load()
}

// begin records that a check of a folder begins. It returns false if one is under way.
func (l *Folders) begin(f *folder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.looking {
		return false
	}
	f.looking = true
	return true
}

// seen is the result of a check: why a folder can't be used, or gets no new files.
type seen struct{ bad, full string }

// lookAt checks a folder, and reports whether its state has changed.
func (d *Disks) lookAt(ctx context.Context, l *Folders, f *folder) (changed bool) {
	before := l.isFull(f)
	s, err := within.Do(ctx, func() (seen, error) {
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			f.looking = false
		}()
		s := d.look(f.path)
		if s.bad == "" {
			s.bad = d.cfg.Closed(f.path)
		}
		switch {
		case s.bad != "" || !d.cfg.Check:
			s.full = ""
		default:
			s.full = cmp.Or(d.fullness(f, before), s.full)
		}
		return s, nil
	})
	if err != nil {
		s.bad = fmt.Sprintf("Directory does not answer: %s: nothing in %v", f.path, d.cfg.Patience)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was := f.good()
	f.bad, f.full = s.bad, s.full
	if was == f.good() {
		return false
	}
	entry := d.log.WithField("folder", f.path)
	if was {
		entry.Warnf("%s gets no new files: %s%s", l.name, s.bad, s.full)
	} else {
		entry.Infof("%s gets new files again", l.name)
	}
	return true
}

// usable makes a folder, and tests whether it is writable. It makes nothing below a folder that others can replace.
func usable(path string) seen {
	var culprit *trust.Error
	if errors.As(trust.Check(path), &culprit) { // other findings have their own words below
		return seen{bad: culprit.Error()}
	}
	if err := statedir.MakePassable(path); err != nil {
		return seen{bad: "Cannot create directory: " + path + reason(err)}
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return seen{bad: "Not a directory: " + path + reason(err)}
	}
	if err := trust.Check(path); err != nil {
		return seen{bad: err.Error()}
	}
	probe, err := os.MkdirTemp(path, ".probe-")
	if errors.Is(err, errNoSpace) {
		return seen{full: noSpace}
	}
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return seen{bad: "Directory is not writable: " + path + reason(err)}
	}
	return seen{}
}

// noSpace says why a folder gets no new files that the kernel lets make none, whatever space it says there is: inodes may be missing.
const noSpace = "no space left on device"

// Closed returns why containers can't use a folder, which need not exist yet, as their users can't pass through one on the way to it; "" if they can.
func (c *Config) Closed(path string) string {
	if !c.Users {
		return ""
	}
	return closedTo(path)
}

// closedTo returns which folder on the way to a path no container's user can pass through, "" if there is none: one that only its owner may
// enter. Such folders come of a umask of 077.
func closedTo(path string) string {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && info.Mode().Perm()&0o011 == 0 {
			return fmt.Sprintf("users of containers can't pass through %s, which has mode %04o: chmod go+x %[1]s", at,
				info.Mode().Perm())
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// reason returns the last part of an error, without the path, which the message has already.
func reason(err error) string {
	if err == nil {
		return ""
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return ": " + err.Error()
}

func (l *Folders) isFull(f *folder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.full != ""
}

// fullness returns why a folder gets no new files. before says whether it was full at the last check.
func (d *Disks) fullness(f *folder, before bool) string {
	s, err := d.space(f.path)
	if err != nil || s.Total <= 0 {
		return ""
	}
	limit := d.cfg.MaxUsedPercent
	if before && d.cfg.LowUsedPercent > 0 {
		limit = min(limit, d.cfg.LowUsedPercent)
	}
	used := 100 * (1 - float64(s.Free)/float64(s.Total))
	if used >= 100 || limit > 0 && used > limit {
		return fmt.Sprintf("used space above threshold of %s%%", percent(d.cfg.MaxUsedPercent))
	}
	if d.cfg.MinFreeMB > 0 && s.Free < d.cfg.MinFreeMB<<20 {
		return fmt.Sprintf("free space below limit of %dMB", d.cfg.MinFreeMB)
	}
	if s.Counts && s.Inodes < leastInodes {
		return fmt.Sprintf("only %d inodes are free", s.Inodes)
	}
	return ""
}

// percent formats like Java's Float.toString: 90.0.
func percent(p float64) string {
	if p == math.Trunc(p) {
		return fmt.Sprintf("%.1f", p)
	}
	return fmt.Sprint(p)
}

func (l *Folders) paths(keep func(*folder) bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, f := range l.all {
		if keep(f) {
			out = append(out, f.path)
		}
	}
	return out
}

// All returns every folder, whatever its state.
func (l *Folders) All() []string { return l.paths(func(*folder) bool { return true }) }

// Writable returns the folders that are healthy and not full.
func (l *Folders) Writable() []string { return l.paths((*folder).good) }

// Readable returns the folders that are healthy, full ones included.
func (l *Folders) Readable() []string {
	return l.paths(func(f *folder) bool { return f.bad == "" })
}

// Summary returns the number of folders that get no new files, and how much of the other folders' file systems is used,
// in percent.
func (d *Disks) Summary(l *Folders) (bad int, used float64) {
	good := l.Writable()
	var total, free int64
	for _, path := range good {
		if s, err := d.space(path); err == nil {
			total += s.Total
			free += s.Free
		}
	}
	if total > 0 {
		used = 100 * float64(total-free) / float64(total)
	}
	return len(l.all) - len(good), used
}

// Pick returns a folder for something new. Successive calls take the disks in turn.
func (l *Folders) Pick() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.all {
		at := (l.next + i) % len(l.all)
		if l.all[at].good() {
			l.next = at + 1
			return l.all[at].path, nil
		}
	}
	return "", fmt.Errorf("no folder of yarn.nodemanager.%s can take new files: %s", l.name, strings.TrimSpace(l.report()))
}

// Healthy reports whether enough disks are good for the node to run containers. The report says what is wrong with the
// others, in the words of a Hadoop NodeManager. It may be non-empty for a healthy node.
func (d *Disks) Healthy() (ok bool, report string) {
	ok = true
	var reports []string
	for _, l := range []*Folders{d.Local, d.Logs} {
		l.mu.Lock()
		good := 0
		for _, f := range l.all {
			if f.good() {
				good++
			}
		}
		if d.cfg.Check && (good == 0 || float64(good)/float64(len(l.all)) < d.cfg.MinHealthy) {
			ok = false
		}
		if r := l.report(); r != "" {
			reports = append(reports, r)
		}
		l.mu.Unlock()
	}
	return ok, strings.Join(reports, "; ")
}

// report says what is wrong. The caller has the lock.
func (l *Folders) report() string {
	var bad, full []string
	for _, f := range l.all {
		if f.bad != "" {
			bad = append(bad, f.path+" : "+f.bad)
		} else if f.full != "" {
			full = append(full, f.path+" : "+f.full)
		}
	}
	var b strings.Builder
	if len(bad) > 0 {
		fmt.Fprintf(&b, "%d/%d %s have errors:  [ %s ] ", len(bad), len(l.all), l.name, strings.Join(bad, " , "))
	}
	if len(full) > 0 {
		fmt.Fprintf(&b, "%d/%d %s usable space is below configured utilization percentage/no more usable space [ %s ] ",
			len(full), len(l.all), l.name, strings.Join(full, " , "))
	}
	return b.String()
}

// State is the state of one folder.
type State struct {
	Kind      string // local-dirs or log-dirs
	Path      string
	Bad, Full string // why it can't be used, or gets no new files; "" if it can, or does
	Space     Space  // of its file system; the zero value where that isn't known
}

// States returns the states of all folders. It waits for the file systems of those that can be used.
func (d *Disks) States() (all []State) {
	for _, l := range []*Folders{d.Local, d.Logs} {
		l.mu.Lock()
		for _, f := range l.all {
			all = append(all, State{Kind: l.name, Path: f.path, Bad: f.bad, Full: f.full})
		}
		l.mu.Unlock()
	}
	for i := range all {
		if all[i].Bad == "" {
			all[i].Space, _ = d.space(all[i].Path)
		}
	}
	return all
}
