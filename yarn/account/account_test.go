package account

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func directory() *Directory {
	return &Directory{Keep: time.Minute, KeepNone: time.Second, Patience: 10 * time.Second, Now: time.Now}
}

func TestUsersOfThisMachine(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	a, err := directory().Lookup(me.Username)
	if err != nil {
		t.Fatal(err)
	}
	if strconv.Itoa(a.UID) != me.Uid || strconv.Itoa(a.GID) != me.Gid || len(a.Groups) == 0 || a.Groups[0] != a.GID {
		t.Errorf("%+v, but os/user says %+v", a, me)
	}
	primary, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Fatal(err)
	}
	d := directory()
	if groups, err := d.Groups(me.Username); err != nil || len(groups) == 0 || groups[0] != primary.Name {
		t.Errorf("groups %v %v, not first %s", groups, err, primary.Name)
	}
	if n, took := d.Asked(); n != 1 || took <= 0 {
		t.Errorf("asked %d times in %v", n, took)
	}
}

// The owner of a folder who is known to LDAP alone had no name: a static program reads /etc/passwd only.
func TestUsersOfADirectoryHaveNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/getent", []byte("#!/bin/sh\n"+`case "$1 $2" in
		"passwd 54321") echo "yarn-ldap:*:54321:100:YARN of the cluster:/:/sbin/nologin";;
		"passwd 54322") echo "other:*:1:100::/:/bin/sh";;
		*) exit 2;;
	esac`), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	d := &Directory{Patience: time.Minute, Now: time.Now}
	if name, err := d.Name(54321); name != "yarn-ldap" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	for _, uid := range []int{54322, 54323, -1} {
		if name, err := d.Name(uid); err == nil {
			t.Errorf("user %d is %q", uid, name)
		}
	}
}

func TestNamesThatAreNone(t *testing.T) {
	for _, name := range []string{"", "no-such-user-here", "-u", "--help", "0", "a\x00b", "root; echo root", strings.Repeat("u", maxName+1)} {
		if groups, err := directory().Groups(name); err == nil {
			t.Errorf("%q has groups %v", name, groups)
		}
		if a, err := directory().Lookup(name); err == nil {
			t.Errorf("%q is %+v", name, a)
		}
	}
}

// Whoever makes names up gets no memory for those that nobody can have, and no more than some processes at a time.
func TestNamesThatCallersMakeUp(t *testing.T) {
	d := directory()
	for i := range 3 {
		if _, err := d.Groups(strings.Repeat("u", maxName+i)); err == nil {
			t.Error("there is such a user")
		}
	}
	if len(d.known) != 1 { // the first is short enough
		t.Errorf("%d are remembered", len(d.known))
	}
	d.Patience = time.Millisecond
	for range atOnce {
		if _, err := d.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Lookup("root"); err == nil || !strings.Contains(err.Error(), "32 look-ups") {
		t.Errorf("one more: %v", err)
	}
}

func TestRemembering(t *testing.T) {
	now := time.Unix(0, 0)
	d := directory()
	d.Now = func() time.Time { return now }
	if _, err := d.Groups("no-such-user-here"); err == nil {
		t.Fatal("found")
	}
	d.mu.Lock()
	first := d.known["no-such-user-here"]
	d.mu.Unlock()
	same := func() bool {
		_, _ = d.Groups("no-such-user-here")
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.known["no-such-user-here"] == first
	}
	if !same() {
		t.Error("asked again at once")
	}
	if now = now.Add(2 * time.Second); same() {
		t.Error("remembered for too long")
	}
}

func TestManyAtOnce(t *testing.T) {
	d := directory()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if g, err := d.Groups("root"); err != nil || len(g) == 0 {
				t.Error(g, err)
			}
		})
	}
	wg.Wait()
}

// A directory that is away for a while takes nobody's groups away; nor does one that is slow hold up those whose groups are known.
func TestGroupsOutliveTheirSource(t *testing.T) {
	now := time.Unix(0, 0)
	d := directory()
	d.Now = func() time.Time { return now }
	var answer []string
	var fails error
	gate := make(chan struct{})
	close(gate)
	d.Source = func(context.Context, string) ([]string, error) { <-gate; return answer, fails }
	answer = []string{"staff"}
	expect := func(when, want string) {
		t.Helper()
		groups, err := d.Groups("alice")
		if strings.Join(groups, ",") != want || (want == "") != (err != nil) {
			t.Errorf("%s: %v, %v", when, groups, err)
		}
	}
	expect("at first", "staff")
	answer, fails = nil, errors.New("connection refused")
	now = now.Add(2 * time.Minute)
	expect("while it is away", "staff")
	now = now.Add(9 * time.Minute)
	expect("after a long time", "")
	answer, fails = []string{"admin"}, nil
	now = now.Add(2 * time.Second)
	expect("when it is back", "admin")
	answer = nil // it doesn't know her
	now = now.Add(20 * time.Minute)
	expect("when she is gone", "")
	answer = []string{"staff"}
	now = now.Add(2 * time.Second)
	expect("when she is back", "staff")
	now, gate = now.Add(2*time.Minute), make(chan struct{})
	var asks sync.WaitGroup
	asks.Go(func() { _, _ = d.Groups("alice") })
	for n := int64(0); n < 1; {
		d.mu.Lock()
		if d.known["alice"].old != nil {
			n++
		}
		d.mu.Unlock()
	}
	expect("while a look-up runs", "staff")
	close(gate)
	asks.Wait()
}
