package rm

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// A transfer to a member that is lost is refused, again and again, and the group works on.
func TestTransferToALostMemberLeavesAWorkingLeader(t *testing.T) {
	members := start(t, 3)
	lead := leaderOf(t, members)
	w := newWorld(t, members)
	before := w.submit("alice")
	var lost *member
	for _, m := range members {
		if m != lead {
			lost = m
		}
	}
	lost.halt(t)
	for range 3 {
		if err := lead.Transfer(t.Context(), lost.ID()); err == nil || !strings.Contains(err.Error(), lost.ID()) {
			t.Errorf("leadership went to a lost member: %v", err)
		}
	}
	if id := lead.onOffer(); id != "" {
		t.Errorf("leadership is still offered to %s", id)
	}
	if after := w.submit("alice"); after.ID != before.ID+1 {
		t.Errorf("after %v comes %v", before, after)
	}
	// What gives way or moves home takes the same way.
	if err := lead.transferWithin(t.Context(), wayPatience, lost.ID()); err == nil {
		t.Error("leadership went to a lost member")
	}
	w.submit("alice")
}

func (m *member) onOffer() (id string) {
	return m.replica.Clone().Offered
}

// An administrator has a member leave, by whichever member is asked first.
func TestAMemberIsRemoved(t *testing.T) {
	members := start(t, 3)
	lead := leaderOf(t, members)
	w := newWorld(t, members)
	var gone, other *member
	for _, m := range members {
		switch {
		case m == lead:
		case gone == nil:
			gone = m
		default:
			other = m
		}
	}
	gone.halt(t)
	w.members = []*member{other, lead}
	req := &pb.RemoveMemberRequest{}
	req.SetId(gone.ID())
	call(w, protocol.RemoveMember, w.to(AdminAddress, protocol.LeaderControl, ipc.Identity{User: "root"}), req)
	infos, err := lead.Members(t.Context())
	if err != nil || len(infos) != 2 {
		t.Errorf("members: %v, %v", infos, err)
	}
	w.submit("alice")
}

// When the log's disk is full the ResourceManager ends, so that a supervisor starts it anew, and has lost nothing then.
func TestAFullDiskEndsTheResourceManager(t *testing.T) {
	c := settingsFor(t, t.TempDir(), 1)
	m := startOne(t, c, 0)
	w := newWorld(t, []*member{m})
	id := w.submit("alice")
	fillDisk(t, c.StateDir("rm", "rm1"))
	ctx, cancel := context.WithCancel(t.Context())
	calling := make(chan struct{})
	go func() {
		defer close(calling)
		rm := w.to(ClientAddress, protocol.ApplicationClient, ipc.Identity{User: "bob"})
		_, _ = protocol.GetNewApplication.Call(ctx, rm, &pb.GetNewApplicationRequest{})
		_, _ = protocol.GetDelegationToken.Call(ctx, rm, askForToken())
	}()
	err := <-m.done
	if err == nil || !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "can't be written") {
		t.Errorf("it ended with %v", err)
	}
	m.stop()
	cancel()
	<-calling
	m = startOne(t, c, 0)
	defer m.halt(t)
	leaderOf(t, []*member{m})
	if rep := w.report(id); rep.GetYarnApplicationState() != pb.YarnApplicationState_ACCEPTED {
		t.Errorf("after the restart: %v", rep)
	}
	w.submit("bob")
}

func askForToken() *pb.GetDelegationTokenRequest {
	req := &pb.GetDelegationTokenRequest{}
	req.SetRenewer("bob")
	return req
}

// fillDisk has writes to the log's open files fail as on a full disk.
func fillDisk(t *testing.T, state string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, fd := range fds {
		file, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err != nil || !strings.HasPrefix(file, state) || filepath.Ext(file) != ".wal" {
			continue
		}
		var number int
		for _, d := range fd.Name() {
			number = number*10 + int(d-'0')
		}
		if err := unix.Dup3(int(full.Fd()), number, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	if !found {
		t.Fatal("the log has no open file")
	}
}

// Where others than this machine can connect, raft wants proof of who they are.
func TestRaftIsNotOpenToStrangers(t *testing.T) {
	outside := outsideAddress(t)
	c := settingsFor(t, t.TempDir(), 3)
	c.Set("heddle.raft.address.rm1", net.JoinHostPort(outside, "0"))
	log := logrus.New()
	log.SetOutput(io.Discard)
	m, err := New(Options{Conf: c, ID: "rm1", Log: logrus.NewEntry(log)})
	if err == nil {
		_ = m.Close()
		t.Fatal("it started")
	}
	for _, want := range []string{"heddle.raft.address.rm1", "heddle.cluster.secret-file", "heddle.raft.tls.cert", "loopback"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q isn't in: %v", want, err)
		}
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("correct horse battery staple"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Set("heddle.cluster.secret-file", file)
	m, err = New(Options{Conf: c, ID: "rm1", Log: logrus.NewEntry(log)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// outsideAddress is an address of this machine that is not loopback; all its addresses if it has no other.
func outsideAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return "0.0.0.0"
}

func TestAGroupWithASecretWorks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("correct horse battery staple"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := settingsFor(t, t.TempDir(), 3)
	c.Set("heddle.cluster.secret-file", file)
	var members []*member
	for i := range 3 {
		members = append(members, startOne(t, c, i))
	}
	t.Cleanup(func() {
		for _, m := range members {
			m.halt(t)
		}
	})
	lead := leaderOf(t, members)
	newWorld(t, members).submit("alice")
	for _, m := range members {
		if m != lead {
			await.Until(t, "leadership is handed over", func() bool { // members may be too slow to answer
				return lead.Transfer(t.Context(), m.ID()) == nil || lead.Leader() == nil
			})
			break
		}
	}
	await.Until(t, "another leads", func() bool { return lead.Leader() == nil && leaderOf(t, members) != nil })
}
