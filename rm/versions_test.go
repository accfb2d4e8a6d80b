package rm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"heddle/internal/await"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/raft"
)

// unpack lays out a state folder that an earlier release left.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(name, 0o700)
		} else {
			var out *os.File
			if out, err = os.Create(name); err == nil {
				_, err = io.Copy(out, r)
				err = errors.Join(err, out.Close())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (m *member) version() (v int32) {
	m.Read(func(s *ledger.State) { v = s.Version })
	return v
}

// The log and the snapshot in testdata were written by the first format's last release: an application has ended, one runs with two
// containers, and a client has a delegation token.
func TestUpgradeFromTheFirstFormat(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "first-format.image"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := settingsFor(t, dir, 1)
	unpack(t, filepath.Join("testdata", "first-format.tar.gz"), filepath.Join(dir, "state"))

	m := newMember(t, c, 0)
	await.Until(t, "the log is applied", func() bool { return m.raft.IsLeader() && m.raft.Barrier() == nil })
	if got := m.replica.image(); !bytes.Equal(got, want) {
		t.Errorf("the ledger is not what the earlier release had: %d bytes for %d", len(got), len(want))
	}
	m.run()
	await.Until(t, "the newest version", func() bool { return m.version() == ledger.Version })
	check := func(s *ledger.State) {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		states := map[string]string{}
		for _, a := range s.Apps {
			states[a.User] = a.State.String()
		}
		if states["alice"] != "FINISHED" || states["bob"] != "RUNNING" || len(s.Delegations) != 1 || s.Refused != 0 {
			t.Errorf("applications %v, %d tokens, %d refused", states, len(s.Delegations), s.Refused)
		}
	}
	m.Read(check)
	m.halt(t)

	m = startOne(t, c, 0)
	leaderOf(t, []*member{m})
	m.Read(check)
	m.halt(t)
}

func TestVersionWaitsForTheLastMemberOfAGroup(t *testing.T) {
	dir := t.TempDir()
	c := settingsFor(t, dir, 3)
	members := []*member{startOne(t, c, 0), startOne(t, c, 1), newMember(t, c, 2)}
	t.Cleanup(func() {
		for _, m := range members {
			m.halt(t)
		}
	})
	members[2].newest = 1 // as an earlier release
	members[2].run()
	w := newWorld(t, members)
	w.submit("alice")
	l := leaderOf(t, members)
	await.Until(t, "all have answered", func() bool {
		all, err := l.versions(t.Context())
		return err == nil && all == 1
	})
	if v := l.version(); v != 1 {
		t.Fatalf("version %d", v)
	}
	members[2].halt(t)
	if _, err := leaderOf(t, members[:2]).versions(t.Context()); err == nil {
		t.Error("a member that is down was passed over")
	}
	members[2] = startOne(t, c, 2) // upgraded
	w.members = members
	await.Until(t, "the newest version everywhere", func() bool {
		for _, m := range members {
			if m.version() != ledger.Version {
				return false
			}
		}
		return true
	})
	w.submit("bob")
	await.Until(t, "all have the same ledger", func() bool {
		first := members[0].replica.image()
		return bytes.Equal(first, members[1].replica.image()) && bytes.Equal(first, members[2].replica.image())
	})
}

func TestMemberThatCannotApplyAnEntryStops(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 1)
	m := startOne(t, c, 0)
	leaderOf(t, []*member{m})
	newWorld(t, []*member{m}).submit("alice")
	var leadership int64
	m.Read(func(s *ledger.State) { leadership = s.Leaders })
	entry, err := proto.Marshal(&ledgerpb.Batch{Leadership: leadership, Version: ledger.Version + 1, Commands: []*ledgerpb.Command{
		{LedgerVersionRaised: &ledgerpb.LedgerVersionRaised{Version: ledger.Version + 1, Release: "9.9"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.raft.Propose(raft.Entry{Data: entry}).Wait(); err != nil {
		t.Fatal(err)
	}
	want := func(err error) {
		t.Helper()
		var newer *ledger.NewerError
		if !errors.As(err, &newer) || !strings.Contains(err.Error(), "install Heddle 9.9") {
			t.Errorf("it ended with %v", err)
		}
	}
	want(<-m.done)
	image := m.replica.image()
	m.stop()

	m = startOne(t, c, 0) // by a supervisor, to no avail
	want(<-m.done)
	if m.Leader() != nil {
		t.Error("it leads")
	}
	if got := m.replica.image(); !bytes.Equal(got, image) {
		t.Error("something behind the entry, or of it, was applied")
	}
	m.stop()
}
