// Package account looks up the machine's users: their ids and their groups.
//
// It runs the command id, as Hadoop's ShellBasedUnixGroupsMapping does. Go's os/user reads /etc/passwd and /etc/group only, unless the
// program is linked with the C library, and doesn't find users of LDAP.
package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Account is a user of this machine.
type Account struct {
	UID, GID int
	Groups   []int // the primary one first
}

// Directory looks users up and remembers them for a while. It is safe for concurrent use.
type Directory struct {
	// Keep is how long groups are remembered (hadoop.security.groups.cache.secs). KeepNone is how long a user that
	// wasn't found is remembered as such (hadoop.security.groups.negative-cache.secs).
	Keep, KeepNone time.Duration
	// Patience bounds a look-up.
	Patience time.Duration
	Now      func() time.Time
	// Source finds the groups of users elsewhere than on this machine; nil: it is asked itself.
	Source func(ctx context.Context, name string) ([]string, error)

	mu    sync.Mutex
	known map[string]*entry
	asked int64
	took  time.Duration
	slots chan struct{} // of look-ups that run
}

type entry struct {
	done   chan struct{} // closed when the rest is there
	groups []string
	err    error
	found  time.Time // when the groups were found
	until  time.Time
	old    *entry // what counts until it is done; nil: nothing
}

// staleFactor is how much longer than Keep groups stay if they can't be looked up (Hadoop: Groups).
const staleFactor = 10

// Callers choose the names of users. So these bound how many users are remembered, their names in bytes (as Linux does: LOGIN_NAME_MAX),
// and how many look-ups run at a time.
const (
	maxKnown = 10000
	maxName  = 256
	atOnce   = 32
)

// System is this machine's directory, with Hadoop's default times.
var System = &Directory{Keep: 5 * time.Minute, KeepNone: 30 * time.Second, Patience: 10 * time.Second, Now: time.Now}

// Forget drops what is remembered. Call it after a change of users' groups.
func (d *Directory) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = nil
}

// Asked returns how often the machine was asked for the groups of a user, and how long that took in all.
func (d *Directory) Asked() (n int64, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked, d.took
}

// Groups returns the names of a user's groups, the primary one first. Those of a user who is known stay for ten times Keep if no look-up succeeds
// meanwhile, and while one runs (Hadoop: Groups).
func (d *Directory) Groups(name string) ([]string, error) {
	if err := check(name); err != nil {
		return nil, err // without remembering it
	}
	now := d.Now()
	d.mu.Lock()
	e := d.known[name]
	if e != nil && now.Before(e.until) {
		old := e.old // until the look-up has ended
		d.mu.Unlock()
		if old != nil && now.Before(old.found.Add(staleFactor*d.Keep)) {
			return old.groups, nil
		}
		<-e.done
		return e.groups, e.err
	}
	last := e
	if last != nil && last.err != nil {
		last = nil
	}
	e = &entry{done: make(chan struct{}), until: now.Add(d.Patience), old: last}
	if d.known == nil || len(d.known) >= maxKnown {
		d.known = map[string]*entry{}
	}
	d.known[name] = e
	d.mu.Unlock()

	began := time.Now()
	groups, err := d.find(name)
	d.mu.Lock()
	d.asked++
	d.took += time.Since(began)
	e.old = nil
	switch {
	case err == nil:
		e.groups, e.found, e.until = groups, now, now.Add(d.Keep)
	case last != nil && now.Before(last.found.Add(staleFactor*d.Keep)):
		e.groups, e.found, e.until = last.groups, last.found, now.Add(d.KeepNone)
	default:
		e.err, e.until = err, now.Add(d.KeepNone)
	}
	d.mu.Unlock()
	close(e.done)
	return e.groups, e.err
}

// find looks a user's groups up.
func (d *Directory) find(name string) ([]string, error) {
	if d.Source == nil {
		return d.words(name, "-Gn")
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.Patience)
	defer cancel()
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	defer leave()
	groups, err := d.Source(ctx, name)
	if err == nil && len(groups) == 0 {
		err = errors.New("no groups")
	}
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	return groups, nil
}

// Lookup returns the ids of a user and of the user's groups. It always asks the machine.
func (d *Directory) Lookup(name string) (Account, error) {
	var a Account
	for flag, into := range map[string]*int{"-u": &a.UID, "-g": &a.GID} {
		n, err := d.numbers(name, flag)
		if err != nil {
			return Account{}, err
		}
		*into = n[0]
	}
	var err error
	a.Groups, err = d.numbers(name, "-G")
	return a, err
}

// Name returns the name of the user with an id, who may be known to LDAP alone. It always asks the machine.
func (d *Directory) Name(uid int) (string, error) {
	id := strconv.Itoa(uid)
	words, err := d.ask(id, "getent", "passwd", id)
	if err != nil {
		return "", err
	}
	fields := strings.Split(words[0], ":") // NAME:PASSWORD:UID:…
	if len(fields) < 3 || fields[2] != id || check(fields[0]) != nil {
		return "", fmt.Errorf("user %s: getent printed %.100q", id, words[0])
	}
	return fields[0], nil
}

func (d *Directory) numbers(name, flag string) ([]int, error) {
	words, err := d.words(name, flag)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(words))
	for i, w := range words {
		if out[i], err = strconv.Atoi(w); err != nil {
			return nil, fmt.Errorf("user %q: id %s printed %q", name, flag, w)
		}
	}
	return out, nil
}

// check refuses what can't be a user's name.
func check(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%.100q can't be the name of a user: names have 1 to %d bytes, none of them 0", name, maxName)
	}
	if _, err := strconv.Atoi(name); err == nil {
		// id would read the name as a user's number.
		return fmt.Errorf("user %q: a name that is a number can't be looked up", name)
	}
	return nil
}

// enter waits until a look-up may run. leave ends it.
func (d *Directory) enter(ctx context.Context) (leave func(), err error) {
	d.mu.Lock()
	if d.slots == nil {
		d.slots = make(chan struct{}, atOnce)
	}
	slots := d.slots
	d.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%d look-ups of other users had not ended after %v", atOnce, d.Patience)
	}
}

// environment is the environment of the commands that are run.
var environment = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}

// words returns the words that id prints for a user.
func (d *Directory) words(name, flag string) ([]string, error) {
	if err := check(name); err != nil {
		return nil, err
	}
	return d.ask(name, "id", flag, "--", name)
}

// ask returns the words that a command prints about a user.
func (d *Directory) ask(name, program string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.Patience)
	defer cancel()
	leave, err := d.enter(ctx)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", name, err)
	}
	defer leave()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.Env = environment
	err = cmd.Run()
	words := strings.Fields(out.String())
	var exit *exec.ExitError
	switch {
	case err == nil && len(words) > 0:
		return words, nil
	case errors.As(err, &exit) && len(words) > 0:
		return words, nil // id prints the number of a group without a name, and exits with an error
	case complaint.Len() > 0:
		return nil, fmt.Errorf("user %q: %s", name, strings.TrimSpace(complaint.String()))
	case err == nil:
		err = fmt.Errorf("%s printed nothing", program)
	}
	return nil, fmt.Errorf("user %q: %w", name, err)
}
