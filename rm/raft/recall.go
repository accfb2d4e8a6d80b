package raft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	hraft "github.com/hashicorp/raft"

	"heddle/rm/raft/promise"
)

const (
	// recallPatience is how long a starting member waits for what others know of it. Those that run answer within milliseconds.
	recallPatience = 250 * time.Millisecond
	snapshotsName  = "snapshots"
	// asidePrefix begins the name of the folder that keeps what a member with an older copy had.
	asidePrefix = "set-aside-"
)

// recall finds out whether the folder has forgotten what this member promised: by its own promises beside the log, and by those that other
// members know of. Then the member becomes a new one, without a vote: its data is set aside, and its folder gets another incarnation.
//
// A vote or an acknowledgement of the last second before a crash may be unknown to all reachable members. It is then missed if the
// disk has lost it.
func recall(ctx context.Context, n *Node, logger hclog.Logger) error {
	last, term, err := holds(n)
	if err == nil {
		err = n.memory.opened(last, term)
	}
	if err != nil {
		return err
	}
	held := *n.memory.held.Load()
	own := n.memory.Page().Own
	own.Start = promise.Start{}
	var found error
	me := n.dir.identity()
	if me.Forgotten != "" {
		found = errors.New(me.Forgotten)
	} else if found = held.Judge("its own record beside the log", own); found == nil && (last > 0 || me.Group != "") && n.stream != nil {
		found = recallFromOthers(ctx, n, held)
	}
	switch {
	case found == nil:
		return nil
	case n.stream == nil:
		return fmt.Errorf("%w: %w: put the whole folder back as it was, or remove %s in it to lose what is missing", ErrForgotten, found, promiseName)
	}
	n.cfg.Log.WithError(found).Error("the state folder of this member is an older copy, or its disk has lost something: it is set aside, and this member gets everything from the leader; until then it has no vote")
	return setAside(n, found.Error(), logger)
}

func recallFromOthers(ctx context.Context, n *Node, held promise.Held) error {
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	statuses, _ := n.askAll(ctx) // of those that can be reached
	for id, s := range statuses {
		if err := held.Judge(id, s.known); err != nil {
			return err
		}
	}
	return nil
}

// holds returns the last index and the current term on disk.
func holds(n *Node) (last, term uint64, err error) {
	if last, err = n.log.LastIndex(); err != nil {
		return 0, 0, fmt.Errorf("read the log: %w", err)
	}
	snapshot, err := lastSnapshot(n.snapshots)
	if err != nil {
		return 0, 0, err
	}
	term, err = n.log.GetUint64([]byte(currentTerm))
	if err != nil {
		return 0, 0, fmt.Errorf("read the term: %w", err)
	}
	return max(last, snapshot), term, nil
}

// lastSnapshot returns the index of the newest snapshot, 0 if there is none.
func lastSnapshot(s hraft.SnapshotStore) (uint64, error) {
	list, err := s.List()
	if err != nil {
		return 0, fmt.Errorf("list the snapshots: %w", err)
	}
	if len(list) == 0 {
		return 0, nil
	}
	return list[0].Index, nil
}

// cuts decides whether entries of the log may be removed. Those that a snapshot holds always may.
func (n *Node) cuts(first, last uint64) error {
	snapshot, err := lastSnapshot(n.snapshots)
	if err != nil {
		return err
	}
	if first = max(first, snapshot+1); first > last {
		return nil
	}
	return n.memory.mayCut(first, last)
}

// setAside makes this member a new one. It may be interrupted at any point.
func setAside(n *Node, why string, logger hclog.Logger) error {
	was := n.dir.identity().Incarnation
	if err := n.dir.change(func(me *identity) { me.Forgotten = why }); err != nil {
		return err
	}
	if err := n.log.Close(); err != nil {
		return err
	}
	aside := filepath.Join(n.cfg.Dir, asidePrefix+was)
	earlier, err := filepath.Glob(filepath.Join(n.cfg.Dir, asidePrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range earlier {
		if dir != aside {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err = errors.Join(err, os.MkdirAll(aside, 0o700)); err != nil {
		return err
	}
	for _, name := range []string{logName, snapshotsName} {
		if err := moveAside(filepath.Join(n.cfg.Dir, name), filepath.Join(aside, name)); err != nil {
			return err
		}
	}
	n.cfg.Log.WithField("folder", aside).Warn("what this member had is there, until it is set aside again")
	if err := openLog(n, logger); err != nil {
		return err
	}
	page := n.memory.Page()
	n.memory.begin(promise.Page{Own: promise.Known{Start: page.Own.Start}, Peers: page.Peers})
	if err := n.memory.opened(0, 0); err != nil {
		return err
	}
	return n.dir.change(func(me *identity) {
		me.Incarnation, me.Group, me.Forming, me.Forgotten = newIncarnation(), "", false, ""
	})
}

// moveAside moves a folder. If a run that was interrupted has moved it, only an empty one is left.
func moveAside(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return os.RemoveAll(from)
	}
	if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// met records what a member has told in a greeting or an answer to one. It returns an error, and ends this member, if that shows that its
// folder has forgotten something, which couldn't be known when it started.
func (n *Node) met(id, incarnation string, s promise.Start, known promise.Known) error {
	if n.memory.running() {
		if err := n.memory.held.Load().Judge(id, known); err != nil {
			err = fmt.Errorf("%w: %w: it is set aside at the next start, and this member then gets everything from the leader", ErrForgotten, err)
			return errors.Join(err, n.dir.change(func(me *identity) { me.Forgotten = err.Error() }), n.log.fail(err))
		}
	}
	if s.Run > 0 {
		n.memory.Greeted(string(serverID(id, incarnation)), s)
	}
	return nil
}

// knows returns what this member knows of another's promises.
func (n *Node) knows(id, incarnation string) promise.Known {
	return n.memory.Of(string(serverID(id, incarnation)))
}
